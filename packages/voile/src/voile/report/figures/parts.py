"""A measure of each column as dots, or of each pair of columns as a map of shaded cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from voile.report.figures.canvas import (
    SMALL,
    Chart,
    Ink,
    Margins,
    Words,
    drawing,
    finished,
    number_axis,
    sheet,
)
from voile.report.words import clipped, number, width_of

__all__ = ["draw_pairs", "draw_parts"]

_WIDTH = 420.0
_NAME = 190.0
_SPOKEN = 12
"""Parts that are named one by one where a chart is put into words."""
_DRAWN = 40
_DARKEST = 0.6
"""Opacity of the largest value; text on it can still be read."""


def draw_parts(name: str, title: str, parts: Mapping[str, float]) -> Chart:
    """The chart of at least one part, in the given order from the top.

    Of very many, only the largest are drawn; the table has them all.
    """
    words = Words(name, title, _extremes(parts), ("part", "value"), tuple(parts.items()))
    if len(parts) > _DRAWN:
        parts = dict(sorted(parts.items(), key=lambda part: -part[1])[:_DRAWN])
    longest = max(width_of(clipped(part, _NAME, SMALL), SMALL) for part in parts)
    margins = Margins(left=longest + 16, right=64, top=6, bottom=30)
    with drawing():
        figure, axes = sheet(_WIDTH, margins.top + margins.bottom + 24 * len(parts), margins)
        for index, value in enumerate(parts.values()):
            axes.plot([0, value], [index, index], color=Ink.AFTER, linewidth=2)
            axes.plot([value], [index], "o", color=Ink.AFTER, markersize=7, clip_on=False)
            axes.text(
                1.03, index, number(value, 3), transform=axes.get_yaxis_transform(),
                va="center", color=Ink.SOFT,
            )  # fmt: skip
        axes.set_yticks(
            range(len(parts)), [clipped(part, _NAME, SMALL) for part in parts], color=Ink.TEXT
        )
        axes.set_ylim(len(parts) - 0.4, -0.6)
        low, high = min(0.0, *parts.values()), max(0.0, *parts.values())
        axes.set_xlim(low * 1.05, high * 1.05 if high > low else low + 1.0)
        number_axis(axes)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        return finished(figure, words)


def draw_pairs(
    name: str, title: str, columns: Sequence[str], pairs: Mapping[tuple[str, str], float]
) -> Chart:
    """The map of at least one pair of the given columns, darker where the value is larger."""
    side = min(46.0, max(30.0, 560 / len(columns)))
    names = {column: clipped(column, _NAME, SMALL) for column in columns}
    longest = max(width_of(shown, SMALL) for shown in names.values())
    slanted = longest * 0.75
    margins = Margins(left=longest + 14, right=slanted + 16, top=slanted + 18, bottom=8)
    span = side * (len(columns) - 1)
    top = max(map(abs, pairs.values())) or 1.0
    # Of small values among large ones only as much is shown as can be compared.
    places = min(6, max(0, 2 - math.floor(math.log10(top))))
    with drawing():
        from matplotlib.patches import Rectangle  # noqa: PLC0415 - slow to load

        figure, axes = sheet(
            margins.left + span + margins.right, margins.top + span + margins.bottom, margins
        )
        place = {column: index for index, column in enumerate(columns)}
        for (first, second), value in pairs.items():
            across, down = sorted((place[first], place[second]))
            axes.add_patch(
                Rectangle(
                    (across - 0.47, down - 1.47), 0.94, 0.94, facecolor=Ink.HEAT, linewidth=0,
                    alpha=0.04 + (_DARKEST - 0.04) * abs(value) / top,
                )
            )  # fmt: skip
            axes.text(
                across, down - 1, f"{value:.{places}f}", ha="center", va="center",
                fontsize=min(SMALL, side / 3.4),
            )  # fmt: skip
        axes.set_xlim(-0.5, len(columns) - 1.5)
        axes.set_ylim(len(columns) - 1.5, -0.5)
        axes.set_yticks(range(len(columns) - 1), [names[c] for c in columns[1:]], color=Ink.TEXT)
        axes.set_xticks([])
        for index, column in enumerate(columns[:-1]):
            axes.text(
                index, -0.6, names[column], rotation=45, rotation_mode="anchor",
            )  # fmt: skip
        axes.spines[["left", "bottom"]].set_visible(False)
        said = _extremes({f"{a} with {b}": value for (a, b), value in pairs.items()})
        rows = tuple((a, b, value) for (a, b), value in pairs.items())
        return finished(
            figure, Words(name, title, said, ("column", "column", "value"), rows), halo=False
        )


def _extremes(parts: Mapping[str, float]) -> str:
    """All parts in words where they are few, else where the value is largest and smallest."""
    if len(parts) <= _SPOKEN:
        return " ".join(f"{part}: {number(value)}." for part, value in parts.items())
    ordered = sorted(parts.items(), key=lambda part: part[1])
    low, high = ordered[0], ordered[-1]
    return (
        f"{len(parts)} values between {number(low[1])} ({low[0]}) and {number(high[1])} "
        f"({high[0]}); the median is {number(ordered[(len(ordered) - 1) // 2][1])}."
    )
