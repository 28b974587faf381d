"""Reading a large file in little memory: some columns at a time, texts in dictionaries; private.

Texts in memory take several times what they take in a file, and an audit holds three files.  Of a
large one some columns are read at a time, and put into dictionaries before the next: one to four
bytes a row and column stay.  What is said of values, types, and what is wrong with them, is what
reading the file at once says.

Cost: a pass over the file for each ``_AT_A_TIME`` bytes of it, at most one a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from voile.table.dictionary import encode
from voile.table.opening import rows_in_memory
from voile.table.places import place_of
from voile.table.reading import is_whole, list_columns

__all__ = ["Read", "plain", "read_compactly"]

_AT_A_TIME = 1 << 24
"""Bytes of a file that are read in one pass."""


@dataclass(frozen=True, eq=False)
class Read:
    """A table whose texts stand in dictionaries; private."""

    frame: pl.DataFrame
    types: pl.Schema
    """Of the columns as reading the file at once has them."""


def read_compactly(
    path: Path,
    missing: Sequence[str] = (),
    texts: Sequence[str] = (),
    look: Callable[[pl.DataFrame, Sequence[str]], None] = lambda rows, notes: None,
) -> Read:
    """The rows of a table as adversaries and measures compare them.

    ``look`` sees columns as they stand in the file, and what was assumed to read them, some columns
    at a time in their order.  Raises ``TableError`` as ``rows_in_memory`` does.
    """
    types = pl.Schema()
    columns: list[pl.Series] = []
    for names in _parts(path):
        rows, notes = rows_in_memory(str(path), missing=missing, columns=names, texts=texts)
        look(rows, notes)
        types.update(rows.schema)
        some = rows.get_columns()
        del rows
        while some:  # each goes as soon as it stands in a dictionary
            columns.append(_in_dictionary(some.pop(0)))
    return Read(pl.DataFrame(columns), types)


def plain(column: pl.Series) -> pl.Series:
    """A column without its dictionary."""
    return column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column


def _in_dictionary(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    encoded = encode(column.alias(""))  # Polars takes some names for patterns
    return encoded.decode(encoded.codes).alias(column.name)


def _parts(path: Path) -> Iterator[Sequence[str] | None]:
    """Which columns are read together, in their order; None for all."""
    place = place_of(str(path))
    if is_whole(place) or not path.is_file():
        yield None
        return
    names = [*list_columns(place)]
    passes = min(len(names), path.stat().st_size // _AT_A_TIME + 1)
    step = -(-len(names) // passes)
    yield from (names[start : start + step] for start in range(0, len(names), step))
