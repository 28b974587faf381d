"""What an attack on people came to: plain values, private, because they tell of real rows.

Every attack that succeeds or fails for each person it is aimed at ends in one ``AttackOutcome``, so
that attacks and releases can be put side by side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any, Self

from scipy import special

__all__ = ["AttackOutcome", "Estimate", "Target"]

_CONFIDENCE_BELOW = 0.975
"""How sure an upper bound is: intervals hold with a confidence of 95 %."""
_NORMAL_QUANTILE = 1.959963984540054
"""Of the standard normal distribution at that."""


@dataclass(frozen=True)
class Estimate:
    """A mean, of numbers in 0 to 1 unless said otherwise, and an interval of confidence 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of_total(cls, total: float, count: int) -> Self:
        """The mean of ``count`` numbers between 0 and 1 that add up to ``total``.

        Wilson's interval for a share: numbers between 0 and 1 with a given mean vary most where
        all are 0 or 1, so it is on the safe side for all others.  Without any numbers nothing is
        known: 0, between 0 and 1.
        """
        if count == 0:
            return cls(0.0, 0.0, 1.0)
        mean = min(max(total / count, 0.0), 1.0)
        square = _NORMAL_QUANTILE**2 / count
        centre = (mean + square / 2) / (1 + square)
        reach = math.sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
        # The interval holds the mean; only rounding can say otherwise, at 0 and at 1.
        return cls(mean, max(0.0, min(centre - reach, mean)), min(1.0, max(centre + reach, mean)))

    @classmethod
    def of_units(cls, values: Sequence[float], most: float = math.inf) -> Self:
        """The mean over units, such as trips, whose own means lie between 0 and ``most``.

        By Student's distribution over units, for what is measured within one unit is not
        independent.  One unit alone tells nothing of the others: between 0 and ``most``.
        """
        mean = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(mean, 0.0, most)
        quantile = float(special.stdtrit(len(values) - 1, _CONFIDENCE_BELOW))
        reach = quantile * stdev(values) / math.sqrt(len(values))
        return cls(mean, max(0.0, mean - reach), min(most, mean + reach))

    def document(self) -> dict[str, float | None]:
        """The estimate for JSON, which has no infinity."""
        high = self.high if math.isfinite(self.high) else None
        return {"value": self.value, "low": self.low, "high": high}


@dataclass(frozen=True)
class Target:
    """A person at whom an attack was aimed; private."""

    known: Mapping[str, Any]
    """What the adversary knew."""
    probability: float
    """What the attack gives to the truth or, where that is not known, to its best guess."""

    def document(self) -> dict[str, Any]:
        """The target for JSON."""
        return {
            "known": {name: _plain(value) for name, value in self.known.items()},
            "probability": self.probability,
        }


@dataclass(frozen=True)
class AttackOutcome:
    """How often an attack succeeds, beside how often guessing does; private.

    Where ``checked``, successes were counted, because the truth could be told.  Elsewhere rates are
    what the adversary himself believes, and are as good as what he assumes.
    """

    attack: str
    """Name of the attack."""
    goal: str
    """What counts as a success, as a clause: "the best guess is the target's own row"."""
    targets: int
    """How many people it was aimed at."""
    checked: bool
    success: Estimate
    """Share of the targets for whom it succeeds; of equally good guesses one is taken at random."""
    probability: Estimate
    """Mean probability that the adversary gives to the truth."""
    baseline: float
    """The success of guessing without looking at the release."""
    worst: Target | None
    """The target with the largest probability."""
    typical: Target | None
    """The target with the median probability."""
    assumptions: tuple[str, ...]
    """What the adversary knows and supposes."""
    notes: tuple[str, ...] = ()
    """What was found on the way."""
    untried: tuple[str, ...] = ()
    """Adversaries whom it leaves out though they may learn more, as clauses."""

    @property
    def advantage(self) -> float:
        """How many times as often as guessing the attack succeeds; 1 where neither ever does."""
        if not self.baseline:
            return math.inf if self.success.value else 1.0
        return self.success.value / self.baseline

    def document(self) -> dict[str, Any]:
        """The outcome for JSON."""
        return {
            "attack": self.attack,
            "goal": self.goal,
            "targets": self.targets,
            "checked": self.checked,
            "success": self.success.document(),
            "probability": self.probability.document(),
            "baseline": self.baseline,
            "advantage": self.advantage if math.isfinite(self.advantage) else None,
            "worst": self.worst.document() if self.worst else None,
            "typical": self.typical.document() if self.typical else None,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "untried": list(self.untried),
        }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
