"""What an attack on people came to: plain values, private, because they tell of real rows.

Every attack that succeeds or fails for each person it is aimed at ends in one ``AttackOutcome``, so
that attacks and releases can be put side by side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import stdev
from typing import Any, Literal, Self

from scipy import special

from voile.schema.persons import targets_told
from voile.schema.roles import Protected

__all__ = ["AttackOutcome", "Estimate", "KnownRows", "Target"]

KnownRows = Literal["one", "all"]
"""How many rows of a target an adversary knows."""
_CONFIDENCE_BELOW = 0.975
"""How sure an upper bound is: intervals hold with a confidence of 95 %."""


@dataclass(frozen=True)
class Estimate:
    """A mean, of numbers in 0 to 1 unless said otherwise, and an interval of confidence 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of_total(cls, total: float, count: int, together: int = 1) -> Self:
        """The mean of ``count`` numbers between 0 and 1 that add up to ``total``.

        Wilson's interval for a share: numbers between 0 and 1 with a given mean vary most where
        all are 0 or 1, so it is on the safe side for all others.  Without any numbers nothing is
        known: 0, between 0 and 1.  So many intervals as ``together`` hold all at once (Bonferroni).
        """
        if count == 0:
            return cls(0.0, 0.0, 1.0)
        mean = min(max(total / count, 0.0), 1.0)
        quantile = float(special.ndtri(1 - (1 - _CONFIDENCE_BELOW) / together))
        square = quantile**2 / count
        centre = (mean + square / 2) / (1 + square)
        reach = math.sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
        # The interval holds the mean; only rounding can say otherwise, at 0 and at 1.
        return cls(mean, max(0.0, min(centre - reach, mean)), min(1.0, max(centre + reach, mean)))

    @classmethod
    def exactly(cls, value: float) -> Self:
        """A figure that was counted on all there is."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Whether there is no interval."""
        return self.low == self.high

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
    aimed_at: Protected = "row"
    """What a target is: a row, a person or a household."""
    drawn_from: int | None = None
    """Of how many the targets were drawn; as many as there are where it was aimed at all of them,
    None where that is not known."""
    known_rows: KnownRows = "one"
    """Whether he knows one row of a target, or all of them where a person has several."""
    exact: bool = False
    """Whether ``success`` was counted in closed form on all there are, and is no estimate."""

    @property
    def told_targets(self) -> str:
        """At whom it was aimed, in words: "1,000 drawn of 71,518 persons"."""
        return targets_told(self.targets, self.drawn_from, self.aimed_at)

    @property
    def advantage(self) -> float:
        """How many times as often as guessing the attack succeeds; 1 where neither ever does."""
        if not self.baseline:
            return math.inf if self.success.value else 1.0
        return self.success.value / self.baseline

    @property
    def gain(self) -> float:
        """What it finds of what guessing leaves open; 0 where guessing leaves nothing."""
        if self.baseline >= 1:
            return 0.0
        return (self.success.value - self.baseline) / (1 - self.baseline)

    def document(self) -> dict[str, Any]:
        """All fields for JSON, and what follows; see ``study.record.AttackDocument``."""
        held = {one.name: _document(getattr(self, one.name)) for one in fields(self)}
        return held | {"advantage": self.advantage if math.isfinite(self.advantage) else None}


def _document(value: Any) -> Any:
    match value:
        case Estimate() | Target():
            return value.document()
        case tuple():
            return list(value)
    return value


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
