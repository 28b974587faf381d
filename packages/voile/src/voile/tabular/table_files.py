"""Tables of anybody as they stand in a file: CSV, Excel, Markdown, LaTeX and HTML.

A file gives **grids** of texts, one for each table or sheet.  Texts of cells that are merged over
rows or columns stand in each of them.  Nothing is understood here but the format: what is a
heading, a label, a number or a mark of suppression is for ``recognised``.

Cost: linear in the file, which is read as a whole.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

from voile.table.formats.registry import library
from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass

__all__ = ["TableGrid", "read_grids"]

_MOST_BYTES = 50_000_000
_DELIMITERS = ",;\t|"
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_TABULAR = re.compile(r"\\begin\{(tabular[xy*]?|longtable|array)\}(.*?)\\end\{\1\}", re.DOTALL)
_SPAN = re.compile(r"\\multi(column|row)\s*\{\s*(\d+)\s*\}\s*\{[^{}]*\}\s*\{")
_EMPHASIS = re.compile(r"^(\*\*|__|\*|_)([^*_].*)\1$")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?(\[[^\]]*\])?")


@dataclass(frozen=True)
class TableGrid:
    """One table of a file: its texts, all rows of one length."""

    name: str
    rows: tuple[tuple[str, ...], ...]


def read_grids(file: Path) -> tuple[TableGrid, ...]:
    """The tables of a file, by its ending.

    Raises ``InputError`` for a format that is not read, ``TableError`` where no table is found.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        msg = f"{file}: tables are read from {known}; save it as one of them"
        raise InputError(msg)
    try:
        if file.stat().st_size > _MOST_BYTES:
            msg = f"{file}: it has more than {_MOST_BYTES:,} bytes; audit one table at a time"
            raise InputError(msg)
        grids = tuple(_trimmed(name, rows) for name, rows in reader(file))
    except OSError as error:
        msg = f"{file}: it cannot be read ({error.strerror}); name a file that can"
        raise InputError(msg) from None
    except UnicodeDecodeError:
        msg = f"{file}: it is no text in UTF-8; save it with that encoding"
        raise TableError(msg) from None
    found = tuple(grid for grid in grids if len(grid.rows) > 1 and len(grid.rows[0]) > 1)
    if not found:
        msg = f"{file}: no table with headings and numbers was found in it"
        raise TableError(msg)
    return found


_Named = Iterator[tuple[str, list[list[str]]]]


def _trimmed(name: str, rows: Sequence[Sequence[str]]) -> TableGrid:
    """Without empty rows and columns; shorter rows are filled up."""
    width = max((len(row) for row in rows), default=0)
    full = [[" ".join(text.split()) for text in row] + [""] * (width - len(row)) for row in rows]
    full = [row for row in full if any(row)]
    used = [place for place in range(width) if any(row[place] for row in full)]
    return TableGrid(name, tuple(tuple(row[place] for place in used) for row in full))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8-sig")


# -- delimited ------------------------------------------------------------------------------------


def _delimited(file: Path) -> _Named:
    """The delimiter is the one that cuts most rows alike, into most pieces."""
    lines = _text(file).splitlines(keepends=True)
    best = max(_DELIMITERS, key=lambda mark: _likeness(lines, mark))
    try:
        yield file.stem, list(csv.reader(lines, delimiter=best, strict=True))
    except csv.Error as error:
        msg = f"{file}: it is no valid CSV ({error}); save it again from its source"
        raise TableError(msg) from None


def _likeness(lines: Sequence[str], mark: str) -> tuple[int, int]:
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark) if any(row)]
    except csv.Error:
        return 0, 0
    wide = [width for width in widths if width > 1]
    commonest = max(map(wide.count, set(wide)), default=0)
    return commonest, max(wide, default=0)


# -- workbooks ------------------------------------------------------------------------------------


def _workbook(file: Path) -> _Named:
    fastexcel = library("fastexcel", "excel", f"{file}: reading workbooks")
    try:
        book = fastexcel.read_excel(file)
        for title in book.sheet_names:
            sheet = book.load_sheet(title, header_row=None, dtypes="string").to_polars()
            yield title, [[text or "" for text in row] for row in sheet.iter_rows()]
    except fastexcel.FastExcelError:
        msg = f"{file}: the workbook is not whole or not valid; save it again from its source"
        raise TableError(msg) from None


# -- Markdown -------------------------------------------------------------------------------------


def _markdown(file: Path) -> _Named:
    """Tables with bars: a row of names, a rule of dashes, and the rows below it."""
    lines = _text(file).splitlines()
    number, title = 0, file.stem
    while number < len(lines):
        line = lines[number]
        if line.startswith("#"):
            title = line.lstrip("# ").strip() or title
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if "|" in line and "|" in below and _RULE.fullmatch(below):
            end = number + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            body = [line, *lines[number + 2 : end]]
            yield title, [_bars(one) for one in body]
            number = end
        else:
            number += 1


def _bars(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    texts = re.split(r"(?<!\\)\|", inner)
    return [re.sub(r"\\([|*_<>])", r"\1", _EMPHASIS.sub(r"\2", text.strip(" `"))) for text in texts]


# -- LaTeX ----------------------------------------------------------------------------------------


def _latex(file: Path) -> _Named:
    text = re.sub(r"(?<!\\)%.*", "", _text(file))
    for number, found in enumerate(_TABULAR.finditer(text), 1):
        body = _after_columns(found[2])
        rows = [_latex_row(one) for one in re.split(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline", body)]
        yield f"{file.stem}, table {number}", _filled_down(rows)


def _after_columns(body: str) -> str:
    """Without the widths and columns in braces that stand first."""
    while (start := body.lstrip()).startswith(("{", "[")):
        depth = 0
        for place, mark in enumerate(start):
            depth += (mark in "{[") - (mark in "}]")
            if not depth:
                body = start[place + 1 :]
                break
        else:
            return body
    return body


def _latex_row(text: str) -> list[tuple[str, int]]:
    """The texts of a row, each with the rows that it is merged over."""
    found: list[tuple[str, int]] = []
    for cell in re.split(r"(?<!\\)&", text):
        columns, rows, rest = 1, 1, cell
        while (span := _SPAN.search(rest)) is not None:
            columns, rows = (int(span[2]), rows) if span[1] == "column" else (columns, int(span[2]))
            rest = rest[: span.start()] + rest[span.end() :]
        found += [(_plain(rest), rows)] * columns
    return found


def _plain(text: str) -> str:
    """Without commands; signs that are escaped are themselves."""
    text = text.replace("\\,", " ").replace("~", " ").replace("--", "-")
    text = re.sub(r"\\c(?:line|midrule)(\([^)]*\))?\{[^}]*\}", "", text)
    text = re.sub(r"\\(?:textless|lt)\b", "<", text)
    text = re.sub(r"\\(?:textgreater|gt)\b", ">", text)
    text = re.sub(r"\\(?:le|leq)\b", "≤", text)
    text = _COMMAND.sub("", text)
    text = re.sub(r"\\([&%$#_{}])", "\\1", text)
    return re.sub(r"(?<=\d)\{,\}(?=\d)", ",", text).replace("$", "").strip("{} \n\t")


def _filled_down(rows: Sequence[Sequence[tuple[str, int]]]) -> list[list[str]]:
    """Texts that are merged over rows stand in each."""
    below: dict[int, tuple[str, int]] = {}
    found = []
    for row in rows:
        texts = []
        for place, own in enumerate(row):
            above = below.get(place, ("", 0))
            text, height = above if not own[0] and above[1] else own
            below[place] = text, height - 1
            texts.append(text)
        found.append(texts)
    return found


# -- HTML -----------------------------------------------------------------------------------------


def _html(file: Path) -> _Named:
    reader = _HtmlTables()
    reader.feed(_text(file))
    reader.close()
    for number, (caption, rows) in enumerate(reader.tables, 1):
        yield caption or f"{file.stem}, table {number}", rows


class _HtmlTables(HTMLParser):
    """Rows of all tables, with cells that span several rows or columns repeated."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[tuple[str, list[list[str]]]] = []
        self._row: dict[int, str] = {}
        self._down: dict[int, tuple[int, str]] = {}
        self._spans = 1, 1
        self._text: list[str] | None = None
        self._caption = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row, a cell or a caption."""
        if tag == "table":
            self.tables.append(("", []))
            self._row, self._down = {}, {}
        elif tag == "tr" and self.tables:
            self._end_row()
        elif tag in {"td", "th"} and self.tables:
            self._end_cell()
            stated = dict(attrs)
            self._spans = _span(stated.get("rowspan")), _span(stated.get("colspan"))
            self._text = []
        elif tag == "caption" and self.tables:
            self._text, self._caption = [], True
        elif tag == "br" and self._text is not None:
            self._text.append(" ")

    def handle_data(self, data: str) -> None:
        """Text of a cell, or of a caption."""
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """End what was begun."""
        if tag == "caption" and self._caption:
            self.tables[-1] = "".join(self._text or []).strip(), self.tables[-1][1]
            self._text, self._caption = None, False
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag in {"tr", "table"} and self.tables:
            self._end_row()

    def _end_cell(self) -> None:
        if self._text is None or self._caption:
            return
        text, (down, across) = "".join(self._text), self._spans
        place = 0
        while place in self._row or place in self._down:
            place += 1
        for each in range(place, place + across):
            self._row[each] = text
            if down > 1:
                self._down[each] = down, text
        self._text = None

    def _end_row(self) -> None:
        self._end_cell()
        if not self._row:
            return
        for place, (_, text) in self._down.items():
            self._row.setdefault(place, text)
        self._down = {p: (left - 1, text) for p, (left, text) in self._down.items() if left > 1}
        width = max(self._row) + 1
        self.tables[-1][1].append([self._row.get(place, "") for place in range(width)])
        self._row = {}


def _span(stated: str | None) -> int:
    return min(int(stated), 1_000) if stated and stated.isdigit() and int(stated) else 1


_READERS: Mapping[str, Callable[[Path], _Named]] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".txt": _delimited,
    ".xlsx": _workbook,
    ".xlsm": _workbook,
    ".xls": _workbook,
    ".ods": _workbook,
    ".md": _markdown,
    ".tex": _latex,
    ".html": _html,
    ".htm": _html,
}
