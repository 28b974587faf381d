"""Tables of groups at every node of a lattice, each rolled up from one below it.

What it does: codes the counted combinations once; from then on a node's table comes from the
table of any node below it by replacing the codes of the columns that rise, and grouping.

Source: the roll-up property of LeFevre, DeWitt and Ramakrishnan, "Incognito" (2005), section 2.

Cost: O(p) for a table rolled up from p entries.  ``all_tables`` makes every table of the lattice,
each from a neighbour; the columns whose top level merges most rise first, so that the nodes from
which most others are made have small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from voile.publish.generalization.coding import CodedColumn
from voile.publish.generalization.grouping import Fields, Grouper, GroupTable, Words
from voile.publish.generalization.lattice import Lattice, Levels
from voile.publish.generalization.problem import Problem

__all__ = ["Tables"]

_MOST_TABLES = 512
_LEAST_BUDGET = 4_000_000


class Tables:
    """Groups of one problem's rows at any node, and their sensitive values where wanted."""

    def __init__(self, problem: Problem, carried: Sequence[int] = ()) -> None:
        """``carried``: places of further columns, never generalized, that tables keep apart."""
        counts = problem.counts
        self.lattice = Lattice.of(problem.hierarchies)
        self.rows = counts.rows
        self.columns = tuple(
            CodedColumn.of(hierarchy, counts.codes[:, j], counts.rows)
            for j, hierarchy in enumerate(problem.hierarchies)
        )
        self.fields = Fields(
            [
                *(len(column.codes[0]) for column in self.columns),
                *(len(counts.values[place]) for place in carried),
            ]
        )
        self.grouper = Grouper()
        self.words = self.fields.pack(
            [
                *(column.finest for column in self.columns),
                *(counts.codes[:, place] for place in carried),
            ]
        )
        """The packed codes of the g combinations at the bottom."""
        self._bottom = self.grouper.group(self.words, self.rows)
        self._kept = _KeptTables(self.lattice.bottom, self._bottom)
        self.entries_read = 0
        """Entries of all tables that others were rolled up from."""

    def at(self, levels: Levels) -> GroupTable:
        """The table of a node, rolled up from the smallest one at hand."""
        low, table = self._kept.smallest_below(levels)
        if low != levels:
            table = self._rolled(table, low, levels)
            self._kept.keep(levels, table)
        return table

    def generalized(self, words: Words, low: Levels, high: Levels) -> Words:
        """Words at one node as they are at another above it; a copy."""
        words = tuple(word.copy() for word in words)
        for j, column in enumerate(self.columns):
            if low[j] != high[j]:
                self.fields.replace(words, j, column.table(low[j], high[j]))
        return words

    def visit_all(self, visit: Callable[[Levels, GroupTable], bool]) -> None:
        """Call ``visit`` with every node and its table, each before those made from it.

        Where it returns False, the nodes above that would be made from this one are left out.
        """
        order = self._by_shrinkage()
        # A node's first column is the last in ``order`` that rose: only it and later ones rise
        # further, so that each node is made once.
        waiting: list[tuple[Levels, int, Levels, GroupTable]] = [
            (self.lattice.bottom, 0, self.lattice.bottom, self._bottom)
        ]
        while waiting:
            levels, first, low, table = waiting.pop()
            if levels != low:
                table = self._rolled(table, low, levels)
            if not visit(levels, table):
                continue
            for place in range(first, len(order)):
                j = order[place]
                if levels[j] < self.lattice.heights[j]:
                    above = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
                    waiting.append((above, place, levels, table))

    def _rolled(self, table: GroupTable, low: Levels, high: Levels) -> GroupTable:
        self.entries_read += len(table)
        return self.grouper.group(self.generalized(table.words, low, high), table.rows)

    def _by_shrinkage(self) -> list[int]:
        bottom = self.lattice.bottom
        entries = []
        for j, height in enumerate(self.lattice.heights):
            only = (*bottom[:j], height, *bottom[j + 1 :])
            entries.append(len(self._rolled(self._bottom, bottom, only)))
        return [int(j) for j in np.argsort(entries, kind="stable")]


class _KeptTables:
    """The newest tables within a budget of entries, and always the finest."""

    def __init__(self, bottom: Levels, finest: GroupTable) -> None:
        self._tables: list[GroupTable | None] = [finest] + [None] * (_MOST_TABLES - 1)
        self._levels = np.zeros((_MOST_TABLES, len(bottom)), dtype=np.int64)
        self._entries = np.full(_MOST_TABLES, np.iinfo(np.int64).max)
        self._entries[0] = len(finest)
        self._budget = max(_LEAST_BUDGET, 4 * len(finest))
        self._held = 0
        self._next = 1

    def smallest_below(self, levels: Levels) -> tuple[Levels, GroupTable]:
        """The smallest kept table of a node at or below another, and its node."""
        below = (self._levels <= np.array(levels)).all(axis=1)
        place = int(np.argmin(np.where(below, self._entries, np.iinfo(np.int64).max)))
        table = self._tables[place]
        assert table is not None
        return tuple(self._levels[place].tolist()), table

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

    def _drop(self, place: int) -> None:
        table = self._tables[place]
        if table is not None:
            self._held -= len(table)
            self._tables[place] = None
            self._entries[place] = np.iinfo(np.int64).max

    @staticmethod
    def _following(place: int) -> int:
        return place % (_MOST_TABLES - 1) + 1
