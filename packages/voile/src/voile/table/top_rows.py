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

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.ranges import ranks_in_order
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Plan
from voile.table.arrays import array_of, polars_type, series_of
from voile.table.best_rows import (
    Batch,
    BestRowsQuery,
    Found,
    RowScore,
    Taker,
    UnusualError,
    find_best,
    in_one_unit,
)
from voile.table.binding import (
    UNPUBLISHABLE,
    distinct_values,
    exact_numbers,
    limits_of,
    require_finite_numbers,
)
from voile.table.counting import CountedTable
from voile.table.protocol import Rows
from voile.table.summaries import CombinationCounts
from voile.table.value_types import may_hold_dates, with_missing
from voile_base.values.expressions import Column

__all__ = [
    "can_be_scanned",
    "find_in_bound",
    "find_in_source",
    "require_ranked",
    "require_scores",
    "rows_of_best_units",
]

_RANKED, _INSIDE = "\1rank of ", "\1inside"
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


def find_in_source(rows: Rows, plan: Plan, asked: BestRowsQuery) -> tuple[Found, int]:
    """The best rows of a table that is not bound, and how many rows it has in all.

    Raises ``UnusualError``.
    """
    reader = _PlanReader(plan, asked.score.columns)
    folds: list[_Fold] = []

    def go(taker: Taker) -> None:
        folds.append(_Fold(taker, reader))
        rows.fold(plan.roles.published, folds[-1])

    return find_best(go, asked), folds[0].rows


def find_in_bound(
    rows: Rows, plan: Plan, asked: BestRowsQuery, *, rounded: bool
) -> tuple[Rows, int]:
    """The rows in the box around the best rows of a table, and how many are best.

    Raises ``UnusualError`` where ``rounded``.
    """
    names = list(asked.score.columns)
    keys = [f"{_RANKED}{name}" if _order(plan, name) else name for name in names]
    for name, key in zip(names, keys, strict=True):
        if key != name:
            rows = _with_ranks(rows, plan, name, key)

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
    return chosen.select([n for n in rows.schema.names if not n.startswith(_RANKED)]), found.tops


def rows_of_best_units(table: CountedTable, asked: BestRowsQuery) -> int:
    """How many rows score no less than the best persons or households; 0 where none is best.

    Cost: a count by the columns of the score, and one of units for each step of a bisection.
    """
    counts = table.count_combinations(asked.score.columns)
    level = _levels_of(counts, table.plan, asked.score)

    def units(least: int) -> int:
        assert counts.units is not None
        return int(counts.units.count(np.where(level >= least, 0, -1), 1)[0])

    levels = range(int(level.max(initial=-1)) + 1)
    least = bisect_right(levels, -asked.top, key=lambda each: -units(each)) - 1
    least = max(least, 0)
    if not asked.ties and units(least) > asked.top:
        least += 1
    return int(counts.rows[level >= least].sum())


def require_ranked(rows: Rows, plan: Plan, name: str) -> None:
    """Raise ``TableError`` where a column has no numbers to rank by."""
    if not _order(plan, name):
        require_finite_numbers(rows, name)


def require_scores(rows: Rows, plan: Plan, name: str, score: RowScore) -> None:
    """Raise ``TableError`` where a value of a column cannot be scored."""
    values = series_of(rows.count([name]).values[0])
    if order := _order(plan, name):
        ranks = ranks_in_order(name, order, distinct_values(values))
        score.exact(name, ExactNumbers.of(ranks))
    else:
        score.exact(name, exact_numbers(values))


def _levels_of(counts: CombinationCounts, plan: Plan, score: RowScore) -> NDArray[np.int64]:
    """Shape (g,): the rank of the score of each combination of the score's columns, from 0.

    Raises ``TableError`` where a value cannot be scored.
    """
    added = []
    for name, values in zip(counts.columns, counts.values, strict=True):
        numbers = values.numbers
        if order := _order(plan, name):
            numbers = ExactNumbers.of(ranks_in_order(name, order, values))
        assert numbers is not None
        added.append(score.exact(name, numbers))
    units, _ = in_one_unit(added)
    total = sum(each[counts.codes[:, j]] for j, each in enumerate(units))
    return np.unique(total, return_inverse=True)[1].astype(np.int64)


def _with_ranks(rows: Rows, plan: Plan, name: str, key: str) -> Rows:
    """Rows with the ranks of their texts in the declared order; raises ``TableError``."""
    counted = rows.count([name], keep=True)
    texts = distinct_values(series_of(counted.values[0]))
    ranks = ranks_in_order(name, _order(plan, name), texts)
    return rows.join(counted, {key: array_of(ranks)})


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
        made = [_ranks_of(rows[name], order) for name, order in orders.items()]
        keys = tuple(_RANKED + name if name in orders else name for name in self._keys)
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


def _ranks_of(texts: pl.Series, order: Sequence[str]) -> pl.Series:
    """The ranks of texts in an order, from 1; null where a text has none."""
    known = texts.cast(pl.String).cast(pl.Enum(order), strict=False)
    return (known.to_physical().cast(pl.Int32) + 1).alias(_RANKED + texts.name)
