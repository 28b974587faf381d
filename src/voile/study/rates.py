"""The figures of an attack as its document gives them, or that it lacks some.

A figure that is not there is not zero: an attack whose success, interval or baseline a record lacks
was not measured, and neither was one that was aimed at nobody.  Who reads such a record may say so,
or refuse it; nobody may take it for an attack that fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

__all__ = ["Rates", "as_number", "rates_of"]


@dataclass(frozen=True)
class Rates:
    """How often an attack succeeds; all but ``targets`` are between 0 and 1."""

    targets: int
    """At least 1."""
    counted: bool
    """Whether successes were counted; else they are what the adversary believes."""
    success: float
    low: float
    high: float
    """The ends of the interval."""
    baseline: float
    """The success of guessing."""

    @property
    def times(self) -> float | None:
        """How many times as often as guessing it succeeds; None where guessing never does."""
        return self.success / self.baseline if self.baseline > 0 else None

    @property
    def beats_guessing(self) -> bool:
        """Whether guessing lies below the interval."""
        return self.baseline < self.low


def rates_of(attack: Mapping[str, Any]) -> Rates | None:
    """The figures of the document of an ``AttackOutcome``; None where one of them is missing."""
    success = attack.get("success")
    estimate = success if isinstance(success, Mapping) else {}
    targets, counted = as_number(attack.get("targets")), attack.get("checked")
    value, low, high = (as_number(estimate.get(end)) for end in ("value", "low", "high"))
    baseline = as_number(attack.get("baseline"))
    if not targets or not isinstance(counted, bool):
        return None
    if value is None or low is None or high is None or baseline is None:
        return None
    return Rates(int(targets), counted, value, low, high, baseline)


def as_number(value: object) -> float | None:
    """The value as a finite number; None where it is none.

    A record that went through JSON holds texts where decimals were, so "0.1" is a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        found = float(Decimal(value) if isinstance(value, str) else value)
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return found if math.isfinite(found) else None
