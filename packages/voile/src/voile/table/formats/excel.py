"""Workbooks: one sheet is a table, its first row the names of the columns.

Which sheet: ``people.xlsx#Patients``; without, the only one that holds anything.  Read are
``.xlsx``, ``.xlsm``, ``.xlsb``, ``.xls`` and ``.ods`` (fastexcel); written is ``.xlsx``
(XlsxWriter, a row at a time).

What is read is values: numbers, texts, dates, truth values, and what formulas were last worked out
to.  Formats, formulas, comments and colours are not kept.  A column of numbers and texts is one of
texts, unless the plan calls the texts missing.  A cell with an error such as ``#N/A`` is refused,
for a missing value would hide it.

Names that stand below a title, or in two rows, are read where a layout says so (``schema.layout``).
A first column that alone has no name is called ``row``, as in CSV files.

An empty row within a table is refused, for what follows may be another table; so is a workbook that
is encrypted.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from voile.schema.layout import (
    USUAL,
    InputLayout,
    column_names,
    row_names_note,
    with_row_names,
)
from voile.table.arrays import infer_type
from voile.table.formats.registry import (
    Whole,
    calendar_of_instants,
    library,
    refuse_nothing,
    whole_numbers,
)
from voile_base.errors import InputError, TableError, nearest, refuse_out_of_memory
from voile_base.ondemand import pattern_on_demand
from voile_base.values import Json

if TYPE_CHECKING:
    from fastexcel import DType, ExcelReader, ExcelSheet

__all__ = ["Excel", "read_sheets", "write_sheets"]

MOST_ROWS = 1_048_575
"""Below the row of names."""
MOST_COLUMNS = 16_384
_EXACT = 2**53
_HEAD = 76
"""Bytes of a compound file ([MS-CFB] 2.2) that say where its directory begins."""
_DIRECTORY = 4096
"""Bytes of the directory that are looked at, whose first entries name the streams."""
_COMPOUND = b"\xd0\xcf\x11\xe0"
"""How the files begin that Office encrypts, and its old workbooks."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_FILLED = 0.9
"""The share of its cells that a column of a table has, at least, above its end."""
_BELOW = 4
"""Rows below the end of a shorter table, at least."""
_FEWEST = 3
_NOTES = 20
"""Rows of notes below a table, at most."""
_TIMES = 10
"""How many times the rows of all other sheets the one of the table has, at least."""
_NO_TITLE = pattern_on_demand(r"[\[\]:*?/\\]")
_LONGEST_TITLE = 31


class Excel:
    """See ``registry.FileFormat``."""

    def read(
        self,
        file: Path,
        part: str | None,
        columns: Collection[str] | None,
        layout: InputLayout = USUAL,
    ) -> Whole:
        """The sheet of that name, or the only one, from the row of names on."""
        with _opened(file) as book:
            sheet = _sheet(file, book, layout.sheet or part)
            names, unnamed = _names(file, book, sheet, layout)
            frame = _cells(file, book, sheet, names, layout)
        refuse_nothing(file, names, frame.height)
        _refuse_gaps(file, sheet, frame, layout)
        _refuse_shorter(file, sheet, frame)
        _refuse_stacked(file, sheet, frame, names, layout)
        frame.columns = list(names)
        wanted = [name for name in names if columns is None or name in columns]
        shaped = [_shaped(frame[name], layout) for name in wanted]
        notes = (row_names_note(f"{file}"),) if unnamed and names[0] in wanted else ()
        return Whole(pl.DataFrame(shaped), names, notes, loose=True)

    def head(self, file: Path, part: str | None, rows: int) -> tuple[str, list[list[str | None]]]:
        """The name of a sheet and its first rows as texts; raises as ``read`` does."""
        with _opened(file) as book:
            sheet = _sheet(file, book, part)
            return sheet, _texts(book, sheet, 0, rows)

    def main_sheet(self, file: Path) -> str | None:
        """The sheet that has nearly all rows of a workbook of several; None where none has."""
        with _opened(file) as book:
            if len(book.sheet_names) == 1:
                return None
            heights = {name: one.total_height for name, one in _shown(book).items()}
        largest = max(heights, key=lambda name: heights[name], default=None)
        if largest is None or len(heights) == 1:
            return None
        rest = sum(heights.values()) - heights[largest]
        return largest if heights[largest] > _TIMES * rest else None

    def last(self, file: Path, part: str | None) -> int | None:
        """The last row above notes at the end of a sheet; None where none stand there.

        Below a table of three columns or more, notes fill one cell of a row; below an empty row,
        totals and signatures fill a quarter of its cells at most.
        """
        book = _reader_of(file).read_excel(file)
        sheet = _sheet(file, book, part)
        rows = book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string").to_polars()
        if not rows.width:
            return None
        filled = rows.select(n=pl.sum_horizontal(pl.all().is_not_null()))["n"]
        for most in (1, rows.width // 4):
            end = int((filled > most).arg_true().max() or 0)
            gap = (filled.slice(end + 1) == 0).arg_true().min() if most > 1 else 0
            below = filled.slice(end + 1 + int(gap or 0))
            apart = rows.width >= _FEWEST and gap is not None
            if apart and 0 < int((below > 0).sum()) <= _NOTES:
                return end + 1 + int(gap or 0)
        return None

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


@contextmanager
def _opened(file: Path) -> Iterator[ExcelReader]:
    """A workbook to read; raises ``TableError`` where it is encrypted, not whole or none."""
    fastexcel = _reader_of(file)
    _refuse_encrypted(file)
    try:
        yield fastexcel.read_excel(file)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError) as fault:
        refuse_out_of_memory(fault)
        raise TableError(
            f"{file}: the workbook is not whole or not valid; save it again from its source"
        ) from None


def _reader_of(file: Path) -> ModuleType:
    """The library that reads workbooks, without its remarks on columns that hold nothing."""
    quiet = logging.getLogger("fastexcel")
    if not quiet.handlers:
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
    reader: ModuleType = library("fastexcel", "excel", f"{file}: reading workbooks")
    return reader


def _shown(book: ExcelReader) -> dict[str, ExcelSheet]:
    """The sheets that hold something and are not hidden, each with its first row."""
    loaded = {name: book.load_sheet(name, header_row=None, n_rows=1) for name in book.sheet_names}
    return {n: one for n, one in loaded.items() if one.total_height and one.visible == "visible"}


def _sheet(file: Path, book: ExcelReader, part: str | None) -> str:
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
        sheets = list(_shown(book))
    if len(sheets) != 1:
        if not sheets:
            raise TableError(f"{file}: the workbook holds no table")
        raise InputError(
            f"{file}: the workbook has several sheets ({', '.join(map(repr, sheets))}); say which "
            f"one behind #: {file}#{sheets[0]}"
        )
    return sheets[0]


def _texts(book: ExcelReader, sheet: str, skipped: int, rows: int) -> list[list[str | None]]:
    """Some rows of a sheet as texts, from its first row on, whether that is empty or not."""
    if not book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").width:
        return []
    read = book.load_sheet(
        sheet, header_row=None, skip_rows=skipped, n_rows=rows, dtypes="string"
    ).to_polars()
    return [list(row) for row in read.rows()]


def _names(
    file: Path, book: ExcelReader, sheet: str, layout: InputLayout
) -> tuple[tuple[str, ...], bool]:
    """The names in the rows that hold them, and whether the first got one that is not there.

    Raises ``TableError`` where they are none.
    """
    rows = layout.header_rows
    whole = book.load_sheet(sheet, header_row=None, skip_rows=0, n_rows=1, dtypes="string")
    width: int = whole.width
    if not width:
        raise TableError(f"{file}: sheet {sheet!r} is empty")
    if rows and rows[-1] > whole.total_height:
        raise TableError(f"{file}: sheet {sheet!r} ends above row {rows[-1]}, its row of names")
    heads = _texts(book, sheet, rows[0] - 1, len(rows)) if rows else []
    written = names = column_names(heads, width, numbered=layout.number_names)
    if len(rows) == 1:
        names = with_row_names(names)
    if "" in names:
        _refuse_neighbours(file, book, sheet, names)
        said = "the first row" if layout.header == 1 else f"row {rows[-1]}"
        raise TableError(
            f"{file}: column {names.index('') + 1} of sheet {sheet!r} has no name in {said}. If "
            "the names stand in another row, or in two, say so: header = 3 or [3, 4] in the "
            f"plan's [input], or {file.name}#header=3 (voile plan proposes it). If another table "
            "stands beside this one, copy each to a sheet of its own. Else give the column a name"
        )
    return names, names != written


def _refuse_neighbours(file: Path, book: ExcelReader, sheet: str, names: Sequence[str]) -> None:
    """Raise ``TableError`` where empty columns part tables that stand side by side."""
    whole = book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string").to_polars()
    filled = [column.null_count() < whole.height for column in whole.get_columns()]
    first = filled.index(True)
    parted = [place for place in range(first, len(filled)) if not filled[place]]
    if not parted:
        return
    tables = 1 + sum(filled[place - 1] and any(filled[place:]) for place in parted)
    raise TableError(
        f"{file}: {tables} tables stand side by side on sheet {sheet!r}: column {parted[0] + 1} is "
        "empty and more follow it. Copy each table to a sheet of its own, save, and name the sheet "
        f"behind #: {file.name}#SHEET; where they are one table, delete the empty column"
    )


def _cells(
    file: Path, book: ExcelReader, sheet: str, names: Sequence[str], layout: InputLayout
) -> pl.DataFrame:
    """The rows below the names; a column that also holds texts such as "n/a" is one of texts."""
    told: Json = {
        "header_row": None,
        "skip_rows": layout.rows_above,
        "n_rows": None if layout.last is None else layout.last - layout.rows_above,
        "schema_sample_rows": None,
        "column_names": [f"{place}" for place in range(len(names))],
    }
    rows, wrong = book.load_sheet(sheet, **told).to_arrow_with_errors()
    mixed = {error.offset_position[1] for error in (wrong.errors if wrong else ())}
    if mixed:
        texts: dict[str | int, DType] = dict.fromkeys(mixed, "string")
        rows, wrong = book.load_sheet(sheet, **told, dtypes=texts).to_arrow_with_errors()
    if wrong is not None and wrong.errors:
        row, column = wrong.errors[0].offset_position
        raise TableError(
            f"{file}: row {row + layout.rows_above + 1} of column {names[column]!r} holds an error "
            "such as #N/A; mend the formula, or clear the cell"
        )
    frame = pl.DataFrame(rows)
    filled = pl.any_horizontal(pl.all().is_not_null())
    last = frame.select(filled.arg_true().max()).item() if frame.width and frame.height else None
    return frame.head(0 if last is None else last + 1)


def _shaped(column: pl.Series, layout: InputLayout) -> pl.Series:
    """A column as a CSV file of it is read: numbers that the sheet keeps as texts are numbers."""
    if column.dtype == pl.String:  # where a layout states its marks, these say what a number is
        stated = layout.decimal or layout.thousands
        return column if stated else infer_type(column)
    return calendar_of_instants(whole_numbers(column))


def _refuse_gaps(file: Path, sheet: str, frame: pl.DataFrame, layout: InputLayout) -> None:
    """Raise ``TableError`` for an empty row within: below it may stand notes or another table."""
    empty = frame.select(pl.all_horizontal(pl.all().is_null()).arg_true().min()).item()
    if empty is None:
        return
    row = empty + layout.rows_above + 1
    raise TableError(
        f"{file}: row {row} of sheet {sheet!r} is empty and more follows below it: another table, "
        f"or notes. Read this table alone with last = {row - 1} in the plan's [input], or "
        f"{file.name}#last={row - 1}; copy another table to a sheet of its own; or delete the row"
    )


def _refuse_shorter(file: Path, sheet: str, frame: pl.DataFrame) -> None:
    """Raise ``TableError`` where neighbours end together above the others: a table beside it."""
    filled = [column.is_not_null() for column in frame.get_columns()]
    ends = [int(there.arg_true().max() or 0) if there.any() else -1 for there in filled]  # type: ignore[arg-type]
    for place, (end, following) in enumerate(pairwise(ends)):
        if not (end == following and 0 < end < frame.height - _BELOW):
            continue
        if all(filled[one].head(end + 1).mean() >= _FILLED for one in (place, place + 1)):  # type: ignore[operator]
            raise TableError(
                f"{file}: columns {place + 1} and {place + 2} of sheet {sheet!r} end together "
                f"{frame.height - end - 1} rows above the others: another table stands beside it. "
                f"Copy each table to a sheet of its own, and name the sheet: {file.name}#SHEET; "
                "where they are one table, write NA into its empty cells"
            )


def _refuse_stacked(
    file: Path, sheet: str, frame: pl.DataFrame, names: Sequence[str], layout: InputLayout
) -> None:
    """Raise ``TableError`` where a row holds names of columns: another table begins there.

    Such a row has a text in each of three cells or more, of which one stands in a column of
    numbers; no other row has one of these texts.  Or it is the row of names once more.
    """
    texts = [column for column in frame.get_columns() if column.dtype == pl.String]
    mixed = [one for one in texts if _is_of_numbers(one)]
    if frame.width < _FEWEST or len(texts) < frame.width or not mixed:
        return
    no_number = pl.all().cast(pl.Float64, strict=False).is_null()
    named = pl.all_horizontal(pl.all().is_not_null() & no_number)
    once = pl.all_horizontal(pl.all().is_unique())
    again = pl.all_horizontal(
        pl.col(column.name) == name for column, name in zip(texts, names, strict=True)
    )
    found = frame.select((named & (once | again)).arg_true().min()).item()
    if found is None:
        return
    row = found + layout.rows_above + 1
    raise TableError(
        f"{file}: row {row} of sheet {sheet!r} holds names, as the first row of another table "
        f"does. Read the table above it alone with last = {row - 1} in the plan's [input], or "
        f"{file.name}#last={row - 1}; copy the other to a sheet of its own"
    )


def _is_of_numbers(column: pl.Series) -> bool:
    """Whether most texts of a column are numbers."""
    there = column.drop_nulls()
    return len(there) > 0 and there.cast(pl.Float64, strict=False).null_count() < len(there) / 2


def _refuse_encrypted(file: Path) -> None:
    """Raise ``TableError`` for a workbook that opens with a password alone."""
    with file.open("rb") as stream:  # also says what the system refuses
        head = stream.read(_HEAD)
        if not head.startswith(_COMPOUND) or len(head) < _HEAD:
            return
        size, sector = 1 << (head[30] % 32), int.from_bytes(head[48:52], "little")
        stream.seek((sector + 1) * size)
        names = stream.read(_DIRECTORY)
    if _ENCRYPTED in names:
        raise TableError(
            f"{file}: the workbook is encrypted; open it with its password and save a copy "
            "without one where only you can read it, or export the sheet as CSV"
        )


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
