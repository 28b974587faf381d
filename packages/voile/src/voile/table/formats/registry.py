"""The formats that files are read from and written to, by their names and the endings of files.

Each is imported when a file of it is met; the library that does the work is an extra, and where it
is not installed, the refusal says which command installs it.

**Types**: what formats that know fewer types than a table are given back.

Spreadsheets and statistics packages keep all numbers as floating-point numbers, spreadsheets dates
and times as instants, JSON as texts: numbers that are all whole become whole numbers; instants that
all begin a day, dates; those of the day on which spreadsheets begin, times; and texts that are all
ISO 8601, what they say.  Each is exact.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from voile_base.errors import EmptyTableError, InputError, TableError
from voile_base.ondemand import dataclass, on_demand
from voile_base.registry import Registry

if TYPE_CHECKING:
    import polars as pl
else:
    pl = on_demand("polars")

__all__ = [
    "ENDINGS",
    "FORMATS",
    "WRITTEN",
    "FileFormat",
    "Format",
    "Whole",
    "calendar_of_instants",
    "format_named",
    "library",
    "refusal",
    "refuse_nothing",
    "whole_numbers",
]

_EXACT = 2.0**53
_DAYS_OF_TIMES = (datetime.date(1899, 12, 30), datetime.date(1899, 12, 31))


def whole_numbers(series: pl.Series) -> pl.Series:
    """A column of floating-point numbers that are all whole, as whole numbers."""
    if not series.dtype.is_float():
        return series
    present = series.drop_nulls()
    if not len(present) or not present.is_finite().all():
        return series
    whole = ((present.round() == present) & (present.abs() <= _EXACT)).all()
    return series.cast(pl.Int64) if whole else series


def calendar_of_instants(series: pl.Series) -> pl.Series:
    """A column of a sheet's instants as dates or times, where they are all no more."""
    if not isinstance(series.dtype, pl.Datetime) or not series.count():
        return series
    days = series.cast(pl.Date)
    if (days.cast(series.dtype) == series).all():
        return days
    return series.cast(pl.Time) if days.is_in(_DAYS_OF_TIMES).all() else series


def refuse_nothing(where: object, names: tuple[str, ...], rows: int) -> None:
    """Raise ``TableError`` for a table without rows or columns, or with two columns of a name."""
    if not names:
        raise TableError(f"{where}: the table has no columns")
    for place, name in enumerate(names):
        if name in names[place + 1 :]:
            other = names.index(name, place + 1)
            raise TableError(
                f"{where}: columns {place + 1} and {other + 1} are both named {name!r}; give each "
                "column a name of its own"
            )
    if not rows:
        raise EmptyTableError(
            f"{where}: the table has columns and no row; it needs at least one row"
        )


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
    "jsonl": "voile.table.formats.statistics:JsonLines",
    "json": "voile.table.formats.statistics:JsonRecords",
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
    **dict.fromkeys((".json", ".geojson"), "json"),
    ".dta": "dta",
    ".sas7bdat": "sas",
    ".xpt": "xpt",
}
_ELSEWHERE = ("csv", "parquet")
"""Written a batch at a time by the engine itself."""
WRITTEN: tuple[Format, ...] = ("csv", "parquet", "jsonl", "xlsx", "sav", "dta", "xpt")


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
