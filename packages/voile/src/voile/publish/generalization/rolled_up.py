"""Rows rolled up to a node of the lattice by the engine, before they are counted.

What it does: where combinations of values may be about as many as rows, none are collected but
those of nodes that a search looks at.  For each column the engine puts one value of each node of
its hierarchy in the place of all of them, and counts what is left; so a rolled-up count reads like
one of a table with fewer distinct values.

It also says at which nodes there is nothing to look for: the floor of a column is the lowest level
at which no more of its values' rows fall short of k than may be left out.

Claim: every feasible node has each column at its floor or above.  Rows that share a generalized
tuple share each of its values; so those whose value fewer than k rows share fall short at every
node with the column at that level or below, whatever the levels of the others.

Cost: a count of each column, and of the combinations where their product is large; for each node
that is asked for one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.lattice import Levels
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.plan import ColumnPlan, Plan
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts

__all__ = ["COLLECTED", "RolledUp", "bound_hierarchies"]

COLLECTED = 1_000_000
"""Combinations that are collected whatever the rows; of more, at most half as many as rows."""


@dataclass(frozen=True, eq=False)
class RolledUp:
    """A table whose m quasi-identifiers are rolled up before they are counted; private."""

    table: PrivateTable
    hierarchies: tuple[BoundHierarchy, ...]
    """Of the quasi-identifiers."""
    rows: tuple[NDArray[np.int64], ...]
    """Rows by value of each."""
    floor: Levels
    """The level of each column below which no node is feasible."""
    sensitive: tuple[str, ...]
    """Further columns that are counted, as they are."""

    @classmethod
    def of(
        cls, table: PrivateTable, sensitive: Sequence[str], k: int, suppressible: int
    ) -> RolledUp | None:
        """The columns of a table; None where all their combinations may be collected.

        At most ``suppressible`` rows may stand in groups of fewer than ``k``.
        """
        names = table.plan.roles.quasi_identifiers
        alone = [table.count_combinations([name]) for name in (*names, *sensitive)]
        most, few = prod(len(one.rows) for one in alone), max(COLLECTED, table.rows // 2)
        if min(most, table.rows) <= few or table.combinations([*names, *sensitive]) <= few:
            return None
        alone = alone[: len(names)]
        values = {one.columns[0]: one.values[0] for one in alone}
        hierarchies = bound_hierarchies(table.plan, values)
        rows = tuple(
            np.bincount(one.codes[:, 0], one.rows, len(one.values[0])).astype(np.int64)
            for one in alone
        )
        pairs = zip(hierarchies, rows, strict=True)
        floor = tuple(_least_level(*pair, k, suppressible) for pair in pairs)
        return cls(table, hierarchies, rows, floor, tuple(sensitive))

    def at(self, levels: Levels) -> CombinationCounts:
        """Rows by combination at a node, each named by one value of each node of a hierarchy."""
        rolled = {
            hierarchy.column: _first_of_node(hierarchy.codes[level], rows)
            for hierarchy, level, rows in zip(self.hierarchies, levels, self.rows, strict=True)
        }
        return self.table.count_combinations([*rolled, *self.sensitive], rolled=rolled)


def bound_hierarchies(
    plan: Plan, values: Mapping[str, DistinctValues]
) -> tuple[BoundHierarchy, ...]:
    """The hierarchies of the quasi-identifiers, in their order, with the values that they have."""
    return tuple(
        plan.columns.get(name, ColumnPlan()).bind_hierarchy(name, values[name])
        for name in plan.roles.quasi_identifiers
    )


def _least_level(
    hierarchy: BoundHierarchy, rows: NDArray[np.int64], k: int, suppressible: int
) -> int:
    """The lowest level at which few enough rows fall short; the highest where none is."""
    for level, codes in enumerate(hierarchy.codes[:-1]):
        of_node = np.bincount(codes, rows)
        if of_node[of_node < k].sum() <= suppressible:
            return level
    return hierarchy.height


def _first_of_node(codes: NDArray[np.int32], rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each value the first one that shares its node and that some row has."""
    present = np.flatnonzero(rows)
    nodes, first = np.unique(codes[present], return_index=True)
    node = np.minimum(np.searchsorted(nodes, codes), len(nodes) - 1)
    return present[first][node].astype(np.int32)
