"""Linkage: whose row is it?  The prosecutor, the journalist and the marketer.

What it does: for published rows, drawn at random or all, finds how often an adversary who knows
people by some columns joins a row with the person whose it is.

Source: El Emam and Dankar, "Protecting privacy using k-anonymity" (JAMIA 15, 2008), for the
prosecutor and the journalist; Dankar and El Emam, "A method for evaluating marketer
re-identification risk" (PAIS 2010), for the marketer.  With f published rows that look like a row,
and F people of the population who fit it, n rows and J groups of rows that look alike:

    prosecutor    knows a person whose row is in the release, and looks for     1 / f, at most
                  the row                                                       1 / min f
    journalist    picks a row, and looks for its person in a population, of     1 / F, at most
                  whom he does not know who is in the release                   1 / min F
    marketer      joins every row with somebody of a population, and wants      sum of 1 / F over
                  to be right as often as he can                                all rows, over n

Claim: these are the figures here where rows were generalized, whatever the method, if groups do not
overlap; on average the prosecutor is right for J / n of the rows, and so is the marketer where
the population is the table.  With noise, or with permuted columns, the best guess takes the place
of a guess among equals (``posterior``).  Rates are counted; see ``owners`` for how the truth is
known, and ``AttackOutcome.checked`` for where it is not.

Algorithm: draw published rows; name the owner of each; weigh the owner against all published rows
(prosecutor), or the row against all people (journalist, marketer), and normalize.

Cost: O(d n m) for d different people, n different rows and m columns, of which only as many rows
are weighed as there are targets; see ``posterior``.

Departures: a target is a published row with its owner, not a person of the table, so that means
are over rows, as in the definitions, also where rows were left out or sampled.  The marketer joins
rows one by one, and not all people with all rows at once: this changes nothing for rows that look
alike, and with noise he may be right a little more often than is said here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.knowledge import (
    COLUMNS,
    LINK,
    TARGETS,
    check_targets,
    checked_columns,
    nobody_known,
)
from voile.attack.owners import Crowd, Owners
from voile.attack.posterior import draw_rows, owner_posteriors, posteriors
from voile.attack.protocol import asked
from voile.disclosure.noisy import Noisy
from voile.disclosure.permuted import Permuted
from voile.release.reading.sightings import People, PublishedRows, Sightings, known_columns
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.frames import from_native

__all__ = ["JournalistAttack", "MarketerAttack", "ProsecutorAttack"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class _LinkageAttack(Adversary["_Aim"]):
    """An adversary who joins published rows and people.

    Raises ``InputError`` where no target or no column is asked for.
    """

    counts_by_link = True

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Columns of the original that the adversary knows; None: the quasi-identifiers."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """How many published rows are drawn, with their owners; None: all."""
    link: str | None = field(default=None, metadata=LINK)
    """A column of the release and the original that tells rows apart; the adversary has it not."""

    def __post_init__(self) -> None:
        check_targets(self.targets)
        object.__setattr__(self, "columns", checked_columns(self.columns, self.link))

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        return nobody_known(release, self.columns)

    def aim(self, scene: Scene) -> _Aim:
        """Some published rows, and whose they are."""
        published, people = PublishedRows.of(scene.release), self._people(scene)
        columns = known_columns(published, people, self.columns, self.link)
        rows = draw_rows(published, self.targets, scene.randomness)
        if self.link is None:
            owners = Owners.drawn(published, people, rows, scene.randomness.key("owners"))
        else:
            owners = Owners.linked(published, people, rows, self.link)
        return _Aim(published, people, columns, rows, owners)

    def guess(self, scene: Scene, aim: _Aim) -> Guesses:
        """Who is joined with which row."""
        found = self._joined(aim)
        checked = self.link is not None or (aim.owners.told and not found.overlap)
        described = aim.people.frame.select(aim.columns)
        return Guesses(
            goal=self._goal,
            success=found.right,
            probability=found.given,
            baseline=1 / found.choices,
            known=lambda i: described.row(int(aim.owners.person[i]), named=True),
            assumptions=tuple(self._assumptions(aim, checked=checked)),
            notes=(*found.notes, *_notes(aim)),
            checked=checked,
            shown=np.flatnonzero(aim.owners.person >= 0),
        )

    def _people(self, scene: Scene) -> People:
        """Those whom he joins with rows."""
        return scene.people

    @property
    @abstractmethod
    def _goal(self) -> str:
        """What counts as a success, as a clause."""

    @abstractmethod
    def _joined(self, aim: _Aim) -> _Joined:
        """How often he is right."""

    @abstractmethod
    def _knowledge(self) -> str:
        """What he knows besides, as a clause."""

    def _assumptions(self, aim: _Aim, *, checked: bool) -> Iterator[str]:
        named = ", ".join(aim.columns)
        yield f"the adversary knows {named} of people exactly"
        yield self._knowledge()
        yield "he knows the release, and the method with its parameters"
        if self.link is None and checked:
            yield (
                "whose row is whose is told by all columns that the release and the original have; "
                "where several people fit a row alike, one of them was drawn as its owner"
            )
        elif self.link is None:
            yield (
                "nothing tells for certain which row is whose: the rates are what may be believed, "
                "and no count of right guesses"
            )


@dataclass(frozen=True)
class ProsecutorAttack(_LinkageAttack):
    """An adversary who knows that a person's row is in the release, and looks for it.

    Raises ``InputError`` where no target or no column is asked for.
    """

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "prosecutor"

    @property
    def _goal(self) -> str:
        return "of all published rows, the one picked for a person is the person's own"

    def _knowledge(self) -> str:
        return "he knows that the person's row is in the release"

    def _joined(self, aim: _Aim) -> _Joined:
        return _row_of_each_owner(aim)


@dataclass(frozen=True)
class JournalistAttack(_LinkageAttack):
    """An adversary who picks a published row, and looks for its person in a population.

    Raises ``InputError`` where no target or no column is asked for.
    """

    population: Any = field(
        default=None,
        metadata=asked(
            "--register",
            "people",
            "The people among whom the journalist and the marketer look for the person of a row, "
            "everybody of INPUT among them [default: INPUT].",
            "FILE",
        ),
    )
    """A data frame of people with the columns of the original, everybody of the table among them;
    None: the original itself, with the rows that were not published."""

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "journalist"

    @property
    def _goal(self) -> str:
        return "of all people, the one picked for a published row is the one whose row it is"

    def _people(self, scene: Scene) -> People:
        if self.population is None:
            return scene.people
        return People(from_native(self.population)[0], scene.people.plan)

    def _knowledge(self) -> str:
        whom = "everybody in the table" if self.population is None else "a population"
        return f"he has a list of {whom}, and does not know whose rows were published"

    def _joined(self, aim: _Aim) -> _Joined:
        return _owner_of_each_row(aim)


@dataclass(frozen=True)
class MarketerAttack(JournalistAttack):
    """An adversary who joins every published row with somebody, to be right as often as he can.

    Raises ``InputError`` where no target or no column is asked for.
    """

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "marketer"

    @property
    def _goal(self) -> str:
        return "a published row, each being joined with somebody, is joined with its own person"


@dataclass(frozen=True, eq=False)
class _Aim:
    """Some published rows with their owners, and what the adversary has to join them."""

    published: PublishedRows
    people: People
    columns: tuple[str, ...]
    """What the adversary knows of people."""
    rows: Indices
    """The t published rows that are targets."""
    owners: Owners
    """Of these rows."""

    @property
    def is_plain(self) -> bool:
        """Whether rows either fit or do not: what is known is neither noisy nor permuted."""
        shown = map(self.published.shown, self.columns)
        return not any(isinstance(one, Noisy | Permuted) for one in shown)


@dataclass(frozen=True, eq=False)
class _Joined:
    """What came of t targets."""

    right: Floats
    """Shape (t,): the chance that the best guess is right."""
    given: Floats
    """Shape (t,): the probability that the adversary gives to the truth."""
    choices: int
    """Among how many rows or people he chooses."""
    notes: tuple[str, ...]
    overlap: bool = False
    """Whether people fit rows of several groups, so that owners may be drawn wrongly."""


def _row_of_each_owner(aim: _Aim) -> _Joined:
    """The owners of t rows, each weighed against all published rows."""
    with_owner = np.flatnonzero(aim.owners.person >= 0)
    owners = aim.owners.person[with_owner]
    sightings = Sightings.of(aim.published, aim.people, aim.columns, owners)
    own = sightings.place[aim.rows[with_owner]]
    right, given = np.zeros(len(aim.rows)), np.zeros(len(aim.rows))
    several = 0
    for chunk, weights in posteriors(sightings, len(owners)):
        best = weights == weights.max(axis=1, keepdims=True)
        one = np.arange(len(weights)), own[chunk]
        fits = weights[one] > 0
        right[with_owner[chunk]] = fits * best[one] / (best @ sightings.rows)
        given[with_owner[chunk]] = weights[one]
        several += int((np.count_nonzero(weights, axis=1) > 1).sum())
    notes = sightings.notes
    plain = aim.is_plain
    if plain and several:
        notes += (f"{several:,} of the targets fit rows of several groups, which overlap",)
    elif plain:
        notes += (
            f"of the {len(sightings.rows):,} combinations that are published the rarest stands in "
            f"{sightings.rows.min():,} of the rows",
        )
    return _Joined(right, given, len(sightings.place), notes, overlap=plain and several > 0)


def _owner_of_each_row(aim: _Aim) -> _Joined:
    """The t rows, each weighed against all people."""
    crowd = Crowd.of(aim.people, aim.columns)
    every = Sightings.of(aim.published, aim.people, aim.columns, crowd.first)
    wanted, sighting = np.unique(every.place[aim.rows], return_inverse=True)
    own = np.append(crowd.number, -1)[aim.owners.person]
    right, given = np.zeros(len(aim.rows)), np.zeros(len(aim.rows))
    for chunk, who, weights in owner_posteriors(every.only(wanted), crowd.count):
        place = np.full(len(crowd.count) + 1, -1)
        place[who] = np.arange(len(who))
        within = (chunk.start <= sighting) & (sighting < chunk.stop) & (place[own] >= 0)
        these = np.flatnonzero(within)
        best = weights == weights.max(axis=0, initial=0.0)
        one = place[own[these]], sighting[these] - chunk.start
        fits = weights[one] > 0
        right[these] = fits * best[one] / (crowd.count[who] @ best)[one[1]]
        given[these] = weights[one]
    return _Joined(right, given, aim.people.frame.height, every.notes)


def _notes(aim: _Aim) -> Iterator[str]:
    nobody = int((aim.owners.person < 0).sum())
    if nobody:
        yield f"{nobody:,} of the rows belong to nobody who is known; for them every guess fails"
    if permuted := aim.published.permuted:
        bare = [name for name in aim.columns if name not in permuted]
        if bare:
            yield (
                f"{', '.join(bare)}: published as they are, so that finding rows by them breaks no "
                "promise; what the release hides is which permuted value belongs to a row"
            )
