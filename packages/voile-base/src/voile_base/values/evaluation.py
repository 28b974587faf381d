"""Expressions on plain Python values: what each operation means.

Engines that have a language of their own say the same in it; others call ``evaluate`` row by row.

Cost: O(size of the expression) a row.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from voile_base.errors import QueryError
from voile_base.values.expressions import Call, Column, Expression, Literal

__all__ = ["evaluate", "order_key"]


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Any:
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


def order_key(value: Any) -> tuple[Any, ...]:
    """What orders values of one column: missing first, NaN last; equal values have equal keys."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if math.isnan(value) else (1, value + 0.0)
    return (1, value)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(one: Any, other: Any) -> bool:
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


def _member(tested: Any, *values: Any) -> bool | None:
    if tested is None:
        return None
    return _or(*(None if value is None else _equal(tested, value) for value in values))


def _case(*operands: Any) -> Any:
    for condition, result in zip(operands[:-1:2], operands[1::2], strict=False):
        if condition:
            return result
    return operands[-1]


def _null_if(one: Any, other: Any) -> Any:
    return None if other is not None and one is not None and _equal(one, other) else one


def _finite(number: Any) -> bool:
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


def _same(one: Any, other: Any) -> bool:
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
