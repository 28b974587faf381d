"""Combinations of quasi-identifiers as the atoms that cuts divide.

What it does: counts rows by distinct combination of quasi-identifiers alone, keeps the sensitive
values of each for the criteria, and measures any division of the atoms into groups.  No cut sees a
sensitive value: two rows that differ in nothing else stay together.

Where persons have several rows, cuts go by the persons of each atom: their sum is at least the
number of persons of a group, so it rules out what k forbids, and criteria count the others.

Cost: O(g) for g combinations once, and O(g) for each division, plus the sort of its cells where
criteria read many sensitive values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups, SensitiveCells
from voile.models.information_loss import attribute_losses, product_of_losses
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.regions import ColumnRegions

__all__ = ["Atoms", "least_rows", "loss_of_regions"]

_DENSE = 2_000_000
"""Up to that many possible cells, counting all is faster than sorting those there are."""


@dataclass(frozen=True, eq=False)
class _Sensitive:
    """How often each value of a sensitive column stands in each atom, by pairs."""

    atom: NDArray[np.int64]
    value: NDArray[np.int64]
    rows: NDArray[np.int64]
    total: NDArray[np.int64]


class Atoms:
    """The u distinct combinations of m quasi-identifiers, ascending; private."""

    def __init__(self, problem: Problem) -> None:
        counts = problem.counts
        codes = problem.quasi_identifiers
        new = np.ones(len(codes), dtype=np.bool_)
        new[1:] = (codes[1:] != codes[:-1]).any(axis=1)
        self.of_combination: NDArray[np.int64] = np.cumsum(new) - 1
        """Shape (g,): the atom of each combination."""
        self.codes: NDArray[np.int32] = np.ascontiguousarray(codes[new])
        """Shape (u, m)."""
        self.rows: NDArray[np.int64] = _summed(self.of_combination, counts.rows, int(new.sum()))
        """Shape (u,)."""
        self._problem = problem

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _sensitive(self) -> dict[str, _Sensitive]:
        read = dict.fromkeys(c.column for c in self._problem.criteria if c.column)
        return {column: self._cells(self._problem, column) for column in read}

    @cached_property
    def persons(self) -> NDArray[np.int64]:
        """Shape (u,): those whose the rows of each atom are; rows, where each is another person.

        A group has at most the sum of its atoms.
        """
        units = self._problem.counts.units
        return self.rows if units is None else units.count(self.of_combination, len(self))

    def groups(self, label: NDArray[np.int64], p: int) -> Groups:
        """What criteria may see of p groups of atoms, none empty; -1 is in no group."""
        inside = label >= 0
        rows = _summed(label[inside], self.rows[inside], p)
        units = self._problem.units(label[self.of_combination], p)
        if units is not None:
            return units.seen(rows, self._problem.total)
        cells = self._sensitive.items()
        return Groups(rows, {column: _cells_of_groups(of, label, p) for column, of in cells})

    def _cells(self, problem: Problem, column: str) -> _Sensitive:
        index = problem.counts.columns.index(column)
        values = len(problem.counts.values[index])
        code = problem.counts.codes[:, index].astype(np.int64)
        key, member = np.unique(self.of_combination * values + code, return_inverse=True)
        return _Sensitive(
            atom=key // values,
            value=key % values,
            rows=_summed(member, problem.counts.rows, len(key)),
            total=problem.total[column],
        )


def least_rows(problem: Problem) -> int:
    """The least number of rows of a group that k-anonymity allows; 1 where it is not asked."""
    return max((c.k for c in problem.criteria if isinstance(c, KAnonymity)), default=1)


def loss_of_regions(
    problem: Problem, rows: NDArray[np.int64], regions: tuple[ColumnRegions, ...]
) -> float:
    """The product of losses of p groups (sizes ``rows``) that show these regions."""
    counts = problem.counts
    suppressed = problem.rows - int(rows.sum())
    least = []
    for j, hierarchy in enumerate(problem.hierarchies):
        of_value = _summed(counts.codes[:, j], counts.rows, len(hierarchy.codes[0]))
        least.append(float((hierarchy.values[0].share[hierarchy.codes[0]] * of_value).sum()))
    share = np.column_stack([region.share for region in regions])
    return product_of_losses(attribute_losses(rows, share, np.array(least), suppressed))


def _cells_of_groups(cells: _Sensitive, label: NDArray[np.int64], p: int) -> SensitiveCells:
    group = label[cells.atom]
    inside = group >= 0
    values = len(cells.total)
    key = group[inside] * values + cells.value[inside]
    if p * values <= _DENSE:
        counted = _summed(key, cells.rows[inside], p * values)
        found = np.flatnonzero(counted)
        rows = counted[found]
    else:
        found, member = np.unique(key, return_inverse=True)
        rows = _summed(member, cells.rows[inside], len(found))
    return SensitiveCells(found // values, found % values, rows, cells.total)


def _summed(index: NDArray[Any], rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    # Sums in floats are exact: no table has 2**53 rows.
    return np.bincount(index, rows, size).astype(np.int64)
