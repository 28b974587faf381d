"""What a data set of Spark is: a data frame, and the columns that say where a row stands.

Nothing of it has run.  Rows of a data frame have no order of their own, and no number that stays
when a task is tried again; so where they stand is a column from the beginning: the number of a row
in its source, or the group and rank that a permutation gave it.  Nothing reads the number of a
partition.

Functions of whole groups asked of rows of Spark, which a task has sorted by group.

Columns permuted within groups by Spark and keyed words; see ``Rows.permuted``.

A value's place among all is where its group starts, which the driver adds up from the counts of
groups, and its rank in the group.  Its word is a function of the key and of that place alone, and
where it goes is the rank of the word.  So a task that is tried again, or computes a part of the
rows that another had, gives the same; equal values have different words and are one value.

Cost for n rows: a shuffle by group and two sorts for each column.  A group is the work of one task,
which spills what does not fit into its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import array_of, numbers_of
from voile.table.engines.spark.functions import AskedOfGroups, AskedOfRows, SparkColumn
from voile.table.engines.spark.session import Frame, PersistedFrame, SparkHandle
from voile.table.protocol import GroupFunction
from voile_base.ondemand import on_demand
from voile_base.randomness import Key
from voile_base.values import Document
from voile_base.version import VERSION

__all__ = [
    "Size",
    "SparkRelation",
    "alike",
    "ascending",
    "asked_of_columns",
    "drawn_values",
    "mapped_by_groups",
    "starts_of_groups",
    "table_of",
    "unbroadcast",
]


functions = on_demand("pyspark.sql.functions")

_BROADCAST = 64 << 20
"""Bytes up to which a small table is sent to every worker as a whole."""


@dataclass(eq=False)
class Size:
    """How many rows some data frames have, which is counted once."""

    rows: int | None = None


@dataclass(frozen=True, eq=False)
class SparkRelation:
    """Rows as Spark has them; all columns have names of the session."""

    session: SparkHandle
    frame: Frame
    places: tuple[str, ...] = ()
    """The columns by which rows stand in their order, where nothing else orders them."""
    number: str | None = None
    """The column with the number of a row in its source, from 1."""
    size: Size = field(default_factory=Size)
    kept: tuple[PersistedFrame, ...] = ()
    """Data frames that must stay."""

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self.size.rows is None:
            self.size.rows = self.session.height(self.frame)
        return self.size.rows

    @property
    def own(self) -> list[str]:
        """The columns that are the session's own."""
        return list(dict.fromkeys([*self.places, *([self.number] if self.number else [])]))

    def with_columns(self, made: Document) -> SparkRelation:
        """More columns, by expressions of Spark."""
        columns = [said.alias(name) for name, said in made.items()]
        return replace(self, frame=self.frame.select("*", *columns))

    def where(self, condition: str) -> SparkRelation:
        """The rows for which a condition of SQL holds."""
        return replace(self, frame=self.frame.where(functions.expr(condition)), size=Size())

    def with_small(self, small: pa.Table, keys: Mapping[str, str]) -> SparkRelation:
        """The rows with the other columns of the row of a table that agrees in some, or without.

        ``keys`` says for each of these columns what it is called in the table.
        """
        other = self.session.frame(small)
        if small.nbytes <= _BROADCAST:
            other = functions.broadcast(other)
        joined = self.frame.join(other, alike(keys), "left").drop(*keys.values())
        return replace(self, frame=joined)

    def keeping(self) -> SparkRelation:
        """The same rows, which stay where they were computed."""
        kept = self.session.kept(self.frame)
        return replace(self, kept=(*self.kept, kept))


def alike(keys: Mapping[str, str]) -> Any:
    """Whether columns are equal, missing values too."""
    column = functions.col
    return reduce(and_, (column(one).eqNullSafe(column(two)) for one, two in keys.items()))


def unbroadcast(frame: Any) -> Any:
    """Rows that are joined where they are: Spark would collect up to some MiB in its driver."""
    return frame.hint("merge")


def asked_of_columns(asked: AskedOfRows, read: Sequence[Any]) -> Any:
    """What a function gives for the columns that it reads, as one column with fields."""

    def ask(*arrays: pa.Array) -> pa.Array:
        return asked(*arrays)

    kind = ", ".join(f"{name}: {SparkColumn(name, dtype).sql_type}" for name, dtype in asked.gives)
    return functions.arrow_udf(ask, f"struct<{kind}>")(*(read or [functions.lit(1)]))


def ascending(idents: Sequence[str]) -> list[Any]:
    """Terms of an order, in the order of the kernel."""
    return [functions.col(name).asc_nulls_first() for name in idents]


def table_of(columns: Mapping[SparkColumn, pa.Array]) -> pa.Table:
    """A table of arrays that are stored."""
    names = [column.ident for column in columns]
    return pa.Table.from_arrays(list(columns.values()), names=names)


@dataclass(frozen=True, eq=False)
class _Mapped:
    """What a function gave."""

    rows: SparkRelation
    made: dict[str, SparkColumn]
    """The new columns of the rows."""
    groups: SparkRelation
    """A row for each group, which has the column that tells groups, too."""
    of_groups: dict[str, SparkColumn]


def mapped_by_groups(
    relation: SparkRelation,
    columns: Mapping[str, SparkColumn],
    by: Sequence[str],
    ties: Sequence[str],
    asked: tuple[GroupFunction, pa.Schema, pa.Schema],
) -> _Mapped:
    """Rows with more columns, and a row for each group, both of what stays with the workers.

    ``by`` begins with the column that tells groups, and ``ties`` are the session's columns by which
    rows stand that agree in it; ``asked`` is a function with the columns that it gives of the rows
    and of the groups.
    """
    session = relation.session
    function, gives, of_groups = asked
    made = {field.name: SparkColumn(session.name(), field.type) for field in gives}
    group = {field.name: SparkColumn(session.name(), field.type) for field in of_groups}
    first = session.name()
    leading = [column.ident for column in columns.values()]
    names = [*leading, *(name for name in relation.own if name not in leading)]
    order = [columns[name].ident for name in by]
    frame = relation.frame.select(*names).repartition(functions.col(order[0]))
    frame = frame.sortWithinPartitions(*ascending([*order, *ties]))
    asking = AskedOfGroups(
        VERSION,
        function,
        within=list(columns).index(by[0]),
        reads=[(name, column.type) for name, column in columns.items()],
        gives=[(c.ident, c.type) for c in made.values()],
        of_groups=[(c.ident, c.type) for c in group.values()],
        first=first,
        names=names,
    )
    kinds = {name: kind for name, kind in frame.dtypes}  # noqa: C416 - of pairs
    fields = [f"{name} {kinds[name]}" for name in names]
    fields += [f"{c.ident} {c.sql_type}" for c in (*made.values(), *group.values())]
    mapped = frame.mapInArrow(asking.__call__, ", ".join([*fields, f"{first} boolean"]))
    whole = replace(relation, frame=mapped).keeping()
    few = replace(whole.where(first), places=(order[0],), number=None)
    return _Mapped(whole, made, few, group)


window = on_demand("pyspark.sql.window")


@dataclass(frozen=True, eq=False)
class _Starts:
    """Where each group begins, when all rows stand by group."""

    group: str
    """The column that tells the groups of rows."""
    table: pa.Table
    """A row for each group: which one, and the place of its first row, from 0."""


@dataclass(frozen=True)
class _DrawnColumns:
    """The columns that say where a drawn value goes."""

    group: str
    place: str


def starts_of_groups(relation: SparkRelation, group: str) -> _Starts:
    """Count the rows of groups, and add them up."""
    session = relation.session
    counted = pl.DataFrame(session.arrow(relation.frame.groupBy(group).count())).sort(group)
    rows = counted["count"].to_numpy()
    first = array_of(np.cumsum(rows) - rows)
    groups = counted[group].to_arrow()
    return _Starts(group, pa.Table.from_arrays([groups, first], [session.name(), session.name()]))


def drawn_values(
    relation: SparkRelation, starts: _Starts, column: str, key: Key
) -> tuple[Frame, _DrawnColumns]:
    """The values of a column, each with its group and the place that it goes to."""
    session = relation.session
    group, own, number, word, place = (session.name() for _ in range(5))
    column_of, within = functions.col, window.Window.partitionBy
    known, first = starts.table.column_names
    small = functions.broadcast(session.frame(starts.table))
    # Groups are renamed: a data frame that is joined with itself has each column twice.
    frame = relation.frame.select(
        column_of(starts.group).alias(group), column_of(column).alias(own)
    )
    frame = frame.join(small, column_of(group) == column_of(known))
    rank = functions.row_number().over(within(group).orderBy(*ascending([own])))
    frame = frame.select(group, own, (column_of(first) + rank - 1).alias(number))
    drawn = _words(key, number, word)
    frame = frame.select(group, own, number, drawn.getField(word).alias(word))
    to = functions.row_number().over(within(group).orderBy(word, number)).cast("bigint") - 1
    values = frame.select(column_of(group), to.alias(place), column_of(own).alias(column))
    return values, _DrawnColumns(group, place)


def _words(key: Key, number: str, word: str) -> Any:
    """A column with a field: the words of the places that a column has."""

    def words(batch: pa.RecordBatch) -> list[pa.Array]:
        return [array_of(key.stream_at(numbers_of(batch[0])))]

    asked = AskedOfRows(VERSION, words, [(number, pa.int64())], [(word, pa.uint64())])
    return asked_of_columns(asked, [number])
