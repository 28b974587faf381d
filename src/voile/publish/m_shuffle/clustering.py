"""Clusters of rows by their sensitive values: categories first, then k-means of the numbers.

What rows of one cluster have in common:

- columns that hold no numbers (texts, truth values, dates): the very same values.  Each combination
  of categories is divided from all others;
- one numeric column: neighbouring numbers; the division is exactly optimal (``segments``);
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

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.errors import InfeasibleError, InputError
from voile.publish.m_shuffle.sensitive import Labels, SensitiveValues
from voile.randomness import Key

__all__ = ["Clustering", "clustering_of"]

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
    values: SensitiveValues, most: int, key: Key, *, standardized: bool
) -> Clustering:
    """All ways to divide the values into up to ``most`` clusters; at least those of categories.

    ``key`` starts k-means in several dimensions, for columns ``standardized`` or in their units.
    Raises ``InfeasibleError`` for a division that is too large to compute, ``InputError`` where
    scikit-learn is needed and absent.
    """
    fewest = int(values.categories.max(initial=-1)) + 1
    most = max(fewest, min(most, len(values.counts.rows)))
    if not values.numeric:
        return _ByCategory(values.categories, fewest)
    if len(values.numeric) == 1:
        return _on_a_line(values, fewest, most)
    return _SeveralNumbers.of(values, most, key, standardized=standardized)


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
