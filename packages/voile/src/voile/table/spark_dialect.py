"""Comparisons with literals in Spark's SQL, of columns as they are stored.

A text is said by its bytes: what a backslash in quotes means depends on a setting of the session.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from voile.table.spark_columns import SparkColumn
from voile.table.sql_expressions import moment_literal

__all__ = ["SPARK"]

_HALF = 2**63
_EXACT = 2**53


class SparkDialect:
    """See ``Dialect``."""

    def against(self, column: SparkColumn, operation: str, value: Any) -> str | None:
        """A column compared with a literal."""
        said = _literal(column.type, value)
        return None if said is None else f"({column.ident} {operation} {said})"

    def alike(self, one: SparkColumn, other: SparkColumn) -> bool:
        """Whether what is stored of two columns compares as their values do."""
        return bool(one.type == other.type)

    def finite(self, column: SparkColumn) -> str:
        """Whether a column of floating point is finite."""
        name = column.ident
        return f"(NOT isnan({name}) AND abs({name}) <> CAST('Infinity' AS DOUBLE))"


SPARK = SparkDialect()


def _literal(dtype: pa.DataType, value: Any) -> str | None:
    """A literal that is compared exactly with a column of a type; else None."""
    if isinstance(value, str):
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    if isinstance(value, bool):
        return str(value).upper() if pa.types.is_boolean(dtype) else None
    if isinstance(value, int) and pa.types.is_integer(dtype):
        stored = value - _HALF if pa.types.is_uint64(dtype) else value
        return f"CAST({stored} AS BIGINT)" if -_HALF <= stored < _HALF else None
    if isinstance(value, int | float) and pa.types.is_floating(dtype):
        if isinstance(value, int) and abs(value) > _EXACT:
            return None
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    moment = moment_literal(dtype, value)
    return None if moment is None else f"CAST({moment} AS BIGINT)"
