"""The formats that files are read from and written to, by their names and the endings of files.

Each is imported when a file of it is met; the library that does the work is an extra, and where it
is not installed, the refusal says which command installs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from voile_base.errors import InputError
from voile_base.registry import Registry

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ENDINGS",
    "FORMATS",
    "WRITTEN",
    "FileFormat",
    "Format",
    "Whole",
    "format_named",
    "format_of",
    "is_written",
    "library",
    "refusal",
]

Format = str
"""What a release can be written as: the ending of its data, which may be a package's own."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A table that was read as a whole."""

    frame: pl.DataFrame
    """The columns that were asked for, in the file's order."""
    names: tuple[str, ...]
    """All columns of the table."""
    notes: tuple[str, ...] = ()
    """What was assumed to read it, one sentence each, without values."""
    loose: bool = False
    """Whether texts may be all but numbers, as in cells of a sheet, once missing marks are gone."""


class FileFormat(Protocol):
    """Reads and writes files of one kind.

    That of another package also has ``endings``, of which one is a dot and its name: by these its
    files are told.
    """

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """A table of the file; ``part`` says which, or how it is read.

        Raises ``TableError`` where there is none or it is not whole, ``InputError`` where the
        library is not installed or the part is none.
        """

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Why no table with these columns and so many rows can be written; None where it can."""

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """Write rows in their order; raises ``OSError`` where the disk refuses."""


_OWN = {
    "jsonl": "voile.table.formats.json_lines:JsonLines",
    "xlsx": "voile.table.formats.excel:Excel",
    "sav": "voile.table.formats.statistics:Spss",
    "dta": "voile.table.formats.statistics:Stata",
    "sas": "voile.table.formats.statistics:Sas",
    "xpt": "voile.table.formats.statistics:SasTransport",
}
FORMATS: Registry[FileFormat] = Registry(
    group="voile.formats",
    what="a file format",
    own=_OWN,
    offers=("read", "refusal", "write"),
)
"""Those that are read and written as a whole."""
ENDINGS = {
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "xlsx"),
    **dict.fromkeys((".sav", ".zsav"), "sav"),
    ".dta": "dta",
    ".sas7bdat": "sas",
    ".xpt": "xpt",
}
_OF_ENGINES = {
    *("", ".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data", ".gz", ".zst", ".bz2", ".gpx"),
    *(".parquet", ".parq", ".pq", ".arrow", ".arrows", ".ipc", ".feather"),
}
"""Endings that no package can have: the engine reads such files."""
_ELSEWHERE = ("csv", "parquet")
"""Written a batch at a time by the engine itself."""
WRITTEN: tuple[Format, ...] = ("csv", "parquet", "jsonl", "xlsx", "sav", "dta", "xpt")


def format_of(file: Path) -> str | None:
    """The name of the format of files that are named so; None for those that are told otherwise."""
    ending = file.suffix.lower()
    if ending in ENDINGS or ending in _OF_ENGINES:
        return ENDINGS.get(ending)
    return next((n for n in FORMATS.installed if ending in _endings(n)), None)


def is_written(name: str) -> bool:
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


@cache
def format_named(name: str) -> FileFormat:
    """A format of the registry."""
    return FORMATS.class_of(name)()


def refusal(name: Format, names: Sequence[str], rows: int) -> str | None:
    """Why a table cannot be written in a format; None where it can.

    Raises ``InputError`` where the library that writes it is not installed.
    """
    return None if name in _ELSEWHERE else format_named(name).refusal(names, rows)


def library(name: str, extra: str, what: str) -> Any:
    """A library of an extra; raises ``InputError`` with the line that installs it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        msg = f"{what} needs {package}: pip install 'voile[{extra}]'"
        raise InputError(msg) from None
