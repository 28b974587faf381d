"""What stands at a path: the files of a table in reading order, and their format.

The first bytes of a file decide its format, not its name; the name only has to make sense for files
that begin like none of these, and tells GPX from CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from voile.table.formats.registry import Format
from voile_base.errors import TableError, refuse_out_of_memory

__all__ = ["SourceFiles", "SourceFormat", "corrupt", "locate", "readable", "unreadable"]

SourceFormat = Format | Literal["arrow", "gpx", "sas", "database"]
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


@dataclass(frozen=True)
class SourceFiles:
    """What stands at a path: the files in reading order, and how each is to be read."""

    path: Path
    files: tuple[Path, ...]
    encoding: str
    """A name of ``_MAGIC``, "csv" or "gpx"."""

    @property
    def format(self) -> SourceFormat:
        """What the table is called by."""
        if self.encoding == "parquet":
            return "parquet"
        if self.encoding == "gpx":
            return "gpx"
        return "arrow" if self.encoding.startswith("ipc") else "csv"

    @property
    def compression(self) -> str | None:
        """Of a CSV file."""
        return self.encoding if self.encoding in _COMPRESSED.values() else None


def locate(path: Path) -> SourceFiles:
    """Find the files at a path and tell their format from their first bytes."""
    with readable(path):
        if path.is_dir():
            return SourceFiles(path, _folder_files(path), "parquet")
        if path.exists() and not path.is_file():
            raise TableError(f"{path}: this is neither a file nor a folder; save the table first")
        return SourceFiles(path, (path,), _sniff(path, _head(path)))


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(16)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns refusals of the operating system into messages."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{path}: there is no such file or folder; check the path") from None
    except OSError as fault:
        refuse_out_of_memory(fault)
        raise unreadable(path, fault) from None


def _sniff(path: Path, head: bytes) -> str:
    printable = head.isascii() and all(byte >= ord(" ") or byte in b"\t\r\n" for byte in head)
    passed_over = _COLUMN_LIKE if printable else set()
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
        raise corrupt(path, _BINARY_SUFFIXES[suffix])
    if suffix in _COMPRESSED:
        raise corrupt(path, _COMPRESSED[suffix])
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
            raise corrupt(file, "Parquet")
    return tuple(sorted(files, key=_natural_order))


def _is_parquet_name(file: Path) -> bool:
    return file.suffix.lower() in _PARQUET_SUFFIXES and not file.name.startswith((".", "_"))


def _natural_order(file: Path) -> tuple[list[str | int], str]:
    """Sorts ``part-2`` before ``part-10``; texts and numbers alternate, so they never meet."""
    pieces = re.split(r"([0-9]+)", file.name)
    return [int(p) if i % 2 else p for i, p in enumerate(pieces)], file.name


def unreadable(path: Path, fault: OSError) -> TableError:
    """What is said of a file that the operating system refuses to read."""
    reason = (fault.strerror or "input or output error").lower()
    return TableError(f"{path}: the file cannot be read ({reason}); check its permissions and path")


def corrupt(path: Path, format_name: str) -> TableError:
    """What is said of a file that cannot be read to its end."""
    return TableError(
        f"{path}: the file is not whole or not valid {format_name}; write it again from its source"
    )
