"""Holding the rows of a table against what its plan says of persons; see ``schema.persons``.

Whatever the engine and the method, no table comes in whose rows contradict that each of them is
another person, unless its plan says so.
"""

from __future__ import annotations

import pyarrow as pa

from voile.schema.persons import (
    columns_to_keep,
    identifying_columns,
    refuse_repeating,
    refuse_singling_out,
)
from voile.schema.plan import Plan
from voile.table.arrays import series_of
from voile.table.protocol import Rows
from voile.table.value_types import with_missing
from voile.values.expressions import both, is_missing, negated

__all__ = ["refuse_kept_that_single_out", "require_rows_of_persons", "rows_that_may_be_published"]


def require_rows_of_persons(rows: Rows, plan: Plan, record_key: str | None = None) -> None:
    """Raise ``PlanError`` where an identifier repeats; it is looked at and let go."""
    for name in identifying_columns(plan.roles, record_key):
        refuse_repeating(plan, name, rows.select([name]).occurrences(name, plan.missing))


def refuse_kept_that_single_out(rows: Rows, plan: Plan) -> None:
    """Raise ``PlanError`` where columns that are kept single out rows that may be published."""
    kept = {name: rows.occurrences(name) for name in columns_to_keep(plan.roles)}
    refuse_singling_out(plan, kept)


def rows_that_may_be_published(rows: Rows, plan: Plan) -> Rows:
    """The kept columns of rows that are not bound, without those that ``nulls = "drop"`` drops."""
    dropping = [name for name in plan.roles.published if plan.nulls_of(name) == "drop"]
    rows = rows.select(list(dict.fromkeys([*columns_to_keep(plan.roles), *dropping])))

    def read(batch: pa.RecordBatch) -> list[pa.Array]:
        return [with_missing(series_of(batch[0]), plan.missing).to_arrow()]

    for field in rows.schema if plan.missing else ():
        if pa.types.is_large_string(field.type):
            rows = rows.map(read, [field.name], pa.schema([field]))
    if not dropping:
        return rows
    return rows.filter(both(*(negated(is_missing(name)) for name in dropping)))
