"""How the values of one column are distributed, before and after.

Bins of numbers are drawn to scale as two step lines; where some bins are far wider than others,
and for values counted one by one, as pairs of bars, the commonest values first.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from voile.report.words import Share, clipped, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Shares", "draw_shares"]

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
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow to load
    from matplotlib.patches import Patch  # noqa: PLC0415

    before = Patch(facecolor=Ink.BEFORE_FILL, edgecolor=Ink.BEFORE, label="original")
    after = (
        Line2D([], [], color=Ink.AFTER, linewidth=2, linestyle=(0, (4, 1.5)), label="release")
        if filled
        else Patch(facecolor=Ink.AFTER, edgecolor=Ink.AFTER, label="release")
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
