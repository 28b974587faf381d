"""What every adversary offers, whatever he is after, and what he can be told.

An attack is an immutable dataclass; its fields state the background knowledge of the adversary, and
are validated at construction.  It takes a release, and the private original to draw its targets
from and to judge its guesses by, and ends in an ``AttackOutcome``.

A field may say in its metadata how a command asks for it (``asked``).  Most attacks on people are
made of an aim and a guess: see ``adversary``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from voile.attack.asking import asked
from voile.attack.outcome import AttackOutcome
from voile.attack.worlds import GroupChoice
from voile.release.release import Release
from voile.schema.plan import Plan
from voile_base.randomness import Randomness

__all__ = ["ARRIVED", "Attack", "Knowledge", "asked"]

ARRIVED = "\1arrived"
"""No file has a column of this name."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What whoever runs attacks can tell any adversary; None is left as the attack has it.

    An attack has a use for what it has a field of the same name and meaning for.
    """

    targets: int | None = None
    """At how many people the attack is aimed."""
    columns: Sequence[str] | None = None
    """Columns of the original that the adversary knows of people."""
    link: str | None = None
    """A column of the release and the original that tells rows apart, by which right guesses are
    counted; the adversary has it not."""
    absent: Any = None
    """A data frame of people of the same origin who are not in the table."""
    earlier: Sequence[Release] | None = None
    """Earlier releases of the same table, the newest first."""
    arrivals: Any = None
    """A data frame of what people publish, and in the column ``ARRIVED`` the number of the release
    of a series before which each of them arrived, from 1."""
    choice_of: Callable[[Any], GroupChoice] | None = None
    """What gives the groups that Voile chooses for a table, a data frame; see ``worlds``."""


class Attack(ABC):
    """An adversary with stated background knowledge; a frozen dataclass."""

    needs_absent: ClassVar[bool] = False
    """Whether he must know people who are not in the table: a study holds some out for him."""
    counts_by_link: ClassVar[bool] = False
    """Whether a ``link`` turns what he believes into what can be counted."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""

    @abstractmethod
    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""

    @abstractmethod
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

    def told(self, knowledge: Knowledge) -> Self:
        """The same adversary, who also knows this as far as he has a use for it.

        Raises ``InputError`` as his own validation does.
        """
        own = {field.name for field in fields(self) if field.init}  # type: ignore[arg-type]
        said = {field.name: getattr(knowledge, field.name) for field in fields(Knowledge)}
        used = {name: it for name, it in said.items() if it is not None and name in own}
        return replace(self, **used) if used else self  # type: ignore[type-var]
