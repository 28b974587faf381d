"""Risk against loss of every release of a grid, and the frontier that no other release beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from voile.report.figures.labels import place_labels
from voile.report.words import Share, clipped, counted, number, percent

__all__ = ["Axes", "Placed", "draw_frontier"]

_WIDTH = 640.0
_HEIGHT = 440.0
_NAME = 170.0


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


@dataclass(frozen=True)
class Axes:
    """What the axes measure."""

    risk: str
    loss: str
    higher_is_better: bool
    """Of the measure on the upright axis."""


def draw_frontier(name: str, title: str, axes_named: Axes, points: Sequence[Placed]) -> Chart:
    """The chart of at least one release; names stand where there is room, the frontier's first."""
    margins = Margins(left=66, right=16, top=34, bottom=50)
    ordered = sorted(points, key=lambda point: (not point.best, point.risk, point.loss))
    best = [point for point in ordered if point.best]
    with drawing():
        figure, axes = sheet(_WIDTH, _HEIGHT, margins)
        logarithmic = rate_axis(axes, [point.risk for point in points])
        low, high = _range([point.loss for point in points])
        axes.set_ylim(low, high)
        number_axis(axes, vertical=True)
        axes.grid()
        risks = at_least([point.risk for point in ordered], axes)
        losses = [point.loss for point in ordered]
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
            place_labels(there, names, field, SMALL, len(best)),
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


def _words(name: str, title: str, axes: Axes, points: Sequence[Placed], logarithmic: bool) -> Words:
    best = sorted((point for point in points if point.best), key=lambda point: point.risk)
    said = f"{counted(len(points), 'release')}; {len(best):,} of them on the frontier"
    if best:
        said += ", from the safest to the most useful: " + "; ".join(
            f"{point.name} with risk {percent(point.risk)} and {axes.loss} {number(point.loss)}"
            for point in best
        )
    scale = " The axis of the risk is logarithmic, with 0 at its left end." if logarithmic else ""
    return Words(
        name,
        title,
        f"{said}.{scale}",
        ("release", f"risk: {axes.risk}", axes.loss, "on the frontier"),
        tuple(
            (point.name, Share(point.risk), point.loss, "yes" if point.best else "no")
            for point in points
        ),
    )
