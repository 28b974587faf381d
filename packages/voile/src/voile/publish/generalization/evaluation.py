"""What each node of a lattice does to the counted rows.

What it does: groups the rows as a node generalizes them, asks the criteria which groups may be
published, and gives the node's suppressed rows, its loss, and a bound for the losses above it.

Claim: exact counts, and a loss that depends on the node alone, not on the nodes looked at before:
sums run over counts by value, in the order of the values.

Algorithm: tables of groups roll up (``rolling``).  Where criteria read sensitive columns, tables
keep their values apart, and the groups are formed from these cells.  Where persons have several
rows, who they are does not roll up: groups are formed from the combinations, and persons are
counted where sums do not decide (``models.units``).

Cost: O(p) for a node rolled up from p entries, O(g) from g combinations; a sort of its cells where
criteria read sensitive columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups, SensitiveCells
from voile.models.units import GroupedUnits
from voile.publish.generalization.grouping import GroupTable
from voile.publish.generalization.lattice import Levels
from voile.publish.generalization.objective import NodeGroups, ObjectiveName, objective_of
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.rolling import Tables
from voile.table.summaries import CombinationCounts

__all__ = ["Evaluation", "Evaluator"]

_ENTRIES_OF_PERSONS = 16
"""As many entries can be read while the persons of one are counted."""


@dataclass(frozen=True)
class Evaluation:
    """What is known of a node once it was looked at; private."""

    levels: Levels
    suppressed: int
    """Rows in groups that may not be published; or, of persons with several rows, so many that it
    is certain that too many are."""
    feasible: bool
    """Whether no more rows are suppressed than may be, and not all."""
    loss: float
    """The objective's value; infinite where the node is not feasible."""
    bound: float
    """At most the loss of this node and of all nodes above it."""
    hopeless: bool
    """Whether no node below is feasible."""


@dataclass(frozen=True, eq=False)
class _Node:
    """The groups of a node, and what they are made of."""

    entries: GroupTable
    """Groups whose sensitive values agree, too."""
    groups: GroupTable
    of_entry: NDArray[np.int64]
    """The group of each entry."""
    label: NDArray[np.int64] | None = None
    """Shape (g,): the group of each combination; None where nobody asks."""


class Evaluator:
    """Looks at nodes of one problem."""

    def __init__(self, problem: Problem, objective: ObjectiveName = "loss") -> None:
        self.problem = problem
        self._sensitive = _sensitive_places(problem)
        self._tables = Tables(problem, list(self._sensitive.values()))
        self._counted = 0
        self.lattice = self._tables.lattice
        self.objective = objective_of(objective, [c.levels for c in self._tables.columns])

    @property
    def monotone(self) -> bool:
        """Whether each node above a feasible one is feasible."""
        problem = self.problem
        return problem.counts_alone or (problem.suppressible == 0 and problem.monotone)

    @property
    def work(self) -> int:
        """Entries of tables that were read so far; what persons take is counted as such."""
        return self._tables.entries_read + self._counted

    def sizes(self, levels: Levels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of each group of a node, valid or not, and persons of each; private."""
        node = self._node(levels)
        units = self._units(node)
        return node.groups.rows, node.groups.rows if units is None else units.count()

    def distinct(self, column: int, level: int) -> int:
        """Number of different values of a column at a level."""
        return len(self._tables.columns[column].originals[level])

    def evaluate(self, levels: Levels) -> Evaluation:
        """Look at a node."""
        node = self._node(levels)
        groups = node.groups
        valid, hopeless = self.problem.valid(self._measured(node), groups.rows)
        shown = NodeGroups(
            levels, groups.rows, valid, partial(self._left_out, levels, groups, valid)
        )
        feasible = shown.suppressed <= self.problem.suppressible and bool(valid.any())
        return Evaluation(
            levels=levels,
            suppressed=shown.suppressed,
            feasible=feasible,
            loss=self.objective.loss(shown) if feasible else float("inf"),
            bound=self.objective.bound(shown),
            hopeless=hopeless or (self.monotone and not feasible),
        )

    def solution(self, found: Evaluation, examined: int, proved: bool = False) -> Solution:
        """The groups of all combinations at a node, ascending by the codes that they show."""
        levels = found.levels
        rolled_up = self.problem.rolled_up
        counts = rolled_up.at(levels) if rolled_up else self.problem.counts
        node = self._node_of_combinations(levels, counts)
        groups, of_combination = node.groups, node.label
        valid, _ = self.problem.valid(self._measured(node), groups.rows)
        assert of_combination is not None
        order = np.lexsort([self._codes(groups, j) for j in reversed(range(len(levels)))])
        order = order[valid[order]]
        number = np.full(len(groups), -1, dtype=np.int64)
        number[order] = np.arange(len(order))
        member = np.empty(len(groups), dtype=np.int64)
        member[of_combination] = np.arange(len(of_combination))
        return Solution(
            group=number[of_combination],
            columns=tuple(
                column.recoded(level, counts.codes[member[order], j])
                for j, (column, level) in enumerate(zip(self._tables.columns, levels, strict=True))
            ),
            suppressed=found.suppressed,
            loss=found.loss,
            levels={
                column.hierarchy.column: level
                for column, level in zip(self._tables.columns, levels, strict=True)
            },
            examined=examined,
            proved=proved,
            counts=counts if rolled_up else None,
        )

    def _codes(self, table: GroupTable, column: int) -> NDArray[np.int64]:
        return self._tables.fields.codes(table.words, column)

    def _left_out(
        self, levels: Levels, groups: GroupTable, valid: NDArray[np.bool_]
    ) -> Sequence[NDArray[np.int64]]:
        return [
            self._tables.fields.histogram(groups, ~valid, column, self.distinct(column, level))
            for column, level in enumerate(levels)
        ]

    def _node(self, levels: Levels) -> _Node:
        """The groups of a node, rolled up where nobody has to be counted."""
        if self.problem.counts.units is not None:
            return self._node_of_combinations(levels, self.problem.counts)
        table = self._tables.at(levels)
        groups, of_entry = self._groups(table)
        return _Node(table, groups, of_entry)

    def _node_of_combinations(self, levels: Levels, counts: CombinationCounts) -> _Node:
        """The groups of a node, with that of each of some combinations."""
        words = self._tables.words_of(counts, levels)
        self._counted += _ENTRIES_OF_PERSONS * len(counts.rows)
        table, entry = self._tables.grouper.group_with_members(words, counts.rows)
        groups, of_entry = self._groups(table)
        return _Node(table, groups, of_entry, of_entry[entry])

    def _groups(self, table: GroupTable) -> tuple[GroupTable, NDArray[np.int64]]:
        """Groups that share their quasi-identifiers, and the group of each entry."""
        if not self._sensitive:
            return table, np.arange(len(table))
        m = len(self.lattice.heights)
        carried = range(m, m + len(self._sensitive))
        shared = self._tables.fields.without(table.words, carried)
        return self._tables.grouper.group_with_members(shared, table.rows)

    def _units(self, node: _Node) -> GroupedUnits | None:
        return None if node.label is None else self.problem.units(node.label, len(node.groups))

    def measured(self, levels: Levels) -> Groups:
        """What criteria see of the groups of a node, in the order of ``sizes``; private."""
        return self._measured(self._node(levels))

    def _measured(self, node: _Node) -> Groups:
        units, total = self._units(node), self.problem.total
        if units is not None:
            return units.seen(node.groups.rows, total)
        m, entries = len(self.lattice.heights), node.entries
        sensitive = {
            name: _cells(node.of_entry, self._codes(entries, m + j), entries.rows, total[name])
            for j, name in enumerate(self._sensitive)
        }
        return Groups(node.groups.rows, sensitive)


def _sensitive_places(problem: Problem) -> dict[str, int]:
    """The sensitive columns that criteria read, and their indices among the counted columns."""
    columns = problem.counts.columns
    read = {criterion.column for criterion in problem.criteria} - {None}
    return {
        name: index
        for index, name in enumerate(columns)
        if name in read and index >= len(problem.hierarchies)
    }


def _cells(
    group: NDArray[np.int64],
    value: NDArray[np.int64],
    rows: NDArray[np.int64],
    total: NDArray[np.int64],
) -> SensitiveCells:
    """Rows by distinct pair of group and value, from entries that may repeat a pair."""
    pair = group * len(total) + value
    order = np.argsort(pair, kind="stable")
    pair = pair[order]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    pair = pair[first]
    return SensitiveCells(
        group=pair // len(total),
        value=pair % len(total),
        rows=np.add.reduceat(rows[order], first),
        total=total,
    )
