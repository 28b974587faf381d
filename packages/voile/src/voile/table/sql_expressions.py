"""Expressions in SQL, where an engine's dialect means the same by them; see ``OPERATIONS``.

Said in SQL are comparisons of a column with a literal or another column of its type, membership,
what is missing, and logic: what filters of large tables are made of.  All else (arithmetic, texts
and their parts, casts, calendars) is asked of Polars in batches: two engines agree on such things
until a text has an umlaut or a number an exponent.  ``None`` says that this is so.

What these need is the same SQL everywhere.  How a literal is written, and what a column that is
stored in another type holds, is the business of a ``SQLDialect``; comparisons are of equal types,
so that no mode of SQL decides what they mean.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from voile_base.errors import QueryError
from voile_base.values.expressions import Call, Column, Expression, Literal

__all__ = ["SQLDialect", "StoredColumn", "condition", "moment_literal"]

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TRUTHS = {True: "TRUE", False: "FALSE", None: "CAST(NULL AS BOOLEAN)"}
_EPOCH = dt.datetime(1970, 1, 1)


class StoredColumn(Protocol):
    """A column as an engine stores it."""

    @property
    def ident(self) -> str:
        """Its name in statements, which is plain."""

    @property
    def type(self) -> pa.DataType:
        """The type of its values, as the kernel has them."""


C = TypeVar("C", bound=StoredColumn)
Taken_contra = TypeVar("Taken_contra", contravariant=True)


class SQLDialect(Protocol[Taken_contra]):
    """What SQL of an engine has that another's has not."""

    def against(self, column: Taken_contra, operation: str, value: Any) -> str | None:
        """A column compared with a literal that is there; None where Polars has to be asked."""

    def alike(self, one: Taken_contra, other: Taken_contra) -> bool:
        """Whether two columns are stored in one way, so that what is stored compares as they do."""

    def finite(self, column: Taken_contra) -> str:
        """Whether a column of floating point is finite."""


def condition(  # noqa: PLR0911 - one for each kind of expression
    expression: Expression, columns: Mapping[str, C], dialect: SQLDialect[C]
) -> str | None:
    """A truth value of SQL, or None where Polars has to be asked.

    Raises ``QueryError`` where texts are compared with what is no text.
    """
    match expression:
        case Column(name):
            column = columns[name]
            return column.ident if pa.types.is_boolean(column.type) else None
        case Literal(value):
            return _TRUTHS[value] if value is None or isinstance(value, bool) else None
        case Call(operation, (one, other)) if operation in _COMPARISONS:
            return _compared(operation, one, other, columns, dialect)
        case Call("same" | "other" as operation, (one, other)):
            same = _same(one, other, columns, dialect)
            return same if operation == "same" or same is None else f"(NOT {same})"
        case Call("in", (Column(name), *members)):
            return _member(columns[name], _values(members), dialect)
        case Call("missing", (Column(name),)):
            return f"({columns[name].ident} IS NULL)"
        case Call("finite", (Column(name),)):
            return _finite(columns[name], dialect)
        case Call(operation, operands) if operation in _LOGIC:
            said = [condition(operand, columns, dialect) for operand in operands]
            return _LOGIC[operation](*said) if None not in said else None
    return None


def moment_literal(dtype: pa.DataType, value: Any) -> int | None:
    """A date or datetime as the whole number that a column of its type is stored as; else None."""
    if isinstance(value, dt.datetime):
        naive_micro = dtype == pa.timestamp("us") and value.tzinfo is None
        return (value - _EPOCH) // dt.timedelta(microseconds=1) if naive_micro else None
    if isinstance(value, dt.date) and pa.types.is_date32(dtype):
        return (value - _EPOCH.date()).days
    return None


def _values(literals: Sequence[Expression]) -> list[Any]:
    return [each.value for each in literals if isinstance(each, Literal)]


def _compared(
    operation: str,
    one: Expression,
    other: Expression,
    columns: Mapping[str, C],
    dialect: SQLDialect[C],
) -> str | None:
    match one, other:
        case Column(name), Literal(value):
            return _against(columns[name], operation, value, dialect)
        case Literal(value), Column(name):
            return _against(columns[name], _MIRRORED[operation], value, dialect)
        case Column(name), Column(another):
            left, right = columns[name], columns[another]
            if not dialect.alike(left, right):
                return None
            return f"({left.ident} {operation} {right.ident})"
    return None


def _same(
    one: Expression, other: Expression, columns: Mapping[str, C], dialect: SQLDialect[C]
) -> str | None:
    match one, other:
        case Column(name), Literal(None):
            return f"({columns[name].ident} IS NULL)"
        case Column(name), Literal(value):
            equal = _against(columns[name], "=", value, dialect)
            return None if equal is None else f"coalesce({equal}, FALSE)"
        case Column(name), Column(another):
            left, right = columns[name], columns[another]
            if not dialect.alike(left, right):
                return None
            return f"({left.ident} IS NOT DISTINCT FROM {right.ident})"
    return None


def _member(column: C, values: list[Any], dialect: SQLDialect[C]) -> str | None:
    present = [_against(column, "=", value, dialect) for value in values if value is not None]
    if None in present:
        return None
    found = " OR ".join(["FALSE", *present])  # type: ignore[list-item]
    if len(present) < len(values):
        return f"(CASE WHEN {found} THEN TRUE END)"
    return f"(CASE WHEN {column.ident} IS NOT NULL THEN ({found}) END)"


def _finite(column: C, dialect: SQLDialect[C]) -> str:
    if pa.types.is_floating(column.type):
        return dialect.finite(column)
    return f"(CASE WHEN {column.ident} IS NOT NULL THEN TRUE END)"


def _against(column: C, operation: str, value: Any, dialect: SQLDialect[C]) -> str | None:
    """A column compared with a literal."""
    if value is None:
        return "CAST(NULL AS BOOLEAN)"
    if pa.types.is_large_string(column.type) != isinstance(value, str):
        msg = (
            "the predicate cannot be evaluated; compare numbers with numbers and texts with "
            "texts in single quotes"
        )
        raise QueryError(msg)
    return dialect.against(column, operation, value)


_LOGIC: Mapping[str, Callable[..., str]] = {
    "and": lambda *all_of: "(" + " AND ".join(["TRUE", *all_of]) + ")",
    "or": lambda *any_of: "(" + " OR ".join(["FALSE", *any_of]) + ")",
    "not": lambda one: f"(NOT {one})",
    "holds": lambda one: f"coalesce({one}, FALSE)",
}
