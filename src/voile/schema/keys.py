"""Tables of keys and values in a plan, as TOML gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from voile.errors import PlanError, nearest
from voile.schema.numbers import exact_decimal

__all__ = ["known_keys", "number", "number_between", "table_of"]

_LARGEST_EXPONENT = 400
"""Beyond what a 64-bit float can hold; larger numbers are no values of anything."""


def table_of(where: str, value: object) -> dict[str, Any]:
    """The value, if it is a table; raises ``PlanError``."""
    if not isinstance(value, dict):
        msg = f"{where} must be a table of keys and values"
        raise PlanError(msg)
    return value


def known_keys(where: str, keys: Mapping[str, Any], known: Iterable[str]) -> None:
    """Check that all keys are known; raises ``PlanError`` with the nearest known one."""
    known = list(known)
    for key in keys:
        if key not in known:
            msg = f"{where}: unknown key {key!r}{nearest(key, known)} (known: {', '.join(known)})"
            raise PlanError(msg)


def number(value: object, *, texts: bool = False) -> Decimal | None:
    """The value as an exact number; None if it is none, not finite, or beyond all use.

    With ``texts``, "0.1" is a number as well: a parameter of a method may be one, so that Python
    can state every decimal exactly.
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


def number_between(name: str, value: object, low: int, high: int | None = None) -> Decimal:
    """The value as an exact number above ``low`` and below ``high``; raises ``PlanError``."""
    exact = number(value)
    if exact is None or exact <= low or (high is not None and exact >= high):
        allowed = f"above {low}" if high is None else f"between {low} and {high}, both excluded"
        msg = f"{name} must be a number {allowed}"
        raise PlanError(msg)
    return exact
