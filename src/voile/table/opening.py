"""Opening tables: the one place that chooses an engine for a file or a data frame."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from voile.errors import TableError
from voile.schema.plan import Plan
from voile.table.binding import ColumnSource
from voile.table.carrying import WithCarriedRows
from voile.table.frames import from_native
from voile.table.polars_published import PolarsPublished
from voile.table.polars_table import PolarsTable
from voile.table.protocol import Format, PrivateTable, PublishedTable
from voile.table.reading import list_columns, read_column, read_frame

__all__ = ["open_frame", "open_published", "open_table"]


def open_table(
    path: str | Path, plan: Plan, *, record_key: str | None = None, carried: bytes | None = None
) -> PrivateTable:
    """Read a private table from a file, bound to a plan.

    CSV, Parquet, Arrow IPC, or a folder of Parquet files; only columns that the plan names are
    read.  ``carried`` are rows that an earlier release left out (``PrivateTable.left_out``); they
    follow those of the file.  Raises ``TableError`` where the file or the carried rows cannot be
    read or the rows break the plan, ``PlanError`` where the plan names columns that the table does
    not have.
    """
    source = _FileColumns(Path(path), plan, record_key)
    source_format: Format = "csv" if source.is_csv else "parquet"
    return PolarsTable(
        _with_carried(source, carried, plan),
        plan,
        record_key=record_key,
        source_format=source_format,
        notes=source.notes,
    )


def open_frame(
    frame: Any, plan: Plan, *, record_key: str | None = None, carried: bytes | None = None
) -> PrivateTable:
    """A private table from any eager data frame that narwhals knows, bound to a plan.

    ``carried`` are rows that an earlier release left out; they follow those of the frame.
    """
    rows, to_native = from_native(frame)
    source = _with_carried(_FrameColumns(rows), carried, plan)
    return PolarsTable(source, plan, record_key=record_key, to_native=to_native)


def _with_carried(source: ColumnSource, carried: bytes | None, plan: Plan) -> ColumnSource:
    return source if carried is None else WithCarriedRows(source, carried, plan)


class _FrameColumns:
    """The columns of a frame; each is let go as it is taken."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._columns = {column.name: column for column in frame}
        self.names = tuple(self._columns)

    def take(self, name: str) -> pl.Series:
        return self._columns.pop(name)


class _FileColumns:
    """The columns of a file; a format that stores columns apart is read column by column."""

    def __init__(self, path: Path, plan: Plan, record_key: str | None) -> None:
        types = list_columns(path)
        self.names = tuple(types)
        self.is_csv = None in types.values()
        self._path = path
        self.notes: tuple[str, ...] = ()
        self._frame: _FrameColumns | None = None
        if self.is_csv:
            read = read_frame(
                path,
                missing=plan.missing,
                columns=[*plan.roles.published, *([record_key] if record_key else [])],
                texts=[name for name, column in plan.columns.items() if column.type == "text"],
            )
            self.notes = read.notes
            self._frame = _FrameColumns(read.frame)

    def take(self, name: str) -> pl.Series | pa.ChunkedArray:
        return self._frame.take(name) if self._frame else read_column(self._path, name)


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
