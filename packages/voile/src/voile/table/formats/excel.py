"""Workbooks: one sheet is a table, its first row the names of the columns.

Which sheet: ``people.xlsx#Patients``; without, the only one that holds anything.  Read are
``.xlsx``, ``.xlsm``, ``.xlsb``, ``.xls`` and ``.ods`` (fastexcel); written is ``.xlsx``
(XlsxWriter, a row at a time).

What is read is values: numbers, texts, dates, truth values, and what formulas were last worked out
to.  Formats, formulas, comments and colours are not kept.  A column of numbers and texts is one of
texts.  A cell with an error such as ``#N/A`` is refused, for a missing value would hide it.

Headers over several rows or columns are refused: a table has one row of names, each its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from voile.table.formats.registry import Whole, library
from voile.table.formats.shaping import calendar_of_instants, refuse_nothing, whole_numbers
from voile_base.errors import InputError, TableError, nearest, refuse_out_of_memory

__all__ = ["Excel", "read_sheets", "write_sheets"]

MOST_ROWS = 1_048_575
"""Below the row of names."""
MOST_COLUMNS = 16_384
_EXACT = 2**53
_NO_TITLE = re.compile(r"[\[\]:*?/\\]")
_LONGEST_TITLE = 31


class Excel:
    """See ``registry.FileFormat``."""

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """The sheet of that name, or the only one."""
        fastexcel = library("fastexcel", "excel", f"{file}: reading workbooks")
        with file.open("rb"):  # says what the system refuses
            pass
        faults = (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError)
        try:
            book = fastexcel.read_excel(file)
            sheet = _sheet(file, book, part)
            names = _names(file, book, sheet)
            rows, wrong = book.load_sheet(sheet, schema_sample_rows=None).to_arrow_with_errors()
        except faults as fault:
            refuse_out_of_memory(fault)
            raise TableError(
                f"{file}: the workbook is not whole or not valid; save it again from its source"
            ) from None
        if wrong is not None and wrong.errors:
            row, column = wrong.errors[0].offset_position
            raise TableError(
                f"{file}: row {row + 1} of column {names[column]!r} holds an error such as #N/A; "
                "mend the formula, or clear the cell"
            )
        frame = pl.DataFrame(rows)
        refuse_nothing(file, names, frame.height)
        frame.columns = list(names)
        wanted = [name for name in names if columns is None or name in columns]
        shaped = [calendar_of_instants(whole_numbers(frame[name])) for name in wanted]
        return Whole(pl.DataFrame(shaped), names)

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Sheets end somewhere."""
        library("xlsxwriter", "excel", "writing workbooks")
        if rows > MOST_ROWS or len(names) > MOST_COLUMNS:
            return (
                f"a sheet of a workbook has at most {MOST_ROWS:,} rows below its names and "
                f"{MOST_COLUMNS:,} columns"
            )
        return None

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """One sheet, a row at a time; whole numbers that doubles cannot hold become texts."""
        with _workbook(file) as book:
            _write_sheet(book, "data", batches, schema)


def write_sheets(file: Path, sheets: Mapping[str, pl.DataFrame]) -> None:
    """Write a new workbook with a sheet for each table; raises ``OSError`` as the disk does.

    A sheet has the name of its table, as far as names of sheets may be so.
    """
    titles: set[str] = set()
    with _workbook(file) as book:
        for number, (name, frame) in enumerate(sheets.items(), 1):
            title = _NO_TITLE.sub(" ", name).strip(" '")[:_LONGEST_TITLE]
            if not title or title.casefold() in titles:
                title = f"{title[: _LONGEST_TITLE - 8]} ({number})".strip()
            titles.add(title.casefold())
            _write_sheet(book, title, iter([frame]), frame.schema)


def read_sheets(file: Path) -> pl.DataFrame:
    """The rows of all sheets of a workbook, which have the same columns.

    Raises ``TableError`` where they have not.
    """
    fastexcel = library("fastexcel", "excel", f"{file}: reading workbooks")
    titles = fastexcel.read_excel(file).sheet_names
    frames = [Excel().read(file, title, None).frame for title in titles]
    try:
        return pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        msg = f"{file}: the sheets of the workbook do not have the same columns"
        raise TableError(msg) from None


@contextmanager
def _workbook(file: Path) -> Iterator[Any]:
    """A new workbook, written at the end."""
    xlsxwriter = library("xlsxwriter", "excel", "writing workbooks")
    options = {"constant_memory": True, "strings_to_urls": False, "nan_inf_to_errors": True}
    book = xlsxwriter.Workbook(file, options)
    try:
        yield book
    finally:
        try:
            book.close()
        except xlsxwriter.exceptions.XlsxWriterException as fault:
            raise OSError(*getattr(fault, "args", ())) from None


def _write_sheet(book: Any, title: str, batches: Iterator[pl.DataFrame], schema: pl.Schema) -> None:
    sheet = book.add_worksheet(title)
    formats = {
        pl.Date: book.add_format({"num_format": "yyyy-mm-dd"}),
        pl.Datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        pl.Time: book.add_format({"num_format": "hh:mm:ss"}),
    }
    columns = [formats.get(dtype.base_type()) for dtype in schema.dtypes()]
    for place, name in enumerate(schema.names()):
        sheet.write_string(0, place, name)
    row = 0
    for batch in batches:
        for values in batch.iter_rows():
            row += 1
            _write_row(sheet, row, values, columns)


def _sheet(file: Path, book: Any, part: str | None) -> str:
    """The name of the sheet that is meant."""
    sheets: list[str] = list(book.sheet_names)
    if part is not None:
        if part not in sheets:
            raise InputError(
                f"{file}: the workbook has no sheet {part!r}{nearest(part, sheets)}; it has "
                f"{', '.join(map(repr, sheets))}"
            )
        return part
    if len(sheets) > 1:
        loaded = {name: book.load_sheet(name, header_row=None, n_rows=1) for name in sheets}
        sheets = [n for n, one in loaded.items() if one.total_height and one.visible == "visible"]
    if len(sheets) != 1:
        if not sheets:
            raise TableError(f"{file}: the workbook holds no table")
        raise InputError(
            f"{file}: the workbook has several sheets ({', '.join(map(repr, sheets))}); say which "
            f"one behind #: {file}#{sheets[0]}"
        )
    return sheets[0]


def _names(file: Path, book: Any, sheet: str) -> tuple[str, ...]:
    """The names in the first row; raises ``TableError`` where they are none."""
    first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    if not first.width:
        raise TableError(f"{file}: sheet {sheet!r} is empty")
    width = book.load_sheet(sheet, schema_sample_rows=1, n_rows=0).width
    names = (*first.row(0), *([None] * (width - first.width)))
    for place, name in enumerate(names, 1):
        if name is None or not name.strip():
            raise TableError(
                f"{file}: column {place} of sheet {sheet!r} has no name in the first row; names "
                "that are merged over columns or stand in several rows must become one row of "
                "names, one for each column, with nothing above it"
            )
    return names


def _write_row(sheet: Any, row: int, values: Sequence[Any], formats: Sequence[Any]) -> None:
    for place, (value, form) in enumerate(zip(values, formats, strict=True)):
        if value is None:
            continue
        if isinstance(value, bool):
            sheet.write_boolean(row, place, value)
        elif isinstance(value, str):
            if value:
                sheet.write_string(row, place, value)
        elif form is not None:
            sheet.write_datetime(row, place, value, form)
        elif isinstance(value, int) and abs(value) > _EXACT:
            sheet.write_string(row, place, str(value))
        else:
            sheet.write_number(row, place, value)
