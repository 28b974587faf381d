"""Counting tables over public domains: how many rows have each combination of cells of columns.

Every row counts, or none of it: a row with a value that belongs to no cell of its column is left
out.  Which cells a row has is a function of its own values, and nothing about rows is ever refused,
so that how the count ends tells nothing about them.

Cost: one pass over n rows for t tables, some 4 nanoseconds for each of n t; the counts of all
cells, and parts of ``_ROWS`` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.domain import ColumnDomain
from voile.schema.plan import ColumnPlan, Plan
from voile.table.arrays import PerValue
from voile.table.dates import date_form, may_hold_dates
from voile.table.numeric import exact_numbers
from voile.table.protocol import Rows
from voile.table.value_types import with_missing

__all__ = ["TableCounts", "count_tables"]

_ROWS = 1 << 18
Codes = NDArray[np.int32]
ColumnSet = tuple[int, ...]
"""Columns of a table, by their places in the domain."""


@dataclass(frozen=True, eq=False)
class TableCounts:
    """Private counts of tables, of all cells of each."""

    counts: tuple[NDArray[np.int64], ...]
    """For each table: shape, the numbers of cells of its columns."""
    rows: int
    """That were counted."""
    left_out: int
    """With a value that has no cell."""
    beyond: int = 0
    """That did not take part, because their person has others that do."""


def count_tables(
    rows: Rows, plan: Plan, domain: Sequence[ColumnDomain], sets: Sequence[ColumnSet]
) -> TableCounts:
    """Count tables of some rows in one pass; nothing about the rows is refused."""
    fold = _Counting([_Encoder(column, plan) for column in domain], domain, sets)
    rows.fold([column.name for column in domain], fold)
    return fold.counted()


class _Encoder:
    """The cell of each value of a column, -1 for none: a function of the value alone."""

    def __init__(self, column: ColumnDomain, plan: Plan) -> None:
        self._column, self._missing = column, tuple(plan.missing)
        self._declared = plan.columns.get(column.name, ColumnPlan())
        self._absent = column.present if column.missing else -1
        self._starts = column.first[: column.present]
        self._places = {text: place for place, text in enumerate(column.listed or ())}
        self._per_value = PerValue(self._cells)

    def __call__(self, array: pa.Array) -> Codes:
        return self._per_value(array)

    def _cells(self, values: pl.Series) -> Codes:
        values = with_missing(values, self._missing)
        if self._column.kind == "date":
            return self._ranged(_days(values, self._declared), self._column.origin)
        if self._column.listed is None:
            return self._ranged(_floats(values), None)
        if self._column.kind == "number":
            return self._listed_numbers(_floats(values))
        return self._listed_texts(_texts(values))

    def _ranged(self, numbers: pl.Series, origin: int | None) -> Codes:
        """The range of each number or day; those beyond the ends belong to the outermost."""
        column = self._column
        if origin is None:
            starts = (column.origin + column.step * self._starts) / 10**column.scale
        else:
            starts = self._starts + origin
        found = np.searchsorted(starts, numbers.to_numpy(), side="right") - 1
        cells = np.clip(found, 0, column.present - 1).astype(np.int32)
        cells[numbers.is_null().to_numpy()] = self._absent
        return cells

    def _listed_numbers(self, numbers: pl.Series) -> Codes:
        listed = self._column.numbers
        order = np.argsort(listed)
        wanted = numbers.fill_null(np.nan).to_numpy()
        place = np.minimum(np.searchsorted(listed[order], wanted), len(listed) - 1)
        leaf = order[place]
        cells = np.where(listed[leaf] == wanted, self._cell_of(leaf), -1).astype(np.int32)
        cells[numbers.is_null().to_numpy()] = self._absent
        return cells

    def _listed_texts(self, texts: pl.Series) -> Codes:
        unique = texts.unique()
        cells = np.array([self._of_text(text) for text in unique.to_list()], dtype=np.int32)
        place = texts.replace_strict(
            unique, pl.Series(np.arange(len(unique), dtype=np.int64)), return_dtype=pl.Int64
        )
        return cells[place.to_numpy()] if len(texts) else cells

    def _of_text(self, text: str | None) -> int:
        if text is None:
            return self._absent
        leaf = self._places.get(text)
        return self._column.other if leaf is None else int(self._cell_of(np.array([leaf]))[0])

    def _cell_of(self, leaf: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, leaf, side="right") - 1


def _floats(values: pl.Series) -> pl.Series:
    """Numbers in double precision; missing where a value is none."""
    if values.dtype.is_temporal():
        values = values.cast(pl.String)
    return values.cast(pl.Float64, strict=False).fill_nan(None)


def _texts(values: pl.Series) -> pl.Series:
    """Values as texts: numbers in plain decimal notation, as hierarchies list them."""
    if not (values.dtype.is_float() or values.dtype.is_decimal()):
        return values.cast(pl.String)
    if values.dtype.is_float():
        values = pl.select(pl.when(values.is_finite()).then(values)).to_series()
    unique = values.drop_nulls().unique()
    texts = pl.Series(exact_numbers(unique).texts(), dtype=pl.String)
    return values.replace_strict(unique, texts, default=None, return_dtype=pl.String)


def _days(values: pl.Series, declared: ColumnPlan) -> pl.Series:
    """Days since 1970; missing where a value names none."""
    if may_hold_dates(values.dtype) and declared.format:
        values = date_form(declared.format).read(values.cast(pl.String))
    elif values.dtype == pl.String:
        values = values.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    if values.dtype == pl.Datetime:
        values = values.dt.date()
    if values.dtype != pl.Date:
        return pl.Series([None] * len(values), dtype=pl.Int32)
    return values.to_physical()


class _Counting:
    """A fold that counts all tables at once."""

    def __init__(
        self,
        encoders: Sequence[Callable[[pa.Array], Codes]],
        domain: Sequence[ColumnDomain],
        sets: Sequence[ColumnSet],
    ) -> None:
        self._encoders, self._sets = encoders, sets
        self._sizes = [tuple(len(domain[place]) for place in columns) for columns in sets]
        self._counts = [np.zeros(int(np.prod(sizes)), dtype=np.int64) for sizes in self._sizes]
        self._waiting: list[NDArray[np.int32]] = []
        self._rows = self._left_out = 0

    def take(self, batch: pa.RecordBatch, first: int) -> None:
        """Cells of some rows; they are counted when there are many."""
        del first
        cells = [encode(column) for encode, column in zip(self._encoders, batch, strict=True)]
        self._waiting.append(np.stack(cells))
        if sum(part.shape[1] for part in self._waiting) >= _ROWS:
            self._count()

    def merge(self, other: Self) -> None:
        """Add what was counted elsewhere."""
        other._count()
        for mine, more in zip(self._counts, other._counts, strict=True):
            np.add(mine, more, out=mine)
        self._rows += other._rows
        self._left_out += other._left_out

    def counted(self) -> TableCounts:
        """All counts."""
        self._count()
        pairs = zip(self._counts, self._sizes, strict=True)
        counts = tuple(count.reshape(sizes) for count, sizes in pairs)
        return TableCounts(counts, self._rows, self._left_out)

    def _count(self) -> None:
        if not self._waiting:
            return
        cells = np.concatenate(self._waiting, axis=1)
        self._waiting = []
        whole: NDArray[np.bool_] = (cells >= 0).min(axis=0)
        if not whole.all():
            cells = cells[:, whole]
        self._rows += cells.shape[1]
        self._left_out += len(whole) - cells.shape[1]
        for count, columns, sizes in zip(self._counts, self._sets, self._sizes, strict=True):
            place = cells[columns[0]].astype(np.int64)
            for column, size in zip(columns[1:], sizes[1:], strict=True):
                place *= size
                place += cells[column]
            np.add(count, np.bincount(place, minlength=len(count)), out=count)
