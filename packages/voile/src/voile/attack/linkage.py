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

Where the plan names persons or households, they take the place of rows: f are the persons who have
a published row that looks like theirs, F the persons of the population who fit, and means are over
persons.

Claim: these are the figures here where rows fit or do not, whatever the method; on average the
prosecutor is right for J / n of the rows where groups do not overlap, and so is the marketer where
the population is the table.  With noise, or with permuted columns, the best guess takes the place
of a guess among equals (``joining``).  See ``owners`` and ``standing`` for how the truth is known,
and ``AttackOutcome.checked`` for where it is not.

Algorithm: find the combinations that each row of the original fits (``fitted``) and the one it was
published with (``standing``), and count over all of them (``closed_form``).  Where that cannot be
told, or rows are too many, draw targets, weigh and normalize (``joining``): what is a sample says
so.

Cost: that of ``fitted``, ``standing`` and ``closed_form``; elsewhere that of ``joining``.

Departures: a target is a published row with its owner, not a person of the table, so that means
are over rows, as in the definitions, also where rows were left out or sampled; of persons, over
those who have a published row.  The marketer joins rows one by one, and not all people with all
rows at once: this changes nothing for rows that look alike, and with noise he may be right a little
more often than is said here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asks
from voile.attack.closed_form import ClosedForm
from voile.attack.fitted import Fitted
from voile.attack.joining import Joined, JoinTask, owner_of_each_row, rarest_rows, row_of_each_owner
from voile.attack.knowledge import (
    COLUMNS,
    LINK,
    TARGETS,
    check_targets,
    checked_columns,
    nobody_known,
)
from voile.attack.standing import Standing
from voile.release.reading.rows import require_columns
from voile.release.reading.sightings import People, PublishedRows, known_columns
from voile.release.release import Release
from voile.schema.persons import units_told
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.frames import from_native
from voile_base.errors import TableError, nearest

__all__ = ["JournalistAttack", "MarketerAttack", "ProsecutorAttack"]


@dataclass(frozen=True)
class _LinkageAttack(Adversary["JoinTask | ClosedForm"]):
    """An adversary who joins published rows and people.

    Raises ``InputError`` where no target or no column is asked for.
    """

    counts_by_link = True

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Columns of the original that the adversary knows; None: the quasi-identifiers."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """How many published rows are drawn, with their owners, where the risk has no closed form;
    None: all."""
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

    def aim(self, scene: Scene) -> JoinTask | ClosedForm:
        """All rows that are published, or some of them, and whose they are."""
        published, people = scene.published, self._people(scene)
        columns = known_columns(published, scene.people, self.columns, self.link)
        require_columns(people, columns, "the population")
        if _is_of_people(published):
            found = self._counted_in_full(scene, published, columns)
            if found is not None:
                return found
        asked = columns, self.link, self.targets, scene.randomness
        if people.protected == "row" or not _is_of_people(published):
            return JoinTask.at_rows(published, people, *asked)
        return JoinTask.at_persons(published, (scene.people, people), *asked)

    def _counted_in_full(
        self, scene: Scene, published: PublishedRows, columns: Sequence[str]
    ) -> ClosedForm | None:
        """The risk of all there are; None where it has no closed form."""
        people = scene.people
        fitted = Fitted.of(published, people, columns)
        if fitted is None:
            return None
        if self.link is not None:
            standing = Standing.linked(fitted, published, people, self.link)
        else:
            key = scene.randomness.key("standing")
            standing = Standing.of(fitted, published, people, columns, key)
        return None if standing is None else self._closed_form(scene, fitted, standing)

    def guess(self, scene: Scene, aim: JoinTask | ClosedForm) -> Guesses:
        """Who is joined with which row."""
        if isinstance(aim, ClosedForm):
            return self._counted(scene, aim)
        found = self._joined(aim)
        checked = self.link is not None or (
            aim.owners.told and not found.overlap and not scene.release.disclosure.made_up
        )
        described = aim.people.frame.select(aim.columns)
        unit = aim.people.protected if aim.by_person else "row"
        return Guesses(
            goal=self._goal if unit == "row" else self._goal_of(unit),
            success=found.right,
            probability=found.given,
            baseline=1 / found.choices,
            known=lambda i: described.row(int(aim.owners.person[i]), named=True),
            assumptions=tuple(self._assumptions(aim, checked=checked)),
            notes=(*_made_up_notes(aim.published), *found.notes, *_notes(aim)),
            checked=checked,
            shown=np.flatnonzero(aim.owners.person >= 0),
            drawn_from=aim.drawn_from,
            aimed_at=unit,
        )

    def _counted(self, scene: Scene, found: ClosedForm) -> Guesses:
        """What is counted of all there are."""
        published = scene.published
        columns = known_columns(published, scene.people, self.columns, self.link)
        described = scene.people.frame.select(columns)
        risk, worst, known = 1 / found.alike, None, found.known
        if not found.exact:
            risk, worst, known = found.by_unit
        return Guesses(
            goal=self._goal if found.aimed_at == "row" else self._goal_of(found.aimed_at),
            success=risk,
            probability=risk,
            baseline=1 / found.choices,
            known=lambda i: described.row(int(known[i]), named=True),
            assumptions=tuple(self._assumptions_in_full(columns, found)),
            notes=(
                *_made_up_notes(published),
                *self._notes_in_full(found),
                *_bare_notes(published, columns),
            ),
            aimed=worst,
            drawn_from=found.targets,
            aimed_at=found.aimed_at,
            mean=found.mean if found.exact else None,
            checked=not scene.release.disclosure.made_up,
        )

    @abstractmethod
    def _closed_form(self, scene: Scene, fitted: Fitted, standing: Standing) -> ClosedForm | None:
        """The risk of all rows, or of all persons; None where it has no closed form."""

    @abstractmethod
    def _goal_of(self, unit: Protected) -> str:
        """What counts as a success where persons or households are looked for, as a clause."""

    def _notes_in_full(self, found: ClosedForm) -> Iterator[str]:
        """Who is easiest to find, and what was drawn."""
        fewest = int(found.alike.min())
        if found.overlapping:
            yield f"{found.overlapping:,} of the targets fit rows of several groups, which overlap"
        if found.aimed_at != "row" and found.overlapping:
            yield f"nobody is looked for among fewer than {units_told(found.aimed_at, fewest)}"
        elif found.aimed_at != "row":
            yield (
                f"of the {found.combinations:,} combinations that are published the rarest is of "
                f"{units_told(found.aimed_at, fewest)}"
            )
        if not found.exact:
            yield (
                "which of the rows that fit were published cannot be told from the release: they "
                "were drawn, each as likely as another"
            )

    def _assumptions_in_full(self, columns: Sequence[str], found: ClosedForm) -> Iterator[str]:
        named, unit = ", ".join(columns), found.aimed_at
        if unit == "row":
            yield f"the adversary knows {named} of people exactly"
        else:
            yield f"the adversary knows {named} of one row of a {unit} exactly, whichever it is"
        yield self._knowledge()
        yield "he knows the release, and the method with its parameters"

    def _people(self, scene: Scene) -> People:
        """Those whom he joins with rows."""
        return scene.people

    @property
    @abstractmethod
    def _goal(self) -> str:
        """What counts as a success, as a clause."""

    @abstractmethod
    def _joined(self, aim: JoinTask) -> Joined:
        """How often he is right."""

    @abstractmethod
    def _knowledge(self) -> str:
        """What he knows besides, as a clause."""

    def _assumptions(self, aim: JoinTask, *, checked: bool) -> Iterator[str]:
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

    def _goal_of(self, unit: Protected) -> str:
        return f"of all {unit}s who have a published row that fits, the right one is picked"

    def _knowledge(self) -> str:
        return "he knows that the person's row is in the release"

    def _closed_form(self, scene: Scene, fitted: Fitted, standing: Standing) -> ClosedForm | None:
        return ClosedForm.of_prosecutor(fitted, standing, scene.people)

    def _notes_in_full(self, found: ClosedForm) -> Iterator[str]:
        yield from super()._notes_in_full(found)
        if found.aimed_at == "row" and not found.overlapping:
            yield rarest_rows(found.combinations, int(found.alike.min()))

    def _joined(self, aim: JoinTask) -> Joined:
        return row_of_each_owner(aim)


@dataclass(frozen=True)
class JournalistAttack(_LinkageAttack):
    """An adversary who picks a published row, and looks for its person in a population.

    Raises ``InputError`` where no target or no column is asked for.
    """

    population: Any = field(
        default=None,
        metadata=asks("--register"),
    )
    """A data frame of people with the columns of the original, everybody of the table among them;
    None: the original itself, with the rows that were not published.  Where the plan names persons
    or households, the population has their column, and they are counted by it."""

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "journalist"

    @property
    def _goal(self) -> str:
        return "of all people, the one picked for a published row is the one whose row it is"

    def _goal_of(self, unit: Protected) -> str:
        return f"of all {unit}s, the one picked for a published row is the one whose row it is"

    def _people(self, scene: Scene) -> People:
        if self.population is None:
            return scene.people
        everybody = People(from_native(self.population)[0], scene.people.plan)
        if everybody.protected == "row" or everybody.unit_column in everybody.frame.columns:
            return everybody
        msg = (
            f"the population has no column {everybody.unit_column!r}, which tells "
            f"{everybody.protected}s apart{nearest(everybody.unit_column, everybody.frame.columns)}"
        )
        raise TableError(msg)

    def _knowledge(self) -> str:
        whom = "everybody in the table" if self.population is None else "a population"
        return f"he has a list of {whom}, and does not know whose rows were published"

    def _closed_form(self, scene: Scene, fitted: Fitted, standing: Standing) -> ClosedForm | None:
        everybody, crowd = self._people(scene), fitted
        if self.population is not None:
            published = scene.published
            columns = known_columns(published, scene.people, self.columns, self.link)
            found = Fitted.of(published, everybody, columns)
            if found is None:
                return None
            crowd = found
        return ClosedForm.of_journalist(fitted, standing, scene.people, (crowd, everybody))

    def _joined(self, aim: JoinTask) -> Joined:
        return owner_of_each_row(aim)


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

    def _goal_of(self, unit: Protected) -> str:
        return f"a published row, each being joined with a {unit}, is joined with its own"


def _is_of_people(published: PublishedRows) -> bool:
    """Whether rows are people, and no reports of trips, whose moved columns nobody weighs."""
    return all(one.weighed for one in published.disclosure.columns.values())


def _notes(aim: JoinTask) -> Iterator[str]:
    nobody = int((aim.owners.person < 0).sum())
    if nobody:
        yield f"{nobody:,} of the rows belong to nobody who is known; for them every guess fails"
    yield from _bare_notes(aim.published, aim.columns)


def _made_up_notes(published: PublishedRows) -> Iterator[str]:
    """That rows are nobody's, so that who finds a row has found nobody."""
    if share := published.disclosure.made_up:
        yield (
            f"{share:.1%} of the rows are nobody's: rates are what the adversary believes, and not "
            "how often he is right"
        )


def _bare_notes(published: PublishedRows, columns: Sequence[str]) -> Iterator[str]:
    """That finding rows by columns that were not permuted is no breach."""
    if permuted := published.permuted:
        bare = [name for name in columns if name not in permuted]
        if bare:
            yield (
                f"{', '.join(bare)}: published as they are, so that finding rows by them breaks no "
                "promise; what the release hides is which permuted value belongs to a row"
            )
