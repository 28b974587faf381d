"""Single exact numbers, and how JSON has them."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["exact_decimal", "json_number"]


def exact_decimal(number: Decimal | float | str) -> Decimal:
    """The decimal that a reader sees: for a float, the shortest one that reads back as it."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def json_number(number: Decimal) -> int | float:
    """A decimal as JSON writes it: exact where it is whole, else the nearest double."""
    return int(number) if number == number.to_integral_value() else float(number)
