"""Hierarchies of dates and times: the hour, day, month, quarter, year or decade they lie in.

``dates = ["month", "year"]`` makes of ``2020-02-28`` first ``2020-02``, then ``2020``, then ``*``.
A quarter reads ``2020-Q1``, a decade ``2020s``, an hour ``2020-02-28T14``, a week ``2020-W09``, as
ISO 8601 counts weeks.  A week may lie in two months and in two years, so that nothing but ``*``
stands above it.

The public domain of dates is not declared, so shares are a convention: that of a century.

Formats of dates and times, as a plan declares them.

``format = "%m/%d/%Y"`` says how the office writes its dates; the codes are those of ``strftime``:

    %Y  year, four digits      %H %M %S  hour, minute, second      %b %B  month by name, in English
    %m  month                  %I %p     hour to twelve, am or pm  %z     offset from UTC
    %d  day of the month       %j        day of the year           %%     a percent sign

A format says year, month and day, or year and day of the year.  Years have four digits: of two,
nobody knows the century.  Published dates are those of ISO 8601, whatever they were written in.

Where a plan says ``kind = "date"`` and no format, the usual ones are tried.  A column that fits two
of them, such as one in which no day is above 12, is not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.schema.hierarchy.generalized import (
    BoundHierarchy,
    DistinctValues,
    as_they_are,
    bind_levels,
    everything,
    labelled,
    present,
)
from voile_base.errors import PlanError, TableError
from voile_base.values.value import Says, Several, checked

__all__ = [
    "PERIODS",
    "USUAL_FORMATS",
    "DateFormat",
    "Dates",
    "Periods",
    "has_time",
    "pattern_of",
    "the_usual_ones",
]


_DAYS = 36_525  # of a century
_SHARES = {
    "second": 1 / (_DAYS * 86_400),
    "hour": 1 / (_DAYS * 24),
    "day": 1 / _DAYS,
    "week": 7 / _DAYS,
    "month": 1 / 1200,
    "quarter": 1 / 400,
    "year": 1 / 100,
    "decade": 1 / 10,
}


def _week(text: str) -> str:
    year, week, _ = date.fromisoformat(text[:10]).isocalendar()
    return f"{year}-W{week:02}"


_LABELS: dict[str, Callable[[str], str]] = {
    "hour": lambda text: f"{text[:10]}T{text[11:13]}",
    "day": lambda text: text[:10],
    "week": _week,
    "month": lambda text: text[:7],
    "quarter": lambda text: f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}",
    "year": lambda text: text[:4],
    "decade": lambda text: f"{text[:3]}0s",
}
PERIODS = tuple(_LABELS)
"""Names of the levels, ascending."""

_FORMS = {
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "datetime": re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}.*"),
}


def _ascending(periods: tuple[str, ...]) -> tuple[str, ...]:
    indices = [PERIODS.index(period) for period in periods]
    if any(shorter >= longer for shorter, longer in pairwise(indices)):
        raise PydanticCustomError("ascending", "each longer than the one before")
    if "week" in periods[:-1]:
        raise PydanticCustomError("week", "none behind week")
    return periods


Periods = Annotated[
    Several[Literal["hour", "day", "week", "month", "quarter", "year", "decade"]],
    Field(min_length=1),
    AfterValidator(_ascending),
    Says(
        "a list of periods, each longer than the one before and none behind week, which may lie in "
        'two months, such as ["month", "year"]'
    ),
]


@checked(PlanError)
@dataclass(frozen=True)
class Dates:
    """The periods that the levels show, each longer than the one before.

    Raises ``PlanError`` for a period that is unknown or out of order.
    """

    periods: Periods

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct dates of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column of other values, ``TableError`` for years that do not
        have four digits.
        """
        texts = present(values)
        self._require_dates(column, values.kind, texts)
        leaf = _SHARES["day" if values.kind == "date" else "second"]
        levels = [as_they_are(len(texts), leaf)]
        for period in self.periods:
            share = np.full(len(texts), _SHARES[period])
            levels.append(labelled([_LABELS[period](text) for text in texts], share))
        return bind_levels(column, values, [*levels, everything(len(texts))], leaf)

    def _require_dates(self, column: str, kind: str, texts: tuple[str, ...]) -> None:
        if not texts:
            return
        if kind not in _FORMS:
            msg = (
                f"column {column!r} holds values of kind {kind!r}, not dates; say how they "
                'are written, such as format = "%m/%d/%Y", or choose another hierarchy'
            )
            raise PlanError(msg)
        if kind == "date" and self.periods[0] in {"hour", "day"}:
            msg = f"column {column!r} holds days already; let `dates` begin with a longer period"
            raise PlanError(msg)
        odd = sum(_FORMS[kind].fullmatch(text) is None for text in texts)
        if odd:
            msg = (
                f"column {column!r}: {odd:,} distinct values are not of the years 1000 to 9999; "
                "mend them, or leave the column out"
            )
            raise TableError(msg)


_CODES = {
    "Y": "[1-9][0-9]{3}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "j": "[0-9]{1,3}",
    "H": "[0-9]{1,2}",
    "I": "[0-9]{1,2}",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
    "p": "(?i:am|pm)",
    "b": "[A-Za-z]{3}",
    "B": "[A-Za-z]+",
    "z": "[+-][0-9]{2}:?[0-9]{2}",
    "%": "%",
}
_OF_TIME = ("%H", "%I")
_PIECE = re.compile(r"%(.)|([^%]+)", re.DOTALL)
_SAMPLE = datetime(2013, 11, 28, 17, 45, 59)

_DATES_DAYS = ("%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
USUAL_FORMATS = (
    *_DATES_DAYS,
    "%Y.%m.%d",
    "%Y.%m.%d.",
    "%Y. %m. %d.",
    "%d.%m.%Y.",
    "%d. %m. %Y",
    "%d.%m.%Y r.",
    "%Y%m%d",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d%b%Y",
    *(f"{day} {clock}" for day in _DATES_DAYS for clock in _CLOCKS),
    "%Y-%m-%d %H:%M:%S +0000",
    "%Y-%m-%d %H:%M:%S UTC",
)
"""What is tried where a plan says that a column holds dates, and not how they are written."""


def _usable(date_format: str) -> str:
    pieces = list(_PIECE.finditer(date_format))
    unknown = {piece[1] for piece in pieces if piece[1]} - _CODES.keys()
    if "y" in unknown:
        msg = "%y leaves the century open; years need four digits, %Y"
        raise ValueError(msg)
    rest = "".join(piece[0] for piece in pieces)
    if unknown or rest != date_format:
        codes = " ".join(f"%{code}" for code in _CODES)
        msg = f"a format is made of the codes {codes} and of what stands between them"
        raise ValueError(msg)
    try:
        read = datetime.strptime(_SAMPLE.strftime(date_format), date_format)
    except ValueError:
        read = None
    if read is None or read.date() != _SAMPLE.date():
        msg = 'a format tells a whole date, such as "%m/%d/%Y" or "%d.%m.%Y %H:%M"'
        raise ValueError(msg)
    return date_format


DateFormat = Annotated[
    str,
    AfterValidator(_usable),
    Says('the format of a whole date, such as "%m/%d/%Y" or "%d.%m.%Y %H:%M"'),
]


def has_time(date_format: str) -> bool:
    """Whether a format says the time of day too."""
    return any(code in date_format for code in _OF_TIME)


def pattern_of(date_format: str) -> str:
    """A regular expression that every text of a format matches."""
    pieces = [piece[1] or piece[0] for piece in _PIECE.finditer(date_format)]
    coded = [piece[0].startswith("%") for piece in _PIECE.finditer(date_format)]
    found = []
    for index, (piece, code) in enumerate(zip(pieces, coded, strict=True)):
        pattern = _CODES[piece] if code else re.escape(piece)
        if code and any(coded[near] for near in (index - 1, index + 1) if 0 <= near < len(coded)):
            pattern = pattern.replace("{1,2}", "{2}").replace("{1,3}", "{3}")  # where one ends
        found.append(pattern)
    return f"^{''.join(found)}$"


def the_usual_ones() -> str:
    """Some usual formats, for a message."""
    return ", ".join(f'"{each}"' for each in _DATES_DAYS[1:5])
