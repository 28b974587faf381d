"""Sums, means and quantiles of the cells of noisy tables, with intervals.

Sums.  What was measured of a cell is the sum of the distances of its numbers from the middle of
their public bounds, S, in parts of half their range (``table.domains.SumOfNumbers``), and the
number of its rows, N, with noise of its own.  The sum of the numbers is S and the middle times N,
whose noises are independent: their variances add up.  So sums add up over cells as counts do.

Means.  A mean is the middle and S / N, with the interval of Fieller ("Some problems in interval
estimation", Journal of the Royal Statistical Society B 16, 1954), of two estimates that are not
correlated, within the bounds.  Where N may be 0, by its noise, the interval is that of the bounds.

Quantiles.  Where F(e) is the number of rows below an edge e of the ranges that were counted, the
quantile of a share p lies in the first range at whose end F reaches p N.  Its interval is made of
all ranges that two tests of F(e) - p N, of (1 - c) / 2 each, do not exclude: so it covers with the
confidence c whatever the distribution within ranges is.  The quantile itself is interpolated.

Guarantee of intervals: over the draws of the noise, for the rows that took part, and for numbers
clamped to their bounds.

Cost: see ``dp.marginals``; of quantiles, for each edge and share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.dp.marginals import NoisyMarginals
from voile_base.ondemand import dataclass

__all__ = ["Key", "MeanOfCells", "MeasureOfCells", "QuantileOfCells", "SumOfCells", "SummedNumbers"]

Key = tuple[tuple[str, int], ...]
"""Columns and their levels."""
Numbers = NDArray[np.float64]
Ends = tuple[Numbers, Numbers, Numbers]
"""Estimates of all cells of a table, and the ends of their intervals."""
_RANGE = re.compile(r"\[(?P<low>[^,\]]+), (?P<high>[^,\]]+)\]")


class MeasureOfCells(Protocol):
    """What is published of cells beside their counts."""

    def ends(self, key: Key, confidence: float) -> Ends | None:
        """Of the cells of a table; None where the table has none of it."""


@dataclass(frozen=True, eq=False)
class SummedNumbers:
    """What was measured of a column of numbers: its sums, and the counts beside them."""

    counts: NoisyMarginals
    sums: NoisyMarginals
    keys: frozenset[Key]
    """The tables over whose cells it was added up."""
    low: float
    high: float
    """Public bounds."""
    parts: int
    """Of half the range, in which sums are measured."""

    @property
    def middle(self) -> float:
        """Of the bounds."""
        return (self.low + self.high) / 2

    def measured(self, key: Key, confidence: float) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Sums of distances from the middle, and counts, each with its half widths."""
        columns, levels = _names(key), _levels(key)
        part = (self.high - self.low) / 2 / self.parts
        return (
            self.sums.cells(columns, levels) * part,
            self.sums.margins(columns, levels, confidence) * part,
            self.counts.cells(columns, levels),
            self.counts.margins(columns, levels, confidence),
        )


@dataclass(frozen=True, eq=False)
class SumOfCells:
    """The sums of numbers."""

    numbers: SummedNumbers

    def ends(self, key: Key, confidence: float) -> Ends | None:
        """Of the cells of a table; none below 0, or above, where no number is."""
        of = self.numbers
        if key not in of.keys:
            return None
        distances, margins, counts, of_counts = of.measured(key, confidence)
        sums = distances + of.middle * counts
        width = np.hypot(margins, of.middle * of_counts)
        low, high = sums - width, sums + width
        if of.low >= 0:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        if of.high <= 0:
            low, high = np.minimum(low, 0), np.minimum(high, 0)
        return sums, low, high


@dataclass(frozen=True, eq=False)
class MeanOfCells:
    """The means of numbers."""

    numbers: SummedNumbers

    def ends(self, key: Key, confidence: float) -> Ends | None:
        """Of the cells of a table; not a number where there seems to be no row."""
        of = self.numbers
        if key not in of.keys:
            return None
        distances, margins, counts, of_counts = of.measured(key, confidence)
        some = counts > 0
        ratio = np.divide(distances, counts, out=np.full_like(counts, np.nan), where=some)
        square = counts**2 - of_counts**2
        sure = some & (square > 0)
        square = np.where(sure, square, 1.0)
        width = np.sqrt(
            np.maximum((distances * counts) ** 2 - square * (distances**2 - margins**2), 0)
        )
        ends = [
            np.where(sure, of.middle + (distances * counts + sign * width) / square, bound)
            for sign, bound in ((-1, of.low), (1, of.high))
        ]
        low, high = (np.clip(end, of.low, of.high) for end in ends)
        return np.clip(of.middle + ratio, of.low, of.high), low, high


@dataclass(frozen=True, eq=False)
class QuantileOfCells:
    """The quantile of a share of the numbers of a column."""

    counts: NoisyMarginals
    keys: frozenset[Key]
    """The tables of counts that were measured."""
    column: str
    share: float
    """Between 0 and 1."""

    def ends(self, key: Key, confidence: float) -> Ends | None:
        """Of the cells of a table; not a number where there seems to be no row."""
        whole = (*key, (self.column, 0))
        if whole not in self.keys or self.column in _names(key):
            return None
        cells = self.counts.cells(_names(whole), _levels(whole))
        below = self._below - self.share * self._present
        margins = self.counts.margins_across(_names(whole), _levels(whole), [*below], confidence)
        differences = cells @ below.T
        low, high = self._ranges(differences, margins)
        value = self._interpolated(cells)
        inner = np.clip(value, self._starts[low], self._stops[high])
        none = cells @ self._present <= 0
        return np.where(none, np.nan, inner), self._starts[low], self._stops[high]

    def _ranges(
        self, differences: Numbers, margins: Numbers
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last range that the quantile may lie in."""
        edges = differences.shape[-1]  # between ranges: the outer ones exclude nothing
        not_below = differences + margins >= 0  # the quantile may lie before the edge
        not_above = differences - margins <= 0  # or behind it
        first = np.where(not_below.any(axis=-1), not_below.argmax(axis=-1), edges)
        last = np.where(not_above.any(axis=-1), edges - not_above[..., ::-1].argmax(axis=-1), 0)
        return np.minimum(first, last), np.maximum(first, last)

    def _interpolated(self, cells: Numbers) -> Numbers:
        ordered = np.maximum(cells[..., self._order], 0)
        ends = np.cumsum(ordered, axis=-1)
        wanted = self.share * ends[..., -1:]
        place = np.minimum((ends < wanted).sum(axis=-1), len(self._order) - 1)
        own = np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]
        before = np.take_along_axis(ends, place[..., None], axis=-1)[..., 0] - own
        within = np.divide(wanted[..., 0] - before, own, out=np.zeros_like(own), where=own > 0)
        low, high = self._starts[place], self._stops[place]
        return np.asarray(low + (high - low) * np.clip(within, 0, 1))

    @cached_property
    def _limits(self) -> Sequence[tuple[float, float] | None]:
        """What each cell of the column stands for; None of the missing value."""
        return [_limits_of(label) for label in self.counts.labels[self.column]]

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The cells that stand for numbers, ascending."""
        some = [place for place, limits in enumerate(self._limits) if limits is not None]
        return np.array(sorted(some, key=lambda place: self._limits[place] or (0.0, 0.0)))

    @cached_property
    def _starts(self) -> Numbers:
        return np.array([(self._limits[place] or (0.0, 0.0))[0] for place in self._order])

    @cached_property
    def _stops(self) -> Numbers:
        """Where each ends: a range where the next begins, for numbers may have more digits."""
        stops = np.array([(self._limits[place] or (0.0, 0.0))[1] for place in self._order])
        following = np.append(self._starts[1:], stops[-1])
        return np.where(stops > self._starts, following, stops)

    @cached_property
    def _present(self) -> Numbers:
        """Shape (cells,): 1 of cells that stand for numbers."""
        return np.array([float(limits is not None) for limits in self._limits])

    @cached_property
    def _below(self) -> Numbers:
        """For each edge between two ranges, 1 of the cells below it."""
        found = np.zeros((len(self._order) - 1, len(self._limits)))
        for edge in range(len(found)):
            found[edge, self._order[: edge + 1]] = 1
        return found


def _limits_of(label: str | None) -> tuple[float, float] | None:
    """The least and the greatest number that a cell stands for."""
    if label is None:
        return None
    found = _RANGE.fullmatch(label)
    ends = (found["low"], found["high"]) if found else (label, label)
    return float(ends[0]), float(ends[1])


def _names(key: Key) -> tuple[str, ...]:
    return tuple(name for name, _ in key)


def _levels(key: Key) -> tuple[int, ...]:
    return tuple(level for _, level in key)
