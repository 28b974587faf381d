"""A private table as it is counted: rows, values and combinations of them, persons.

The rows are bound to the plan when something is asked of them that needs it: of a ranking, only the
best rows are ever bound, and the others not kept (``top_rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.plan import Plan
from voile.table.arrays import array_of, series_of
from voile.table.binding import (
    BoundTable,
    bind,
    distinct_values,
    exact_numbers,
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

__all__ = ["CountedTable", "TableSource"]

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
            bound = bind(source.rows, source.plan, source.names, source.extra)
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


def _places_in(values: pa.Array, some: pa.Array, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Codes that name some of ascending values, as codes that name them among all."""
    there = series_of(values).is_in(series_of(some).implode(), nulls_equal=True)
    return np.flatnonzero(there.to_numpy()).astype(np.int32)[codes]
