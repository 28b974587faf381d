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

Risks in closed form: of all rows, or of all persons, by counting those who look alike.

What it does: for each row of the original that was published, the target, finds the combinations
that it may stand in (``fitted``), and among how many an adversary who knows it therefore chooses:

    of rows, the prosecutor       the published rows that show one of these combinations
    of persons, the prosecutor    the persons, or households, of whom a published row shows one,
                                  whatever the number of their rows (``standing`` says whose rows
                                  those are)
    the journalist, the marketer  the rows or persons of a population who fit the one combination
                                  that the target was published with

The risk of a target is one over that.  The mean is over all published rows; or over all persons who
have a published row, and for each of them over those of its rows that were published, any of which
may be the one that is known.  The worst is that of a row.  Groups that do not overlap are the case
in which each row fits one combination.

Rows that were left out or sampled are no targets, and nobody is chosen for them by the prosecutor:
counted are the persons of rows that were published.  Where nobody can tell which rows these were,
they are drawn (``Standing.known``): then risks of rows are exact all the same, since rows that are
drawn for each other fit the same combination, and those of persons are of one such sample.  Where
groups overlap so that several ways of filling them are possible, risks of persons are not counted
here, and of rows they are the same for each way.

Cost: a sort of the p pairs of a row and a combination that it fits.  Where rows fit several
combinations, each different set of them is looked at once, at a sort of the persons who stand in
them together: O(s f log(s f)) for s sets of f persons, ``_MOST`` at most, held ``_AT_A_TIME``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asks
from voile.attack.fitted import Fitted, Standing, spread, unclear_columns
from voile.attack.joining import Joined, JoinTask, least_owners, rarest_rows, unclear_missing
from voile.attack.protocol import (
    COLUMNS,
    LINK,
    TARGETS,
    check_targets,
    checked_columns,
    nobody_known,
)
from voile.release.reading import People, PublishedRows
from voile.release.release import Release
from voile.schema.persons import units_told
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.arrays import from_native
from voile_base.errors import TableError, nearest
from voile_base.ondemand import dataclass

__all__ = ["JournalistAttack", "MarketerAttack", "ProsecutorAttack"]


Codes = NDArray[np.int64]

_MOST = 1 << 28
"""Persons of all sets of combinations together."""
_AT_A_TIME = 1 << 22


@dataclass(frozen=True, eq=False)
class _Reading:
    """What rows fit, where they stand, and how missing cells are read therefore; private."""

    fitted: Fitted
    standing: Standing
    unclear: tuple[str, ...]
    """Columns whose missing cells have two readings."""

    @property
    def place(self) -> Codes | None:
        """Where each row stands (N,); None where that is only possible."""
        return None if self.standing.known == "possible" else self.standing.place

    def fewest(self, published: PublishedRows, people: People) -> Fitted:
        """What each row is looked for among, however missing cells are read."""
        if not self.unclear:
            return self.fitted
        certain = self.fitted.doubtful(published, people, self.unclear) == 0
        return self.fitted.fewest(certain, self.place)

    def among(
        self, published: PublishedRows, people: tuple[People, People], crowd: Fitted
    ) -> Codes:
        """Among how many rows or persons of a crowd each target's owner is looked for, (t,).

        ``people`` are those of the release, and the ``crowd`` that was compared with it.

        They fit the combination of the target as its own row does: where that has a value and the
        cell is missing, the cell stands for others, too.  A reading by which fewer fit than the
        combination has rows is none that anybody can hold.
        """
        own, everybody = people
        known = np.flatnonzero(self.standing.place >= 0)
        place = self.standing.place[known]
        if not self.unclear:
            return _fitting(crowd, everybody)[place]
        least = least_owners(published, own, crowd.rows)[place]
        doubtful = crowd.doubtful(published, everybody, self.unclear)
        if self.place is None:
            alike = _fitting(crowd.fewest(doubtful == 0, None), everybody)
            return np.maximum(alike[place], least)
        needs = self._needs(self.fitted.doubtful(published, own, self.unclear), known)
        found = np.empty(len(known), dtype=np.int64)
        for need in np.unique(needs):
            alike = _fitting(crowd.only((doubtful & ~need) == 0), everybody)
            found[needs == need] = alike[place[needs == need]]
        return np.maximum(found, least)

    def _needs(self, doubtful: NDArray[np.uint64], known: Codes) -> NDArray[np.uint64]:
        """The bits (p,) of the rows that are ``known`` at the combinations where they stand."""
        fitted, many = self.fitted, len(self.fitted.rows)
        row = np.repeat(np.arange(len(fitted.degree)), fitted.degree)
        pairs = row * many + fitted.combinations
        wanted = fitted.crowd.number[known] * np.int64(many) + self.standing.place[known]
        return doubtful[np.searchsorted(pairs, wanted)]


@dataclass(frozen=True, eq=False)
class _ClosedForm:
    """A risk of t rows, which are all that may be known; private."""

    alike: Codes
    """Shape (t,): among how many each is looked for."""
    known: Codes
    """Shape (t,): the row of the original that is known so."""
    unit: Codes
    """Shape (t,): whose it is, from 0."""
    mean: Fraction
    """The mean risk, over all rows or persons."""
    targets: int
    """How many rows or persons that is."""
    combinations: int
    """How many different ones are published."""
    choices: int
    """Among how many somebody chooses who does not look at the release."""
    aimed_at: Protected
    overlapping: int
    """How many of the targets' rows fit several combinations."""
    exact: bool
    """Whether this is the risk, and not that of rows that were drawn."""
    certain: bool = True
    """Whether no rows were drawn, of which others may be found more often."""
    unclear: tuple[str, ...] = ()
    """The columns whose missing cells have two readings."""

    @classmethod
    def of_prosecutor(cls, fitted: Fitted, standing: Standing, people: People) -> Self | None:
        """Looked for among what was published; None where that cannot be counted."""
        known = np.flatnonzero(standing.place >= 0)
        different = fitted.crowd.number[known]
        if people.protected == "row":
            alike = fitted.published_alike[different]
            return cls._of(fitted, standing, people, known, alike, len(known))
        whose, units = people.units
        found = _units_published(fitted, standing, whose, units)
        if found is None:
            return None
        return cls._of(
            fitted, standing, people, known, found[different], len(np.unique(whose[known]))
        )

    @classmethod
    def of_journalist(
        cls, seen: _Reading, people: People, among: tuple[Codes, People]
    ) -> Self | None:
        """Looked for ``among`` so many of a population, of whom he does not know who is there."""
        alike, everybody = among
        known = np.flatnonzero(seen.standing.place >= 0)
        of_rows = people.protected == "row"
        choices = everybody.frame.height if of_rows else everybody.units[1]
        return cls._of(seen.fitted, seen.standing, people, known, alike, choices)

    @classmethod
    def _of(
        cls,
        fitted: Fitted,
        standing: Standing,
        people: People,
        known: Codes,
        alike: Codes,
        choices: int,
    ) -> Self | None:
        of_rows = people.protected == "row"
        if not of_rows and standing.known == "possible":
            return None
        unit, rows_of = np.arange(len(known)), np.ones(len(known), dtype=np.int64)
        if not of_rows:
            whose = people.units[0][known]
            _, unit, rows_of = np.unique(whose, return_inverse=True, return_counts=True)
        return cls(
            alike=alike,
            known=known,
            unit=unit,
            mean=_sum_of_shares(alike, rows_of[unit]) / len(rows_of),
            targets=len(rows_of),
            combinations=len(fitted.rows),
            choices=choices,
            aimed_at=people.protected,
            overlapping=int(np.count_nonzero(fitted.degree[fitted.crowd.number[known]] > 1)),
            exact=of_rows or standing.known == "told",
            certain=standing.known != "drawn",
        )

    @property
    def by_unit(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Codes]:
        """The mean and the worst risk of each target, and the row by which it is the worst."""
        risk = 1 / self.alike
        if (self.unit[1:] > self.unit[:-1]).all():  # each row is another's, in their order
            return risk, risk, self.known
        mean = np.bincount(self.unit, risk) / np.bincount(self.unit)
        order = np.lexsort((self.known, self.alike, self.unit))
        _, first = np.unique(self.unit[order], return_index=True)
        worst = order[first]
        return mean, risk[worst], self.known[worst]


def _fitting(fitted: Fitted, people: People) -> Codes:
    """How many rows, or persons who have one, fit each combination, shape (g,)."""
    if people.protected == "row":
        return fitted.people
    whose, units = people.units
    row, combination = fitted.pairs
    pairs = np.unique(combination * units + whose[row])
    return np.bincount(pairs // units, minlength=len(fitted.rows))


def _units_published(fitted: Fitted, standing: Standing, whose: Codes, units: int) -> Codes | None:
    """How many persons stand in a combination that each different row fits, shape (d,).

    None where persons are too many to be counted for each set of combinations.
    """
    there = standing.place >= 0
    pairs = np.unique(standing.place[there] * units + whose[there])
    start = np.searchsorted(pairs // units, np.arange(len(fitted.rows) + 1))
    standing_there = pairs % units
    found = np.zeros(len(fitted.degree), dtype=np.int64)
    alone = fitted.degree == 1
    found[alone] = np.diff(start)[fitted.combinations[fitted.start[:-1][alone]]]
    several = np.flatnonzero(fitted.degree > 1)
    if not len(several):
        return found
    first, which = _different_sets(fitted, several)
    many = np.concatenate([[0], np.cumsum(np.diff(start)[fitted.combinations])])
    work = many[fitted.start[first + 1]] - many[fitted.start[first]]
    if int(work.sum()) > _MOST:
        return None
    counted = np.empty(len(first), dtype=np.int64)
    for part in _parts(work):
        owner, combination = spread(fitted.start, fitted.combinations, first[part])
        place, unit = spread(start, standing_there, combination)
        distinct = np.unique(owner[place] * units + unit)
        counted[part] = np.bincount(distinct // units, minlength=part.stop - part.start)
    found[several] = counted[which]
    return found


def _different_sets(fitted: Fitted, rows: Codes) -> tuple[Codes, Codes]:
    """A row for each different set of combinations, and which of these each of the rows has."""
    sets: dict[bytes, int] = {}
    begin, end = fitted.start[rows].tolist(), fitted.start[rows + 1].tolist()
    which = [
        sets.setdefault(fitted.combinations[a:b].tobytes(), len(sets))
        for a, b in zip(begin, end, strict=True)
    ]
    _, first = np.unique(which, return_index=True)
    return rows[first], np.array(which)


def _parts(work: Codes) -> Iterator[slice]:
    """Neighbours with about so much work as is held at a time."""
    ends = np.flatnonzero(np.diff(np.cumsum(work) // _AT_A_TIME)) + 1
    bounds = [0, *ends.tolist(), len(work)]
    yield from (slice(begin, end) for begin, end in pairwise(bounds))


def _sum_of_shares(alike: Codes, rows: Codes) -> Fraction:
    """The exact sum of 1 / (alike * rows)."""
    product, count = np.unique(alike * rows, return_counts=True)
    return sum(map(Fraction, count.tolist(), product.tolist()), start=Fraction(0))


def _at_most(given: NDArray[np.float64], shown: Codes, alike: Codes) -> NDArray[np.float64]:
    """The greatest risks that are possible where so many rows show each combination, (t,)."""
    most = 1 / int(alike.min())
    found: NDArray[np.float64] = np.minimum(given, most)
    found[shown[:1]] = most
    return found


@dataclass(frozen=True)
class _LinkageAttack(Adversary["JoinTask | _ClosedForm"]):
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

    def aim(self, scene: Scene) -> JoinTask | _ClosedForm:
        """All rows that are published, or some of them, and whose they are."""
        published, people = scene.published, self._people(scene)
        columns = published.known_columns(scene.people, self.columns, self.link)
        people.require_columns(columns, "the population")
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
    ) -> _ClosedForm | None:
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
        if standing is None:
            return None
        unclear = unclear_columns(published, people, columns)
        found = self._closed_form(scene, _Reading(fitted, standing, unclear))
        return None if found is None else replace(found, unclear=unclear)

    def guess(self, scene: Scene, aim: JoinTask | _ClosedForm) -> Guesses:
        """Who is joined with which row."""
        if isinstance(aim, _ClosedForm):
            return self._counted(scene, aim)
        found = self._joined(aim)
        checked = self.link is not None or (
            aim.owners.told and not found.overlap and not scene.release.disclosure.made_up
        )
        described = aim.people.frame.select(aim.columns)
        unit = aim.people.protected if aim.by_person else "row"
        shown = np.flatnonzero(aim.owners.person >= 0)
        alike = None if checked or not aim.unclear else self._alike(aim)
        return Guesses(
            goal=self._goal if unit == "row" else self._goal_of(unit),
            success=found.right,
            probability=found.given,
            baseline=1 / found.choices,
            known=lambda i: described.row(int(aim.owners.person[i]), named=True),
            assumptions=tuple(self._assumptions(aim, checked=checked)),
            notes=(*_made_up_notes(aim.published), *found.notes, *_notes(aim)),
            checked=checked,
            bounded=checked or not aim.unclear or alike is not None,
            upper_bound=bool(aim.unclear),
            aimed=None if alike is None else _at_most(found.given, shown, alike),
            shown=shown,
            drawn_from=aim.drawn_from,
            aimed_at=unit,
            mean=None if alike is None else Fraction(len(alike), int(alike.sum())),
        )

    def _alike(self, aim: JoinTask) -> Codes | None:
        """How many rows show each combination, where that bounds the risk; None where it does not.

        It does where a row is looked for among all that fit: whoever reads a missing cell in some
        way reads it so in all rows that show the same, and they fit together or not at all.
        """
        del aim
        return None

    def _counted(self, scene: Scene, found: _ClosedForm) -> Guesses:
        """What is counted of all there are."""
        published = scene.published
        columns = published.known_columns(scene.people, self.columns, self.link)
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
            bounded=found.certain or not found.unclear,
            upper_bound=bool(found.unclear),
        )

    @abstractmethod
    def _closed_form(self, scene: Scene, seen: _Reading) -> _ClosedForm | None:
        """The risk of all rows, or of all persons; None where it has no closed form."""

    @abstractmethod
    def _goal_of(self, unit: Protected) -> str:
        """What counts as a success where persons or households are looked for, as a clause."""

    def _notes_in_full(self, found: _ClosedForm) -> Iterator[str]:
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
        if found.unclear:
            yield unclear_missing(found.unclear)
        if not found.exact:
            yield (
                "which of the rows that fit were published cannot be told from the release: they "
                "were drawn, each as likely as another"
            )

    def _assumptions_in_full(self, columns: Sequence[str], found: _ClosedForm) -> Iterator[str]:
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

    finds_rows = True

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

    def _closed_form(self, scene: Scene, seen: _Reading) -> _ClosedForm | None:
        fitted = seen.fewest(scene.published, scene.people)
        return _ClosedForm.of_prosecutor(fitted, seen.standing, scene.people)

    def _notes_in_full(self, found: _ClosedForm) -> Iterator[str]:
        yield from super()._notes_in_full(found)
        if found.aimed_at == "row" and not found.overlapping:
            yield rarest_rows(found.combinations, int(found.alike.min()))

    def _joined(self, aim: JoinTask) -> Joined:
        return aim.row_of_each_owner()

    def _alike(self, aim: JoinTask) -> Codes | None:
        if aim.people.protected != "row":
            return None
        fitted = Fitted.of(aim.published, aim.people, aim.columns)
        return None if fitted is None else fitted.rows


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

    def _closed_form(self, scene: Scene, seen: _Reading) -> _ClosedForm | None:
        everybody, crowd, published = self._people(scene), seen.fitted, scene.published
        if self.population is not None:
            columns = published.known_columns(scene.people, self.columns, self.link)
            found = Fitted.of(published, everybody, columns)
            if found is None:
                return None
            crowd = found
        among = seen.among(published, (scene.people, everybody), crowd), everybody
        return _ClosedForm.of_journalist(seen, scene.people, among)

    def _joined(self, aim: JoinTask) -> Joined:
        return aim.owner_of_each_row()


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
