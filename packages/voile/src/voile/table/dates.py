"""Columns of dates and times that are written in a format other than that of ISO 8601.

The format is the plan's, or the only usual one that every value fits (``schema.dates``).  A text
column becomes one of days, or of instants where the format has a clock; one of whole numbers is
read digit by digit (``20140513``); one of dates or times stays as it is.  A blank text is missing.

Cost: a pass over the column for the format, or one for each usual format.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from voile.schema.dates import USUAL_FORMATS, has_time, pattern_of, the_usual_ones
from voile.schema.plan import ColumnFacts
from voile.table.value_types import Form, matching
from voile_base.errors import PlanError, TableError

__all__ = ["as_dates", "date_form", "date_type", "format_of", "may_hold_dates"]


def may_hold_dates(dtype: pl.DataType) -> bool:
    """Whether dates may be written in a column of this type."""
    return dtype == pl.String or dtype.is_integer()


def date_form(date_format: str) -> Form:
    """Dates of a format as a way of writing values."""
    return Form(
        "datetime" if has_time(date_format) else "date",
        pattern_of(date_format),
        lambda texts: _parsed(texts, date_format),
    )


def date_type(date_format: str) -> pl.DataType:
    """The type of a column of dates that were written in a format."""
    if not has_time(date_format):
        return pl.Date()
    return pl.Datetime("us", "UTC" if "%z" in date_format else None)


def as_dates(values: pl.Series, declared: ColumnFacts) -> pl.Series:
    """The dates of a column that its plan takes for one of dates; others as they are.

    Raises ``PlanError`` and ``TableError`` as ``format_of`` does.
    """
    if not declared.dated or not may_hold_dates(values.dtype):
        return values
    texts = values.cast(pl.String)

    def misses(date_format: str) -> tuple[int, int | None]:
        wrong = date_form(date_format).misses(texts)
        first = wrong.arg_max() if wrong.any() else None
        return int(wrong.sum()), None if first is None else first + 1

    return date_form(format_of(values.name, declared, misses)).read(texts)


Misses = Callable[[str], tuple[int, int | None]]
"""How many values do not fit a format, and the row of the first of them, from 1."""


def format_of(column: str, declared: ColumnFacts, misses: Misses) -> str:
    """The format in which all values of a column are written: the declared, or a usual one.

    Raises ``TableError`` where a value does not fit it, or fits none of the usual ones;
    ``PlanError`` where nothing is declared and two usual formats fit.
    """
    if declared.format is None:
        return _the_only_usual(column, misses)
    wrong, first = misses(declared.format)
    if not wrong:
        return declared.format
    others = [usual for usual in USUAL_FORMATS if not misses(usual)[0]]
    hint = f"; all of them fit {_either(others)}" if others else ""
    msg = (
        f'column {column!r}: {wrong:,} values do not fit the format "{declared.format}" of the '
        f"plan, first in row {first}{hint}; mend the format or the rows, or name the text in "
        "`missing` if it stands for a missing value"
    )
    raise TableError(msg)


def _the_only_usual(column: str, misses: Misses) -> str:
    fits, furthest = [], 0
    for usual in USUAL_FORMATS:
        wrong, first = misses(usual)
        if not wrong:
            fits.append(usual)
        else:
            furthest = max(furthest, first or 0)
    if not fits:
        msg = (
            f"column {column!r}: the plan says that it holds dates, and row {furthest} is none in "
            f"any usual format that the rows before it have; declare the format, such as "
            f"{the_usual_ones()}, or name the text in `missing`"
        )
        raise TableError(msg)
    if len(fits) > 1:
        msg = (
            f"column {column!r}: its dates fit {_either(fits)}, and mean different days in each; "
            f'declare the one that is meant, such as format = "{fits[0]}"'
        )
        raise PlanError(msg)
    return fits[0]


def _either(formats: list[str]) -> str:
    return " and ".join(f'"{each}"' for each in formats)


def _parsed(texts: pl.Series, date_format: str) -> pl.Series:
    """The dates; null for texts of another form."""
    texts = matching(texts, pattern_of(date_format))
    if not has_time(date_format):
        return texts.str.to_date(date_format, strict=False)
    zone = "UTC" if "%z" in date_format else None
    return texts.str.to_datetime(date_format, strict=False, time_unit="us", time_zone=zone)
