"""Columns permuted within groups by Spark and keyed words; see ``Rows.permuted``.

A value's place among all is where its group starts, which the driver adds up from the counts of
groups, and its rank in the group.  Its word is a function of the key and of that place alone, and
where it goes is the rank of the word.  So a task that is tried again, or computes a part of the
rows that another had, gives the same; equal values have different words and are one value.

Cost for n rows: a shuffle by group and two sorts for each column.  A group is the work of one task,
which spills what does not fit into its memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import array_of, numbers_of
from voile.table.spark_functions import AskedOfRows
from voile.table.spark_relation import SparkRelation, ascending, asked_of_columns
from voile.table.spark_session import Frame
from voile_base.ondemand import on_demand
from voile_base.randomness import Key
from voile_base.version import VERSION

__all__ = ["DrawnColumns", "Starts", "drawn_values", "starts_of_groups"]

functions = on_demand("pyspark.sql.functions")
window = on_demand("pyspark.sql.window")


@dataclass(frozen=True, eq=False)
class Starts:
    """Where each group begins, when all rows stand by group."""

    group: str
    """The column that tells the groups of rows."""
    table: pa.Table
    """A row for each group: which one, and the place of its first row, from 0."""


@dataclass(frozen=True)
class DrawnColumns:
    """The columns that say where a drawn value goes."""

    group: str
    place: str


def starts_of_groups(relation: SparkRelation, group: str) -> Starts:
    """Count the rows of groups, and add them up."""
    session = relation.session
    counted = pl.DataFrame(session.arrow(relation.frame.groupBy(group).count())).sort(group)
    rows = counted["count"].to_numpy()
    first = array_of(np.cumsum(rows) - rows)
    groups = counted[group].to_arrow()
    return Starts(group, pa.Table.from_arrays([groups, first], [session.name(), session.name()]))


def drawn_values(
    relation: SparkRelation, starts: Starts, column: str, key: Key
) -> tuple[Frame, DrawnColumns]:
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
    return values, DrawnColumns(group, place)


def _words(key: Key, number: str, word: str) -> Any:
    """A column with a field: the words of the places that a column has."""

    def words(batch: pa.RecordBatch) -> list[pa.Array]:
        return [array_of(key.stream_at(numbers_of(batch[0])))]

    asked = AskedOfRows(VERSION, words, [(number, pa.int64())], [(word, pa.uint64())])
    return asked_of_columns(asked, [number])
