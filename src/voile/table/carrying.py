"""Rows that an earlier release left out, carried over into the next pool.

``recoding.left_out`` gives them as an Arrow IPC stream; here they are appended to the columns of
an input, behind its rows.  Carried values went through the plan once (missing values, declared
types), and those of the input have not; so the two are brought to one type wherever no
value changes by it, and refused where one would.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import polars as pl
import pyarrow as pa

from voile.errors import TableError, refuse_out_of_memory
from voile.schema.plan import ColumnPlan, Plan
from voile.table.binding import ColumnSource
from voile.table.numeric import broad_kind
from voile.table.value_types import kind_of

__all__ = ["WithCarriedRows"]


class WithCarriedRows:
    """The columns of an input with carried rows behind its own; see ``ColumnSource``."""

    def __init__(self, source: ColumnSource, carried: bytes, plan: Plan) -> None:
        self._source = source
        self._carried = _read(carried)
        self._plan = plan

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns of the input."""
        return self._source.names

    def take(self, name: str) -> pl.Series | pa.ChunkedArray:
        """One column, once; raises ``TableError`` where the carried values are of another type."""
        column = self._source.take(name)
        if name not in self._carried.columns:
            msg = (
                f"column {name!r} is missing in the rows carried over from earlier releases; "
                "publish with the columns that those releases had"
            )
            raise TableError(msg)
        carried = self._carried[name]
        if not len(carried):
            return column
        if isinstance(column, pa.ChunkedArray):
            if carried.dtype == pl.String:
                texts = carried.to_arrow().cast(column.type.value_type).dictionary_encode()
                return pa.chunked_array([*column.chunks, texts.cast(column.type)])
            column = pl.Series(name, column)
        return _joined(column, carried, self._plan.columns.get(name, ColumnPlan()))


def _read(carried: bytes) -> pl.DataFrame:
    try:
        return pl.read_ipc_stream(BytesIO(carried))
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as fault:
        refuse_out_of_memory(fault)
        msg = "the rows carried over from earlier releases cannot be read; restore them"
        raise TableError(msg) from None


def _joined(column: pl.Series, carried: pl.Series, declared: ColumnPlan) -> pl.Series:
    """The values of both, in the type of one of them."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if declared.type or _alike(column, carried):
        for dtype in (column.dtype, carried.dtype):
            values, more = _unchanged(column, dtype), _unchanged(carried, dtype)
            if values is not None and more is not None:
                return pl.concat([values, more])
    msg = (
        f"column {column.name!r} is {kind_of(column)} in the table and {kind_of(carried)} in the "
        "rows carried over from earlier releases, and some value would change with its type; give "
        "the column the type that it had"
    )
    raise TableError(msg)


def _alike(column: pl.Series, carried: pl.Series) -> bool:
    """Whether values of the two may stand in one column: they are of one kind, or all missing."""
    if any(series.null_count() == len(series) for series in (column, carried)):
        return True
    zoned = [getattr(series.dtype, "time_zone", None) is not None for series in (column, carried)]
    return broad_kind(column) == broad_kind(carried) and zoned[0] == zoned[1]


def _unchanged(series: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """The series in another type, or None where a value does not come back from it."""
    if series.dtype == dtype:
        return series
    try:
        cast = series.cast(dtype, strict=False)
        back = cast.cast(series.dtype, strict=False)
    except pl.exceptions.PolarsError:
        return None
    return cast if back.equals(series) else None
