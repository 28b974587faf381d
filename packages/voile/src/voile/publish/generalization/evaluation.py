"""What each node of a lattice does to the counted rows, whose table is rolled up from one below it.

What it does: groups the rows as a node generalizes them, asks the criteria which groups may be
published, and gives the node's suppressed rows, its loss, and a bound for the losses above it.

Source: the roll-up property of LeFevre, DeWitt and Ramakrishnan, "Incognito" (2005), section 2.

Claim: exact counts, and a loss that depends on the node alone, not on the nodes looked at before:
sums run over counts by value, in the order of the values.

Algorithm: the counted combinations are coded once, at every level of each column; only values that
stand in counted rows have numbers, so that tables are small however large the public domain is.
From then on a node's table comes from the table of any node below it by replacing the codes of the
columns that rise, and grouping.  Where combinations are too many to be collected (``rolled_up``),
the engine counts the nodes that have no table below them.  Where criteria read sensitive columns,
tables keep their values apart, and the groups are formed from these cells.  Where persons have
several rows, who they are does not roll up: groups are formed from the combinations, and persons
are counted where sums do not decide (``models.units``).

Cost: O(p) for a node rolled up from p entries, O(g) from g combinations; a sort of its cells where
criteria read sensitive columns.  ``all_tables`` makes every table of the lattice, each from a
neighbour; the columns whose top level merges most rise first, so that the nodes from which most
others are made have small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups, SensitiveCells
from voile.models.units import GroupedUnits
from voile.publish.generalization.grouping import Fields, Grouper, GroupTable, Words
from voile.publish.generalization.lattice import (
    ColumnLevels,
    Lattice,
    Levels,
    NodeGroups,
    ObjectiveName,
    objective_of,
)
from voile.publish.generalization.problem import Problem, Solution
from voile.schema.hierarchy.generalized import BoundHierarchy
from voile.table.decisions import RecodedColumn
from voile.table.summaries import CombinationCounts
from voile_base.ondemand import dataclass

__all__ = ["Evaluation", "Evaluator", "Tables", "average_risk"]


_MOST_TABLES = 512
_LEAST_BUDGET = 4_000_000
_SMALL_TABLE = 1_000
"""Entries that are rolled up as fast as a call takes."""
_FAR = 2
"""Levels of all columns together."""


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    """One quasi-identifier of counted rows, with d distinct values."""

    hierarchy: BoundHierarchy
    finest: NDArray[np.int64]
    """Shape (d,): the code at level 0 of each value; of values that no row has, any."""
    codes: tuple[NDArray[np.int64], ...]
    """For each level, shape (q0,): the code there of each code at level 0."""
    originals: tuple[NDArray[np.int64], ...]
    """For each level, shape (q,): the hierarchy's own code of each code."""
    levels: ColumnLevels
    _tables: dict[tuple[int, int], NDArray[np.uint64]] = field(default_factory=dict)

    @classmethod
    def of(cls, hierarchy: BoundHierarchy, rows: NDArray[np.int64]) -> _CodedColumn:
        """The column of which ``rows[v]`` rows have value v."""
        present = np.flatnonzero(rows)
        used = [np.unique(codes[present], return_inverse=True) for codes in hierarchy.codes]
        codes_of_present = used[0][1]
        # Level 0 may merge values already; one present value stands for each of its codes.
        _, sample = np.unique(codes_of_present, return_index=True)
        finest = np.zeros(len(rows), dtype=np.int64)
        finest[present] = codes_of_present
        originals = tuple(own.astype(np.int64) for own, _ in used)
        codes = tuple(inverse[sample].astype(np.int64) for _, inverse in used)
        totals = _summed(codes_of_present, rows[present], len(sample))
        levels = ColumnLevels(
            shares=tuple(
                generalized.share[own]
                for generalized, own in zip(hierarchy.values, originals, strict=True)
            ),
            rows=tuple(
                _summed(code, totals, len(own)) for code, own in zip(codes, originals, strict=True)
            ),
        )
        return cls(hierarchy, finest, codes, originals, levels)

    def table(self, low: int, high: int) -> NDArray[np.uint64]:
        """The code at level ``high`` of each code at level ``low``."""
        if (low, high) not in self._tables:
            table = np.empty(len(self.originals[low]), dtype=np.uint64)
            table[self.codes[low]] = self.codes[high].astype(np.uint64)
            self._tables[low, high] = table
        return self._tables[low, high]

    def recoded(self, level: int, values: NDArray[np.int32]) -> RecodedColumn:
        """What groups show at a level; ``values`` has one value of each (p,)."""
        name, shown = self.hierarchy.column, self.hierarchy.values[level]
        if shown.texts is None and shown.low is None:
            return RecodedColumn(name, None, values)
        return RecodedColumn(name, shown, self.hierarchy.codes[level][values].astype(np.int32))


def _summed(codes: NDArray[np.int64], rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, codes, rows)
    return total


class Tables:
    """Groups of one problem's rows at any node, and their sensitive values where wanted."""

    def __init__(self, problem: Problem, carried: Sequence[int] = ()) -> None:
        """``carried``: indices of further columns, never generalized, that tables keep apart."""
        counts = problem.counts
        self._rolled_up, self._carried = problem.rolled_up, carried
        self.lattice = Lattice.of(problem.hierarchies)
        self.columns = tuple(
            _CodedColumn.of(hierarchy, problem.rows_of_values(j))
            for j, hierarchy in enumerate(problem.hierarchies)
        )
        self.fields = Fields(
            [
                *(len(column.codes[0]) for column in self.columns),
                *(len(counts.values[index]) for index in carried),
            ]
        )
        self.grouper = Grouper()
        self._counts, self._words = counts, self._packed(counts)
        first = self.lattice.bottom if problem.rolled_up is None else self.lattice.top
        self._finest = self.grouper.group(self.words_of(counts, first), counts.rows)
        self._kept = _KeptTables(first, self._finest)
        self.entries_read = 0
        """Entries of all tables that others were rolled up from."""

    def at(self, levels: Levels) -> GroupTable:
        """The table of a node, rolled up from the smallest one at hand.

        Where that is far below, one between them is made first: that of even levels, from which
        its neighbours are rolled up as well.
        """
        low, table = self._kept.smallest_below(levels)
        between = tuple(level - level % 2 for level in levels)
        if (
            table is not None
            and len(table) > _SMALL_TABLE
            and sum(levels) - sum(low) > _FAR
            and between not in (low, levels)
        ):
            self.at(between)
            low, table = self._kept.smallest_below(levels)
        if table is None:
            assert self._rolled_up is not None
            counts = self._rolled_up.at(levels)
            table = self.grouper.group(self.words_of(counts, levels), counts.rows)
            self._kept.keep(levels, table)
        elif low != levels:
            table = self._rolled(table, low, levels)
            self._kept.keep(levels, table)
        return table

    def words_of(self, counts: CombinationCounts, levels: Levels) -> Words:
        """The packed codes of counted combinations at a node."""
        words = self._words if counts is self._counts else self._packed(counts)
        return self.generalized(words, self.lattice.bottom, levels)

    def generalized(self, words: Words, low: Levels, high: Levels) -> Words:
        """Words at one node as they are at another above it."""
        tables = {
            j: column.table(low[j], high[j])
            for j, column in enumerate(self.columns)
            if low[j] != high[j]
        }
        return self.fields.replaced(words, tables) if tables else words

    def visit_all(self, visit: Callable[[Levels, GroupTable], bool]) -> None:
        """Call ``visit`` with every node and its table, each before those made from it.

        Of rows that were all counted, and not rolled up by the engine.
        Where it returns False, the nodes above that would be made from this one are left out.
        """
        order = self._by_shrinkage()
        # A node's first column is the last in ``order`` that rose: only it and later ones rise
        # further, so that each node is made once.
        waiting: list[tuple[Levels, int, Levels, GroupTable]] = [
            (self.lattice.bottom, 0, self.lattice.bottom, self._finest)
        ]
        while waiting:
            levels, first, low, table = waiting.pop()
            if levels != low:
                table = self._rolled(table, low, levels)
            if not visit(levels, table):
                continue
            for index in range(first, len(order)):
                j = order[index]
                if levels[j] < self.lattice.heights[j]:
                    above = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
                    waiting.append((above, index, levels, table))

    def _packed(self, counts: CombinationCounts) -> Words:
        """The packed codes of counted combinations at the bottom."""
        return self.fields.pack(
            [
                *(column.finest[counts.codes[:, j]] for j, column in enumerate(self.columns)),
                *(counts.codes[:, index] for index in self._carried),
            ]
        )

    def _rolled(self, table: GroupTable, low: Levels, high: Levels) -> GroupTable:
        self.entries_read += len(table)
        return self.grouper.group(self.generalized(table.words, low, high), table.rows)

    def _by_shrinkage(self) -> list[int]:
        bottom = self.lattice.bottom
        entries = []
        for j, height in enumerate(self.lattice.heights):
            only = (*bottom[:j], height, *bottom[j + 1 :])
            entries.append(len(self._rolled(self._finest, bottom, only)))
        return [int(j) for j in np.argsort(entries, kind="stable")]


class _KeptTables:
    """The newest tables within a budget of entries, and always the first."""

    def __init__(self, levels: Levels, finest: GroupTable) -> None:
        self._tables: list[GroupTable | None] = [finest] + [None] * (_MOST_TABLES - 1)
        self._levels = np.zeros((len(levels), _MOST_TABLES), dtype=np.int64)
        self._levels[:, 0] = levels
        self._entries = np.full(_MOST_TABLES, np.iinfo(np.int64).max)
        self._entries[0] = len(finest)
        self._budget = max(_LEAST_BUDGET, 4 * len(finest))
        self._held = 0
        self._next = 1

    def smallest_below(self, levels: Levels) -> tuple[Levels, GroupTable | None]:
        """The smallest kept table of a node at or below another, and its node; None for none."""
        none = np.iinfo(np.int64).max
        below = (self._levels <= np.array(levels)[:, np.newaxis]).all(axis=0)
        entries = np.where(below, self._entries, none)
        index = int(np.argmin(entries))
        if entries[index] == none:
            return levels, None
        return tuple(self._levels[:, index].tolist()), self._tables[index]

    def keep(self, levels: Levels, table: GroupTable) -> None:
        """Keep a table; the oldest ones make room."""
        self._drop(self._next)
        self._tables[self._next] = table
        self._levels[:, self._next] = levels
        self._entries[self._next] = len(table)
        self._held += len(table)
        self._next = self._following(self._next)
        oldest = self._next
        while self._held > self._budget:
            self._drop(oldest)
            oldest = self._following(oldest)

    def _drop(self, index: int) -> None:
        table = self._tables[index]
        if table is not None:
            self._held -= len(table)
            self._tables[index] = None
            self._entries[index] = np.iinfo(np.int64).max

    @staticmethod
    def _following(index: int) -> int:
        return index % (_MOST_TABLES - 1) + 1


_ENTRIES_OF_PERSONS = 16
"""As many entries can be read while the persons of one are counted."""


@dataclass(frozen=True)
class Evaluation:
    """What is known of a node once it was looked at; private."""

    levels: Levels
    suppressed: int
    """Rows in groups that may not be published; or so many that it is certain that too many are."""
    feasible: bool
    """Whether no more rows are suppressed than may be, and not all."""
    loss: float
    """The objective's value; infinite where the node is not feasible."""
    bound: float
    """At most the loss of this node and of all nodes above it."""
    hopeless: bool
    """Whether no node below is feasible."""
    short: int
    """Rows that every node below suppresses, too: their groups fall short of what counts alone."""


@dataclass(frozen=True)
class _NodeFigures:
    """What a custodian sees of a node; private."""

    feasible: bool
    suppressed: int
    """Rows in groups that may not be published."""
    loss: float | None
    """The objective's value; None where nothing would be published."""
    smallest: int
    """Persons of the smallest group that may be published, or rows; 0 where there is none."""
    average: float
    """One over the persons of a row's group, on average over the rows that may be published."""
    groups: int
    """Groups that may be published."""
    left_out: list[int]
    """Which of the combinations that were asked about would not be published, by their place."""


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
        valid, short = self.problem.valid(self._measured(node), groups.rows)
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
            hopeless=short > self.problem.suppressible or (self.monotone and not feasible),
            short=short,
        )

    def node_figures(self, levels: Levels, combinations: NDArray[np.int64]) -> _NodeFigures:
        """Look at a node, feasible or not, and at what becomes of some counted combinations."""
        node = self._node_of_combinations(levels, self.problem.counts)
        groups, measured = node.groups, self._measured(node)
        valid = np.logical_and.reduce([one.holds(measured) for one in self.problem.criteria])
        shown = NodeGroups(
            levels, groups.rows, valid, partial(self._left_out, levels, groups, valid)
        )
        units = self._units(node)
        persons = groups.rows if units is None else units.count()
        assert node.label is not None
        return _NodeFigures(
            feasible=shown.suppressed <= self.problem.suppressible and bool(valid.any()),
            suppressed=shown.suppressed,
            loss=self.objective.loss(shown) if valid.any() else None,
            smallest=int(persons[valid].min()) if valid.any() else 0,
            average=average_risk(groups.rows[valid], persons[valid]),
            groups=int(valid.sum()),
            left_out=np.flatnonzero(~valid[node.label[combinations]]).tolist(),
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
        suppressed = groups.of(~valid)
        return [
            self._tables.fields.histogram(suppressed, column, self.distinct(column, level))
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

        def cells(name: str) -> SensitiveCells:
            values = self._codes(entries, m + list(self._sensitive).index(name))
            return _cells(node.of_entry, values, entries.rows, total[name])

        return Groups(node.groups.rows, _CellsOnDemand(cells))


def average_risk(rows: NDArray[np.int64], persons: NDArray[np.int64]) -> float:
    """One over the persons of a row's group, on average over all rows of the groups; 0 for none."""
    return float((rows / persons).sum() / rows.sum()) if len(rows) else 0.0


def _sensitive_places(problem: Problem) -> dict[str, int]:
    """The sensitive columns that criteria read, and their indices among the counted columns."""
    columns = problem.counts.columns
    read = {criterion.column for criterion in problem.criteria} - {None}
    return {
        name: index
        for index, name in enumerate(columns)
        if name in read and index >= len(problem.hierarchies)
    }


class _CellsOnDemand(dict[str, SensitiveCells]):
    """The cells of each sensitive column, counted when they are asked for."""

    def __init__(self, count: Callable[[str], SensitiveCells]) -> None:
        super().__init__()
        self._count = count

    def __missing__(self, column: str) -> SensitiveCells:
        self[column] = self._count(column)
        return self[column]


def _cells(
    group: NDArray[np.int64],
    value: NDArray[np.int64],
    rows: NDArray[np.int64],
    total: NDArray[np.int64],
) -> SensitiveCells:
    """Rows by distinct pair of group and value, from entries that may repeat a pair."""
    pair = group * len(total) + value
    order = np.argsort(pair)
    pair = pair[order]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    pair = pair[first]
    return SensitiveCells(
        group=pair // len(total),
        value=pair % len(total),
        rows=np.add.reduceat(rows[order], first),
        total=total,
    )
