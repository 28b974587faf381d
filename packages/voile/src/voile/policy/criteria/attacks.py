"""How often an adversary succeeds: the prosecutor, the journalist, the marketer, and any other.

The mean is over the targets, with the interval of the record.  The worst is the one target who is
found with the largest probability; where targets were drawn, those who were not may be worse off,
so that its interval reaches to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from voile.policy.assumptions import Tick
from voile.policy.case import Case
from voile.policy.criteria.base import PolicyCriterion, Share
from voile.policy.ruling import MeasuredFigure, Ruling, at_most, missing
from voile.study.record import AttackDocument, Rates, rates_of

__all__ = ["AttackRate"]

_WORDS = {
    "mean": "succeeds for at most {most} of the targets",
    "worst": "finds nobody with a probability above {most}",
    "above-guessing": "finds at most {most} of what guessing leaves open",
}


class AttackRate(PolicyCriterion):
    """An attack of the study or the audit, by its name, succeeds no more often than this."""

    kind: Literal["attack"] = "attack"
    name: str
    figure: Literal["mean", "worst", "above-guessing"] = "mean"
    most: Share

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del ticks
        asks = f"the attack {self.name} {_WORDS[self.figure].format(most=self.most)}"
        yield at_most(self.kind, asks, self._found(case), float(self.most))

    def _found(self, case: Case) -> MeasuredFigure | str:
        document = next((one for one in case.attacks if one["attack"] == self.name), None)
        if document is None:
            if reason := case.skipped.get(self.name):
                return f"the attack {self.name} was left out: {reason}"
            return missing("the attack", self.name, [one["attack"] for one in case.attacks])
        rates = rates_of(document)
        if rates is None:
            return f"the attack {self.name} was not measured: a figure of it is null"
        notes = () if rates.counted else ("successes are what the adversary believes",)
        match self.figure:
            case "mean":
                found = rates.success, rates.low, rates.high
            case "above-guessing":
                found = _above(rates)
            case "worst":
                if rates.worst is None:
                    return f"the attack {self.name} names no worst target"
                top = rates.worst if _all_of_them(document, rates) else 1.0
                found = rates.worst, rates.worst, top
        why = f"of {rates.told_targets or f'{rates.targets:,} targets'}"
        return MeasuredFigure(*found, why, notes=(*notes, *document.get("untried", ())))


def _all_of_them(document: AttackDocument, rates: Rates) -> bool:
    """Whether nobody was left out of the targets."""
    return rates.exact or document.get("drawn_from") == rates.targets


def _above(rates: Rates) -> tuple[float, float, float]:
    if rates.baseline >= 1:
        return 0.0, 0.0, 0.0
    value, low, high = (
        (rate - rates.baseline) / (1 - rates.baseline)
        for rate in (rates.success, rates.low, rates.high)
    )
    return value, low, high
