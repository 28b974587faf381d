"""Expressions over the columns of a row: what engines filter and count by.

An expression is a tree of columns, literals and operations.  It is no dialect: each operation has
one meaning, written down in ``OPERATIONS`` and computed by ``evaluate`` on plain Python values;
engines say the same in their own words.

Values are missing (None), truth values, whole numbers, decimals (``float``, or ``Decimal`` where a
column holds them), texts, dates, times and datetimes.  Logic has three values: an operation with a
missing operand is missing, unless ``OPERATIONS`` says otherwise, and rows for which an expression
is missing do not match it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "OPERATIONS",
    "Call",
    "Column",
    "Expression",
    "Literal",
    "both",
    "columns_of",
    "is_missing",
    "negated",
]

OPERATIONS: Mapping[str, str] = {
    "and": "false where one operand is false, else missing where one is missing; any number",
    "or": "true where one operand is true, else missing where one is missing; any number",
    "not": "true becomes false and false true",
    "=": "equal; so with the five others, numbers by value and texts by code points",
    "<>": "not equal",
    "<": "less",
    "<=": "less or equal",
    ">": "greater",
    ">=": "greater or equal",
    "same": "equal, or both missing; never missing",
    "other": "neither equal nor both missing; never missing",
    "in": "the first operand equals one of the others, which are literals",
    "missing": "whether the operand is missing; never missing",
    "holds": "whether the operand is true; never missing",
    "finite": "whether a number is neither NaN nor infinite; true of what is no number",
    "like": "a text matches a pattern: % is any text, _ any character",
    "alike": "as `like`, without regard to upper and lower case",
    "negative": "a number with the other sign",
    "+": "sum; so with the next two",
    "-": "difference",
    "*": "product",
    "%": "the remainder, with the sign of the dividend; missing for the divisor 0",
    "/": "quotient in double precision; missing for the divisor 0",
    "abs": "magnitude",
    "sign": "-1, 0 or 1, in the kind of the operand",
    "floor": "the largest whole number that is not larger, a decimal",
    "ceil": "the smallest whole number that is not smaller, a decimal",
    "case": "condition, result, condition, result, ..., and the result where none is true",
    "coalesce": "the first operand that is not missing",
    "null if": "the first operand, missing where it equals the second",
    "join": "two texts, one behind the other",
    "concat": "texts, one behind the other; missing ones count as empty; never missing",
    "upper": "a text in upper case",
    "lower": "a text in lower case",
    "length": "characters of a text",
    "trim": "a text without certain characters at its start and end: the second operand",
    "trim start": "the same at its start",
    "trim end": "the same at its end",
    "left": "the first characters of a text, so many",
    "right": "the last characters of a text, so many",
    "substring": "characters of a text from a place, counted from 1, to its end or so many",
    "replace": "a text with each occurrence of a second one replaced by a third",
    "starts with": "whether a text begins with another",
    "ends with": "whether a text ends with another",
    "integer": "as a whole number: decimals lose their fraction, texts are read; what cannot is an "
    "error of the query",
    "decimal": "as a number in double precision",
    "number of text": "what the shortest text of a number says, in double precision",
    "text": "as a text",
    "date": "as a date",
    "datetime": "as a date and time",
    "time": "as a time of day",
    "boolean": "as a truth value",
    "year": "the year of a date or datetime; so with the other parts, of times too",
    "quarter": "1 to 4",
    "month": "1 to 12",
    "day": "1 to 31",
    "hour": "0 to 23",
    "minute": "0 to 59",
    "second": "0 to 59",
}


@dataclass(frozen=True)
class Column:
    """The value of a column."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A value as it was written."""

    value: Any


@dataclass(frozen=True)
class Call:
    """An operation; raises ``ValueError`` for one that is not known."""

    operation: str
    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            msg = f"there is no operation {self.operation!r}"
            raise ValueError(msg)


Expression = Column | Literal | Call


def columns_of(expression: Expression) -> Iterator[str]:
    """The columns that an expression reads, perhaps several times."""
    if isinstance(expression, Column):
        yield expression.name
    elif isinstance(expression, Call):
        for operand in expression.operands:
            yield from columns_of(operand)


def is_missing(name: str) -> Expression:
    """Whether a column has no value."""
    return Call("missing", (Column(name),))


def negated(expression: Expression) -> Expression:
    """Whether an expression does not hold; missing stays missing."""
    return Call("not", (expression,))


def both(*expressions: Expression) -> Expression:
    """Whether all expressions hold."""
    return expressions[0] if len(expressions) == 1 else Call("and", expressions)
