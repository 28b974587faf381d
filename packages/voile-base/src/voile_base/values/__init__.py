"""What crosses a boundary, declared once: checked values, their JSON, expressions over columns.

Here is what needs no library: documents, and single exact numbers, as JSON has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias, TypeVar

__all__ = ["Document", "Json", "exact_decimal", "json_number", "of_valid", "usable_number"]

T = TypeVar("T")

Document: TypeAlias = Mapping[str, Any]
"""An object of JSON or TOML, as it is read."""
Json: TypeAlias = dict[str, Any]
"""An object of JSON, as it is built."""

_LARGEST_EXPONENT = 400
"""Beyond what a 64-bit float can hold; larger numbers are no values of anything."""


def exact_decimal(number: Decimal | float | str) -> Decimal:
    """The decimal that a reader sees: for a float, the shortest one that reads back as it."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def json_number(number: Decimal) -> int | float:
    """A decimal as JSON writes it: exact where it is whole, else the nearest double."""
    return int(number) if number == number.to_integral_value() else float(number)


def usable_number(value: object, *, texts: bool = False) -> Decimal | None:
    """The value as an exact number; None if it is none, not finite, or beyond all use.

    With ``texts``, "0.1" is a number as well, so that Python can state every decimal exactly.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float | str):
        return None
    if isinstance(value, str) and not texts:
        return None
    try:
        exact = exact_decimal(value)
    except InvalidOperation:
        return None
    usable = exact.is_finite() and (not exact or abs(exact.adjusted()) <= _LARGEST_EXPONENT)
    return exact if usable else None


def of_valid(kind: type[T], /, **fields: object) -> T:
    """A value of a checked class from fields that were validated before, and of their types.

    Its ``__post_init__`` is run, and no schema is made, which takes some thousandths of a second.
    """
    made = object.__new__(kind)
    vars(kind)["__init__"].__wrapped__(made, **fields)
    return made
