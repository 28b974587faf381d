"""Rows that an earlier release left out, carried over into the next pool.

They are appended to the rows of an input.  Carried values went through the plan once (missing
values, declared types), and those of the input have not; so the two are brought to one type
wherever no value changes by it, and refused where one would.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from voile.schema.plan import ColumnPlan, Plan
from voile.table.arrays import kind_of_arrow, polars_type
from voile.table.binding import dated, flagged, mapped
from voile.table.protocol import Rows
from voile_base.errors import TableError
from voile_base.values.expressions import is_missing

__all__ = ["with_carried"]


def with_carried(rows: Rows, carried: Rows, plan: Plan, columns: Sequence[str]) -> Rows:
    """Some columns of the rows of an input, with carried rows behind its own.

    Raises ``TableError`` where the carried rows lack a column, or have it in another type.
    """
    for name in columns:
        if name not in carried.schema.names:
            msg = (
                f"column {name!r} is missing in the rows carried over from earlier releases; "
                "publish with the columns that those releases had"
            )
            raise TableError(msg)
    rows, carried = rows.select(columns).read(), carried.select(columns)
    if not carried.height:
        return rows
    for name in columns:
        declared = plan.columns.get(name, ColumnPlan())
        rows = dated(rows, name, declared)[0] if declared.dated else rows
        rows, carried = _alike(rows, carried, name, declared)
    return rows.union(carried)


def _alike(rows: Rows, carried: Rows, name: str, declared: ColumnPlan) -> tuple[Rows, Rows]:
    """Both with a column in the type that it has in one of them."""
    sides = (rows, carried)
    types = [side.schema.field(name).type for side in sides]
    if declared.reads_as or _comparable(rows, carried, name):
        for dtype in map(polars_type, types):
            one, other = (_unchanged(side, name, dtype) for side in sides)
            if one is not None and other is not None:
                return one, other
    kinds = [kind_of_arrow(dtype) for dtype in types]
    msg = (
        f"column {name!r} is {kinds[0]} in the table and {kinds[1]} in the rows carried over from "
        "earlier releases, and some value would change with its type; give the column the type "
        "that it had"
    )
    raise TableError(msg)


def _comparable(rows: Rows, carried: Rows, name: str) -> bool:
    """Whether values of the two may stand in one column: they are of one kind, or all missing."""
    if any(side.tally(is_missing(name)).rows == side.height for side in (rows, carried)):
        return True
    types = [polars_type(side.schema.field(name).type) for side in (rows, carried)]
    zoned = [getattr(dtype, "time_zone", None) is not None for dtype in types]
    numeric = [dtype.is_numeric() for dtype in types]
    kinds = [kind_of_arrow(side.schema.field(name).type) for side in (rows, carried)]
    return zoned[0] == zoned[1] and (all(numeric) or kinds[0] == kinds[1])


def _unchanged(rows: Rows, name: str, dtype: pl.DataType) -> Rows | None:
    """Rows with a column in another type, or None where a value does not come back from it."""
    own = polars_type(rows.schema.field(name).type)
    if own == dtype:
        return rows

    def changes(values: pl.Series) -> pl.Series:
        back = values.cast(dtype, strict=False).cast(own, strict=False)
        return back.ne_missing(values)

    try:
        if flagged(rows, name, changes).rows:
            return None
        return mapped(rows, name, lambda values: values.cast(dtype, strict=False), dtype)
    except pl.exceptions.PolarsError:
        return None
