"""Tables of groups at every node of a lattice, each rolled up from one below it.

What it does: codes the counted combinations once, at every level of each column, and numbers only
values that stand in counted rows, so that tables are small however large the public domain is;
from then on a node's table comes from the table of any node below it by replacing the codes of the
columns that rise, and grouping.  Where combinations are too many to be collected (``rolled_up``),
the engine counts the nodes that have no table below them.

Source: the roll-up property of LeFevre, DeWitt and Ramakrishnan, "Incognito" (2005), section 2.

Cost: O(p) for a table rolled up from p entries.  ``all_tables`` makes every table of the lattice,
each from a neighbour; the columns whose top level merges most rise first, so that the nodes from
which most others are made have small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.grouping import Fields, Grouper, GroupTable, Words
from voile.publish.generalization.lattice import Lattice, Levels
from voile.publish.generalization.objective import ColumnLevels
from voile.publish.generalization.problem import Problem
from voile.schema.hierarchy.generalized import BoundHierarchy
from voile.table.decisions import RecodedColumn
from voile.table.summaries import CombinationCounts

__all__ = ["Tables"]

_MOST_TABLES = 512
_LEAST_BUDGET = 4_000_000


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
        """The table of a node, rolled up from the smallest one at hand."""
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
        """Words at one node as they are at another above it; a copy."""
        words = tuple(word.copy() for word in words)
        for j, column in enumerate(self.columns):
            if low[j] != high[j]:
                self.fields.replace(words, j, column.table(low[j], high[j]))
        return words

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
        self._levels = np.zeros((_MOST_TABLES, len(levels)), dtype=np.int64)
        self._levels[0] = levels
        self._entries = np.full(_MOST_TABLES, np.iinfo(np.int64).max)
        self._entries[0] = len(finest)
        self._budget = max(_LEAST_BUDGET, 4 * len(finest))
        self._held = 0
        self._next = 1

    def smallest_below(self, levels: Levels) -> tuple[Levels, GroupTable | None]:
        """The smallest kept table of a node at or below another, and its node; None for none."""
        none = np.iinfo(np.int64).max
        below = (self._levels <= np.array(levels)).all(axis=1)
        entries = np.where(below, self._entries, none)
        index = int(np.argmin(entries))
        if entries[index] == none:
            return levels, None
        return tuple(self._levels[index].tolist()), self._tables[index]

    def keep(self, levels: Levels, table: GroupTable) -> None:
        """Keep a table; the oldest ones make room."""
        self._drop(self._next)
        self._tables[self._next] = table
        self._levels[self._next] = levels
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
