"""Choosing the parameters of a plan, and defending them: risk against loss, held against a policy.

Plans are tried: each is published as a single release that is neither written nor charged, and put
to the test.  First those of a ladder, which differ in k, or in epsilon where a method has no k, and
in how many rows may be left out; the method itself searches the hierarchies for the least loss at
each.  Where the mildest and the strictest are surely beyond one limit, none between is judged.
Where none meets the policy, ever stricter ones (``remedies.strides``): the strictest, then by
bisection the mildest that meets, to which columns and smaller groups come back one by one.  First
sensitive columns beyond a limit become quasi-identifiers in them, then they are left out.
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

A plan that publishes no sensitive column, where the plan has some, is no finding: it is told as a
last remedy.  Where the nearest plan misses limits that lie within the intervals of its figures, the
search is undecided: more people held out make them narrower.

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

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field, replace
from math import inf
from pathlib import Path
from typing import Any

from voile.policy.remedies import (
    PlanChange,
    changes_for,
    furthest,
    grouping_beyond,
    ladder,
    mildest,
    parameters_of,
    strides,
    untried_text,
)
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy
from voile.policy.trying import PlanSearch, PlanTrial, TriedPlan, keeping, method_of, order_of
from voile.publish.registry import METHODS
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.study.original import Original
from voile.study.plans import StatedPlan, json_value, single_release
from voile.study.record import known_columns, rates_of
from voile.study.rehearsal import hold_rows_out
from voile.study.verdict import THRESHOLDS
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["Choice", "found_by_others", "paragraph_of", "uncounted_text"]

_SHARES = (0.01, 0.05)
"""Rows that may be left out, beside as many as the plan says."""
_FEW = 20
"""Different values of a sensitive column that single few people out."""
_CONFIRMED = 3
"""Plans that met the policy on a sample and are tried on all rows, the least loss first."""


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
        return self._least_loss(withheld=False)

    @property
    def last_remedy(self) -> TriedPlan | None:
        """The plan of least loss that meets the policy without any sensitive column of the plan.

        A table is published for these: it is not found, and told where none is.
        """
        return self._least_loss(withheld=True) if self.found is None else None

    def _least_loss(self, *, withheld: bool) -> TriedPlan | None:
        roles = self.stated.plan.roles
        met = [one for one in self.tried if one.meets and not one.sampled]
        met = [one for one in met if one.change.withholds_all_sensitive(roles) is withheld]
        return min(met, key=order_of, default=None)

    @property
    def nearest(self) -> TriedPlan:
        """The plan found, or else the one that fails the fewest criteria, of least loss."""
        if self.found is not None:
            return self.found
        roles = self.stated.plan.roles
        return _nearest(
            [one for one in self.tried if not one.change.withholds_all_sensitive(roles)]
        )

    @property
    def is_undecided(self) -> bool:
        """Whether the nearest plan misses limits by the width of intervals alone."""
        unmet = self.nearest.unmet
        return bool(unmet) and all(one.is_undecided for one in unmet)

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
        original = Original.read(source, keeping(stated.plan, terms.weight), terms.engine)
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
    if not terms.sample or there <= terms.sample or "k" not in METHODS.fields_of(method_of(plan)):
        return None
    if plan.roles.ranking:
        return None
    draws = Randomness.secure() if terms.seed is None else Randomness.seeded(terms.seed)
    left_out = 1 - terms.sample / there
    kept = hold_rows_out(original.frame, left_out, draws.within("sample of plans"), units).kept
    return replace(original, frame=kept)


def _nearest(tried: Sequence[TriedPlan]) -> TriedPlan:
    """The plan that fails the fewest criteria; then that of the least objective, by all rows.

    None that shows nothing, where another gives a release.
    """
    made = [one for one in tried if not one.problem] or [tried[0]]
    made = [one for one in made if not one.shows_nothing] or made
    return min(
        made, key=lambda one: (one.sampled, one.rulings is None, len(one.unmet), *order_of(one))
    )


def _columns_of(unmet: Sequence[Ruling]) -> tuple[str, ...]:
    """The columns that criteria are about, each once."""
    return tuple(dict.fromkeys(name for one in unmet for name in one.columns))


def _published(change: PlanChange, names: Collection[str]) -> PlanChange:
    """A change that does not leave out some columns."""
    return replace(change, without=tuple(one for one in change.without if one not in names))


@dataclass(eq=False)
class _Trial(PlanTrial):
    """A search: which plan is tried next."""

    _in_vain: Collection[str] = field(default=(), init=False)
    """Plans that are no way to go on: strides that fail, and those milder than a clear failure."""

    def search(self) -> None:
        """Try plans until the effort is at its end; an interruption keeps those that were tried."""
        try:
            self.climb()
            self.stride()
            self.mend()
        except KeyboardInterrupt:
            if not self.tried:
                raise

    def climb(self) -> None:
        """Try the ladder; of rows that may be left out only where larger groups may be enough."""
        for change in ladder(self.stated.plan, self.policy):
            self._try(change)
        takes = METHODS.fields_of(method_of(self.stated.plan))
        if not self._look() or "suppression_limit" not in takes:
            return
        usual = parameters_of(self.stated.plan).get("suppression_limit", 0)
        fit = [one for one in self.tried if not one.problem and not self._ruled_out(one)]
        for one in sorted(fit, key=order_of)[:2]:
            for share in _SHARES:
                if share > float(usual):
                    self._try(one.change.and_also(PlanChange({"suppression_limit": share})))
        self._look()

    def _look(self) -> bool:
        """Look at whole policies, the least loss first, until one is met.

        False where the plans of the least and of the greatest loss are both beyond one limit of a
        risk, with their whole intervals: those between are not looked at.
        """
        left = [one for one in self.tried if not one.problem and not self._ruled_out(one)]
        left = sorted(left, key=order_of)
        for place in range(len(left)):
            left[place] = self._judged(left[place])
            if left[place].meets:
                break
            if place == 0:
                left[-1] = self._judged(left[-1])
                if left[0].surely_beyond & left[-1].surely_beyond:
                    self._in_vain = {*self._in_vain, *(mild.change.text for mild in left[:-1])}
                    return False
        return True

    def stride(self) -> None:
        """Where nothing was met, find by bisection how strict a plan has to be, and step back.

        Sensitive columns beyond a limit become quasi-identifiers, all but one that nobody is
        singled out by; or they are left out, all but the one that is easiest to protect, or that
        is nearest to its limit.  Where the nearest plan then fails by one, none is published.
        """
        if self.has_met or self.is_spent or all(one.problem for one in self.tried):
            return
        near, before = _nearest(self.tried), len(self.tried)
        secret = near.change.roles_of(self.stated.plan.roles).sensitive
        hardest, first = sorted(secret, key=self._hardest), sorted(secret, key=furthest(near.unmet))
        grouped = grouping_beyond(near.unmet, hardest)
        self._is_striding = True
        is_met = bool(grouped.grouped) and self._strides((), near.change, grouped, hardest)
        for order in (hardest, first) if hardest[-1:] != first[-1:] else (hardest,):
            is_met = is_met or self._strides(near.unmet, near.change, PlanChange(), order)
        unmet = _nearest(self.tried[before:] or [near]).unmet
        if not is_met and any({*one.columns} & {*secret} for one in unmet):
            self._strides(near.unmet, near.change, PlanChange(without=secret), ())
        if not self.has_met:
            self._in_vain = {*self._in_vain, *(one.change.text for one in self.tried[before:])}
        self._is_striding = False

    def _strides(
        self, unmet: Sequence[Ruling], near: PlanChange, way: PlanChange, secret: Sequence[str]
    ) -> bool:
        """Whether one of ever stricter plans meets the policy; then steps back from the mildest.

        ``secret`` orders sensitive columns, of which the last is published longest.
        """
        unit, frame = self.stated.plan.roles.unit, self.original.frame
        units = len(frame) if unit is None else int(frame[unit].n_unique())
        columns = [name for name in self._columns() if name not in way.grouped]
        made = near.and_also(way)
        steps = strides(unmet, made, self.stated.plan, (*columns, *secret), units)
        if (mild := mildest(steps, self._meets)) is not None:
            whole = made.and_also(PlanChange({"k": steps[-1].parameters["k"]}))
            fewer = self._fewer(whole) if way.grouped else None
            self._come_back(fewer or mild, near)
        elif steps and not way.grouped and not self.strictest:
            self.strictest = steps[-1].of_plan(parameters_of(self.stated.plan)).text
        return mild is not None

    def _fewer(self, change: PlanChange) -> PlanChange | None:
        """A plan, or else that plan without the columns by which it fails, where one meets."""
        for _ in range(2):
            if self._meets(change):
                return change
            text = change.of_plan(parameters_of(self.stated.plan)).text
            missed = next((one.unmet for one in self.tried if one.change.text == text), ())
            shown = change.roles_of(self.stated.plan.roles).published
            named = tuple(name for name in _columns_of(missed) if name in shown)
            change = change.and_also(PlanChange(without=named))
        return None

    def _hardest(self, name: str) -> tuple[int, float]:
        """Orders sensitive columns, last those of few values of which none is frequent.

        Many values single people out.  A frequent one leaves so little open that no limit of what
        is learned of a column can be decided by few people.
        """
        column = self.original.frame[name]
        different = int(column.n_unique())
        most = float(column.value_counts()["count"].max()) / max(1, len(column))
        return -max(different, _FEW), -most

    def _come_back(self, change: PlanChange, near: PlanChange) -> None:
        """Give columns back, those that went last first, and halve the groups, while it is met.

        A sensitive column that cannot come back as it was may as a quasi-identifier, where that
        loses less.
        """
        gone = [name for name in reversed(change.without) if name not in near.without]
        change = self._given_back(change, gone)
        sensitive = self.stated.plan.roles.sensitive
        left = [one for one in gone if one in change.without]
        for name in [one for one in left if one in sensitive and one not in near.grouped]:
            more = replace(_published(change, [name]), grouped=(*change.grouped, name))
            change = more if self._meets(more) and self._loses_less(more, change) else change
        least = near.parameters_upon(parameters_of(self.stated.plan)).get("k", 2)
        while (k := change.parameters["k"] // 2) >= int(least):
            smaller = change.and_also(PlanChange({"k": k}))
            if not self._meets(smaller):
                break
            change = smaller

    def _given_back(self, change: PlanChange, names: Sequence[str]) -> PlanChange:
        """A change with those of some columns published again that stand not in the way."""
        if not names or self.is_spent:
            return change
        if self._meets(more := _published(change, names)):
            return more
        half = len(names) // 2
        if half:
            for some in (names[:half], names[half:]):
                change = self._given_back(change, some)
        return change

    def _loses_less(self, one: PlanChange, two: PlanChange) -> bool:
        """Whether a plan that was tried loses less than another."""
        given = parameters_of(self.stated.plan)
        order = {each.change.text: order_of(each) for each in self.tried}
        return order[one.of_plan(given).text] < order[two.of_plan(given).text]

    def _meets(self, change: PlanChange) -> bool:
        """Whether a plan is tried and meets the policy; cheap counts rule out first."""
        found = self._try(change)
        if found is None or found.problem or self._ruled_out(found):
            return False
        return self._judged(found).meets

    def mend(self) -> None:
        """Follow what is unmet; of plans that give one release, the first."""
        followed: set[str] = set()
        releases: set[str] = set()
        while (best := self._promising(followed)) is not None:
            followed.add(best.change.text)
            if best.fingerprint in releases:
                continue
            releases |= {best.fingerprint} - {""}
            judged = self._judged(best)
            for change in changes_for(
                judged.unmet, judged.change, self.stated.plan, self._columns()
            ):
                found = self._try(change)
                if found is not None and self._may_be_better(found) and not self._ruled_out(found):
                    self._judged(found)

    def confirm(self, sampled: Sequence[TriedPlan]) -> None:
        """Try on all rows what met the policy on a sample, or else what came nearest to it."""
        met = sorted((one for one in sampled if one.meets), key=self._by_use)
        for one in met[:_CONFIRMED] or [_nearest(sampled)]:
            found = self._try(one.change)
            if found is not None and not found.problem and self._judged(found).meets:
                return

    def _by_use(self, tried: TriedPlan) -> tuple[bool, float, float, int]:
        """By loss, plans without any sensitive column last."""
        return (tried.change.withholds_all_sensitive(self.stated.plan.roles), *order_of(tried))

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
        return min(open_ones, key=lambda one: (len(one.unmet), *order_of(one)), default=None)

    def _is_hopeless(self, tried: TriedPlan) -> bool:
        """Whether a plan fails by a k that is too small, which the ladder has raised already."""
        return self._ruled_out(tried) and self._has_small_k(tried)

    def _may_be_better(self, tried: TriedPlan) -> bool:
        """Whether a release was made, and with less loss than any that meets the policy."""
        met = [self._by_use(one) for one in self.tried if one.meets]
        most = (True, inf, inf, 0)
        return not tried.problem and self._by_use(tried) < min(met, default=most)

    def _columns(self) -> tuple[str, ...]:
        """Quasi-identifiers, those with the most different values first."""
        return tuple(sorted(self.stated.plan.roles.quasi_identifiers, key=self._fewest_alike))

    def _fewest_alike(self, name: str) -> tuple[int, str]:
        """Orders columns by how many different values they have, most first."""
        return -int(self.original.frame[name].n_unique()), name


def paragraph_of(choice: Choice) -> str:
    """What was chosen, and what is known of it; holds figures of private rows."""
    return " ".join(_sentences(choice))


def _percent(share: float | None) -> str:
    return "not counted" if share is None else f"{100 * share:.3g} %"


def _sentences(choice: Choice) -> Iterator[str]:
    """Of the plan found, or of the nearest one, which then does not meet the policy."""
    best = choice.nearest
    plan = single_release(choice.stated.plan)
    assert plan.method is not None, "a stated plan has a method"
    name = plan.method.name
    settings = json_value(best.change.parameters_upon(plan.method.parameters))
    said = ", ".join(f"{key} = {value}" for key, value in settings.items() if key != "criteria")
    yield f"The table of {choice.rows:,} records is to be published by {name} ({said})."
    if choice.series is not None:
        yield (
            f"The plan publishes in the series {choice.series!r}; all figures here are those of a "
            "single release, and one of the series has others, which voile study of it counts."
        )
    if best.change.without:
        yield f"Columns left out for it: {', '.join(best.change.without)}."
    if best.change.grouped:
        yield f"Columns that become quasi-identifiers for it: {', '.join(best.change.grouped)}."
    if uncounted := uncounted_text(choice):
        yield f"{uncounted[0].upper()}{uncounted[1:]}."
    yield from _of_risks(best, choice.roles.quasi_identifiers)
    yield (
        f"Information loss is {_percent(best.information_loss)} (non-uniform entropy of the "
        "quasi-identifiers that are published), from 0 % (the original) to 100 % (nothing), and "
        f"{_percent(best.left_out)} of the records are left out."
    )
    yield from _of_search(choice)
    others = () if best.others else dict.fromkeys((*choice.roles.sensitive, *choice.roles.keep))
    known = ", ".join(others)
    more = f", such as {known}, which may single out a person for certain" if known else ""
    yield f"Not counted here: what recipients may know besides{more}, and what humans are asked."


def _of_risks(best: TriedPlan, quasi_identifiers: Sequence[str]) -> Iterator[str]:
    """How surely persons are found, and what is learned of them."""
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
    if (kept := best.met_thresholds()) and best.worst:
        yield (
            f"That is 1 in {1 / best.worst:,.4g}, and keeps the threshold of {min(kept)} "
            f"({THRESHOLDS[min(kept)]}; El Emam and Malin, 2015)."
        )
    if beyond := found_by_others(best, quasi_identifiers):
        yield f"That does not hold for those who know more: {beyond}."
    for attack in best.sensitive:
        if (rates := rates_of(attack)) is not None:
            yield (
                f"{_LEARNED.get(attack['attack'], _LEARNED_ELSE.format(attack['attack']))} for "
                f"{_percent(rates.success)} of the persons, and guessing for "
                f"{_percent(rates.baseline)}."
            )


def _of_search(choice: Choice) -> Iterator[str]:
    """Among how many plans, on which rows, and whether the policy is met."""
    best, policy = choice.nearest, choice.policy.policy
    number = len({one.change.text for one in choice.tried})
    yield f"It was chosen among {number} plans by the policy {policy.name!r} ({policy.source})."
    if choice.sample is not None and not best.sampled:
        yield (
            f"They were tried on a sample of {choice.sample:,} records, drawn once at random; the "
            "figures above are those of all records."
        )
    elif choice.sample is not None:
        yield f"The figures above are those of a sample of {choice.sample:,} records."
    yield (
        "Trying them is looking at the records, so that the assumption of the promise that "
        "parameters were chosen without looking can be accepted, and not confirmed."
    )
    if choice.found is None:
        kinds = ", ".join(dict.fromkeys(f"{one.asks}" for one in best.unmet))
        yield f"None of them meets the policy; this one, which is the nearest, fails: {kinds}."
    else:
        yield "It meets every criterion that a machine judges, with the least objective of those."


def uncounted_text(choice: Choice) -> str:
    """Which sensitive columns are quasi-identifiers in the nearest plan; empty where none is."""
    grouped = {*choice.nearest.change.grouped}
    names = [name for name in choice.stated.plan.roles.sensitive if name in grouped]
    if not names:
        return ""
    them = "them" if len(names) > 1 else "it"
    return (
        f"sensitive columns become quasi-identifiers: {', '.join(map(repr, names))}. All persons "
        f"of a group may show one value there, which nothing here counts; leave {them} out where "
        "that must not be learned"
    )


_LEARNED = {
    "homogeneity": "Who knows the quasi-identifiers and takes the most probable sensitive value of "
    "the group is right (homogeneity)",
    "background-knowledge": "Who can rule out one value, too, is right (background-knowledge)",
    "skewness": "Belief in what the sensitive value is more than doubles (skewness)",
}
"""What an attack on sensitive values finds, by its name."""
_LEARNED_ELSE = "The attack {} on sensitive attributes succeeds"


def found_by_others(best: TriedPlan, quasi_identifiers: Sequence[str]) -> str:
    """What somebody finds who knows columns that are no quasi-identifiers, a clause.

    Empty where nobody finds a person more surely than by these.
    """
    others, least = best.others, best.worst
    beyond = [
        (one, [name for name in known if name not in quasi_identifiers])
        for one in others
        for known in [known_columns(one)]
        if (one.get("worst") or 0) > (least or 0)
    ]
    beyond = [(one, names) for one, names in beyond if names]
    likely = [(one, names) for one, names in beyond if not one["of"].startswith("whoever ")]
    found = likely or beyond
    if not found:
        return ""
    one, names = max(found, key=lambda each: each[0]["main"]["value"] or 0)
    who = one["of"].partition(":")[0]
    return (
        f"{who}, who may also know {', '.join(names)}, finds the person who is worst off with "
        f"{_percent(one.get('worst'))}, and a person with {_percent(one['main']['value'])} on "
        "average"
    )
