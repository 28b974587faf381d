"""What all adversaries share who are after a sensitive value of a person they know.

What it does: for t people whose values in some columns are known exactly, finds the probability of
each value of a sensitive column: that of each published row to be the person's own
(``posterior``), times what the row, or its group where values are permuted, shows of the column.

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond
k-anonymity" (TKDD 2007), section 3.2, Theorem 3.1 with no knowledge beforehand: the belief in a
value is its share among the rows that fit.

Adversary: knows the release, the method with its parameters, public facts of the plan, and some
columns of the target exactly (by default all quasi-identifiers); that the target is in the table;
and the shares of the sensitive values in all published rows.  A target whom no published row fits
was left out; of that one he believes these shares.  If rows were left out or sampled he supposes
that the target's was not, or is like those that fit.

Truth: the original holds the own value, so every success is counted.  Where the column itself was
generalized, a guess is right if it covers the own value.

Claim: for groups that do not overlap, and all people as targets, what he believes is what happens,
group by group.  With noise he is as right as ``release.reading.noise``.

Cost: O(t (g m + c)) for t targets, g different published rows of m known columns and c different
pairs of these and sensitive values; memory for a few million pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asks
from voile.attack.beliefs import Beliefs, Judged
from voile.attack.knowledge import (
    COLUMNS,
    TARGETS,
    check_targets,
    checked_columns,
    nobody_known,
    require_sense,
)
from voile.attack.outcome import AttackOutcome
from voile.attack.posterior import PAIRS, draw_targets, posteriors, sampling
from voile.attack.wanted import Wanted, refusal_to_show, with_texts
from voile.release.reading.sightings import People, Sightings, known_columns, shares_of
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.frames import from_native
from voile_base.errors import TableError
from voile_base.randomness import Randomness

__all__ = ["AttributeAttack", "AttributeTarget", "beliefs_of"]


@dataclass(frozen=True)
class AttributeAttack(Adversary["AttributeTarget"]):
    """An adversary who is after a sensitive value of people he knows."""

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Columns of the original that the adversary knows; None: the quasi-identifiers."""
    sensitive: str | None = field(
        default=None,
        metadata=asks("--sensitive"),
    )
    """The column that he wants to know; None: each sensitive one of the release, and what is told
    is the one of which he gains most over guessing."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """At how many people it is aimed, drawn from the original; None: at all."""

    def __post_init__(self) -> None:
        check_targets(self.targets)
        object.__setattr__(self, "columns", checked_columns(self.columns))

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""

    @property
    def distance(self) -> float | None:
        """How far from a number a guess is right; None where it must be the value."""
        return None

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        reasons = [one.refusal_of_column(release, plan) for one in self._one_by_one(release)]
        if None in reasons:
            return None
        return reasons[0] if reasons else "the release has no sensitive column"

    def refusal_of_column(self, release: Release, plan: Plan | None) -> str | None:
        """The same of the one sensitive column that is named."""
        wanted = self.sensitive
        assert wanted is not None, "each column is attacked by itself"
        if wanted in (self.columns or ()):
            return f"column {wanted!r} is known, so that nobody wants to know it"
        if reason := refusal_to_show(release, wanted, plan):
            return reason
        return nobody_known(release, self.columns)

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release, as any adversary does; private.

        Where no column is named he is after each in turn: the outcome is that of the column of
        which he gains most over guessing, and a note tells of all.
        """
        if self.sensitive is not None:
            return super().run(release, original, plan, randomness)
        require_sense(self.name, self.refusal(release, plan))
        people = People(from_native(original)[0], plan)
        scene = Scene(release, people, randomness or Randomness.secure())
        found = {
            str(one.sensitive): one.outcome(scene)
            for one in self._one_by_one(release)
            if one.refusal_of_column(release, plan) is None
        }
        most = max(found, key=lambda name: found[name].gain)
        if len(found) == 1:
            return found[most]
        told = "; ".join(
            f"{name!r} {one.success.value:.1%}, guessing {one.baseline:.1%}"
            for name, one in found.items()
        )
        note = f"of {len(found)} sensitive columns {most!r} is given away most: {told}"
        return replace(found[most], notes=(note, *found[most].notes))

    def _one_by_one(self, release: Release) -> list[Self]:
        """The same adversary after the column that is named, or after each that he wants."""
        names = self._wanted_in(release) if self.sensitive is None else [self.sensitive]
        return [replace(self, sensitive=name) for name in names]

    def _wanted_in(self, release: Release) -> list[str]:
        """The columns that he wants where none is named: the sensitive ones that are shown."""
        owners = map(release.disclosure.owner, release.roles.get("sensitive", ()))
        return list(dict.fromkeys(name for name in owners if name is not None))

    def aim(self, scene: Scene) -> AttributeTarget:
        """What is wanted of which people, and by which columns they are known."""
        people = scene.people
        if not people.frame.height:
            msg = "the private original has no rows at which the attack could be aimed"
            raise TableError(msg)
        name = self.sensitive
        assert name is not None, "each column is attacked by itself"
        published = with_texts(scene.published, name)
        columns = known_columns(published, people, self.columns, name)
        targets = self._targets(scene, columns, name)
        return AttributeTarget(Wanted(published, people, name, targets, self.distance), columns)

    def guess(self, scene: Scene, aim: AttributeTarget) -> Guesses:
        """How probable each value is theirs."""
        wanted, people = aim.wanted, scene.people
        sightings = scene.sightings(wanted.published, aim.columns, wanted.targets)
        parts = [(self._judged(b), b.fits) for b in self._beliefs(aim, sightings)]
        judged = Judged.joined([judged for judged, _ in parts])
        nowhere = len(wanted.targets) - sum(int(fits.sum()) for _, fits in parts)
        described = people.frame.select(aim.columns)
        return Guesses(
            goal=self._goal(wanted),
            success=judged.success,
            probability=judged.probability,
            baseline=float(judged.baseline.mean()),
            known=lambda i: described.row(int(wanted.targets[i]), named=True),
            assumptions=(
                *_assumed(aim.columns, wanted, scene.release),
                *self._assumptions(wanted),
            ),
            notes=(
                *_notes(nowhere),
                *self._notes(judged, wanted),
                *sightings.notes,
            ),
            drawn_from=aim.drawn_from,
        )

    def _beliefs(self, aim: AttributeTarget, sightings: Sightings) -> Iterator[Beliefs]:
        """What he believes of the targets, some at a time; ``sightings`` are of the release."""
        return beliefs_of(aim.wanted, sightings)

    def _targets(self, scene: Scene, columns: Sequence[str], wanted: str) -> NDArray[np.int64]:
        """At which rows of the original it is aimed."""
        # Two who are known alike may differ in what is wanted: that tells them apart here.  All
        # that anybody wants does, so that it is the same people whichever column is asked for.
        there = scene.people.frame.columns
        names = {*columns, wanted, *(n for n in self._wanted_in(scene.release) if n in there)}
        return draw_targets(scene.people, tuple(names), self.targets, scene.randomness)

    @abstractmethod
    def _goal(self, wanted: Wanted) -> str:
        """What counts as a success, as a clause."""

    @abstractmethod
    def _judged(self, beliefs: Beliefs) -> Judged:
        """What the attack comes to for some of the targets."""

    def _assumptions(self, wanted: Wanted) -> Iterator[str]:
        """What the adversary knows beyond what all such adversaries do."""
        return iter(())

    @abstractmethod
    def _notes(self, judged: Judged, wanted: Wanted) -> Iterator[str]:
        """What the attack found on the way."""


@dataclass(frozen=True, eq=False)
class AttributeTarget:
    """Somebody's value in a column, and what is known of that person."""

    wanted: Wanted
    columns: tuple[str, ...]
    """What the adversary knows."""
    drawn_from: int | None = None
    """Of how many the targets were drawn; None: all who are protected."""


def beliefs_of(wanted: Wanted, sightings: Sightings) -> Iterator[Beliefs]:
    """What the adversary believes of the targets, some at a time."""
    _, shares = shares_of(wanted.published, sightings, wanted.column)
    shown, values = shares.shape
    prior = (sightings.rows @ shares) / sightings.rows.sum()
    pairs = PAIRS * shown // max(shown, values)
    for chunk, weights in posteriors(sightings, len(wanted.targets), pairs=pairs):
        posterior = (weights * sightings.rows) @ shares
        fits = weights.max(axis=1) > 0
        posterior[~fits] = prior
        yield Beliefs(wanted, posterior, prior, wanted.right(chunk), fits)


def _assumed(columns: Sequence[str], wanted: Wanted, release: Release) -> Iterator[str]:
    yield f"the adversary knows {', '.join(columns)} of a target exactly"
    yield "he knows that the target is in the table that was published"
    yield "he knows the release, and the method with its parameters"
    yield f"he knows how the published values of {wanted.name!r} are distributed"
    if (chance := sampling(release)) < 1:
        yield f"each row was sampled with probability {chance:g}, and he does not know which"
    if release.rows < wanted.people.frame.height:
        yield "he takes people whose rows were left out to be like those who fit, if any do"


def _notes(nowhere: int) -> Iterator[str]:
    if nowhere:
        yield (
            f"no published row fits {nowhere:,} of the targets; of them the adversary believes "
            "what he did before"
        )
