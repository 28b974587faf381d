"""CSV files: strict parsing into typed columns.

The encoding, the dialect and the types are found out, never asked for (modules ``encoding``,
``dialect`` and ``value_types``).  Parsing is strict, because a publisher that guesses at a broken
row publishes a guess: every row must have as many fields as the header, and quotes must pair.

* An empty field without quotes is missing; ``""`` is the empty text.
* Lines without any character are skipped, except in a file of one column, where such a line is
  a row whose value is missing.
* Text keeps the spaces around it, unless the file has one after every separator (``39, Private``).
* Names in the header lose the spaces around them.  Each needs a name of its own.
* Where the separator is not a comma, columns of numbers with decimal commas become numbers, and
  a note says so; ``value_types.infer_decimal_comma`` says when this is safe.

Cost: two vectorized passes over the bytes before parsing (one if there are no quotes), then
Arrow's parser on all cores.  Peak memory is about the text of the wanted columns plus the typed
columns; each column's text is released when its type is known.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow as pa
from pyarrow import csv

from voile.table.dialect import Dialect, FileLayout, detect_dialect, misplaced_quote
from voile.table.encoding import BLOCK, Utf8Text, open_text
from voile.table.value_types import infer_decimal_comma, infer_type, with_missing
from voile_base.errors import TableError, refuse_out_of_memory

__all__ = ["csv_names", "read_csv"]

_ROW = "row"
"""What a first column without a name is called."""
_SAMPLE = 1 << 17  # bytes from which the dialect is told; Python's parser has the same field limit


def read_csv(
    path: Path,
    *,
    compression: str | None = None,
    columns: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    texts: Collection[str] = (),
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table in a CSV file and notes on what had to be assumed to read it.

    ``columns`` limits the result to these, in the file's order; names that the file does not
    have are left out.  ``missing`` holds texts that mean "no value".  ``texts`` names columns that
    stay as they are written, whatever they look like.

    Raises TableError, which names the line, for anything that is not one table.
    """
    text = open_text(path, compression)
    layout = _layout(text)
    _require_rows(text, layout)
    _require_paired_quotes(text, layout)
    wanted = [name for name in layout.names if columns is None or name in set(columns)]
    table = _parse(text, layout, wanted)
    notes = list(text.notes)
    if layout.unnamed and _ROW in wanted:
        notes.append(f"{text.name}: column 1 has no name; it is called {_ROW!r}, as row names are")
    if all(name.replace(".", "").lstrip("-").isdigit() for name in layout.names):
        notes.append(f"{text.name}: all names in line 1 are numbers; is the header line missing?")
    typed = []
    for name in wanted:
        series = pl.Series(name, table.column(name))
        table = table.drop_columns([name])  # before the next is converted, to free its text
        series = _cleaned(series, layout.dialect, missing)
        series, note = (series, None) if name in texts else _typed(series, layout.dialect)
        typed.append(series)
        notes += [f"{text.name}: {note}"] if note else []
    return pl.DataFrame(typed), tuple(notes)


def csv_names(path: Path, *, compression: str | None = None) -> tuple[str, ...]:
    """The names in the header of a CSV file; raises TableError as ``read_csv`` does."""
    return _layout(open_text(path, compression)).names


def _layout(text: Utf8Text) -> FileLayout:
    """The dialect and header of the text, with a proper name for each column."""
    with text.open() as stream:
        head = stream.read(_SAMPLE)
        head += stream.readline(BLOCK)  # no half line, unless it is endless
        whole = not stream.read(1)
    sample = head.decode("utf-8", "ignore")
    if not sample.strip("\r\n"):
        raise TableError(
            f"{text.name}: the file is empty; it needs a header line with the names of the "
            "columns, then one line for each row"
        )
    layout = detect_dialect(sample, whole=whole)
    if layout is None:
        raise TableError(
            f"{text.name}: line 1: the header does not end; a quotation mark is not closed"
        )
    layout = _with_row_names(layout)
    _require_names(text, layout.names)
    return layout


def _with_row_names(layout: FileLayout) -> FileLayout:
    """A layout whose first column, if it alone has no name, is called ``row``.

    So R's ``write.csv`` and Pandas' ``to_csv`` write names and numbers of rows.
    """
    first, *others = layout.names
    if first or not others or "" in others or _ROW in others:
        return layout
    return replace(layout, names=(_ROW, *others), unnamed=True)


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


def _require_rows(text: Utf8Text, layout: FileLayout) -> None:
    if not any(block.strip(b"\r\n") for block in text.blocks(layout.header_size)):
        raise TableError(
            f"{text.name}: there is a header and no row after it; the table needs at least one row"
        )


def _require_paired_quotes(text: Utf8Text, layout: FileLayout) -> None:
    offset = misplaced_quote(text.blocks(), layout.dialect)
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


def _parse(text: Utf8Text, layout: FileLayout, wanted: Sequence[str]) -> pa.Table:
    """The wanted columns as text; an empty field without quotes is null."""
    ragged = _RaggedRow()
    try:
        return _parse_arrow(text, layout, wanted, ragged, use_threads=True)
    except pa.ArrowException as fault:
        refuse_out_of_memory(fault)
        if not ragged.expected:
            raise TableError(
                f"{text.name}: a row is longer than {BLOCK >> 20} MiB, or the file changed while "
                "it was read; check the file and read it again"
            ) from None
    raise _ragged_error(text, layout)


def _parse_arrow(
    text: Utf8Text,
    layout: FileLayout,
    wanted: Sequence[str],
    ragged: _RaggedRow,
    *,
    use_threads: bool,
) -> pa.Table:
    dialect = layout.dialect
    with text.open(layout.header_size) as stream:
        table = csv.read_csv(
            stream,
            read_options=csv.ReadOptions(
                use_threads=use_threads, block_size=BLOCK, column_names=list(layout.names)
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
                column_types=dict.fromkeys(layout.names, pa.string()),
                include_columns=list(wanted) or [layout.names[0]],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=False,  # ``encoding`` has seen to it
            ),
        )
    return table.select(list(wanted))


def _ragged_error(text: Utf8Text, layout: FileLayout) -> TableError:
    """Which row is ragged; parses again, because rows are not counted by parallel parsers."""
    ragged = _RaggedRow()
    with suppress(pa.ArrowException):
        _parse_arrow(text, layout, layout.names[:1], ragged, use_threads=False)
    line = _line_of_row(text, layout, ragged.row or 1)
    separator = {"\t": "tab", "|": "bar", ";": "semicolon"}.get(layout.dialect.separator, "comma")
    fields = "1 field" if ragged.found == 1 else f"{ragged.found} fields"
    return TableError(
        f"{text.name}: line {line} has {fields} where the header has "
        f"{ragged.expected} (separator: {separator}); complete the line, or put the field that "
        "holds a separator in quotation marks"
    )


def _line_of_row(text: Utf8Text, layout: FileLayout, row: int) -> int:
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


def _count_quotes(line: str, dialect: Dialect) -> int:
    if dialect.quote is None:
        return 0
    if dialect.escape is not None:
        line = line.replace(dialect.escape * 2, "").replace(dialect.escape + dialect.quote, "")
    return line.count(dialect.quote)


def _cleaned(series: pl.Series, dialect: Dialect, missing: Sequence[str]) -> pl.Series:
    """A column of text without the spaces of the dialect and the texts that mean "no value"."""
    if dialect.spaced:
        series = series.str.strip_chars_start(" ")
    return with_missing(series, missing)


def _typed(series: pl.Series, dialect: Dialect) -> tuple[pl.Series, str | None]:
    """A column of text as the type it holds, and a note if that took an assumption."""
    typed = infer_type(series)
    if typed.dtype == pl.String and dialect.separator != ",":
        numbers = infer_decimal_comma(typed)
        if numbers is not None:
            return numbers, f"column {series.name!r} holds numbers with decimal commas"
    return typed, None
