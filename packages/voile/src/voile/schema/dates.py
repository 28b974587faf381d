"""Formats of dates and times, as a plan declares them.

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
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator

from voile_base.values.value import Says

__all__ = ["USUAL_FORMATS", "DateFormat", "has_time", "pattern_of", "the_usual_ones"]

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

_DAYS = ("%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
USUAL_FORMATS = (
    *_DAYS,
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
    *(f"{day} {clock}" for day in _DAYS for clock in _CLOCKS),
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
    return ", ".join(f'"{each}"' for each in _DAYS[1:5])
