"""Attacks: how often each succeeds, with its interval, beside the baseline of guessing.

Each attack has a line with its name and numbers, and below it a diamond for guessing, a dot for
the attack, and the interval.  A filled dot was counted; an empty one is what the adversary
believes.
Attacks on truths that are easy to guess, such as a sensitive value, and on those that are not,
such as a person's row, would not be told apart on one axis: each kind has its own.
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
from voile.report.words import Share, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SuccessRate", "draw_rates"]


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
