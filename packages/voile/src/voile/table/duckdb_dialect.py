"""Comparisons with literals in DuckDB's SQL, of columns as they are stored.

Literals are numbers and truth values in their own notation, and texts in quotes; those that are
compared with numbered texts are numbers.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from voile.table.duckdb_columns import Stored, quoted
from voile.table.sql_expressions import moment_literal

__all__ = ["DUCKDB"]

_BIGINT = 2**63
_EXACT = 2**53


class DuckDBDialect:
    """See ``Dialect``."""

    def against(self, column: Stored, operation: str, value: Any) -> str | None:
        """A column compared with a literal."""
        if isinstance(value, str):
            return _against_text(column, operation, value)
        said = _literal(column.type, value)
        return None if said is None else f"({column.ident} {operation} {said})"

    def alike(self, one: Stored, other: Stored) -> bool:
        """Whether what is stored of two columns compares as their values do."""
        return not one.texts and not other.texts and one.type == other.type

    def finite(self, column: Stored) -> str:
        """Whether a column of floating point is finite."""
        return f"isfinite({column.ident})"


DUCKDB = DuckDBDialect()


def _against_text(column: Stored, operation: str, text: str) -> str:
    if column.texts is None:
        return f"({column.ident} {operation} {quoted(text)})"
    low, high = column.texts.between(text)
    number = f"CAST({column.ident} AS INTEGER)"
    if operation in ("=", "<>"):
        within = f"({number} >= {low} AND {number} < {high})"
        return within if operation == "=" else f"(NOT {within})"
    border = {"<": low, "<=": high, ">": high, ">=": low}[operation]
    return f"({number} {'<' if operation in ('<', '<=') else '>='} {border})"


def _literal(dtype: pa.DataType, value: Any) -> str | None:
    """A literal of the type of a column, or one that is compared with it exactly; else None."""
    if isinstance(value, bool):
        return str(value).upper() if pa.types.is_boolean(dtype) else None
    if isinstance(value, int) and pa.types.is_integer(dtype):
        narrow = -_BIGINT < value < _BIGINT and not pa.types.is_uint64(dtype)
        return (
            f"CAST({value} AS {'BIGINT' if narrow else 'HUGEINT'})" if abs(value) < 2**100 else None
        )
    if isinstance(value, int | float) and pa.types.is_floating(dtype):
        if isinstance(value, int) and abs(value) > _EXACT:
            return None
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    moment = moment_literal(dtype, value)
    return None if moment is None else str(moment)
