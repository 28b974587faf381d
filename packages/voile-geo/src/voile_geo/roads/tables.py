"""Rows of a CSV file with roads or nodes, as texts by the name of their column.

The service that shares positions reads maps and no tables, so this stands on Python's own reader.
The delimiter is the most frequent of comma, semicolon, tab and bar in the first line; where it is a
semicolon, numbers may have decimal commas.  A file is UTF-8, and may be compressed with gzip.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path

from voile_base.errors import TableError

__all__ = ["ENDINGS", "MapTable"]

ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt")
_DELIMITERS = ",;\t|"
_LONGEST = 2**31 - 1
"""Characters of a cell: a line of a road may be long."""


class MapTable:
    """A CSV file with a row of names, read row by row.

    Raises ``TableError`` where the file is no such table, and while reading where a row has other
    cells than there are names.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        names = next(self._lines(), None)
        if not names or not any(names):
            msg = f"{path}: this is no table; its first line needs the names of its columns"
            raise TableError(msg)
        lower = [name.strip().lower() for name in names]
        if len(set(lower)) < len(lower):
            msg = f"{path}: two columns have one name but for upper and lower case; rename one"
            raise TableError(msg)
        self.columns = tuple(lower)
        """Names in lower case."""

    def rows(self) -> Iterator[Mapping[str, str]]:
        """Each row below the names: its cells without blanks around them; empty ones are absent."""
        lines = self._lines()
        next(lines)
        for number, cells in enumerate(lines, start=1):
            if not cells:
                continue
            if len(cells) != len(self.columns):
                msg = (
                    f"{self._path}: row {number} has {len(cells)} cells and the first line "
                    f"{len(self.columns)} names; mend the row"
                )
                raise TableError(msg)
            named = zip(self.columns, map(str.strip, cells), strict=True)
            yield {name: cell for name, cell in named if cell}

    def number(self, row: Mapping[str, str], column: str, place: str) -> float:
        """A cell as a number; raises ``TableError``, which names ``place``, where it is none."""
        text = row.get(column, "")
        try:
            return float(text.replace(",", ".") if self._delimiter == ";" else text)
        except ValueError:
            msg = f"{self._path}: {place} needs a number in column {column}"
            raise TableError(msg) from None

    def _lines(self) -> Iterator[list[str]]:
        opened = gzip.open if self._path.name.lower().endswith(".gz") else open
        csv.field_size_limit(_LONGEST)
        try:
            with opened(self._path, "rt", encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                self._delimiter = max(_DELIMITERS, key=first.count)
                yield from csv.reader(_with(first, file), delimiter=self._delimiter)
        except UnicodeDecodeError:
            msg = f"{self._path}: the file is not UTF-8; save it in this encoding"
            raise TableError(msg) from None
        except (csv.Error, EOFError, gzip.BadGzipFile) as error:
            msg = f"{self._path}: this is no CSV file, or it is damaged ({error})"
            raise TableError(msg) from None
        except OSError as error:
            msg = f"{self._path}: cannot be read ({error.strerror}); check the file"
            raise TableError(msg) from None


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest
