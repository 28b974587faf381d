"""Opening tables: the one place that chooses an engine for a file or a data frame.

Whatever the engine and the method, no table comes in whose rows contradict that each of them is
another person, unless its plan says so; see ``schema.persons``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from voile.errors import TableError
from voile.schema.persons import (
    columns_to_keep,
    identifying_columns,
    refuse_repeating,
    refuse_singling_out,
)
from voile.schema.plan import Plan
from voile.table.best_rows import BATCH_ROWS
from voile.table.binding import BoundColumns, ColumnSource, bind
from voile.table.carrying import WithCarriedRows
from voile.table.frames import from_native
from voile.table.occurrences import count_in_source, count_repeats, occurrences_of
from voile.table.polars_published import PolarsPublished
from voile.table.polars_table import PolarsTable
from voile.table.protocol import Format, PrivateTable, PublishedTable
from voile.table.reading import list_columns, read_batches, read_column, read_frame
from voile.table.scanned_table import ScannedTable, can_be_scanned

__all__ = ["open_frame", "open_published", "open_table", "scan_frame", "scan_table"]


def open_table(
    path: str | Path, plan: Plan, *, record_key: str | None = None, carried: bytes | None = None
) -> PrivateTable:
    """Read a private table from a file, bound to a plan.

    CSV, Parquet, Arrow IPC, or a folder of Parquet files; only columns that the plan names are
    read.  ``carried`` are rows that an earlier release left out (``PrivateTable.left_out``); they
    follow those of the file.  Raises ``TableError`` where the file or the carried rows cannot be
    read or the rows break the plan, ``PlanError`` where the plan names columns that the table does
    not have, or takes a person for a row.
    """
    source = _source_of(Path(path), plan, record_key)
    bound = _bound(source, plan, record_key, carried)
    return PolarsTable(bound, plan, source_format=source.format, notes=source.notes)


def scan_table(path: str | Path, plan: Plan) -> PrivateTable:
    """A private table in a file, for methods that ask for its best rows and no others.

    Where possible only those are held in memory, and what is wrong with rows is said when they are
    asked for.  CSV is read as a whole.  Otherwise as ``open_table``.
    """
    source = _source_of(Path(path), plan)
    if can_be_scanned(source, plan):
        _require_persons_in_scan(source, plan)
        return ScannedTable(source, plan, source_format=source.format, notes=source.notes)
    bound = _bound(source, plan)
    return PolarsTable(bound, plan, source_format=source.format, notes=source.notes)


def open_frame(
    frame: Any, plan: Plan, *, record_key: str | None = None, carried: bytes | None = None
) -> PrivateTable:
    """A private table from any eager data frame that narwhals knows, bound to a plan.

    ``carried`` are rows that an earlier release left out; they follow those of the frame.
    """
    rows, to_native = from_native(frame)
    bound = _bound(_FrameColumns(rows), plan, record_key, carried)
    return PolarsTable(bound, plan, to_native=to_native)


def scan_frame(frame: Any, plan: Plan) -> PrivateTable:
    """A private table from a data frame, for methods that ask for its best rows and no others."""
    rows, to_native = from_native(frame)
    columns = _FrameColumns(rows)
    if can_be_scanned(columns, plan):
        _require_persons_in_scan(columns, plan)
        return ScannedTable(columns, plan, to_native=to_native)
    return PolarsTable(_bound(columns, plan), plan, to_native=to_native)


def _bound(
    source: _Columns, plan: Plan, record_key: str | None = None, carried: bytes | None = None
) -> BoundColumns:
    _require_rows_of_persons(source, plan, record_key)
    rows: ColumnSource = source if carried is None else WithCarriedRows(source, carried, plan)
    bound = bind(rows, plan, [record_key] if record_key else [])
    kept = {name: occurrences_of(bound.columns[name]) for name in columns_to_keep(plan.roles)}
    refuse_singling_out(plan, kept)
    return bound


def _require_persons_in_scan(source: _Columns, plan: Plan) -> None:
    """What ``_bound`` requires, of a table that is not bound as a whole."""
    _require_rows_of_persons(source, plan)
    kept = {name: count_in_source(source, plan, name) for name in columns_to_keep(plan.roles)}
    refuse_singling_out(plan, kept)


def _require_rows_of_persons(source: _Columns, plan: Plan, record_key: str | None = None) -> None:
    """Raise ``PlanError`` where an identifier repeats; it is looked at and let go."""
    plan.bind(source.names)
    for name in identifying_columns(plan.roles, record_key):
        refuse_repeating(plan, name, count_repeats(source.identifier(name), plan.missing))


def _source_of(path: Path, plan: Plan, record_key: str | None = None) -> _Columns:
    listed = list_columns(path)
    types = {name: dtype for name, dtype in listed.items() if dtype is not None}
    if len(types) == len(listed):
        return _FileColumns(path, types)
    identifying = identifying_columns(plan.roles, record_key)
    read = read_frame(
        path,
        missing=plan.missing,
        columns=[*plan.used, *([record_key] if record_key else []), *identifying],
        texts=[*plan.texts, *identifying],
    )
    return _FrameColumns(read.frame, tuple(listed), "csv", read.notes)


class _FrameColumns:
    """The columns of a frame.

    They are let go as they are taken, unless somebody has asked for batches of their rows.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        names: Sequence[str] | None = None,
        source_format: Format = "parquet",
        notes: tuple[str, ...] = (),
    ) -> None:
        self.names = frame.columns if names is None else names
        self.format: Format = source_format
        self.notes = notes
        self.types: Mapping[str, pl.DataType] = frame.schema
        self._columns = {column.name: column for column in frame}
        self._keeps = False

    def take(self, name: str) -> pl.Series:
        return self._columns[name] if self._keeps else self._columns.pop(name)

    def identifier(self, name: str) -> pl.Series:
        return self._columns.pop(name)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        self._keeps = True
        frame = pl.DataFrame([self._columns[name] for name in columns])
        return frame.iter_slices(BATCH_ROWS)


class _FileColumns:
    """The columns of a Parquet or Arrow IPC file, which are read when they are asked for."""

    format: Format = "parquet"
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path, types: Mapping[str, pl.DataType]) -> None:
        self.names = tuple(types)
        self.types = types
        self._path = path

    def take(self, name: str) -> pl.Series | pa.ChunkedArray:
        return read_column(self._path, name)

    def identifier(self, name: str) -> pl.Series:
        return read_frame(self._path, columns=[name]).frame[name]

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return read_batches(self._path, columns)


_Columns = _FrameColumns | _FileColumns


def open_published(folder: Path, texts: Collection[str] = ()) -> PublishedTable:
    """The rows of a release folder; raises ``TableError`` where they cannot be read.

    ``texts`` names the columns that hold texts, also where a CSV file makes them look like
    numbers.
    """
    for name in ("data.parquet", "data.csv"):
        if (folder / name).is_file():
            return PolarsPublished(read_frame(folder / name, texts=texts).frame)
    msg = f"{folder}: the release has neither data.parquet nor data.csv"
    raise TableError(msg)
