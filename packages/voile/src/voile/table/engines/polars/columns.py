"""A column of the engine on one machine: values, and for each row the number of one of them.

Many columns are made without looking at a row: what is joined to combinations, and what a function
makes of a dictionary column, has values of its own and the codes of the old one.  Its values
may repeat and stand in any order, until somebody asks for its dictionary.

A column is immutable in what it says; how it says it may change: it is read when it is needed, and
encoded when its dictionary is.

Functions of record batches, asked batch by batch, and what they give put together again.

Two batches are asked for at a time: functions spend their time in code that releases Python's
lock.  Numbers are put into one array at once; all else is kept as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, polars_type, series_of
from voile.table.codes import (
    Codes,
    DictionaryColumn,
    count_codes,
    encode,
    gathered,
    look_up,
)
from voile.table.engines.shared import MOST_CATEGORIES
from voile.table.protocol import Counted
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = on_demand("concurrent.futures")

__all__ = ["BATCH_ROWS", "PolarsColumn", "computed_parts", "several"]

T = TypeVar("T")
U = TypeVar("U")


_WIDEST = 1 << 62
"""Range of integers up to which their differences from the least cannot overflow."""
_LISTED = 1 << 20
"""Range of integers up to which they become a dictionary when they are ordered."""


class PolarsColumn:
    """``values[codes[i]]`` is the value of row i; without codes, ``values[i]`` is."""

    def __init__(
        self, values: pl.Series, codes: Codes | None = None, counted: Counted | None = None
    ) -> None:
        self._values: pl.Series | None = values
        self._codes = codes
        self._load: Callable[[], DictionaryColumn] | None = None
        self._dictionary: DictionaryColumn | None = None
        self._arrow: pa.Array | None = None
        self.dtype = pl.String() if _is_category(values.dtype) else values.dtype
        self.counted = counted
        """Whose combinations the codes number, if they do."""

    @classmethod
    def of(cls, column: DictionaryColumn) -> PolarsColumn:
        """A column that has its dictionary."""
        made = cls(column.values, column.codes)
        made._dictionary = column
        return made

    @classmethod
    def later(cls, dtype: pl.DataType, load: Callable[[], DictionaryColumn]) -> PolarsColumn:
        """A column that is read when somebody asks for its values."""
        made = cls(pl.Series(dtype=dtype))
        made._values, made._load = None, load
        return made

    @property
    def is_read(self) -> bool:
        """Whether the values are in memory."""
        return self._load is None

    def unread(self) -> PolarsColumn:
        """The column; one that is not read yet, to be read for itself."""
        return self if self._load is None else PolarsColumn.later(self.dtype, self._load)

    @property
    def values(self) -> pl.Series:
        """Shape (d,), or (n,) without codes."""
        self._read()
        assert self._values is not None
        return self._values

    @property
    def codes(self) -> Codes | None:
        """Shape (n,): indices among the values."""
        self._read()
        return self._codes

    @property
    def dictionary(self) -> DictionaryColumn:
        """The column with its values distinct and ascending."""
        self._read()
        if self._dictionary is None:
            if self._codes is None:
                self._hold(encode(_plain(self.values)))
            else:
                self._dictionary = DictionaryColumn(self.values, self._codes).mapped(self.values)
        assert self._dictionary is not None
        return self._dictionary

    def __len__(self) -> int:
        return len(self.values) if self.codes is None else len(self.codes)

    def _read(self) -> None:
        if self._load is not None:
            self._hold(self._load())
            self._load = None

    def _hold(self, column: DictionaryColumn) -> None:
        self._dictionary, self._arrow = column, None
        self._values, self._codes = column.values, column.codes
        self.dtype = column.values.dtype

    def sortable(self) -> tuple[Codes, int]:
        """Numbers from 0 that order the rows like their values, and how many there may be."""
        if self._is_range():
            low, high = self._ends()
            integers = self.values.cast(pl.Int64).to_numpy()
            size = high - low + 1
            if self._codes is None:
                return integers - low, size
            return look_up((integers - low).astype(np.min_scalar_type(size)), self._codes), size
        column = self.dictionary
        return column.codes, len(column.values)

    def _is_range(self) -> bool:
        """Whether integers stand for themselves when rows are ordered, without a dictionary."""
        if self._load or self._dictionary or not self.dtype.is_integer() or not len(self.values):
            return False
        if self.values.null_count():
            return False
        low, high = self._ends()
        return high - low < _WIDEST and high < 2**63

    def _ends(self) -> tuple[int, int]:
        low, high = self.values.min(), self.values.max()
        assert isinstance(low, int)
        assert isinstance(high, int)
        return low, high

    def of_numbers(self, numbers: Codes, size: int) -> PolarsColumn:
        """The column of rows that have these ``sortable`` numbers, which are below ``size``."""
        if self._dictionary is not None:
            return PolarsColumn.of(DictionaryColumn(self._dictionary.values, numbers))
        low, _ = self._ends()
        if size < min(_LISTED, len(numbers)):
            listed = pl.int_range(low, low + size, dtype=pl.Int64, eager=True).cast(self.dtype)
            return PolarsColumn.of(DictionaryColumn(listed, numbers))
        integers = numbers.astype(np.int64)
        integers += low
        return PolarsColumn(pl.Series(integers).cast(self.dtype))

    def chosen(self, rows: NDArray[np.bool_]) -> PolarsColumn:
        """The column of the chosen rows; values that none of them has are dropped."""
        if self._dictionary is not None:
            return PolarsColumn.of(self._dictionary.only(rows))
        if self.codes is None:
            return PolarsColumn(self.values.filter(pl.Series(rows)))
        there = DictionaryColumn(self.values, self.codes).only(rows)
        return PolarsColumn(there.values, there.codes)

    def gathered(self, indices: NDArray[Any]) -> PolarsColumn:
        """The column of the rows with these indices, in this order."""
        if self.codes is None:
            return PolarsColumn(gathered(self.values, indices))
        codes = look_up(self.codes, indices)
        if self._dictionary is not None and self._dictionary.codes is self.codes:
            return PolarsColumn.of(DictionaryColumn(self._dictionary.values, codes))
        return PolarsColumn(self.values, codes)

    def before(self, other: PolarsColumn) -> PolarsColumn:
        """The rows of this column, and behind them those of another of the same type."""
        one, two = self.dictionary, other.dictionary
        values = pl.concat([one.values, two.values.cast(one.values.dtype)])
        codes = np.concatenate((one.codes, two.codes.astype(np.int64) + len(one.values)))
        return PolarsColumn.of(DictionaryColumn(values, codes).mapped(values))

    def series(self, name: str) -> pl.Series:
        """The value of each row; few distinct texts stay in a dictionary (Enum)."""
        if self.codes is None:
            values = self.values
            return (values if isinstance(values.dtype, pl.Enum) else _plain(values)).alias(name)
        column = self.dictionary if self.dtype == pl.String else None
        if column is None:
            column = DictionaryColumn(self.values, self.codes)
        return column.decode(column.codes).alias(name)

    def with_categories(self) -> PolarsColumn:
        """The column with few distinct texts as categories, none of which no row has, in order.

        Such a column can be written as it stands, without a look-up of each text.  Others are as
        they were.
        """
        few = self.codes is not None and len(self.values) <= min(MOST_CATEGORIES, len(self.codes))
        if self.dtype != pl.String or not few:
            return self
        column = self.dictionary
        if not count_codes(column.codes, len(column.values)).all():
            column = column.only(np.ones(len(column.codes), dtype=np.bool_))
        made = PolarsColumn(column.values, column.codes)
        made._values = column.values.cast(pl.Enum(column.values.drop_nulls()))
        made.dtype = made._values.dtype
        return made

    def part(self, name: str, rows: slice) -> pl.Series:
        """The value of each of some rows."""
        if self.codes is None:
            return _plain(self.values[rows]).alias(name)
        return gathered(self.values, self.codes[rows]).alias(name)

    def arrow(self, rows: slice) -> pa.Array:
        """The values of some rows, as a dictionary array where there are codes."""
        if self.codes is None:
            return _plain(self.values[rows]).to_arrow()
        indices = array_of(self.codes[rows])
        return pa.DictionaryArray.from_arrays(indices, self.arrow_values, safe=False)

    @property
    def arrow_values(self) -> pa.Array:
        """All values, as Arrow."""
        if self._arrow is None:
            self._arrow = _plain(self.values).to_arrow()
        return self._arrow


def _is_category(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Categorical | pl.Enum)


def _plain(values: pl.Series) -> pl.Series:
    """Categories as texts: their own order depends on that of the rows."""
    return values.cast(pl.String) if _is_category(values.dtype) else values


BATCH_ROWS = 1 << 17
"""Rows of a batch: their arrays stay near the processor."""
_WORKERS = 2


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
    several(ask, parts, len(parts) > 1)
    return [put.series() for put in made]


def several(function: Callable[[T], U], over: Sequence[T], at_once: bool) -> list[U]:
    """What a function gives for each of several; some ``at_once`` where it is long.

    What is long in it releases Python's lock.
    """
    if not at_once:
        return list(map(function, over))
    with futures.ThreadPoolExecutor(_WORKERS) as pool:
        return list(pool.map(function, over))


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
