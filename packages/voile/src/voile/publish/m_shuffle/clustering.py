"""Clusters of rows by their sensitive values: categories first, then k-means of the numbers.

What rows of one cluster have in common:

- columns that hold no numbers (texts, truth values, dates): the very same values.  Each combination
  of categories is divided from all others;
- one numeric column: neighbouring numbers; the division is exactly optimal (``segments``), or as
  the paper finds it (``random_start``), or of fixed ranges (the paper's 4.1);
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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from math import ceil
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.publish.m_shuffle.random_start import random_start
from voile.publish.m_shuffle.sensitive import Labels, SensitiveValues
from voile_base.errors import InfeasibleError, InputError, PlanError
from voile_base.randomness import Key

__all__ = ["Clustering", "Start", "clustering_of", "fixed_ranges"]

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


def clustering_of(
    values: SensitiveValues, most: int, key: Key, *, standardized: bool, start: Start = "optimal"
) -> Clustering:
    """All ways to divide the values into up to ``most`` clusters; at least those of categories.

    ``key`` starts k-means, of several columns ``standardized`` or in their units, or of one from a
    random start.  Raises ``InfeasibleError`` for a division that is too large to compute,
    ``InputError`` where scikit-learn is needed and absent, ``PlanError`` where a random start is
    asked for and the sensitive columns are not one number.
    """
    if start == "random":
        numbers = _the_number(values, 'start = "random"')
        most = min(most, len(numbers))
        return _FromRandomStarts(numbers, values.weight, most, key)
    fewest = int(values.categories.max(initial=-1)) + 1
    most = max(fewest, min(most, len(values.counts.rows)))
    if not values.numeric:
        return _ByCategory(values.categories, fewest)
    if len(values.numeric) == 1:
        return _on_a_line(values, fewest, most)
    return _SeveralNumbers.of(values, most, key, standardized=standardized)


def fixed_ranges(values: SensitiveValues, ends: Sequence[Decimal]) -> Clustering:
    """Clusters by public ends of ranges, ascending; a number at an end begins the upper range.

    Ranges without rows are left out.  Raises ``PlanError`` where there is not one sensitive number.
    """
    _the_number(values, "ranges")
    exact = values.counts.values[values.numeric[0]].numbers
    assert exact is not None
    least = [ceil(Fraction(end) * 10**exact.scale) for end in ends]
    place = np.searchsorted(np.array(least, dtype=object), exact.units.astype(object), side="right")
    codes = values.counts.codes[:, values.numeric[0]]
    _, labels = np.unique(place[codes], return_inverse=True)
    return _ByCategory(labels.astype(np.int64), int(labels.max(initial=-1)) + 1)


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
    from voile.publish.m_shuffle.segments import optimal_segments  # noqa: PLC0415 - compiled code

    if most * len(values.counts.rows) > _LARGEST_TABLE:
        msg = (
            f"{most:,} clusters of {len(values.counts.rows):,} distinct sensitive values are more "
            "than can be searched; ask for fewer clusters"
        )
        raise InfeasibleError(msg)
    numbers = values.numbers(values.numeric[0])
    order = np.lexsort((numbers, values.categories))
    segments = optimal_segments(
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
        from sklearn.cluster import KMeans  # noqa: PLC0415 - it is an extra, and slow to load

        here = self.categories == category
        seed = int(self.key.stream(1)[0] >> np.uint64(32))
        method = KMeans(clusters, n_init=_STARTS, random_state=seed)
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
