"""What a data set of Spark is: a data frame, and the columns that say where a row stands.

Nothing of it has run.  Rows of a data frame have no order of their own, and no number that stays
when a task is tried again; so where they stand is a column from the beginning: the number of a row
in its source, or the group and rank that a permutation gave it.  Nothing reads the number of a
partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa

from voile.table.spark_columns import SparkColumn
from voile.table.spark_functions import AskedOfRows
from voile.table.spark_session import Frame, PersistedFrame, SparkHandle
from voile_base.ondemand import on_demand

__all__ = [
    "Size",
    "SparkRelation",
    "alike",
    "ascending",
    "asked_of_columns",
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

    def with_columns(self, made: Mapping[str, Any]) -> SparkRelation:
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
