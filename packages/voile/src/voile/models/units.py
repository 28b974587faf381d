"""Groups of the rows of persons or households: how many there are, and how different their values.

Source: counting persons, not rows, as ``schema.persons`` decides and says; different values of
different persons are a matching in the graph of values and persons (P. Hall, "On representatives
of subsets", 1935), found by Hopcroft and Karp's algorithm (SciPy).

Weights.  Each unit weighs one in a group in which it has a row, and the rows that it has there
share that evenly.  So a union's shares are no mixture of those of its parts where a unit stands in
several: {a: flu, b: hiv} and {c: flu, a: hiv, hiv, hiv} are half and half each, and together flu is
1.25 of 3.  Entropy and recursive l-diversity and t-closeness are then not monotone; counts of units
and of different values are (``counts_alone``), and no search may spread more than these.

Claim: ``at_least`` and ``different`` are exact; weights as ``table.summaries`` says.  Three things
keep most groups from being looked at in full:

- a unit all of whose rows agree in the counted columns has one value in any group, and is matched
  with it: some largest matching does so, because nothing else could take that unit;
- a value that l units or more have can be matched when all others are, because those take l - 1
  units at most: so no more than l units of a value are ever asked for;
- a group of fewer than l values, or of fewer than l units, has no such matching.

Cost: O(g) for g combinations, and what ``table.summaries`` says of those that are in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity
from voile.table.summaries import UnitCounts
from voile_base.ondemand import dataclass, on_demand

__all__ = ["GroupedUnits", "counts_alone"]

sparse = on_demand("scipy.sparse")
csgraph = on_demand("scipy.sparse.csgraph")


def counts_alone(criterion: Criterion) -> bool:
    """Whether a group that satisfies it does so whatever rows of whomever join it."""
    return isinstance(criterion, KAnonymity | DistinctDiversity)


@dataclass(frozen=True, eq=False)
class GroupedUnits:
    """The units of p groups of counted combinations of values."""

    counts: UnitCounts
    label: NDArray[np.int64]
    """Shape (g,): the group of each combination, from 0; -1 is in none."""
    groups: int
    values: Mapping[str, NDArray[Any]]
    """For each sensitive column that criteria read, shape (g,): the code of its value."""

    def seen(self, rows: NDArray[np.int64], total: Mapping[str, NDArray[np.int64]]) -> Groups:
        """The groups as criteria see them: their rows (p,), and what their values weigh.

        ``total`` has what each value of a sensitive column weighs in the whole table, shape (v,).
        """
        return Groups(rows, _WeighedCells(self, total), self)

    def weigh(self, column: str, total: NDArray[np.int64]) -> SensitiveCells:
        """What the units of each group weigh by their values there, of whom each weighs one."""
        inside = np.flatnonzero(self.label >= 0)
        key = self.label[inside] * len(total) + self.values[column][inside]
        found, of_inside = np.unique(key, return_inverse=True)
        cell = np.full(len(self.label), -1, dtype=np.int64)
        cell[inside] = of_inside
        weight = self.counts.weigh(self.label, cell, len(found))
        return SensitiveCells(found // len(total), found % len(total), weight, total)

    def count(self) -> NDArray[np.int64]:
        """Shape (p,): how many units each group has."""
        return self.counts.count(self.label, self.groups)

    def at_least(self, k: int) -> NDArray[np.bool_]:
        """Which groups have at least k units, shape (p,)."""
        return self.counts.at_least(k, self.label, self.groups)

    def different(self, column: str, l: int) -> NDArray[np.bool_]:
        """Which groups have l different values of a column that come from l different units."""
        inside = np.flatnonzero(self.label >= 0)
        value = self.values[column].astype(np.int64)
        width = int(value.max(initial=0)) + 1
        key = self.label[inside] * width + value[inside]
        found, of_inside = np.unique(key, return_inverse=True)
        group = found // width
        values = np.bincount(group, minlength=self.groups)
        own = np.bincount(of_inside, self.counts.alone[inside], len(found)) > 0
        owned = np.bincount(group[own], minlength=self.groups)
        open_ = (values >= l) & (owned < l)
        if open_.any():
            open_ &= self.at_least(l)
        asked = ~own & open_[group]
        if asked.any():
            cell = np.full(len(self.label), -1, dtype=np.int64)
            cell[inside] = np.where(asked[of_inside], of_inside, -1)
            owned = owned + _matched(*self.counts.some(cell, l), group, self.groups)
        return np.asarray((values >= l) & (owned >= l), dtype=np.bool_)


class _WeighedCells(Mapping[str, SensitiveCells]):
    """The cells of each sensitive column, weighed when a criterion asks for them."""

    def __init__(self, units: GroupedUnits, total: Mapping[str, NDArray[np.int64]]) -> None:
        self._units, self._total = units, total
        self._weighed: dict[str, SensitiveCells] = {}

    def __getitem__(self, column: str) -> SensitiveCells:
        if column not in self._weighed:
            self._weighed[column] = self._units.weigh(column, self._total[column])
        return self._weighed[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._total)

    def __len__(self) -> int:
        return len(self._total)


def _matched(
    cell: NDArray[np.int64],
    unit: NDArray[np.int64],
    group: NDArray[np.int64],
    groups: int,
) -> NDArray[np.int64]:
    """Shape (groups,): the most cells of each group that have different units of their own.

    ``cell`` and ``unit`` are parallel, the pairs that may be matched; ``group`` is that of a cell.
    """
    if not len(cell):
        return np.zeros(groups, dtype=np.int64)

    # A unit takes part in each group by itself.
    rows, row = np.unique(cell, return_inverse=True)
    width = int(unit.max()) + 1
    columns, column = np.unique(group[cell] * width + unit, return_inverse=True)
    graph = sparse.csr_array(
        (np.ones(len(row), dtype=np.int8), (row, column)), shape=(len(rows), len(columns))
    )
    partner = csgraph.maximum_bipartite_matching(graph, perm_type="column")
    return np.bincount(group[rows[partner >= 0]], minlength=groups)
