"""The course of an attack on people: aim, guess, and what the guesses come to.

An attack says whom it is aimed at and what is known of them (``aim``), and how good the guesses
about them are (``guess``); everything else stands here, once: whether the attack makes sense, what
the private files say, who is given away most, and rates with their intervals.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.knowledge import require_sense
from voile.attack.outcome import AttackOutcome, Estimate, Target
from voile.attack.posterior import worst_and_typical
from voile.attack.protocol import Attack
from voile.randomness import Randomness
from voile.release.reading.sightings import People
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.frames import from_native

__all__ = ["Adversary", "Guesses", "Scene"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

Aim = TypeVar("Aim")


@dataclass(frozen=True, eq=False)
class Scene:
    """A release, and what is true of its people; private."""

    release: Release
    people: People
    """The original, with its plan."""
    randomness: Randomness
    """Draws the targets, and whatever else an attack draws."""


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
    known: Callable[[int], Mapping[str, Any]]
    """What he knows of a target, by its place."""
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    checked: bool = True
    """Whether successes were counted; False: they are what he believes."""
    aimed: Floats | None = None
    """Shape (t,): by how much each target is given away; None: ``probability``."""
    shown: Indices | None = None
    """Indices of the targets of whom something can be shown; None: all."""

    @property
    def worst_and_typical(self) -> tuple[Target | None, Target | None]:
        """The targets who are given away most, and by the median."""
        aimed = self.probability if self.aimed is None else self.aimed
        places = np.arange(len(aimed)) if self.shown is None else self.shown
        if not len(places):
            return None, None
        worst, typical = (int(places[i]) for i in worst_and_typical(aimed[places]))
        return self._target(worst, aimed), self._target(typical, aimed)

    def _target(self, place: int, aimed: Floats) -> Target:
        return Target(self.known(place), float(aimed[place]))


class Adversary(Attack, Generic[Aim]):
    """An attack that is aimed at people and succeeds or fails for each of them."""

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
        people = People(from_native(original)[0], plan)
        scene = Scene(release, people, randomness or Randomness.secure())
        found = self.guess(scene, self.aim(scene))
        count = len(found.success)
        worst, typical = found.worst_and_typical
        return AttackOutcome(
            attack=self.name,
            goal=found.goal,
            targets=count,
            checked=found.checked,
            success=Estimate.of_total(float(found.success.sum()), count),
            probability=Estimate.of_total(float(found.probability.sum()), count),
            baseline=found.baseline,
            worst=worst,
            typical=typical,
            assumptions=found.assumptions,
            notes=found.notes,
        )
