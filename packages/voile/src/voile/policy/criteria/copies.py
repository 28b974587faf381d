"""Whether people stand in a file whose rows are said to be nobody's: copied whole, or nearly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from voile.audit.record import COPYING, ROWS_OF_PEOPLE, AuditRecord
from voile.policy.assumptions import Tick
from voile.policy.case import Case
from voile.policy.criteria.base import PolicyCriterion
from voile.policy.criteria.risks import CONTROL_VOID
from voile.policy.ruling import MeasuredFigure, Ruling, at_most

__all__ = ["Copies"]


class Copies(PolicyCriterion):
    """So many people of the original, as far as is sure, fit better than the control explains."""

    kind: Literal["copies"] = "copies"
    most: Annotated[int, Field(ge=0)] = 0

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del ticks
        asks = (
            f"the rows of at most {self.most:,} people are copied, beyond what the control explains"
        )
        yield at_most(self.kind, asks, self._found(case), self.most)

    def _found(self, case: Case) -> MeasuredFigure | str:
        if isinstance(case.record, AuditRecord) and case.record.control_void:
            return CONTROL_VOID
        risk = next((one for one in case.risks if one["risk"] == COPYING), None)
        if risk is not None and "persons" in risk:
            rates = [one["value"] or 0 for one in (risk["main"], risk["control"] or risk["guess"])]
            why = f"{rates[0]:.2%} of the original are close, and {rates[1]:.2%} of the control"
            return MeasuredFigure.exactly(risk["persons"], why, *risk["notes"], of_original=True)
        reason = case.skipped.get(COPYING) or case.skipped.get("three risks")
        if reason == ROWS_OF_PEOPLE:
            return MeasuredFigure.exactly(0, f"does not apply: {reason}", of_original=True)
        if reason is None and not isinstance(case.record, AuditRecord) and case.is_measured:
            return MeasuredFigure.exactly(
                0, "does not apply: what the release promises is measured on it"
            )
        why = reason or "run voile study with --risks, or voile audit with a control"
        return f"copying was not counted: {why}"
