"""Charts of one release: attacks, measures and risks on scales, and columns before and after.

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

How the values of one column are distributed, before and after.

Bins of numbers are drawn to scale as two step lines; where some bins are far wider than others,
and for values counted one by one, as pairs of bars, the commonest values first.

A measure of each column as dots, or of each pair of columns as a map of shaded cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from voile.report.figures.canvas import (
    SMALL,
    Chart,
    Ink,
    Margins,
    Words,
    at_least,
    drawing,
    head_row,
    headed_rows,
    number_axis,
    rate_axis,
    sheet,
)
from voile.report.words import Share, clipped, number, percent, width_of
from voile_base.ondemand import dataclass, on_demand
from voile_base.values import Json

if TYPE_CHECKING:
    from matplotlib import lines as matplotlib_lines
    from matplotlib import patches as matplotlib_patches
    from matplotlib.axes import Axes
else:
    matplotlib_lines = on_demand("matplotlib.lines")
    matplotlib_patches = on_demand("matplotlib.patches")

__all__ = [
    "Gauge",
    "Loss",
    "Shares",
    "SuccessRate",
    "draw_gauges",
    "draw_losses",
    "draw_pairs",
    "draw_parts",
    "draw_rates",
    "draw_shares",
]

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
        return Chart.of(figure, _rate_words(name, title, rates, logarithmic))


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
    over: Json = {"clip_on": False, "markeredgewidth": 1.8}
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


def _rate_words(name: str, title: str, rates: Sequence[SuccessRate], logarithmic: bool) -> Words:
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
        return Chart.of(figure, _loss_words(name, title, losses))


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
        return Chart.of(figure, _risk_words(name, title, gauges))


def _beside(gauge: Gauge) -> str:
    if gauge.control is None:
        return f"no control, guess {percent(gauge.guess)}"
    return f"control {percent(gauge.control[0])}, guess {percent(gauge.guess)}"


def _gauge_mark(axes: Axes, line: float, gauge: Gauge) -> None:
    """The track, what is beyond the control, and three marks, at the height ``line``."""
    value, low, high = gauge.main
    other = gauge.guess if gauge.control is None else gauge.control[0]
    over: Json = {"clip_on": False, "markeredgewidth": 1.8}
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
    return Chart.of(figure, _shares_words(name, title, shares))


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
    return Chart.of(figure, _shares_words(name, title, shares))


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


def _shares_words(name: str, title: str, shares: Shares) -> Words:
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
        return Chart.of(figure, words)


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
        return Chart.of(
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
