"""The engine beyond memory: rows as a SELECT, which DuckDB runs when something is asked of it.

This module says where its tables come from.

Parquet files, and folders of them, are read by DuckDB itself, where it has the types of their
columns as Polars names them.  Whatever else Voile reads (CSV with its dialects, Arrow IPC,
workbooks, databases) comes through the door that is the same for all engines (``reading``), so that
a file has the same types and the same faults whichever engine holds it: Parquet of other types and
Arrow IPC in batches, the rest as a whole.

Memory that DuckDB takes is limited: by ``VOILE_DUCKDB_MEMORY``, such as "4GiB", else to a quarter
of what the process may have, at most 4 GiB.  The rest goes to a folder for its owner alone.
Engines with one place for that folder share a database, so that their rows go together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import logical_type
from voile.table.engines import is_of_duckdb
from voile.table.engines.duckdb.relation import (
    DuckDBRelation,
    Stored,
    identifier,
    quoted,
    stored_array,
    stored_type,
)
from voile.table.engines.duckdb.rows import DuckDBRows
from voile.table.engines.duckdb.session import DuckDBHandle
from voile.table.engines.shared import OfEagerFrames, WatchedFiles
from voile.table.places import Place
from voile.table.protocol import EngineSource
from voile.table.reading import files_of_table, is_whole, list_columns, read_batches, read_frame
from voile_base.errors import InputError
from voile_base.operating_system import available_memory

__all__ = ["DuckDBEngine", "DuckDBSource"]

_UNITS = {"": 1, "k": 10, "m": 20, "g": 30, "t": 40}
_PATTERN = set("*?[]{}")
"""By which DuckDB takes a path for a pattern of paths."""
_SHARE, _MOST, _LEAST = 4, 4 << 30, 64 << 20

_sessions: WeakValueDictionary[tuple[Path | None, int], DuckDBHandle] = WeakValueDictionary()


DuckDBSource = EngineSource[DuckDBRows]


class DuckDBEngine(OfEagerFrames[DuckDBRows]):
    """Tables in a database of the process; see ``Engine``."""

    name = "duckdb"

    def __init__(self, folder: Path | None = None, note: str | None = None) -> None:
        """``folder`` is where a private folder for temporary data is made: by default, TMPDIR.

        ``note`` says why this engine was chosen, to whoever opens a table.
        """
        self._folder = folder
        self._notes = (note,) if note else ()

    @cached_property
    def _session(self) -> DuckDBHandle:
        key = self._folder, os.getpid()  # a database does not survive a fork
        session = _sessions.get(key)
        if session is None:
            session = _sessions[key] = DuckDBHandle(self._folder, memory_limit())
        return session

    def scan(
        self,
        path: Place,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> DuckDBSource:
        """A table in a file, a folder or a database; raises ``TableError`` where there is none."""
        if is_whole(path):
            read = read_frame(path, missing=missing, columns=columns, texts=texts)
            rows = self.of_frame(read.frame)
            return DuckDBSource(rows, read.names or (), read.written, (*read.notes, *self._notes))
        assert isinstance(path, Path)
        listed = list_columns(path)
        types = {name: dtype for name, dtype in listed.items() if dtype is not None}
        if len(types) < len(listed):
            read = read_frame(path, missing=missing, columns=columns, texts=texts)
            rows = self.of_frame(read.frame)
            return DuckDBSource(rows, tuple(listed), "csv", (*read.notes, *self._notes))
        wanted = {n: t for n, t in types.items() if columns is None or n in set(columns)}
        rows = self._of_parquet(path, wanted) or self._in_batches(path, wanted)
        return DuckDBSource(rows, tuple(types), notes=self._notes)

    def of_native(self, frame: Any) -> DuckDBSource:
        """Any eager data frame that narwhals knows, or a relation of DuckDB.

        Raises ``TableError``.
        """
        if is_of_duckdb(frame):
            rows = self._of_arrow_batches(frame.to_arrow_reader())
            return DuckDBSource(rows, rows.schema.names, convert=lambda rows: rows.to_native())
        return super().of_native(frame)

    def of_frame(
        self, frame: pl.DataFrame, numbers: NDArray[np.generic] | None = None
    ) -> DuckDBRows:
        """The rows of a frame."""
        return DuckDBRows.of_frame(frame, self._session, numbers)

    def _of_parquet(self, path: Path, types: Mapping[str, pl.DataType]) -> DuckDBRows | None:
        """Parquet files as DuckDB reads them; None where it would take a column for another."""
        files = files_of_table(path.absolute())
        if files is None or not types or _PATTERN & set("".join(map(str, files))):
            return None
        session, fault = self._session, WatchedFiles(path, files)
        listed = "[" + ", ".join(quoted(str(file.absolute())) for file in files) + "]"
        scan = f"read_parquet({listed}, hive_partitioning = false, binary_as_string = false)"
        described = session.rows(f"DESCRIBE SELECT * FROM {scan}")
        found = {row[0]: row[1] for row in described}
        columns, said = {}, []
        for name, dtype in types.items():
            column = Stored(session.name(), logical_type(pl.Series(dtype=dtype).to_arrow().type))
            expression = _as_stored(identifier(name), found.get(name), column.type)
            if expression is None:
                return None
            columns[name] = column
            said.append(f"{expression} AS {column.ident}")
        place = session.name()
        said.append(f"{_number(session, listed, files)} AS {place}")
        relation = DuckDBRelation(session, f"(SELECT {', '.join(said)} FROM {scan})", place, place)

        return DuckDBRows(relation, columns, fault=fault)

    def _in_batches(self, path: Path, types: Mapping[str, pl.DataType]) -> DuckDBRows:
        """Other files that tell the types of their columns, through the door of all engines."""
        schema = pa.schema([(n, logical_type(_arrow_type(t))) for n, t in types.items()])

        def batches() -> Iterator[pa.RecordBatch]:
            for frame in read_batches(path, list(types)) if types else ():
                yield from frame.to_arrow().to_batches()

        return self._filled(schema, batches())

    def _of_arrow_batches(self, reader: pa.RecordBatchReader) -> DuckDBRows:
        empty = pl.DataFrame(reader.schema.empty_table())
        schema = pa.schema([(n, logical_type(_arrow_type(t))) for n, t in empty.schema.items()])
        return self._filled(schema, (batch for batch in reader))

    def _filled(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> DuckDBRows:
        session = self._session
        columns = {field.name: Stored(session.name(), field.type) for field in schema}
        stored = pa.schema(
            [pa.field(c.ident, stored_type(c.type)) for c in columns.values()]
            or [pa.field(session.name(), pa.int8())]
        )

        def made() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                arrays = [
                    stored_array(array, column.type)
                    for array, column in zip(batch, columns.values(), strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=stored)

        table = session.filled(stored, made(), [c.without_minus_zero for c in columns.values()])
        return DuckDBRows(DuckDBRelation.of_table(table, session), columns, fault=lambda **_: None)


def memory_limit() -> int:
    """What DuckDB may take, in bytes; raises ``InputError`` where the environment says no size."""
    asked = os.environ.get("VOILE_DUCKDB_MEMORY", "").strip()
    if not asked:
        return max(min(available_memory() // _SHARE, _MOST), _LEAST)
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?", asked.lower())
    size = int(float(found[1]) * 2 ** (_UNITS[found[2]] if found[2] else 0)) if found else 0
    if size < _LEAST:
        msg = f"VOILE_DUCKDB_MEMORY is a size such as 4GiB or 512MiB, at least 64MiB; not {asked!r}"
        raise InputError(msg)
    return size


def _arrow_type(dtype: pl.DataType) -> pa.DataType:
    return pl.Series(dtype=dtype).to_arrow().type


def _number(session: DuckDBHandle, listed: str, files: Sequence[Path]) -> str:
    """An expression for the number of a row in all files together, from 1."""
    if len(files) == 1:
        return "file_row_number + 1"
    found = session.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({listed})")
    rows = {name: int(number) for name, number in found}
    before = np.cumsum([0, *(rows[str(file.absolute())] for file in files)])[:-1]
    first = f"list_extract([{', '.join(map(str, before))}], CAST(file_index AS BIGINT) + 1)"
    return f"{first} + file_row_number + 1"


def _as_stored(name: str, found: str | None, dtype: pa.DataType) -> str | None:
    """A column of DuckDB's type as a type of the kernel is stored; None where they do not fit."""
    said = {
        "DATE": f"CAST({name} - DATE '1970-01-01' AS INTEGER)",
        "TIME": f"epoch_ns({name})",
        "MOMENT": f"epoch_{getattr(dtype, 'unit', '')}({name})",
        "FLOAT": f"CASE WHEN {name} = 0 THEN 0 ELSE {name} END",
        "NULL": "CAST(NULL AS TINYINT)",
        "SAME": name,
    }
    kind, fitting = _fitting(dtype)
    return said[kind] if found is not None and (not fitting or found in fitting) else None


def _fitting(dtype: pa.DataType) -> tuple[str, tuple[str, ...]]:
    """How a type is stored, and DuckDB's types that hold the same values; none: any."""
    if pa.types.is_null(dtype):
        return "NULL", ()
    if pa.types.is_date32(dtype):
        return "DATE", ("DATE",)
    if pa.types.is_time64(dtype):
        return "TIME", ("TIME", "TIME_NS")
    if pa.types.is_timestamp(dtype):
        coarse = ("TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE")
        return "MOMENT", ("TIMESTAMP_NS",) if dtype.unit == "ns" else coarse
    stored = "BIGINT" if pa.types.is_duration(dtype) else Stored("", dtype).sql_type
    known = stored != "VARCHAR" or pa.types.is_large_string(dtype)
    fitting = (stored, stored.replace(", ", ",")) if known else ("nothing",)
    return ("FLOAT" if pa.types.is_floating(dtype) else "SAME"), fitting
