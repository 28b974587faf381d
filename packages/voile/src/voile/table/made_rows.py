"""Rows that are made up, part by part, from the cells of public domains.

The rows of a part are a function of the part's number, so that an engine may ask for any part, in
any order and again.  What an engine holds of them is their numbers until they are written.

Cost: one part at a time in memory, beside the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.domain import ColumnDomain
from voile.table.arrays import numbers_of
from voile.table.protocol import Engine, Rows
from voile.table.published import PublishedTable

__all__ = ["MadeRows", "table_of_made_rows"]

_ROW = "\1row"
"""No file has a column whose name begins so."""


class MadeRows(Protocol):
    """Rows that somebody makes up."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def rows_of_part(self) -> int:
        """How many each part has, but the last."""

    def part(self, number: int) -> NDArray[np.int64]:
        """The leaves of the rows of a part, shape (rows, columns), -1 for a missing value."""


def table_of_made_rows(
    engine: Engine,
    domain: Sequence[ColumnDomain],
    made: MadeRows,
    convert: Callable[[Rows], Any] | None,
) -> PublishedTable:
    """Made-up rows in their order, to be published."""
    numbers = pl.DataFrame({_ROW: pl.Series(np.arange(made.rows, dtype=np.int32))}).to_arrow()
    rows = engine.of_arrow(numbers).ordered([_ROW])
    gives = pa.schema([pa.field(column.name, _type_of(column)) for column in domain])
    shown = rows.map(_Rendering(domain, made), [_ROW], gives).select(gives.names)
    return PublishedTable(shown, convert)


class _Rendering:
    """The values of rows by their numbers; keeps the part that was asked for last."""

    def __init__(self, domain: Sequence[ColumnDomain], made: MadeRows) -> None:
        self._domain, self._made = tuple(domain), made
        self._last: tuple[int, NDArray[np.int64]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    def __call__(self, batch: pa.RecordBatch) -> list[pa.Array]:
        rows = numbers_of(batch[0]).astype(np.int64)
        leaves = np.empty((len(rows), len(self._domain)), dtype=np.int64)
        parts = rows // self._made.rows_of_part
        for part in np.unique(parts).tolist():
            mine = parts == part
            leaves[mine] = self._part(part)[rows[mine] - part * self._made.rows_of_part]
        pairs = zip(self._domain, leaves.T, strict=True)
        return [_rendered(column, leaf).to_arrow() for column, leaf in pairs]

    def _part(self, number: int) -> NDArray[np.int64]:
        last = self._last  # read once: several threads may ask
        if last is None or last[0] != number:
            last = number, self._made.part(number)
            self._last = last
        return last[1]


def _type_of(column: ColumnDomain) -> pa.DataType:
    return _rendered(column, np.zeros(0, dtype=np.int64)).to_arrow().type


def _rendered(column: ColumnDomain, leaves: NDArray[np.int64]) -> pl.Series:
    """The values that leaves stand for."""
    there = pl.Series(leaves >= 0)
    if column.kind == "text":
        place = pl.select(pl.when(there).then(pl.Series(leaves))).to_series()
        return pl.Series(column.listed, dtype=pl.String).gather(place)
    if column.kind == "date":
        days = pl.Series(leaves + column.origin).cast(pl.Int32).cast(pl.Date)
        return pl.select(pl.when(there).then(days)).to_series()
    values = column.numbers_of(leaves)
    return pl.select(pl.when(there).then(pl.Series(values))).to_series()
