"""A rate or a measure over a parameter, with one line for each setting of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voile.report.figures.canvas import (
    SERIES,
    SMALL,
    Chart,
    Ink,
    Margins,
    Words,
    at_least,
    drawing,
    finished,
    number_axis,
    rate_axis,
    sheet,
)
from voile.report.words import Share, clipped, number, percent, printable, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Field

__all__ = ["CurveParameter", "Line", "Panel", "draw_curves", "draw_key"]

_WIDTH = 340.0
_HEIGHT = 216.0
_KEY = 640.0
_SPOKEN = 8
"""Lines that are put into words one by one."""
_GUESSES = 4
"""Lines that have each a line of guessing beside them."""
_MARKERS = "osD^vPX*"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (7, 2, 1, 2)))


@dataclass(frozen=True)
class CurveParameter:
    """What lies along the axis: numbers, or settings that have no distance from each other."""

    name: str
    values: tuple[float, ...] | None
    """Every number, ascending; None for settings without a distance."""
    labels: tuple[str, ...]
    """What each value, or each setting, is called."""

    @property
    def logarithmic(self) -> bool:
        """Whether the numbers grow by factors rather than by steps."""
        values = self.values
        return values is not None and len(values) > 2 and values[0] > 0 and (
            values[-1] / values[0] > 12
        )  # fmt: skip

    def positions(self) -> tuple[float, ...]:
        """Where each value lies along the axis."""
        return self.values or tuple(float(index) for index in range(len(self.labels)))


@dataclass(frozen=True)
class Line:
    """Values of one panel for one setting of the other parameters."""

    name: str
    """Of the setting, "" where there are no other parameters."""
    style: int
    """The same number looks the same in every panel."""
    points: tuple[tuple[int, float], ...]
    """Which value of the parameter, counted from 0, and what was measured there."""
    guesses: tuple[float, ...] = ()
    """Of an attack: the success of guessing at each point."""


@dataclass(frozen=True)
class Panel:
    """One attack or one measure over the parameter."""

    name: str
    title: str
    lines: tuple[Line, ...]
    rates: bool
    """Whether the values are shares of people, to be shown in percent."""

    @property
    def guess(self) -> float | None:
        """The success of guessing, where it is the same everywhere."""
        guesses = [guess for line in self.lines for guess in line.guesses]
        same = bool(guesses) and max(guesses) - min(guesses) <= 1e-3 * max(guesses)
        return guesses[0] if same else None


def draw_curves(panel: Panel, parameter: CurveParameter, most: int) -> Chart:
    """The chart of at least one line with at least one point; lines beyond ``most`` are left out.

    The table holds them all.
    """
    lines = [line for line in panel.lines if line.style < most] or panel.lines[:1]
    values = [value for line in lines for _, value in line.points]
    with drawing():
        figure, axes = sheet(_WIDTH, _HEIGHT, Margins(left=58, right=16, top=12, bottom=44))
        _upright(axes, panel, values)
        _along(axes, parameter)
        axes.grid(axis="y")
        positions = parameter.positions()
        _draw_guessing(axes, panel, lines, positions)
        for line in lines:
            shown = [value for _, value in line.points]
            axes.plot(
                [positions[index] for index, _ in line.points],
                at_least(shown, axes, vertical=True) if panel.rates else shown,
                clip_on=False,
                **_style(line.style, connected=parameter.values is not None),
            )
        return finished(figure, _words(panel, parameter))


def _draw_guessing(
    axes: Field, panel: Panel, lines: Sequence[Line], positions: Sequence[float]
) -> None:
    """A dotted line for all, or one for each line where guessing differs and lines are few."""
    style: Any = {"color": Ink.GUESS, "linewidth": 1.6, "linestyle": (0, (1, 2))}
    if panel.guess is not None:
        axes.axhline(at_least([panel.guess], axes, vertical=True)[0], **style)
    elif len(lines) <= _GUESSES:
        for line in lines:
            there = [positions[index] for index, _ in line.points]
            guesses = at_least(line.guesses, axes, vertical=True)
            axes.plot(there[: len(guesses)], guesses, **style)


def draw_key(name: str, title: str, lines: Sequence[Line]) -> Chart:
    """The key to the lines of all panels: at least one line."""
    longest = max(width_of(clipped(line.name, 300, SMALL), SMALL) for line in lines) + 60
    across = max(1, int(_KEY // longest))
    rows = -(-len(lines) // across)
    with drawing():
        height = 24.0 * rows + 8
        figure, axes = sheet(_KEY, height, Margins(left=0, right=0, top=4, bottom=4))
        axes.set_xlim(0, _KEY)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_axis_off()
        for index, line in enumerate(lines):
            left, row = longest * (index % across), index // across
            axes.plot(
                [left + 8, left + 22, left + 36], [row] * 3, markevery=[1],
                **_style(line.style, connected=True),
            )  # fmt: skip
            axes.text(left + 44, row, clipped(line.name, 300, SMALL), va="center")
        said = "; ".join(line.name for line in lines)
        words = Words(name, title, f"Lines of the charts below: {said}.", (), ())
        return finished(figure, words)


def _style(style: int, *, connected: bool) -> dict[str, Any]:
    color = SERIES[style % len(SERIES)]
    return {
        "color": color,
        "marker": _MARKERS[style % len(_MARKERS)],
        "markersize": 6.5,
        "markerfacecolor": Ink.PAPER if style // len(SERIES) % 2 else color,
        "markeredgewidth": 1.5,
        "linewidth": 1.8 if connected else 0.0,
        "linestyle": _DASHES[style // len(SERIES) % len(_DASHES)],
    }


def _upright(axes: Field, panel: Panel, values: Sequence[float]) -> None:
    if panel.rates:
        shown = [*values, *(guess for line in panel.lines for guess in line.guesses)]
        rate_axis(axes, shown, vertical=True)
        if min(shown) < max(shown) / 2:
            return
        values = shown
    low, high = min(values), max(values)
    # Rates that hardly differ are not to look as if they did.
    reach = max(high - low, 0.02) if panel.rates else (high - low) or abs(high) or 1.0
    axes.set_ylim(low - 0.08 * reach, high + 0.08 * reach)
    if not panel.rates:
        number_axis(axes, vertical=True)


def _along(axes: Field, parameter: CurveParameter) -> None:
    positions = parameter.positions()
    if parameter.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(positions[0] / 1.15, positions[-1] * 1.15)
    else:
        reach = (positions[-1] - positions[0]) or 1.0
        axes.set_xlim(positions[0] - 0.05 * reach, positions[-1] + 0.05 * reach)
    # Ticks stand at values that were tried, as far as their labels leave each other room.
    there = [float(x) for x, _ in axes.transData.transform([(at, 0.5) for at in positions])]
    room = _WIDTH / max(3, min(len(positions), 6)) - 8
    labels = [clipped(label, max(room, 40), SMALL) for label in parameter.labels]
    kept: list[int] = []
    for index, label in enumerate(labels):
        if kept:
            before = there[kept[-1]] + width_of(labels[kept[-1]], SMALL) / 2
            if there[index] - width_of(label, SMALL) / 2 < before + 4:
                continue
        kept.append(index)
    axes.set_xticks([positions[index] for index in kept], [labels[index] for index in kept])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(clipped(parameter.name, _WIDTH - 80, SMALL), labelpad=6)


def _words(panel: Panel, parameter: CurveParameter) -> Words:
    said = percent if panel.rates else number
    sentences = [_course(line, parameter, said) for line in panel.lines[:_SPOKEN]]
    if len(panel.lines) > _SPOKEN:
        sentences.append(f"{len(panel.lines) - _SPOKEN} more lines stand in the table.")
    if panel.guess is not None:
        sentences.append(f"Guessing, the dotted line, succeeds for {percent(panel.guess)}.")
    named = any(line.name for line in panel.lines)
    guessed = any(line.guesses for line in panel.lines)
    heads = (
        printable(parameter.name),
        *(("others",) if named else ()),
        "value",
        *(("guessing",) if guessed else ()),
    )
    kind = Share if panel.rates else float
    rows = [
        (
            parameter.labels[index],
            *((line.name,) if named else ()),
            kind(value),
            *map(Share, line.guesses[order : order + 1]),
        )
        for line in panel.lines
        for order, (index, value) in enumerate(line.points)
    ]
    return Words(panel.name, panel.title, " ".join(sentences), heads, tuple(rows))


def _course(line: Line, parameter: CurveParameter, said: Any) -> str:
    head = f"{line.name}: " if line.name else ""
    course = (f"{said(value)} at {parameter.labels[index]}" for index, value in line.points)
    return f"{head}{', '.join(course)}."
