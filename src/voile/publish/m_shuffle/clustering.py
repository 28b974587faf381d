"""Clusters of rows by their sensitive values: categories first, then k-means of the numbers.

What rows of one cluster have in common:

- columns that hold no numbers (texts, truth values, dates): the very same values.  Each combination
  of categories is divided from all others;
- one numeric column: neighbouring numbers; the division is exactly optimal (``segments``);
- several numeric columns: nearness of their standardized values, by ``several``.

K is the number of all clusters together, so it lies between the number of combinations of
categories and that of distinct combinations of sensitive values.  Where there are only categories,
the two are the same.

Clusters are numbered from 0: by categories, then by the centre, in the order of the columns.
Private: everything here is computed from private counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.errors import InfeasibleError
from voile.publish.m_shuffle.sensitive import Labels, SensitiveValues
from voile.randomness import Key

__all__ = ["Clustering", "clustering_of"]

_LARGEST_TABLE = 1 << 28
"""Entries of the dynamic programme, four bytes each."""


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
    # It loads scikit-learn, an extra.
    from voile.publish.m_shuffle.several import SeveralNumbers  # noqa: PLC0415

    return SeveralNumbers.of(values, most, key, standardized=standardized)


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
        values.counts.rows[order].astype(np.float64),
        values.categories[order],
        most,
    )
    return _OnALine(fewest, most, order, segments.labels)
