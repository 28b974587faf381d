"""What every adversary offers, whatever he is after.

An attack is an immutable object; its fields state the background knowledge of the adversary, and
are validated at construction.  It takes a release, and the private original to draw its targets
from and to judge its guesses by, and ends in an ``AttackOutcome``.
"""

from __future__ import annotations

from typing import Any, Protocol

from voile.attack.outcome import AttackOutcome
from voile.randomness import Randomness
from voile.release.release import Release
from voile.schema.plan import Plan

__all__ = ["Attack"]


class Attack(Protocol):
    """An adversary with stated background knowledge."""

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release of a table, given as a data frame of any kind; private.

        ``plan`` is that of the original: texts for missing values, hierarchies and bounds, which
        are public.  ``randomness`` draws the targets; without it they differ from run to run.
        Raises ``InputError``, ``TableError`` or ``PlanError`` where the release, the original and
        the plan disagree, or where the attack makes no sense.
        """
