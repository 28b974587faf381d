"""Charts of a grid: a measure over a parameter, and risk against loss.

A measure over a parameter has one line for each setting of the others.  Risk against loss has every
release of the grid, and the frontier that no other release beats.

Names stand beside points so that they hide neither points nor each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING, Any, Literal

from voile.report.figures.canvas import (
    FONT,
    SERIES,
    SMALL,
    Chart,
    Ink,
    Margins,
    Words,
    at_least,
    drawing,
    number_axis,
    rate_axis,
    sheet,
)
from voile.report.words import Share, clipped, counted, listed, number, percent, printable, width_of
from voile.study.frontier import FrontierRisk
from voile_base.ondemand import dataclass
from voile_base.values import Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Field

__all__ = [
    "CurveParameter",
    "FrontierAxes",
    "Line",
    "Panel",
    "Placed",
    "draw_curves",
    "draw_frontier",
    "draw_key",
]

_PANEL_WIDTH = 340.0
_PANEL_HEIGHT = 216.0
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
        figure, axes = sheet(
            _PANEL_WIDTH, _PANEL_HEIGHT, Margins(left=58, right=16, top=12, bottom=44)
        )
        _upright(axes, panel, values)
        _set_axis(axes, parameter)
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
        return Chart.of(figure, _curve_words(panel, parameter))


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
        return Chart.of(figure, words)


def _style(style: int, *, connected: bool) -> Json:
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


def _set_axis(axes: Field, parameter: CurveParameter) -> None:
    positions = parameter.positions()
    if parameter.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(positions[0] / 1.15, positions[-1] * 1.15)
    else:
        reach = (positions[-1] - positions[0]) or 1.0
        axes.set_xlim(positions[0] - 0.05 * reach, positions[-1] + 0.05 * reach)
    # Ticks stand at values that were tried, as far as their labels leave each other room.
    there = [float(x) for x, _ in axes.transData.transform([(at, 0.5) for at in positions])]
    room = _PANEL_WIDTH / max(3, min(len(positions), 6)) - 8
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
    axes.set_xlabel(clipped(parameter.name, _PANEL_WIDTH - 80, SMALL), labelpad=6)


def _curve_words(panel: Panel, parameter: CurveParameter) -> Words:
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


_FRONTIER_WIDTH = 640.0
_FRONTIER_HEIGHT = 440.0
_NAME = 170.0
_MOST_TIES = 3
"""Beyond so many sentences the lines in the chart say it better."""
Side = Literal["left", "right", "center"]

_GAP = 9.0
_AROUND: tuple[tuple[float, float, Side], ...] = (
    (1, 0.9, "left"),
    (1, -0.9, "left"),
    (-1, 0.9, "right"),
    (-1, -0.9, "right"),
    (1.2, 0, "left"),
    (-1.2, 0, "right"),
    (0, 1.5, "center"),
    (0, -1.5, "center"),
    (1, 2.4, "left"),
    (1, -2.4, "left"),
    (-1, 2.4, "right"),
    (-1, -2.4, "right"),
)
"""Places around a point in multiples of the gap, the best first."""


@dataclass(frozen=True)
class Placed:
    """One release: its risk between 0 and 1, and its loss in the unit of the measure."""

    name: str
    label: str
    """What stands beside the mark, rather shorter than the name."""
    risk: float
    loss: float
    best: bool
    """Whether it is on the frontier."""
    low: float
    high: float
    """The interval of confidence of the risk."""
    tied_with: tuple[str, ...] = ()
    """Other releases on the frontier whose risk cannot be told from this one's."""

    @property
    def as_risk(self) -> FrontierRisk:
        """The risk with its interval."""
        return FrontierRisk(self.risk, self.low, self.high)


@dataclass(frozen=True)
class FrontierAxes:
    """What the axes measure."""

    risk: str
    loss: str
    higher_is_better: bool
    """Of the measure on the upright axis."""


def draw_frontier(
    name: str, title: str, axes_named: FrontierAxes, points: Sequence[Placed]
) -> Chart:
    """The chart of at least one release; names stand where there is room, the frontier's first."""
    margins = Margins(left=66, right=16, top=34, bottom=50)
    ordered = sorted(points, key=lambda point: (not point.best, point.risk, point.loss))
    best = [point for point in ordered if point.best]
    with drawing():
        figure, axes = sheet(_FRONTIER_WIDTH, _FRONTIER_HEIGHT, margins)
        # Lower ends of intervals may be very small, and stretch the axis only where they are 0.
        ends = [end for point in points for end in (point.risk, point.high)]
        logarithmic = rate_axis(axes, [*ends, *(0.0 for point in points if point.low <= 0)])
        low, high = _range([point.loss for point in points])
        axes.set_ylim(low, high)
        number_axis(axes, vertical=True)
        axes.grid()
        risks = at_least([point.risk for point in ordered], axes)
        losses = [point.loss for point in ordered]
        for point, loss in zip(ordered, losses, strict=True):
            if point.low == point.high:  # counted, not estimated
                continue
            ends = at_least([point.low, point.high], axes)
            axes.plot(
                ends, [loss, loss], "-", color=Ink.AFTER if point.best else Ink.SOFT,
                linewidth=1.2, alpha=0.7, clip_on=False,
            )  # fmt: skip
        axes.plot(
            risks[: len(best)], losses[: len(best)], color=Ink.AFTER, linewidth=1.6,
            linestyle=(0, (5, 3)),
        )  # fmt: skip
        for risk, loss, point in zip(risks, losses, ordered, strict=True):
            axes.plot(
                [risk], [loss], "o" if point.best else "s", color=Ink.AFTER if point.best else
                Ink.SOFT, markersize=9 if point.best else 6, mew=1.6, clip_on=False,
                mfc=Ink.AFTER if point.best else Ink.PAPER, zorder=3 if point.best else 2.5,
            )  # fmt: skip
        _name_points(axes, ordered, risks, losses)
        axes.set_xlabel(f"risk: {clipped(axes_named.risk, 420, FONT)} (left is safer)", labelpad=8)
        better = "up" if axes_named.higher_is_better else "down"
        figure.text(
            12 / _FRONTIER_WIDTH, 1 - 18 / _FRONTIER_HEIGHT,
            f"{clipped(axes_named.loss, 420, FONT)} ({better} is more useful)", color=Ink.SOFT,
        )  # fmt: skip
        return Chart.of(figure, _frontier_words(name, title, axes_named, points, logarithmic))


def _name_points(
    axes: Field, points: Sequence[Placed], risks: Sequence[float], losses: Sequence[float]
) -> None:
    """Write names beside points where there is room; those of the best come first."""
    names = [clipped(point.label, _NAME, SMALL) for point in points]
    corner, spread = axes.transAxes.transform([(0, 0), (1, 1)])
    there = [
        (float(x - corner[0]), float(y - corner[1]))
        for x, y in axes.transData.transform(list(zip(risks, losses, strict=True)))
    ]
    field = (float(spread[0] - corner[0]), float(spread[1] - corner[1]))
    places = _place_labels(there, names, field, SMALL, sum(point.best for point in points))
    for place, text, risk, loss, point in zip(places, names, risks, losses, points, strict=True):
        if place is not None:
            axes.annotate(
                text, (risk, loss), (place.right, place.up), textcoords="offset points",
                ha=place.side, va="center", color=Ink.TEXT if point.best else Ink.SOFT,
            )  # fmt: skip


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    reach = (high - low) or abs(high) or 1.0
    return low - 0.08 * reach, high + 0.08 * reach


def _frontier_words(
    name: str, title: str, axes: FrontierAxes, points: Sequence[Placed], logarithmic: bool
) -> Words:
    best = sorted((point for point in points if point.best), key=lambda point: point.risk)
    said = f"{counted(len(points), 'release')}; {len(best):,} of them on the frontier"
    if best:
        said += ", by ascending risk: " + "; ".join(
            f"{point.name} with risk {percent(point.risk)} and {axes.loss} {number(point.loss)}"
            for point in best
        )
        tied = [point for point in best if point.tied_with]
        said += "".join(
            f". The risks of {point.name} and of {listed(point.tied_with, 3, '; ')} are tied: they "
            "differ by less than their intervals of confidence"
            for point in tied[:_MOST_TIES]
        )
    scale = " The axis of the risk is logarithmic, with 0 at its left end." if logarithmic else ""
    return Words(
        name,
        title,
        f"{said}.{scale}",
        ("release", f"risk: {axes.risk}", "95 % from", "95 % to", axes.loss, "on the frontier"),
        tuple(
            (
                point.name,
                *map(Share, (point.risk, point.low, point.high)),
                point.loss,
                "yes" if point.best else "no",
            )
            for point in points
        ),
    )


@dataclass(frozen=True)
class _Position:
    """Where a name stands, in units of the drawing from the point."""

    right: float
    up: float
    side: Side
    """Which end of the text, or its middle, is there."""


@dataclass(frozen=True)
class _Box:
    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def within(self, other: _Box) -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.bottom >= other.bottom
            and self.top <= other.top
        )


def _place_labels(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    size: tuple[float, float],
    font: float,
    joined: int,
) -> list[_Position | None]:
    """A place for each of p names, earlier ones first; None where there is no room.

    ``points`` are (p, 2) from the lower left corner of a field of ``size`` (width, height); a line
    joins the first ``joined`` of them, and no name stands on it.  Cost: O(p²).
    """
    field = _Box(0, 0, *size)
    taken = [_Box(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    taken += [_Box(x - 1, y - 1, x + 1, y + 1) for x, y in _along(points[:joined])]
    placed: list[_Position | None] = []
    for (x, y), text in zip(points, texts, strict=True):
        for across, up, side in _AROUND:
            found = _Position(across * _GAP, up * _GAP, side)
            box = _box(x + found.right, y + found.up, width_of(text, font), font, side)
            if box.within(field) and not any(map(box.meets, taken)):
                placed.append(found)
                taken.append(box)
                break
        else:
            placed.append(None)
    return placed


def _along(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Points along the line through some points, a few units apart."""
    for (x, y), (to_x, to_y) in pairwise(points):
        steps = max(1, int(hypot(to_x - x, to_y - y) / 5))
        for step in range(1, steps):
            yield x + (to_x - x) * step / steps, y + (to_y - y) * step / steps


def _box(x: float, y: float, width: float, font: float, side: Side) -> _Box:
    left = {"left": x, "right": x - width, "center": x - width / 2}[side]
    return _Box(left, y - 0.62 * font, left + width, y + 0.62 * font)
