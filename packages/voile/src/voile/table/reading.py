"""The door in: files of any supported format become one data frame.

CSV (plain, or compressed with gzip, Zstandard or bzip2), Parquet, Arrow IPC (file or stream, so
Feather too), folders of Parquet files, and GPX (``formats.statistics``), told apart by their first
bytes (``source_files``).  Workbooks, JSON lines, and files of statistics packages go by their
ending, databases by their address; they are read as a whole (room ``formats``).

No message holds a value of the table.  Polars and Arrow quote values in theirs, so their
exceptions are neither shown nor chained.

Cost: that of Polars' or Arrow's reader.  Parquet and IPC columns that are not asked for are not
read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zipfile import ZipFile, is_zipfile

import polars as pl
import pyarrow as pa

from voile.schema.layout import USUAL, InputLayout
from voile.table.arrays import infer_type, kind_of_type, with_marks, with_missing
from voile.table.formats.delimited import csv_ends, csv_names, read_csv
from voile.table.formats.encoding import beside_compressed
from voile.table.formats.registry import (
    ENDINGS,
    FORMATS,
    WRITTEN,
    Format,
    Whole,
    calendar_of_instants,
    format_named,
)
from voile.table.formats.statistics import GPX_COLUMNS, holds_beside_records, read_gpx
from voile.table.places import (
    Address,
    LaidOut,
    Place,
    SourceFiles,
    SourceFormat,
    corrupt,
    file_and_part,
    place_of,
    readable,
    unreadable,
)
from voile_base.errors import EmptyTableError, InputError, TableError, refuse_out_of_memory
from voile_base.ondemand import dataclass, on_demand, pattern_on_demand

if TYPE_CHECKING:
    from voile.table.formats import databases as formats_databases
    from voile.table.formats import excel as formats_excel
else:
    formats_excel = on_demand("voile.table.formats.excel")
    formats_databases = on_demand("voile.table.formats.databases")

__all__ = [
    "SourceFormat",
    "beside_the_table",
    "count_rows",
    "digest_of_rows",
    "files_of_table",
    "first_rows",
    "is_whole",
    "labels_of",
    "last_row",
    "list_columns",
    "main_sheet",
    "read_batches",
    "read_column",
    "read_frame",
    "scan_rows",
]

pq = on_demand("pyarrow.parquet")
ipc = on_demand("pyarrow.ipc")

Result = TypeVar("Result")

_BATCH_ROWS = 1 << 17
_READER_ERRORS = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,  # what Polars raises on some corrupt files
    pa.ArrowException,
    OSError,
    ValueError,
)


_OF_ENGINES = {
    *("", ".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data", ".gz", ".zst", ".bz2", ".gpx"),
    *(".parquet", ".parq", ".pq", ".arrow", ".arrows", ".ipc", ".feather"),
}
"""Endings that no package can have: the engine reads such files."""


@dataclass(frozen=True, eq=False)
class _SourceFrame:
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

    @property
    def written(self) -> Format:
        """The format of a release of it, unless another is asked for."""
        return self.format if _is_written(self.format) else "parquet"


def _format_of(file: Path) -> str | None:
    """The name of the format of files that are named so; None for those that are told otherwise."""
    ending = file.suffix.lower()
    if ending in ENDINGS or ending in _OF_ENGINES:
        return ENDINGS.get(ending)
    return next((n for n in FORMATS.installed if ending in _endings(n)), None)


def _is_written(name: str) -> bool:
    """Whether a release can be written in a format."""
    return name in WRITTEN or name in FORMATS.installed


def _endings(name: str) -> tuple[str, ...]:
    """Of the files of another package's format; raises ``InputError`` where it lacks its own."""
    endings = tuple(getattr(FORMATS.class_of(name), "endings", ()))
    if f".{name}" not in endings or set(endings) & (ENDINGS.keys() | _OF_ENGINES):
        msg = (
            f"the package {FORMATS.package_of(name)} adds a file format {name!r}, whose endings "
            f"must hold '.{name}' and none of Voile's"
        )
        raise InputError(msg)
    return endings


def read_frame(
    path: Place,
    *,
    missing: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    texts: Collection[str] = (),
    compact: bool = False,
) -> _SourceFrame:
    """Read a table: a file of any format that is supported, a folder, or of a database.

    ``missing`` holds texts that mean "no value"; they become null in the text columns of every
    format, and in CSV before types are inferred.  ``columns`` limits what is read to these
    columns, in the file's order; names that the table does not have are left out, so that the
    caller can compare with ``list_columns`` and say what is wrong with them.  ``texts`` names
    columns of a CSV file that stay as they are written, whatever they look like.

    The files of a folder must have the same columns; they are read in the order of their names,
    in which numbers count as numbers (``part-2`` before ``part-10``).  Where the result is to be
    ``compact``, few distinct texts of a CSV file stand in dictionaries.

    Raises TableError if there is no table with at least one row and one column, if it cannot be
    read completely, or if two columns have one name.
    """
    with _unchanged(path):
        return _read_frame(path, missing, columns, texts, compact=compact)


@contextmanager
def _unchanged(path: Place) -> Iterator[None]:
    """Raise ``TableError`` for a file that grows while it is read: its last row may be half."""
    file = path.file if isinstance(path, LaidOut) else path
    before = _size_and_time(file)
    yield
    if before is not None and _size_and_time(file) != before:
        raise TableError(
            f"{file}: the file changed while it was read, as one does that is still being written; "
            "wait until it is whole, or copy it and read the copy"
        )


def _size_and_time(file: Path | Address) -> tuple[int, int] | None:
    if not isinstance(file, Path):
        return None
    with suppress(OSError):
        told = file_and_part(file)[0].stat()
        return told.st_size, told.st_mtime_ns
    return None


def _read_frame(
    path: Place,
    missing: Sequence[str],
    columns: Sequence[str] | None,
    texts: Collection[str],
    *,
    compact: bool,
) -> _SourceFrame:
    if is_whole(path):
        whole, source_format = _read_whole(path, columns, missing, texts)
        layout = path.layout if isinstance(path, LaidOut) else USUAL
        frame = whole.frame.with_columns(with_missing(series, missing) for series in whole.frame)
        if whole.loose:
            frame = frame.with_columns(
                _numbers_again(whole.frame[series.name], series, layout)
                for series in frame
                if series.name not in texts
            )
        return _SourceFrame(frame, source_format, str(path), whole.notes, whole.names)
    assert isinstance(path, Path)
    source = SourceFiles.locate(path)
    notes: tuple[str, ...] = ()
    if source.format == "csv":
        with readable(path):
            frame, notes = read_csv(
                path,
                compression=source.compression,
                columns=columns,
                missing=missing,
                texts=texts,
                compact=compact,
            )
    elif source.format == "gpx":
        with readable(path):
            frame = read_gpx(path)
        frame = frame.select(name for name in frame.columns if columns is None or name in columns)
    else:
        schema = _common_schema(source)
        wanted = [name for name in schema if columns is None or name in set(columns)]
        parts = [_read_binary(file, source.encoding, wanted) for file in source.files]
        frame = pl.concat(parts)
        if wanted and frame.is_empty():
            raise EmptyTableError(
                f"{path}: the table has columns and no row; it needs at least one row"
            )
        frame = frame.with_columns(with_missing(series, missing) for series in frame)
    return _SourceFrame(frame, source.format, str(path), notes)


def empty_frame(path: Place) -> _SourceFrame:
    """A table that was found to have no row, for those to whom that is no fault.

    Raises ``EmptyTableError`` for a format that is read as a whole.
    """
    types = list_columns(path)
    assert isinstance(path, Path)
    columns = {name: kind or pl.String() for name, kind in types.items()}
    return _SourceFrame(pl.DataFrame(schema=columns), SourceFiles.locate(path).format, str(path))


def is_whole(path: Place) -> bool:
    """Whether a table is read as a whole, whatever is asked of it."""
    if isinstance(path, Address | LaidOut):
        return True
    return _format_of(file_and_part(path)[0]) is not None


def _read_whole(
    path: Place,
    columns: Collection[str] | None,
    missing: Sequence[str] = (),
    texts: Collection[str] = (),
) -> tuple[Whole, SourceFormat]:
    """A table that is read as a whole, and its format."""
    if isinstance(path, Address):
        return formats_databases.read_database(path, columns), "database"
    if isinstance(path, LaidOut):
        return _read_laid_out(path, columns, missing, texts)
    file, part = file_and_part(path)
    name = _format_of(file)
    assert name is not None
    with readable(file):
        whole = format_named(name).read(file, part, columns)
    return whole, name


def _read_laid_out(
    place: LaidOut,
    columns: Collection[str] | None,
    missing: Sequence[str],
    texts: Collection[str],
) -> tuple[Whole, SourceFormat]:
    """The table of a file whose plan, or address, says how it is laid out."""
    file, layout = place.file, place.layout
    name = _format_of(file)
    if name == "xlsx":
        with readable(file):
            return formats_excel.Excel().read(file, None, columns, layout), name
    source = SourceFiles.locate(file)
    if source.format != "csv" or name is not None:
        msg = (
            f"{file}: [input] says how CSV files and workbooks are laid out, and this is neither; "
            "leave [input] out, or what stands behind # of the file"
        )
        raise InputError(msg)
    with readable(file):
        names = csv_names(file, compression=source.compression, stated=layout)
        if columns is not None and not columns:
            return Whole(pl.DataFrame(), names), "csv"
        frame, notes = read_csv(
            file,
            compression=source.compression,
            columns=None if columns is None else list(columns),
            missing=missing,
            texts=texts,
            stated=layout,
        )
    return Whole(frame, names, notes), "csv"


def first_rows(
    place: Path, rows: int
) -> tuple[str | None, list[tuple[int, list[str | None]]], int | None]:
    """The first rows of a CSV file or a sheet as they stand, with the row of each, from 1.

    Before them the name of the sheet; None for CSV.  After them the last line of the table where
    notes stand below it; of CSV alone, for that of a sheet ``last_row`` reads it.  None of other
    formats.  Raises TableError as ``read_frame`` does.
    """
    file, part = file_and_part(place)
    if (name := _format_of(file)) == "xlsx":
        with readable(file):
            sheet, found = formats_excel.Excel().head(file, part, rows)
        return sheet, list(enumerate(found, 1)), None
    if name is not None or (source := SourceFiles.locate(file)).format != "csv":
        return None, [], None
    with readable(file):
        head, last = csv_ends(file, rows, compression=source.compression)
    return None, [(line, [cell or None for cell in row]) for line, row in head], last


def main_sheet(place: Path) -> str | None:
    """The sheet that has nearly all rows of a workbook; None where one is named, or none has."""
    file, part = file_and_part(place)
    if part is not None or _format_of(file) != "xlsx":
        return None
    with readable(file):
        return formats_excel.Excel().main_sheet(file)


def last_row(place: Path) -> int | None:
    """The last row of the table of a sheet, where notes stand below it; None elsewhere."""
    file, part = file_and_part(place)
    if _format_of(file) != "xlsx":
        return None
    with readable(file):
        return formats_excel.Excel().last(file, part)


def labels_of(place: Place) -> Mapping[str, str]:
    """What a file says that its columns hold, as SPSS, Stata and SAS do; nothing of other formats.

    Raises ``TableError`` where the file cannot be read.
    """
    if isinstance(place, Address):
        return {}
    file, _ = file_and_part(place.file if isinstance(place, LaidOut) else place)
    name = _format_of(file)
    labels = None if name is None else getattr(format_named(name), "labels", None)
    with readable(file):
        found: Mapping[str, str] = {} if labels is None else labels(file)
    return found


def _numbers_again(before: pl.Series, after: pl.Series, layout: InputLayout) -> pl.Series:
    """Texts of a sheet as the numbers or days that they are, once marks for missing are gone."""
    if after.dtype != pl.String:
        return after
    marked = with_marks(after, layout)
    if marked.dtype == pl.String and after.null_count() > before.null_count():
        marked = calendar_of_instants(infer_type(after))
    return marked


def read_column(path: Path, name: str) -> pl.Series | pa.ChunkedArray:
    """One column of a Parquet or Arrow IPC file, or of a folder of Parquet files.

    Texts in Parquet come as dictionary arrays: that is how most files store them, and it spares
    a copy of each text.  Raises TableError as ``read_frame`` does.
    """
    source = SourceFiles.locate(path)
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
    source = SourceFiles.locate(path)
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
    source = SourceFiles.locate(path)
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
    source = SourceFiles.locate(path)
    if source.format == "csv":
        with readable(path):
            return dict.fromkeys(csv_names(path, compression=source.compression))
    if source.format == "gpx":
        return dict.fromkeys(GPX_COLUMNS)
    return _common_schema(source)


def count_rows(path: Path) -> int | None:
    """How many rows the Parquet files at a path say that they have; None for other formats.

    No column is read.  Raises TableError as ``read_frame`` does.
    """
    source = SourceFiles.locate(path)
    if source.encoding != "parquet":
        return None

    def rows(file: Path) -> int:
        found: int = pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
        return found

    return sum(_guarded(file, "Parquet", partial(rows, file)) for file in source.files)


def files_of_table(path: Place) -> tuple[Path, ...] | None:
    """The Parquet files at a path, in the order in which their rows stand; None for other formats.

    Raises TableError as ``read_frame`` does.
    """
    if is_whole(path):
        return None
    assert isinstance(path, Path)
    source = SourceFiles.locate(path)
    return source.files if source.encoding == "parquet" else None


def _common_schema(source: SourceFiles) -> dict[str, pl.DataType]:
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
        raise unreadable(file, fault) from None
    except _READER_ERRORS as fault:
        refuse_out_of_memory(fault)
        raise corrupt(file, format_name) from None


_SHEET = pattern_on_demand(r"xl/worksheets/[^/]+\.xml")
_BOOKKEEPING = pattern_on_demand(
    r"\[Content_Types\]\.xml|(?:.*/)?_rels/[^/]*\.rels|docProps/(?:app|core)\.xml"
    r"|xl/(?:workbook|sharedStrings|styles|calcChain|metadata)\.xml|xl/(?:theme|tables)/[^/]+\.xml"
)
"""Parts of a workbook that say how its sheets look."""
_OF_WRITERS = frozenset({b"pandas", b"ARROW:schema", b"PARQUET:field_id"})
"""Keys of metadata that programs write of themselves."""


def digest_of_rows(file: str | Path) -> str:
    """A digest of all cells of a table, whatever the order of rows and columns, and the format.

    Numbers count by their value.  Raises ``TableError`` as ``read_frame`` does.  Cost: a sort of
    the rows as texts.
    """
    frame = read_frame(place_of(file)).frame
    names = sorted(frame.columns)
    texts = (pl.col(name).cast(pl.String) for name in names)
    read = [pl.coalesce(one.cast(pl.Float64, strict=False).cast(pl.String), one) for one in texts]
    rows = pl.concat_str([one.fill_null("\0") for one in read], separator="\x1f").alias("row")
    digest = blake2b("\x1f".join(names).encode(), digest_size=16)
    for row in frame.select(rows)["row"].sort():
        digest.update(f"\x1e{row}".encode())
    return digest.hexdigest()


def beside_the_table(path: Path) -> Iterator[str]:
    """What a file holds that is no part of the table that is read; nothing of a folder."""
    file, _ = file_and_part(path)
    if not file.is_file():
        return
    with file.open("rb") as stream:
        begins = stream.read(16)
    kind = file.suffix.lower()
    if kind in _OF_OTHERS:
        yield _OF_OTHERS[kind]
    elif begins.startswith((b"\x1f\x8b", b"BZh")):
        yield from beside_compressed(file)
    elif kind in {".json", ".geojson", ".jsonl", ".ndjson"}:
        if holds_beside_records(file.read_text("utf-8-sig", errors="replace")):
            yield "members that are no cells"
    elif begins.startswith(b"PK") and is_zipfile(file):
        yield from _beside_sheet(file)
    elif begins.startswith((b"PAR1", b"ARROW1")):
        yield from _beside_columns(file, is_parquet=begins[:1] == b"P")
    elif begins == b"SQLite format 3\0":
        yield "other tables and freed pages of the database"


def _beside_sheet(file: Path) -> Iterator[str]:
    with ZipFile(file) as workbook:
        parts, comment = workbook.namelist(), workbook.comment
    sheets = sum(_SHEET.fullmatch(name) is not None for name in parts)
    others = sum(not (_SHEET.fullmatch(one) or _BOOKKEEPING.fullmatch(one)) for one in parts)
    if sheets > 1:
        yield f"{sheets - 1} other sheet{'s' * (sheets > 2)}"
    if comment or (sheets and others):
        yield "comments, pictures or other parts of the workbook"


def _beside_columns(file: Path, *, is_parquet: bool) -> Iterator[str]:
    schema = pq.read_schema(file) if is_parquet else ipc.open_file(file).schema
    fields = [schema.metadata or {}, *(field.metadata or {} for field in schema)]
    if any(key not in _OF_WRITERS for each in fields for key in each):
        yield "metadata"
    if any(map(_has_unused, _dictionaries(file))):
        yield "values in dictionaries that no row shows"
    if is_parquet and _has_gaps(file):
        yield "bytes that are of no column"


_OF_OTHERS = {
    **dict.fromkeys((".sav", ".zsav", ".dta", ".sas7bdat", ".xpt"), "labels and notes"),
    **dict.fromkeys((".ods", ".xls"), "other sheets, comments or other parts of the workbook"),
    ".gpx": "waypoints, routes, elevations or notes",
}
"""What files may hold of which the table alone is read, by their ending."""
_INDEX = 256
"""Bytes of indexes and filters of a column of a group, and cells for one more byte, at most."""


def _has_gaps(file: Path) -> bool:
    """Whether a Parquet file has bytes that are neither a column's nor of its end."""
    found = pq.read_metadata(file)
    columns = [
        found.row_group(group).column(place)
        for group in range(found.num_row_groups)
        for place in range(found.num_columns)
    ]
    known = sum(one.total_compressed_size for one in columns) + found.serialized_size + 12
    known += _INDEX * len(columns) + found.num_rows * found.num_columns // _INDEX
    return bool(file.stat().st_size > known or len(found.created_by or "") > _USUAL_NAME)


_USUAL_NAME = 200
"""Letters of the name of the program that wrote a file, at most."""


def _dictionaries(file: Path) -> Iterator[list[pa.DictionaryArray]]:
    """The rows of each column that the file holds by a dictionary, all that share one together."""
    with file.open("rb") as stream:
        if stream.read(1) == b"A":
            columns = ipc.open_file(file).read_all().columns
            yield from (one.chunks for one in columns if pa.types.is_dictionary(one.type))
            return
    schema = pq.ParquetFile(file).schema
    texts = [one.path for one in schema if one.physical_type == "BYTE_ARRAY"]
    by_code = pq.ParquetFile(file, read_dictionary=texts)
    for group in range(by_code.num_row_groups):
        for name in texts:
            for column in by_code.read_row_group(group, columns=[name]).columns:
                yield [one for one in column.chunks if pa.types.is_dictionary(one.type)]


def _has_unused(chunks: Sequence[pa.DictionaryArray]) -> bool:
    """Whether a dictionary has a value that no row shows."""
    known = max((len(one.dictionary) for one in chunks), default=0)
    if not known:
        return False
    used = pa.chunked_array([one.indices for one in chunks]).unique()
    return bool(known > len(used) - used.null_count)
