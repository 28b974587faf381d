"""How a CSV file separates and quotes its fields, and whether it does so throughout.

``detect_dialect`` reads the first lines in every usual way (comma, semicolon, tab or bar; double
quotes, double quotes escaped by a backslash, single quotes, no quotes) and keeps the way in which

1. the header has more than one field,
2. most rows have as many fields as the header,
3. most fields are numbers (a decimal comma is part of a number, so that ``1,5;2,5`` is two), and
4. there are most fields,

in this order.  A header of one field makes a file of one column, which is read as if separated
by commas: should a row hold a comma outside quotes, whether that is text, a decimal comma or a
field too many cannot be told, and the row is refused as ragged.

``misplaced_quote`` then goes through all of the file.  CSV readers forgive quotes in odd places
by joining rows, and a publisher must not lose rows; so the only quotes accepted are those around
a whole field, and doubled ones within.

Cost: ten-odd passes over 128 KiB for detection, one vectorized pass over a file that has quotes.
"""

from __future__ import annotations

import csv as python_csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Dialect", "FileLayout", "detect_dialect", "misplaced_quote"]

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"\s*[+-]?\d+(?:[.,]\d+)?\s*")
_SINGLE_QUOTED = re.compile(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", re.MULTILINE)
_JUDGED = 200  # rows whose fields are compared with numbers


@dataclass(frozen=True)
class Dialect:
    """How fields are separated and quoted.

    ``quote`` and ``escape`` are None where there is none; without ``escape`` a quote within a
    quoted field is doubled.  ``spaced`` says that a space after each separator is not part of
    the field.
    """

    separator: str
    quote: str | None = '"'
    escape: str | None = None
    spaced: bool = False


@dataclass(frozen=True)
class FileLayout:
    """A dialect, the names in the header, and the size of the header in bytes of UTF-8."""

    dialect: Dialect
    names: tuple[str, ...]
    header_size: int
    unnamed: bool = False
    """Whether the first column has no name in the file."""


@dataclass(frozen=True)
class _Reading:
    """The first rows as read in one dialect; ``sound`` is false if a quote makes no sense in it."""

    dialect: Dialect
    rows: tuple[tuple[str, ...], ...]
    header_lines: int
    sound: bool

    def merit(self) -> tuple[bool, float, float, int]:
        """What the module's docstring ranks readings by."""
        if not self.rows:
            return (False, 0.0, 0.0, 0)
        width = len(self.rows[0])
        regular = sum(len(row) == width for row in self.rows)
        fields = [value for row in self.rows[1:_JUDGED] for value in row]
        numbers = sum(_NUMBER.fullmatch(value) is not None for value in fields)
        return (
            width > 1,
            regular / (len(self.rows) + (not self.sound)),
            numbers / max(len(fields), 1),
            width,
        )

    def looks_quoted(self) -> bool:
        """Whether a field that was read without quotes begins with one."""
        return any(value.startswith('"') for row in self.rows for value in row)

    def is_spaced(self) -> bool:
        """Whether each value but the first of its row begins with a space."""
        later = [value for row in self.rows[1:] for value in row[1:] if value]
        return bool(later) and all(value.startswith(" ") for value in later)


def detect_dialect(sample: str, *, whole: bool) -> FileLayout | None:
    """The layout of a CSV file that begins with ``sample``, or None if no header ends in it.

    ``whole`` says that the sample is all of the file, so that its last row is complete.
    Names in the header lose the spaces around them.
    """
    lines = list(io.StringIO(sample, newline=""))
    readings = [
        _read(lines, Dialect(separator, quote, escape), whole=whole)
        for quote, escape in _quotings(sample)
        for separator in _SEPARATORS
    ]
    readings = [r for r in readings if r.dialect.quote is not None or not r.looks_quoted()]
    best = max(readings, key=_Reading.merit)  # the first of equals: the commoner dialect
    if not best.merit()[0]:  # one column
        best = max((r for r in readings if r.dialect.separator == ","), key=_Reading.merit)
    if not best.rows:
        return None
    dialect = best.dialect
    if best.is_spaced():
        dialect = Dialect(dialect.separator, dialect.quote, dialect.escape, spaced=True)
    header_size = len("".join(lines[: best.header_lines]).encode())
    return FileLayout(dialect, tuple(name.strip() for name in best.rows[0]), header_size)


def _quotings(sample: str) -> list[tuple[str | None, str | None]]:
    """The ways of quoting that the sample gives reason to try, the likelier first."""
    if '"' in sample:
        escaped: list[tuple[str | None, str | None]] = [('"', "\\")] if '\\"' in sample else []
        return [('"', None), *escaped, (None, None)]
    if _SINGLE_QUOTED.search(sample):
        return [("'", None), ('"', None)]
    return [('"', None)]


def _read(lines: Sequence[str], dialect: Dialect, *, whole: bool) -> _Reading:
    reader = python_csv.reader(
        lines,
        delimiter=dialect.separator,
        quotechar=dialect.quote,
        escapechar=dialect.escape,
        doublequote=dialect.escape is None,
        quoting=csv.QUOTE_NONE if dialect.quote is None else python_csv.QUOTE_MINIMAL,
        strict=True,
    )
    rows: list[tuple[str, ...]] = []
    header_lines = 0
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                header_lines = header_lines or reader.line_num
        sound = misplaced_quote(["".join(lines).encode()], dialect, whole=whole) is None
    except python_csv.Error:
        sound = not whole and reader.line_num >= len(lines)  # the sample ends within a field
    return _Reading(dialect, tuple(rows), header_lines, sound)


def misplaced_quote(blocks: Iterable[bytes], dialect: Dialect, *, whole: bool = True) -> int | None:
    """The offset of the first quote that neither begins nor ends a field nor is doubled, or None.

    ``blocks`` is the text as UTF-8 from the beginning of a row on, in pieces of any size.  If it
    is ``whole``, a quote that is never closed counts as misplaced.  A misplaced quote may show
    only at the next one, so the offset is where the quotes stop making sense, or a little after.
    """
    if dialect.quote is None:
        return None
    scan = _QuoteScan(dialect)
    for block in blocks:
        fault = scan.feed(block)
        if fault is not None:
            return fault
    return scan.finish() if whole else None


class _QuoteScan:
    """The state of ``misplaced_quote`` between two blocks."""

    def __init__(self, dialect: Dialect) -> None:
        quote = dialect.quote or ""
        self._quote = quote.encode()
        self._escape = (dialect.escape or "").encode()
        self._ends = np.zeros(256, dtype=np.bool_)  # bytes beside which a quoted field may stand
        self._ends[list(b"\r\n" + dialect.separator.encode())] = True
        self._inside = False
        self._opened = 0  # offset of the last quote that opened a field
        self._start = -1  # offset of the first byte of `_held`
        self._held = b"\n"  # a row ends before the first byte

    def feed(self, block: bytes) -> int | None:
        # Runs of quotes and escapes are not cut: a quote is judged by both its neighbours.
        data = self._held + block
        kept = len(data.rstrip(self._quote + self._escape))
        if kept < 2:
            self._held = data
            return None
        fault = self._check(data[:kept])
        self._held = data[kept - 1 :]
        self._start += kept - 1
        return fault

    def finish(self) -> int | None:
        fault = self.feed(b"\n")
        return self._opened if fault is None and self._inside else fault

    def _check(self, data: bytes) -> int | None:
        """Judge all quotes but in the first byte, which is context; the last byte is no quote."""
        if self._quote not in data:
            return None
        if self._escape:
            data = data.replace(self._escape * 2, b"..").replace(self._escape + self._quote, b"..")
        symbols = np.frombuffer(data, dtype=np.uint8)
        at = np.flatnonzero(symbols == self._quote[0])
        if len(at) == 0:
            return None
        adjacent = np.diff(at) == 1
        follows = np.concatenate(([False], adjacent))
        precedes = np.concatenate((adjacent, [False]))
        opens = (np.arange(len(at)) + self._inside) % 2 == 0
        fine = np.where(
            opens,
            self._ends[symbols[at - 1]] | follows,
            self._ends[symbols[at + 1]] | precedes,
        )
        if opens.any():
            self._opened = self._start + int(at[opens][-1])
        self._inside = bool(opens[-1])
        return None if fine.all() else self._start + int(at[~fine][0])
