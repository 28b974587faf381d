"""Conditions on columns, which say which rows a table is of.

``age < 65``, ``sex != F``, ``region = north, south``.  Several conditions hold together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from voile_base.errors import InputError

__all__ = ["Condition", "number_of", "parse_condition"]

_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|!=|≠|≤|≥|<|>|=)\s*(.+?)\s*")
_SIGNS = {"≤": "<=", "≥": ">=", "≠": "!="}


def number_of(text: str) -> Decimal | None:
    """A text as a number; None where it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


@dataclass(frozen=True)
class Condition:
    """A condition on one column, which all rows of a table meet."""

    column: str
    sign: str
    """=, !=, <, <=, > or >=."""
    values: tuple[str, ...]
    """One number with an order sign; else one or more values."""

    def text(self) -> str:
        """As it is written."""
        return f"{self.column} {self.sign} {', '.join(self.values)}"

    def holds(self, text: str | None) -> bool:
        """Whether a value meets it; a missing one meets nothing but !=."""
        if self.sign in {"=", "!="}:
            return (text in self.values) == (self.sign == "=")
        number, border = None if text is None else number_of(text), number_of(self.values[0])
        if number is None or border is None:
            return False
        below = number < border
        return {"<": below, ">=": not below, "<=": number <= border, ">": number > border}[
            self.sign
        ]


def parse_condition(text: str) -> Condition:
    """A condition as it is written: ``age < 65``; raises ``InputError`` where it is none."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        msg = f'{text!r} is no condition on a column; write it as "age < 65" or "sex = F"'
        raise InputError(msg)
    column, sign, said = found.groups()
    sign = _SIGNS.get(sign, sign)
    values = tuple(part.strip() for part in said.split(",")) if sign in {"=", "!="} else (said,)
    if sign not in {"=", "!="} and number_of(said) is None:
        msg = f"{text!r}: {said!r} is no number, and has no order; use = or !="
        raise InputError(msg)
    return Condition(column, sign, values)
