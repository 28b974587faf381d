"""Clusters of rows by their sensitive values: categories first, then k-means of the numbers.

What rows of one cluster have in common:

- columns that hold no numbers (texts, truth values, dates): the very same values.  Each combination
  of categories is divided from all others;
- one numeric column: neighbouring numbers; the division is exactly optimal (``segments``), or as
  the paper finds it from one random start, or of fixed ranges (the paper's 4.1);
- several numeric columns: nearness of their standardized values, by scikit-learn.

K is the number of all clusters together, so it lies between the number of combinations of
categories and that of distinct combinations of sensitive values.  Where there are only categories,
the two are the same.

Clusters are numbered from 0: by categories, then by the centre, in the order of the columns.
Private: everything here is computed from private counts.

Several numeric columns (``_SeveralNumbers``).  Finds clusters of small weighted squared distances
to their centres; no optimum is promised: the problem is NP-hard in two dimensions and more.
Columns are divided by their standard deviation over rows before, unless distances in their own
units are wanted.

Algorithm: Lloyd's, the best of 10 starts by k-means++ (Arthur and Vassilvitskii, "k-means++: the
advantages of careful seeding", 2007), on distinct points weighted by their rows.  Rows of different
categories are divided separately: each further cluster goes to that combination of categories
whose squared distances it lowers most.  Starts come from a key, so one key gives the same clusters
on the same machine.

Cost: O(starts iterations K g) for g distinct points.  Needs scikit-learn
(``pip install 'voile[learn]'``).

Weighted k-means of numbers on a line, exactly optimal, for every number of clusters at once.

Minimises the sum of squared distances of weighted numbers to the means of their clusters.  In one
dimension clusters of an optimum are segments of the sorted numbers, so the best k segments of the
first j numbers end with one segment and the best k - 1 segments before it.

Sources: Wang and Song, "Ckmeans.1d.dp: optimal k-means clustering in one dimension by dynamic
programming" (The R Journal 3/2, 2011) for the recurrence; Groenlund et al., "Fast exact k-means,
k-medians and Bregman divergence clustering in 1D" (2017), section 2, for the start of the last
segment, which never falls as j grows, so that a layer is solved by halving.

Numbers may come in blocks that no segment may cross (categories): then k segments hold at least one
for each block.

Claim: the cost is optimal up to a relative error of some 1e-14.  The squares of a segment come from
differences of sums over all numbers, in which a narrow segment far from the rest would drown; the
sums are therefore kept in pairs of doubles, some 106 bits (Dekker, 1971).  Among equal costs the
last segment is the longest, so the result does not depend on the machine.

Cost: O(K d log d) time for d distinct numbers, and 4 K d bytes.

The sensitive values that are clustered: numbers by distance, all others by equality.

What it does: draws K rows as first means, assigns every number to the nearest mean, moves the
means, and goes on until no assignment changes, or after ``ITERATIONS``.

Source: "Privacy Preserving in Big Data Sets through Multiple Shuffle" (ACSW 2017), Algorithm 1 and
eqs. 2 and 3; 4.2.1 for the number of iterations.

Claim: none beside that: of the twelve salaries of its Table 2 five in six starts miss the best four
clusters.  ``segments`` finds the optimum.

Cost: O(iterations K d) for d distinct numbers.

Departures: a mean that no number is nearest to stays where it is, where the paper divides by zero;
of means that are as near, the first that was drawn takes the number, as printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from math import ceil
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile.table.summaries import CombinationCounts
from voile_base.compiled import njit
from voile_base.errors import InfeasibleError, InputError, PlanError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key

if TYPE_CHECKING:
    from sklearn import cluster as sklearn_cluster
else:
    sklearn_cluster = on_demand("sklearn.cluster")

__all__ = [
    "ITERATIONS",
    "Clustering",
    "Labels",
    "Segments",
    "SensitiveValues",
    "Start",
    "assignments",
    "random_start",
]

ITERATIONS = 1000
_REFUSED = np.uint64(2**64 - 1)


def random_start(
    numbers: NDArray[np.float64], rows: NDArray[np.float64], clusters: int, key: Key
) -> NDArray[np.int64]:
    """The cluster of each number, shape (d,), from 0 by their means; empty ones are left out.

    ``numbers`` (d,) are distinct, of ``rows`` (d,) each.
    """
    label = np.zeros(len(numbers), dtype=np.int64)
    for label in assignments(numbers, rows, clusters, key):  # noqa: B007 - the last one is wanted
        pass
    least = np.full(clusters, np.inf)
    np.minimum.at(least, label, numbers)
    return np.unique(least[label], return_inverse=True)[1].astype(np.int64)


def assignments(
    numbers: NDArray[np.float64], rows: NDArray[np.float64], clusters: int, key: Key
) -> Iterator[NDArray[np.int64]]:
    """The clusters after each iteration, in the order of their starts, until nothing changes."""
    means = numbers[_drawn(rows, clusters, key)]
    before = None
    for _ in range(ITERATIONS):
        label = _nearest(numbers, means)
        if before is not None and np.array_equal(label, before):
            return
        yield label
        own = np.bincount(label, weights=rows, minlength=clusters)
        sums = np.bincount(label, weights=rows * numbers, minlength=clusters)
        means = np.divide(sums, own, out=means.copy(), where=own > 0)
        before = label


def _nearest(numbers: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.int64]:
    """The mean that each number is nearest to, the first of those that are as near."""
    apart, first = np.unique(means, return_index=True)
    middles = (apart[1:] + apart[:-1]) / 2
    sides = (first[np.searchsorted(middles, numbers, side=side)] for side in ("left", "right"))
    return np.minimum(*sides).astype(np.int64)


def _drawn(rows: NDArray[np.float64], clusters: int, key: Key) -> NDArray[np.int64]:
    """The numbers of K different rows, each set of rows as likely as any other.

    Row by row: a word below the number of rows, drawn anew where its row was drawn before.
    """
    ends = np.cumsum(np.maximum(np.rint(rows), 1).astype(np.int64))
    total, place = int(ends[-1]), 0
    limit = _REFUSED - _REFUSED % np.uint64(total)
    chosen: dict[int, None] = {}
    while len(chosen) < min(clusters, total):
        word = key.stream(1, place)[0]
        place += 1
        if word < limit:
            chosen.setdefault(int(word % np.uint64(total)))
    return np.searchsorted(ends, np.array(list(chosen)), side="right")


Floats = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Segments:
    """The best divisions of d numbers into 1 to K segments."""

    cost: Floats
    """Shape (K,): the sum of squares of the best k + 1 segments; infinite where blocks forbid."""
    last_start: Indices
    """Shape (K, d): where the last of k + 1 segments of the first j + 1 numbers begins."""

    def labels(self, count: int) -> NDArray[np.int64]:
        """The segment of each number, shape (d,), ascending from 0, in the best ``count``."""
        numbers = self.last_start.shape[1]
        segment = np.empty(numbers, dtype=np.int64)
        end = numbers
        for k in range(count - 1, -1, -1):
            start = int(self.last_start[k, end - 1])
            segment[start:end] = k
            end = start
        return segment

    @staticmethod
    def optimal(numbers: Floats, weights: Floats, block: NDArray[np.int64], most: int) -> Segments:
        """The best divisions into up to ``most`` segments, 1 to d.

        ``numbers``: shape (d,), ascending within each block; ``weights``: above 0, whole, with a
        sum below 2**53; ``block``: ascending from 0, none left out.
        """
        centred = numbers - numbers[len(numbers) // 2]
        # Scaled by a power of two, which is exact, so that squares neither overflow nor vanish.
        exponent = np.frexp(np.abs(centred).max(initial=0.0))[1]
        sums = _sums(np.ldexp(centred, -exponent), weights)
        block_start = np.searchsorted(block, block).astype(np.int64)
        cost = np.full(most, np.inf)
        last_start = np.zeros((most, len(block)), dtype=np.int32)
        _layers(sums, block, block_start, cost, last_start)
        return Segments(np.ldexp(cost, 2 * exponent), last_start)


@njit(cache=True, nogil=True)
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """The sum as a rounded number and its error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(cache=True, nogil=True)
def _two_product(a: float, b: float) -> tuple[float, float]:
    """The product as a rounded number and its error."""
    product = a * b
    high = 134217729.0 * a
    a_high = high - (high - a)
    high = 134217729.0 * b
    b_high = high - (high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(cache=True, nogil=True)
def _added(high: float, low: float, more: float, error: float) -> tuple[float, float]:
    """The sum of two pairs of doubles."""
    total, rest = _two_sum(high, more)
    return _two_sum(total, rest + low + error)


@njit(cache=True, nogil=True)
def _sums(numbers: Floats, weights: Floats) -> Floats:
    """Sums before each number, shape (d + 1, 5): weights, then w x and w x^2 as pairs."""
    sums = np.zeros((len(numbers) + 1, 5))
    for i in range(len(numbers)):
        x, w = numbers[i], weights[i]
        first, first_error = _two_product(w, x)
        square, square_error = _two_product(x, x)
        second, second_error = _two_product(w, square)
        second_error += w * square_error
        sums[i + 1, 0] = sums[i, 0] + w
        sums[i + 1, 1], sums[i + 1, 2] = _added(sums[i, 1], sums[i, 2], first, first_error)
        sums[i + 1, 3], sums[i + 1, 4] = _added(sums[i, 3], sums[i, 4], second, second_error)
    return sums


@njit(cache=True, nogil=True)
def _squares(sums: Floats, start: int, end: int) -> float:
    """Weighted squared distances of numbers start to end - 1 to their mean."""
    if end - start == 1:
        return 0.0
    weight = sums[end, 0] - sums[start, 0]
    first, first_low = _added(sums[end, 1], sums[end, 2], -sums[start, 1], -sums[start, 2])
    second, second_low = _added(sums[end, 3], sums[end, 4], -sums[start, 3], -sums[start, 4])
    # second - first^2 / weight, each step with the error of the one before.
    square, square_low = _two_product(first, first)
    square_low += 2.0 * first * first_low
    share = square / weight
    back, back_low = _two_product(share, weight)
    share_low = ((square - back) - back_low + square_low) / weight
    squares, rest = _added(second, second_low, -share, -share_low)
    return max(0.0, squares + rest)


@njit(cache=True, nogil=True)
def _layers(
    sums: Floats,
    block: NDArray[np.int64],
    block_start: NDArray[np.int64],
    cost: Floats,
    last_start: Indices,
) -> None:
    """The cost of each number of segments, and where the last of them starts."""
    numbers = len(block)
    before = np.full(numbers + 1, np.inf)
    before[0] = 0.0
    for k in range(len(cost)):
        best = np.full(numbers + 1, np.inf)
        # Prefixes of k + 1 segments hold as many numbers or more, and as many blocks or fewer.
        longest = int(np.searchsorted(block, k + 1))
        if longest > k:
            _solve_layer(sums, block_start, before, best, last_start[k], k, longest)
        cost[k] = best[numbers]
        before = best


@njit(cache=True, nogil=True)
def _solve_layer(
    sums: Floats,
    block_start: NDArray[np.int64],
    before: Floats,
    best: Floats,
    last_start: Indices,
    k: int,
    longest: int,
) -> None:
    """The best k + 1 segments of prefixes of k + 1 to ``longest`` numbers, the middle one first."""
    waiting, some = np.empty((2 * 64, 4), np.int64), 1  # halves of halves
    _wait(waiting[0], k + 1, longest, k, longest - 1)
    while some:
        some -= 1
        low, high, from_start, to_start = waiting[some]
        middle = (low + high) // 2
        first = max(from_start, block_start[middle - 1])
        last = min(to_start, middle - 1)
        least, chosen = np.inf, first
        for start in range(first, last + 1):
            cost = before[start] + _squares(sums, start, middle)
            if cost < least:
                least, chosen = cost, start
        best[middle] = least
        last_start[middle - 1] = chosen
        if low < middle:
            _wait(waiting[some], low, middle - 1, from_start, chosen)
            some += 1
        if middle < high:
            _wait(waiting[some], middle + 1, high, chosen, to_start)
            some += 1


@njit(cache=True, nogil=True)
def _wait(place: NDArray[np.int64], low: int, high: int, from_start: int, to_start: int) -> None:
    place[0], place[1], place[2], place[3] = low, high, from_start, to_start


Labels = NDArray[np.int64]
"""The cluster of each of some combinations of values, from 0."""


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """The g distinct combinations of sensitive values, and how many rows have each; private."""

    counts: CombinationCounts

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """How many rows have each combination, or persons, whose rows share one; shape (g,)."""
        units = self.counts.units
        if units is None:
            return self.counts.rows.astype(np.float64)
        return np.asarray(units.weight / units.whole)

    def of_one_alone(self, labels: Labels) -> int:
        """How many clusters have the rows of one person or household alone; 0 where rows count."""
        units, clusters = self.counts.units, int(labels.max()) + 1
        if units is None:
            return 0
        return int((~units.at_least(2, labels, clusters)).sum())

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Indices of the numeric columns."""
        return tuple(i for i, values in enumerate(self.counts.values) if values.numbers is not None)

    @cached_property
    def categories(self) -> Labels:
        """The combination of categories of each combination of values, shape (g,), from 0."""
        indices = [i for i in range(len(self.counts.columns)) if i not in self.numeric]
        if not indices:
            return np.zeros(len(self.counts.rows), dtype=np.int64)
        _, category = np.unique(self.counts.codes[:, indices], axis=0, return_inverse=True)
        return category.reshape(-1).astype(np.int64)

    def numbers(self, index: int) -> NDArray[np.float64]:
        """Values of a numeric column, shape (g,), as differences from one of them.

        Differences are rounded, values are not: numbers far from 0 keep their distances.
        Raises ``TableError`` for numbers of which no float holds the squares.
        """
        values: DistinctValues = self.counts.values[index]
        assert values.numbers is not None
        units = values.numbers.units
        scale = values.numbers.scale if units.dtype == object else 0  # else whole units will do
        differences = ExactNumbers(units - units[len(units) // 2], scale)
        return differences.floats(self.counts.columns[index])[self.counts.codes[:, index]]

    def cluster(
        self, most: int, key: Key, *, standardized: bool, start: Start = "optimal"
    ) -> Clustering:
        """All ways to divide the values into up to ``most`` clusters; at least those of categories.

        ``key`` starts k-means, of several columns ``standardized`` or in their units, or of one
        from a random start.  Raises ``InfeasibleError`` for a division that is too large to
        compute, ``InputError`` where scikit-learn is needed and absent, ``PlanError`` where a
        random start is asked for and the sensitive columns are not one number.
        """
        if start == "random":
            numbers = _the_number(self, 'start = "random"')
            most = min(most, len(numbers))
            return _FromRandomStarts(numbers, self.weight, most, key)
        fewest = int(self.categories.max(initial=-1)) + 1
        most = max(fewest, min(most, len(self.counts.rows)))
        if not self.numeric:
            return _ByCategory(self.categories, fewest)
        if len(self.numeric) == 1:
            return _on_a_line(self, fewest, most)
        return _SeveralNumbers.of(self, most, key, standardized=standardized)

    def fixed_ranges(self, ends: Sequence[Decimal]) -> Clustering:
        """Clusters by public ends of ranges, ascending; a number at an end begins the upper range.

        Ranges without rows are left out.  Raises ``PlanError`` where there is not one sensitive
        number.
        """
        _the_number(self, "ranges")
        exact = self.counts.values[self.numeric[0]].numbers
        assert exact is not None
        least = [ceil(Fraction(end) * 10**exact.scale) for end in ends]
        place = np.searchsorted(
            np.array(least, dtype=object), exact.units.astype(object), side="right"
        )
        codes = self.counts.codes[:, self.numeric[0]]
        _, labels = np.unique(place[codes], return_inverse=True)
        return _ByCategory(labels.astype(np.int64), int(labels.max(initial=-1)) + 1)


Start = Literal["optimal", "random"]
"""How one number is divided: with the least squares, or by k-means from one random start."""

_LARGEST_TABLE = 1 << 28
"""Entries of the dynamic programme, four bytes each."""
_STARTS = 10


class Clustering(Protocol):
    """Ways to divide g combinations of sensitive values, one for each number of clusters."""

    @property
    def fewest(self) -> int:
        """The least number of clusters: one for each combination of categories."""

    @property
    def most(self) -> int:
        """The largest number of clusters that was asked for and can be."""

    def labels(self, clusters: int) -> Labels:
        """The cluster of each combination, shape (g,), from 0, none left out."""


def _the_number(values: SensitiveValues, asked: str) -> NDArray[np.float64]:
    """The one sensitive number of each combination, shape (g,)."""
    if len(values.numeric) != 1 or len(values.counts.columns) != 1:
        msg = f"[method] {asked} divides one number; name one numeric column under sensitive"
        raise PlanError(msg)
    return values.numbers(values.numeric[0])


@dataclass(frozen=True, eq=False)
class _FromRandomStarts:
    """k-means of one number, each number of clusters from a start of its own."""

    numbers: NDArray[np.float64]
    rows: NDArray[np.float64]
    most: int
    key: Key

    @property
    def fewest(self) -> int:
        """One cluster can always be."""
        return 1

    def labels(self, clusters: int) -> Labels:
        """The cluster of each combination; fewer than asked for where starts fell on one number."""
        start = self.key.within("start", str(clusters))
        return random_start(self.numbers, self.rows, clusters, start)


@dataclass(frozen=True, eq=False)
class _ByCategory:
    """A cluster for each combination of categories."""

    categories: Labels
    fewest: int

    @property
    def most(self) -> int:
        return self.fewest

    def labels(self, clusters: int) -> Labels:
        assert clusters == self.fewest
        return self.categories


@dataclass(frozen=True, eq=False)
class _OnALine:
    """Segments of numbers; computed for all numbers of clusters at once."""

    fewest: int
    most: int
    order: NDArray[np.int64]
    """Combinations by category, then by number."""
    divided: Callable[[int], Labels]
    """The segment of each combination in that order."""

    def labels(self, clusters: int) -> Labels:
        label = np.empty(len(self.order), dtype=np.int64)
        label[self.order] = self.divided(clusters)
        return label


def _on_a_line(values: SensitiveValues, fewest: int, most: int) -> _OnALine:
    if most * len(values.counts.rows) > _LARGEST_TABLE:
        msg = (
            f"{most:,} clusters of {len(values.counts.rows):,} distinct sensitive values are more "
            "than can be searched; ask for fewer clusters"
        )
        raise InfeasibleError(msg)
    numbers = values.numbers(values.numeric[0])
    order = np.lexsort((numbers, values.categories))
    segments = Segments.optimal(
        numbers[order],
        values.weight[order],
        values.categories[order],
        most,
    )
    return _OnALine(fewest, most, order, segments.labels)


@dataclass(frozen=True, eq=False)
class _Division:
    """Points of one combination of categories, divided."""

    labels: Labels
    """Ascending by centre."""
    squares: float
    """The sum of weighted squared distances to the centres."""


@dataclass(frozen=True, eq=False)
class _SeveralNumbers:
    """Clusters in several dimensions; see ``Clustering``."""

    categories: Labels
    points: NDArray[np.float64]
    """Shape (g, m)."""
    rows: NDArray[np.float64]
    most: int
    key: Key
    _found: dict[tuple[int, int], _Division] = field(default_factory=dict)

    @classmethod
    def of(
        cls, values: SensitiveValues, most: int, key: Key, *, standardized: bool
    ) -> _SeveralNumbers:
        """The points of a table; raises ``InputError`` where scikit-learn is not installed."""
        try:
            import_module("sklearn.cluster")
        except ImportError:
            msg = (
                "clusters of several numeric sensitive columns need scikit-learn: "
                "pip install 'voile[learn]'"
            )
            raise InputError(msg) from None
        rows = values.weight
        points = np.column_stack([values.numbers(index) for index in values.numeric])
        if standardized:
            points = _standardized(points, rows)
        return cls(values.categories, points, rows, most, key)

    @property
    def fewest(self) -> int:
        """One cluster for each combination of categories."""
        return int(self.categories.max(initial=-1)) + 1

    def labels(self, clusters: int) -> Labels:
        """The cluster of each combination of values, by category and then by centre."""
        shares = self._shares(clusters)
        label = np.empty(len(self.categories), dtype=np.int64)
        first = 0
        for category, share in enumerate(shares):
            divided = self._divided(category, share).labels
            label[self.categories == category] = first + divided
            first += int(divided.max()) + 1
        return label

    def _shares(self, clusters: int) -> list[int]:
        """How many clusters each combination of categories gets."""
        shares = [1] * self.fewest
        if self.fewest == 1:
            return [clusters]
        sizes = np.bincount(self.categories)
        for _ in range(clusters - self.fewest):
            gains = [
                self._divided(category, share).squares - self._divided(category, share + 1).squares
                if share < sizes[category]
                else -np.inf
                for category, share in enumerate(shares)
            ]
            shares[int(np.argmax(gains))] += 1
        return shares

    def _divided(self, category: int, clusters: int) -> _Division:
        key = category, clusters
        if key not in self._found:
            self._found[key] = self._divide(category, clusters)
        return self._found[key]

    def _divide(self, category: int, clusters: int) -> _Division:
        here = self.categories == category
        seed = int(self.key.stream(1)[0] >> np.uint64(32))
        method = sklearn_cluster.KMeans(clusters, n_init=_STARTS, random_state=seed)
        # Several threads add in an order of their own, so that sums differ in the last digits.
        with import_module("threadpoolctl").threadpool_limits(limits=1):
            found = method.fit(self.points[here], sample_weight=self.rows[here])
        by_centre = np.lexsort(found.cluster_centers_.T[::-1])
        rank = np.empty(clusters, dtype=np.int64)
        rank[by_centre] = np.arange(clusters)
        # Points that rounding has made equal may leave a cluster without any.
        _, labels = np.unique(rank[found.labels_], return_inverse=True)
        return _Division(labels.astype(np.int64), float(found.inertia_))


def _standardized(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column with mean 0 and standard deviation 1 over rows; one of a single value is 0."""
    centred = points - np.average(points, axis=0, weights=rows)
    deviation = np.sqrt(np.average(centred * centred, axis=0, weights=rows))
    return np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
