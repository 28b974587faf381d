"""Expressions over the columns of a row in the words of Polars and of SQL.

Expressions in the words of Polars; what each operation means stands in ``OPERATIONS``.

Whole numbers are of 128 bits, so that no sum of a small type wraps round.

Expressions in SQL, where an engine's dialect means the same by them; see ``OPERATIONS``.

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
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, series_of
from voile.table.protocol import Function
from voile_base.errors import QueryError, refuse_out_of_memory
from voile_base.values.expressions import Call, Column, Expression, Literal

__all__ = ["CHOSEN", "condition", "marking", "matches", "moment_literal"]


CHOSEN = "\1chosen"
"""A column that says for which rows an expression holds; no file has columns so named."""


def matches(expression: Expression, frame: pl.DataFrame) -> NDArray[np.bool_]:
    """The rows of a frame for which an expression holds; shape (1,) where it reads no column.

    Raises ``QueryError`` where it cannot be evaluated.
    """
    try:
        found = frame.select(_polars(expression).cast(pl.Boolean).fill_null(value=False))
    except pl.exceptions.PolarsError as fault:
        refuse_out_of_memory(fault)
        msg = (
            "the predicate cannot be evaluated; compare numbers with numbers and texts with "
            "texts in single quotes"
        )
        raise QueryError(msg) from None
    return found.to_series().to_numpy()


def marking(expression: Expression, names: Sequence[str]) -> Function:
    """What says of rows whether an expression holds; of record batches of these columns."""

    def mark(batch: pa.RecordBatch) -> list[pa.Array]:
        columns = zip(names, batch, strict=True)
        frame = pl.DataFrame([series_of(array, name) for name, array in columns])
        return [array_of(np.broadcast_to(matches(expression, frame), batch.num_rows).copy())]

    return mark


def _polars(expression: Expression) -> pl.Expr:
    match expression:
        case Column(name):
            return pl.col(f"^{re.escape(name)}$") if _is_pattern(name) else pl.col(name)
        case Literal(value):
            return pl.lit(value, dtype=_type_of(value))
        case Call("in", operands):
            return _member(_polars(operands[0]), [each.value for each in operands[1:]])  # type: ignore[union-attr]
        case Call("like" | "alike" as operation, (tested, Literal(pattern))):
            return _like(_polars(tested), pattern, alike=operation == "alike")
        case Call(operation, operands):
            return _OPERATIONS[operation](*map(_polars, operands))


def _is_pattern(name: str) -> bool:
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _type_of(value: object) -> pl.DataType | None:
    """The type of a literal; None leaves it to Polars."""
    if isinstance(value, bool):
        return pl.Boolean()
    if isinstance(value, int):
        return pl.Int128()
    return None if isinstance(value, Decimal | dt.timedelta) else _TYPES.get(type(value))


_TYPES: Mapping[type, pl.DataType] = {
    float: pl.Float64(),
    str: pl.String(),
    dt.date: pl.Date(),
    dt.datetime: pl.Datetime("us"),
    dt.time: pl.Time(),
}


def _member(tested: pl.Expr, values: Sequence[object]) -> pl.Expr:
    present = [value for value in values if value is not None]
    if not present:
        return pl.lit(None, dtype=pl.Boolean)
    found = tested.is_in(pl.Series(present, dtype=_type_of(present[0])).implode())
    if len(present) == len(values):
        return found
    return pl.when(found).then(statement=True)


def _like(tested: pl.Expr, pattern: str, *, alike: bool) -> pl.Expr:
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(letter) or re.escape(letter) for letter in pattern)
    return tested.str.contains(f"(?s{'i' if alike else ''})^{regex}$")


def _case(*operands: pl.Expr) -> pl.Expr:
    found = operands[-1]
    for condition, result in reversed(list(zip(operands[:-1:2], operands[1::2], strict=False))):
        found = pl.when(condition).then(result).otherwise(found)
    return found


def _unless_zero(divisor: pl.Expr) -> pl.Expr:
    return pl.when(divisor != 0).then(divisor)


def _remainder(dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    return dividend.sign() * (dividend.abs() % _unless_zero(divisor.abs()))


def _finite(number: pl.Expr) -> pl.Expr:
    return number.is_nan().or_(number.is_infinite()).not_()


def _null_if(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    return pl.when(one.eq(other).fill_null(value=False).not_()).then(one)


def _part(name: str) -> Callable[[pl.Expr], pl.Expr]:
    return lambda moment: getattr(moment.dt, name)().cast(pl.Int128)


_OPERATIONS: Mapping[str, Callable[..., pl.Expr]] = {
    "and": pl.all_horizontal,  # a chain of operators would be as deep as it is long
    "or": pl.any_horizontal,
    "not": pl.Expr.not_,
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "same": pl.Expr.eq_missing,
    "other": pl.Expr.ne_missing,
    "missing": pl.Expr.is_null,
    "holds": lambda tested: tested.fill_null(value=False),
    "finite": _finite,
    "negative": lambda number: 0 - number,  # Polars negates no integers of 128 bits
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": _remainder,
    "/": lambda dividend, divisor: dividend / _unless_zero(divisor),
    "abs": pl.Expr.abs,
    "sign": pl.Expr.sign,
    "floor": pl.Expr.floor,
    "ceil": pl.Expr.ceil,
    "case": _case,
    "coalesce": pl.coalesce,
    "null if": _null_if,
    "join": lambda one, other: pl.concat_str([one, other]),
    "concat": lambda *texts: pl.concat_str(texts, ignore_nulls=True),
    "upper": lambda text: text.str.to_uppercase(),
    "lower": lambda text: text.str.to_lowercase(),
    "length": lambda text: text.str.len_chars().cast(pl.Int128),
    "trim": lambda text, characters: text.str.strip_chars(characters),
    "trim start": lambda text, characters: text.str.strip_chars_start(characters),
    "trim end": lambda text, characters: text.str.strip_chars_end(characters),
    "left": lambda text, count: text.str.head(count.cast(pl.Int64)),
    "right": lambda text, count: text.str.tail(count.cast(pl.Int64)),
    "substring": lambda text, start, *count: text.str.slice(
        start.cast(pl.Int64) - 1, *(each.cast(pl.Int64) for each in count)
    ),
    "replace": lambda text, old, new: text.str.replace_all(old, new, literal=True),
    "starts with": lambda text, start: text.str.starts_with(start),
    "ends with": lambda text, end: text.str.ends_with(end),
    "integer": lambda value: value.cast(pl.Int128),
    "decimal": lambda value: value.cast(pl.Float64),
    "number of text": lambda value: value.cast(pl.String).cast(pl.Float64),
    "text": lambda value: value.cast(pl.String),
    "date": lambda value: value.cast(pl.Date),
    "datetime": lambda value: value.cast(pl.Datetime("us")),
    "time": lambda value: value.cast(pl.Time),
    "boolean": lambda value: value.cast(pl.Boolean),
    **{name: _part(name) for name in ("year", "quarter", "month", "day")},
    **{name: _part(name) for name in ("hour", "minute", "second")},
}


_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TRUTHS = {True: "TRUE", False: "FALSE", None: "CAST(NULL AS BOOLEAN)"}
_EPOCH = dt.datetime(1970, 1, 1)


class _StoredColumn(Protocol):
    """A column as an engine stores it."""

    @property
    def ident(self) -> str:
        """Its name in statements, which is plain."""

    @property
    def type(self) -> pa.DataType:
        """The type of its values, as the kernel has them."""


C = TypeVar("C", bound=_StoredColumn)
Taken_contra = TypeVar("Taken_contra", contravariant=True)


class _SQLDialect(Protocol[Taken_contra]):
    """What SQL of an engine has that another's has not."""

    def against(self, column: Taken_contra, operation: str, value: object) -> str | None:
        """A column compared with a literal that is there; None where Polars has to be asked."""

    def alike(self, one: Taken_contra, other: Taken_contra) -> bool:
        """Whether two columns are stored in one way, so that what is stored compares as they do."""

    def finite(self, column: Taken_contra) -> str:
        """Whether a column of floating point is finite."""


def condition(  # noqa: PLR0911 - one for each kind of expression
    expression: Expression, columns: Mapping[str, C], dialect: _SQLDialect[C]
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
            return _sql_member(columns[name], _values(members), dialect)
        case Call("missing", (Column(name),)):
            return f"({columns[name].ident} IS NULL)"
        case Call("finite", (Column(name),)):
            return _sql_finite(columns[name], dialect)
        case Call(operation, operands) if operation in _LOGIC:
            said = [condition(operand, columns, dialect) for operand in operands]
            return _LOGIC[operation](*said) if None not in said else None
    return None


def moment_literal(dtype: pa.DataType, value: object) -> int | None:
    """A date or datetime as the whole number that a column of its type is stored as; else None."""
    if isinstance(value, dt.datetime):
        naive_micro = dtype == pa.timestamp("us") and value.tzinfo is None
        return (value - _EPOCH) // dt.timedelta(microseconds=1) if naive_micro else None
    if isinstance(value, dt.date) and pa.types.is_date32(dtype):
        return (value - _EPOCH.date()).days
    return None


def _values(literals: Sequence[Expression]) -> list[object]:
    return [each.value for each in literals if isinstance(each, Literal)]


def _compared(
    operation: str,
    one: Expression,
    other: Expression,
    columns: Mapping[str, C],
    dialect: _SQLDialect[C],
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
    one: Expression, other: Expression, columns: Mapping[str, C], dialect: _SQLDialect[C]
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


def _sql_member(column: C, values: list[object], dialect: _SQLDialect[C]) -> str | None:
    present = [_against(column, "=", value, dialect) for value in values if value is not None]
    if None in present:
        return None
    found = " OR ".join(["FALSE", *present])  # type: ignore[list-item]
    if len(present) < len(values):
        return f"(CASE WHEN {found} THEN TRUE END)"
    return f"(CASE WHEN {column.ident} IS NOT NULL THEN ({found}) END)"


def _sql_finite(column: C, dialect: _SQLDialect[C]) -> str:
    if pa.types.is_floating(column.type):
        return dialect.finite(column)
    return f"(CASE WHEN {column.ident} IS NOT NULL THEN TRUE END)"


def _against(column: C, operation: str, value: object, dialect: _SQLDialect[C]) -> str | None:
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
