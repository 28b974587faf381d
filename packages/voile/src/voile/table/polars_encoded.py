"""Rows in memory, each column dictionary-encoded: what they are, and how a part of them is made.

What is asked of rows and made of them, which the kernel promises, is ``polars_rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.combinations import Combinations, combine, count_pairs
from voile.table.dictionary import (
    Codes,
    DictionaryColumn,
    code_type,
    look_up,
)
from voile.table.frequencies import count_codes
from voile.table.polars_column import PolarsColumn
from voile.table.polars_expressions import matches
from voile.table.polars_mapping import BATCH_ROWS, slices
from voile.table.protocol import Counted
from voile_base.values.expressions import Expression, columns_of

__all__ = ["WORKERS", "EncodedRows", "Order", "RowCodes", "Scan", "combined"]

WORKERS = 2

Scan = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""Some columns of all rows of a source, in their order."""


class Order:
    """Which rows a data set has, and where each stands: those that share one agree in both."""

    def __init__(self, numbers: Callable[[], NDArray[np.int64]] | None = None) -> None:
        self.numbers = numbers
        """Where the rows stand in their source, from 0; None: as they stand here."""
        self.combined: dict[tuple[str, ...], Combinations] = {}
        """Combinations of values that were counted in order to rank rows."""
        self.number: PolarsColumn | None = None
        """The numbers of the rows as a column, where they ascend."""
        self.by: tuple[PolarsColumn, ...] = ()
        """What the rows are ordered by."""
        self.stably_by: tuple[PolarsColumn, ...] = ()
        """The same, and their numbers where rows that agree stand by these."""


@dataclass(frozen=True, eq=False)
class RowCodes:
    """Which combination each row has."""

    order: Order
    found: Combinations
    columns: Sequence[DictionaryColumn]


class EncodedRows:
    """Columns by their names, and which rows they are of."""

    def __init__(
        self,
        columns: Mapping[str, PolarsColumn],
        height: int | None = None,
        *,
        scan: Scan | None = None,
        order: Order | None = None,
    ) -> None:
        self._columns = dict(columns)
        self._height = height
        self._scan = scan
        self._order = order or Order()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        empty = [pl.Series(name, dtype=column.dtype) for name, column in self._columns.items()]
        return pl.DataFrame(empty).to_arrow().schema

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self._height is None:
            self._height = len(next(iter(self._columns.values())))
        return self._height

    def _like(self, columns: Mapping[str, PolarsColumn]) -> Self:
        """The same rows with other columns."""
        return type(self)(columns, self._height, scan=self._scan, order=self._order)

    def _only(self, rows: NDArray[np.bool_]) -> Self:
        """The chosen rows."""
        if rows.all():
            return self
        before_all, before = self._order, self._order.numbers

        def numbers() -> NDArray[np.int64]:
            order = np.flatnonzero(rows)
            return before()[order] if before else order

        columns = {name: column.chosen(rows) for name, column in self._columns.items()}
        order = Order(numbers)
        chosen = {id(self._columns[name]): column for name, column in columns.items()}
        if all(id(column) in chosen for column in before_all.stably_by):
            order.by = tuple(chosen[id(column)] for column in before_all.by)
            order.stably_by = tuple(chosen[id(column)] for column in before_all.stably_by)
        return type(self)(columns, int(rows.sum()), order=order)

    def _dictionaries(self, names: Sequence[str]) -> list[DictionaryColumn]:
        return [self._columns[name].dictionary for name in names]

    def _frame(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns as a frame, with few distinct texts in dictionaries (Enum)."""
        if self.height <= BATCH_ROWS:
            return pl.DataFrame([self._columns[name].series(name) for name in names])
        with ThreadPoolExecutor(WORKERS) as pool:  # gathering releases Python's lock
            series = pool.map(lambda name: self._columns[name].series(name), names)
            return pl.DataFrame(list(series))

    def _batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all rows, many rows at a time."""
        columns = {name: self._columns[name] for name in names}
        if self._scan is not None and not all(column.is_read for column in columns.values()):
            yield from self._scan(names)
            return
        for rows in slices(self.height):
            yield pl.DataFrame([column.part(name, rows) for name, column in columns.items()])

    def _mask(self, holds: Expression) -> NDArray[np.bool_] | None:
        """The rows for which an expression holds; None where there is none."""
        names = list(dict.fromkeys(columns_of(holds)))
        if len(names) == 1 and (codes := self._columns[names[0]].codes) is not None:
            values = self._columns[names[0]].values.alias(names[0])
            chosen = matches(holds, values.to_frame())
            return look_up(chosen, codes) if chosen.any() else None
        parts = [
            matches(holds, pl.DataFrame([self._columns[name].part(name, rows) for name in names]))
            for rows in slices(self.height)
        ]
        if not names:
            return np.repeat(parts[0], self.height) if parts else None
        return np.concatenate(parts) if parts else None

    def _indices(self, counted: Counted) -> tuple[Codes, bool]:
        """Which combination each row has, g where it was not counted; whether all rows were."""
        kept = counted.handle
        if isinstance(kept, RowCodes) and kept.order is self._order:
            return kept.found.index, True
        height, combinations = self.height, len(counted.rows)
        columns = []
        for name, values, codes in zip(
            counted.columns, counted.values, counted.codes.T, strict=True
        ):
            others = PolarsColumn(pl.Series("", values), codes)
            columns.append(self._columns[name].before(others).dictionary)
        found = combined(columns)
        of_counted = np.full(len(found.rows), combinations, dtype=code_type(combinations + 1))
        of_counted[found.index[height:]] = np.arange(combinations)
        return look_up(of_counted, found.index[:height]), False

    def _multisets(self, within: str, name: str) -> tuple[Codes, NDArray[np.int64]]:
        """The values in each group, group by group and ascending: codes, and how often each."""
        group, column = self._columns[within], self._columns[name].dictionary
        counted = group.counted
        if counted is not None and name in counted.columns:
            kept, index = counted.handle, counted.columns.index(name)
            if group.codes is kept.found.index and kept.columns[index] is column:
                numbers = group.values.to_numpy()
                order = np.lexsort((counted.codes[:, index], numbers))
                return counted.codes[order, index], counted.rows[order]
        _, values, rows = count_pairs(group.sortable(), (column.codes, len(column.values)))
        return values, rows


def combined(columns: Sequence[DictionaryColumn]) -> Combinations:
    """The combinations of values of some columns, and which each row has."""
    if len(columns) == 1:
        codes = columns[0].codes
        rows = count_codes(codes, len(columns[0].values))
        if rows.all():
            return Combinations([np.arange(len(rows))], rows, lambda: codes)
    return combine([(column.codes, len(column.values)) for column in columns])
