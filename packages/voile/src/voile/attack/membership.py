"""Membership: whether a person is in the table at all.

What it does: for people of whom half are in the table that was published and half are not, scores
how much likelier the release is if a person is in it, and decides by a threshold who is.

Source: the likelihood ratio is the best test between two hypotheses (Neyman and Pearson, 1933);
Homer et al., "Resolving individuals contributing trace amounts of DNA to highly complex mixtures"
(PLoS Genetics 4, 2008) made it an attack on published data.  Success and advantage are those of
Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning" (CSF 2018), definition 4:
a target is in or out with probability 1/2, and the advantage is TPR - FPR.

Adversary: knows some columns of the target exactly (by default all quasi-identifiers), the release,
the method with its parameters, and the other targets, but not who of them is in.  He has seen
such people before, of whom he knew that half were in: from these he learns the threshold.

Claim: accuracy is counted and not optimistic.  Targets are split at random into two halves with as
many in as out in each, and each half is judged by the threshold that was best on the other.
Where the score says nothing, half of the decisions are right.

The score: if the target is out, all n published rows are drawn from the population; if in, one of
them is the target's, and n - 1 are drawn.  With a Dirichlet prior of weight a for every kind of
row, N other targets of whom c would look like row r, and b published rows that look like it, the
release is likelier if the target is in by

    (1 / n) (sum over rows r that fit the target of (n + N) / (c + b - 1 + a)),

because that is how probable the last of b alike rows was after the others (Polya's urn).  Rows
that fit weigh by how well they do (``release.reading``): with noise, in permuted columns.  It is 0
without such a row, near 1 where many look alike, and large for a row that nobody else explains.

Success: the decision is right.  The probability given to the truth is the share of members, among
those that he has seen before, with a score like the target's.

Cost: that of ``posterior`` for all targets, twice; of noisy counts, one pass over the rows.

Made-up rows and tables with noise are judged by the noisy counts that they follow from, by an
adversary who knows every other row of the table: nothing tells more, and the limit of theory stands
beside what he finds.  Of Gaussian noise of variance v_t, a row in cell c_t of each table t is told
by the sum of (y_t - n_t) / v_t, n_t counting the others: its mean is 0 without the row and the sum
of 1 / v_t = 2 rho with it, of the same deviation, the root of 2 rho.  So the advantage of every
attack is at most erf(sqrt(rho) / 2), which this one reaches; and erf(sqrt(rho / 2)) where one row
takes the place of another (mu = 2 sqrt(rho)).  Of pure noise at epsilon no advantage exceeds
(e^epsilon - 1) / (e^epsilon + 1); the score is the same, next to the best.

Departures: Homer et al. score frequencies of independent genes, here it is rows that are scored.
Who is in the table and was left out of the release counts as in; so methods that leave rows out
or sample them hide some of their people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from math import erf, sqrt, tanh
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asks
from voile.attack.posterior import draw_targets, near_weights
from voile.attack.protocol import (
    COLUMNS,
    TARGETS,
    Estimate,
    check_targets,
    checked_columns,
    nobody_known,
)
from voile.dp.marginals import NoisyTable
from voile.release.consistent_cells import noisy_marginals
from voile.release.method_claims import CountedPrivately, SynthesizedPrivately
from voile.release.reading import People, PublishedRows, Sightings
from voile.release.release import Release
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.persons import units_told
from voile.schema.plan import Plan
from voile.schema.roles import EACH_ROW
from voile.table.arrays import from_native
from voile.table.domains import cells_of
from voile_base.errors import InputError, PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, Randomness
from voile_base.values import Document

__all__ = ["MembershipAttack"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]

_LEAST = 2
"""People who are in, and people who are not: one of each in each half."""
_DIGITS = 12
_PRIOR = 0.5
"""Weight of every kind of row before anything was seen (Jeffreys)."""
_BINS = 8
"""Scores that are like each other, in parts of equally many targets."""


@dataclass(frozen=True)
class MembershipAttack(Adversary["_Aim"]):
    """An adversary who decides whether a person is in the table that was published.

    Raises ``InputError`` where no target or no column is asked for.
    """

    needs_absent = True

    absent: Any = field(
        default=None,
        metadata=asks("--absent"),
    )
    """A data frame of people of the same origin who are not in the table."""
    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Columns of the original that the adversary knows; None: the quasi-identifiers."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """At how many people it is aimed, half of them absent; None: at as many as there are."""

    def __post_init__(self) -> None:
        check_targets(self.targets)
        object.__setattr__(self, "columns", checked_columns(self.columns))

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "membership"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        if self.absent is None:
            return "nobody is known who is not in the table: hold rows out, or name absent people"
        if _NoisyCounts.claimed(release) is not None:
            return _NoisyCounts.refusal(release, plan)
        return nobody_known(release, self.columns)

    def aim(self, scene: Scene) -> _Aim:
        """As many people who are in the table as people who are not."""
        if _NoisyCounts.claimed(scene.release) is not None:
            return self._counted(scene)
        published = scene.published
        present = scene.people
        absent = _absent_like(present, from_native(self.absent)[0])
        columns = published.known_columns(present, self.columns, None)
        absent.require_columns(columns, "the frame of absent people")
        size = self._size(present, absent)
        sides = [
            _Side.of(published, people, columns, size, scene.randomness.within(which))
            for people, which in ((present, "present"), (absent, "absent"))
        ]
        scores = np.concatenate(_scores(sides, _alike(published, columns)))
        notes = tuple(sides[0].seen.notes)
        assumed = tuple(_assumptions(columns))
        return _Aim(columns, size, sides, scores, assumed, notes)

    def _counted(self, scene: Scene) -> _Aim:
        """The same of a release that follows from noisy counts."""
        present, absent = scene.people, _absent_like(scene.people, from_native(self.absent)[0])
        assert present.plan is not None
        counts = _NoisyCounts.of(scene.release, present.plan)
        size = self._size(present, absent)
        absent.require_columns(counts.columns, "the frame of absent people")
        sides = [
            _Side(
                people, draw_targets(people, counts.columns, size, scene.randomness.within(which))
            )
            for people, which in ((present, "present"), (absent, "absent"))
        ]
        targets = [side.people.frame[side.places.tolist()] for side in sides]
        scores = counts.scores(present.frame, targets, [True, False])
        return _Aim(
            counts.columns,
            size,
            sides,
            np.concatenate(scores),
            (
                *_assumptions(counts.columns),
                "he knows every other row of the table, and the noisy counts",
            ),
            (counts.limit,),
        )

    def guess(self, scene: Scene, aim: _Aim) -> Guesses:
        """Whether each of them is in the table."""
        judged = _judged(
            aim.scores,
            np.arange(2 * aim.size) < aim.size,
            scene.randomness.key("halves"),
        )
        return Guesses(
            goal="it is decided rightly whether the target is in the table that was published",
            success=judged.right.astype(np.float64),
            probability=judged.probability,
            baseline=0.5,
            known=lambda i: aim.sides[0].known(i, aim.columns),
            assumptions=aim.assumptions,
            notes=(*aim.notes, *_notes(judged, aim.size)),
            shown=np.arange(aim.size),
            drawn_from=sum(side.people.units[1] for side in aim.sides),
        )

    def _size(self, present: People, absent: People) -> int:
        """How many of either kind there are among the targets."""
        there = min(present.units[1], absent.units[1])
        size = there if self.targets is None else min(there, (self.targets + 1) // 2)
        if size < _LEAST:
            msg = (
                "to judge who is in the table, at least two targets must be in it and two absent; "
                f"there are {units_told(present.protected, present.units[1])} and "
                f"{absent.units[1]:,} absent people"
            )
            raise InputError(msg)
        return size


@dataclass(frozen=True, eq=False)
class _NoisyCounts:
    """The noisy counts of a release, and the domains that they are over."""

    tables: tuple[NoisyTable, ...]
    domain: tuple[ColumnDomain, ...]
    plan: Plan
    claim: CountedPrivately | SynthesizedPrivately

    @staticmethod
    def claimed(release: Release) -> CountedPrivately | SynthesizedPrivately | None:
        """The promise of a release that is made of noisy counts; None of another."""
        kinds = CountedPrivately | SynthesizedPrivately
        return next((it for it in release.guarantee.claims if isinstance(it, kinds)), None)

    @classmethod
    def refusal(cls, release: Release, plan: Plan | None) -> str | None:
        """Why the counts cannot be read with a plan, as a clause; None where they can."""
        claim = cls.claimed(release)
        if claim is None or release.measurements is None:
            return "it has no noisy counts"
        if claim.rows_per_person is not None:
            return "of each person only some rows take part, and which is not known"
        if claim.searched:
            return "the bounds of some column were found, and the plan does not say them"
        if plan is None:
            return "without the plan nobody knows which cell a row is counted in"
        try:
            public_domain(plan, cls._names(claim))
        except PlanError:
            return "the plan does not state the domains that were counted"
        return None

    @classmethod
    def of(cls, release: Release, plan: Plan) -> _NoisyCounts:
        """Those of a release that nothing is refused of."""
        claim = cls.claimed(release)
        assert claim is not None
        assert release.measurements is not None
        marginals = noisy_marginals(release.measurements, claim, release.disclosure)
        return cls(marginals.tables, public_domain(plan, cls._names(claim)), plan, claim)

    @staticmethod
    def _names(claim: CountedPrivately | SynthesizedPrivately) -> list[str]:
        return list(dict.fromkeys(name for one in claim.tables for name in one.columns))

    @property
    def columns(self) -> tuple[str, ...]:
        """Whose cells are counted."""
        return tuple(column.name for column in self.domain)

    @property
    def limit(self) -> str:
        """What no attack can exceed, in words."""
        if self.claim.rho is None:
            bound = tanh(float(self.claim.epsilon) / 2)
            return f"no attack on one row more or less has an advantage above {bound:.3f}"
        rho = float(Fraction(self.claim.rho))
        return (
            f"no attack on one row more or less has an advantage above {erf(sqrt(rho) / 2):.3f}, "
            f"and none on one row in the place of another above {erf(sqrt(rho / 2)):.3f}"
        )

    def scores(self, rows: Any, targets: Sequence[Any], members: Sequence[bool]) -> list[Floats]:
        """The score of each target; ``rows`` are all of the table, ``members`` are among them."""
        counted = cells_of(rows, self.domain, self.plan)
        counted = counted[:, (counted >= 0).all(axis=0)]
        each = [cells_of(of, self.domain, self.plan) for of in targets]
        scores = [np.zeros(cells.shape[1]) for cells in each]
        for table in self.tables:
            true = np.bincount(self._places(table, counted), minlength=table.counts.size)
            told = (table.counts.ravel() - true) / table.variance
            for score, cells, member in zip(scores, each, members, strict=True):
                there = (cells >= 0).all(axis=0)
                own = 1 / table.variance if member else 0.0
                score[there] += told[self._places(table, cells[:, there])] + own
        return scores

    def _places(self, table: NoisyTable, cells: NDArray[np.int32]) -> NDArray[np.int64]:
        """The cell of each row in a table, by its columns and their levels."""
        found = np.zeros(cells.shape[1], dtype=np.int64)
        for name, size in zip(table.columns, table.counts.shape, strict=True):
            place, level = self.columns.index(name), table.level_of[name]
            own = cells[place].astype(np.int64)
            found *= size
            found += self.domain[place].coarser[level - 1].groups[own] if level else own
        return found


@dataclass(frozen=True, eq=False)
class _Side:
    """Targets that are all in the table, or all absent."""

    people: People
    places: Indices
    sightings: Sightings | None = None
    """None where no rows are read."""

    @property
    def seen(self) -> Sightings:
        """What the rows of a release show of them."""
        assert self.sightings is not None
        return self.sightings

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        people: People,
        columns: Sequence[str],
        size: int,
        randomness: Randomness,
    ) -> _Side:
        """So many people, drawn at random."""
        places = draw_targets(people, columns, size, randomness)
        return cls(people, places, Sightings.of(published, people, columns, places))

    def known(self, place: int, columns: Sequence[str]) -> Document:
        """What the adversary knows of one of them."""
        return self.people.frame.select(columns).row(int(self.places[place]), named=True)


@dataclass(frozen=True, eq=False)
class _Aim:
    """Those who are in the table, those who are not, and what is known of either."""

    columns: tuple[str, ...]
    size: int
    """How many there are on either side."""
    sides: Sequence[_Side]
    """Those who are in it, then the others."""
    scores: Floats
    """How much likelier the release is with each of them, in this order."""
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Judged:
    """What came of t targets, shape (t,) each."""

    right: Mask
    """Whether the decision is right."""
    probability: Floats
    """What the adversary gives to the truth."""
    members: Indices
    """How many members there are among the targets of like scores that it was learnt from."""
    learnt: Indices
    """How many targets these are."""


def _alike(published: PublishedRows, columns: Sequence[str]) -> NDArray[np.int64]:
    """For each published row, how many look like it in all columns that are not permuted."""
    staying = [
        c for name in columns if name not in published.permuted for c in published.columns_of(name)
    ]
    if not staying:
        return np.full(published.frame.height, published.frame.height)
    _, place = published.cells(staying)
    return np.bincount(place)[place]


def _scores(sides: Sequence[_Side], alike: NDArray[np.int64]) -> list[Floats]:
    """How much likelier the release is if each target is in the table; one array for each side."""
    sightings = sides[0].seen
    rows, others = sightings.rows, sum(len(side.places) for side in sides) - 1
    looks = np.empty(len(rows))
    looks[sightings.place] = alike
    known = np.zeros(len(rows))
    for side in sides:
        for _, which, weights in near_weights(side.seen, len(side.places)):
            known[which] += weights.sum(axis=0)
    factor = rows * (rows.sum() + others) / rows.sum()
    scores = []
    for side in sides:
        score = np.empty(len(side.places))
        for chunk, which, weights in near_weights(side.seen, len(side.places)):
            # What the target adds to ``known`` is not known of others; rounding leaves traces.
            others_like: Floats = known[which] - weights
            np.maximum(others_like, 0, out=others_like)
            others_like += looks[which] - 1 + _PRIOR
            likelier = np.divide(weights, others_like, out=others_like)
            score[chunk] = likelier @ factor[which]
        scores.append(score.round(_DIGITS))  # sums in another order tell no two people apart
    return scores


def _judged(scores: Floats, member: Mask, key: Key) -> _Judged:
    """Decide on each half of the targets by what the other half shows.

    As many are members as not, members first.
    """
    size = len(scores) // 2
    words = key.stream(len(scores)).reshape(2, size)
    rank = np.argsort(np.argsort(words, axis=1), axis=1).ravel()
    first = rank < size // 2
    right, probability = np.empty(len(scores), np.bool_), np.empty(len(scores))
    members, learnt = (np.empty(len(scores), np.int64) for _ in range(2))
    for half in (first, ~first):
        seen, truth = scores[~half], member[~half]
        inside = scores[half] > _threshold(seen, truth)
        right[half] = inside == member[half]
        members[half], learnt[half] = _members_alike(seen, truth, scores[half])
        chance = (members[half] + 1) / (learnt[half] + 2)  # the rule of succession
        probability[half] = np.where(member[half], chance, 1 - chance)
    return _Judged(right, probability, members, learnt)


def _threshold(scores: Floats, member: Mask) -> float:
    """Above which score most decisions are right on these targets."""
    order = np.argsort(scores, kind="stable")
    ascending = scores[order]
    # Right decisions if the lowest i are called absent: members above, others below.
    gained = np.concatenate(([0], np.cumsum(np.where(member[order], -1, 1))))
    ends = np.concatenate(([-np.inf], ascending, [np.inf]))
    gained[np.flatnonzero(ends[:-1] == ends[1:])] = -len(scores)  # no cut between equal scores
    best = int(gained.argmax())
    low, high = ends[best], ends[best + 1]
    return float(low if np.isinf(low) or np.isinf(high) else (low + high) / 2)


def _members_alike(seen: Floats, member: Mask, scores: Floats) -> tuple[Indices, Indices]:
    """How many members are among those seen with such scores, and how many are seen."""
    inner = np.quantile(seen, np.arange(1, _BINS) / _BINS)
    edges = np.unique(inner)
    bin_of_seen = np.searchsorted(edges, seen, side="right")
    every = np.bincount(bin_of_seen, minlength=len(edges) + 1)
    inside = np.bincount(bin_of_seen[member], minlength=len(edges) + 1)
    place = np.searchsorted(edges, scores, side="right")
    return inside[place], every[place]


def _absent_like(present: People, frame: Any) -> People:
    """Absent people; each row is another one where the frame does not say whose it is."""
    plan = present.plan
    unit = plan.roles.unit if plan else None
    if plan is not None and unit is not None and unit not in frame.columns:
        plan = replace(plan, roles=replace(plan.roles, person=EACH_ROW, household=None))
    return People(frame, plan)


def _assumptions(columns: Sequence[str]) -> Iterator[str]:
    yield f"the adversary knows {', '.join(columns)} of a target exactly"
    yield "a target is in the table or absent with probability 1/2"
    yield "he knows the release, and the method with its parameters"
    yield "he has learnt from other such people, of whom he knows whether they are in the table"


def _notes(judged: _Judged, size: int) -> Iterator[str]:
    found, cleared = judged.right[:size].mean(), judged.right[size:].mean()
    yield (
        f"{found:.1%} of those who are in the table are found, and {1 - cleared:.1%} of the absent "
        f"are taken for members: an advantage of {100 * (found + cleared - 1):+.1f} points"
    )
    worst = int(judged.probability[:size].argmax())
    members, learnt = int(judged.members[worst]), int(judged.learnt[worst])
    share = Estimate.of_total(members, learnt, 2 * _BINS)
    yield (
        f"the probability of the worst-off target is learnt from {learnt:,} targets of like "
        f"scores, of whom {members:,} are in the table: of the highest of {2 * _BINS} shares the "
        f"interval is {share.low:.0%} to {share.high:.0%}"
    )
