"""Numeric columns as exact numbers, row by row, for those who pack parcels; private or published.

Unlike a ``PrivateTable`` this gives values with one entry per row: the custodian packs the
custodian's own parcels, and nothing of it is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.table.engines import AUTO
from voile.table.numeric import exact_numbers
from voile.table.opening import rows_in_memory
from voile.table.places import Place
from voile.table.protocol import Engine
from voile.table.published import PublishedTable
from voile.table.reading import list_columns
from voile.table.value_types import first_offending_row
from voile_base.errors import TableError, nearest

__all__ = ["NumberColumn", "NumberColumns", "published_numbers", "read_numbers", "write_columns"]


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """The exact numbers of a column, and which rows have none."""

    numbers: ExactNumbers
    """Of the n rows; 0 where the value is missing."""
    missing: NDArray[np.bool_]
    """Shape (n,)."""


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """Some numeric columns of a table with n rows."""

    columns: Mapping[str, NumberColumn]
    rows: int
    notes: tuple[str, ...] = ()
    """What was assumed in reading the file."""


def read_numbers(path: Place, names: Sequence[str], engine: Engine | str = AUTO) -> NumberColumns:
    """Numeric columns of a private table, from anywhere that tables are read.

    Each name is looked for as ``NAME``, and as the interval ``NAME.low`` and ``NAME.high``; what
    is there is given.  Raises ``TableError`` where neither is, or a column does not hold finite
    numbers.
    """
    found = _found(tuple(list_columns(path)), names, str(path))
    frame, notes = rows_in_memory(path, columns=found, engine=engine)
    return _numbers(frame, found, notes)


def published_numbers(table: PublishedTable, names: Sequence[str]) -> NumberColumns:
    """Numeric columns of a release; see ``read_numbers``."""
    found = _found(table.columns, names, "the release")
    return _numbers(pl.DataFrame(table.to_arrow().select(dict.fromkeys(found))), found, ())


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns to a CSV file, or to a Parquet file where the name ends so."""
    frame = pl.DataFrame(dict(columns))
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)


def _found(known: Sequence[str], names: Sequence[str], where: str) -> list[str]:
    found = []
    for name in names:
        ends = [f"{name}.low", f"{name}.high"]
        here = [one for one in (name, *ends) if one in known]
        if name not in here and len(here) < 2:
            raise TableError(f"{where}: there is no column {name!r}{nearest(name, known)}")
        found += here if set(ends) <= set(here) else [name]
    return found


def _numbers(frame: pl.DataFrame, names: Sequence[str], notes: tuple[str, ...]) -> NumberColumns:
    columns = {name: _number_column(frame[name]) for name in dict.fromkeys(names)}
    return NumberColumns(columns, frame.height, notes)


def _number_column(column: pl.Series) -> NumberColumn:
    where = f"column {column.name!r}"
    if column.dtype == pl.Null:
        raise TableError(f"{where} holds no values; choose another column")
    if not column.dtype.is_numeric():
        row = first_offending_row(column)
        raise TableError(
            f"{where} must hold numbers, but row {row} is not a number; mend the row or choose "
            "another column"
        )
    missing = column.is_null()
    if column.dtype.is_float() and not column.drop_nulls().is_finite().all():
        row = (~column.fill_null(0).is_finite()).arg_max()
        raise TableError(f"{where}: row {(row or 0) + 1} is NaN or infinite; mend the row")
    return NumberColumn(exact_numbers(column.fill_null(0)), missing.to_numpy())
