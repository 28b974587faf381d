"""Attacks, measures of utility, and risks, each on a scale of its own.

Attacks: how often each succeeds, with its interval, beside the baseline of guessing.

Each attack has a line with its name and numbers, and below it a diamond for guessing, a dot for
the attack, and the interval.  A filled dot was counted; an empty one is what the adversary
believes.
Attacks on truths that are easy to guess, such as a sensitive value, and on those that are not,
such as a person's row, would not be told apart on one axis: each kind has its own.

Measures of utility, each on its own scale between a release that is untouched and one useless.

Every scale is brought to the same length: untouched on the left, useless on the right.

Risks as gauges from nobody to everybody: the people in the data, the control, guessing.

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
    at_least,
    drawing,
    finished,
    head_row,
    headed_rows,
    rate_axis,
)
from voile.report.words import Share, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Gauge", "Loss", "SuccessRate", "draw_gauges", "draw_losses", "draw_rates"]


_OFTEN = 0.05
"""Attacks on truths that are easy to guess have an axis of their own."""


@dataclass(frozen=True)
class SuccessRate:
    """The success of one attack; all numbers are between 0 and 1."""

    name: str
    targets: str
    """At whom it was aimed."""
    value: float
    low: float
    high: float
    baseline: float
    counted: bool
    """Whether successes were counted; else they are what the adversary believes."""


def draw_rates(name: str, title: str, rates: Sequence[SuccessRate]) -> Chart:
    """The chart of at least one attack, in the given order from the top."""
    often = [rate for rate in rates if rate.baseline >= _OFTEN]
    rarely = [rate for rate in rates if rate.baseline < _OFTEN]
    fields = {
        f"where guessing is right for {percent(_OFTEN)} or more": often,
        "where guessing is rarely right": rarely,
    }
    shown = {head: held for head, held in fields.items() if held}
    with drawing():
        figure, places = headed_rows([len(held) for held in shown.values()], top=30)
        logarithmic = False
        for axes, (head, held) in zip(places, shown.items(), strict=True):
            logarithmic |= _draw_field(axes, held)
            axes.annotate(
                head, (0, 1), (0, 14), xycoords="axes fraction", textcoords="offset points",
                color=Ink.SOFT, style="italic", va="center",
            )  # fmt: skip
        return finished(figure, _words(name, title, rates, logarithmic))


def _draw_field(axes: Axes, rates: Sequence[SuccessRate]) -> bool:
    """Attacks on an axis of their own; true where it is logarithmic."""
    # Lower ends of intervals may be very small, and stretch the axis only where they are 0.
    ends = [end for rate in rates for end in (rate.value, rate.baseline, rate.high)]
    logarithmic = rate_axis(axes, [*ends, *(0.0 for rate in rates if rate.low <= 0)])
    for row, rate in enumerate(rates):
        said = f"{percent(rate.value)}, guessing {percent(rate.baseline)}"
        _mark(axes, head_row(axes, row, rate.name, said), rate)
    return logarithmic


def _mark(axes: Axes, line: float, rate: SuccessRate) -> None:
    """Guessing, the success and its interval, at the height ``line``."""
    low, value, high, guess = at_least((rate.low, rate.value, rate.high, rate.baseline), axes)
    over: dict[str, Any] = {"clip_on": False, "markeredgewidth": 1.8}
    axes.plot([guess, value], [line, line], color=Ink.GRID, linewidth=5, clip_on=False)
    axes.plot([low, high], [line, line], color=Ink.AFTER, linewidth=1.6, clip_on=False)
    # An interval that goes on beyond the axis has no end there.
    ends = [end for end, rated in ((low, rate.low), (high, rate.high)) if end == max(rated, 0.0)]
    axes.plot(ends, [line] * len(ends), "|", color=Ink.AFTER, markersize=9, **over)
    axes.plot([guess], [line], "D", color=Ink.GUESS, markersize=7, mfc=Ink.PAPER, **over)
    fill = Ink.AFTER if rate.counted else Ink.PAPER
    axes.plot([value], [line], "o", color=Ink.AFTER, markersize=9, mfc=fill, **over)


def _interval(rate: SuccessRate) -> str:
    if rate.low == rate.high:
        return "counted in closed form, no interval"
    return f"95 % interval {percent(rate.low)} to {percent(rate.high)}"


def _words(name: str, title: str, rates: Sequence[SuccessRate], logarithmic: bool) -> Words:
    sentences = [
        f"{rate.name}: {'succeeds' if rate.counted else 'is believed to succeed'} for "
        f"{percent(rate.value)} of {rate.targets} ({_interval(rate)}), guessing for "
        f"{percent(rate.baseline)}."
        for rate in rates
    ]
    if logarithmic:
        sentences.append("The axis is logarithmic, with 0 at its left end.")
    return Words(
        name,
        title,
        " ".join(sentences),
        ("attack", "targets", "success", "95 % from", "95 % to", "guessing", "successes are"),
        tuple(
            (
                rate.name,
                rate.targets,
                *map(Share, (rate.value, rate.low, rate.high, rate.baseline)),
                "counted" if rate.counted else "believed",
            )
            for rate in rates
        ),
    )


_BEYOND = 0.06
"""How far a mark stands beyond the scale whose value does."""


@dataclass(frozen=True)
class Loss:
    """One measure with both ends of its scale, which differ."""

    name: str
    value: float
    untouched: float
    useless: float

    @property
    def share(self) -> float:
        """0 where the release is untouched, 1 where it is useless; may lie beyond both."""
        return (self.value - self.untouched) / (self.useless - self.untouched)


def draw_losses(name: str, title: str, losses: Sequence[Loss]) -> Chart:
    """The chart of at least one measure, in the given order from the top."""
    with drawing():
        figure, [axes] = headed_rows([len(losses)])
        axes.set_xlim(-_BEYOND, 1 + _BEYOND)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["untouched", "", "half way", "", "useless"])
        for row, loss in enumerate(losses):
            said = (
                f"{number(loss.value)} (untouched {number(loss.untouched)}, "
                f"useless {number(loss.useless)})"
            )
            line = head_row(axes, row, loss.name, said)
            drawn = min(max(loss.share, -_BEYOND), 1 + _BEYOND)
            marker = "o" if drawn == loss.share else "<" if drawn < 0 else ">"
            axes.plot([0, drawn], [line, line], color=Ink.AFTER, linewidth=2.4, clip_on=False)
            axes.plot([drawn], [line], marker, color=Ink.AFTER, markersize=9, clip_on=False)
        return finished(figure, _loss_words(name, title, losses))


def _loss_words(name: str, title: str, losses: Sequence[Loss]) -> Words:
    return Words(
        name,
        title,
        " ".join(f"{loss.name}: {number(loss.value)}, {_place(loss.share)}." for loss in losses),
        ("measure", "value", "untouched", "useless", "way from untouched to useless"),
        tuple(
            (loss.name, loss.value, loss.untouched, loss.useless, Share(loss.share))
            for loss in losses
        ),
    )


def _place(share: float) -> str:
    if share < 0:
        return "better than untouched"
    if share > 1:
        return "worse than useless"
    return f"{percent(share)} of the way from untouched to useless"


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
            _gauge_mark(axes, head_row(axes, row, gauge.name, said), gauge)
        return finished(figure, _risk_words(name, title, gauges))


def _beside(gauge: Gauge) -> str:
    if gauge.control is None:
        return f"no control, guess {percent(gauge.guess)}"
    return f"control {percent(gauge.control[0])}, guess {percent(gauge.guess)}"


def _gauge_mark(axes: Axes, line: float, gauge: Gauge) -> None:
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


def _risk_words(name: str, title: str, gauges: Sequence[Gauge]) -> Words:
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
