"""What formats that know fewer types than a table are given back.

Spreadsheets and statistics packages keep all numbers as floating-point numbers, spreadsheets dates
and times as instants, JSON as texts: numbers that are all whole become whole numbers; instants that
all begin a day, dates; those of the day on which spreadsheets begin, times; and texts that are all
ISO 8601, what they say.  Each is exact.
"""

from __future__ import annotations

import datetime

import polars as pl

from voile_base.errors import EmptyTableError, TableError

__all__ = [
    "calendar_of_instants",
    "calendar_of_texts",
    "empty_texts_missing",
    "refuse_nothing",
    "whole_numbers",
]

_EXACT = 2.0**53
_DAYS_OF_TIMES = (datetime.date(1899, 12, 30), datetime.date(1899, 12, 31))
_ISO: dict[str, tuple[pl.Date | pl.Datetime | pl.Time, str]] = {
    r"^\d{4}-\d\d-\d\d$": (pl.Date(), "%Y-%m-%d"),
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$": (pl.Datetime("us"), "%Y-%m-%d %H:%M:%S%.f"),
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$": (pl.Datetime("us"), "%Y-%m-%dT%H:%M:%S%.f"),
    r"^\d\d:\d\d:\d\d(\.\d+)?$": (pl.Time(), "%H:%M:%S%.f"),
}


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


def calendar_of_texts(series: pl.Series) -> pl.Series:
    """A column of texts that are all ISO 8601 of one kind, as dates, instants or times."""
    if series.dtype != pl.String or not series.count():
        return series
    for pattern, (kind, date_format) in _ISO.items():
        if series.str.contains(pattern).all():
            read = series.str.strptime(kind, date_format, strict=False)
            return read if read.count() == series.count() else series
    return series


def empty_texts_missing(series: pl.Series) -> pl.Series:
    """A column whose empty texts are missing values."""
    if series.dtype != pl.String:
        return series
    return series.replace("", None)


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
