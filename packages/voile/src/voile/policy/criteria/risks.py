"""The three risks of WP216, above what the same adversary finds of people who were not there.

With success rates m of people in the data and c of the control, the excess is
1 - (1 - m) / (1 - c): the share of what the control leaves open that the adversary finds.  Its
interval follows from those of the two rates (Zou and Donner, "Construction of confidence limits
about effect measures: a general approach", Statistics in Medicine 27, 2008: a ratio on the scale of
its logarithm); where a rate reaches 1, from the ends of both that are worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, hypot, log
from typing import Literal

from voile.audit.record import AuditRecord
from voile.policy.assumptions import Tick
from voile.policy.case import Case
from voile.policy.criteria.base import PolicyCriterion, Share
from voile.policy.ruling import MeasuredFigure, Ruling, at_most
from voile.study.record import EstimateDocument, RiskDocument

__all__ = ["CONTROL_VOID", "ThreeRisks", "excess"]

CONTROL_VOID = (
    "people of the original stand in the control, or it is found more often than they are, which "
    "voids the comparison with it"
)


class ThreeRisks(PolicyCriterion):
    """A risk of an audit, above the control, or above guessing without one."""

    kind: Literal["risk"] = "risk"
    name: str
    """"singling out", "linkability", "inference", or one that another package counts."""
    most: Share
    control: bool = True
    """Whether it must be held against people who were not in the data; else guessing will do."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each figure of the risk: of each kind of predicate, of each column."""
        del ticks
        asks = f"{self.name} finds at most {self.most} of what the control leaves open"
        found = [one for one in case.risks if one["risk"] == self.name]
        for one in found:
            void = isinstance(case.record, AuditRecord) and case.record.control_void
            figure = CONTROL_VOID if void else self._found(one)
            yield at_most(self.kind, asks, figure, float(self.most))
        if not found:
            reason = case.skipped.get(self.name) or case.skipped.get("three risks")
            why = reason or "run voile study with --risks, or voile audit with a control"
            why = f"{self.name} was not counted: {why}"
            yield at_most(self.kind, asks, why, float(self.most))

    def _found(self, risk: RiskDocument) -> MeasuredFigure | str:
        beside = risk["control"] or risk["guess"]
        if risk["control"] is None and self.control:
            return (
                f"{risk['of']}: no control was given, so that nobody can tell what the file gives "
                "away of its own people from what it tells of everybody"
            )
        figures = excess(risk["main"], beside)
        if figures is None:
            return f"{risk['of']}: a rate of it is null"
        what = "control" if risk["control"] else "guessing"
        rates = f"{100 * (risk['main']['value'] or 0):.3g}% against {what} "
        rates += f"{100 * (beside['value'] or 0):.3g}%"
        return MeasuredFigure(*figures, f"{risk['of']}: {rates}", notes=tuple(risk["notes"]))


def excess(main: EstimateDocument, beside: EstimateDocument) -> tuple[float, float, float] | None:
    """The excess of a rate over another with its interval, at most 1; None where one is null."""
    ends = [one[end] for one in (main, beside) for end in ("value", "low", "high")]
    if any(end is None for end in ends):
        return None
    m, m_low, m_high, c, c_low, c_high = (float(end or 0) for end in ends)
    if c >= 1:
        return 0.0, 0.0, 0.0 if m_high >= 1 else 1.0
    value = (m - c) / (1 - c)
    if max(m_high, c_high) >= 1:
        low = -1.0 if c_high >= 1 else (m_low - c_high) / (1 - c_high)
        return value, max(low, -1.0), max(value, (m_high - c_low) / (1 - c_low))
    fail, fail_low, fail_high = log(1 - m), log(1 - m_high), log(1 - m_low)
    other, other_low, other_high = log(1 - c), log(1 - c_high), log(1 - c_low)
    low = 1 - exp(fail - other + hypot(fail_high - fail, other - other_low))
    high = 1 - exp(fail - other - hypot(fail - fail_low, other_high - other))
    return value, max(low, -1.0), high
