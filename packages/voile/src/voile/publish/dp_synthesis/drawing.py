"""Rows of a mixture, part by part.

Within a part, components and, in each, the cells of every column are drawn by systematic sampling:
the i-th of n rows gets the value at (i + u) / n of the cumulative distribution, u uniform and one
for all, and the values are then permuted.  So each value has its share of the rows to within one
row, and exactly on average: less noise than independent draws.  The rows are permuted in the end.

Cost: some 30 ns a cell.

Nothing here is private: rows follow from measurements and a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.publish.dp_synthesis.facts import PublicFacts
from voile.publish.dp_synthesis.fitting import Mixture
from voile.schema.domain import ColumnDomain
from voile_base.randomness import Draws, Key

__all__ = ["DrawnRows"]

_ROWS_OF_PART = 1 << 18
_TRIES = 100
Leaves = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """So many rows of a mixture, none of which breaks a public fact; see ``made_rows``."""

    mixture: Mixture
    domain: Sequence[ColumnDomain]
    facts: PublicFacts
    rows: int
    key: Key
    rows_of_part: int = _ROWS_OF_PART

    def part(self, number: int) -> Leaves:
        """The leaves of the rows of a part, shape (rows, columns), -1 for a missing value."""
        first = number * self.rows_of_part
        count = min(self.rows_of_part, self.rows - first)
        draws = self.key.within(f"{number}").generator()
        weights = self.mixture.weights[np.newaxis]
        sizes = _systematic(np.cumsum(weights, axis=1), np.array([count]), draws)[0]
        ends = np.cumsum(sizes)
        segments = [
            slice(end - n, end) for end, n in zip(ends.tolist(), sizes.tolist(), strict=True)
        ]
        order = draws.permutation(count)
        leaves = np.empty((len(self.domain), count), dtype=np.int64)
        for place, column in enumerate(self.domain):
            each = _systematic(self._ends[place], sizes, draws)
            cells = np.repeat(np.tile(np.arange(len(column)), len(sizes)), each.ravel())
            for segment in segments if place else ():  # rows are permuted anyway
                draws.shuffle(cells[segment])
            leaves[place] = _leaves(column, cells, draws)[order]
        self._mend(leaves.T, draws)
        return leaves.T

    @cached_property
    def _ends(self) -> list[NDArray[np.float64]]:
        """Of each column the cumulative distributions of its cells, shape (components, cells)."""
        return [np.cumsum(shares, axis=1) for shares in self.mixture.columns]

    def _mend(self, leaves: Leaves, draws: Draws) -> None:
        """Draw rows that break a fact again, independently; in place.

        What breaks one for too long becomes like another row, or gets values that break none:
        after noise is paid for, a release ends in rows and not in an error.
        """
        broken = np.flatnonzero(self.facts.broken(leaves))
        for _ in range(_TRIES):
            if not len(broken):
                return
            leaves[broken] = self._independent(len(broken), draws)
            broken = broken[self.facts.broken(leaves[broken])]
        whole = np.flatnonzero(~self.facts.broken(leaves))
        if len(whole):
            leaves[broken] = leaves[draws.choice(whole, len(broken))]
        for place, leaf in () if len(whole) else self.facts.possible:
            leaves[broken, place] = leaf if leaf < self.domain[place].leaves else -1

    def _independent(self, count: int, draws: Draws) -> Leaves:
        component = draws.choice(len(self.mixture.weights), count, p=self.mixture.weights)
        columns = []
        for column, shares in zip(self.domain, self.mixture.columns, strict=True):
            ends = np.cumsum(shares[component], axis=1)
            cells = (ends < draws.uniform(size=(count, 1)) * ends[:, -1:]).sum(axis=1)
            columns.append(_leaves(column, np.minimum(cells, len(column) - 1), draws))
        return np.stack(columns, axis=1)


def _systematic(ends: NDArray[np.float64], counts: Leaves, draws: Draws) -> Leaves:
    """How many of ``counts[k]`` points fall to each place of the k-th distribution.

    ``ends`` are cumulative, shape (distributions, places), and so is what is returned.
    """
    shares = ends / ends[:, -1:]
    points = counts[:, np.newaxis] * shares - draws.uniform(size=(len(counts), 1))
    below = np.clip(np.ceil(points), 0, counts[:, np.newaxis]).astype(np.int64)
    below[:, -1] = counts
    return np.diff(below, axis=1, prepend=0)


def _leaves(column: ColumnDomain, cells: Leaves, draws: Draws) -> Leaves:
    """A leaf of each cell, uniformly."""
    first = column.first[cells]
    return first + draws.integers(0, column.width[cells]) if column.coarse else first
