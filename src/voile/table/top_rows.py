"""The best rows of a table, and those in the box around them, found while it is read.

Rows are gone through once, a batch at a time, before anything is bound or encoded; see
``best_rows``.  What that promises is said of the whole table: missing values are treated as the
plan declares, and what is ranked by must be finite, known to the order of its texts, and
within its bounds.  Bounds, types and hierarchies of all other columns are looked at in the rows
that may be published, those in the box around the best.

Whatever is out of the ordinary goes the way of all tables: the whole table is read and bound, so
that there is one place that knows what to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.ordered import ranks_in_order
from voile.schema.plan import ColumnPlan, Plan
from voile.table.arrays import array_of, polars_type, series_of
from voile.table.best_rows import Asked, Batch, Found, Taker, UnusualError, find_best
from voile.table.binding import UNPUBLISHABLE, limits_of
from voile.table.dates import may_hold_dates
from voile.table.numeric import distinct_values
from voile.table.protocol import Rows
from voile.table.value_types import with_missing
from voile.values.expressions import Column

__all__ = ["can_be_scanned", "find_in_bound", "find_in_source"]

_PLACES, _INSIDE = "\1places of ", "\1inside"
"""No file has a column whose name begins so."""

Reader = Callable[[pa.RecordBatch, int], Batch]


def can_be_scanned(schema: pa.Schema, plan: Plan) -> bool:
    """Whether the best rows of a table can be found before it is bound.

    That is so where columns to rank by hold numbers, or texts that the plan gives an order, and
    each row is another person.
    """
    if plan.roles.unit is not None:
        return False
    types = {field.name: polars_type(field.type) for field in schema}
    published, ranking = plan.roles.published, plan.roles.ranking
    if not set(published) <= set(types):
        return False
    if any(types[name].is_nested() or types[name] in UNPUBLISHABLE for name in published):
        return False
    declared = {name: plan.columns.get(name, ColumnPlan()) for name in published}
    if any(it.dated and may_hold_dates(types[name]) for name, it in declared.items()):
        return False
    return bool(ranking) and all(
        _can_rank(types[name], plan.columns.get(name, ColumnPlan())) for name in ranking
    )


def _can_rank(dtype: pl.DataType, declared: ColumnPlan) -> bool:
    if declared.order is None:
        return dtype.is_numeric() and declared.reads_as != "text"
    return dtype == pl.String and declared.reads_as != "number" and declared.bounds is None


class _Fold:
    """Hands on batches of rows as they are to be ranked."""

    def __init__(self, taker: Taker, read: Reader) -> None:
        self.taker = taker
        self.rows = 0
        """How many there were."""
        self._read = read

    def take(self, batch: pa.RecordBatch, first: int) -> None:
        self.rows += batch.num_rows
        self.taker.take(self._read(batch, first))

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self.taker.merge(other.taker)


def find_in_source(rows: Rows, plan: Plan, asked: Asked) -> tuple[Found, int]:
    """The best rows of a table that is not bound, and how many rows it has in all.

    Raises ``UnusualError``.
    """
    reader = _PlanReader(plan, asked.score.columns)
    folds: list[_Fold] = []

    def go(taker: Taker) -> None:
        folds.append(_Fold(taker, reader))
        rows.fold(plan.roles.published, folds[-1])

    return find_best(go, asked), folds[0].rows


def find_in_bound(rows: Rows, plan: Plan, asked: Asked, *, rounded: bool) -> tuple[Rows, int]:
    """The rows in the box around the best rows of a table, and how many are best.

    Raises ``UnusualError`` where ``rounded``.
    """
    names = list(asked.score.columns)
    keys = [f"{_PLACES}{name}" if _order(plan, name) else name for name in names]
    for name, key in zip(names, keys, strict=True):
        if key != name:
            rows = _with_places(rows, plan, name, key)

    def read(batch: pa.RecordBatch, first: int) -> Batch:
        frame = pl.DataFrame([series_of(batch[key], key) for key in keys])
        return Batch(frame, tuple(keys), np.arange(first, first + batch.num_rows))

    def go(taker: Taker) -> None:
        rows.fold(keys, _Fold(taker, read))

    found = find_best(go, asked, rounded=rounded)
    ends = found.ends

    def inside(batch: pa.RecordBatch) -> list[Any]:
        chosen = np.zeros(batch.num_rows, dtype=np.bool_)
        if ends is not None:
            chosen[ends.holds([series_of(batch[key]) for key in keys])] = True
        return [array_of(chosen)]

    gives = pa.schema([pa.field(_INSIDE, pa.bool_())])
    chosen = rows.map(inside, keys, gives).filter(Column(_INSIDE))
    return chosen.select([n for n in rows.schema.names if not n.startswith(_PLACES)]), found.tops


def _with_places(rows: Rows, plan: Plan, name: str, key: str) -> Rows:
    """Rows with the places of their texts in the declared order; raises ``TableError``."""
    counted = rows.count([name], keep=True)
    texts = distinct_values(series_of(counted.values[0]))
    places = ranks_in_order(name, _order(plan, name), texts)
    return rows.join(counted, {key: array_of(places)})


def _order(plan: Plan, name: str) -> Sequence[str]:
    return plan.columns.get(name, ColumnPlan()).order or ()


class _PlanReader:
    """Rows as the plan has them, without those that miss a value that they must not miss."""

    def __init__(self, plan: Plan, keys: Sequence[str]) -> None:
        self._plan = plan
        self._keys = keys

    def __call__(self, batch: pa.RecordBatch, first: int) -> Batch:
        """Raises ``UnusualError``."""
        rows = pl.DataFrame(
            [series_of(a, n) for n, a in zip(batch.schema.names, batch, strict=True)]
        )
        if self._plan.missing:
            rows = rows.with_columns(with_missing(column, self._plan.missing) for column in rows)
        for name in self._keys:
            self._require_bounds(rows[name])
        places = np.arange(first, first + rows.height)
        if (kept := self._kept(rows)) is not None:
            rows, places = rows.filter(pl.Series(kept)), places[kept]
        orders = {name: order for name in self._keys if (order := _order(self._plan, name))}
        made = [_places_of(rows[name], order) for name, order in orders.items()]
        keys = tuple(_PLACES + name if name in orders else name for name in self._keys)
        return Batch(rows.with_columns(made), keys, places)

    def _kept(self, rows: pl.DataFrame) -> NDArray[np.bool_] | None:
        """The rows that stay, None where all do."""
        kept = None
        for column in rows:
            if not column.null_count():
                continue
            policy = self._plan.nulls_of(column.name)
            if policy == "refuse":
                raise UnusualError(column.name)
            if policy == "drop":
                there = column.is_not_null().to_numpy()
                kept = there if kept is None else kept & there
        return kept

    def _require_bounds(self, column: pl.Series) -> None:
        """Raise ``UnusualError`` where a value lies outside its public bounds."""
        bounds = self._plan.columns.get(column.name, ColumnPlan()).bounds
        if bounds is None or column.null_count() == len(column):
            return
        limits, low, high = limits_of(column.dtype, bounds), column.min(), column.max()
        if not limits or low < limits[0] or high > limits[1]:
            raise UnusualError(column.name)


def _places_of(texts: pl.Series, order: Sequence[str]) -> pl.Series:
    """The places of texts in an order, from 1; null where a text has none."""
    known = texts.cast(pl.String).cast(pl.Enum(order), strict=False)
    return (known.to_physical().cast(pl.Int32) + 1).alias(_PLACES + texts.name)
