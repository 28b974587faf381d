"""What a release is still good for, by a measure of the study or the audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import model_validator

from voile.policy.assumptions import Tick
from voile.policy.case import Case
from voile.policy.criteria.base import PolicyCriterion
from voile.policy.ruling import MeasuredFigure, Ruling, at_least, at_most, missing
from voile_base.values.value import Exact

__all__ = ["Utility"]


class Utility(PolicyCriterion):
    """A measure, by its name, is not worse than this: at least, or at most."""

    kind: Literal["utility"] = "utility"
    measure: str
    least: Exact | None = None
    most: Exact | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.least is None) == (self.most is None):
            msg = "either least or most must be said of a measure, and not both"
            raise ValueError(msg)
        return self

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del ticks
        found = self._found(case)
        if self.least is not None:
            asks = f"the measure {self.measure} is at least {self.least}"
            yield at_least(self.kind, asks, found, float(self.least))
        if self.most is not None:
            asks = f"the measure {self.measure} is at most {self.most}"
            yield at_most(self.kind, asks, found, float(self.most))

    def _found(self, case: Case) -> MeasuredFigure | str:
        one = next((each for each in case.measures if each["measure"] == self.measure), None)
        if one is None:
            if reason := case.skipped.get(self.measure):
                return f"the measure {self.measure} was left out: {reason}"
            names = [each["measure"] for each in case.measures]
            return missing("the measure", self.measure, names)
        if one["value"] is None:
            return f"the measure {self.measure} has no value: it is null"
        note = "the record has no interval of a measure"
        return MeasuredFigure.exactly(
            one["value"], one["meaning"].rstrip("."), note, of_original=True
        )
