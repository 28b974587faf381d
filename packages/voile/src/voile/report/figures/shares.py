"""One column before and after, and a measure of each column or pair of columns.

How the values of one column are distributed, before and after.

Bins of numbers are drawn to scale as two step lines; where some bins are far wider than others,
and for values counted one by one, as pairs of bars, the commonest values first.

A measure of each column as dots, or of each pair of columns as a map of shaded cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from voile.report.figures.canvas import (
    SMALL,
    Chart,
    Ink,
    Margins,
    Words,
    drawing,
    finished,
    number_axis,
    rate_axis,
    sheet,
)
from voile.report.words import Share, clipped, number, percent, width_of
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from matplotlib import lines as matplotlib_lines
    from matplotlib import patches as matplotlib_patches
    from matplotlib.axes import Axes
else:
    matplotlib_lines = on_demand("matplotlib.lines")
    matplotlib_patches = on_demand("matplotlib.patches")

__all__ = ["Shares", "draw_pairs", "draw_parts", "draw_shares"]


_WIDTH = 420.0
_HEIGHT = 236.0
_BARS = 10
"""Values drawn one by one; the others together, and all of them in the table."""
_NAME = 132.0
_UNEVEN = 25
"""How many times as wide as the narrowest a bin may be drawn to scale."""


@dataclass(frozen=True)
class Shares:
    """Shares of rows per bin or value, (b,) each, before and after."""

    labels: tuple[str, ...]
    edges: tuple[float, ...] | None
    """Ascending borders of the bins, b + 1; None for values counted one by one."""
    before: tuple[float, ...]
    after: tuple[float, ...]
    numeric: bool = True
    """Whether edges are numbers to a reader; those of dates are not, their labels are."""

    @property
    def moved(self) -> float:
        """Total variation distance: the share of rows that would have to change."""
        return sum(abs(a - b) for a, b in zip(self.before, self.after, strict=True)) / 2


def draw_shares(name: str, title: str, shares: Shares) -> Chart:
    """The chart of at least one bin or value."""
    with drawing():
        if shares.edges is not None and _even(shares.edges):
            return _steps(name, title, shares, shares.edges)
        return _bars(name, title, shares)


def _steps(name: str, title: str, shares: Shares, edges: Sequence[float]) -> Chart:
    figure, axes = sheet(_WIDTH, _HEIGHT, Margins(left=54, right=14, top=30, bottom=32))
    axes.stairs(shares.before, edges, fill=True, color=Ink.BEFORE_FILL)
    axes.stairs(shares.before, edges, color=Ink.BEFORE, linewidth=1.2, label="original")
    axes.stairs(
        shares.after, edges, color=Ink.AFTER, linewidth=2, linestyle=(0, (4, 1.5)), label="release"
    )
    axes.set_xlim(edges[0], edges[-1])
    rate_axis(axes, [max((*shares.before, *shares.after))], vertical=True)
    axes.grid(axis="y")
    if shares.numeric:
        number_axis(axes)
    else:
        _label_some_bins(axes, edges, shares.labels)
    _legend(axes, filled=True)
    return finished(figure, _words(name, title, shares))


def _label_some_bins(axes: Axes, edges: Sequence[float], labels: Sequence[str]) -> None:
    step = max(1, -(-len(labels) // 4))
    indices = range(0, len(labels), step)
    axes.set_xticks(
        [(edges[index] + edges[index + 1]) / 2 for index in indices],
        [clipped(labels[index], 80, SMALL) for index in indices],
    )


def _bars(name: str, title: str, shares: Shares) -> Chart:
    labels, before, after = _drawn(shares)
    margins = Margins(left=_NAME + 12, right=20, top=30, bottom=32)
    height = margins.top + margins.bottom + 24 * len(labels) + 6
    figure, axes = sheet(_WIDTH, height, margins)
    indices = range(len(labels))
    axes.barh(
        [index - 0.2 for index in indices], before, height=0.36, color=Ink.BEFORE_FILL,
        edgecolor=Ink.BEFORE, linewidth=1.2, label="original",
    )  # fmt: skip
    axes.barh(
        [index + 0.2 for index in indices], after, height=0.36, color=Ink.AFTER,
        edgecolor=Ink.AFTER, linewidth=1.2, label="release",
    )  # fmt: skip
    axes.set_yticks(
        list(indices), [clipped(label, _NAME, SMALL) for label in labels], color=Ink.TEXT
    )
    axes.set_ylim(len(labels) - 0.4, -0.6)
    rate_axis(axes, [max((*before, *after))])
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    _legend(axes, filled=False)
    return finished(figure, _words(name, title, shares))


def _drawn(shares: Shares) -> tuple[list[str], list[float], list[float]]:
    """What is drawn: bins in their order, values by frequency, and those left over together."""
    indices = list(range(len(shares.labels)))
    if shares.edges is None:
        indices.sort(key=lambda index: -max(shares.before[index], shares.after[index]))
    most = _BARS if shares.edges is None else 2 * _BARS
    kept, left = indices[:most], indices[most:]
    labels = [shares.labels[index] for index in kept]
    before = [shares.before[index] for index in kept]
    after = [shares.after[index] for index in kept]
    if left:
        labels.append(f"{len(left):,} others")
        before.append(sum(shares.before[index] for index in left))
        after.append(sum(shares.after[index] for index in left))
    return labels, before, after


def _legend(axes: Axes, *, filled: bool) -> None:
    before = matplotlib_patches.Patch(
        facecolor=Ink.BEFORE_FILL, edgecolor=Ink.BEFORE, label="original"
    )
    after = (
        matplotlib_lines.Line2D(
            [], [], color=Ink.AFTER, linewidth=2, linestyle=(0, (4, 1.5)), label="release"
        )
        if filled
        else matplotlib_patches.Patch(facecolor=Ink.AFTER, edgecolor=Ink.AFTER, label="release")
    )
    axes.figure.legend(
        handles=[before, after], loc="upper left", ncols=2, frameon=False, borderaxespad=0.2,
        bbox_to_anchor=(axes.get_position().x0 - 0.01, 1.0),
    )  # fmt: skip


def _even(edges: Sequence[float]) -> bool:
    widths = [right - left for left, right in pairwise(edges)]
    return min(widths) > 0 and max(widths) <= _UNEVEN * min(widths)


def _words(name: str, title: str, shares: Shares) -> Words:
    return Words(
        name,
        title,
        _description(shares),
        ("value", "original", "release"),
        tuple(
            (label, Share(before), Share(after))
            for label, before, after in zip(shares.labels, shares.before, shares.after, strict=True)
        ),
    )


def _description(shares: Shares) -> str:
    if not any(shares.after):
        return "The release shows no value of this column."
    common = max(range(len(shares.labels)), key=lambda index: shares.before[index])
    gaps = [after - before for before, after in zip(shares.before, shares.after, strict=True)]
    changed = max(range(len(gaps)), key=lambda index: abs(gaps[index]))
    said = (
        f"The commonest value before, {shares.labels[common]}, has "
        f"{percent(shares.before[common])} of the original rows and "
        f"{percent(shares.after[common])} of the published ones."
    )
    if shares.moved < 1e-12:
        return f"{said} Both distributions are the same."
    return (
        f"{said} The largest change is that of {shares.labels[changed]}, from "
        f"{percent(shares.before[changed])} to {percent(shares.after[changed])}. To make one "
        f"distribution of the other, {percent(shares.moved)} of the rows would have to change."
    )


_PART_NAME = 190.0
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
    longest = max(width_of(clipped(part, _PART_NAME, SMALL), SMALL) for part in parts)
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
            range(len(parts)), [clipped(part, _PART_NAME, SMALL) for part in parts], color=Ink.TEXT
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
    names = {column: clipped(column, _PART_NAME, SMALL) for column in columns}
    longest = max(width_of(shown, SMALL) for shown in names.values())
    slanted = longest * 0.75
    margins = Margins(left=longest + 14, right=slanted + 16, top=slanted + 18, bottom=8)
    span = side * (len(columns) - 1)
    top = max(map(abs, pairs.values())) or 1.0
    # Of small values among large ones only as much is shown as can be compared.
    places = min(6, max(0, 2 - math.floor(math.log10(top))))
    with drawing():
        figure, axes = sheet(
            margins.left + span + margins.right, margins.top + span + margins.bottom, margins
        )
        place = {column: index for index, column in enumerate(columns)}
        for (first, second), value in pairs.items():
            across, down = sorted((place[first], place[second]))
            axes.add_patch(
                matplotlib_patches.Rectangle(
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
