"""Binding a plan to a frame: what the rows must satisfy before any method sees them.

Types are set as the plan says, missing values are treated as declared, values outside public bounds
are refused or clamped.
Only columns that the plan names stay; the others never reach an engine.  Row numbers in messages
count the rows of the input, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.errors import PlanError, TableError, nearest
from voile.schema.numbers import unscaled
from voile.schema.plan import ColumnPlan, Plan
from voile.table.dictionary import DictionaryColumn, encode

__all__ = ["UNPUBLISHABLE", "BoundColumns", "ColumnSource", "bind", "limits_of"]

UNPUBLISHABLE = (pl.Binary, pl.Object, pl.Int128)
"""Types without a published form; neither have nested ones."""

_WORKERS = 2
"""Columns encoded at a time; each needs its rows in memory until it is encoded."""


@dataclass(frozen=True, eq=False)
class BoundColumns:
    """The columns of a table as its plan declares them."""

    columns: dict[str, DictionaryColumn]
    rows: int
    dropped: int
    """Rows left out because a value is missing and the plan says ``nulls = "drop"``."""
    kept: NDArray[np.int64] | None
    """Places of the rows that stay, in the input; None where all do."""
    notes: tuple[str, ...] = ()
    """What the plan let happen to values, for the custodian."""

    def first_row(self, column: DictionaryColumn, chosen: pl.Series) -> int:
        """The number in the input, from 1, of the first row with a chosen value; 0 if none."""
        place = column.first_place(chosen)
        return place + 1 if self.kept is None or place < 0 else int(self.kept[place]) + 1

    def only(self, rows: NDArray[np.bool_]) -> BoundColumns:
        """Some of the rows alone."""
        places = np.flatnonzero(rows)
        return replace(
            self,
            columns={name: column.only(rows) for name, column in self.columns.items()},
            rows=len(places),
            kept=_places_of(places, self.kept),
        )


class ColumnSource(Protocol):
    """Where columns come from, one by one, so that they never stand in memory all at once."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    def take(self, name: str) -> pl.Series | pa.ChunkedArray:
        """One column, once; texts may come as dictionary arrays of Arrow."""


def bind(
    source: ColumnSource,
    plan: Plan,
    extra: Sequence[str] = (),
    places: NDArray[np.int64] | None = None,
) -> BoundColumns:
    """Bind a plan to the columns of a table.

    ``extra`` names columns without a published role that the method needs, such as a record key.
    ``places`` says where the rows stand in the input, from 0; None: they are all of its rows.
    Raises ``PlanError`` where the plan and the columns disagree, ``TableError`` where the rows
    break what the plan declares.
    """
    plan.bind(source.names)
    used = [*plan.used, *(name for name in extra if name not in plan.used)]
    if not used:
        msg = "[roles] names no column to publish"
        raise PlanError(msg)
    for name in extra:
        if name not in source.names:
            hint = nearest(name, source.names)
            msg = f"record_key names the column {name!r}, which the table does not have{hint}"
            raise PlanError(msg)
    with ThreadPoolExecutor(_WORKERS) as pool:  # reading and encoding release Python's lock
        columns = list(pool.map(partial(_take, source, plan, places), used))
    rows = len(columns[0].codes)
    if rows == 0:
        msg = "the table has no rows; there is nothing to publish"
        raise TableError(msg)
    checked = [_within_bounds(c, plan.columns.get(c.name, ColumnPlan()), places) for c in columns]
    columns = [column for column, _ in checked]
    kept = _kept_rows(columns, plan, rows, places)
    if kept is not None:
        columns = [column.only(kept) for column in columns]
    return BoundColumns(
        columns={column.name: column for column in columns},
        rows=len(columns[0].codes),
        dropped=rows - len(columns[0].codes),
        kept=places if kept is None else _places_of(np.flatnonzero(kept), places),
        notes=tuple(note for _, note in checked if note),
    )


def _places_of(chosen: NDArray[np.int64], places: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return chosen if places is None else places[chosen]


def _row(place: int, places: NDArray[np.int64] | None) -> int:
    """The number of a row in the input, from 1."""
    return int(place if places is None else places[place]) + 1


def _take(
    source: ColumnSource, plan: Plan, places: NDArray[np.int64] | None, name: str
) -> DictionaryColumn:
    column = source.take(name)
    if isinstance(column, pl.Series):
        if isinstance(column.dtype, pl.Categorical | pl.Enum):
            column = column.cast(pl.String)  # the order of categories depends on that of rows
        _refuse_unpublishable(column)
    return _typed(encode(column, name), plan, places)


def _refuse_unpublishable(column: pl.Series) -> None:
    if column.dtype.is_nested() or column.dtype in UNPUBLISHABLE:
        msg = (
            f"column {column.name!r} holds values of type {column.dtype.base_type().__name__}; "
            "turn them into numbers, texts, truth values, dates or times, or leave the column out"
        )
        raise TableError(msg)


def _typed(
    column: DictionaryColumn, plan: Plan, places: NDArray[np.int64] | None
) -> DictionaryColumn:
    """The column in its declared type, with the declared texts missing."""
    values = column.values
    declared, missing = plan.columns.get(column.name, ColumnPlan()), plan.missing
    if missing and values.dtype == pl.String and values.is_in(missing).any():
        column = column.mapped(values.replace(list(missing), None))
        values = column.values
    if declared.type == "text" and values.dtype != pl.String:
        return column.mapped(values.cast(pl.String))
    if declared.type == "number" and not values.dtype.is_numeric():
        numbers = values.cast(pl.Float64, strict=False)
        place = column.first_place(numbers.is_null() & values.is_not_null())
        if place >= 0:
            msg = (
                f"column {column.name!r}: row {_row(place, places)} is not a number, and the plan "
                'says type = "number"; mend the row, or name the text in `missing`'
            )
            raise TableError(msg)
        return column.mapped(numbers)
    return column


def _kept_rows(
    columns: Sequence[DictionaryColumn],
    plan: Plan,
    rows: int,
    places: NDArray[np.int64] | None,
) -> NDArray[np.bool_] | None:
    """The rows that stay, or None where all do; raises ``TableError`` for missing values."""
    kept = np.ones(rows, dtype=bool)
    for column in columns:
        if not column.has_missing:
            continue
        policy = plan.nulls_of(column.name)
        missing = column.rows_with(column.values.is_null())
        if policy == "refuse":
            first = _row(int(missing.argmax()), places)
            msg = (
                f"column {column.name!r} misses its value in {missing.sum():,} of {rows:,} rows, "
                f"first in row {first}; fill them in, or declare in the plan "
                'nulls = "category" (missing is a value of its own) or nulls = "drop" (these rows '
                "are left out)"
            )
            raise TableError(msg)
        if policy == "drop":
            kept &= ~missing
    if not kept.any():
        msg = 'nulls = "drop" leaves no row: each misses a value in one of the columns'
        raise TableError(msg)
    return None if kept.all() else kept


def _within_bounds(
    column: DictionaryColumn, declared: ColumnPlan, places: NDArray[np.int64] | None
) -> tuple[DictionaryColumn, str | None]:
    """The column with values outside its public bounds refused or clamped, and a note of that.

    A clamped value becomes the nearest one within that the column's type can hold: a whole number
    stays one.
    """
    if declared.bounds is None:
        return column, None
    if not column.values.dtype.is_numeric():
        msg = f"column {column.name!r} has bounds in the plan but does not hold numbers"
        raise TableError(msg)
    limits = limits_of(column.values.dtype, declared.bounds)
    outside = column.rows_with(_outside(column.values, limits))
    if not outside.any():
        return column, None
    low, high = declared.bounds
    found = (
        f"column {column.name!r}: {outside.sum():,} values lie outside the public bounds [{low}, "
        f"{high}] of the plan, first in row {_row(int(outside.argmax()), places)}; "
    )
    if declared.outside == "clamp" and limits:
        clamped = column.mapped(column.values.clip(*limits))
        if not _outside(clamped.values, limits).any():  # NaN has no nearest value
            return clamped, f"{found}the nearest value within took their place"
    msg = (
        f"{found}mend the rows, or the bounds if they are not what is publicly known, or declare "
        'outside = "clamp" (the nearest value within takes their place; NaN has none)'
    )
    raise TableError(msg)


def _outside(values: pl.Series, limits: tuple[Any, Any] | None) -> pl.Series:
    there = values.is_not_null()
    return there & ~values.is_between(*limits) if limits else there


def limits_of(dtype: pl.DataType, bounds: tuple[Decimal, Decimal]) -> tuple[Any, Any] | None:
    """The least and the greatest number of a type within the bounds; None if there is none."""
    low, high = bounds
    if dtype.is_float():
        of_type = np.float32 if dtype == pl.Float32 else np.float64
        least, greatest = _least_float(low, of_type), -_least_float(-high, of_type)
        return (least, greatest) if least <= greatest else None
    scale = dtype.scale if isinstance(dtype, pl.Decimal) else 0
    lowest, highest = _range(dtype)
    first = max(ceil(Fraction(low) * 10**scale), lowest)
    last = min(floor(Fraction(high) * 10**scale), highest)
    if first > last:
        return None
    return (unscaled(first, scale), unscaled(last, scale)) if scale else (first, last)


def _range(dtype: pl.DataType) -> tuple[int, int]:
    """The least and the greatest number of a type, in units of its last decimal place."""
    if isinstance(dtype, pl.Decimal):
        largest = 10**dtype.precision - 1
        return -largest, largest
    held = np.iinfo(pl.Series(dtype=dtype).to_numpy().dtype)
    return int(held.min), int(held.max)


def _least_float(low: Decimal, of_type: type[np.floating[Any]]) -> float:
    """The least float whose shortest decimal, which is what it stands for, is at least ``low``."""
    with np.errstate(over="ignore"):
        number = np.nextafter(of_type(low), of_type(-np.inf))
        while Decimal(str(number)) < low:
            number = np.nextafter(number, of_type(np.inf))
    return float(number)
