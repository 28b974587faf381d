"""Files that engines write and read: rows batch by batch, private folders, files that change.

Rows of Polars as files, durably and a batch at a time: they never stand in memory decoded.

Few texts go to Parquet as categories: Polars writes the dictionary that they stand in, where of
plain texts it would make one, at twice the cost.  What the file says of its types is what it would
say of plain texts, so that nobody reads categories.

Private folders for what does not fit into memory: of one process, and gone with it.

A folder is for its owner alone and has a lock, held for as long as the process lives; the number of
a process would tell nothing of one in another container with the same disk.  Whoever makes the next
one removes those that nobody holds: of processes that were ended before they could.

Files of a table that somebody may write to while they are read.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from voile.table.arrays import polars_type, series_of
from voile.table.formats.registry import Format, format_named
from voile_base.durable import sync
from voile_base.errors import InputError, TableError
from voile_base.operating_system import lock, open_without_links

__all__ = [
    "MOST_CATEGORIES",
    "Fault",
    "SpillFolder",
    "WatchedFiles",
    "kept_faults",
    "write_arrow",
    "write_batches",
]


MOST_CATEGORIES = 1 << 12
"""Different texts up to which a column goes to Parquet as categories; each part of a file then
names all."""
_TYPES = "ARROW:schema"
"""Where a Parquet file says which types of Arrow its columns had."""
_NUMBER = re.compile(r"\(os error (\d+)\)")
"""What Polars says of a fault of the system, beside other words."""


def write_arrow(
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    folder: Path,
    file_format: Format,
    categories: Mapping[str, pl.Series] | None = None,
) -> str:
    """Write batches of Arrow with columns of some types, durably; returns the name of the file.

    ``categories`` says for columns that come as dictionary arrays, each batch with the same
    dictionary, the categories that are written for its entries.  Raises ``OSError`` where the disk
    refuses, and what is raised where batches are made.
    """
    coded = categories or {}
    types = pl.Schema({field.name: polars_type(field.type) for field in schema})
    types |= {name: values.dtype for name, values in coded.items()}
    faults: list[BaseException] = []

    def series(array: pa.Array, name: str) -> pl.Series:
        if name not in coded:
            return series_of(array, name)
        return coded[name].gather(pl.Series(array.indices)).alias(name)

    frames = (
        pl.DataFrame([series(a, n) for n, a in zip(types, batch, strict=True)]).cast(types)
        for batch in kept_faults(batches, faults)
    )
    try:
        return write_batches(frames, types, folder, file_format).name
    except OSError:
        if faults:  # whoever writes makes another of it
            raise faults[0] from None
        raise


def kept_faults(
    batches: Iterable[pa.RecordBatch], faults: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """The same batches; what is raised where they are made is kept, too."""
    try:
        yield from batches
    except GeneratorExit:
        raise
    except BaseException as error:
        faults.append(error)
        raise


def write_batches(
    batches: Iterator[pl.DataFrame], schema: pl.Schema, folder: Path, file_format: Format
) -> Path:
    """Write batches of rows, in their order, to ``data.csv``, ``data.parquet`` and so on.

    Texts may come as categories, where the format is Parquet; all of these stand in the file.
    Raises ``OSError`` where the disk refuses.
    """
    path = folder / f"data.{file_format}"
    if file_format != "csv" and file_format != "parquet":  # noqa: PLR1714 - types follow this
        format_named(file_format).write(batches, schema, path)
        sync(path)
        return path

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        return batches

    rows, said = register_io_source(source, schema=schema), _said_of_texts(schema)
    try:
        if file_format == "csv":
            rows.sink_csv(path)
        else:
            rows.sink_parquet(path, metadata=said)
    except (pl.exceptions.PolarsError, OSError) as error:
        # A full disk is not always an OSError to Polars, and that then has no number.
        if getattr(error, "errno", None) is not None:
            raise
        found = _NUMBER.search(str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number)) from None
    sync(path)
    return path


def _said_of_texts(schema: pl.Schema) -> dict[str, str] | None:
    """What a Parquet file says of its types, so that categories are read again as plain texts."""
    plain = {name: pl.String() if dtype == pl.Enum else dtype for name, dtype in schema.items()}
    if plain == schema:
        return None
    empty = io.BytesIO()
    pl.DataFrame(schema=plain).write_parquet(empty)
    empty.seek(0)
    return {_TYPES: pl.read_parquet_metadata(empty)[_TYPES]}


_LOCK = "lock"


class SpillFolder:
    """A private folder; see the module."""

    def __init__(self, place: Path | None, engine: str) -> None:
        """``place`` is where it is made: by default, TMPDIR.

        Raises ``InputError`` where it cannot be.
        """
        place = place or Path(tempfile.gettempdir())
        prefix = f".voile-{engine}-"
        _remove_orphans(place, prefix)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as fault:
            reason = fault.strerror or "input or output error"
            msg = f"{place}: no folder for temporary data can be made here ({reason})"
            raise InputError(msg) from None
        self._lock = _locked(self.path, os.O_CREAT)

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path, how: int) -> int | None:
    """The lock of a folder, held while its descriptor is open; None where it is not to be had."""
    try:
        descriptor = open_without_links(folder / _LOCK, os.O_RDWR | how)
    except OSError:
        return None
    try:
        lock(descriptor, wait=False)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_orphans(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*"):
        lock = _locked(folder, 0)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


class Fault(Protocol):
    """Looks at the files of a table again."""

    def __call__(self, *, reading: bool) -> TableError | None:
        """What is wrong with them, after they could not be read, or could; None: nothing."""


class WatchedFiles:
    """Parquet files as they were when this was made; see ``Fault``."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        """``path`` is what they are called in messages."""
        self._path, self._files = path, tuple(files)
        self._before = self._state()

    def __call__(self, *, reading: bool) -> TableError | None:
        """What is wrong with them."""
        if self._state() != self._before:
            return TableError(
                f"{self._path}: the table changed while it was read; nothing was written. Publish "
                "a copy that nobody writes to"
            )
        if not reading:
            return None
        return TableError(
            f"{self._path}: the table is not whole or not valid Parquet; write it again from its "
            "source"
        )

    def _state(self) -> list[tuple[int, int, int] | None]:
        """What tells whether files were written to."""
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return found
