"""The sensitive values that are clustered: numbers by distance, all others by equality."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues
from voile.table.summaries import CombinationCounts

__all__ = ["Labels", "SensitiveValues"]

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
        """
        values: DistinctValues = self.counts.values[index]
        assert values.numbers is not None
        units = values.numbers.units
        differences = np.asarray(units - units[len(units) // 2], dtype=np.float64)
        return differences[self.counts.codes[:, index]]
