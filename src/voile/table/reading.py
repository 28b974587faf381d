"""The door in: files of any supported format become one data frame.

CSV (plain, or compressed with gzip, Zstandard or bzip2), Parquet, Arrow IPC (file or stream, so
Feather too), folders of Parquet files, and GPX (module ``gpx``).  The first bytes of a file decide
its format, not its name; the name only has to make sense for files that begin like none of these,
and tells GPX from CSV.  Workbooks, JSON lines, and files of statistics packages go by their ending,
databases by their address; they are read as a whole (room ``formats``).

No message holds a value of the table.  Polars and Arrow quote values in theirs, so their
exceptions are neither shown nor chained.

Cost: that of Polars' or Arrow's reader.  Parquet and IPC columns that are not asked for are not
read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import polars as pl
import pyarrow as pa

from voile.errors import TableError, refuse_out_of_memory
from voile.ondemand import on_demand
from voile.table.delimited import csv_names, read_csv
from voile.table.formats.registry import Format, Whole, format_named, format_of
from voile.table.gpx import GPX_COLUMNS, read_gpx
from voile.table.places import Address, Place, file_and_part
from voile.table.value_types import kind_of_type, with_missing

__all__ = [
    "SourceFormat",
    "SourceFrame",
    "is_whole",
    "list_columns",
    "read_batches",
    "read_column",
    "read_frame",
    "scan_rows",
]

pq: Any = on_demand("pyarrow.parquet")

SourceFormat = Format | Literal["arrow", "gpx", "sas", "database"]
Result = TypeVar("Result")

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1\0\0", "ipc file"),
    (b"\xff\xff\xff\xff", "ipc stream"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    *((b"BZh%d1AY&SY" % level, "bz2") for level in range(1, 10)),
)
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"PARE", "an encrypted Parquet file"),
    (b"FEA1", "a Feather file of version 1"),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x04\x22\x4d\x18", "an lz4 archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_BATCH_ROWS = 1 << 17
_COLUMN_LIKE = {b"PAR1", b"PARE", b"FEA1"}  # CSV files may begin with columns of these names
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_CSV_SUFFIXES = {"", ".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data"}
_PARQUET_SUFFIXES = {".parquet", ".parq", ".pq"}
_BINARY_SUFFIXES = {
    **dict.fromkeys(_PARQUET_SUFFIXES, "Parquet"),
    **dict.fromkeys((".arrow", ".arrows", ".ipc", ".feather"), "Arrow IPC"),
}
_SUPPORTED = (
    "CSV, Parquet, Arrow IPC, GPX, JSON lines, a workbook, a file of SPSS, Stata or SAS, or a "
    "folder of Parquet files"
)
_READER_ERRORS = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,  # what Polars raises on some corrupt files
    pa.ArrowException,
    OSError,
    ValueError,
)


@dataclass(frozen=True, eq=False)
class SourceFrame:
    """A table as it stands in its file: private rows, in the file's order.

    ``name`` says where it came from, for messages.  ``notes`` tells what had to be assumed to
    read it (an encoding, decimal commas), one sentence each, without values.
    """

    frame: pl.DataFrame
    format: SourceFormat
    name: str
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    """All columns of a table that was read as a whole."""


@dataclass(frozen=True)
class _Source:
    """What stands at a path: the files in reading order, and how each is to be read."""

    path: Path
    files: tuple[Path, ...]
    encoding: str
    """A name of ``_MAGIC``, "csv" or "gpx"."""

    @property
    def format(self) -> SourceFormat:
        if self.encoding == "parquet":
            return "parquet"
        if self.encoding == "gpx":
            return "gpx"
        return "arrow" if self.encoding.startswith("ipc") else "csv"

    @property
    def compression(self) -> str | None:
        return self.encoding if self.encoding in _COMPRESSED.values() else None


def read_frame(
    path: Place,
    *,
    missing: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    texts: Collection[str] = (),
) -> SourceFrame:
    """Read a table: a file of any format that is supported, a folder, or of a database.

    ``missing`` holds texts that mean "no value"; they become null in the text columns of every
    format, and in CSV before types are inferred.  ``columns`` limits what is read to these
    columns, in the file's order; names that the table does not have are left out, so that the
    caller can compare with ``list_columns`` and say what is wrong with them.  ``texts`` names
    columns of a CSV file that stay as they are written, whatever they look like.

    The files of a folder must have the same columns; they are read in the order of their names,
    in which numbers count as numbers (``part-2`` before ``part-10``).

    Raises TableError if there is no table with at least one row and one column, if it cannot be
    read completely, or if two columns have one name.
    """
    if is_whole(path):
        whole, source_format = _read_whole(path, columns)
        frame = whole.frame.with_columns(with_missing(series, missing) for series in whole.frame)
        return SourceFrame(frame, source_format, str(path), whole.notes, whole.names)
    assert isinstance(path, Path)
    source = _locate(path)
    notes: tuple[str, ...] = ()
    if source.format == "csv":
        with _readable(path):
            frame, notes = read_csv(
                path,
                compression=source.compression,
                columns=columns,
                missing=missing,
                texts=texts,
            )
    elif source.format == "gpx":
        with _readable(path):
            frame = read_gpx(path)
        frame = frame.select(name for name in frame.columns if columns is None or name in columns)
    else:
        schema = _common_schema(source)
        wanted = [name for name in schema if columns is None or name in set(columns)]
        parts = [_read_binary(file, source.encoding, wanted) for file in source.files]
        frame = pl.concat(parts)
        if wanted and frame.is_empty():
            raise TableError(f"{path}: the table has columns and no row; it needs at least one row")
        frame = frame.with_columns(with_missing(series, missing) for series in frame)
    return SourceFrame(frame, source.format, str(path), notes)


def is_whole(path: Place) -> bool:
    """Whether a table is read as a whole, whatever is asked of it."""
    return isinstance(path, Address) or format_of(file_and_part(path)[0]) is not None


def _read_whole(path: Place, columns: Collection[str] | None) -> tuple[Whole, SourceFormat]:
    """A table that is read as a whole, and its format."""
    if isinstance(path, Address):
        from voile.table.formats.databases import read_database  # noqa: PLC0415 - few ask for it

        return read_database(path, columns), "database"
    file, part = file_and_part(path)
    name = format_of(file)
    assert name is not None
    with _readable(file):
        whole = format_named(name).read(file, part, columns)
    return whole, cast("SourceFormat", name)


def read_column(path: Path, name: str) -> pl.Series | pa.ChunkedArray:
    """One column of a Parquet or Arrow IPC file, or of a folder of Parquet files.

    Texts in Parquet come as dictionary arrays: that is how most files store them, and it spares
    a copy of each text.  Raises TableError as ``read_frame`` does.
    """
    source = _locate(path)
    if source.encoding == "parquet" and _common_schema(source).get(name) == pl.String:

        def chunks(file: Path) -> list[pa.Array]:
            whole = pq.ParquetFile(file, read_dictionary=[name])
            return list(whole.read(columns=[name])[name].chunks)

        pieces = [_guarded(file, "Parquet", partial(chunks, file)) for file in source.files]
        if found := [chunk for piece in pieces for chunk in piece if len(chunk)]:
            return pa.chunked_array(found)
    return read_frame(path, columns=[name]).frame[name]


def read_batches(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Some columns of a Parquet or Arrow IPC file, or of a folder, a few rows at a time.

    Rows come in their order, and only the batches that are asked for stand in memory (all of an IPC
    stream).  Raises TableError as ``read_frame`` does, perhaps after some batches.
    """
    source = _locate(path)
    _common_schema(source)
    for file in source.files:
        yield from _batches(file, source.encoding, columns)


def scan_rows(path: Place, columns: Sequence[str]) -> pl.LazyFrame:
    """Some columns of all rows of a table; read when they are asked for where the format allows it.

    That is Parquet and Arrow IPC files; others are read at once.  Raises TableError as
    ``read_frame`` does; what is wrong in the midst of a file is found only when it is read.
    """
    if is_whole(path):
        return read_frame(path, columns=columns).frame.lazy()
    assert isinstance(path, Path)
    source = _locate(path)
    if source.encoding == "parquet":
        _common_schema(source)
        lazy = pl.scan_parquet(list(source.files), glob=False, hive_partitioning=False)
    elif source.encoding == "ipc file":
        _common_schema(source)
        lazy = pl.scan_ipc(path, glob=False, hive_partitioning=False)
    else:
        lazy = read_frame(path, columns=columns).frame.lazy()
    return lazy.select(column for column in lazy.collect_schema() if column in set(columns))


def list_columns(path: Place) -> Mapping[str, pl.DataType | None]:
    """The names of the columns and, where the format tells without reading rows, their types.

    CSV and GPX tell no types, nor does what is read as a whole: they are None.  Raises TableError
    as ``read_frame`` does.
    """
    if is_whole(path):
        return dict.fromkeys(_read_whole(path, ())[0].names)
    assert isinstance(path, Path)
    source = _locate(path)
    if source.format == "csv":
        with _readable(path):
            return dict.fromkeys(csv_names(path, compression=source.compression))
    if source.format == "gpx":
        return dict.fromkeys(GPX_COLUMNS)
    return _common_schema(source)


def _locate(path: Path) -> _Source:
    """Find the files at a path and tell their format from their first bytes."""
    with _readable(path):
        if path.is_dir():
            return _Source(path, _folder_files(path), "parquet")
        if path.exists() and not path.is_file():
            raise TableError(f"{path}: this is neither a file nor a folder; save the table first")
        return _Source(path, (path,), _sniff(path, _head(path)))


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(16)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turns refusals of the operating system into messages."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{path}: there is no such file or folder; check the path") from None
    except OSError as fault:
        refuse_out_of_memory(fault)
        raise _unreadable(path, fault) from None


def _sniff(path: Path, head: bytes) -> str:
    readable = head.isascii() and all(byte >= ord(" ") or byte in b"\t\r\n" for byte in head)
    passed_over = _COLUMN_LIKE if readable else set()
    for magic, encoding in _MAGIC:
        if head.startswith(magic) and magic not in passed_over:
            return encoding
    for magic, what in _FOREIGN:
        if head.startswith(magic) and magic not in passed_over:
            raise TableError(f"{path}: this is {what}; save the table as {_SUPPORTED}")
    if not head:
        raise TableError(
            f"{path}: the file is empty; it needs the names of the columns and at least one row"
        )
    suffix = path.suffix.lower()
    if suffix == ".gpx":
        return "gpx"
    if suffix in _BINARY_SUFFIXES:
        raise _corrupt(path, _BINARY_SUFFIXES[suffix])
    if suffix in _COMPRESSED:
        raise _corrupt(path, _COMPRESSED[suffix])
    if suffix not in _CSV_SUFFIXES:
        raise TableError(
            f"{path}: files named {suffix} are not known; save the table as {_SUPPORTED} (a CSV "
            "file needs a name that ends in .csv, .tsv or .txt)"
        )
    return "csv"


def _folder_files(folder: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder, in the order of their names with numbers as numbers."""
    if any(_is_parquet_name(file) and file.parent != folder for file in folder.rglob("*")):
        raise TableError(
            f"{folder}: folders inside the folder hold Parquet files; only the files directly in "
            "the folder can be read, so give the table as one folder without others in it"
        )
    files = [file for file in folder.iterdir() if _is_parquet_name(file)]
    if not files:
        raise TableError(f"{folder}: the folder holds no Parquet file (named .parquet)")
    for file in files:
        if _sniff(file, _head(file)) != "parquet":
            raise _corrupt(file, "Parquet")
    return tuple(sorted(files, key=_natural_order))


def _is_parquet_name(file: Path) -> bool:
    return file.suffix.lower() in _PARQUET_SUFFIXES and not file.name.startswith((".", "_"))


def _natural_order(file: Path) -> tuple[list[str | int], str]:
    """Sorts ``part-2`` before ``part-10``; texts and numbers alternate, so they never meet."""
    pieces = re.split(r"([0-9]+)", file.name)
    return [int(p) if i % 2 else p for i, p in enumerate(pieces)], file.name


def _common_schema(source: _Source) -> dict[str, pl.DataType]:
    """The names and types of the columns, which all files must share."""
    first, *others = source.files
    schema = _schema(first, source.encoding)
    if not schema:
        raise TableError(f"{first}: the table has no columns")
    for file in others:
        other = _schema(file, source.encoding)
        for name in [*schema, *other]:
            if schema.get(name) != other.get(name):
                raise TableError(
                    f"{file}: column {name!r} is {_described(other.get(name))} here and "
                    f"{_described(schema.get(name))} in {first.name}; all files of a folder must "
                    "have the same columns of the same types"
                )
    return schema


def _described(dtype: pl.DataType | None) -> str:
    return "not there" if dtype is None else f"{kind_of_type(dtype)} ({dtype})"


def _schema(file: Path, encoding: str) -> dict[str, pl.DataType]:
    if encoding == "parquet":
        lazy = pl.scan_parquet(file, glob=False, hive_partitioning=False)
        return _guarded(file, "Parquet", lambda: dict(lazy.collect_schema()))
    # Arrow's own reader, because Polars fails on two columns of one name in a way of its own.
    schema = _guarded(file, "Arrow IPC", lambda: _arrow_schema(file, encoding))
    _refuse_twins(file, schema.names)
    return _guarded(file, "Arrow IPC", lambda: dict(pl.DataFrame(schema.empty_table()).schema))


def _arrow_schema(file: Path, encoding: str) -> pa.Schema:
    with pa.OSFile(str(file)) as stream:
        reader = pa.ipc.open_file if encoding == "ipc file" else pa.ipc.open_stream
        return reader(stream).schema


def _refuse_twins(file: Path, names: Sequence[str]) -> None:
    for position, name in enumerate(names, 1):
        if name in names[position:]:
            other = names.index(name, position) + 1
            raise TableError(
                f"{file}: columns {position} and {other} are both named {name!r}; give each "
                "column a name of its own"
            )


def _read_binary(file: Path, encoding: str, columns: list[str]) -> pl.DataFrame:
    if encoding == "parquet":
        return _guarded(
            file,
            "Parquet",
            lambda: pl.read_parquet(file, columns=columns, glob=False, hive_partitioning=False),
        )
    if encoding == "ipc stream":
        return _guarded(file, "Arrow IPC", lambda: pl.read_ipc_stream(file, columns=columns))
    lazy = pl.scan_ipc(file, glob=False, hive_partitioning=False)
    return _guarded(file, "Arrow IPC", lambda: lazy.select(columns).collect())


def _batches(file: Path, encoding: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    if encoding == "ipc stream":
        yield from _read_binary(file, encoding, list(columns)).iter_slices(_BATCH_ROWS)
        return
    if encoding == "parquet":
        format_name = "Parquet"
        lazy = pl.scan_parquet(file, glob=False, hive_partitioning=False).select(columns)
    else:
        format_name = "Arrow IPC"
        lazy = pl.scan_ipc(file, glob=False, hive_partitioning=False).select(columns)
    batches = _guarded(file, format_name, lambda: lazy.collect_batches(maintain_order=True))
    while (batch := _guarded(file, format_name, lambda: next(batches, None))) is not None:
        yield batch


def _guarded(file: Path, format_name: str, read: Callable[[], Result]) -> Result:
    """What ``read`` returns; whatever a library says of a file it cannot read stays unsaid."""
    try:
        return read()
    except pl.exceptions.DuplicateError:
        raise TableError(
            f"{file}: two columns have one name; give each column a name of its own"
        ) from None
    except PermissionError as fault:
        raise _unreadable(file, fault) from None
    except _READER_ERRORS as fault:
        refuse_out_of_memory(fault)
        raise _corrupt(file, format_name) from None


def _unreadable(path: Path, fault: OSError) -> TableError:
    reason = (fault.strerror or "input or output error").lower()
    return TableError(f"{path}: the file cannot be read ({reason}); check its permissions and path")


def _corrupt(path: Path, format_name: str) -> TableError:
    return TableError(
        f"{path}: the file is not whole or not valid {format_name}; write it again from its source"
    )
