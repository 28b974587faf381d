"""Whose row is which by the best guess: where rows do not simply fit or not, or are too many.

What it does: for some targets, each a published row with its owner, weighs the owner against all
published rows, or the row against all people, by Bayes' rule (``posterior``), and says how often
the best guess is right.  With noise, or with permuted columns, it takes the place of a guess among
equals.

Persons.  Where the plan names persons or households, they are the targets: one row of each is
drawn, the known one, with the row that it was published as.  The best guess is one among the
persons whose rows weigh most, whatever the number of their rows, and is right where it is the
target, by whichever of the target's rows.  Who looks among published rows is told by the link, or
by drawn owners (``owners``), whose they are; who looks among the rows of a population is told by
its column of persons or households, and need not find there the row that was published.  The
probability that is given to the truth is that of the target's row that weighs most, where the rows
that weigh most count as often as there are persons among them.

Cost: O(t (n + d) m) for t targets, n different rows, d different people and m columns; for persons
as much for each of the rows that weigh most for some target.

Whose the published rows are: the truth by which adversaries who look for rows are judged.

What it does: for some published rows, names the person of the original whose row each is.

Truth: a ``link``, a column that stands in the release and in the original, tells it. Elsewhere all
columns are compared that both have, and of several people who fit alike one is drawn, for several
rows that show the same another each time, as long as there are others. Where rows were generalized
into groups that do not overlap, or permuted, that is the distribution of the true owner given all
that is published and all that is private, so that rates are those that a link would show on
average. Groups within which columns are permuted are decided by some columns: where these are
known, a permuted column that is none of them says nothing more of whose a row is, and where the
permuted column is one of them, a person is in each group that holds the value with the share of it
that the group holds, which is what ``posterior.owner_posteriors`` says. With noise it is a belief
like the adversary's own, and so where columns are left aside that cannot be weighed one by one,
such as those of moved positions.

Cost: O(d n m) for d different people, n different rows and m columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.attack.fitted import spread, unclear_columns
from voile.attack.posterior import (
    Candidates,
    MatchingColumn,
    draw_rows,
    draw_targets,
    owner_posteriors,
    posteriors,
    rows_of_people,
    sightings_near,
    telling_columns,
    tells_all,
    uniform,
)
from voile.release.claims import UnknownClaim
from voile.release.reading import People, Place, PublishedRows, Sightings, texts_of
from voile.release.release import Release
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, Randomness

__all__ = [
    "JoinTask",
    "Joined",
    "Owners",
    "least_owners",
    "rarest_rows",
    "unclear_missing",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class JoinTask:
    """Some published rows with their owners, and what the adversary has to join them."""

    published: PublishedRows
    people: People
    """Those who are the owners: of persons the original, and else whom rows are joined with."""
    everybody: People
    """Whom rows are joined with."""
    columns: tuple[str, ...]
    """What the adversary knows of people."""
    rows: Indices
    """The t published rows that are targets."""
    owners: Owners
    """Of these rows."""
    link: str | None
    """What tells rows apart, if anything does."""
    key: Key
    """Draws owners."""
    drawn_from: int
    """Of how many rows or persons the targets were drawn."""
    by_person: bool = False
    """Whether the targets are persons or households."""

    @classmethod
    def at_rows(
        cls,
        published: PublishedRows,
        people: People,
        columns: tuple[str, ...],
        link: str | None,
        targets: int | None,
        randomness: Randomness,
    ) -> JoinTask:
        """Published rows, and their owners."""
        release, key = published.release, randomness.key("owners")
        drawn = "rows", targets, randomness.key("rows").secret
        rows = _once(release, drawn, lambda: draw_rows(published, targets, randomness))
        asked = people, rows.tobytes(), link, key.secret
        owners = _once(release, asked, lambda: _owners(published, people, rows, link, key))
        drawn_from = published.frame.height
        return cls(published, people, people, columns, rows, owners, link, key, drawn_from)

    @classmethod
    def at_persons(
        cls,
        published: PublishedRows,
        crowd: tuple[People, People],
        columns: tuple[str, ...],
        link: str | None,
        targets: int | None,
        randomness: Randomness,
    ) -> JoinTask:
        """Persons or households, a row of each that was published, and that published row.

        ``crowd`` is the original, and whom rows are joined with.
        """
        people, everybody = crowd
        key, there = randomness.key("owners"), np.arange(people.frame.height)
        row_of = None
        if link is not None:
            row_of = rows_of_people(published, people, link, there)
            there = np.flatnonzero(row_of >= 0)
        own = draw_targets(people, columns, targets, randomness, link, there)
        told = True
        if row_of is not None:
            rows = row_of[own]
        else:
            rows, told = _drawn_rows(published, people, own, key)
        found = rows >= 0
        drawn_from = len(np.unique(people.units[0][there]))
        owners = Owners(own[found], told)
        return cls(
            published, people, everybody, columns, rows[found], owners, link, key, drawn_from, True
        )

    @property
    def is_plain(self) -> bool:
        """Whether rows either fit or do not: what is known is neither noisy nor permuted."""
        shown = map(self.published.shown, self.columns)
        return not any(one and (one.graded or one.permuted) for one in shown)

    @cached_property
    def unclear(self) -> tuple[str, ...]:
        """Columns whose missing cells have two readings."""
        return unclear_columns(self.published, self.people, self.columns)

    def _wanted(self, every: Sightings) -> tuple[Sightings, Indices]:
        """What the targets show, and which of it each does (t,); ``every`` is of them alone.

        Of the missing cells of a row those stand for other values, too, where its owner has one.
        """
        needs = self._needs()
        shown, sighting = np.unique(np.vstack((every.place, needs)), axis=1, return_inverse=True)
        wanted = every.only(shown[0])
        if self.unclear:
            notes = (*every.notes, unclear_missing(self.unclear))
            wanted = replace(wanted.read([line > 0 for line in shown[1:]]), notes=notes)
        return wanted, sighting.ravel()

    def _needs(self) -> NDArray[np.bool_]:
        """Whether a target has a value where its row shows a missing cell; (unclear, t).

        Of the columns whose cells in these rows have two readings.
        """
        found = [np.zeros((0, len(self.rows)), dtype=np.bool_)]
        known = np.flatnonzero(self.owners.person >= 0)
        for name in self.unclear:
            column = MatchingColumn.of(self.published, self.people, name)
            assert column is not None, "its missing cells have two readings"
            if column.evidence.only(np.unique(column.cell[self.rows])).strict is None:
                continue
            cells = map(self.published.frame.get_column, self.published.columns_of(name))
            nulls = [cell.gather(self.rows).is_null().to_numpy() for cell in cells]
            lacks = self.people.column(name).gather(self.owners.person[known]).is_null()
            needs = np.zeros((1, len(self.rows)), dtype=np.bool_)
            needs[0, known] = np.logical_and.reduce(nulls)[known] & ~lacks.to_numpy()
            found.append(needs)
        return np.concatenate(found)

    def row_of_each_owner(self) -> Joined:
        """The owners of t rows, each weighed against all published rows."""
        with_owner = np.flatnonzero(self.owners.person >= 0)
        owners = self.owners.person[with_owner]
        compared = Sightings.of if self.is_plain else sightings_near
        sightings = compared(self.published, self.people, self.columns, owners)
        if self.unclear:
            notes = (*sightings.notes, unclear_missing(self.unclear))
            own = sightings.place[self.rows[with_owner]].astype(np.int64)
            sightings = replace(sightings.read(own=own), notes=notes)
        own_place = sightings.place[self.rows[with_owner]]
        right, given = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        several = 0
        for chunk, which, weights in posteriors(sightings, len(owners)):
            top = weights.max(axis=1, initial=0.0)
            best = (weights == top[:, np.newaxis]) & (top > 0)[:, np.newaxis]
            place = np.full(len(sightings.rows) + 1, -1)
            place[which] = np.arange(len(which))
            # -1, where it does not fit, has no weight.
            one = np.arange(len(weights)), place[own_place[chunk]]
            rows = best @ sightings.rows[which]
            found, among = np.pad(best, ((0, 0), (0, 1)))[one], np.maximum(rows, 1)
            if self.by_person:
                found, among = _persons_in(self, sightings.only(which), best, owners[chunk])
            right[with_owner[chunk]] = found / among
            own_weight = np.pad(weights, ((0, 0), (0, 1)))[one]
            given[with_owner[chunk]] = np.where(found, top * rows / among, own_weight)
            several += int((np.count_nonzero(weights, axis=1) > 1).sum())
        notes = sightings.notes
        plain = self.is_plain
        if plain and several:
            notes += (f"{several:,} of the targets fit rows of several groups, which overlap",)
        elif plain and not self.by_person:
            notes += (rarest_rows(len(sightings.rows), int(sightings.rows.min())),)
        choices = self.drawn_from if self.by_person else len(sightings.place)
        return Joined(right, given, choices, notes, overlap=plain and several > 0)

    def owner_of_each_row(self) -> Joined:
        """The t rows, each weighed against all people."""
        of_targets = self.rows.tobytes(), self.owners.person.tobytes()
        asked = self.people, self.everybody, self.columns, *of_targets, self.by_person
        return _once(self.published.release, asked, self._owner_of_each_row)

    def _owner_of_each_row(self) -> Joined:
        everybody, of_persons = self.everybody, self.by_person
        candidates = Candidates.of(self.published, everybody, self.columns, self.rows)
        crowd, places = candidates.crowd, len(candidates.crowd.count)
        every, sighting = self._wanted(candidates.sightings)
        if of_persons:
            units, count = everybody.units
            whose = units[candidates.there]
            persons = _Incidence.of(crowd.number, whose, count, places)
            target, notes = _among(everybody, self)
            own = _Incidence.of(whose, crowd.number, places, count)
        else:
            count, notes = everybody.frame.height, ()
            person = candidates.people_at(self.owners.person)
            target = np.where(person >= 0, np.arange(len(person)), -1)
            own = _Incidence.of(target[target >= 0], person[target >= 0], places, len(person))
        right, given = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        least = self._least_owners(sighting)
        for chunk, who, weights in owner_posteriors(every, crowd.count):
            within = (chunk.start <= sighting) & (sighting < chunk.stop) & (target >= 0)
            these = np.flatnonzero(within)
            column = sighting[these] - chunk.start
            top = weights.max(axis=0, initial=0.0)
            weight = own.most(weights, who, target[these], column)
            best = weights == top
            rows = crowd.count[who] @ best
            among = persons.among(best.T, who) if of_persons else rows
            among = np.maximum(among, least[chunk])
            found, rows, among = weight == top[column], rows[column], np.maximum(among[column], 1)
            right[these] = (weight > 0) * found / among
            given[these] = weight * np.where(found, rows / among, 1.0)
        return Joined(right, given, count, (*every.notes, *notes))

    def _least_owners(self, sighting: Indices) -> Indices:
        """Of how many rows or persons the rows can be at least that show what targets do; (g,).

        ``sighting`` (t,) says which of the g each target shows.
        """
        found = np.ones(int(sighting.max(initial=-1)) + 1, np.int64)
        if self.unclear and self.is_plain:
            used = [c for name in self.columns for c in self.published.columns_of(name)]
            _, place = self.published.cells(used)
            alike = np.bincount(place)[place[self.rows]]
            found[sighting] = least_owners(self.published, self.people, alike)
        return found


def least_owners(published: PublishedRows, people: People, rows: Indices) -> Indices:
    """The fewest rows or persons of a table that so many published rows of it can be of; (g,).

    A method of ours publishes each row as that of another one.  So nobody can read a missing cell
    in a way by which fewer people fit a combination than it has rows.  Of a file of another make,
    or with rows of nobody, nothing follows.  ``people`` are those of the table that was published:
    a register may list a person once who has many rows in it.
    """
    release = published.release
    unknown = all(isinstance(claim, UnknownClaim) for claim in release.guarantee.claims)
    if unknown or release.disclosure.made_up:
        return np.ones_like(rows)
    if people.protected == "row":
        return rows
    whose, units = people.units
    held = np.cumsum(np.sort(np.bincount(whose, minlength=units))[::-1])
    return np.searchsorted(held, rows) + 1


@dataclass(frozen=True, eq=False)
class Joined:
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


@dataclass(frozen=True, eq=False)
class Owners:
    """The owners of some published rows; private."""

    person: Indices
    """The place of each row's owner among the people; -1 where nobody fits."""
    told: bool
    """Whether it is the truth, or at least drawn with its distribution, and not a belief."""

    @classmethod
    def linked(cls, published: PublishedRows, people: People, rows: Indices, link: str) -> Owners:
        """By a column that tells rows apart; raises ``InputError`` where it does not."""
        everybody = np.arange(people.frame.height)
        row_of = rows_of_people(published, people, link, everybody)
        person = np.full(published.frame.height + 1, -1)
        person[row_of] = everybody
        person[-1] = -1  # to which -1, not published, has led
        return cls(person[rows], told=True)

    @classmethod
    def drawn(cls, published: PublishedRows, people: People, rows: Indices, key: Key) -> Owners:
        """By the columns that the release and the people have in common."""
        shared = telling_columns(published, people)
        found = Candidates.of(published, people, shared, rows)
        every, crowd = found.sightings, found.crowd
        wanted, of_row = np.unique(every.place, return_inverse=True)
        sightings = every.only(wanted.astype(np.int64))
        person = np.full(len(rows), -1)
        members = _Members.of(found, key.within("members"))
        draws = uniform(key, len(rows))
        offset = uniform(key.within("offsets"), len(wanted))
        for chunk, who, weights in owner_posteriors(sightings, crowd.count):
            share = np.cumsum(weights * crowd.count[who, np.newaxis], axis=0)
            for place in np.flatnonzero(weights.any(axis=0)):
                these = np.flatnonzero(of_row == chunk.start + place)
                order = draws[these].argsort().argsort()
                reached = (order + offset[chunk.start + place]) / len(these) * share[-1, place]
                one = np.searchsorted(share[:, place], reached, side="right")
                one = np.minimum(one, np.flatnonzero(weights[:, place])[-1])
                within = (share[one, place] - reached) / weights[one, place]
                person[these] = members.at(who[one], within)
        told = not every.notes and tells_all(published, shared)
        return cls(person, told)


@dataclass(frozen=True, eq=False)
class _Members:
    """The rows of each of the different people of a crowd, in a random order."""

    row: Indices
    end: Indices
    count: NDArray[np.int64]

    @classmethod
    def of(cls, candidates: Candidates, key: Key) -> _Members:
        there, crowd = candidates.there, candidates.crowd
        order = np.lexsort((key.stream_at(there), crowd.number))
        return cls(there[order], np.cumsum(crowd.count), crowd.count)

    def at(self, who: Indices, before_the_end: Floats) -> Indices:
        """The row of each of some people that lies so far before the last of theirs."""
        back = np.clip(before_the_end.astype(np.int64), 0, self.count[who] - 1)
        chosen: Indices = self.row[self.end[who] - 1 - back]
        return chosen


_ANSWERS: WeakKeyDictionary[Release, dict[type, tuple[object, object]]] = WeakKeyDictionary()
"""The last owners and the last joins of a release: adversaries who know the same share them."""


def _once(release: Release, asked: object, find: Callable[[], _Answer]) -> _Answer:
    """The answer to a question about a release; the last one of its kind is kept."""
    known = _ANSWERS.setdefault(release, {})
    for before, answer in known.values():
        if before == asked:
            return cast("_Answer", answer)
    found = find()
    known[type(found)] = asked, found
    return found


def _among(everybody: People, aim: JoinTask) -> tuple[Indices, tuple[str, ...]]:
    """The number of each target among the persons of a population; -1 for one who is not there."""
    whose, count = aim.people.units
    units, _ = everybody.units
    if everybody is aim.people:
        return whose[aim.owners.person], ()
    column = everybody.unit_column
    called = texts_of(everybody.frame[column])
    number = dict(zip(called, units.tolist(), strict=True))
    first = np.zeros(count, dtype=np.int64)
    first[whose[::-1]] = np.arange(len(whose))[::-1]
    named = texts_of(aim.people.frame[column].gather(first))
    found = np.array([number.get(name, -1) for name in named], dtype=np.int64)
    target = found[whose[aim.owners.person]]
    absent = int(np.count_nonzero(target < 0))
    if not absent:
        return target, ()
    note = f"{absent:,} of the targets are not in the population; for them every guess fails"
    return target, (note,)


def _persons_in(
    aim: JoinTask, sightings: Sightings, best: NDArray[np.bool_], owners: Indices
) -> tuple[NDArray[np.bool_], Indices]:
    """Whose the rows are that weigh most for each of some targets.

    Whether any is the target's, and of how many persons they are; shape (targets,) each.
    """
    rows = np.flatnonzero(np.append(best.any(axis=0), False)[sightings.place])
    person = _owners(aim.published, aim.people, rows, aim.link, aim.key).person
    own = np.full(len(sightings.place), -1)
    own[aim.rows] = aim.owners.person
    person = np.where(own[rows] >= 0, own[rows], person)
    told = person >= 0
    whose, units = aim.people.units
    held = _Incidence.of(
        sightings.place[rows[told]], whose[person[told]], units, len(sightings.rows)
    )
    places = np.arange(len(sightings.rows))
    among, found = np.empty(len(best), np.int64), np.empty(len(best), np.bool_)
    for line, (marked, owner) in enumerate(zip(best, whose[owners].tolist(), strict=True)):
        persons = held.of_sets(places[marked])
        among[line], found[line] = max(len(persons), 1), owner in persons
    return found, among


@dataclass(frozen=True, eq=False)
class _Incidence:
    """The different members of each of some sets: persons of places, or places of persons."""

    start: Indices
    member: Indices

    @classmethod
    def of(cls, place: Place, member: Place, members: int, places: int) -> _Incidence:
        """Pairs of a set, between 0 and ``places``, and one of so many members."""
        pairs = np.unique(place * np.int64(members) + member)
        return cls(np.searchsorted(pairs // members, np.arange(places + 1)), pairs % members)

    def of_sets(self, which: Indices) -> Indices:
        """The different members of some sets together, ascending."""
        return np.unique(spread(self.start, self.member, which)[1])

    def among(self, best: NDArray[np.bool_], which: Indices) -> Indices:
        """How many members have those of the sets ``which`` that each line of best marks."""
        return np.array([len(self.of_sets(which[marked])) for marked in best], dtype=np.int64)

    def most(self, weights: Floats, who: Indices, sets: Indices, column: Indices) -> Floats:
        """The largest weight of a member of each of some sets, in a column of its own; 0 for none.

        ``weights`` (who, columns) are those of the members ``who``; all others have none.
        """
        line = np.full(int(max(self.member.max(initial=-1), who.max(initial=-1))) + 1, -1)
        line[who] = np.arange(len(who))
        place, member = spread(self.start, self.member, sets)
        weighed = line[member] >= 0
        place, member = place[weighed], line[member[weighed]]
        found = np.zeros(len(sets))
        np.maximum.at(found, place, weights[member, column[place]])
        return found


def _owners(
    published: PublishedRows, people: People, rows: Indices, link: str | None, key: Key
) -> Owners:
    if link is None:
        return Owners.drawn(published, people, rows, key)
    return Owners.linked(published, people, rows, link)


def _drawn_rows(
    published: PublishedRows, people: People, own: Indices, key: Key
) -> tuple[Indices, bool]:
    """A published row for each of t rows of the original, drawn by all columns that both have.

    -1 where none fits; and whether that is how the true ones are distributed.
    """
    shared = telling_columns(published, people)
    sightings = Sightings.of(published, people, shared, own)
    order = np.argsort(sightings.place, kind="stable")
    start = np.cumsum(sightings.rows) - sightings.rows
    draws = uniform(key.within("rows"), len(own))
    rows = np.full(len(own), -1)
    for chunk, which, weights in posteriors(sightings, len(own)):
        share = np.cumsum(weights * sightings.rows[which], axis=1)
        for place in np.flatnonzero(weights.any(axis=1)):
            reached = draws[chunk.start + place] * share[place, -1]
            one = int(np.searchsorted(share[place], reached, side="right"))
            one = min(one, int(np.flatnonzero(weights[place])[-1]))
            back = int((share[place, one] - reached) / weights[place, one])
            back = min(back, int(sightings.rows[which[one]]) - 1)
            rows[chunk.start + place] = order[start[which[one]] + back]
    return rows, tells_all(published, shared) and not sightings.notes


def unclear_missing(columns: Iterable[str]) -> str:
    """Of which columns missing cells have two readings, as a clause."""
    return (
        f"{', '.join(columns)}: missing cells may stand for missing values alone or for others, "
        "too; each target is looked for as by the linker who reads them best for finding it"
    )


def rarest_rows(combinations: int, fewest: int) -> str:
    """How few rows show what the fewest rows show, as a clause."""
    return (
        f"of the {combinations:,} combinations that are published the rarest stands in "
        f"{fewest:,} of the rows"
    )
