"""Criteria on what was measured, stated or asked: attacks, utility, budgets, assumptions.

How often an adversary succeeds: the prosecutor, the journalist, the marketer, and any other.

The mean is over the targets, with the interval of the record.  The worst is the one target who is
found with the largest probability; where targets were drawn, those who were not may be worse off,
so that its interval reaches to 1.

What a release is still good for, by a measure of the study or the audit.

The budget of differential privacy that a release states: epsilon, and delta.

How often the same file was audited before, under other settings, as a ledger of audits knows.

What no machine can see: assumptions of the promise, and what a policy asks of a human.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from voile.audit.record import AuditRecord
from voile.policy.case import Case
from voile.policy.criteria import PolicyCriterion, Share
from voile.policy.criteria.identifiers import doubt_of_roles
from voile.policy.ruling import (
    KNOWING,
    UNPUBLISHED,
    MeasuredFigure,
    NotCounted,
    Ruling,
    Tick,
    ticked,
)
from voile.release.claims import PrivacyClaim
from voile.study.record import AttackDocument, Rates, rates_of
from voile.study.verdict import IDENTIFICATION, exact_limit
from voile_base.errors import nearest
from voile_base.values.value import Exact

__all__ = [
    "Assumptions",
    "AttackRate",
    "PrivacyBudget",
    "QuestionCriterion",
    "RepeatedAudits",
    "Utility",
    "asked",
]


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
        most = f"{self.most}"
        if self.limit != float(self.most):
            most = f"1 in {1 / self.limit:.0f} ({self.most}, rounded)"
        asks = f"the attack {self.name} {_WORDS[self.figure].format(most=most)}"
        yield Ruling.at_most(self.kind, asks, self._found(case), self.limit, self.name)

    @property
    def limit(self) -> float:
        """What the figure is held against: 1/11 where .09 is the most of a worst identification."""
        worst = self.figure == "worst" and self.name in IDENTIFICATION
        return exact_limit(float(self.most)) if worst else float(self.most)

    def _found(self, case: Case) -> MeasuredFigure | str:
        document = next((one for one in case.attacks if one["attack"] == self.name), None)
        if document is None:
            if reason := case.skipped.get(self.name):
                return f"the attack {self.name} was left out: {reason}"
            return _missing("the attack", self.name, [one["attack"] for one in case.attacks])
        rates = rates_of(document)
        if rates is None:
            return f"the attack {self.name} was not measured: a figure of it is null"
        if not rates.bounded:
            return (
                f"the attack {self.name} was not assessed: missing cells may stand for other "
                "values, and who reads them otherwise may succeed more often; name a link that "
                "tells which row is whose, or publish without nulls = category"
            )
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
        if rates.upper_bound:
            why += "; a bound: who reads missing cells best succeeds at most so often"
        return MeasuredFigure(*found, why, notes=(*notes, *document.get("untried", ())))


def _missing(what: str, name: str, known: Sequence[str]) -> str:
    """Why there is no figure, where what was looked for was not measured."""
    if not known:
        return f"{what} {name} was not measured: there is no evidence beside the release"
    return f"{what} {name} was not measured{nearest(name, known)}"


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
            yield Ruling.at_least(self.kind, asks, found, float(self.least))
        if self.most is not None:
            asks = f"the measure {self.measure} is at most {self.most}"
            yield Ruling.at_most(self.kind, asks, found, float(self.most))

    def _found(self, case: Case) -> MeasuredFigure | str:
        one = next((each for each in case.measures if each["measure"] == self.measure), None)
        if one is None:
            if reason := case.skipped.get(self.measure):
                return f"the measure {self.measure} was left out: {reason}"
            names = [each["measure"] for each in case.measures]
            return _missing("the measure", self.measure, names)
        if one["value"] is None:
            return f"the measure {self.measure} has no value: it is null"
        note = "the record has no interval of a measure"
        return MeasuredFigure.exactly(
            one["value"], one["meaning"].rstrip("."), note, of_original=True
        )


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
        yield Ruling.at_most(
            self.kind, f"epsilon is at most {self.epsilon}", found[0], float(self.epsilon)
        )
        yield Ruling.at_most(self.kind, f"delta is at most {delta_most:g}", found[1], delta_most)


class RepeatedAudits(PolicyCriterion):
    """The file was audited at most so often before with other targets, attacks or inputs.

    Figures of an audit lie within intervals; who asks again with other draws until one pleases has
    chosen among them.
    """

    kind: Literal["audits"] = "audits"
    most: Annotated[int, Field(ge=0)] = 0

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del ticks
        asks = f"the file was audited at most {self.most:,} times before under other settings"
        yield Ruling.at_most(self.kind, asks, self._found(case), self.most)

    def _found(self, case: Case) -> MeasuredFigure | str:
        record = case.record
        if not isinstance(record, AuditRecord) or record.earlier is None:
            return NotCounted("no ledger knows its audits; run voile audit with --ledger")
        times = len(record.of_this_file)
        why = f"{len(record.earlier):,} audits of files of this original were entered before it"
        return MeasuredFigure.exactly(times, why, of_original=True)


_KNOWN_BEFORE = "knows of a person beforehand stands in the"
"""In the words of what promises assume of the roles of columns."""


def _contradicted(found: Ruling, known: str) -> Ruling:
    """A statement that something contradicts: a tick counts that says that its role knows."""
    against = f"{found.why}; against it: {known}"
    if found.passed and KNOWING not in found.why:
        return replace(found, passed=False, why=f"{against}; tick it knowing that, or not at all")
    return replace(found, why=against)


class Assumptions(PolicyCriterion):
    """Each assumption of the promise is ticked by somebody who has made sure of it."""

    kind: Literal["assumptions"] = "assumptions"

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each assumption; one that there is none."""
        said = case.release.guarantee.assumes if case.release else ()
        left_open = case.release.guarantee.leaves_open if case.release else ()
        for assumption in said:
            found = asked(self.kind, assumption, ticks, left_open)
            if _KNOWN_BEFORE in assumption and (doubt := doubt_of_roles(case)):
                found = replace(found, why=f"{found.why}; against it: {doubt}")
            if UNPUBLISHED in assumption and (others := case.signed_beside):
                found = _contradicted(found, f"{', '.join(others)}: signed, with the same columns")
            yield found
        if not said:
            why = "nothing is promised, so that nothing is assumed"
            why = "the promise assumes nothing" if case.release else why
            asks = "each assumption of the promise is ticked"
            yield Ruling(self.kind, asks, passed=True, why=why, of_original=False)


class QuestionCriterion(PolicyCriterion):
    """A human has made sure of this."""

    kind: Literal["question"] = "question"
    says: Annotated[str, Field(min_length=1)]
    """A statement that must be true."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The statement."""
        return (self.says,)

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One."""
        del case
        yield asked(self.kind, self.says, ticks)


def asked(
    kind: str,
    says: str,
    ticks: tuple[Tick, ...],
    left_open: Sequence[str] = (),
    columns: tuple[str, ...] = (),
) -> Ruling:
    """Whether a human has made sure of a statement, or accepts what the promise leaves open.

    ``columns`` are those that it is about.
    """
    by = ticked(says, ticks)
    if by is None:
        why = "not confirmed"
        return Ruling(kind, says, passed=False, why=why, of_original=False, columns=columns)
    limit = "the promise does not cover it" if says in left_open else ""
    accepted = by.partition(KNOWING)[2] or limit
    why = f"ticked by the {by}"
    found = Ruling(kind, says, passed=True, why=why, of_original=False, columns=columns)
    return replace(found, accepted=accepted)
