"""The three risks of WP216, above what the same adversary finds of people who were not there.

The figure is the excess that the evidence tells: with success rates m of people in the data and c
of the control, 1 - (1 - m) / (1 - c), the share of what the control leaves open that the best
adversary finds, with its interval (``voile.audit.risk``).  Where every person of the control is
found, as where one column tells another of everybody, no share of what it leaves open can be told:
then what both differ by is taken of what guessing leaves open, which is nothing where nearly
everybody has the same value.

Whether people stand in a file whose rows are said to be nobody's: copied whole, or nearly; and how
many of them are told where hardly anybody else is.

How surely what others know of a person finds the person's row, in a file of people's rows: the
figure is that of the worst of the sets that somebody outside plausibly knows, which is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from voile.audit.record import (
    COPYING,
    DOES_NOT_APPLY,
    RE_IDENTIFICATION,
    ROWS_OF_NOBODY,
    ROWS_OF_PEOPLE,
    AuditRecord,
)
from voile.policy.case import Case
from voile.policy.criteria import PolicyCriterion, Share
from voile.policy.ruling import SINGLING_OUT, MeasuredFigure, NotCounted, Ruling, Tick
from voile.study.record import (
    EstimateDocument,
    ExcessDocument,
    RiskDocument,
    known_columns,
)

__all__ = ["CONTROL_VOID", "Copies", "ReIdentified", "ThreeRisks", "WorstOff"]


CONTROL_VOID = (
    "people of the original stand in the control, or it is found more often than they are or than "
    "chance explains, which voids the comparison with it"
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
            if isinstance(figure, MeasuredFigure) and self.name == SINGLING_OUT:
                figure = replace(figure, columns=(*figure.columns, *case.unhidden))
            yield Ruling.at_most(self.kind, asks, figure, float(self.most), self.name)
        if not found:
            reason = case.skipped.get(self.name) or case.skipped.get("three risks")
            why = _without_figure(self.name, reason, "voile audit with a control")
            if reason and reason.startswith(DOES_NOT_APPLY):
                figure = MeasuredFigure.exactly(0, reason, of_original=True)
                yield Ruling.at_most(self.kind, asks, figure, float(self.most), self.name)
                return
            yield Ruling.at_most(self.kind, asks, why, float(self.most), self.name)

    def _found(self, risk: RiskDocument) -> MeasuredFigure | str:
        control = risk["control"]
        if control is None and self.control:
            return (
                f"{risk['of']}: no control was given, so that nobody can tell what the file gives "
                "away of its own people from what it tells of everybody"
            )
        rates = [one["value"] for one in (risk["main"], control or risk["guess"])]
        if None in rates:
            return f"{risk['of']}: a rate of it is null"
        main, beside = (f"{100 * (rate or 0):.3g}%" for rate in rates)
        why = f"{risk['of']}: {main} against {'control' if control else 'guessing'} {beside}"
        ends = risk["excess"]
        if control and control["value"] == 1:
            ends = _of_guessing(risk["main"], control, risk["guess"])
            why += ", which leaves nothing open: of what guessing leaves open"
        return MeasuredFigure(
            ends["value"],
            ends["low"],
            ends["high"],
            why,
            notes=tuple(risk["notes"]),
            columns=(risk["of"],),
        )


def _of_guessing(
    main: EstimateDocument, control: EstimateDocument, guess: EstimateDocument
) -> ExcessDocument:
    """How far a rate lies above a control's of 1, as a share of what guessing leaves open."""
    if guess["low"] == 1:
        return ExcessDocument(value=0.0, low=0.0, high=0.0)
    if guess["high"] == 1:
        return ExcessDocument(value=0.0, low=-1.0, high=1.0)
    left, left_least = 1 - (guess["value"] or 0), 1 - (guess["high"] or 0)
    gap = (main["high"] or 0) - (control["low"] or 0)
    return ExcessDocument(
        value=max(((main["value"] or 0) - 1) / left, -1.0),
        low=max(((main["low"] or 0) - 1) / left_least, -1.0),
        high=max(min(gap / (left_least if gap > 0 else 1 - (guess["low"] or 0)), 1.0), -1.0),
    )


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
        yield Ruling.at_most(self.kind, asks, self._found(case), self.most)

    def _found(self, case: Case) -> MeasuredFigure | str:
        if isinstance(case.record, AuditRecord) and case.record.control_void:
            return CONTROL_VOID
        copying = [one for one in case.risks if one["risk"] == COPYING and "persons" in one]
        risk = max(copying, key=lambda one: one["persons"], default=None)
        if risk is not None:
            rates = [one["value"] or 0 for one in (risk["main"], risk["control"] or risk["guess"])]
            why = f"{rates[0]:.2%} of the original are close, and {rates[1]:.2%} of the control"
            return MeasuredFigure.exactly(risk["persons"], why, *risk["notes"], of_original=True)
        return _not_counted(case)


class WorstOff(PolicyCriterion):
    """So many people of the original are told where hardly anybody else is, beyond the control."""

    kind: Literal["worst-off"] = "worst-off"
    false_positives: Share = Decimal("0.001")
    """The share of people of the control who may be told by mistake: 0.01 or 0.001 is counted."""
    most: Share

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del ticks
        asks = (
            f"with {float(self.false_positives):.3g} of mistakes at most {self.most} of the people "
            "are told to be in the data, beyond what the control explains"
        )
        yield Ruling.at_most(self.kind, asks, self._found(case), float(self.most))

    def _found(self, case: Case) -> MeasuredFigure | str:
        if isinstance(case.record, AuditRecord) and case.record.control_void:
            return CONTROL_VOID
        every = [
            rate for one in case.risks if one["risk"] == COPYING for rate in one.get("rates", ())
        ]
        rates = {one["false_positives"] for one in every}
        some = [one for one in every if one["false_positives"] == float(self.false_positives)]
        rate = max(some, key=lambda one: one["beyond"]["high"], default=None)
        if rates and rate is None:
            return f"it was counted at {', '.join(f'{one:g}' for one in rates)} of mistakes alone"
        if rate is None:
            return _not_counted(case)
        ends, share = rate["beyond"], rate["share"]["value"] or 0
        why = f"{share:.2%} of the original are told, by the best score"
        return MeasuredFigure(ends["value"], ends["low"], ends["high"], why)


def _not_counted(case: Case) -> MeasuredFigure | str:
    """What is said of copying where there is no figure of it."""
    reason = case.skipped.get(COPYING) or case.skipped.get("three risks")
    if reason == ROWS_OF_PEOPLE:
        return MeasuredFigure.exactly(0, f"{DOES_NOT_APPLY}: {reason}", of_original=True)
    if reason is None and not isinstance(case.record, AuditRecord) and case.is_measured:
        return MeasuredFigure.exactly(
            0, f"{DOES_NOT_APPLY}: what the release promises is measured on it"
        )
    return _without_figure("copying", reason, "voile audit with a control")


def _without_figure(what: str, reason: str | None, other: str) -> str:
    """Why there is no figure of a risk; without a reason, what counts one."""
    if reason is None:
        return NotCounted(f"{what} was not counted: run voile study with --risks, or {other}")
    return f"{what} was not counted: {reason}"


_SEARCHED = "whoever knows the worst"
"""Begins the name of a set that was searched for, which nobody need know."""


class ReIdentified(PolicyCriterion):
    """What others know of a person finds the row no more surely than this, whoever they are."""

    kind: Literal["re-identification"] = "re-identification"
    figure: Literal["mean", "worst"] = "mean"
    most: Share
    searched: bool = False
    """Whether the worst column, pair and triple count, too, which nobody need know."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One, of the worst set of columns."""
        del ticks
        how = "on average" if self.figure == "mean" else "for the worst-off person"
        asks = f"nobody outside picks a person's row with a probability above {self.most}, {how}"
        yield Ruling.at_most(self.kind, asks, self._found(case), float(self.most))

    def _found(self, case: Case) -> MeasuredFigure | str:
        figures = [
            self._figure(one)
            for one in case.risks
            if one["risk"] == RE_IDENTIFICATION
            and (self.searched or not one["of"].startswith(_SEARCHED))
        ]
        if figures:
            return max(figures, key=lambda figure: (figure.high, figure.value))
        reason = case.skipped.get(RE_IDENTIFICATION) or case.skipped.get("three risks")
        if reason == ROWS_OF_NOBODY:
            return MeasuredFigure.exactly(0, f"{DOES_NOT_APPLY}: {reason}", of_original=True)
        return _without_figure(RE_IDENTIFICATION, reason, "voile audit")

    def _figure(self, risk: RiskDocument) -> MeasuredFigure:
        main = risk["main"]
        value, low, high = main["value"] or 0.0, main["low"] or 0.0, main["high"] or 0.0
        worst, why = risk.get("worst"), risk["of"]
        if self.figure == "mean" and worst is not None:
            why += f"; the person who is worst off with {worst:.3g}"
        if self.figure == "worst":
            value = low = 1.0 if worst is None else worst
            high = value if main["low"] == main["high"] else 1.0  # others were not looked at
        notes = tuple(risk["notes"])
        return MeasuredFigure(value, low, high, why, notes=notes, columns=known_columns(risk))
