"""Where a plan and a table fit badly, column by column, for the custodian; private.

``binding`` stops at the first thing that is wrong; here every column is bound alone, so that all
is said at once.  A **refusal** is what publishing would stop at; a **doubt** is what it would let
pass: bounds that cut off values, rows that are left out.

Rows are those of the file, from 1.  No value is told but the first that a hierarchy file misses,
which nobody could add without knowing it.

Cost: a few passes over each column that the plan publishes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from voile.schema.hierarchy.code_lists import CodeList
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.arrays import array_of, polars_type, series_of
from voile.table.binding import bind, flagged, limits_of
from voile.table.numeric import distinct_values
from voile.table.protocol import Counted, Rows
from voile_base.errors import PlanError, TableError
from voile_base.values.expressions import Column, is_missing

__all__ = ["PlanDoubt", "findings"]

_MISSED = "\1missed"
"""No file has a column whose name begins so."""


@dataclass(frozen=True)
class PlanDoubt:
    """Something about one column that fits badly."""

    column: str
    key: str
    """The key of the plan that it is about."""
    told: str
    refused: bool
    """Whether publishing would stop at it."""
    row: int | None = None
    """The first row of the file that it is about, from 1."""


def findings(rows: Rows, plan: Plan, column: str) -> Iterator[PlanDoubt]:
    """What fits badly between a column and what the plan says of it."""
    declared = plan.columns.get(column, ColumnPlan())
    loose = replace(declared, nulls="category", bounds=None, outside="refuse")
    alone = Plan(Roles(keep=(column,)), missing=plan.missing, columns={column: loose})
    try:
        bound = bind(rows.select([column]), alone).rows
    except (PlanError, TableError) as error:
        key = "format" if declared.dated else "kind" if declared.kind else "type"
        yield PlanDoubt(column, key, str(error), refused=True)
        return
    yield from _missing(bound, plan, column)
    yield from _outside(bound, column, declared)
    yield from _unlisted(bound, column, declared)


def _missing(rows: Rows, plan: Plan, column: str) -> Iterator[PlanDoubt]:
    found, policy = rows.tally(is_missing(column)), plan.nulls_of(column)
    if found.rows and policy != "category":
        told = f"misses its value in {_of(found.rows, rows.height)}, first in row {found.first}"
        then = {"refuse": "; nulls refuses that", "drop": "; nulls leaves these rows out"}[policy]
        yield PlanDoubt(column, "nulls", told + then, policy == "refuse", found.first)


def _outside(rows: Rows, column: str, declared: ColumnPlan) -> Iterator[PlanDoubt]:
    dtype = polars_type(rows.schema.field(column).type)
    if declared.bounds is None or not dtype.is_numeric():
        return
    limits = limits_of(dtype, declared.bounds)

    def outside(values: pl.Series) -> pl.Series:
        there = values.is_not_null()
        return there & ~values.is_between(*limits) if limits else there

    found = flagged(rows, column, outside)
    if found.rows:
        low, high = declared.bounds
        cut = f"bounds = [{low}, {high}] cut {_of(found.rows, rows.height)}"
        yield PlanDoubt(
            column,
            "bounds",
            f"{cut}, first in row {found.first}",
            declared.outside == "refuse",
            found.first,
        )


def _unlisted(rows: Rows, column: str, declared: ColumnPlan) -> Iterator[PlanDoubt]:
    counted = rows.count([column], keep=True)
    values = distinct_values(series_of(counted.values[0]))
    hierarchy = declared.hierarchy
    if not isinstance(hierarchy, Taxonomy | CodeList):
        try:
            declared.bind_hierarchy(column, values)
        except (PlanError, TableError) as error:
            yield PlanDoubt(column, "hierarchy", str(error), refused=True)
        return
    missed = hierarchy.missed(column, values)
    if not missed:
        return
    first, count = _rows_of(rows, counted, values, missed)
    told = (
        f"the hierarchy misses {len(missed):,} of {len(values) - values.missing:,} values, in "
        f"{_of(count, rows.height)}, first in row {first}"
    )
    grouped = isinstance(hierarchy, CodeList) and hierarchy.unlisted == "group"
    yield PlanDoubt(column, "hierarchy", told, not grouped, first)


def _rows_of(
    rows: Rows, counted: Counted, values: DistinctValues, missed: list[str]
) -> tuple[int | None, int]:
    """The first row that has one of the missed values, and how many have one."""
    gone = set(missed)
    flags = np.array([text in gone for text in values.texts])[counted.codes[:, 0]]
    found = rows.join(counted, {_MISSED: array_of(flags)}).tally(Column(_MISSED))
    return found.first, found.rows


def _of(count: int, rows: int) -> str:
    return f"{count / rows:.1%} of the rows ({count:,})"
