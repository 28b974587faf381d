"""What counts become for those who decide: small arrays, with values as the schema has them.

Everything here is private where it is of a private table, and none of it grows with rows but with
distinct values and their combinations.

Counting those who are protected as one: the units in groups of rows, wherever the rows are.

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

Whose the rows of a release are: what a check counts before they are published, and no reader.

The rows are those of the release, in what they show and in their order, with the column of persons
or households beside; they are private, and never leave the engine but as counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.recognisers.values import ColumnLook
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.taxonomy import CodeListName
from voile.schema.numbers import ExactNumbers
from voile.schema.roles import Protected
from voile.table.arrays import array_of, series_of
from voile.table.binding import distinct_values
from voile.table.keeping import KeptRows
from voile.table.protocol import Counted, Rows
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Call, Column, Expression, Literal, negated

__all__ = [
    "ColumnDetails",
    "ColumnProfile",
    "CombinationCounts",
    "GroupCounts",
    "GroupedValues",
    "KnownRows",
    "PublishedCells",
    "PublishedUnits",
    "RowMatch",
    "RowSample",
    "SampleCounts",
    "UnitCounts",
    "UnitsProfile",
    "ValueCounts",
    "WaitingRows",
    "numbers_of_rows",
    "rows_of_units",
]


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


@dataclass(frozen=True)
class ColumnProfile:
    """Private facts about one column, for the custodian's eyes."""

    name: str
    type: str
    missing: int
    distinct: int
    """Different values; a missing one is none."""
    once: int
    """Those of them that stand in one row only."""
    placeholder: str | None = None
    """A text such as "?" that seems to stand for a missing value."""
    placeholders: int = 0


@dataclass(frozen=True)
class UnitsProfile:
    """Private facts about those who are protected as one, for the custodian's eyes."""

    protected: Protected
    column: str
    units: int
    """How many there are."""
    once: int
    """Those of them that have one row."""
    most_rows: int
    """Of one of them."""


@dataclass(frozen=True)
class ColumnDetails:
    """Private facts about how the values of one column are written, for who proposes a plan."""

    profile: ColumnProfile
    """As the column is when its mark stands for a missing value."""
    rows: int
    """Rows of the table."""
    marks: tuple[str, ...] = ()
    """Texts that seem to stand for a missing value."""
    digits: int | None = None
    """The length of the values where all are digits and equally long."""
    words: float = 0.0
    """Mean number of words of the different texts."""
    machine_made: bool = False
    """Whether all values are long hexadecimal numbers, as programs make them."""
    bands: bool = False
    """Whether all values are ranges of numbers: "[0-10)", ">300"."""
    date_formats: tuple[str, ...] = ()
    """The usual formats of dates that all values fit; of texts."""
    lists: Mapping[CodeListName, int] = field(default_factory=dict)
    """Public lists that have most of the values, and how many different ones each misses."""
    extremes: tuple[float, float] | None = None
    """The least and the greatest number; never to be written down."""
    few: frozenset[str] = frozenset()
    """The different texts where they are few; never to be written down."""
    sample: tuple[str, ...] = ()
    """Some of the different values as texts, for recognisers; never to be written down."""
    whole: bool = False
    """Whether decimals are whole numbers all, as programs write codes: 1.0."""
    falling: bool = False
    """Whether whole numbers begin at 0 or 1 and the large ones are rare, as in counts."""
    listed: bool = False
    """Whether whole numbers stand in the order of a list: they ascend, or fall or change in few
    rows, by uneven steps."""
    in_blocks: bool = False
    """Whether equal whole numbers stand in rows one after another, each in one place alone."""
    sentinels: tuple[str, ...] = ()
    """Numbers that stand out and seem to stand for a missing value: -9, 99."""
    named_itself: bool = False
    """Whether the name of the column is a value of it, or a number: its first row may be data."""
    label: str = ""
    """What the file says that the column holds, where its format can say so."""
    headed: str = ""
    """Its own name, where one heading stands over it and others: "Name" of "Pupil Name"."""

    @property
    def has_blanks(self) -> bool:
        """Whether a text is empty, as of a row without a value; it would stand first."""
        return any(not text.strip() for text in self.sample[:1])

    def look(self, beside: Sequence[str] = ()) -> ColumnLook:
        """What recognisers see of the column; ``beside`` are the names of the others."""
        profile, there = self.profile, self.rows - self.profile.missing
        name, distinct = profile.name, profile.distinct
        texts, formats = self.sample, self.date_formats
        return ColumnLook(
            name, profile.type, there, distinct, texts, beside, self.extremes, formats
        )


@dataclass(frozen=True, eq=False)
class CombinationCounts:
    """Private counts of the g distinct combinations of values of m columns.

    A value is named by its code, its rank among the distinct values of its column.  Combinations
    ascend by their codes, the first column first.
    """

    columns: tuple[str, ...]
    values: tuple[DistinctValues, ...]
    """The distinct values of each column; some may stand in no counted row."""
    codes: NDArray[np.int32]
    """Shape (g, m)."""
    rows: NDArray[np.int64]
    """Shape (g,): rows of each combination, at least 1."""
    of: CountedRows | None = None
    """The rows that were counted; None where counts are made up."""
    units: UnitCounts | None = None
    """Whose these rows are, where persons or households have several; None: each row is another."""


@dataclass(frozen=True, eq=False)
class SampleCounts:
    """A sample of a population, by the g combinations of values of m columns; private."""

    columns: tuple[str, ...]
    codes: NDArray[np.int64]
    """Shape (g, m): the rank of each value among those of its column."""
    missing: NDArray[np.bool_]
    """Shape (g, m)."""
    rows: NDArray[np.int64]
    """Shape (g,)."""
    weight: NDArray[np.float64]
    """Shape (g,): what the rows of each combination weigh together."""
    place: NDArray[np.int64]
    """Shape (n,): the combination of each row."""
    household: NDArray[np.int64] | None
    """Shape (n,): numbers from 0; None where nobody tells households apart."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows, and what an engine counted in them."""

    rows: Rows
    counted: Counted


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Private counts of one numeric column: rows by distinct value and by class of rows."""

    values: ExactNumbers
    """The d distinct values, ascending."""
    value: NDArray[np.int64]
    """Shape (g,): an index into ``values``, of each pair of value and class that has rows."""
    row_class: NDArray[np.int64]
    """Shape (g,): the class of each pair; 0 where rows have no class."""
    count: NDArray[np.int64]
    """Shape (g,): rows of each pair, at least 1."""
    classes: int = 1
    of: CountedRows | None = None
    """The rows that were counted, by value and perhaps class; None where counts are made up."""

    @classmethod
    def of_matrix(cls, values: ExactNumbers, rows: NDArray[np.int64]) -> ValueCounts:
        """Made-up counts, of rows by value and class, shape (d, c)."""
        value, row_class = np.nonzero(rows)
        return cls(values, value, row_class, rows[value, row_class], rows.shape[1])

    @property
    def total(self) -> NDArray[np.int64]:
        """Shape (d,): rows of each value."""
        return np.bincount(self.value, self.count, len(self.values)).astype(np.int64)

    @property
    def fresh(self) -> NDArray[np.int64]:
        """Shape (d,): rows of each value in the last class, that of rows nobody has seen."""
        last = self.row_class == self.classes - 1
        return np.bincount(self.value[last], self.count[last], len(self.values)).astype(np.int64)

    def present(self) -> NDArray[np.bool_]:
        """Shape (d, c): whether a value has rows of a class; for searches that compare classes."""
        found = np.zeros((len(self.values), self.classes), dtype=np.bool_)
        found[self.value, self.row_class] = True
        return found


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Private counts of one column within groups of rows.

    Parallel arrays over the c distinct pairs of group and value, ascending by group, then by value.
    """

    column: str
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    """A rank among the distinct values of the column, as ``CombinationCounts`` has them."""
    rows: NDArray[np.int64]
    """At least 1; or what rows weigh."""
    whole: int = 1
    """What a person weighs: 1 where rows are counted."""
    units: UnitCounts | None = None
    """Whose the counted rows are; None: each row is another."""

    @property
    def weighed(self) -> GroupCounts:
        """What the rows weigh, of which each person or household shares one evenly."""
        if self.units is None:
            return self
        return replace(self, rows=self.units.weight, whole=self.units.whole, units=None)


@dataclass(frozen=True, eq=False)
class GroupedValues:
    """How often each value stands in each group of a published table.

    Parallel arrays over the distinct pairs, ascending by group, then by value.
    """

    group: NDArray[np.int64]
    values: ExactNumbers
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """How often each value of one column stands in each combination of published values.

    Parallel arrays over the c distinct pairs of combination and value, ascending by combination,
    then by value.  Combinations are numbered as ``group_sizes`` counts them.
    """

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    """An index in ``values``."""
    rows: NDArray[np.int64]
    values: DistinctValues
    """The v distinct values of the column; a missing value is one of them."""
    total: NDArray[np.int64]
    """Shape (v,): rows of each value in the whole release."""


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Marks of rows that earlier releases of a series saw; see ``matching`` for their columns."""

    published: tuple[KeptRows, ...] = ()
    """Rows first published in earlier releases, of one or of several of them together."""
    held: KeptRows = field(default_factory=KeptRows)
    """Rows that the newest release held back."""
    versions: int = 0
    """Number of earlier releases."""


@dataclass(frozen=True, eq=False)
class WaitingRows:
    """Rows that the newest release held back, whose fate the rule of waiting began to decide."""

    refused: KeptRows = field(default_factory=KeptRows)
    """Marks of those that a look refused, whether or not the table still holds them."""
    left: int = 0
    """How many of these the table no longer holds."""
    aside: KeptRows = field(default_factory=KeptRows)
    """Marks of those that were set aside."""


@dataclass(frozen=True, eq=False)
class RowMatch:
    """How the rows of a table relate to those that earlier releases saw; private."""

    rows: Any
    """All rows but those set aside, with their classes and marks."""
    classes: int
    """Number of classes: one for each earlier release, and the last for fresh rows."""
    missing: int
    """Published rows that the table no longer holds."""
    changed: int
    """Published rows whose contents are not what they were (with a record key)."""
    fresh: int
    """Rows that no release has published."""
    withdrawn: int
    """Rows held back by the newest release that the table no longer holds."""
    waiting: WaitingRows = field(default_factory=WaitingRows)
    """What became of those that were refused or set aside."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows drawn each with the same probability, independently of all others; private."""

    probability: Decimal
    marked: Rows
    """All rows; a column of truth values says which were drawn."""
    mark: str
    columns: Sequence[str]
    """The other columns."""

    @cached_property
    def rows(self) -> Rows:
        """The rows that were drawn."""
        return self.marked.filter(Column(self.mark)).select(self.columns)

    @cached_property
    def rest(self) -> Rows:
        """All other rows."""
        return self.marked.filter(negated(Column(self.mark))).select(self.columns)


@dataclass(frozen=True, eq=False)
class PublishedUnits:
    """Published rows and the persons or households that they are of; private."""

    _rows: Rows
    _unit: str
    _of_units: Rows
    """How many rows each has in the private table."""

    def count(self, columns: Sequence[str]) -> CombinationCounts:
        """Rows, and those whose they are, by distinct combination of published values."""
        counted = self._rows.count(columns, keep=True)
        return CombinationCounts(
            columns=tuple(columns),
            values=tuple(distinct_values(series_of(each)) for each in counted.values),
            codes=counted.codes,
            rows=counted.rows,
            of=CountedRows(self._rows, counted),
            units=UnitCounts.of(self._rows, counted, self._unit, self._of_units),
        )

    def in_groups(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Persons or households of each distinct combination of published values, shape (p,)."""
        found = self.count(columns)
        assert found.units is not None
        return found.units.within
