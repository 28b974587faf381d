"""What cells stand for among the values of a column, by how the column is shown.

``voile.utility.covering`` says what is assumed.  Cost: O((d + e) log d) for d values and e cells.

How entries that stand for several values are spread over them: a distribution for each.

What it does: holds, for e entries and d values, a row-stochastic matrix (e, d) in O(e + d) numbers,
and multiplies with it without building it.

Algorithm: values are put in an order in which every entry stands for a run of them: ascending for
intervals, the leaves of the tree for generalized labels; sets of values, of which there need be no
such order, stand one behind the other.  A value has a weight, and within a run values share by
their weights.  Products are differences of cumulative sums.

Cost: O(e + o) for a product with a vector, where the order has o places; ``expectation`` has those
with several.  ``matrix`` holds a number for each pair of an entry and a value that it stands for:
up to e d, so ask for it where d is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import (
    DistinctCells,
    Domain,
    Evidence,
    Floats,
    Indices,
    IntervalEvidence,
    Labels,
)
from voile.disclosure.noise import NoisyEvidence
from voile.schema.hierarchy.generalized import EVERYTHING
from voile_base.errors import TableError
from voile_base.ondemand import dataclass, on_demand

__all__ = [
    "Covered",
    "Spread",
    "labels_covered",
    "near_covered",
]


sparse = on_demand("scipy.sparse")


@dataclass(frozen=True, eq=False)
class Spread:
    """The distributions of e entries over d values."""

    order: Indices
    """Shape (o,): the values in the order of the runs; one may stand there several times."""
    start: Indices
    """Shape (e,): where in that order the run of each entry begins."""
    stop: Indices
    """Shape (e,): where it ends; above ``start``."""
    weight: Floats
    """Shape (d,): the weight of each value, above 0, in the order of values."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def covered(self) -> Indices:
        """Shape (e,): how many values each entry stands for."""
        return self.stop - self.start

    @cached_property
    def matrix(self) -> Any:
        """The distributions as a sparse matrix, shape (e, d); each row adds up to 1."""
        ends = np.cumsum(self.covered)
        run = np.arange(int(ends[-1]) if len(ends) else 0)
        run += np.repeat(self.start - ends + self.covered, self.covered)
        value = self.order[run]
        share = self.weight[value] / np.repeat(self._total, self.covered)
        entries = np.concatenate([[0], ends])
        return sparse.csr_array((share, value, entries), shape=(len(self), len(self.weight)))

    def spread(self, rows: NDArray[np.generic]) -> Floats:
        """The rows of each value, shape (d,), where ``rows`` (e,) are those of each entry."""
        alone = self.covered == 1
        counts = np.bincount(self.start[alone], rows[alone], len(self.order)).astype(np.float64)
        wide = ~alone
        if wide.any():
            density = rows[wide] / self._total[wide]
            size = len(self.order) + 1
            change = np.bincount(self.start[wide], density, size)
            change -= np.bincount(self.stop[wide], density, size)
            # Rounding may leave less than nothing where no run is.
            counts += np.maximum(np.cumsum(change)[:-1], 0.0) * self.weight[self.order]
        found: Floats = np.bincount(self.order, counts, len(self.weight)).astype(np.float64)
        return found

    @cached_property
    def _total(self) -> Floats:
        """Shape (e,): the weight of all values that an entry stands for."""
        weight = self.weight[self.order]
        sums = _sums(weight)
        total = sums[self.stop] - sums[self.start]
        alone = self.covered == 1
        total[alone] = weight[self.start[alone]]
        return total


def _sums(weights: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(weights)])


Texts = Sequence[str | None]

_LEAF = 1 + 1e-9
"""Shares of a hierarchy are divisions, and rounded."""


@dataclass(frozen=True, eq=False)
class Covered:
    """What e cells stand for."""

    spread: Spread
    size: Floats
    """Shape (e,): the share of the domain that each covers, between 0 and 1."""
    ends: tuple[Floats, Floats] | None
    """Shape (e,) each: where they begin and end on the line; NaN for a missing value, None for
    texts."""
    level: Indices | None
    """Shape (e,): the level of the hierarchy that shows each; None where some are of no level."""

    @staticmethod
    def noisy(domain: Domain, cells: DistinctCells, evidence: NoisyEvidence) -> Covered:
        """Each noisy number stands for the value nearest to it, and is as wide as its interval."""
        value = evidence.value
        runs = _Runs.of_indices(domain.nearest(value))
        runs.become(runs.empty, *_hidden(domain, cells, runs.empty, 0))
        spread = Spread(np.arange(len(domain)), runs.start, runs.stop, domain.weight)
        low, high = (
            np.clip(value + way * evidence.half_width, *evidence.bounds) for way in (-1, 1)
        )
        return Covered(spread, _width(domain, low, high), (value, value), None)

    @staticmethod
    def permuted(domain: Domain, covered: Covered, entry: Indices, group: Indices) -> Covered:
        """The same, where each of n rows may show any value of its group, ``group`` (n,) from 0.

        A number costs the range of its group, a text the share of all texts that its group holds;
        the size of an entry is the mean over its rows.
        """
        place = covered.spread.order[covered.spread.start[entry]]
        pairs = np.unique(group.astype(np.int64) * len(domain) + place)
        of, value = np.divmod(pairs, len(domain))
        first = np.flatnonzero(np.diff(of, prepend=-1))
        held = np.diff(np.append(first, len(of)))
        size = np.where(held > 1, held / len(domain), 0.0)
        if domain.points is not None and len(first):
            ends = (side.reduceat(domain.points[value], first) for side in (np.fmin, np.fmax))
            size = _width(domain, *ends)
        rows = np.bincount(entry, minlength=len(covered.size))
        total = np.bincount(entry, size[group], minlength=len(covered.size))
        return replace(covered, size=total / np.maximum(rows, 1), level=None)

    @staticmethod
    def intervals(
        domain: Domain, cells: DistinctCells, evidence: IntervalEvidence, level: int | None
    ) -> Covered:
        """Each interval stands for the values in it; ``level`` is None where groups differ."""
        known = evidence.known
        order = np.lexsort((known, ~np.isnan(known)))  # missing first
        ascending, first = known[order], int(np.isnan(known).sum())
        runs = _Runs(
            np.searchsorted(ascending[first:], evidence.low, side="left") + first,
            np.searchsorted(ascending[first:], evidence.high, side="right") + first,
        )
        missing = np.isnan(evidence.low) & np.isnan(evidence.high)
        runs.become(missing, *_hidden(domain, cells, missing, level))
        gap = runs.empty
        if gap.any() and domain.values.numbers is not None:
            centre = (evidence.low[gap] + evidence.high[gap]) / 2
            near = _Runs.of_indices(domain.nearest(centre))
            runs.become(gap, near.start, near.stop)
        _require_explained(domain, runs)
        spread = Spread(order, runs.start, runs.stop, domain.weight)
        ends = _ends_of_runs(domain, spread)
        if ends is not None and domain.values.numbers is not None:
            low, high = ends
            ends = np.where(missing, low, evidence.low), np.where(missing, high, evidence.high)
        if ends is None:  # ranges of texts in a declared order
            size = np.where(spread.covered > 1, spread.covered / len(domain), 0.0)
        else:
            size = _width(domain, *ends)
        size = np.where(missing, _size_of_hidden(spread), size)
        levels = None if level is None else np.full(len(spread), level)
        return Covered(spread, size, ends, levels)

    @staticmethod
    def expanded(domain: Domain, covered: Covered, code: Indices) -> Covered:
        """What entries over c coded values cover of the d values that became these.

        ``code`` (d,) is what each became.  An entry is as wide as its values lie apart, or as it
        was.
        """
        held = np.bincount(code, minlength=len(covered.spread.weight))
        first = np.cumsum(held) - held
        members = np.argsort(code, kind="stable")
        before = covered.spread
        each = held[before.order]
        ends = np.concatenate([[0], np.cumsum(each)])
        run = np.arange(int(ends[-1])) - np.repeat(ends[:-1] - first[before.order], each)
        start, stop = ends[before.start], ends[before.stop]
        spread = Spread(members[run], start, stop, domain.weight)
        outer = _ends_of_runs(domain, spread)
        if outer is None:
            wide = spread.covered > 1
            share = np.where(wide, spread.covered / len(domain), 0.0)
        else:
            share = _width(domain, *outer)
        return Covered(spread, np.clip(np.maximum(covered.size, share), 0.0, 1.0), outer, None)

    @staticmethod
    def sets(domain: Domain, named: Sequence[Texts | None]) -> Covered:
        """Each cell stands for the values that it names; None for any."""
        places = {text: place for place, text in enumerate(domain.values.texts)}
        everything = list(range(len(domain)))
        members = [
            everything if texts is None else [places[text] for text in texts if text in places]
            for texts in named
        ]
        size = np.array([len(found) for found in members], dtype=np.int64)
        stop = np.cumsum(size)
        runs = _Runs(stop - size, stop)
        _require_explained(domain, runs)
        order = np.array([place for found in members for place in found], dtype=np.int64)
        spread = Spread(order, runs.start, runs.stop, domain.weight)
        wide = size > 1
        share = np.where(wide, size / len(domain), 0.0)
        ends = _ends_of_runs(domain, spread)
        return Covered(spread, share, ends, None if wide.any() else np.zeros(len(size), np.int64))


def near_covered(domain: Domain, covered: Covered, numbers: Floats, width: float) -> Covered:
    """The same, where each number may be anything in an interval of this width around it.

    ``numbers`` (e,) are NaN for missing ones, which stand for themselves.
    """
    if domain.extent is None:
        return covered
    middle = np.clip(numbers, *domain.extent)
    low, high = (np.clip(middle + way * width / 2, *domain.extent) for way in (-1, 1))
    size = np.where(np.isnan(numbers), covered.size, _width(domain, low, high))
    return replace(covered, size=size, level=None)


def labels_covered(
    domain: Domain, cells: DistinctCells, evidence: Evidence, level: int | None
) -> Covered:
    """Each text stands for the values that became it; ``level`` is None where groups differ."""
    assert isinstance(evidence, Labels)
    texts = cells.texts(cells.name)
    reading = _Reading.of(domain, texts, level)
    runs = reading.runs()
    null = np.array([text is None for text in texts], dtype=np.bool_)
    unclear = evidence.anything & ~null & ~reading.numbers
    runs.become(unclear, 0, len(domain))
    mixed = null & (runs.empty | (level is None and domain.points is not None))
    runs.become(mixed, *_hidden(domain, cells, mixed, level))
    if runs.empty.any():  # groups may differ in detail though no guarantee says so
        reading = _Reading.of(domain, texts, None)
        further = reading.runs()
        reading.explain(further)
        gap = runs.empty
        runs.become(gap, further.start[gap], further.stop[gap])
    _require_explained(domain, runs)
    spread = Spread(domain.leaf_order, runs.start, runs.stop, domain.weight)
    ends = _ends_of_runs(domain, spread)
    size = reading.size(spread)
    if ends is not None and domain.values.numbers is None:
        size = _width(domain, *ends)  # dates as in periods
    hidden = mixed | unclear
    size = np.where(hidden, _size_of_hidden(spread), size)
    return Covered(spread, size, ends, reading.levels_of_entries(hidden))


@dataclass(frozen=True, eq=False)
class _Reading:
    """Texts, and what values become at the levels that may have made them."""

    domain: Domain
    texts: Texts
    labels: Labels
    levels: Sequence[int]

    @classmethod
    def of(cls, domain: Domain, texts: Texts, level: int | None) -> _Reading:
        """Texts of a stated level, or of any."""
        generalized = domain.generalized
        every = range(len(generalized))
        levels = every if level is None else [min(level, len(generalized) - 1)]
        labels = Labels.of([generalized[number] for number in levels], texts)
        return cls(domain, texts, labels, levels)

    def runs(self) -> _Runs:
        """The values that became each text, on any of the levels; none where none did."""
        index = np.empty(len(self.domain), dtype=np.int64)
        index[self.domain.leaf_order] = np.arange(len(self.domain))
        first, last = np.full(self._codes, len(self.domain)), np.full(self._codes, -1)
        for known in self.labels.known:
            np.minimum.at(first, known, index)
            np.maximum.at(last, known, index)
        shown = self.labels.shown
        return _Runs(first[shown], np.maximum(last[shown] + 1, first[shown]))

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Shape (e,): entries that read as numbers, in a column of numbers."""
        if self.domain.values.numbers is None:
            return np.zeros(len(self.texts), dtype=np.bool_)
        return np.array([_number(text) is not None for text in self.texts], dtype=np.bool_)

    def explain(self, runs: _Runs) -> None:
        """Texts of no level: everything, or a number that nobody had."""
        for entry in np.flatnonzero(runs.empty).tolist():
            found = self._meaning(str(self.texts[entry]))
            if found is not None:
                runs.start[entry], runs.stop[entry] = found

    def size(self, spread: Spread) -> Floats:
        """The share of the domain that each entry covers; 0 for a single value."""
        alone = spread.covered == 1
        size = np.where(alone, 0.0, spread.covered / len(self.domain))
        if (hierarchy := self.domain.hierarchy) is not None:
            share, own = np.zeros(self._codes), np.zeros(self._codes)
            for known, level in zip(self.labels.known, self.levels, strict=True):
                np.maximum.at(share, known, hierarchy.values[level].share[hierarchy.codes[level]])
                np.maximum.at(own, known, hierarchy.values[0].share[hierarchy.codes[0]])
            wide = np.where(share > own * _LEAF, share, 0.0)[self.labels.shown]
            size = np.where((share > 0)[self.labels.shown], wide, size)
        everything = np.array([text == EVERYTHING for text in self.texts], dtype=np.bool_)
        return np.where(everything & ~alone, 1.0, size)

    def levels_of_entries(self, hidden: NDArray[np.bool_]) -> Indices | None:
        """The lowest level that shows each text; None where some are of none."""
        level = np.full(self._codes, -1)
        for known, number in reversed(list(zip(self.labels.known, self.levels, strict=True))):
            level[known] = number
        found = level[self.labels.shown]
        everything = np.array([text == EVERYTHING for text in self.texts], dtype=np.bool_)
        found[hidden | (everything & (found < 0))] = len(self.domain.generalized) - 1
        return None if (found < 0).any() else found

    @property
    def _codes(self) -> int:
        return int(max(self.labels.known.max(), self.labels.shown.max(initial=0))) + 1

    def _meaning(self, text: str) -> tuple[int, int] | None:
        """The run of one text."""
        if text == EVERYTHING:
            return 0, len(self.domain)
        number = _number(text)
        if number is None or self.domain.values.numbers is None:
            return None
        (near,) = self.domain.nearest(np.array([number]))
        index = int(np.flatnonzero(self.domain.leaf_order == near)[0])
        return index, index + 1


@dataclass(frozen=True, eq=False)
class _Runs:
    """Where the run of each entry begins and ends, among values in some order; to be filled in."""

    start: Indices
    stop: Indices

    @classmethod
    def of_indices(cls, indices: Indices) -> _Runs:
        """Runs of one value each; none where the index is negative."""
        none = indices < 0
        return cls(np.where(none, 0, indices), np.where(none, 0, indices + 1))

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Entries that stand for nothing yet."""
        none: NDArray[np.bool_] = self.stop <= self.start
        return none

    def become(self, entries: NDArray[np.bool_], start: Indices | int, stop: Indices | int) -> None:
        """Give some entries other runs."""
        self.start[entries] = start
        self.stop[entries] = stop


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _hidden(
    domain: Domain, cells: DistinctCells, missing: NDArray[np.bool_], level: int | None
) -> tuple[int, int]:
    """The run of cells that show a missing value: that one, or anything; see ``covering``."""
    if not domain.values.missing:
        return 0, len(domain)
    mixes = (
        domain.points is not None
        and level is None
        and int(cells.rows[missing].sum()) > int(domain.rows[0])
    )
    return 0, len(domain) if mixes else 1


def _size_of_hidden(spread: Spread) -> Floats:
    """1 where a missing value may be anything, else 0."""
    return np.where(spread.covered > 1, 1.0, 0.0)


def _ends_of_runs(domain: Domain, spread: Spread) -> tuple[Floats, Floats] | None:
    """The outermost points of each entry; NaN for missing values, None where there is no line."""
    if domain.points is None:
        return None
    points = domain.points[spread.order]
    bounds = np.stack([spread.start, spread.stop], axis=1).ravel()
    # ``reduceat`` takes no index behind the end, and every second answer lies between two runs.
    low = np.fmin.reduceat(np.append(points, np.nan), bounds)[::2]
    high = np.fmax.reduceat(np.append(points, np.nan), bounds)[::2]
    return low, high


def _width(domain: Domain, low: Floats, high: Floats) -> Floats:
    """Widths as shares of the line, between 0 and 1; 0 for missing values."""
    assert domain.extent is not None
    length = domain.extent[1] - domain.extent[0]
    if not length > 0:
        return np.zeros(len(low))
    return np.clip(np.nan_to_num((high - low) / length), 0.0, 1.0)


def _require_explained(domain: Domain, runs: _Runs) -> None:
    unknown = int(runs.empty.sum())
    if unknown:
        msg = (
            f"column {domain.name!r}: {unknown:,} of its {len(runs.start):,} different published "
            "entries can stand for no value of the private original; give the original and the "
            "plan that this release was made from"
        )
        raise TableError(msg)
