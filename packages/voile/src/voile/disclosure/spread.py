"""How entries that stand for several values are spread over them: a distribution for each.

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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.known import Floats, Indices
from voile_base.ondemand import on_demand

__all__ = ["Spread"]

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

    def spread(self, rows: NDArray[Any]) -> Floats:
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
