"""Intersection: the adversary who knows all rows of a person, and what stays the same in them.

What it does: for persons with several rows whose sensitive value is the same in all of them, finds
for each row the values that its group leaves, and keeps those that every group leaves.

Source: the intersection attack of Ganta, Kasiviswanathan and Smith, "Composition attacks and
auxiliary information in data privacy" (KDD 2008), between releases of one table; here between the
groups of one release in which one person stands.

Adversary: knows some columns of every row of a person (by default all quasi-identifiers), that all
these rows are in the table, that the sensitive value is the same in all of them, how published
values are distributed, and the release with its method.  Counts of persons in groups
(``schema.persons``) promise nothing against him: that is why he is asked.

Claim: every success is counted.  Beliefs follow from Bayes' rule, the groups of a person's rows
being taken for independent given the value: with the prior p(v) of all published rows and the
belief b_r(v) that row r alone leaves, a value gets p(v) times the product of b_r(v) / p(v).  A
value that one group lacks is out, whatever is assumed of the others.

Algorithm: draw persons; believe of each of their rows what ``attribute`` says; add logarithms.

Cost: that of ``attribute`` for all rows of the persons drawn.

Departures: none is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Scene
from voile.attack.attribute import (
    AttributeAttack,
    AttributeTarget,
    Beliefs,
    Judged,
    SensitiveTarget,
    chance_of_best,
    given_to,
    share_of,
)
from voile.attack.posterior import draw_units
from voile.attack.protocol import KnownRows
from voile.release.reading import People, Sightings
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.codes import encode
from voile_base.errors import TableError
from voile_base.ondemand import dataclass

__all__ = ["IntersectionAttack"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class IntersectionAttack(AttributeAttack):
    """An adversary who knows all rows of a person, and intersects what their groups leave.

    Raises ``InputError`` where no target is asked for.
    """

    known_rows: ClassVar[KnownRows] = "all"

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "intersection"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        if plan is None or plan.roles.unit is None:
            return "no plan says which rows are one person's, with person or household in [roles]"
        return super().refusal(release, plan)

    def aim(self, scene: Scene) -> AttributeTarget:
        """Persons who have several rows, in all of which the value is the same."""
        aim = super().aim(scene)
        return replace(aim, drawn_from=len(_who_stay_the_same(aim.wanted.people, aim.wanted.name)))

    def _targets(self, scene: Scene, columns: Sequence[str], wanted: str) -> Codes:
        """The first row of each of some of these persons."""
        people = scene.people
        among = _who_stay_the_same(people, wanted)
        if not len(among):
            msg = (
                f"no {people.protected} has several rows in all of which {wanted!r} is the same, "
                "so that there is nothing to intersect"
            )
            raise TableError(msg)
        chosen = draw_units(people, self.targets, scene.randomness, among)
        _, first = np.unique(people.units[0], return_index=True)
        return np.asarray(first[chosen], dtype=np.int64)

    def _beliefs(self, aim: AttributeTarget, sightings: Sightings) -> Iterator[Beliefs]:
        """What he believes of each person once all rows are put together."""
        wanted = aim.wanted
        rows, person = _rows_of(wanted)
        every = Sightings.of(wanted.published, wanted.people, aim.columns, rows)
        alone = list(replace(wanted, targets=rows).beliefs(every))
        posterior = np.concatenate([part.posterior for part in alone])
        fits = np.logical_or.reduceat(np.concatenate([part.fits for part in alone]), person)
        prior = alone[0].prior
        together = _together(posterior, prior, person)
        right = wanted.right(slice(0, len(wanted.targets)))
        yield _Together(wanted, together, prior, right, fits, posterior[person])

    def _goal(self, wanted: SensitiveTarget) -> str:
        return f"{wanted.goal}, which is the same in all of the target's rows"

    def _assumptions(self, wanted: SensitiveTarget) -> Iterator[str]:
        unit = wanted.people.protected
        yield f"he knows that {wanted.name!r} is the same in all rows of the {unit}"

    def _judged(self, beliefs: Beliefs) -> Judged:
        assert isinstance(beliefs, _Together)
        prior = np.broadcast_to(beliefs.prior, beliefs.right.shape)
        success = chance_of_best(beliefs.posterior, beliefs.right)
        certain = beliefs.certain.astype(np.float64)
        return Judged(
            success=success,
            probability=given_to(beliefs.posterior, beliefs.right),
            baseline=chance_of_best(prior, beliefs.right),
            remarks={
                "certain": certain,
                "certain and right": certain * success,
                "one row": chance_of_best(beliefs.of_one_row, beliefs.right),
            },
        )

    def _notes(self, judged: Judged, wanted: SensitiveTarget) -> Iterator[str]:
        yield (
            f"whoever knows one row of each target is right about "
            f"{judged.remarks['one row'].mean():.1%} of them"
        )
        certain = judged.remarks["certain"]
        if certain.any():
            yield (
                f"one value of {wanted.name!r} is left for {share_of(certain)}; of these "
                f"{judged.remarks['certain and right'].sum():,.0f} have that value"
            )


@dataclass(frozen=True, eq=False)
class _Together(Beliefs):
    """Beliefs of all rows of each target together, beside those of one row."""

    of_one_row: Floats
    """Shape (t, v)."""


def _who_stay_the_same(people: People, name: str) -> Codes:
    """The persons who have several rows, and in all of them one value of a column; ascending."""
    whose, units = people.units
    value = encode(people.column(name)).codes.astype(np.int64)
    low, high = np.full(units, len(value)), np.full(units, -1)
    np.minimum.at(low, whose, value)
    np.maximum.at(high, whose, value)
    return np.flatnonzero((np.bincount(whose, minlength=units) > 1) & (low == high))


def _rows_of(wanted: SensitiveTarget) -> tuple[Codes, Codes]:
    """All rows of each of t targets, one target after the other, and where each begins, (t,)."""
    whose, units = wanted.people.units
    place = np.full(units, -1)
    place[whose[wanted.targets]] = np.arange(len(wanted.targets))
    rows = np.flatnonzero(place[whose] >= 0)
    rows = rows[np.argsort(place[whose[rows]], kind="stable")]
    _, first = np.unique(place[whose[rows]], return_index=True)
    return rows, np.asarray(first, dtype=np.int64)


def _together(posterior: Floats, prior: Floats, first: Codes) -> Floats:
    """Beliefs (t, v) from those that each of the rows alone leaves; rows add up to 1."""
    with np.errstate(divide="ignore"):
        ratio = np.log(posterior) - np.log(np.where(prior > 0, prior, 1.0))
        summed = np.add.reduceat(ratio, first, axis=0) + np.log(prior)
    top = summed.max(axis=1, keepdims=True)
    nothing = ~np.isfinite(top[:, 0])
    summed[nothing], top[nothing] = np.log(np.maximum(prior, 1e-300)), 0.0
    weights = np.exp(summed - top)
    belief: Floats = weights / weights.sum(axis=1, keepdims=True)
    return belief
