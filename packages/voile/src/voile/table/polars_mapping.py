"""Functions of record batches, asked batch by batch, and what they give put together again.

Two batches are asked for at a time: functions spend their time in code that releases Python's
lock.  Numbers are put into one array at once; all else is kept as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import polars_type, series_of
from voile.table.dictionary import Codes, look_up
from voile.table.polars_column import PolarsColumn
from voile.table.protocol import Function

__all__ = [
    "BATCH_ROWS",
    "computed",
    "computed_parts",
    "of_values",
    "slices",
    "starts_of_runs",
    "whole_groups",
]

BATCH_ROWS = 1 << 17
"""Rows of a batch: their arrays stay near the processor."""
_WORKERS = 2


def slices(rows: int) -> Iterator[slice]:
    """Batches of rows; none where there are none."""
    return (slice(start, min(start + BATCH_ROWS, rows)) for start in range(0, rows, BATCH_ROWS))


def starts_of_runs(codes: Codes) -> NDArray[np.int64]:
    """Where each run of equal codes begins."""
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate((np.zeros(min(len(codes), 1), dtype=np.int64), changes))


def whole_groups(starts: NDArray[np.int64], rows: int) -> Iterator[slice]:
    """Batches of rows that stand by group, none of which is cut in two."""
    ends = np.append(starts[1:], rows)
    first = 0
    while first < rows:
        last = int(ends[min(int(np.searchsorted(ends, first + BATCH_ROWS)), len(ends) - 1)])
        yield slice(first, last)
        first = last


def computed(
    function: Function,
    columns: Mapping[str, PolarsColumn],
    slices: Iterable[slice],
    gives: pa.Schema,
) -> list[pl.Series]:
    """What a function gives for all rows, which the slices cut into batches."""
    return computed_parts(lambda batch, _: function(batch), columns, slices, gives)


def computed_parts(
    function: Callable[[pa.RecordBatch, int], Sequence[pa.Array]],
    columns: Mapping[str, PolarsColumn],
    slices: Iterable[slice],
    gives: pa.Schema,
) -> list[pl.Series]:
    """As ``computed``, of a function that is told where its batch begins."""
    names = list(columns)
    rows = len(next(iter(columns.values())))
    made = [_Made(field, rows) for field in gives]

    def ask(part: slice) -> None:
        batch = pa.record_batch([column.arrow(part) for column in columns.values()], names)
        for put, array in zip(made, function(batch, part.start), strict=True):
            put.at(part, array)

    parts = list(slices)
    if len(parts) > 1:
        with ThreadPoolExecutor(_WORKERS) as pool:
            list(pool.map(ask, parts))
    else:
        for part in parts:
            ask(part)
    return [put.series() for put in made]


def of_values(function: Function, name: str, column: PolarsColumn) -> list[PolarsColumn]:
    """What a function of one column gives, asked once for each of its values."""
    codes = column.codes
    assert codes is not None
    batch = pa.record_batch([column.arrow_values], [name])
    return [_with_codes(array, codes) for array in function(batch)]


def _with_codes(array: Any, codes: Codes) -> PolarsColumn:
    """A column of values for codes; codes of codes become one."""
    if isinstance(array, pa.DictionaryArray) and not array.indices.null_count:
        indices = pl.Series(array.indices).to_numpy()
        narrow = indices.astype(np.min_scalar_type(max(len(array.dictionary) - 1, 0)))
        return PolarsColumn(pl.Series("", array.dictionary), look_up(narrow, codes))
    return PolarsColumn(series_of(array), codes)


class _Made:
    """One new column, as its parts come."""

    def __init__(self, field: pa.Field, rows: int) -> None:
        self._field = field
        self._rows = rows
        numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        self._numbers = np.empty(rows, dtype=_numpy_type(field.type)) if numeric else None
        self._missing: NDArray[np.bool_] | None = None
        self._others: dict[int, pl.Series] = {}

    def at(self, part: slice, array: Any) -> None:
        """Put the values of some rows in their place."""
        values = series_of(array)
        if self._numbers is None:
            self._others[part.start] = values
            return
        if values.null_count():
            if self._missing is None:
                self._missing = np.zeros(self._rows, dtype=np.bool_)
            self._missing[part] = values.is_null().to_numpy()
            values = values.fill_null(0)
        self._numbers[part] = values.to_numpy()

    def series(self) -> pl.Series:
        """The whole column."""
        if self._numbers is None:
            empty = pl.Series("", dtype=polars_type(self._field.type))
            return pl.concat([empty, *(self._others[start] for start in sorted(self._others))])
        numbers = pl.Series("", self._numbers)
        if self._missing is None:
            return numbers
        return pl.select(pl.when(~pl.Series(self._missing)).then(numbers)).to_series()


def _numpy_type(dtype: pa.DataType) -> np.dtype[Any]:
    empty: NDArray[Any] = pl.Series(dtype=polars_type(dtype)).to_numpy()
    return empty.dtype
