"""A private table between the steps of a chain: rows as a step left them, and whose they are.

Each step is asked as if the table had come in so.  What a step publishes stays here, beside the
private columns that later steps need, and is seen by nobody before the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.coding import Coding, coded_values, described_after
from voile.schema.plan import ColumnPlan, Plan
from voile.table.applying import applied
from voile.table.arrays import array_of, series_of
from voile.table.binding import BoundTable, coded_series, distinct_values, require_finite
from voile.table.decisions import Treatment
from voile.table.private import PrivateTable
from voile.table.protocol import Rows
from voile.table.published import GROUP, PublishedTable
from voile.table.summaries import PublishedUnits
from voile_base.randomness import Randomness

__all__ = ["ChainedTable"]

_PLACE = "\1place"
"""No file has a column whose name begins so."""


class ChainedTable(PrivateTable):
    """Rows between two steps; nothing in it may leave."""

    _left: Rows | None = None

    @classmethod
    def of(cls, table: PrivateTable) -> ChainedTable:
        """A table as it was read."""
        return cls(table._source, table._bound, table._of_all_units)

    def coded(self, column: str, codings: Sequence[Coding]) -> ChainedTable:
        """The table with a column coded, and what the plan says of it.

        Raises ``PlanError`` for what cannot be coded, ``TableError`` for NaN or an infinity.
        """
        require_finite(self._rows, column)
        described = self.plan.columns.get(column, ColumnPlan())
        counted = self._rows.count([column], keep=True)
        values = distinct_values(series_of(counted.values[0]))
        found = coded_values(column, described, values, codings)
        place: NDArray[np.int64] = found.codes[counted.codes[:, 0]]
        becomes = coded_series(found.values).to_arrow()
        rows = self._rows.join(counted, {_PLACE: array_of(place)})
        gives = pa.schema([pa.field(column, becomes.type)])

        def shown(batch: pa.RecordBatch) -> list[pa.Array]:
            return [series_of(becomes).gather(series_of(batch[_PLACE])).to_arrow()]

        names = self._rows.schema.names
        rows = rows.map(shown, [_PLACE], gives).select(names)
        columns = {**self.plan.columns, column: described_after(described, codings)}
        return self._with(rows, replace(self.plan, columns=columns), self.dropped)

    def apply_counted(
        self, treatment: Treatment, randomness: Randomness
    ) -> tuple[PublishedTable, PublishedUnits | None]:
        """As ``PrivateTable`` does; the rows are kept for the next step."""
        roles = self.plan.roles
        private = tuple(dict.fromkeys(roles.named_units.values()))
        rows = applied(self._rows, roles.published, treatment, randomness, private)
        self._left = rows
        shown = [name for name in rows.schema.names if name not in private]
        table = PublishedTable(rows.select(shown), self._source.convert)
        if roles.unit is None:
            return table, None
        return table, PublishedUnits(rows, roles.unit, self._of_units)

    def after(self, intervals: Mapping[str, ColumnPlan]) -> ChainedTable | None:
        """What the last step left, without its groups; None where it left no rows of this table.

        ``intervals`` are the columns that it shows as two ends, which become texts.
        """
        if self._left is None:
            return None
        names = [name for name in self._left.schema.names if name != GROUP]
        table = PublishedTable(self._left.select(names)).with_intervals_as_text(intervals)
        rows = table._rows.select([n for n in self._rows.schema.names if n in table.columns])
        plan = replace(self.plan, columns={**self.plan.columns, **intervals})
        return self._with(rows, plan, self.dropped + self.rows - rows.height)

    def _with(self, rows: Rows, plan: Plan, dropped: int) -> ChainedTable:
        source = replace(self._source, plan=plan)
        bound = BoundTable(
            rows, dropped, () if self._bound_rows is None else self._bound_rows.notes
        )
        units = self._of_all_units if rows.height == self._rows.height else None
        return ChainedTable(source, bound, units)
