"""Counting those who are protected as one: the units in groups of rows, wherever the rows are.

What it does: for the combinations of values that were counted in a table, says how many different
units each has, how many have no other, and what their rows weigh; and counts the units of any
grouping of the combinations.

A unit count of a union is not a sum.  It is bracketed by two that are: a group has at most the sum
of the units of its combinations, and at least the sum of those that have no other combination.  So
most groups are decided by sums over the g combinations, and the engine is asked about the rest.

Weights: the rows that a unit has in a group share one evenly (``schema.persons``).  They are whole
numbers, parts of ``whole``, the least common multiple of all numbers of rows up to the most that a
unit has; where that is so large that the weights of all units might not be summed exactly in
floating point, ``whole`` is the largest power of two for which they can, and a row's weight is
rounded down, by less than 1e-6 of itself where there are fewer than a million units of fewer than a
thousand rows each.  Decision and check have the same ``whole``, and round alike.

What crosses the kernel: arrays of g numbers; counts by how many rows units have; and for each pair
of group and value that has no unit of its own, as many units as are asked for, by number; and of
the rows around the best ones, of which each is looked at, all pairs.  Pairs of
combination and unit grow with rows and stay the engine's: one data set of all pairs, and one of
those of units that have several combinations, each of which is one pass to count by.

Cost for n rows and q pairs: two sorts of n words, a join of q pairs with the units; then a look-up
and a sort of the pairs of units with several combinations for each grouping that sums do not
decide; of their rows, two sorts and a join, for each whose values are weighed.  The engine on one
machine keeps 8 to 16 bytes for each of the q pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.table.arrays import array_of, series_of
from voile.table.protocol import Counted, Rows
from voile_base.values.expressions import Call, Column, Expression, Literal

__all__ = ["UnitCounts", "numbers_of_rows", "rows_of_units"]

_COMBINATION, _GROUP, _CELL = "\1combination", "\1group", "\1cell"
_ROWS, _COMBINATIONS, _ROWS_OF_UNIT, _RANK = "\1rows", "\1combinations", "\1of unit", "\1rank"
"""No file has columns whose names begin so."""

_SUMMED_EXACTLY = 2**53


def rows_of_units(rows: Rows, unit: str) -> Rows:
    """A row for each unit, and how many rows it has: by these its rows are weighed."""
    return rows.distinct([unit], _ROWS_OF_UNIT)


def numbers_of_rows(of_units: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows units have, ascending, and how many units have so many; see above."""
    counted = of_units.count([_ROWS_OF_UNIT])
    rows = series_of(counted.values[0]).to_numpy().astype(np.int64)
    return rows[counted.codes[:, 0]], counted.rows


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """The units among the rows of g combinations of values; private."""

    unit: str
    """The column that tells them apart."""
    _rows: Rows
    _counted: Counted
    _of_units: Rows
    """How many rows each unit has in the whole table."""

    @classmethod
    def of(cls, rows: Rows, counted: Counted, unit: str, of_units: Rows) -> UnitCounts:
        """The units of combinations counted in some rows of a table; see ``rows_of_units``."""
        return cls(unit, rows, counted, of_units)

    @property
    def units(self) -> int:
        """How many units there are in the whole table."""
        return self._of_units.height

    @cached_property
    def within(self) -> NDArray[np.int64]:
        """Shape (g,): the units that have a row of a combination, at least 1."""
        return self._by_combination(self._pairs)

    @cached_property
    def alone(self) -> NDArray[np.int64]:
        """Shape (g,): those of them all of whose counted rows are of this combination."""
        return self.within - self._by_combination(self._shared)

    @cached_property
    def whole(self) -> int:
        """What a unit weighs."""
        rows = int(numbers_of_rows(self._of_units)[0].max(initial=1))
        most = max(_SUMMED_EXACTLY // max(self.units, 1), 1)
        whole = 1
        for number in range(2, rows + 1):
            whole = math.lcm(whole, number)
            if whole > most:
                return 1 << (most.bit_length() - 1)
        return whole

    @cached_property
    def weight(self) -> NDArray[np.int64]:
        """Shape (g,): what the rows of each combination weigh, in parts of ``whole``.

        Each unit weighs one in the whole table.
        """
        found = self._pairs.join_rows(self._of_units, [self.unit], "inner")
        return self._summed(found, _COMBINATION, len(self._counted.rows))

    def weigh(
        self, label: NDArray[np.int64], cell: NDArray[np.int64], cells: int
    ) -> NDArray[np.int64]:
        """Shape (cells,): what the units in each cell of a group weigh, in parts of ``whole``.

        ``label`` and ``cell`` (g,) are the group and the cell of each combination; label -1 is in
        none.  Each unit weighs one in its group, and the rows that it has there share that evenly.
        """
        inside = label >= 0
        found = np.bincount(cell[inside], self._weight_alone[inside], cells).astype(np.int64)
        return found + self._weigh_shared(label, cell, cells)

    def count(self, label: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
        """Shape (groups,): the units of each group of combinations; label -1 is in no group."""
        inside = label >= 0
        found = np.bincount(label[inside], self.alone[inside], groups).astype(np.int64)
        return found + self._shared_in(label, groups)

    def at_least(self, k: int, label: NDArray[np.int64], groups: int) -> NDArray[np.bool_]:
        """Which groups of combinations have at least k units, shape (groups,)."""
        inside = label >= 0
        most = np.bincount(label[inside], self.within[inside], groups)
        sure = np.bincount(label[inside], self.alone[inside], groups).astype(np.int64)
        in_one = np.zeros(groups, dtype=np.int64)
        np.maximum.at(in_one, label[inside], (self.within - self.alone)[inside])
        answer = np.asarray(sure + in_one >= k, dtype=np.bool_)
        open_ = (most >= k) & ~answer
        if open_.any():
            asked = np.where(inside & open_[label], label, -1)
            answer |= open_ & (sure + self._shared_in(asked, groups) >= k)
        return answer

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Combination and unit, by number, of each pair; as many as rows, so of few rows alone."""
        counted = self._pairs.count([_COMBINATION, self.unit])
        combination = series_of(counted.values[0]).to_numpy().astype(np.int64)
        return combination[counted.codes[:, 0]], counted.codes[:, 1].astype(np.int64)

    def some(
        self, label: NDArray[np.int64], limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of group and unit, of units that have several combinations, by number.

        At most ``limit`` units of each group; which of them is left open.
        """
        rows = self._labelled(label)
        if rows is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        pairs = rows.distinct([_GROUP, self.unit], _ROWS).rank(_RANK, [_GROUP], [self.unit])
        counted = pairs.filter(_compared("<", _RANK, limit)).count([_GROUP, self.unit])
        group = series_of(counted.values[0]).to_numpy().astype(np.int64)
        return group[counted.codes[:, 0]], counted.codes[:, 1].astype(np.int64)

    # -- how --------------------------------------------------------------------------------------

    @cached_property
    def _numbered(self) -> Rows:
        """The combination and the unit of each row."""
        number = array_of(np.arange(len(self._counted.rows), dtype=np.int64))
        rows = self._rows.join(self._counted, {_COMBINATION: number})
        return rows.select([_COMBINATION, self.unit])

    @cached_property
    def _pairs(self) -> Rows:
        """A row for each pair of combination and unit, and how many rows it has."""
        return self._numbered.distinct([_COMBINATION, self.unit], _ROWS)

    def _of(self, rows: Rows, combinations: str) -> Rows:
        """Of some rows, those of units that have one combination ("="), or several (">")."""
        spread = self._pairs.distinct([self.unit], _COMBINATIONS)
        some = spread.filter(_compared(combinations, _COMBINATIONS, 1))
        return rows.join_rows(some, [self.unit], "inner")

    @cached_property
    def _shared(self) -> Rows:
        """The pairs of units that have several combinations."""
        pairs = self._pairs.select([_COMBINATION, self.unit])
        return self._of(pairs, ">").select([_COMBINATION, self.unit])

    @cached_property
    def _shared_rows(self) -> tuple[Rows, Counted]:
        """The rows of units that have several combinations, and these as they are counted."""
        rows = self._of(self._numbered, ">").select([_COMBINATION, self.unit])
        return rows, rows.count([_COMBINATION], keep=True)

    @cached_property
    def _weight_alone(self) -> NDArray[np.int64]:
        """Shape (g,): what those weigh all of whose counted rows are of one combination."""
        once = self._of(self._pairs, "=")
        return self._summed(once, _COMBINATION, len(self._counted.rows), of_unit=_ROWS)

    def _weigh_shared(
        self, label: NDArray[np.int64], cell: NDArray[np.int64], cells: int
    ) -> NDArray[np.int64]:
        """The same as ``weigh``, of units with several combinations."""
        if not self._shared.height:
            return np.zeros(cells, dtype=np.int64)
        rows, counted = self._shared_rows
        present = series_of(counted.values[0]).to_numpy()[counted.codes[:, 0]]
        rows = rows.join(
            counted, {_GROUP: array_of(label[present]), _CELL: array_of(cell[present])}
        )
        if (label[present] < 0).any():
            rows = rows.filter(_compared(">=", _GROUP, 0))
        of_units = rows.distinct([_GROUP, self.unit], _ROWS_OF_UNIT)
        pairs = rows.distinct([_GROUP, _CELL, self.unit], _ROWS)
        return self._summed(pairs.join_rows(of_units, [_GROUP, self.unit], "inner"), _CELL, cells)

    def _summed(
        self, pairs: Rows, by: str, size: int, of_unit: str = _ROWS_OF_UNIT
    ) -> NDArray[np.int64]:
        """What pairs weigh together by a column of numbers, each its rows of those of its unit."""
        found = np.zeros(size, dtype=np.int64)
        if pairs.height:
            counted = pairs.count(list(dict.fromkeys([by, _ROWS, of_unit])))
            read = {
                name: series_of(values).to_numpy().astype(np.int64)[codes]
                for name, values, codes in zip(
                    counted.columns, counted.values, counted.codes.T, strict=True
                )
            }
            weight = counted.rows * read[_ROWS] * (self.whole // read[of_unit])
            np.add.at(found, read[by], weight)
        return found

    @cached_property
    def _shared_counted(self) -> Counted:
        return self._shared.count([_COMBINATION], keep=True)

    def _by_combination(self, pairs: Rows) -> NDArray[np.int64]:
        found = np.zeros(len(self._counted.rows), dtype=np.int64)
        if pairs.height:
            counted = pairs.count([_COMBINATION])
            present = series_of(counted.values[0]).to_numpy()[counted.codes[:, 0]]
            found[present] = counted.rows
        return found

    def _labelled(self, label: NDArray[np.int64]) -> Rows | None:
        """The pairs of units with several combinations that have a label; None where none has."""
        if not self._shared.height:
            return None
        counted = self._shared_counted
        present = series_of(counted.values[0]).to_numpy()[counted.codes[:, 0]]
        of_present = label[present]
        if (of_present < 0).all():
            return None
        rows = self._shared.join(counted, {_GROUP: array_of(of_present)})
        return rows.filter(_compared(">=", _GROUP, 0)) if of_present.min() < 0 else rows

    def _shared_in(self, label: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
        """Shape (groups,): units with several combinations that have a row in each group."""
        found = np.zeros(groups, dtype=np.int64)
        rows = self._labelled(label)
        if rows is not None:
            counted = rows.distinct([_GROUP, self.unit], _ROWS).count([_GROUP])
            present = series_of(counted.values[0]).to_numpy()[counted.codes[:, 0]]
            found[present] = counted.rows
        return found


def _compared(operation: str, column: str, number: int) -> Expression:
    return Call(operation, (Column(column), Literal(number)))
