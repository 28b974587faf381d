"""Risks as gauges from nobody to everybody: the people in the data, the control, guessing.

A dot is how often the adversary succeeds against people who are in the data, with its interval; a
square against people who are not; a diamond is guessing without the file.  What lies between square
and dot is what the file gives away of its own people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voile.report.figures.canvas import (
    Chart,
    Ink,
    Words,
    drawing,
    finished,
    head_row,
    headed_rows,
)
from voile.report.words import Share, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Gauge", "draw_gauges"]


@dataclass(frozen=True)
class Gauge:
    """One risk; all numbers are between 0 and 1."""

    name: str
    main: tuple[float, float, float]
    """Value, low, high, of people in the data."""
    control: tuple[float, float, float] | None
    """The same of people who are not; None where none are known."""
    guess: float
    found: bool
    """Whether more is given away of the people in the data, beyond chance."""


def draw_gauges(name: str, title: str, gauges: Sequence[Gauge]) -> Chart:
    """The chart of at least one risk, in the given order from the top."""
    with drawing():
        figure, [axes] = headed_rows([len(gauges)])
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["nobody", "25 %", "50 %", "75 %", "everybody"])
        first, *_, last = axes.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
        for row, gauge in enumerate(gauges):
            said = f"{percent(gauge.main[0])}, {_beside(gauge)}"
            _mark(axes, head_row(axes, row, gauge.name, said), gauge)
        return finished(figure, _words(name, title, gauges))


def _beside(gauge: Gauge) -> str:
    if gauge.control is None:
        return f"no control, guess {percent(gauge.guess)}"
    return f"control {percent(gauge.control[0])}, guess {percent(gauge.guess)}"


def _mark(axes: Axes, line: float, gauge: Gauge) -> None:
    """The track, what is beyond the control, and three marks, at the height ``line``."""
    value, low, high = gauge.main
    other = gauge.guess if gauge.control is None else gauge.control[0]
    over: dict[str, Any] = {"clip_on": False, "markeredgewidth": 1.8}
    axes.plot([0, 1], [line, line], color=Ink.GRID, linewidth=8, clip_on=False)
    if gauge.found:
        axes.plot([other, value], [line, line], color=Ink.GUESS, linewidth=8, clip_on=False)
    axes.plot(
        [low, high], [line, line], "|-", color=Ink.AFTER, linewidth=1.6, markersize=11, **over
    )
    axes.plot([gauge.guess], [line], "D", color=Ink.GUESS, markersize=7, mfc=Ink.PAPER, **over)
    if gauge.control is not None:
        axes.plot([other], [line], "s", color=Ink.BEFORE, markersize=8, mfc=Ink.PAPER, **over)
    axes.plot([value], [line], "o", color=Ink.AFTER, markersize=9, **over)


def _words(name: str, title: str, gauges: Sequence[Gauge]) -> Words:
    return Words(
        name,
        title,
        " ".join(
            f"{one.name}: {percent(one.main[0])} (95 % interval {percent(one.main[1])} to "
            f"{percent(one.main[2])}), {_beside(one)}; {'found' if one.found else 'not found'}."
            for one in gauges
        ),
        ("risk", "in the data", "95 % from", "95 % to", "control", "guessing", ""),
        tuple(
            (
                one.name,
                *map(Share, one.main),
                None if one.control is None else Share(one.control[0]),
                Share(one.guess),
                "found" if one.found else "not found",
            )
            for one in gauges
        ),
    )
