"""Whose the published rows are: the truth by which adversaries who look for rows are judged.

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.attack.posterior import owner_posteriors, rows_of_people
from voile.release.reading.sightings import People, PublishedRows, Sightings
from voile.table.codes import combine, encode
from voile_base.randomness import Key

__all__ = ["Crowd", "Owners", "telling_columns", "tells_all", "uniform"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Crowd:
    """The d different people of a table, as far as some columns tell them apart; private."""

    first: Indices
    """Shape (d,): the place of one of each."""
    count: NDArray[np.int64]
    """Shape (d,): how many there are of each."""
    number: Indices
    """Shape (n,): which of them each row of the table is."""

    @classmethod
    def of(cls, people: People, columns: Sequence[str]) -> Crowd:
        """Tell people apart by columns of which there is at least one."""
        encoded = [encode(people.column(name)) for name in columns]
        found = combine([(column.codes, len(column.values)) for column in encoded])
        number = found.index.astype(np.int64)
        first = np.empty(len(found.rows), dtype=np.int64)
        first[number[::-1]] = np.arange(len(number))[::-1]
        return cls(first, found.rows, number)


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
        crowd = Crowd.of(people, shared)
        every = Sightings.of(published, people, shared, crowd.first)
        wanted, of_row = np.unique(every.place[rows], return_inverse=True)
        sightings = every.only(wanted)
        person = np.full(len(rows), -1)
        members = _Members.of(crowd, key.within("members"))
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
    def of(cls, crowd: Crowd, key: Key) -> _Members:
        order = np.argsort(key.stream(len(crowd.number)), kind="stable")
        row = order[np.argsort(crowd.number[order], kind="stable")]
        return cls(row, np.cumsum(crowd.count), crowd.count)

    def at(self, who: Indices, before_the_end: Floats) -> Indices:
        """The row of each of some people that lies so far before the last of theirs."""
        back = np.clip(before_the_end.astype(np.int64), 0, self.count[who] - 1)
        chosen: Indices = self.row[self.end[who] - 1 - back]
        return chosen


def uniform(key: Key, count: int) -> Floats:
    """Numbers from 0 to below 1."""
    return (key.stream(count) >> np.uint64(11)) / 2.0**53  # below 1, exactly


def tells_all(published: PublishedRows, shared: Sequence[str]) -> bool:
    """Whether the columns that tell rows apart say all that the release says, and without noise."""
    shown = published.disclosure.columns
    noisy = any(shown[name].graded for name in shared)
    return not noisy and all(one.weighed for one in shown.values())


def telling_columns(published: PublishedRows, people: People) -> list[str]:
    """The columns that tell whose a row is, by a person who knows the original."""
    shared = [
        name
        for name in people.frame.columns
        if published.columns_of(name) and published.disclosure.columns[name].weighed
    ]
    groups = published.disclosure.groups
    if groups is None or not set(groups.by) <= set(shared):
        return shared
    return [name for name in shared if name in groups.by or name not in published.permuted]
