"""The figures of an attack as its document gives them, or that it lacks some.

A figure that is null is not zero: an attack without a success, an interval or a baseline was not
measured, and neither was one that was aimed at nobody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from voile.schema.persons import targets_told
from voile.study.record import AttackDocument

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
    exact: bool = False
    """Whether it was counted in closed form on all there are, so that there is no interval."""
    told_targets: str = ""
    """At whom it was aimed, in words: "all 48,842 rows", "1,000 drawn of 71,518 persons"."""
    worst: float | None = None
    """The largest probability of a target; of all there are where the figure is exact."""

    @property
    def times(self) -> float | None:
        """How many times as often as guessing it succeeds; None where guessing never does."""
        return self.success / self.baseline if self.baseline > 0 else None

    @property
    def beats_guessing(self) -> bool:
        """Whether guessing lies below the interval."""
        return self.baseline < self.low


def rates_of(attack: AttackDocument) -> Rates | None:
    """The figures of an attack; None where one of them is null, or it was aimed at nobody."""
    success, baseline = attack["success"], attack["baseline"]
    value, low, high = success["value"], success["low"], success["high"]
    if value is None or low is None or high is None or baseline is None or not attack["targets"]:
        return None
    targets, worst = attack["targets"], attack["worst"]
    return Rates(
        targets,
        attack["checked"],
        value,
        low,
        high,
        baseline,
        exact=attack.get("exact", False),
        told_targets=targets_told(targets, attack.get("drawn_from"), attack.get("aimed_at")),
        worst=None if worst is None else worst["probability"],
    )


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
