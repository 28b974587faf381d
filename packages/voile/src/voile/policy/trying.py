"""Plans that are tried: what each protects and loses, and how a policy judges it; private.

Each is published as a single release that is neither written nor charged, and put to the test.
What is counted of every plan rules most out; the others get the evidence that a policy asks for,
once for a release, whichever plans give it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from math import inf

import numpy as np

from voile.audit.counting import risks_of_rehearsal
from voile.audit.record import RE_IDENTIFICATION
from voile.models.population import individual_risk
from voile.policy.checking import risks_asked, rulings_unwritten
from voile.policy.criteria.measured import AttackRate, Utility
from voile.policy.criteria.risks import ThreeRisks, WorstOff
from voile.policy.remedies import OF_COLUMNS, PlanChange, least_k, parameters_of
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy
from voile.publish.registry import METHODS
from voile.release.release import Publication
from voile.schema.plan import Plan
from voile.study.evidence import EvidenceTerms, Instruments, gather
from voile.study.frontier import FrontierRisk
from voile.study.original import Original
from voile.study.plans import StatedPlan
from voile.study.record import LOSS, AttackDocument, RiskDocument, StudyRecord, rates_of
from voile.study.rehearsal import Staged
from voile.study.run import prepare_release
from voile.study.single import Subject, put_on_record
from voile.study.verdict import ATTRIBUTE, met_thresholds
from voile.table.engines import AUTO
from voile_base.errors import InputError, VoileError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["PlanSearch", "PlanTrial", "TriedPlan", "keeping", "method_of", "order_of"]

_TARGETS = 250
"""People at whom attacks on a sample are aimed at most: all rows are judged by as many as said."""
_USUAL, _WHILE_UNMET = 24, 60
"""Plans that are tried, unless another effort is said: where one meets, and while none does."""
_SAMPLE = 20_000
_JUDGED = 12
"""Releases of a sample that the whole policy judges: its evidence costs most."""
_DRAWS = 3
"""How often a plan that meets limits of drawn risks is judged, by people drawn anew each time."""
_NOTHING = 0.995
"""Of all information, or of all rows, from which on a plan that loses it is no way to publish."""
_KEPT_ROWS = 50_000
"""Rows of tables of which releases are kept until the policy has judged them."""


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
    objective: float | None = None
    information_loss: float | None = None
    left_out: float | None = None
    """The share of the rows that are not published."""
    fingerprint: str = ""
    """Alike for plans that give one release."""
    sensitive: tuple[AttackDocument, ...] = ()
    """What adversaries learn of sensitive columns."""
    others: tuple[RiskDocument, ...] = ()
    """How surely those find a row who know more than the quasi-identifiers, or other columns."""
    rulings: tuple[Ruling, ...] | None = None
    """Of the criteria that machines judge; None where not all were looked at."""
    unmet: tuple[Ruling, ...] = ()
    """Those that are not met, as far as it was looked."""
    sampled: bool = False
    """Whether all figures are those of a sample of the rows."""

    @property
    def shows_nothing(self) -> bool:
        """Whether quasi-identifiers say next to nothing any more, or next to no row is left."""
        return max(self.information_loss or 0, self.left_out or 0) >= _NOTHING

    @property
    def meets(self) -> bool:
        """Whether every criterion that a machine can judge is met."""
        return self.rulings is not None and not self.unmet

    @property
    def surely_beyond(self) -> frozenset[tuple[str, str, tuple[str, ...]]]:
        """Risks that lie beyond their limit with their whole interval."""
        return frozenset(
            (one.kind, one.subject, one.columns)
            for one in self.unmet
            if one.kind in OF_COLUMNS and one.told == "FAIL" and not one.is_undecided
            if one.value is not None
        )

    def is_tied_with(self, other: TriedPlan) -> bool:
        """Whether both are one release, or alike in risk and loss."""
        if self.fingerprint and self.fingerprint == other.fingerprint:
            return True
        figures = ((self.worst, other.worst), (self.objective, other.objective))
        if any(one is None or two is None for one, two in figures):
            return False
        (risk, others_risk), (lost, others_lost) = figures
        assert risk is not None and others_risk is not None  # noqa: PT018 - narrows both
        exact = FrontierRisk.exactly(risk).is_tied_with(FrontierRisk.exactly(others_risk))
        return exact and lost == others_lost

    def met_thresholds(self) -> tuple[float, ...]:
        """The thresholds of practice that the worst risk keeps."""
        if self.worst is None:
            return ()
        return met_thresholds(self.worst)


@dataclass(frozen=True)
class PlanSearch:
    """How plans are tried; raises ``InputError`` for what cannot be."""

    effort: int | None = None
    """At most so many plans are tried, at least 1; None: 24, and up to 60 while none meets."""
    targets: int = 1000
    """At how many people an attack is aimed that is not counted in closed form."""
    seed: int | None = None
    engine: str = AUTO
    weight: str | None = None
    """A column of survey weights, how many people of the population each row stands for; None:
    that of the plan, if it names one."""
    sample: int = _SAMPLE
    """How many rows, or persons with all their rows, are drawn once to try plans on, where the
    table has more; 0: none is drawn, and every plan is tried on all rows."""

    held_out: float = 0.2
    """The share of the rows that a rehearsal leaves out, as in ``EvidenceTerms``."""

    def __post_init__(self) -> None:
        EvidenceTerms(held_out=self.held_out)
        if self.sample < 0:
            msg = "the sample must be a number of rows, or 0 to try every plan on all rows"
            raise InputError(msg)
        if self.effort is not None and self.effort < 1:
            msg = "the effort must be at least 1: a plan that is tried"
            raise InputError(msg)

    def most(self, *, met: bool) -> int:
        """How many plans are tried at most, where one of them meets the policy, and where none."""
        return self.effort or (_USUAL if met else _WHILE_UNMET)


def order_of(tried: TriedPlan) -> tuple[float, float, int]:
    """By loss; then by rows left out, then by how much was changed."""
    loss = inf if tried.objective is None else tried.objective
    left = inf if tried.left_out is None else tried.left_out
    change = tried.change
    return loss, left, len(change.parameters) + 2 * len((*change.without, *change.grouped))


@dataclass(eq=False)
class PlanTrial:
    """Plans that are tried one after another, and what is known of them."""

    stated: StatedPlan
    policy: StatedPolicy
    original: Original
    terms: PlanSearch
    progress: Callable[[str], None]
    sampled: bool = False
    """Whether the rows are a sample of the table."""
    tried: list[TriedPlan] = field(default_factory=list)
    strictest: str = ""
    _is_striding: bool = field(default=False, init=False)
    _seen: set[str] = field(default_factory=set, init=False)
    _judgements: int = field(default=0, init=False)
    _releases: dict[str, _Made] = field(default_factory=dict, init=False)

    @property
    def has_met(self) -> bool:
        """Whether a plan meets the policy that publishes a sensitive column, if there is one."""
        roles = self.stated.plan.roles
        return any(
            one.meets and not one.change.withholds_all_sensitive(roles) for one in self.tried
        )

    @property
    def is_spent(self) -> bool:
        """Whether as many plans were tried as may be."""
        return len(self.tried) >= self._most

    @property
    def _most(self) -> int:
        met = self.has_met and not self._is_striding
        return self.terms.most(met=met or bool(self.strictest))

    @property
    def has_judged_enough(self) -> bool:
        """Whether the effort of judging plans on a sample is at its end."""
        return self.sampled and self._judgements >= _JUDGED

    def _ruled_out(self, tried: TriedPlan) -> bool:
        """Whether what was counted of every plan fails the policy already.

        Groups of a sample may be larger than a k by chance, and are no promise for all rows.
        """
        failed = tried.rulings is None and bool(tried.unmet)
        return failed or (self.sampled and self._has_small_k(tried))

    def _has_small_k(self, tried: TriedPlan) -> bool:
        """Whether a plan promises smaller groups than the policy asks for."""
        k = tried.change.parameters_upon(parameters_of(self.stated.plan)).get("k")
        return isinstance(k, int) and k < least_k(self.policy)

    def _try(self, change: PlanChange) -> TriedPlan | None:
        """Make a release and count its risk and loss; None where the effort is at its end."""
        change = change.of_plan(parameters_of(self.stated.plan))
        if change.text in self._seen or self.is_spent:
            return None
        self._seen.add(change.text)
        self.progress(f"plan {len(self.tried) + 1} of at most {self._most}: {change.text}")
        try:
            made = self._made(change)
            if len(self.original.frame) <= _KEPT_ROWS:
                self._releases[change.text] = made
            record = self._record(made, self._instruments(full=False))
        except VoileError as error:
            found = TriedPlan(change, problem=str(error).rstrip("."), sampled=self.sampled)
        else:
            found = self._counted(change, made.publication, record)
            population = self._population(change)
            found = replace(found, population_worst=population[0], population_mean=population[1])
        self.tried.append(found)
        return found

    def _judged(self, tried: TriedPlan) -> TriedPlan:
        """The same plan with the rulings of the whole policy, in the place of it.

        Evidence about one release is gathered once, whichever plans give it.  Of a sample no more
        than ``_JUDGED`` releases are judged; then the plan is returned as it is.
        """
        if tried.rulings is not None:
            return tried
        known = next((one for one in self.tried if _shares_rulings(one, tried)), tried)
        if known is not tried:
            shared = replace(tried, rulings=known.rulings, unmet=known.unmet, others=known.others)
            return self._replaced(tried, replace(shared, sensitive=known.sensitive))
        if self.has_judged_enough:
            return tried
        self._judgements += 1
        self.progress(f"policy: {tried.change.text}")
        made = self._releases.pop(tried.change.text, None) or self._made(tried.change)
        for draw in range(self._draws):
            record = self._record(made, self._instruments(full=True), draw)
            rulings = rulings_unwritten(made.publication.release, record, self.policy)
            unmet = tuple(one for one in rulings if not one.passed)
            if unmet:
                break
        attribute = tuple(one for one in record.attacks if one["attack"] in ATTRIBUTE)
        others = tuple(one for one in record.risks if one["risk"] == RE_IDENTIFICATION)
        judged = replace(tried, rulings=rulings, unmet=unmet, sensitive=attribute, others=others)
        return self._replaced(tried, judged)

    @property
    def _draws(self) -> int:
        """How often all people of whom risks are counted are drawn until a policy is met."""
        drawn = any(isinstance(one, ThreeRisks | WorstOff) for one in self.policy.policy.criteria)
        return _DRAWS if drawn and not self.sampled else 1

    def _replaced(self, tried: TriedPlan, judged: TriedPlan) -> TriedPlan:
        self.tried[self.tried.index(tried)] = judged
        return judged

    def _population(self, change: PlanChange) -> tuple[float | None, float | None]:
        """The worst and the mean risk in the population, by weights; None without them."""
        weight = self.terms.weight
        if weight is None or self.sampled:
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
        stated = replace(stated, plan=keeping(stated.plan, weight))
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

    def _record(self, made: _Made, instruments: Instruments, draw: int = 0) -> StudyRecord:
        plan, release = made.stated.plan, made.publication.release
        staged = Staged(release, plan, self.original.frame, engine=self.terms.engine)
        targets = min(self.terms.targets, _TARGETS) if self.sampled else self.terms.targets
        terms = EvidenceTerms(targets=targets, held_out=self.terms.held_out)
        randomness = made.randomness.within(f"study {draw}" if draw else "study")
        evidence = gather(staged, instruments, terms, randomness)
        return put_on_record(Subject(made.stated), made.publication, evidence, terms, {})

    def _instruments(self, *, full: bool) -> Instruments:
        """What is asked of every plan; or all that the policy asks, and each sensitive column."""
        criteria = self.policy.policy.criteria
        attacks, measures = {"prosecutor", "journalist"}, {LOSS, "suppressed-rows"}
        known = Instruments.standard().attacks
        if full:
            attacks |= {one.name for one in criteria if isinstance(one, AttackRate)}
            attacks |= {one.name for one in known if one.name in ATTRIBUTE}
            measures |= {one.measure for one in criteria if isinstance(one, Utility)}
        every = Instruments.standard([one.name for one in known if one.name in attacks])
        chosen = tuple(one for one in every.measures if one.name in measures)
        risks = {*risks_asked(criteria), RE_IDENTIFICATION} if full else set()
        count = partial(risks_of_rehearsal, only=frozenset(risks)) if risks else None
        return Instruments(every.attacks, chosen, lambda _: (), count)

    def _counted(
        self, change: PlanChange, publication: Publication, record: StudyRecord
    ) -> TriedPlan:
        counted = (rates_of(one) for one in record.attacks if one["attack"] == "prosecutor")
        prosecutor = next(counted, None)
        private = publication.private
        ruled = rulings_unwritten(publication.release, record, self.policy)
        known = [one for one in ruled if _is_of_risk(one)]
        lost = partial(change.loss_of_all, plan=self.stated.plan)
        loss = record.information_loss
        method = publication.release.method
        minimizes = "objective" in METHODS.fields_of(str(method["name"]))
        minimizes &= method.get("objective", "loss") == "loss"
        return TriedPlan(
            change,
            worst=None if prosecutor is None else prosecutor.worst,
            mean=None if prosecutor is None else prosecutor.success,
            objective=lost(float(private.objective) if minimizes else loss),
            information_loss=loss,
            left_out=1 - private.rows_out / private.rows_in if private.rows_in else None,
            fingerprint=record.fingerprint,
            unmet=tuple(one for one in known if not one.passed),
            sampled=self.sampled,
        )


def keeping(plan: Plan, weight: str | None) -> Plan:
    """The plan with a column of weights kept, for counts that are never written."""
    if weight is None or weight in plan.roles.published:
        return plan
    roles = plan.roles
    kept, unique = (*roles.keep, weight), (*roles.keep_unique, weight)
    return replace(plan, roles=replace(roles, keep=kept, keep_unique=unique, weight=None))


@dataclass(frozen=True, eq=False)
class _Made:
    stated: StatedPlan
    publication: Publication
    randomness: Randomness


def _is_of_risk(ruling: Ruling) -> bool:
    """Whether a criterion is about what was counted of every plan."""
    named = ruling.kind == "attack" and ruling.subject in _COUNTED
    return ruling.kind == "group-size" or (named and ruling.value is not None)


_COUNTED = ("prosecutor", "journalist")


def _shares_rulings(judged: TriedPlan, tried: TriedPlan) -> bool:
    """Whether a plan that was judged gives the same release of the same columns."""
    same = judged.fingerprint == tried.fingerprint != ""
    moved = [(one.change.without, one.change.grouped) for one in (judged, tried)]
    return same and judged.rulings is not None and moved[0] == moved[1]


def method_of(plan: Plan) -> str:
    """The name of the method of a plan that has one."""
    assert plan.method is not None
    return plan.method.name
