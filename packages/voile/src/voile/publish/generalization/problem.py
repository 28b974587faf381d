"""What a generalization algorithm is given, and what it answers; plain values, both private.

The engine counts distinct combinations of values once; every algorithm works on that small table,
whatever the engine, and answers with a group for each combination.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups
from voile.models.units import GroupedUnits, counts_alone
from voile.publish.generalization.rolled_up import RolledUp
from voile.schema.hierarchy.generalized import BoundHierarchy
from voile.table.decisions import RecodedColumn
from voile.table.summaries import CombinationCounts

__all__ = ["AlgorithmChoice", "Problem", "Solution"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Counted rows, how their values generalize, and what each published group must satisfy."""

    counts: CombinationCounts
    """The columns are the m quasi-identifiers, then the sensitive columns that criteria read."""
    hierarchies: tuple[BoundHierarchy, ...]
    """One for each of the m quasi-identifiers, in their order."""
    criteria: tuple[Criterion, ...]
    """A group is published only where all of them hold."""
    suppressible: int
    """Number of rows that may be left out, at least 0."""
    rolled_up: RolledUp | None = None
    """Counts other nodes of the lattice where ``counts`` are those of its top; None: of all."""

    @property
    def rows(self) -> int:
        """Number of counted rows."""
        return int(self.counts.rows.sum())

    def rows_of_values(self, j: int) -> NDArray[np.int64]:
        """Rows of each distinct value of quasi-identifier ``j``, from 0."""
        if self.rolled_up is not None:
            return self.rolled_up.rows[j]
        counts = self.counts
        return np.bincount(counts.codes[:, j], counts.rows, len(counts.values[j])).astype(np.int64)

    @cached_property
    def total(self) -> Mapping[str, NDArray[np.int64]]:
        """How often each value of each sensitive column stands in the table, shape (v,).

        In rows; or in what they weigh where persons or households, with several, weigh one each.
        """
        counts = self.counts
        weight = counts.rows if counts.units is None else counts.units.weight
        return {
            name: np.bincount(codes, weight, len(values)).astype(np.int64)
            for (name, codes), values in zip(
                self.sensitive.items(), counts.values[len(self.hierarchies) :], strict=True
            )
        }

    @property
    def counts_alone(self) -> bool:
        """Whether every group that may be published still may whatever rows join it."""
        return all(map(counts_alone, self.criteria))

    @property
    def monotone(self) -> bool:
        """Whether a union of groups that may be published always may be."""
        apart = self.counts.units is None
        return all(counts_alone(one) or (apart and one.monotone) for one in self.criteria)

    def valid(self, groups: Groups, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], bool]:
        """Which groups satisfy all criteria (p,), and whether no finer division leaves enough.

        ``rows`` (p,) are those of the groups.  What counts alone is asked first: a group that falls
        short of it has no part that does not.  Where more rows stand in such groups than may be
        left out, and persons would have to be weighed, nothing else is asked.
        """
        valid = np.ones(len(rows), dtype=np.bool_)
        for criterion in filter(counts_alone, self.criteria):
            valid &= criterion.holds(groups)
        hopeless = int(rows[~valid].sum()) > self.suppressible
        if not (hopeless and groups.units):
            for criterion in filterfalse(counts_alone, self.criteria):
                valid &= criterion.holds(groups)
        return valid, hopeless

    def units(self, label: NDArray[np.int64], groups: int) -> GroupedUnits | None:
        """The persons or households in groups of combinations; None: each row is another.

        ``label`` (g,) is the group of each combination; -1 is in none.
        """
        if self.counts.units is None:
            return None
        return GroupedUnits(self.counts.units, label, groups, self.sensitive)

    @property
    def sensitive(self) -> Mapping[str, NDArray[np.int32]]:
        """The codes of the sensitive columns that criteria read, shape (g,) each."""
        m = len(self.hierarchies)
        return dict(zip(self.counts.columns[m:], self.counts.codes.T[m:], strict=True))

    @property
    def quasi_identifiers(self) -> NDArray[np.int32]:
        """Codes of the quasi-identifiers, shape (g, m)."""
        return self.counts.codes[:, : len(self.hierarchies)]


@dataclass(frozen=True)
class AlgorithmChoice:
    """Which of several algorithms made a solution, and how good it is."""

    algorithm: str
    losses: Mapping[str, float]
    """Of each algorithm that found a solution."""
    bound: float
    """At most the loss of every generalization, of whatever kind was looked for."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A group for each combination, and what the p groups show."""

    group: NDArray[np.int64]
    """Shape (g,): from 0; -1 leaves the rows of a combination out."""
    columns: tuple[RecodedColumn, ...]
    """One for each quasi-identifier, shape (p,) each."""
    suppressed: int
    """Rows left out."""
    loss: float
    """The objective's value; less is better."""
    levels: Mapping[str, int] | None
    """The level of each quasi-identifier, where all rows of a column share one."""
    examined: int
    """Nodes or cuts that were evaluated."""
    proved: bool = False
    """Whether no solution of its kind has a smaller loss."""
    bound: float = 0.0
    """At most the loss of every solution of its kind."""
    counts: CombinationCounts | None = None
    """Whose combinations have groups, where rows were rolled up; None: the problem's."""
    choice: AlgorithmChoice | None = None
    """Where several algorithms were asked."""
