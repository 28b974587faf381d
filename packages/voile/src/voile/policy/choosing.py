"""Choosing the parameters of a plan, and defending them: risk against loss, held against a policy.

Plans are tried: each is published as a single release that is neither written nor charged, and put
to the test.  First those of a ladder, which differ in k, or in epsilon where a method has no k, and
in how many rows may be left out; the method itself searches the hierarchies for the least loss at
each.  Then, as long as a policy is not met and effort is left, changes that an unmet criterion asks
for (``remedies``): larger groups, diversity or closeness of sensitive values, a column left out.

What is said of each plan:

    risk            prosecutor: the probability that a person who is known to be in the release is
                    told from the others, on average and for the worst-off; counted on all rows
    in a population  the same where the intruder does not know who is in the sample, estimated from
                    survey weights (``models.population.individual_risk``); without weights, none
    information loss what the method minimises, of a generalization (``publish.generalization``);
                    else the normalized certainty penalty (Xu et al.); a column that is left out is
                    lost altogether
    policy          the criteria that machines can judge; what humans confirm is told apart

Thresholds of the worst risk that practice uses, .33, .2, .09 and .05, are groups of 3, 5, 11 and 20
persons: K. El Emam and B. Malin, "Concepts and methods for de-identifying clinical trial data",
appendix B of Institute of Medicine, "Sharing clinical trial data" (2015); .09 is that of the
European Medicines Agency, policy 0070 (EMA/90915/2016), too.  As they are figures of two decimals,
a risk is rounded to two decimals before it is held against them; a policy rounds nothing.

What was found is the least loss among the plans that were tried, which are all told.  Where a
policy asks for a worst risk or a size of groups alone, and the method finds the least loss for each
k (as ``flash`` does), it is the least of all k: groups that are large enough for a k are so for a
smaller one, so that the loss rises with k, and the smallest k that keeps the limit is among those
tried.  Of other criteria it is not claimed that no other plan meets them with less.

Choosing by private rows discloses a little by itself: keep trials few, and publish one of them.

Cost: a publication and two attacks in closed form a plan, and the evidence that the policy asks for
of those which these do not rule out already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np

from voile.audit.counting import risks_of_rehearsal
from voile.models.population import individual_risk
from voile.policy.case import Case, FileDocument
from voile.policy.checking import judge
from voile.policy.criteria.measured import AttackRate, Utility
from voile.policy.criteria.risks import Copies, ThreeRisks
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy
from voile.publish.registry import METHODS
from voile.release.release import Publication, Release
from voile.schema.plan import Plan
from voile.study.evidence import EvidenceTerms, Instruments, gather
from voile.study.frontier import FrontierRisk
from voile.study.original import Original, read_original
from voile.study.plans import StatedPlan, json_value, single_release, state_plan
from voile.study.record import AttackDocument, StudyRecord, rates_of
from voile.study.rehearsal import Staged
from voile.study.run import prepare_release
from voile.study.single import Subject, put_on_record
from voile.table.engines import AUTO
from voile_base.errors import InputError, VoileError
from voile_base.randomness import Randomness

__all__ = [
    "THRESHOLDS",
    "Choice",
    "PlanChange",
    "PlanSearch",
    "TriedPlan",
    "choose",
    "remedies",
    "remedy_text",
]

THRESHOLDS: Mapping[float, str] = {
    0.33: "groups of 3: data for people who have signed an agreement",
    0.2: "groups of 5: data for people who have signed an agreement, usual",
    0.09: "groups of 11: data for the public, as EMA policy 0070 asks",
    0.05: "groups of 20: data for the public that may harm",
}
"""Limits of the worst re-identification risk, and what they are used for; see the module."""

_HUMAN = frozenset({"assumptions", "question", "unexamined", "publishable"})
"""Kinds of criteria that no plan meets or fails: humans confirm them, or the release to come."""
_IDENTIFICATION = ("prosecutor", "journalist", "marketer")
_ATTRIBUTE = ("homogeneity", "background-knowledge", "skewness")
_LOSS = "normalized-certainty-penalty"
_LADDER = (3, 5, 11, 12, 20)
_SHARES = (0.01, 0.05)
"""Rows that may be left out, beside as many as the plan says."""
_BUDGETS = (1.0, 0.5, 0.25, 0.1)
_MOST_K = 200


@dataclass(frozen=True)
class PlanChange:
    """What a tried plan says otherwise than the plan it was made of."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Keys of [method]."""
    without: tuple[str, ...] = ()
    """Columns that are left out."""

    @property
    def text(self) -> str:
        """In the words of a plan: "k = 12, without column 'zip'"."""
        keys = [f"{key} = {value}" for key, value in self.parameters.items()]
        return ", ".join([*keys, *(f"without column {name!r}" for name in self.without)]) or (
            "the plan as it is"
        )

    def and_also(self, other: PlanChange) -> PlanChange:
        """Both changes, the other's parameters in the place of these."""
        without = dict.fromkeys((*self.without, *other.without))
        return PlanChange({**self.parameters, **other.parameters}, tuple(without))

    def applied_to(self, stated: StatedPlan) -> StatedPlan:
        """The plan with the change, as a single release of no account."""
        plan = single_release(stated.plan)
        assert plan.method is not None
        roles = plan.roles
        plan = replace(
            plan,
            roles=replace(
                roles,
                quasi_identifiers=self._left(roles.quasi_identifiers),
                sensitive=self._left(roles.sensitive),
                keep=self._left(roles.keep),
                keep_unique=self._left(roles.keep_unique),
                ranking=self._left(roles.ranking),
            ),
        )
        changed = replace(stated, plan=plan)
        return changed.with_parameters(self.text, {**_parameters(plan), **self.parameters})

    def _left(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in self.without)


@dataclass(frozen=True, eq=False)
class TriedPlan:
    """One plan, and what it protects and loses; private."""

    change: PlanChange
    problem: str = ""
    """Why there is no release; empty where there is one."""
    worst: float | None = None
    mean: float | None = None
    population_worst: float | None = None
    population_mean: float | None = None
    loss: float | None = None
    left_out: float | None = None
    """The share of the rows that are not published."""
    fingerprint: str = ""
    """Alike for plans that give one release."""
    sensitive: tuple[AttackDocument, ...] = ()
    """What adversaries learn of sensitive columns."""
    rulings: tuple[Ruling, ...] | None = None
    """Of the criteria that machines judge; None where not all were looked at."""
    unmet: tuple[Ruling, ...] = ()
    """Those that are not met, as far as it was looked."""

    @property
    def meets(self) -> bool:
        """Whether every criterion that a machine can judge is met."""
        return self.rulings is not None and not self.unmet

    def is_tied_with(self, other: TriedPlan) -> bool:
        """Whether both are one release, or alike in risk and loss."""
        if self.fingerprint and self.fingerprint == other.fingerprint:
            return True
        figures = ((self.worst, other.worst), (self.loss, other.loss))
        if any(one is None or two is None for one, two in figures):
            return False
        (risk, others_risk), (loss, others_loss) = figures
        assert risk is not None and others_risk is not None  # noqa: PT018 - narrows both
        exact = FrontierRisk.exactly(risk).is_tied_with(FrontierRisk.exactly(others_risk))
        return exact and loss == others_loss

    def met_thresholds(self) -> tuple[float, ...]:
        """The thresholds of practice that the worst risk keeps, in two decimals."""
        if self.worst is None:
            return ()
        return tuple(limit for limit in THRESHOLDS if round(self.worst, 2) <= limit)


@dataclass(frozen=True)
class PlanSearch:
    """How plans are tried; raises ``InputError`` for what cannot be."""

    effort: int = 24
    """At most so many plans are tried, at least 1."""
    targets: int = 1000
    """At how many people an attack is aimed that is not counted in closed form."""
    seed: int | None = None
    engine: str = AUTO
    weight: str | None = None
    """A column of survey weights, how many people of the population each row stands for; None:
    that of the plan, if it names one."""

    def __post_init__(self) -> None:
        if self.effort < 1:
            msg = "the effort must be at least 1: a plan that is tried"
            raise InputError(msg)


@dataclass(frozen=True, eq=False)
class Choice:
    """All that was tried, and what was found; private."""

    stated: StatedPlan
    policy: StatedPolicy
    rows: int
    tried: tuple[TriedPlan, ...]
    """In the order in which they were tried; the first is the plan as it is."""
    effort: int
    exhausted: bool
    """Whether the effort was at its end, and not the ideas."""

    @property
    def found(self) -> TriedPlan | None:
        """The plan of least loss that meets the policy; None where none of the tried does."""
        met = [one for one in self.tried if one.meets]
        return min(met, key=_order, default=None)

    @property
    def nearest(self) -> TriedPlan:
        """The plan found, or else the one that fails the fewest criteria, of least loss."""
        if self.found is not None:
            return self.found
        made = [one for one in self.tried if not one.problem] or [self.tried[0]]
        return min(made, key=lambda one: (one.rulings is None, len(one.unmet), *_order(one)))

    @property
    def ties(self) -> tuple[TriedPlan, ...]:
        """Other plans that are as good as the one found."""
        best = self.found
        if best is None:
            return ()
        return tuple(one for one in self.tried if one is not best and one.is_tied_with(best))

    def paragraph(self) -> str:
        """What an ethics board asks for, in full sentences; holds figures of private rows."""
        return " ".join(_sentences(self))


def choose(
    source: Any,
    plan: Plan | str | Path,
    policy: StatedPolicy,
    terms: PlanSearch | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> Choice:
    """Try plans, and find the one of least loss that meets a policy; private, writes nothing.

    Raises a ``VoileError`` as reading the plan and the table does; a plan that gives no release is
    a finding.
    """
    terms, stated = terms or PlanSearch(), state_plan(plan)
    terms = replace(terms, weight=terms.weight or stated.plan.roles.weight)
    progress("reading")
    original = read_original(source, _keeping(stated.plan, terms.weight), terms.engine)
    if terms.weight is not None and stated.plan.roles.unit is not None:
        msg = "weights are of rows, and this plan protects persons with several: leave --weight out"
        raise InputError(msg)
    trial = _Trial(stated, policy, original, terms, progress)
    trial.climb()
    trial.mend()
    tried = tuple(trial.tried)
    spent = len(tried) >= terms.effort and not any(one.meets for one in tried)
    return Choice(stated, policy, len(original.frame), tried, terms.effort, exhausted=spent)


def _keeping(plan: Plan, weight: str | None) -> Plan:
    """The plan with a column of weights kept, for counts that are never written."""
    if weight is None or weight in plan.roles.published:
        return plan
    roles = plan.roles
    kept, unique = (*roles.keep, weight), (*roles.keep_unique, weight)
    return replace(plan, roles=replace(roles, keep=kept, keep_unique=unique, weight=None))


def _parameters(plan: Plan) -> Mapping[str, Any]:
    assert plan.method is not None, "a stated plan has a method"
    return plan.method.parameters


def _order(tried: TriedPlan) -> tuple[float, float, int]:
    """By loss; then by rows left out, then by how much was changed."""
    loss = inf if tried.loss is None else tried.loss
    left = inf if tried.left_out is None else tried.left_out
    return loss, left, len(tried.change.parameters) + 2 * len(tried.change.without)


@dataclass(frozen=True, eq=False)
class _Unwritten(Case):
    """A release that was not written, and what was found of it."""

    made: Release

    @cached_property
    def files(self) -> tuple[FileDocument, ...]:
        """None: nothing stands on disk."""
        return ()

    @cached_property
    def document(self) -> Mapping[str, Any] | None:
        """What ``release.json`` would say."""
        return self.made.document()

    @cached_property
    def release(self) -> Release | None:
        """The release, whose claims its publication has checked."""
        return self.made


@dataclass(eq=False)
class _Trial:
    """Plans that are tried one after another."""

    stated: StatedPlan
    policy: StatedPolicy
    original: Original
    terms: PlanSearch
    progress: Callable[[str], None]
    tried: list[TriedPlan] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def climb(self) -> None:
        """Try the ladder; of rows that may be left out only where risk alone rules nothing out."""
        first, *rest = _ladder(self.stated.plan, self.policy)
        self._try(first)
        for change in rest:
            self._try(change)
        if "suppression_limit" not in METHODS.fields_of(_method(self.stated.plan)):
            return
        usual = _parameters(self.stated.plan).get("suppression_limit", 0)
        fit = [one for one in self.tried if not one.problem and not _ruled_out(one)]
        for one in sorted(fit, key=_order)[:2]:
            for share in _SHARES:
                if share > float(usual):
                    self._try(one.change.and_also(PlanChange({"suppression_limit": share})))

    def mend(self) -> None:
        """Look at whole policies, the least loss first; then follow what is unmet."""
        for one in sorted((t for t in self.tried if not t.problem), key=_order):
            if not _ruled_out(one) and self._judged(one).meets:
                break
        followed: set[str] = set()
        while (best := self._promising(followed)) is not None:
            followed.add(best.change.text)
            for change in _changes(self._judged(best), self.stated.plan, self._columns()):
                found = self._try(change)
                if found is not None and self._may_be_better(found) and not _ruled_out(found):
                    self._judged(found)

    def _promising(self, followed: Collection[str]) -> TriedPlan | None:
        """The plan to change next: of the fewest unmet criteria, with less loss than is found."""
        if len(self.tried) >= self.terms.effort:
            return None
        open_ones = [
            one
            for one in self.tried
            if self._may_be_better(one) and not one.meets and one.change.text not in followed
        ]
        return min(open_ones, key=lambda one: (len(one.unmet), *_order(one)), default=None)

    def _may_be_better(self, tried: TriedPlan) -> bool:
        """Whether a release was made, and with less loss than any that meets the policy."""
        met = [_order(one) for one in self.tried if one.meets]
        return not tried.problem and _order(tried) < min(met, default=(inf, inf, 0))

    def _columns(self) -> tuple[str, ...]:
        """Quasi-identifiers, those with the most different values first."""
        names = self.stated.plan.roles.quasi_identifiers
        frame = self.original.frame
        return tuple(sorted(names, key=lambda name: -int(frame[name].n_unique())))

    def _try(self, change: PlanChange) -> TriedPlan | None:
        """Make a release and count its risk and loss; None where the effort is at its end."""
        if change.text in self._seen or len(self.tried) >= self.terms.effort:
            return None
        self._seen.add(change.text)
        self.progress(f"plan {len(self.tried) + 1}: {change.text}")
        try:
            made = self._made(change)
            record = self._record(made, self._instruments(full=False))
        except VoileError as error:
            found = TriedPlan(change, problem=str(error).rstrip("."))
        else:
            found = self._counted(change, made.publication, record)
            population = self._population(change)
            found = replace(found, population_worst=population[0], population_mean=population[1])
        self.tried.append(found)
        return found

    def _judged(self, tried: TriedPlan) -> TriedPlan:
        """The same plan with the rulings of the whole policy, in the place of it."""
        if tried.rulings is not None:
            return tried
        self.progress(f"policy: {tried.change.text}")
        made = self._made(tried.change)
        record = self._record(made, self._instruments(full=True))
        rulings = self._rulings(made.publication.release, record)
        unmet = tuple(one for one in rulings if not one.passed)
        attribute = tuple(one for one in record.attacks if one["attack"] in _ATTRIBUTE)
        judged = replace(tried, rulings=rulings, unmet=unmet, sensitive=attribute)
        self.tried[self.tried.index(tried)] = judged
        return judged

    def _population(self, change: PlanChange) -> tuple[float | None, float | None]:
        """The worst and the mean risk in the population, by weights; None without them."""
        weight = self.terms.weight
        if weight is None:
            return None, None
        made = self._made(change, weight)
        table, roles = made.publication.release.table, made.publication.release.roles
        names = roles.get("quasi_identifiers", ())
        if not names or weight not in table.columns:
            return None, None
        cells = table.cells(names, weight)
        if cells.values.numbers is None or cells.values.missing:
            msg = f"column {weight!r} of weights holds texts or misses values"
            raise InputError(msg)
        numbers = np.array([float(one) for one in cells.values.numbers.decimals()])
        rows = np.bincount(cells.group, cells.rows).astype(np.int64)
        weights = np.bincount(cells.group, cells.rows * numbers[cells.value]).astype(np.float64)
        risks = individual_risk(rows.astype(np.float64), weights)
        return float(risks.max()), float(np.average(risks, weights=rows))

    def _made(self, change: PlanChange, weight: str | None = None) -> _Made:
        stated = change.applied_to(self.stated)
        stated = replace(stated, plan=_keeping(stated.plan, weight))
        seed = self.terms.seed
        randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)
        pending = prepare_release(
            self.original.frame,
            stated.plan,
            randomness=randomness,
            engine=self.terms.engine,
            named=self.original.file,
        )
        return _Made(stated, pending.publication, randomness)

    def _record(self, made: _Made, instruments: Instruments) -> StudyRecord:
        plan, release = made.stated.plan, made.publication.release
        staged = Staged(release, plan, self.original.frame, engine=self.terms.engine)
        terms = EvidenceTerms(targets=self.terms.targets)
        evidence = gather(staged, instruments, terms, made.randomness.within("study"))
        return put_on_record(Subject(made.stated), made.publication, evidence, terms, {})

    def _instruments(self, *, full: bool) -> Instruments:
        """What is asked of every plan; or all that the policy asks, and each sensitive column."""
        criteria = self.policy.policy.criteria
        attacks, measures = {"prosecutor", "journalist"}, {_LOSS, "suppressed-rows"}
        known = Instruments.standard().attacks
        if full:
            attacks |= {one.name for one in criteria if isinstance(one, AttackRate)}
            attacks |= {one.name for one in known if one.name in _ATTRIBUTE}
            measures |= {one.measure for one in criteria if isinstance(one, Utility)}
        every = Instruments.standard([one.name for one in known if one.name in attacks])
        chosen = tuple(one for one in every.measures if one.name in measures)
        risky = full and any(isinstance(one, ThreeRisks | Copies) for one in criteria)
        return Instruments(
            every.attacks, chosen, lambda _: (), risks_of_rehearsal if risky else None
        )

    def _rulings(self, release: Release, record: StudyRecord) -> tuple[Ruling, ...]:
        place = Path()
        case = _Unwritten("study", place, None, place, record, release)
        return tuple(one for one in judge(case, self.policy).rulings if one.kind not in _HUMAN)

    def _counted(
        self, change: PlanChange, publication: Publication, record: StudyRecord
    ) -> TriedPlan:
        risks = {
            document["attack"]: rates
            for document in record.attacks
            if (rates := rates_of(document)) is not None
        }
        prosecutor = risks.get("prosecutor")
        private = publication.private
        known = [one for one in self._rulings(publication.release, record) if _is_of_risk(one)]
        return TriedPlan(
            change,
            worst=None if prosecutor is None else prosecutor.worst,
            mean=None if prosecutor is None else prosecutor.success,
            loss=_with_columns(_loss(publication, record), change, self.stated.plan),
            left_out=1 - private.rows_out / private.rows_in if private.rows_in else None,
            fingerprint=record.fingerprint,
            unmet=tuple(one for one in known if not one.passed),
        )


@dataclass(frozen=True, eq=False)
class _Made:
    stated: StatedPlan
    publication: Publication
    randomness: Randomness


def _loss(publication: Publication, record: StudyRecord) -> float | None:
    """What a method with an objective minimises, from 0 to 1; of others the certainty penalty."""
    method = publication.release.method
    takes = METHODS.fields_of(str(method["name"]))
    if "objective" in takes and method.get("objective", "loss") == "loss":
        return float(publication.private.objective)
    return next((one["value"] for one in record.utility if one["measure"] == _LOSS), None)


def _with_columns(loss: float | None, change: PlanChange, plan: Plan) -> float | None:
    """A mean loss of quasi-identifiers, where columns that are left out are lost altogether."""
    if loss is None:
        return None
    every = plan.roles.quasi_identifiers
    left = sum(name not in change.without for name in every)
    gone = len(change.without)
    others = sum(name not in every for name in change.without)
    return (loss * left + gone) / max(1, len(every) + others)


def _is_of_risk(ruling: Ruling) -> bool:
    """Whether a criterion is about what was counted of every plan."""
    named = ruling.kind == "attack" and any(f" {name} " in ruling.asks for name in _COUNTED)
    return ruling.kind == "group-size" or (named and ruling.value is not None)


_COUNTED = ("prosecutor", "journalist")


def _ruled_out(tried: TriedPlan) -> bool:
    """Whether what was counted of every plan fails the policy already."""
    return tried.rulings is None and bool(tried.unmet)


def _method(plan: Plan) -> str:
    assert plan.method is not None
    return plan.method.name


def _ladder(plan: Plan, policy: StatedPolicy) -> Iterator[PlanChange]:
    """The plan as it is, and those that differ in k, or else in epsilon."""
    yield PlanChange()
    takes, given = METHODS.fields_of(_method(plan)), _parameters(plan)
    if "k" in takes:
        asked = {
            ceil(1 / one.most)
            for one in policy.policy.criteria
            if isinstance(one, AttackRate) and one.name in _IDENTIFICATION and one.most > 0
        }
        least = {one.least for one in policy.policy.criteria if one.kind == "group-size"}
        for k in sorted({*_LADDER, *asked, *least} - {given.get("k"), 1}):
            yield PlanChange({"k": k})
    elif "epsilon" in takes and isinstance(given.get("epsilon"), int | float):
        for share in _BUDGETS[1:]:
            yield PlanChange({"epsilon": share * float(given["epsilon"])})


def _changes(tried: TriedPlan, plan: Plan, columns: Sequence[str]) -> Iterator[PlanChange]:
    """What may meet the criteria that a plan fails, each upon what it changed already."""
    shown = [name for name in plan.roles.published if name not in tried.change.without]
    left = [name for name in columns if name not in tried.change.without]
    for ruling in tried.unmet:
        for change in remedies(ruling, {**_parameters(plan), **tried.change.parameters}):
            if set(change.parameters) <= set(METHODS.fields_of(_method(plan))):
                yield tried.change.and_also(change)
        for name in _named_in(ruling, shown):
            yield tried.change.and_also(PlanChange(without=(name,)))
    if len(left) > 1 and any(one.kind in {"risk", "attack"} for one in tried.unmet):
        yield tried.change.and_also(PlanChange(without=(left[0],)))


def _named_in(ruling: Ruling, columns: Sequence[str]) -> list[str]:
    """The columns that an unmet criterion is about; of sensitive ones, and of identifiers."""
    said = " ".join((ruling.why, *ruling.notes))
    return [
        name for name in columns if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) is not None
    ]


def remedies(ruling: Ruling, parameters: Mapping[str, Any]) -> tuple[PlanChange, ...]:
    """Changes of [method] that may meet an unmet criterion, the smallest first.

    ``parameters`` are those of the plan.  None where no parameter of a method does.
    """
    if ruling.limit is None:
        return ()
    k, limit = int(parameters.get("k", 2)), ruling.limit
    return tuple(_REMEDIES.get(_subject(ruling), _none)(k, limit, parameters))


def _subject(ruling: Ruling) -> str:
    """What an unmet criterion is about."""
    if ruling.kind == "attack":
        kinds = {"identification": _IDENTIFICATION, "attribute": _ATTRIBUTE}
        for kind, names in kinds.items():
            if any(f" {name} " in ruling.asks for name in names):
                return kind
    return "inference" if ruling.asks.startswith("inference ") else ruling.kind


def _none(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    del k, limit, given
    return iter(())


def _groups_of(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    del given
    if limit > k:
        yield PlanChange({"k": ceil(limit)})


def _larger_groups(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    del limit, given
    if k < _MOST_K:
        yield PlanChange({"k": min(2 * k, _MOST_K)})


def _rarer(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    """Groups of as many as a rate of identification asks for; twice as many where these fail."""
    exact = ceil(1 / limit) if limit > 0 else _MOST_K + 1
    if k < exact <= _MOST_K:
        yield PlanChange({"k": exact})
    else:
        yield from _larger_groups(k, limit, given)


def _more_values(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    asked = given.get("l", 1)
    if isinstance(asked, int):
        yield PlanChange({"l": asked + 1})
    yield from _larger_groups(k, limit, given)


def _closer_or_larger(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    yield from _larger_groups(k, limit, given)
    yield PlanChange({"t": _closer(given)})


def _budget(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    del k
    if "epsilon" in given:
        yield PlanChange({"epsilon": limit})


def _smaller_groups(k: int, limit: float, given: Mapping[str, Any]) -> Iterator[PlanChange]:
    del limit, given
    if k >= _HALVED:
        yield PlanChange({"k": k // 2})


_HALVED = 4
"""The least k of which half is one."""
_REMEDIES: Mapping[str, Callable[[int, float, Mapping[str, Any]], Iterator[PlanChange]]] = {
    "group-size": _groups_of,
    "diversity": lambda _, limit, __: iter((PlanChange({"l": ceil(limit)}),)),
    "closeness": lambda _, limit, __: iter((PlanChange({"t": limit}),)),
    "identification": _rarer,
    "attribute": _more_values,
    "inference": _closer_or_larger,
    "attack": _larger_groups,
    "risk": _larger_groups,
    "privacy-budget": _budget,
    "utility": _smaller_groups,
}
"""By the subject of a criterion."""


def _closer(parameters: Mapping[str, Any]) -> float:
    now = parameters.get("t")
    return round(float(now) / 2, 3) if isinstance(now, int | float) and now > 0 else 0.3


def remedy_text(ruling: Ruling, parameters: Mapping[str, Any]) -> str:
    """What would meet an unmet criterion, in a sentence without a full stop.

    ``parameters`` are those of the method of the release; none of a file of another make.
    """
    said = _WITHOUT_PARAMETERS.get(ruling.kind)
    if said is None and ruling.value is None and "voile " in ruling.why:
        said = "count it first, as said"
    if said is not None:
        return said
    found = remedies(ruling, parameters)
    if not found:
        return "no parameter of this method meets it; choose another method, or leave columns out"
    told = " or ".join(one.text for one in found)
    return f"try {told}; voile choose tells whether it is enough"


_CONFIRMED = "confirm it in assumptions.toml, if it holds"
_WITHOUT_PARAMETERS: Mapping[str, str] = {
    **dict.fromkeys(_HUMAN, _CONFIRMED),
    "publishable": "publish without --seed",
    "evidence": "audit without --seed",
    "column": "leave the column out",
    "identifiers": "leave out the columns that are named, or make them coarser",
}
"""What meets criteria that are about no parameter of a method."""


def _percent(share: float | None) -> str:
    return "not counted" if share is None else f"{100 * share:.3g} %"


def _sentences(choice: Choice) -> Iterator[str]:
    """Of the plan found, or of the nearest one, which then does not meet the policy."""
    best, policy = choice.nearest, choice.policy.policy
    name, given = _method(choice.stated.plan), {**_parameters(choice.stated.plan)}
    settings = json_value({**given, **best.change.parameters})
    said = ", ".join(f"{key} = {value}" for key, value in settings.items() if key != "criteria")
    yield f"The table of {choice.rows:,} records is to be published by {name} ({said})."
    if best.change.without:
        yield f"Columns left out for it: {', '.join(best.change.without)}."
    yield (
        f"The re-identification risk of the person who is worst off is {_percent(best.worst)}, and "
        f"{_percent(best.mean)} on average, against an intruder who knows that the person is in "
        "the release and knows all quasi-identifiers of the plan."
    )
    if best.population_worst is not None:
        yield (
            f"In the population that the sample stands for it is estimated at "
            f"{_percent(best.population_worst)} and {_percent(best.population_mean)}, by survey "
            "weights (Franconi and Polettini, 2004)."
        )
    kept = best.met_thresholds()
    if kept:
        yield (
            f"That keeps the threshold of {min(kept)} ({THRESHOLDS[min(kept)]}; El Emam and Malin, "
            "2015)."
        )
    for attack in best.sensitive:
        if (rates := rates_of(attack)) is not None:
            yield (
                f"The attack {attack['attack']} on sensitive attributes succeeds for "
                f"{_percent(rates.success)} of the persons, and guessing for "
                f"{_percent(rates.baseline)}."
            )
    yield (
        f"Information loss is {_percent(best.loss)}, from 0 % (the original) to 100 % (nothing), "
        f"and {_percent(best.left_out)} of the records are left out."
    )
    number = len(choice.tried)
    yield f"It was chosen among {number} plans by the policy {policy.name!r} ({policy.source})."
    if choice.found is None:
        kinds = ", ".join(dict.fromkeys(f"{one.asks}" for one in best.unmet))
        yield f"None of them meets the policy; this one, which is the nearest, fails: {kinds}."
    else:
        yield "It meets every criterion that a machine can judge, with the least loss among them."
    yield (
        "What recipients may know besides, and what the policy asks of humans, is not in these "
        "figures."
    )
