"""The course of an attack on people: aim, guess, and what the guesses come to.

An attack says whom it is aimed at and what is known of them (``aim``), and how good the guesses
about them are (``guess``); everything else stands here, once: whether the attack makes sense, what
the private files say, who is given away most, and rates with their intervals.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.attack.posterior import worst_and_typical
from voile.attack.protocol import Attack, AttackOutcome, Estimate, KnownRows, Target, require_sense
from voile.release.reading import People, PublishedRows, Sightings
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.arrays import from_native
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document

__all__ = ["Adversary", "Guesses", "Scene"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

Aim = TypeVar("Aim")

_ROUNDING = 1e-9
"""Within which two means are the same."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A release, and what is true of its people; private."""

    release: Release
    people: People
    """The original, with its plan."""
    randomness: Randomness
    """Draws the targets, and whatever else an attack draws."""

    @cached_property
    def published(self) -> PublishedRows:
        """The rows of the release, read once."""
        return PublishedRows.of(self.release)

    def sightings(
        self, published: PublishedRows, columns: Sequence[str], targets: Indices
    ) -> Sightings:
        """What the release shows of some targets.

        The last answer is kept as long as the release is: several attacks ask the same.
        """
        if published.release is not self.release:  # with intervals as texts, made for one question
            return Sightings.of(published, self.people, columns, targets)
        asked = tuple(columns), targets.tobytes()
        last = _LAST_SEEN.get(self.release)
        if last is None or last.people is not self.people or last.asked != asked:
            found = Sightings.of(published, self.people, columns, targets)
            last = _LAST_SEEN[self.release] = _LastSeen(self.people, asked, found)
        return last.found

    @staticmethod
    def forget(release: Release) -> None:
        """Let go of the last answer about a release."""
        _LAST_SEEN.pop(release, None)


@dataclass(frozen=True, eq=False)
class _LastSeen:
    """What was last asked about some people, and what a release shows of them; private."""

    people: People
    asked: tuple[tuple[str, ...], bytes]
    """The columns, and the rows."""
    found: Sightings


_LAST_SEEN: WeakKeyDictionary[Release, _LastSeen] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Guesses:
    """What an attack came to for t targets; private."""

    goal: str
    """What counts as a success, as a clause."""
    success: Floats
    """Shape (t,): the chance that it succeeds."""
    probability: Floats
    """Shape (t,): the probability that the adversary gives to the truth."""
    baseline: float
    """The success of guessing without looking at the release."""
    known: Callable[[int], Document]
    """What he knows of a target, by its place."""
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    checked: bool = True
    """Whether successes were counted; False: they are what he believes."""
    bounded: bool = True
    """Whether no adversary of the kind succeeds more often, as far as is known; False: who reads
    missing cells otherwise may."""
    upper_bound: bool = False
    """Whether figures that bound him are bounds alone, and he may succeed less often."""
    aimed: Floats | None = None
    """Shape (t,): by how much each target is given away; None: ``probability``."""
    shown: Indices | None = None
    """Indices of the targets of whom something can be shown; None: all."""
    drawn_from: int | None = None
    """Of how many the targets were drawn; None: all who are protected in the original."""
    aimed_at: Protected | None = None
    """What a target is; None: who is protected."""
    mean: Fraction | None = None
    """The mean of ``success`` over all of ``drawn_from``, where it has a closed form."""

    @property
    def worst_and_typical(self) -> tuple[Target | None, Target | None]:
        """The targets who are given away most, and by the median."""
        aimed = self.probability if self.aimed is None else self.aimed
        places = np.arange(len(aimed)) if self.shown is None else self.shown
        if not len(places):
            return None, None
        worst, typical = (int(places[i]) for i in worst_and_typical(aimed[places]))
        return self._target(worst, aimed), self._target(typical, aimed)

    def estimate(self, shares: Floats, *, all_of_them: bool) -> Estimate:
        """The mean of shares of the targets (t,), or that in closed form.

        Of ``all_of_them`` there is no interval, for none was drawn.
        """
        if self.mean is not None:
            return Estimate.exactly(float(self.mean))
        if all_of_them and len(shares):
            return Estimate.exactly(min(max(float(shares.mean()), 0.0), 1.0))
        return Estimate.of_total(float(shares.sum()), len(shares))

    def with_earlier(self, release: Release) -> Guesses:
        """The same for who has all releases of a series whose rows stay in their groups.

        Rows that stood in the same groups of all releases, and are absent from the same, are a
        class (``publish.generalization.lasting``); he who knows when each person joined and left
        looks for a person among the rows of one, though more of this release fit.
        """
        decided = release.method.get("decision")
        classes, fewest = (
            decided.get(key) if isinstance(decided, Mapping) else None
            for key in ("classes", "rows_of_smallest_class")
        )
        if not (isinstance(classes, int) and isinstance(fewest, int) and release.rows):
            return self
        mean = Fraction(classes, release.rows)
        own = self.mean if self.mean is not None else Fraction(float(self.success.mean()))
        aimed = np.array(self.probability if self.aimed is None else self.aimed)
        places = np.arange(len(aimed)) if self.shown is None else self.shown
        worst = places[np.argmax(aimed[places])] if len(places) else 0
        if mean <= own + _ROUNDING and (not len(places) or 1 / fewest <= aimed[worst]):
            return self
        if len(places):
            aimed[worst] = max(aimed[worst], 1 / fewest)
        told = (
            "who has all releases of the series, and knows when each person joined and left, looks "
            f"for a person among {fewest:,} rows or more, of {classes:,} classes; of whom that is "
            "true was not told apart"
        )
        return replace(self, mean=max(own, mean), aimed=aimed, notes=(*self.notes, told))

    def _target(self, place: int, aimed: Floats) -> Target:
        return Target(self.known(place), float(aimed[place]))


class Adversary(Attack, Generic[Aim]):
    """An attack that is aimed at people and succeeds or fails for each of them."""

    finds_rows: ClassVar[bool] = False
    """Whether he looks for a person's row, of which earlier releases of a series tell more."""
    known_rows: ClassVar[KnownRows] = "one"
    """Whether he knows one row of a person who has several, or all of them."""

    @abstractmethod
    def aim(self, scene: Scene) -> Aim:
        """Whom the attack is aimed at, and what he knows of them.

        Raises ``InputError``, ``TableError`` or ``PlanError`` where the release, the original and
        the plan disagree.
        """

    @abstractmethod
    def guess(self, scene: Scene, aim: Aim) -> Guesses:
        """What his guesses about them come to."""

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release of a table, given as a data frame of any kind; private.

        ``randomness`` draws the targets.  Raises ``InputError``, ``TableError`` or ``PlanError``
        where the release, the original and the plan disagree, or where the attack makes no sense.
        """
        require_sense(self.name, self.refusal(release, plan))
        people = People.of(release, from_native(original)[0], plan)
        return self.outcome(Scene(release, people, randomness or Randomness.secure()))

    def outcome(self, scene: Scene) -> AttackOutcome:
        """The same of what has been read already, of a release of which it makes sense."""
        people, found = scene.people, self.guess(scene, self.aim(scene))
        found = found.with_earlier(scene.release) if self.finds_rows else found
        drawn_from = people.units[1] if found.drawn_from is None else found.drawn_from
        exact = found.mean is not None
        count = drawn_from if exact else len(found.success)
        whole = count == drawn_from and (found.aimed_at or people.protected) == "row"
        worst, typical = found.worst_and_typical
        return AttackOutcome(
            attack=self.name,
            goal=found.goal,
            targets=count,
            checked=found.checked,
            bounded=found.bounded,
            upper_bound=found.bounded and found.upper_bound,
            success=found.estimate(found.success, all_of_them=whole),
            probability=found.estimate(found.probability, all_of_them=whole),
            baseline=found.baseline,
            worst=worst,
            typical=typical,
            assumptions=(*found.assumptions, *self._of_rows(people)),
            notes=found.notes,
            aimed_at=found.aimed_at or people.protected,
            drawn_from=drawn_from,
            exact=exact,
            known_rows=self.known_rows,
        )

    def _of_rows(self, people: People) -> Iterator[str]:
        """Which rows of a target he knows, where persons may have several."""
        unit = people.protected
        if unit != "row" and self.known_rows == "one":
            yield f"he knows one row of a {unit}, and not which others are of the same {unit}"
        elif unit != "row":
            yield f"he knows all rows of a {unit}"
