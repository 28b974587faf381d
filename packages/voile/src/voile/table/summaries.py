"""What counts become for those who decide: small arrays, with values as the schema has them.

Everything here is private where it is of a private table, and none of it grows with rows but with
distinct values and their combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.recognisers.looks import ColumnLook
from voile.schema.hierarchy.code_lists import CodeListName
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile.schema.roles import Protected
from voile.table.keeping import KeptRows
from voile.table.protocol import Counted, Rows
from voile.table.units import UnitCounts
from voile_base.values.expressions import Column, negated

__all__ = [
    "ColumnDetails",
    "ColumnProfile",
    "CombinationCounts",
    "GroupCounts",
    "GroupedValues",
    "KnownRows",
    "PublishedCells",
    "RowMatch",
    "RowSample",
    "UnitsProfile",
    "ValueCounts",
    "WaitingRows",
]


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
    sentinels: tuple[str, ...] = ()
    """Numbers that stand out and seem to stand for a missing value: -9, 99."""
    named_itself: bool = False
    """Whether the name of the column is a value of it, or a number: its first row may be data."""

    def look(self, beside: Sequence[str] = ()) -> ColumnLook:
        """What recognisers see of the column; ``beside`` are the names of the others."""
        profile, there = self.profile, self.rows - self.profile.missing
        name, distinct = profile.name, profile.distinct
        return ColumnLook(name, profile.type, there, distinct, self.sample, beside, self.extremes)


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
class CountedRows:
    """Rows, and what an engine counted in them."""

    rows: Rows
    counted: Counted


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Private counts of one numeric column: rows by distinct value and by class of rows."""

    values: ExactNumbers
    """The d distinct values, ascending."""
    rows: NDArray[np.int64]
    """Shape (d, c): rows of class j that hold value i; c is 1 where rows have no class."""
    of: CountedRows | None = None
    """The rows that were counted, by value and perhaps class; None where counts are made up."""

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Value and class of each of the c combinations that were counted."""
        value, row_class = np.nonzero(self.rows)
        return value, row_class


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
    """Rows first published in each earlier release, from the oldest to the newest."""
    held: KeptRows = field(default_factory=KeptRows)
    """Rows that the newest release held back."""

    @property
    def versions(self) -> int:
        """Number of earlier releases."""
        return len(self.published)


@dataclass(frozen=True, eq=False)
class WaitingRows:
    """Rows held back by the newest release whose fate ``models.waiting`` has begun to decide."""

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
