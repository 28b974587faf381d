"""CSV files: strict parsing into typed columns.

The encoding (``encoding``), the dialect and the types (``arrays``) are found out, never asked for.
Parsing is strict, because a publisher that guesses at a broken row publishes a guess: every row
must have as many fields as the header, and quotes must pair.

* An empty field without quotes is missing; ``""`` is the empty text.
* Lines without any character are skipped, except in a file of one column, where such a line is
  a row whose value is missing.
* Text keeps the spaces around it, unless the file has one after every separator (``39, Private``).
* Names in the header lose the spaces around them.  Each needs a name of its own.
* Where the separator is not a comma, columns of numbers with decimal commas become numbers, and
  a note says so; ``arrays.infer_decimal_comma`` says when this is safe.

The dialect is how a file separates and quotes its fields.  The first lines are read in every usual
way (comma, semicolon, tab or bar; double quotes, double quotes escaped by a backslash, single
quotes, no quotes), and the way is kept in which

1. the header has more than one field,
2. most rows have as many fields as the header,
3. most fields are numbers (a decimal comma is part of a number, so that ``1,5;2,5`` is two), and
4. there are most fields,

in this order.  A header of one field makes a file of one column, which is read as if separated
by commas: should a row hold a comma outside quotes, whether that is text, a decimal comma or a
field too many cannot be told, and the row is refused as ragged.  All of the file is then looked
through for misplaced quotes.  CSV readers forgive quotes in odd places by joining rows, and a
publisher must not lose rows; so the only quotes accepted are those around a whole field, and
doubled ones within.

Cost: ten-odd passes over 128 KiB for the dialect, two vectorized passes over the bytes before
parsing (one if there are no quotes), then Arrow's parser on all cores.  Peak memory is about the
text of the wanted columns plus the typed columns; each column's text is released when its type is
known.
"""

from __future__ import annotations

import csv as python_csv
import io
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from voile.schema.layout import (
    ROW_NAMES,
    USUAL,
    InputLayout,
    column_names,
    row_names_note,
    with_row_names,
)
from voile.table.arrays import (
    infer_decimal_comma,
    infer_type,
    series_of,
    with_marks,
    with_missing,
)
from voile.table.codes import of_distinct
from voile.table.formats.encoding import Utf8Text
from voile_base.errors import EmptyTableError, InputError, TableError, refuse_out_of_memory
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values import Json

__all__ = ["csv_ends", "csv_names", "read_csv"]


_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = pattern_on_demand(r"\s*[+-]?\d+(?:[.,]\d+)?\s*")
_SINGLE_QUOTED = pattern_on_demand(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", re.MULTILINE)
_JUDGED = 200  # rows whose fields are compared with numbers


@dataclass(frozen=True)
class _Dialect:
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
class _FileLayout:
    """A dialect, the names in the header, and the size of the header in bytes of UTF-8."""

    dialect: _Dialect
    names: tuple[str, ...]
    header_size: int
    unnamed: bool = False
    """Whether the first column has no name in the file."""
    stated: InputLayout = USUAL
    """What the plan says of the file."""


@dataclass(frozen=True)
class _Reading:
    """The first rows as read in one dialect; ``sound`` is false if a quote makes no sense in it."""

    dialect: _Dialect
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

    def merit_of_most(self) -> tuple[bool, bool, float, float, int]:
        """The same where lines above the names have fewer fields than most rows."""
        if not self.rows:
            return (False, False, 0.0, 0.0, 0)
        width = Counter(map(len, self.rows)).most_common(1)[0][0]
        first = next(place for place, row in enumerate(self.rows) if len(row) == width)
        whole = self.merit()[:2] == (True, 1.0)  # commas of decimals part all rows but the names
        return (whole, *replace(self, rows=self.rows[first:]).merit())

    def looks_quoted(self) -> bool:
        """Whether a field that was read without quotes begins with one."""
        return any(value.startswith('"') for row in self.rows for value in row)

    def is_spaced(self) -> bool:
        """Whether each value but the first of its row begins with a space."""
        later = [value for row in self.rows[1:] for value in row[1:] if value]
        return bool(later) and all(value.startswith(" ") for value in later)


@lru_cache(maxsize=1)
def _detect_dialect(sample: str, *, whole: bool) -> _FileLayout | None:
    """The layout of a CSV file that begins with ``sample``, or None if no header ends in it.

    ``whole`` says that the sample is all of the file, so that its last row is complete.
    Names in the header lose the spaces around them.
    """
    lines = list(io.StringIO(sample, newline=""))
    best = _best_of(_readings(sample, lines, whole=whole))
    if not best.rows:
        return None
    dialect = best.dialect
    if best.is_spaced():
        dialect = _Dialect(dialect.separator, dialect.quote, dialect.escape, spaced=True)
    header_size = len("".join(lines[: best.header_lines]).encode())
    return _FileLayout(dialect, tuple(name.strip() for name in best.rows[0]), header_size)


def _readings(sample: str, lines: Sequence[str], *, whole: bool) -> list[_Reading]:
    """The first rows in each dialect that the sample gives reason to try."""
    readings = [
        _read(lines, _Dialect(separator, quote, escape), whole=whole)
        for quote, escape in _quotings(sample)
        for separator in _SEPARATORS
        if separator == "," or separator in sample  # others part nothing
    ]
    return [r for r in readings if r.dialect.quote is not None or not r.looks_quoted()]


def _best_of(readings: Sequence[_Reading]) -> _Reading:
    """The first of equals: the commoner dialect."""
    best = max(readings, key=_Reading.merit)
    if best.merit()[0]:
        return best
    return max((r for r in readings if r.dialect.separator == ","), key=_Reading.merit)


def _quotings(sample: str) -> list[tuple[str | None, str | None]]:
    """The ways of quoting that the sample gives reason to try, the likelier first."""
    if '"' in sample:
        escaped: list[tuple[str | None, str | None]] = [('"', "\\")] if '\\"' in sample else []
        return [('"', None), *escaped, (None, None)]
    if _SINGLE_QUOTED.search(sample):
        return [("'", None), ('"', None)]
    return [('"', None)]


def _read(lines: Sequence[str], dialect: _Dialect, *, whole: bool) -> _Reading:
    reader = python_csv.reader(lines, **_reader_options(dialect))
    rows: list[tuple[str, ...]] = []
    header_lines = 0
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                header_lines = header_lines or reader.line_num
        sound = _misplaced_quote(["".join(lines).encode()], dialect, whole=whole) is None
    except python_csv.Error:
        sound = not whole and reader.line_num >= len(lines)  # the sample ends within a field
    return _Reading(dialect, tuple(rows), header_lines, sound)


def _reader_options(dialect: _Dialect) -> Json:
    """Of Python's reader."""
    return {
        "delimiter": dialect.separator,
        "quotechar": dialect.quote,
        "escapechar": dialect.escape,
        "doublequote": dialect.escape is None,
        "quoting": python_csv.QUOTE_NONE if dialect.quote is None else python_csv.QUOTE_MINIMAL,
        "strict": True,
    }


def _misplaced_quote(
    blocks: Iterable[bytes], dialect: _Dialect, *, whole: bool = True
) -> int | None:
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
    """The state of ``_misplaced_quote`` between two blocks."""

    def __init__(self, dialect: _Dialect) -> None:
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


_BLOCK = 1 << 24  # bytes, the longest row a CSV file may have
_NOTES = 5
"""Lines of sums or notes below a table, at most."""
_TAIL = 1 << 15
"""Bytes of the end of a file in which they are looked for."""
_SAMPLE = 1 << 17  # bytes from which the dialect is told; Python's parser has the same field limit


def read_csv(
    path: Path,
    *,
    compression: str | None = None,
    columns: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    texts: Collection[str] = (),
    stated: InputLayout = USUAL,
    compact: bool = False,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table in a CSV file and notes on what had to be assumed to read it.

    ``columns`` limits the result to these, in the file's order; names that the file does not
    have are left out.  ``missing`` holds texts that mean "no value".  ``texts`` names columns that
    stay as they are written, whatever they look like.  ``stated`` is what a plan says of the file.
    Where the result is to be ``compact``, few distinct texts stand in dictionaries, and each is
    read once; the marks that a plan states are looked for in all rows.

    Raises TableError, which names the line, for anything that is not one table.
    """
    text, layout = _laid_out(Utf8Text.of_file(path, compression), stated)
    _require_rows(text, layout)
    _require_paired_quotes(text, layout)
    wanted = [name for name in layout.names if columns is None or name in set(columns)]
    table = _parse(text, layout, wanted, compact=compact)
    notes = list(text.notes)
    if layout.unnamed and ROW_NAMES in wanted:
        notes.append(row_names_note(text.name))
    if stated.header_rows and all(
        name.replace(".", "").lstrip("-").isdigit() for name in layout.names
    ):
        notes.append(f"{text.name}: all names in line 1 are numbers; is the header line missing?")
    typed = []
    for name in wanted:
        values, codes = _distinct(table.column(name)) if compact else (table.column(name), None)
        table = table.drop_columns([name])  # before the next is converted, to free its text
        series = _cleaned(series_of(values, name), layout.dialect, missing)
        series, note = (series, None) if name in texts else _typed(series, layout)
        typed.append(series if codes is None else of_distinct(series, codes))
        notes += [f"{text.name}: {note}"] if note else []
    return pl.DataFrame(typed), tuple(notes)


def csv_names(
    path: Path,
    *,
    compression: str | None = None,
    stated: InputLayout = USUAL,
) -> tuple[str, ...]:
    """The names in the header of a CSV file; raises TableError as ``read_csv`` does."""
    return _laid_out(Utf8Text.of_file(path, compression), stated)[1].names


def csv_ends(
    path: Path, rows: int, *, compression: str | None = None
) -> tuple[list[tuple[int, list[str]]], int | None]:
    """The first rows of a CSV file with the line on which each begins, from 1, and its last line.

    Rows are parted as most of its first lines are, which may be fewer fields in lines above the
    names.  The last line is that of the table, where a few short lines stand below it; see
    ``_last_line``.  Raises TableError as ``read_csv`` does.
    """
    text = Utf8Text.of_file(path, compression)
    sample, whole = _sample(text)
    lines = list(io.StringIO(sample, newline=""))
    dialect = max(_readings(sample, lines, whole=whole), key=_Reading.merit_of_most).dialect
    reader = python_csv.reader(lines, **_reader_options(dialect))
    found: list[tuple[int, list[str]]] = []
    begins = 1
    with suppress(python_csv.Error):
        for row in reader:
            found.append((begins, row))
            begins = reader.line_num + 1
            if len(found) == rows:
                break
    return found, _last_line(text, dialect.separator)


def _last_line(text: Utf8Text, separator: str) -> int | None:
    """The last line of a table, where a few short lines stand below it, as of sums or notes.

    None elsewhere, and where it cannot be told from a row that was cut off: a line without its end,
    with half of the fields, or with a quotation mark, which may be the end of a longer field.
    """
    with text.open() as stream:
        size = stream.seek(0, io.SEEK_END) - text.start
    tail = b"".join(text.blocks(max(0, size - _TAIL)))
    ended = io.StringIO(tail.decode("utf-8", "ignore")).readlines()
    if not ended:
        return None
    fields = [(line.count(separator) + 1) * bool(line.strip()) for line in ended]
    width = Counter(fields).most_common(1)[0][0]
    below = fields[::-1].index(width)
    under = "".join(ended[len(ended) - below :])
    told = [count for count in fields[len(fields) - below :] if count]
    notes = 0 < len(told) <= _NOTES and 2 * max(told) < width
    if not notes or '"' in under or not under.endswith("\n"):
        return None
    return sum(block.count(b"\n") for block in text.blocks()) - below


def _laid_out(text: Utf8Text, stated: InputLayout) -> tuple[Utf8Text, _FileLayout]:
    """The text from its names on, and how it is laid out."""
    if (stated.header, stated.last, stated.number_names) == (1, None, False):
        return text, replace(_layout(text), stated=stated)
    if stated.sheet is not None:
        msg = f"{text.name}: [input] sheet is for workbooks; a CSV file has none"
        raise InputError(msg)
    above = (stated.header_rows or (1,))[0] - 1
    text = _between_lines(text, above, stated.last)
    head, whole = _sample(text)
    lines = list(io.StringIO(head, newline=""))
    best = _best_of(_readings(head, lines, whole=whole))
    count = len(stated.header_rows)
    if len(best.rows) < count or not best.rows:
        raise TableError(f"{text.name}: the file ends above line {above + count}, its names")
    width = max(map(len, best.rows[: count or 1]))
    names = column_names(best.rows[:count], width, numbered=stated.number_names)
    size = len("".join(lines[: _lines_of(best, lines, count)]).encode())
    dialect = replace(best.dialect, spaced=best.is_spaced())
    layout = _FileLayout(dialect, names, size, stated=stated)
    if not stated.number_names and count:
        layout = _with_row_names(layout)
    _require_names(text, layout.names)
    return text, layout


def _between_lines(text: Utf8Text, above: int, last: int | None) -> Utf8Text:
    """A text without the lines above its names and below its last row; raises ``TableError``."""
    start, end, line = 0, None, 0
    with text.open() as stream:
        while line < (above if last is None else last):
            if line == above:
                start = stream.tell() - text.start
            if not stream.readline(_BLOCK):
                raise TableError(
                    f"{text.name}: the file has {line:,} lines, fewer than [input] says"
                )
            line += 1
        here = stream.tell() - text.start
        start = here if line == above else start
        end = None if last is None else here - start
    return replace(text, start=text.start + start, lines_above=above, end=end)


def _lines_of(reading: _Reading, lines: Sequence[str], rows: int) -> int:
    """How many lines the first rows take."""
    reader = python_csv.reader(lines, **_reader_options(reading.dialect))
    while rows:
        rows -= bool(next(reader))
    return reader.line_num


def _layout(text: Utf8Text) -> _FileLayout:
    """The dialect and header of the text, with a proper name for each column."""
    sample, whole = _sample(text)
    if not sample.strip("\r\n"):
        raise TableError(
            f"{text.name}: the file is empty; it needs a header line with the names of the "
            "columns, then one line for each row"
        )
    layout = _detect_dialect(sample, whole=whole)
    if layout is None:
        raise TableError(
            f"{text.name}: line 1: the header does not end; a quotation mark is not closed"
        )
    layout = _with_row_names(layout)
    _require_names(text, layout.names)
    return layout


def _sample(text: Utf8Text) -> tuple[str, bool]:
    """The beginning of a text, in whole lines, and whether it is all of it."""
    with text.open() as stream:
        head = stream.read(_SAMPLE)
        head += stream.readline(_BLOCK)  # no half line, unless it is endless
        whole = not stream.read(1)
    return head.decode("utf-8", "ignore"), whole


def _with_row_names(layout: _FileLayout) -> _FileLayout:
    """A layout whose first column has a name where it alone had none."""
    names = with_row_names(layout.names)
    return layout if names is layout.names else replace(layout, names=names, unnamed=True)


def _require_names(text: Utf8Text, names: Sequence[str]) -> None:
    if "" in names:
        raise TableError(
            f"{text.name}: column {names.index('') + 1} of {len(names)} has no name in the header "
            "line; give it one (a separator at the end of the line makes a column too)"
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        at = [position for position, other in enumerate(names, 1) if other == name]
        raise TableError(
            f"{text.name}: columns {', '.join(map(str, at[:-1]))} and {at[-1]} are both named "
            f"{name!r}; give each column a name of its own"
        )


def _require_rows(text: Utf8Text, layout: _FileLayout) -> None:
    if not any(block.strip(b"\r\n") for block in text.blocks(layout.header_size)):
        raise EmptyTableError(
            f"{text.name}: there is a header and no row after it; the table needs at least one row"
        )


def _require_paired_quotes(text: Utf8Text, layout: _FileLayout) -> None:
    offset = _misplaced_quote(text.blocks(), layout.dialect)
    if offset is not None:
        raise TableError(
            f"{text.name}: line {text.line_at(offset)}: a quotation mark inside a field, or one "
            "that is not closed there or before; put the whole field in quotation marks and "
            "double those within"
        )


@dataclass
class _RaggedRow:
    """Arrow's report on the first row with too few or too many fields."""

    expected: int = 0
    found: int = 0
    row: int | None = None

    def __call__(self, invalid: csv.InvalidRow) -> str:
        """Remember the row and stop the parser."""
        self.expected, self.found = invalid.expected_columns, invalid.actual_columns
        self.row = invalid.number
        return "error"


def _parse(
    text: Utf8Text, layout: _FileLayout, wanted: Sequence[str], *, compact: bool = False
) -> pa.Table:
    """The wanted columns as text; an empty field without quotes is null."""
    try:
        return _parse_arrow(text, layout, wanted, compact=compact)
    except pa.ArrowException as fault:
        refuse_out_of_memory(fault)
    raise _unparsed(text, layout)


def _parse_arrow(
    text: Utf8Text,
    layout: _FileLayout,
    wanted: Sequence[str],
    ragged: _RaggedRow | None = None,
    *,
    compact: bool = False,
) -> pa.Table:
    """Parse in parallel, or to find a row that is ragged; ``compact``: texts in dictionaries.

    Arrow's threads outlast the parsing: where one of them calls Python, or lets go of an object of
    Python, while the process leaves, the process is aborted.  So they get none but for a message.
    """
    dialect = layout.dialect
    kind = pa.dictionary(pa.int32(), pa.string()) if compact else pa.string()
    with _native(text, layout.header_size) as stream:
        table = csv.read_csv(
            stream,
            read_options=csv.ReadOptions(
                use_threads=ragged is None, block_size=_BLOCK, column_names=list(layout.names)
            ),
            parse_options=csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=dialect.quote or False,
                escape_char=dialect.escape or False,
                double_quote=dialect.escape is None,
                newlines_in_values=dialect.quote is not None,
                ignore_empty_lines=len(layout.names) > 1,
                invalid_row_handler=ragged,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(layout.names, kind),
                include_columns=list(wanted) or [layout.names[0]],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=False,  # ``encoding`` has seen to it
            ),
        )
    return table.select(list(wanted))


def _native(text: Utf8Text, offset: int) -> pa.NativeFile:
    """The text from a place on, as a stream of Arrow's own."""
    if text.content is None and text.end is None:
        file = pa.OSFile(os.fsencode(text.path))
        file.seek(text.start + offset)
        return file
    with text.open(offset) as stream:
        return pa.BufferReader(stream.read())


def _unparsed(text: Utf8Text, layout: _FileLayout) -> TableError:
    """Which row is ragged; parses again, because rows are not counted by parallel parsers."""
    ragged = _RaggedRow()
    with suppress(pa.ArrowException):
        _parse_arrow(text, layout, layout.names[:1], ragged)
    if not ragged.expected:
        return TableError(
            f"{text.name}: a row is longer than {_BLOCK >> 20} MiB, or the file changed while it "
            "was read; check the file and read it again"
        )
    line = _line_of_row(text, layout, ragged.row or 1)
    separator = {"\t": "tab", "|": "bar", ";": "semicolon"}.get(layout.dialect.separator, "comma")
    fields = "1 field" if ragged.found == 1 else f"{ragged.found} fields"
    return TableError(
        f"{text.name}: line {line} has {fields} where the header has "
        f"{ragged.expected} (separator: {separator}); complete the line, put the field that "
        "holds a separator in quotation marks, or delete the line where it is a note"
    )


def _line_of_row(text: Utf8Text, layout: _FileLayout, row: int) -> int:
    """The line of the file on which a 1-based data row begins; its quotes are known to pair."""
    blank_is_row = len(layout.names) == 1
    start, inside = 0, False
    with text.open(layout.header_size) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", newline=None)
        for number, line in enumerate(lines, text.line_at(layout.header_size)):
            if not inside:
                start = number
                row -= blank_is_row or line != "\n"
            inside ^= _count_quotes(line, layout.dialect) % 2 == 1
            if row == 0:
                break
    return start


def _count_quotes(line: str, dialect: _Dialect) -> int:
    if dialect.quote is None:
        return 0
    if dialect.escape is not None:
        line = line.replace(dialect.escape * 2, "").replace(dialect.escape + dialect.quote, "")
    return line.count(dialect.quote)


def _distinct(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """The distinct texts of a column of dictionaries, null behind others, and each row's."""
    chunks = column.unify_dictionaries().chunks
    texts = chunks[0].dictionary if chunks else pa.array([], pa.string())
    codes = np.full(len(column), len(texts), dtype=np.int32)
    start = 0
    for chunk in chunks:
        found = codes[start : start + len(chunk)]
        found[:] = series_of(chunk.indices).fill_null(len(texts)).to_numpy()
        start += len(chunk)
    nulls = pa.nulls(1 if column.null_count else 0, texts.type)
    return pa.concat_arrays([texts, nulls]), codes


def _cleaned(series: pl.Series, dialect: _Dialect, missing: Sequence[str]) -> pl.Series:
    """A column of text without the spaces of the dialect and the texts that mean "no value"."""
    if dialect.spaced:
        series = series.str.strip_chars_start(" ")
    return with_missing(series, missing)


def _typed(series: pl.Series, layout: _FileLayout) -> tuple[pl.Series, str | None]:
    """A column of text as the type it holds, and a note if that took an assumption."""
    dialect, stated = layout.dialect, layout.stated
    marked = with_marks(series, stated)
    if marked.dtype != pl.String:
        return marked, None
    typed = infer_type(series)
    if typed.dtype.is_float() and stated.decimal == ",":
        return series, None  # a point is no decimal mark there
    if typed.dtype == pl.String and dialect.separator != ",":
        numbers = infer_decimal_comma(typed)
        if numbers is not None:
            return numbers, f"column {series.name!r} holds numbers with decimal commas"
    return typed, None
