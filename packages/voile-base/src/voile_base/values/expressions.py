"""Expressions over the columns of a row: what engines filter and count by.

An expression is a tree of columns, literals and operations.  It is no dialect: each operation has
one meaning, written down in ``OPERATIONS`` and computed by ``evaluate`` on plain Python values;
engines say the same in their own words.

Values are missing (None), truth values, whole numbers, decimals (``float``, or ``Decimal`` where a
column holds them), texts, dates, times and datetimes.  Logic has three values: an operation with a
missing operand is missing, unless ``OPERATIONS`` says otherwise, and rows for which an expression
is missing do not match it.

Expressions on plain Python values: what each operation means.

Engines that have a language of their own say the same in it; others call ``evaluate`` row by row.

Cost: O(size of the expression) a row.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from voile_base.errors import QueryError
from voile_base.ondemand import dataclass

__all__ = [
    "OPERATIONS",
    "Call",
    "Column",
    "Expression",
    "Literal",
    "both",
    "columns_of",
    "evaluate",
    "is_missing",
    "negated",
    "order_key",
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


def evaluate(expression: Expression, row: Mapping[str, object]) -> Any:
    """The value of an expression in a row; None where it is missing.

    Raises ``QueryError`` where values are of kinds that an operation does not take.
    """
    match expression:
        case Column(name):
            return row[name]
        case Literal(value):
            return value
        case Call(operation, operands):
            values = [evaluate(operand, row) for operand in operands]
    try:
        if operation in _WITH_MISSING:
            return _WITH_MISSING[operation](*values)
        if any(value is None for value in values):
            return None
        return _OPERATIONS[operation](*values)
    except (TypeError, ValueError, AttributeError):
        msg = (
            "the predicate cannot be evaluated; compare numbers with numbers and texts with "
            "texts in single quotes"
        )
        raise QueryError(msg) from None


def order_key(value: object) -> tuple[Any, ...]:
    """What orders values of one column: missing first, NaN last; equal values have equal keys."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if math.isnan(value) else (1, value + 0.0)
    return (1, value)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(one: object, other: object) -> bool:
        if isinstance(one, str) != isinstance(other, str):
            raise TypeError
        return compare(order_key(one), order_key(other))

    return compared


def _and(*values: bool | None) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if None in values else True


def _or(*values: bool | None) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if None in values else False


def _member(tested: object, *values: object) -> bool | None:
    if tested is None:
        return None
    return _or(*(None if value is None else _equal(tested, value) for value in values))


def _case(*operands: object) -> Any:
    for condition, result in zip(operands[:-1:2], operands[1::2], strict=False):
        if condition:
            return result
    return operands[-1]


def _null_if(one: object, other: object) -> Any:
    return None if other is not None and one is not None and _equal(one, other) else one


def _finite(number: object) -> bool:
    return math.isfinite(number) if isinstance(number, float) else True


def _like(text: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> bool:
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(letter) or re.escape(letter) for letter in pattern)
    return re.fullmatch(regex, text, re.DOTALL | flags) is not None


def _remainder(dividend: Any, divisor: Any) -> Any:
    if not divisor:
        return None
    rest = abs(dividend) % abs(divisor)
    return rest if dividend >= 0 else -rest


def _quotient(dividend: float, divisor: float) -> float | None:
    return dividend / divisor if divisor else None


def _sign(number: Any) -> Any:
    return type(number)((number > 0) - (number < 0))


def _substring(text: str, start: int, count: int | None = None) -> str:
    end = None if count is None else start - 1 + count
    return text[start - 1 : end]


def _right(text: str, count: int) -> str:
    return text[-count:] if count else ""


def _datetime(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def _date(value: Any) -> dt.date:
    if isinstance(value, str):
        return dt.date.fromisoformat(value)
    return value.date() if isinstance(value, dt.datetime) else value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(one: object, other: object) -> bool:
    return order_key(one) == order_key(other)


_equal = _compared(operator.eq)

_WITH_MISSING: Mapping[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "same": _same,
    "other": lambda one, other: not _same(one, other),
    "in": _member,
    "missing": lambda value: value is None,
    "holds": lambda value: value is True,
    "case": _case,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "null if": _null_if,
    "concat": lambda *texts: "".join(text or "" for text in texts),
}
"""Operations that know what to do with missing operands."""

_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "not": operator.not_,
    "=": _equal,
    "<>": _compared(operator.ne),
    "<": _compared(operator.lt),
    "<=": _compared(operator.le),
    ">": _compared(operator.gt),
    ">=": _compared(operator.ge),
    "finite": _finite,
    "like": _like,
    "alike": lambda text, pattern: _like(text, pattern, re.IGNORECASE),
    "negative": operator.neg,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": _remainder,
    "/": _quotient,
    "abs": abs,
    "sign": _sign,
    "floor": lambda number: float(math.floor(number)),
    "ceil": lambda number: float(math.ceil(number)),
    "join": operator.add,
    "upper": str.upper,
    "lower": str.lower,
    "length": len,
    "trim": str.strip,
    "trim start": str.lstrip,
    "trim end": str.rstrip,
    "left": lambda text, count: text[:count],
    "right": _right,
    "substring": _substring,
    "replace": str.replace,
    "starts with": str.startswith,
    "ends with": str.endswith,
    "integer": int,
    "decimal": float,
    "number of text": lambda number: float(str(Decimal(repr(number)))),
    "text": _text,
    "date": _date,
    "datetime": _datetime,
    "time": lambda value: value,
    "boolean": lambda value: value,
    "year": operator.attrgetter("year"),
    "quarter": lambda moment: (moment.month + 2) // 3,
    "month": operator.attrgetter("month"),
    "day": operator.attrgetter("day"),
    "hour": operator.attrgetter("hour"),
    "minute": operator.attrgetter("minute"),
    "second": operator.attrgetter("second"),
}
