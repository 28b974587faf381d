"""A private table as it is counted: rows, values and combinations of them, persons, the best rows.

The rows are bound to the plan when something is asked of them that needs it: of a ranking, only the
best rows are ever bound, and the others not kept (see below).

The best rows
-------------
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.ranges import ranks_in_order
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.table.arrays import array_of, series_of, with_missing
from voile.table.best_rows import (
    Batch,
    BestRows,
    BestRowsQuery,
    RowScore,
    Taker,
    UnusualError,
    in_one_unit,
)
from voile.table.binding import (
    BoundTable,
    distinct_values,
    exact_numbers,
    limits_of,
    require_finite,
    require_finite_numbers,
)
from voile.table.decisions import Grouping
from voile.table.looking import refuse_kept_that_single_out, refuse_published_ids, require_units
from voile.table.matching import CLASS
from voile.table.protocol import Engine, Format, Rows
from voile.table.summaries import (
    CombinationCounts,
    CountedRows,
    GroupCounts,
    RowMatch,
    RowSample,
    UnitCounts,
    ValueCounts,
    numbers_of_rows,
    rows_of_units,
)
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Column

__all__ = [
    "CountedTable",
    "TableSource",
    "find_in_bound",
    "find_in_source",
    "require_ranked",
    "require_scores",
]

_GROUP, _COUNT = "\1group", "\1count"
"""No file has columns whose names begin so."""


@dataclass(frozen=True, eq=False)
class TableSource:
    """A private table before its plan is bound to it."""

    engine: Engine
    rows: Rows
    plan: Plan
    names: Sequence[str]
    """Of all columns that it has."""
    extra: Sequence[str] = ()
    """Columns without a published role that the method needs."""
    format: Format = "parquet"
    notes: tuple[str, ...] = ()
    convert: Callable[[Rows], Any] | None = None
    """What makes of rows a data frame of the kind that the table was."""


class CountedTable:
    """The rows of a table of real people, and what may be counted of them; private."""

    def __init__(
        self, source: TableSource, bound: BoundTable | None = None, of_units: Rows | None = None
    ) -> None:
        source.plan.bind(source.names)
        self._source = source
        self._bound_rows = bound
        self._of_all_units = of_units
        self._sizes: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    @property
    def plan(self) -> Plan:
        """Roles and what the plan says of the columns; names are those of this table."""
        return self._source.plan

    @property
    def source_format(self) -> Format:
        """The format that a release has unless another is asked for."""
        return self._source.format

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading the table, and what the plan let happen to values."""
        bound = self._bound_rows
        return (*self._source.notes, *(bound.notes if bound else ()))

    @property
    def rows(self) -> int:
        """Number of rows after the declared treatment of missing values."""
        return self._sizes[0] if self._sizes else self._bound.rows.height

    @property
    def dropped(self) -> int:
        """Rows left out because the plan says ``nulls = "drop"``."""
        return self._sizes[1] if self._sizes else self._bound.dropped

    def read(self) -> Self:
        """The table itself, bound to its plan; raises ``TableError`` and ``PlanError``."""
        assert self._bound.rows is not None
        return self

    # -- counts -----------------------------------------------------------------------------------

    def count_values(self, column: str, match: RowMatch | None = None) -> ValueCounts:
        """Rows by distinct value of a numeric column, and by class where rows were matched.

        Raises ``TableError`` where the column is not numeric, misses values, holds NaN or an
        infinity, or leaves its public bounds.
        """
        require_finite_numbers(self._rows, column)
        rows = match.rows if match else self._rows
        counted = rows.count([column, CLASS] if match else [column], keep=True)
        numbers = exact_numbers(series_of(counted.values[0]))
        value = counted.codes[:, 0].astype(np.int64)
        row_class = np.zeros(len(value), dtype=np.int64)
        if match:
            classes = series_of(counted.values[1]).to_numpy().astype(np.int64)
            row_class = classes[counted.codes[:, 1]]
        return ValueCounts(
            numbers,
            value,
            row_class,
            counted.rows,
            match.classes if match else 1,
            CountedRows(rows, counted),
        )

    def count_combinations(
        self,
        columns: Sequence[str],
        sample: RowSample | None = None,
        rolled: Mapping[str, NDArray[np.int32]] | None = None,
    ) -> CombinationCounts:
        """Rows by distinct combination of values of some columns, of all rows or of a sample.

        Values of a sample are named as those of all rows.  ``rolled`` gives for some columns the
        value that each of their values counts as, by code: the engine rolls rows up before it
        counts them, and no finer combinations are collected.  Numeric columns must be finite;
        missing values count as a value of their own.  Raises ``TableError``.
        """
        self._require_finite(columns)
        rows = sample.rows if sample else self._rows
        for name, counts_as in (rolled or {}).items():
            alone = rows.count([name], keep=True)
            rows = rows.join(
                alone, {name: alone.values[0].take(array_of(counts_as[alone.codes[:, 0]]))}
            )
        counted = rows.count(columns, keep=True)
        values, codes = counted.values, counted.codes
        if sample or rolled:
            values = tuple(self._rows.count([name]).values[0] for name in columns)
            pairs = zip(values, counted.values, codes.T, strict=True)
            codes = np.column_stack([_places_in(*pair) for pair in pairs])
        return CombinationCounts(
            columns=tuple(columns),
            values=tuple(distinct_values(series_of(each)) for each in values),
            codes=codes,
            rows=counted.rows,
            of=CountedRows(rows, counted),
            units=self.units_of(CountedRows(rows, counted)),
        )

    def combinations(self, columns: Sequence[str]) -> int:
        """How many distinct combinations of values some columns have; none is collected."""
        return self._rows.distinct(columns, _COUNT).height

    def units_of(self, found: CountedRows) -> UnitCounts | None:
        """The persons or households of what was counted; None where each row is another person."""
        unit = self.plan.roles.unit
        if unit is None:
            return None
        return UnitCounts.of(found.rows, found.counted, unit, self._of_units)

    @property
    def units(self) -> int:
        """How many persons or households there are; rows, where each is another person."""
        return self.rows if self.plan.roles.unit is None else self._of_units.height

    def rows_beyond(self, most: int) -> int:
        """How many rows persons or households have beyond so many each; private.

        Where each row is another person, none has several.
        """
        if self.plan.roles.unit is None:
            return 0
        rows, units = numbers_of_rows(self._of_units)
        most = min(most, self.rows)  # however large, it fits the numbers
        return int((np.maximum(rows - most, 0) * units).sum())

    def count_in_groups(self, groups: Grouping, columns: Sequence[str]) -> tuple[GroupCounts, ...]:
        """Rows by group and distinct value, for each of some columns, and whose they are.

        Numeric columns must be finite; raises ``TableError``.  Raises ``ValueError`` where groups
        leave a row out, or are of a sample.
        """
        counted = groups.of.counted
        if groups.group.min(initial=0) < 0 or counted.rows.sum() != self._rows.height:
            msg = "groups must leave no row out, and be of combinations of all rows of the table"
            raise ValueError(msg)
        self._require_finite(columns)
        rows = groups.of.rows.join(counted, {_GROUP: array_of(groups.group)})
        found = []
        for column in columns:
            cells = rows.count([_GROUP, column], keep=self.plan.roles.unit is not None)
            numbers = series_of(cells.values[0]).to_numpy()
            group, value = cells.codes.astype(np.int64).T
            units = self.units_of(CountedRows(rows, cells))
            found.append(GroupCounts(column, numbers[group], value, cells.rows, units=units))
        return tuple(found)

    # -- how --------------------------------------------------------------------------------------

    @property
    def _bound(self) -> BoundTable:
        if self._bound_rows is None:
            source = self._source
            bound = BoundTable.bind(source.rows, source.plan, source.names, source.extra)
            doubts = require_units(bound.rows, source.plan)
            refuse_kept_that_single_out(bound.rows, source.plan)
            exact = refuse_published_ids(bound.rows, source.plan, source.names)
            bound = replace(bound, notes=(*bound.notes, *doubts, *exact))
            self._bound_rows = bound
            # Encoded columns take the place of those that were read.
            self._source = replace(source, rows=bound.rows)
        return self._bound_rows

    @property
    def _rows(self) -> Rows:
        return self._bound.rows

    @cached_property
    def _of_units(self) -> Rows:
        """The persons or households, and how many rows each has; of a part, in the whole table."""
        unit = self.plan.roles.unit
        assert unit is not None
        return self._of_all_units or rows_of_units(self._rows, unit)

    def _require_finite(self, columns: Sequence[str]) -> None:
        for name in columns:
            require_finite(self._rows, name)

    def rows_of_best_units(self, asked: BestRowsQuery) -> int:
        """How many rows score no less than the best persons or households; 0 where none is best.

        Cost: a count by the columns of the score, and one of units for each step of a bisection.
        """
        counts = self.count_combinations(asked.score.columns)
        level = _levels_of(counts, self.plan, asked.score)

        def units(least: int) -> int:
            assert counts.units is not None
            return int(counts.units.count(np.where(level >= least, 0, -1), 1)[0])

        levels = range(int(level.max(initial=-1)) + 1)
        least = bisect_right(levels, -asked.top, key=lambda each: -units(each)) - 1
        least = max(least, 0)
        if not asked.ties and units(least) > asked.top:
            least += 1
        return int(counts.rows[level >= least].sum())


def _places_in(values: pa.Array, some: pa.Array, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Codes that name some of ascending values, as codes that name them among all."""
    there = series_of(values).is_in(series_of(some).implode(), nulls_equal=True)
    return np.flatnonzero(there.to_numpy()).astype(np.int32)[codes]


_RANKED, _INSIDE = "\1rank of ", "\1inside"
"""No file has a column whose name begins so."""

Reader = Callable[[pa.RecordBatch, int], Batch]


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


def find_in_source(rows: Rows, plan: Plan, asked: BestRowsQuery) -> tuple[BestRows, int]:
    """The best rows of a table that is not bound, and how many rows it has in all.

    Raises ``UnusualError``.
    """
    reader = _PlanReader(plan, asked.score.columns)
    folds: list[_Fold] = []

    def go(taker: Taker) -> None:
        folds.append(_Fold(taker, reader))
        rows.fold(plan.roles.published, folds[-1])

    return BestRows.find(go, asked), folds[0].rows


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

    found = BestRows.find(go, asked, rounded=rounded)
    ends = found.ends

    def inside(batch: pa.RecordBatch) -> list[Any]:
        chosen = np.zeros(batch.num_rows, dtype=np.bool_)
        if ends is not None:
            chosen[ends.holds([series_of(batch[key]) for key in keys])] = True
        return [array_of(chosen)]

    gives = pa.schema([pa.field(_INSIDE, pa.bool_())])
    chosen = rows.map(inside, keys, gives).filter(Column(_INSIDE))
    return chosen.select([n for n in rows.schema.names if not n.startswith(_RANKED)]), found.tops


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
    return plan.column(name).order or ()


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
        bounds = self._plan.column(column.name).bounds
        if bounds is None or column.null_count() == len(column):
            return
        limits, low, high = limits_of(column.dtype, bounds), column.min(), column.max()
        if not limits or low < limits[0] or high > limits[1]:
            raise UnusualError(column.name)


def _ranks_of(texts: pl.Series, order: Sequence[str]) -> pl.Series:
    """The ranks of texts in an order, from 1; null where a text has none."""
    known = texts.cast(pl.String).cast(pl.Enum(order), strict=False)
    return (known.to_physical().cast(pl.Int32) + 1).alias(_RANKED + texts.name)
