"""Risk against loss of every release of a grid, and the frontier that no other release beats.

Names stand beside points so that they hide neither points nor each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import Literal

from voile.report.figures.canvas import (
    FONT,
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
from voile.report.words import Share, clipped, counted, listed, number, percent, width_of
from voile.study.frontier import FrontierRisk

__all__ = ["FrontierAxes", "Placed", "draw_frontier"]

_WIDTH = 640.0
_HEIGHT = 440.0
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
        figure, axes = sheet(_WIDTH, _HEIGHT, margins)
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
        names = [clipped(point.label, _NAME, SMALL) for point in ordered]
        corner, spread = axes.transAxes.transform([(0, 0), (1, 1)])
        there = [
            (float(x - corner[0]), float(y - corner[1]))
            for x, y in axes.transData.transform(list(zip(risks, losses, strict=True)))
        ]
        field = (float(spread[0] - corner[0]), float(spread[1] - corner[1]))
        for place, text, risk, loss, point in zip(
            _place_labels(there, names, field, SMALL, len(best)),
            names,
            risks,
            losses,
            ordered,
            strict=True,
        ):
            if place is not None:
                axes.annotate(
                    text, (risk, loss), (place.right, place.up), textcoords="offset points",
                    ha=place.side, va="center", color=Ink.TEXT if point.best else Ink.SOFT,
                )  # fmt: skip
        axes.set_xlabel(f"risk: {clipped(axes_named.risk, 420, FONT)} (left is safer)", labelpad=8)
        better = "up" if axes_named.higher_is_better else "down"
        figure.text(
            12 / _WIDTH, 1 - 18 / _HEIGHT,
            f"{clipped(axes_named.loss, 420, FONT)} ({better} is more useful)", color=Ink.SOFT,
        )  # fmt: skip
        return finished(figure, _words(name, title, axes_named, points, logarithmic))


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    reach = (high - low) or abs(high) or 1.0
    return low - 0.08 * reach, high + 0.08 * reach


def _words(
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
