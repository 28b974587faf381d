"""Holding the rows of a table against what its plan says of persons; see ``schema.persons``.

Whatever the engine and the method, no table comes in whose rows contradict that each of them is
another person, unless its plan says so; and none in which a row does not say whose it is, where the
plan names the column that does.

Cost: a sort or a hash of an identifier; where persons or households are named, a pass over their
columns, and a count of the pairs of both.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pyarrow as pa

from voile.schema.persons import (
    Occurrences,
    columns_to_keep,
    identifying_columns,
    refuse_divided_persons,
    refuse_forms,
    refuse_missing_unit,
    refuse_repeating,
    refuse_singling_out,
)
from voile.schema.plan import Plan
from voile.table.arrays import series_of
from voile.table.binding import flagged, mapped
from voile.table.protocol import Rows
from voile.table.unit_names import doubts_of_units, shows_nothing
from voile.table.value_types import with_missing
from voile_base.values.expressions import both, is_missing, negated

__all__ = [
    "refuse_kept_that_single_out",
    "require_rows_of_persons",
    "require_units",
    "rows_that_may_be_published",
]

_COUNTED, _HOUSEHOLDS = "\1rows", "\1households"
"""No file has columns whose names begin so."""


def require_rows_of_persons(rows: Rows, plan: Plan, record_key: str | None = None) -> None:
    """Raise ``PlanError`` where an identifier repeats; it is looked at and let go."""
    for name in identifying_columns(plan.roles, record_key):
        refuse_repeating(plan, name, rows.select([name]).occurrences(name, plan.missing))


def refuse_kept_that_single_out(rows: Rows, plan: Plan) -> None:
    """Raise ``PlanError`` where columns that are kept single out rows that may be published.

    Where the plan names persons or households: where values stand with one of them only.
    """
    kept = {name: _occurrences(rows, plan, name) for name in columns_to_keep(plan.roles)}
    refuse_singling_out(plan, kept)


def require_units(rows: Rows, plan: Plan) -> tuple[str, ...]:
    """What is doubtful about the ids of persons and households, as sentences.

    Raises ``TableError`` where a row does not say whose it is, ids differ only in form, or
    households divide a person.
    """
    named, notes = plan.roles.named_units, []
    for key, name in named.items():
        missing = flagged(rows, name, _says_nothing)
        refuse_missing_unit(plan, key, name, missing.rows, rows.height, missing.first)
        for doubt in doubts_of_units(rows, name, key):  # type: ignore[arg-type]
            if doubt.refused:
                refuse_forms(plan, key, doubt.told)
            notes.append(f"[roles] {key}: {doubt.told}")
    if len(named) > 1:
        _refuse_divided_persons(rows, plan)
    return tuple(notes)


def _refuse_divided_persons(rows: Rows, plan: Plan) -> None:
    person, household = plan.roles.named_units["person"], plan.roles.named_units["household"]
    pairs = rows.distinct([person, household], _COUNTED)
    persons = pairs.distinct([person], _HOUSEHOLDS)
    if pairs.height == persons.height:
        return
    several = mapped(persons, _HOUSEHOLDS, lambda count: count.replace(1, None), pl.Int64())
    found = rows.join_rows(several, [person], "left").tally(negated(is_missing(_HOUSEHOLDS)))
    divided = several.filter(negated(is_missing(_HOUSEHOLDS)))
    refuse_divided_persons(plan, persons.height, divided.height, found.first)


def _says_nothing(values: pl.Series) -> pl.Series:
    """Which values name nobody: missing ones, texts that show nothing, and what is no number."""
    if values.dtype == pl.String:
        return values.is_null() | shows_nothing(values)
    if values.dtype.is_float():
        return values.is_null() | values.is_nan().fill_null(value=False)
    return values.is_null()


def _occurrences(rows: Rows, plan: Plan, name: str) -> Occurrences:
    """How often the values of a column stand, counted by row, person or household."""
    unit = plan.roles.unit
    if unit is None:
        return rows.occurrences(name)
    found = rows.distinct([name, unit], _COUNTED).occurrences(name)
    return replace(found, of=plan.roles.protected)


def rows_that_may_be_published(rows: Rows, plan: Plan) -> Rows:
    """What is counted of rows that are not bound, without those that ``nulls = "drop"`` drops."""
    dropping = [name for name in plan.roles.published if plan.nulls_of(name) == "drop"]
    looked_at = [*plan.roles.keep, *plan.roles.sensitive]
    rows = rows.select(list(dict.fromkeys([*looked_at, *dropping])))

    def read(batch: pa.RecordBatch) -> list[pa.Array]:
        return [with_missing(series_of(batch[0]), plan.missing).to_arrow()]

    for field in rows.schema if plan.missing else ():
        if pa.types.is_large_string(field.type):
            rows = rows.map(read, [field.name], pa.schema([field]))
    if not dropping:
        return rows
    return rows.filter(both(*(negated(is_missing(name)) for name in dropping)))
