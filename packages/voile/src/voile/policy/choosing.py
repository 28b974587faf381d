"""Choosing the parameters of a plan, and defending them: risk against loss, held against a policy.

Plans are tried: each is published as a single release that is neither written nor charged, and put
to the test.  First those of a ladder, which differ in k, or in epsilon where a method has no k, and
in how many rows may be left out; the method itself searches the hierarchies for the least loss at
each.  Where none meets the policy, ever stricter ones (``remedies.strides``): the strictest, then
by bisection the mildest that meets, to which columns and smaller groups come back one by one.
Where even the strictest fails, fewer plans are tried.  Then, as long as a policy is not met and
effort is left, changes that an unmet criterion asks for (``remedies``): larger groups, diversity or
closeness of sensitive values, a column left out.

What is said of each plan:

    risk            prosecutor: the probability that a person who is known to be in the release is
                    told from the others, on average and for the worst-off; counted on all rows
    in a population  the same where the intruder does not know who is in the sample, estimated from
                    survey weights (``models.population.individual_risk``); without weights, none
    information loss as studies and reports tell it (``NonUniformEntropy``), of the
                    quasi-identifiers that are published
    objective       what the method minimises, of a generalization (``publish.generalization``), by
                    which plans are ordered; else the information loss; a column that is left out
                    is lost altogether in it
    policy          the criteria that machines can judge; what humans confirm is told apart

Thresholds of the worst risk that practice uses are those of ``study.verdict``: .09 is one in
11 there and in policies.

What was found has the least objective among the plans that were tried, which are all told; that is
meant by the least loss below.  Where a policy asks for a worst risk or a size of groups alone, and
the method finds the least loss for each k (as ``flash`` does), it is the least of all k: groups
that are large enough for a k are so for a smaller one, so that the loss rises with k, and the
smallest k that keeps the limit is among those tried.  Of other criteria it is not claimed that no
other plan meets them with less.

Of a table of more rows than ``PlanSearch.sample``, and of a method of groups of k, plans are tried
on a sample of its rows, or of its persons with all their rows, that is drawn once.  A worst risk of
one in k is the same there; the loss at a k is greater than on all rows, and for all plans so.  The
plan of least loss that meets the policy there is then made of all rows and judged anew; where it
fails, the next is, up to ``_CONFIRMED`` of them.  On a sample the whole policy judges ``_JUDGED``
releases at most.  Only a plan that was judged on all rows is found.

Risks are counted of people who are drawn: a plan that only just keeps their limits may fail them by
another draw.  One is found that keeps them in each of ``_DRAWS``.

Choosing by private rows discloses a little by itself: keep trials few, and publish one of them.

Cost: a publication and two attacks in closed form a plan, and the evidence that the policy asks for
of those which these do not rule out already: of the sample, where one is drawn, and of all rows for
those that are confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from voile.audit.counting import risks_of_rehearsal
from voile.audit.record import RE_IDENTIFICATION
from voile.models.population import individual_risk
from voile.policy.checking import risks_asked, rulings_unwritten
from voile.policy.criteria.measured import AttackRate, Utility
from voile.policy.criteria.risks import ThreeRisks, WorstOff
from voile.policy.remedies import (
    PlanChange,
    changes_for,
    ladder,
    least_k,
    mildest,
    parameters_of,
    strides,
    untried_text,
)
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy
from voile.publish.registry import METHODS
from voile.release.release import Publication
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.study.evidence import EvidenceTerms, Instruments, gather
from voile.study.frontier import FrontierRisk
from voile.study.original import Original
from voile.study.plans import StatedPlan
from voile.study.record import LOSS, AttackDocument, RiskDocument, StudyRecord, rates_of
from voile.study.rehearsal import Staged, hold_rows_out
from voile.study.run import prepare_release
from voile.study.single import Subject, put_on_record
from voile.study.verdict import ATTRIBUTE, met_thresholds
from voile.table.engines import AUTO
from voile_base.errors import InputError, VoileError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "Choice",
    "PlanSearch",
    "TriedPlan",
]

_TARGETS = 250
"""People at whom attacks on a sample are aimed at most: all rows are judged by as many as said."""
_SHARES = (0.01, 0.05)
"""Rows that may be left out, beside as many as the plan says."""
_USUAL, _WHILE_UNMET = 24, 60
"""Plans that are tried, unless another effort is said: where one meets, and while none does."""
_SAMPLE = 20_000
_CONFIRMED = 3
"""Plans that met the policy on a sample and are tried on all rows, the least loss first."""
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

    def __post_init__(self) -> None:
        if self.sample < 0:
            msg = "the sample must be a number of rows, or 0 to try every plan on all rows"
            raise InputError(msg)
        if self.effort is not None and self.effort < 1:
            msg = "the effort must be at least 1: a plan that is tried"
            raise InputError(msg)

    def most(self, *, met: bool) -> int:
        """How many plans are tried at most, where one of them meets the policy, and where none."""
        return self.effort or (_USUAL if met else _WHILE_UNMET)


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
    sample: int | None = None
    """Of how many rows the figures of plans are that are ``sampled``; None where none is."""
    strictest: str = ""
    """The strictest plan, where it was tried and fails, too."""

    @property
    def found(self) -> TriedPlan | None:
        """The plan of least loss that meets the policy on all rows; None where none does."""
        met = [one for one in self.tried if one.meets and not one.sampled]
        return min(met, key=_order, default=None)

    @property
    def nearest(self) -> TriedPlan:
        """The plan found, or else the one that fails the fewest criteria, of least loss."""
        if self.found is not None:
            return self.found
        return _nearest(self.tried)

    @property
    def roles(self) -> Roles:
        """Those of the nearest plan."""
        return self.nearest.change.roles_of(self.stated.plan.roles)

    @property
    def ties(self) -> tuple[TriedPlan, ...]:
        """Other plans that are as good as the one found."""
        best = self.found
        if best is None:
            return ()
        change = best.change.text
        same = [one for one in self.tried if one.change.text == change]
        return tuple(
            one
            for one in self.tried
            if one.change.text != change
            and any(one.sampled == known.sampled and one.is_tied_with(known) for known in same)
        )

    @property
    def in_the_way(self) -> tuple[tuple[Ruling, str], ...]:
        """What the nearest plan fails, and what may help: a change, unless it was tried."""
        best, given = self.nearest, parameters_of(self.stated.plan)
        tried = {one.change.text for one in self.tried}
        return tuple((one, untried_text(one, best.change, given, tried)) for one in best.unmet)

    @property
    def series(self) -> str | None:
        """The series in which the plan publishes, outside of which it was tried; None: none."""
        named = parameters_of(self.stated.plan).get("series")
        return None if named is None else str(named)

    @staticmethod
    def of_policy(
        source: Any,
        plan: Plan | str | Path,
        policy: StatedPolicy,
        terms: PlanSearch | None = None,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> Choice:
        """Try plans, and find the one of least loss that meets a policy; private, writes nothing.

        Weights of a plan are of rows: they say nothing where it protects persons with several.
        Raises a ``VoileError`` as reading the plan and the table does; a plan that gives no release
        is a finding.
        """
        terms, stated = terms or PlanSearch(), StatedPlan.of(plan)
        roles = stated.plan.roles
        asked, own = terms.weight, roles.weight if roles.unit is None else None
        terms = replace(terms, weight=asked or own)
        progress("reading")
        original = Original.read(source, _keeping(stated.plan, terms.weight), terms.engine)
        if asked is not None and roles.unit is not None:
            msg = (
                "weights are of rows, and this plan protects persons with several: "
                "leave --weight out"
            )
            raise InputError(msg)
        whole = _Trial(stated, policy, original, terms, progress)
        drawn = _drawn(original, stated.plan, terms)
        trial = whole if drawn is None else replace(whole, original=drawn, sampled=True, tried=[])
        trial.search()
        spent = not trial.has_met and (trial.is_spent or trial.has_judged_enough)
        tried, rows, most = tuple(trial.tried), len(original.frame), terms.most(met=False)
        strictest = "" if trial.has_met else trial.strictest
        size = None if drawn is None else len(drawn.frame)
        if drawn is not None:
            whole.confirm(tried)
            tried = (*tried, *whole.tried)
        return Choice(stated, policy, rows, tried, most, spent, size, strictest)


def _drawn(original: Original, plan: Plan, terms: PlanSearch) -> Original | None:
    """A sample to try plans on; None where all rows are tried."""
    units = plan.roles.unit
    there = len(original.frame) if units is None else int(original.frame[units].n_unique())
    if not terms.sample or there <= terms.sample or "k" not in METHODS.fields_of(_method(plan)):
        return None
    if plan.roles.ranking:
        return None
    draws = Randomness.secure() if terms.seed is None else Randomness.seeded(terms.seed)
    left_out = 1 - terms.sample / there
    kept = hold_rows_out(original.frame, left_out, draws.within("sample of plans"), units).kept
    return replace(original, frame=kept)


def _keeping(plan: Plan, weight: str | None) -> Plan:
    """The plan with a column of weights kept, for counts that are never written."""
    if weight is None or weight in plan.roles.published:
        return plan
    roles = plan.roles
    kept, unique = (*roles.keep, weight), (*roles.keep_unique, weight)
    return replace(plan, roles=replace(roles, keep=kept, keep_unique=unique, weight=None))


def _nearest(tried: Sequence[TriedPlan]) -> TriedPlan:
    """The plan that fails the fewest criteria; then that of the least objective, by all rows.

    None that shows nothing, where another gives a release.
    """
    made = [one for one in tried if not one.problem] or [tried[0]]
    made = [one for one in made if not one.shows_nothing] or made
    return min(
        made, key=lambda one: (one.sampled, one.rulings is None, len(one.unmet), *_order(one))
    )


def _order(tried: TriedPlan) -> tuple[float, float, int]:
    """By loss; then by rows left out, then by how much was changed."""
    loss = inf if tried.objective is None else tried.objective
    left = inf if tried.left_out is None else tried.left_out
    change = tried.change
    return loss, left, len(change.parameters) + 2 * len((*change.without, *change.grouped))


@dataclass(eq=False)
class _Trial:
    """Plans that are tried one after another."""

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
    _in_vain: Collection[str] = field(default=(), init=False)
    """Strides that fail: what is stricter still is no way to go on."""
    _seen: set[str] = field(default_factory=set, init=False)
    _judgements: int = field(default=0, init=False)
    _releases: dict[str, _Made] = field(default_factory=dict, init=False)

    def search(self) -> None:
        """Try plans until the effort is at its end; an interruption keeps those that were tried."""
        try:
            self.climb()
            self.look()
            self.stride()
            self.mend()
        except KeyboardInterrupt:
            if not self.tried:
                raise

    def climb(self) -> None:
        """Try the ladder; of rows that may be left out only where risk alone rules nothing out."""
        for change in ladder(self.stated.plan, self.policy):
            self._try(change)
        if "suppression_limit" not in METHODS.fields_of(_method(self.stated.plan)):
            return
        usual = parameters_of(self.stated.plan).get("suppression_limit", 0)
        fit = [one for one in self.tried if not one.problem and not self._ruled_out(one)]
        for one in sorted(fit, key=_order)[:2]:
            for share in _SHARES:
                if share > float(usual):
                    self._try(one.change.and_also(PlanChange({"suppression_limit": share})))

    def look(self) -> None:
        """Look at whole policies, the least loss first, until one is met."""
        for one in sorted((t for t in self.tried if not t.problem), key=_order):
            if not self._ruled_out(one) and self._judged(one).meets:
                break

    def stride(self) -> None:
        """Where nothing was met, find by bisection how strict a plan has to be, and step back."""
        if self.has_met or self.is_spent or all(one.problem for one in self.tried):
            return
        near, unit, frame = _nearest(self.tried), self.stated.plan.roles.unit, self.original.frame
        units = len(frame) if unit is None else int(frame[unit].n_unique())
        steps = strides(near.unmet, near.change, self.stated.plan, self._columns(), units)
        if not steps:
            return
        self._is_striding, before = True, len(self.tried)
        if (mild := mildest(steps, self._meets)) is not None:
            self._come_back(mild, near.change)
        else:
            self.strictest = steps[-1].of_plan(parameters_of(self.stated.plan)).text
            self._in_vain = {one.change.text for one in self.tried[before:]}
        self._is_striding = False

    def _come_back(self, change: PlanChange, near: PlanChange) -> None:
        """Give columns back one by one, and halve the groups, as long as the policy is met."""
        for name in reversed(change.without):
            if name not in near.without:
                left = tuple(one for one in change.without if one != name)
                more = replace(change, without=left)
                change = more if self._meets(more) else change
        least = near.parameters_upon(parameters_of(self.stated.plan)).get("k", 2)
        while (k := change.parameters["k"] // 2) >= int(least):
            smaller = change.and_also(PlanChange({"k": k}))
            if not self._meets(smaller):
                break
            change = smaller

    def _meets(self, change: PlanChange) -> bool:
        """Whether a plan is tried and meets the policy; cheap counts rule out first."""
        found = self._try(change)
        if found is None or found.problem or self._ruled_out(found):
            return False
        return self._judged(found).meets

    def mend(self) -> None:
        """Follow what is unmet."""
        followed: set[str] = set()
        while (best := self._promising(followed)) is not None:
            followed.add(best.change.text)
            judged = self._judged(best)
            for change in changes_for(
                judged.unmet, judged.change, self.stated.plan, self._columns()
            ):
                found = self._try(change)
                if found is not None and self._may_be_better(found) and not self._ruled_out(found):
                    self._judged(found)

    def confirm(self, sampled: Sequence[TriedPlan]) -> None:
        """Try on all rows what met the policy on a sample, or else what came nearest to it."""
        met = sorted((one for one in sampled if one.meets), key=_order)
        for one in met[:_CONFIRMED] or [_nearest(sampled)]:
            found = self._try(one.change)
            if found is not None and not found.problem and self._judged(found).meets:
                return

    def _promising(self, followed: Collection[str]) -> TriedPlan | None:
        """The plan to change next: of the fewest unmet criteria, with less loss than is found."""
        if self.is_spent or self.has_judged_enough:
            return None
        open_ones = [
            one
            for one in self.tried
            if self._may_be_better(one)
            and not one.meets
            and one.change.text not in {*followed, *self._in_vain}
            and not self._is_hopeless(one)
            and not one.shows_nothing
        ]
        return min(open_ones, key=lambda one: (len(one.unmet), *_order(one)), default=None)

    @property
    def has_met(self) -> bool:
        """Whether one of the plans that were tried meets the policy."""
        return any(one.meets for one in self.tried)

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

    def _is_hopeless(self, tried: TriedPlan) -> bool:
        """Whether a plan fails by a k that is too small, which the ladder has raised already."""
        return self._ruled_out(tried) and self._has_small_k(tried)

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

    def _record(self, made: _Made, instruments: Instruments, draw: int = 0) -> StudyRecord:
        plan, release = made.stated.plan, made.publication.release
        staged = Staged(release, plan, self.original.frame, engine=self.terms.engine)
        targets = min(self.terms.targets, _TARGETS) if self.sampled else self.terms.targets
        terms = EvidenceTerms(targets=targets)
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


def _method(plan: Plan) -> str:
    assert plan.method is not None
    return plan.method.name
