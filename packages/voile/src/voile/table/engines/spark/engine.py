"""The engine on a cluster: where its tables come from.

Parquet files, and folders of them, are read by the workers, which have to see them under the same
path; data frames of Spark are taken as they are, and so is whatever Spark reads into one (Delta,
Iceberg, object stores).  All else comes through the door that is the same for all engines
(``reading``), so that a file has the same types and the same faults whichever engine holds it: it
is read by this process, as a whole, and sent to the workers.

Parquet files and data frames of Spark as columns that Voile stores; see ``spark_columns``.

A file is read by Spark itself where it has the types of all columns as Polars names them; ``None``
says that it has not (nanoseconds, times of a day), that it would take the path for a pattern, or
that the workers do not see it.  The number of a row is where it
stands in its file, and the rows of the files before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from voile.table.arrays import logical_type
from voile.table.engines import is_of_spark
from voile.table.engines.shared import OfEagerFrames, WatchedFiles
from voile.table.engines.spark.functions import AskedOfRows, SparkColumn
from voile.table.engines.spark.rows import SparkRows
from voile.table.engines.spark.session import (
    Frame,
    SparkHandle,
    SparkRelation,
    asked_of_columns,
    told,
)
from voile.table.places import Place
from voile.table.protocol import EngineSource
from voile.table.reading import files_of_table, is_whole, list_columns, read_frame
from voile_base.errors import TableError
from voile_base.ondemand import on_demand
from voile_base.version import VERSION

__all__ = ["SparkEngine", "SparkSource"]


functions = on_demand("pyspark.sql.functions")
spark_errors = on_demand("pyspark.errors")

_PATTERN = set("*?[]{}\\,%")
"""By which Spark takes a path for a pattern of paths, or for an address."""
_SIMPLE = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.large_string(),
    "binary": pa.large_binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
"""Types of the kernel by Spark's names."""

Columns = dict[str, SparkColumn]


def _of_parquet(
    session: SparkHandle, files: Sequence[Path], types: Mapping[str, pl.DataType]
) -> tuple[SparkRelation, Columns] | None:
    """The rows of files that have columns of some types, or None."""
    paths = [str(file.absolute()) for file in files]
    if (
        not types
        or _PATTERN & set("".join(paths))
        or len({name.lower() for name in types}) < len(types)
    ):
        return None
    with told():
        reader = session.spark.read.option("datetimeRebaseMode", "CORRECTED")
        reader = reader.option("int96RebaseMode", "CORRECTED").option("mergeSchema", "false")
        try:
            frame = reader.parquet(*(f"file:{path}" for path in paths))
            found = dict(frame.dtypes)
        except spark_errors.AnalysisException:
            return None
    columns: Columns = {}
    shown = []
    for name, dtype in types.items():
        column = SparkColumn(session.name(), logical_type(pl.Series(dtype=dtype).to_arrow().type))
        said = _stored(name, found.get(name), column)
        if said is None:
            return None
        columns[name] = column
        shown.append(said.alias(column.ident))
    number = session.name()
    place = functions.col("_metadata.row_index") + 1
    if len(files) == 1:
        return SparkRelation(
            session, frame.select(*shown, place.alias(number)), (number,), number
        ), columns
    file = session.name()
    frame = frame.select(
        *shown, functions.col("_metadata.file_name").alias(file), place.alias(number)
    )
    return _numbered_through(session, frame, files, file, number), columns


def _of_frame(session: SparkHandle, frame: Frame) -> tuple[SparkRelation, Columns]:
    """The rows of a data frame of Spark; raises ``TableError`` for types that Voile has not."""
    with told():
        kinds = list(frame.dtypes)
    columns: Columns = {}
    shown = []
    for name, kind in kinds:
        dtype = _SIMPLE.get(kind)
        if kind.startswith("decimal("):
            precision, scale = map(int, kind[8:-1].split(","))
            dtype = pa.decimal128(precision, scale)
        if dtype is None or name in columns:
            what = "stands twice" if name in columns else f"is of Spark's type {kind}"
            msg = (
                f"column {name!r} {what}, which Voile does not take; drop it, or make "
                "another of it before the data frame is published"
            )
            raise TableError(msg)
        columns[name] = SparkColumn(session.name(), dtype)
        said = _stored(name, kind, columns[name])
        assert said is not None
        shown.append(said.alias(columns[name].ident))
    return SparkRelation(session, frame.select(*shown)), columns


def _numbered_through(
    session: SparkHandle, frame: Frame, files: Sequence[Path], file: str, number: str
) -> SparkRelation:
    """Rows with their numbers through several files, of which they have the names."""
    rows = [pq.read_metadata(path).num_rows for path in files]
    before = np.cumsum([0, *rows])[:-1].tolist()
    key, first, own = session.name(), session.name(), session.name()
    names = pa.array([path.name for path in files])
    small = session.frame(pa.Table.from_arrays([names, pa.array(before)], [key, first]))
    joined = frame.join(functions.broadcast(small), functions.col(file) == functions.col(key))
    numbered = (functions.col(number) + functions.col(first)).alias(own)
    kept = [name for name in frame.columns if name not in (file, number)]
    return SparkRelation(session, joined.select(*kept, numbered), (own,), own)


def _stored(  # noqa: PLR0911 - one for each family of types
    name: str, kind: str | None, column: SparkColumn
) -> Any:
    """A column of Spark's type as Voile stores one of its own types; None where they do not fit."""
    dtype = column.type
    named = functions.col("`" + name.replace("`", "``") + "`")
    if kind is None:
        return None
    if kind == "timestamp_ntz" and dtype in (pa.timestamp("us"), pa.timestamp("ms")):
        return _moments(named, column)
    if kind == "timestamp" and pa.types.is_timestamp(dtype) and dtype.unit in ("us", "ms"):
        micros = functions.unix_micros(named)
        return micros if dtype.unit == "us" else functions.floor(micros / 1000).cast("bigint")
    if pa.types.is_date32(dtype):
        return functions.unix_date(named) if kind == "date" else None
    if pa.types.is_null(dtype):
        return functions.lit(None).cast("tinyint")
    if pa.types.is_uint64(dtype):
        turned = named - functions.expr(f"CAST({2**63} AS DECIMAL(20, 0))")
        return turned.cast("bigint") if kind == "decimal(20,0)" else None
    if pa.types.is_timestamp(dtype) or pa.types.is_time(dtype) or kind != column.sql_type:
        return None
    if pa.types.is_floating(dtype):  # minus zero becomes zero
        return functions.when(named == 0, functions.lit(0).cast(kind)).otherwise(named)
    return named


def _moments(named: Any, column: SparkColumn) -> Any:
    """Moments without a zone as whole numbers, whatever the zone of the session is."""

    def stored(batch: pa.RecordBatch) -> list[pa.Array]:
        return [batch[0].cast(column.type)]

    asked = AskedOfRows(VERSION, stored, [("", pa.timestamp("us"))], [(column.ident, column.type)])
    return asked_of_columns(asked, [named]).getField(column.ident)


_READ_HERE = (
    "Spark does not see these files, or has no type for one of their columns, so they were read by "
    "this process, as a whole"
)


SparkSource = EngineSource[SparkRows]


class SparkEngine(OfEagerFrames[SparkRows]):
    """Tables in Spark; see ``Engine``."""

    name = "spark"

    def __init__(self, master: str | None = None, folder: Path | None = None) -> None:
        """``master`` is an address of Spark; None: the session of this process, or this machine.

        ``folder`` is where a session that is made spills to: by default, TMPDIR.
        """
        self._master, self._folder = master, folder

    def __repr__(self) -> str:
        return "SparkEngine()"

    @cached_property
    def _session(self) -> SparkHandle:
        return SparkHandle.for_master(self._master, self._folder)

    def scan(
        self,
        path: Place,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> SparkSource:
        """A table in a file, a folder or a database; raises ``TableError`` where there is none."""
        notes: list[str] = []
        if not is_whole(path):
            assert isinstance(path, Path)
            listed = list_columns(path)
            types = {name: dtype for name, dtype in listed.items() if dtype is not None}
            files = files_of_table(path.absolute())
            wanted = {n: t for n, t in types.items() if columns is None or n in set(columns)}
            if files is not None and len(types) == len(listed):
                fault = WatchedFiles(path, files)
                found = _of_parquet(self._session, files, wanted)
                if found is not None:
                    return SparkSource(SparkRows(*found, fault=fault), tuple(types))
                notes.append(_READ_HERE)
        read = read_frame(path, missing=missing, columns=columns, texts=texts)
        rows = self.of_frame(read.frame)
        names = read.names if is_whole(path) else tuple(listed)
        return SparkSource(rows, names or (), read.written, (*read.notes, *notes))

    def of_native(self, frame: Any) -> SparkSource:
        """A data frame of Spark, or any eager one that narwhals knows; raises ``TableError``."""
        if is_of_spark(frame):
            rows = SparkRows(*_of_frame(SparkHandle.of(frame.sparkSession), frame))
            return SparkSource(rows, rows.schema.names, convert=lambda rows: rows.to_native())
        return super().of_native(frame)

    def of_frame(self, frame: pl.DataFrame, numbers: NDArray[Any] | None = None) -> SparkRows:
        """The rows of a frame."""
        return SparkRows.of_frame(frame, self._session, numbers)
