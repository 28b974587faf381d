"""A private table in a file, of which only the best rows are read into memory.

``top_rows`` takes one pass over the published columns, a batch of rows at a time; see
``voile.table.best_rows``.  What it promises is said of the whole table: missing values are treated
as the plan declares, and what is ranked by must be finite, known to the order of its texts, and
within its bounds.  Bounds, types and hierarchies of all other columns are looked at in the rows
that may be published, those in the box around the best.

Whatever else is asked for, and whatever is out of the ordinary, goes the way of all tables: the
whole file is read and bound, so that there is one place that knows what to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.best_rows import Asked, Batch, Found, UnusualError, find_best
from voile.table.binding import UNPUBLISHABLE, BoundColumns, ColumnSource, bind, limits_of
from voile.table.numeric import broad_kind
from voile.table.polars_table import PolarsTable
from voile.table.protocol import Format, RowScore, TopRows
from voile.table.value_types import with_missing

__all__ = ["BatchSource", "ScannedTable", "can_be_scanned"]

_PLACES = "\0places of "
"""No file has a column whose name begins so."""


class BatchSource(ColumnSource, Protocol):
    """Columns that can be read again and again, one by one or some rows at a time."""

    @property
    def types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all rows, in their order."""


def can_be_scanned(source: BatchSource, plan: Plan) -> bool:
    """Whether the best rows of a table can be found without encoding all of its rows.

    That is so where columns to rank by hold numbers, or texts that the plan gives an order.  Raises
    ``PlanError`` where the plan and the columns disagree.
    """
    plan.bind(source.names)
    types = source.types
    published = plan.roles.published
    if any(types[name].is_nested() or types[name] in UNPUBLISHABLE for name in published):
        return False
    ranking = plan.roles.ranking
    return bool(ranking) and all(
        _can_rank(types[name], plan.columns.get(name, ColumnPlan())) for name in ranking
    )


def _can_rank(dtype: pl.DataType, declared: ColumnPlan) -> bool:
    if declared.order is None:
        return dtype.is_numeric() and declared.type != "text"
    return _is_text(dtype) and declared.type != "number" and declared.bounds is None


def _is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


class ScannedTable(PolarsTable):
    """A private table that is read when something is asked of it; see the module."""

    def __init__(
        self,
        source: BatchSource,
        plan: Plan,
        *,
        source_format: Format = "parquet",
        notes: tuple[str, ...] = (),
        to_native: Callable[[pl.DataFrame], Any] | None = None,
    ) -> None:
        # The base would bind the rows: here they are bound when they are asked for.
        self._source = source
        self._plan = plan
        self._source_format: Format = source_format
        self.notes = notes
        self._to_native = to_native
        self._counted: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return "ScannedTable(private)"

    @cached_property
    def _bound(self) -> BoundColumns:  # type: ignore[override]
        """All rows."""
        return bind(self._source, self._plan)

    @property
    def rows(self) -> int:
        """Number of rows after the declared treatment of missing values."""
        return super().rows if self._counted is None else self._counted[0]

    @property
    def dropped(self) -> int:
        """Rows left out because the plan says ``nulls = "drop"``."""
        return super().dropped if self._counted is None else self._counted[1]

    def kinds(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Kind of the values of each column, the same for integers and decimals."""
        return {name: self._kind(name) for name in columns}

    def top_rows(self, score: RowScore, top: int, *, ties: bool) -> TopRows:
        """The ``top`` rows of the highest scores, and the rows in the box around them."""
        dropped = 0

        def batches() -> Iterator[Batch]:
            nonlocal dropped
            dropped = 0
            start = 0
            for rows in self._source.batches(self._plan.roles.published):
                batch = self._batch(rows, start, score.columns)
                start += rows.height
                dropped += rows.height - len(batch.places)
                yield batch

        try:
            found = find_best(batches, Asked(score, top, ties))
        except UnusualError as unusual:
            self._refuse(unusual.column, score)
            return self._table(self._bound).top_rows(score, top, ties=ties)
        self._counted = (found.seen, dropped)
        return TopRows(self._table(replace(self._rows_of(found), dropped=dropped)), found.tops)

    def _rows_of(self, found: Found) -> BoundColumns:
        source = _Rows(found.box.rows, self._source.names)
        bound = bind(source, self._plan, places=found.box.places)
        return bound if found.tops else bound.only(np.zeros(bound.rows, dtype=np.bool_))

    def _table(self, bound: BoundColumns) -> PolarsTable:
        return PolarsTable(
            bound,
            self._plan,
            source_format=self._source_format,
            notes=self.notes,
            to_native=self._to_native,
        )

    def _kind(self, name: str) -> str:
        return self._declared(name).type or broad_kind(pl.Series(dtype=self._source.types[name]))

    def _batch(self, rows: pl.DataFrame, start: int, keys: Sequence[str]) -> Batch:
        """Rows without those that miss a value that they must not miss."""
        if self._plan.missing:
            rows = rows.with_columns(with_missing(column, self._plan.missing) for column in rows)
        for name in keys:
            self._require_bounds(rows[name])
        places = np.arange(start, start + rows.height)
        if (kept := self._kept(rows)) is not None:
            rows, places = rows.filter(pl.Series(kept)), places[kept]
        orders = {name: order for name in keys if (order := self._declared(name).order)}
        made = [_places_of(rows[name], order) for name, order in orders.items()]
        key_names = tuple(_PLACES + name if name in orders else name for name in keys)
        return Batch(rows.with_columns(made), key_names, places)

    def _declared(self, name: str) -> ColumnPlan:
        return self._plan.columns.get(name, ColumnPlan())

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
        bounds = self._declared(column.name).bounds
        if bounds is None or column.null_count() == len(column):
            return
        limits, low, high = limits_of(column.dtype, bounds), column.min(), column.max()
        if not limits or low < limits[0] or high > limits[1]:
            raise UnusualError(column.name)

    def _refuse(self, column: str, score: RowScore) -> None:
        """Raise what is to be said of a column, if anything is, without reading the others."""
        roles = Roles(ranking=(column,))
        described = {name: it for name, it in self._plan.columns.items() if name == column}
        alone = replace(self._plan, roles=roles, columns=described)
        table = PolarsTable(bind(self._source, alone), alone)
        if column in score.columns:
            table.require_scores(column, score)


def _places_of(texts: pl.Series, order: Sequence[str]) -> pl.Series:
    """The places of texts in an order, from 1; null where a text has none."""
    known = texts.cast(pl.String).cast(pl.Enum(order), strict=False)
    return (known.to_physical().cast(pl.Int32) + 1).alias(_PLACES + texts.name)


class _Rows:
    """The rows that a pass has found, as columns."""

    def __init__(self, rows: pl.DataFrame, names: Sequence[str]) -> None:
        self._rows = rows
        self.names = names

    def take(self, name: str) -> pl.Series:
        return self._rows[name]
