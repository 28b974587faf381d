"""The budget of differential privacy that a release states: epsilon, and delta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from voile.policy.assumptions import Tick
from voile.policy.case import Case
from voile.policy.criteria.base import PolicyCriterion, Share
from voile.policy.ruling import MeasuredFigure, Ruling, at_most
from voile.release.claims import PrivacyClaim
from voile_base.values.value import Exact

__all__ = ["PrivacyBudget"]


class PrivacyBudget(PolicyCriterion):
    """All that a release promises of neighbouring tables costs no more than this."""

    kind: Literal["privacy-budget"] = "privacy-budget"
    epsilon: Annotated[Exact, Field(gt=0)]
    delta: Share | None = None
    """None: delta must be 0."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for epsilon, and one for delta."""
        del ticks
        claims = [claim for claim in case.claims if isinstance(claim, PrivacyClaim)]
        found: list[MeasuredFigure | str] = ["no differential privacy is promised"] * 2
        if claims:
            of = ", ".join(dict.fromkeys(str(claim.neighbours) for claim in claims))
            why = f"stated by release.json; neighbours: {of}"
            note = "of this release alone; the ledger knows what others of the data set have spent"
            epsilon = float(sum(claim.epsilon for claim in claims))
            delta = float(sum(claim.delta or 0 for claim in claims))
            found = [
                MeasuredFigure.exactly(epsilon, why, note),
                MeasuredFigure.exactly(delta, why, note),
            ]
        delta_most = float(self.delta or 0)
        yield at_most(
            self.kind, f"epsilon is at most {self.epsilon}", found[0], float(self.epsilon)
        )
        yield at_most(self.kind, f"delta is at most {delta_most:g}", found[1], delta_most)
