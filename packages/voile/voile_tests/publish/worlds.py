"""Series of a few people, and every table that explains what its releases show.

Only the decisions of the package are used; who is in a pool, what a release shows, and which tables
explain it is worked out here, from the values of single people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from voile.models.ke_anonymity import Refused
from voile.publish.ke_anonymity.decision import Decision, KETerms, decide
from voile.release.history import Version
from voile.schema.numbers import ExactNumbers
from voile.table.summaries import ValueCounts

__all__ = ["Narrowed", "Seen", "State", "Worlds"]

Seen = frozenset[tuple[frozenset[int], tuple[int, ...]]]
"""What a release shows: of each block its people, and their values in order."""


@dataclass(frozen=True)
class State:
    """A series after some releases: private."""

    values: tuple[int, ...] = ()
    """By person, in the order in which they arrived."""
    born: tuple[int | None, ...] = ()
    """The release, from 1, that first showed a person; 0 for those set aside."""
    refused: frozenset[int] = frozenset()
    left: int = 0
    versions: tuple[Version, ...] = ()

    @property
    def pool(self) -> list[int]:
        """People who wait."""
        return [person for person, born in enumerate(self.born) if born is None]

    def classes(self) -> tuple[tuple[int, ...], ...]:
        """Values by the release that first showed them, and of the pool."""
        of = [*range(1, len(self.versions) + 1), None]
        return tuple(
            tuple(sorted(v for v, b in zip(self.values, self.born, strict=True) if b == c))
            for c in of
        )


@dataclass
class Worlds:
    """A series as the public sees it, and the search for tables that explain it."""

    terms: KETerms
    arrivals: Sequence[int]
    """How many people arrive before each release."""
    domain: Sequence[int]
    """Values that somebody may have of whom no release shows any."""
    leaving: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Who leaves the table before which release, counted from 0, if no release has shown them."""
    _decided: dict[Any, tuple[Decision | None, Any]] = field(default_factory=dict)

    def play(self, values: Sequence[int]) -> tuple[list[State], list[Seen | None]]:
        """The series of people with these values: its states and what each release shows."""
        states, seen = [State()], []
        for number in range(len(self.arrivals)):
            start = sum(self.arrivals[:number])
            state, shown = self.step(states[-1], values[start : start + self.arrivals[number]])
            states.append(state)
            seen.append(shown)
        return states, seen

    def step(self, state: State, newcomers: Sequence[int]) -> tuple[State, Seen | None]:
        """One more release; None is shown where there is none."""
        gone = {p for p in self.leaving.get(len(state.versions), ()) if p in state.pool}
        state = replace(
            state,
            values=(*state.values, *newcomers),
            born=(*state.born, *[None] * len(newcomers)),
        )
        if gone:
            left = state.left + len(state.refused & gone)
            born = tuple(0 if p in gone else b for p, b in enumerate(state.born))
            state = replace(state, born=born, left=left)
        if all(born == 0 for born in state.born):  # an empty table
            return state, None
        decision, blocks = self._decide(state)
        if decision is None:  # no release
            return state, None
        number = len(state.versions) + 1
        fate = decision.fate
        pool = set(state.pool)
        after = {"published": number, "aside": 0}.get(fate)
        refused = frozenset(pool) if fate == "refused" else state.refused
        done = fate in ("published", "aside")
        state = replace(
            state,
            born=tuple(after if p in pool else b for p, b in enumerate(state.born)),
            refused=frozenset() if done else refused,
            left=0 if done else state.left,
            versions=(*state.versions, Version(number, "", "", blocks)),
        )
        return state, self._seen(state, decision)

    def _decide(self, state: State) -> tuple[Decision | None, Any]:
        classes = state.classes()
        refused = Refused(len(state.refused), state.left)
        key = (classes, refused)
        if key not in self._decided:
            counts = _counts(classes)
            decision = decide(counts, state.versions, self.terms, refused)
            blocks = None if decision is None else decision.blocks(counts)
            self._decided[key] = decision, blocks
        return self._decided[key]

    def _seen(self, state: State, decision: Decision) -> Seen:
        distinct = decision.values.units.tolist()
        classes = state.classes()[:-1]
        rows = np.array([[each.count(value) for each in classes] for value in distinct])
        counts = ValueCounts.of_matrix(decision.values, rows)
        block = np.full((len(distinct), counts.classes), -1)
        block[counts.value, counts.row_class] = decision.assignment(counts).block
        members: dict[int, list[int]] = {}
        for person, born in enumerate(state.born):
            if born:
                value = distinct.index(state.values[person])
                members.setdefault(int(block[value, born - 1]), []).append(person)
        return frozenset(
            (frozenset(people), tuple(sorted(state.values[p] for p in people)))
            for people in members.values()
        )

    def narrowed(self, values: Sequence[int], k: int, e: int) -> list[Narrowed]:
        """Everybody for whom fewer than k values or a range below e are left, by enumeration."""
        _, seen = self.play(values)
        among = _among(len(values), seen)
        options = [sorted(found) if found else self.domain for found in among]
        left: list[set[int]] = [{value} for value in values]
        # Tables that differ among those first shown together come first, and mostly suffice.
        for all_tables in (False, True):
            for person in range(len(values)):
                together = _first_with(person, seen)
                for value in sorted(options[person], key=lambda v: -abs(v - values[person])):
                    if _valid(left[person], k, e):
                        break
                    if value in left[person]:
                        continue
                    # Others like this one first: what waits is often explained by that.
                    asked: list[Sequence[int]] = [
                        sorted(each, key=lambda v, near=value: abs(v - near))
                        if all_tables or (other in together if together else not among[other])
                        else [values[other]]
                        for other, each in enumerate(options)
                    ]
                    asked[person] = [value]
                    world = next(self._explaining(State(), seen, asked), None)
                    for other, found in enumerate(world or ()):
                        left[other].add(found)
        return [
            Narrowed(person, tuple(sorted(found)))
            for person, found in enumerate(left)
            if not _valid(found, k, e)
        ]

    def _explaining(
        self,
        state: State,
        seen: Sequence[Seen | None],
        options: Sequence[Sequence[int]],
        at: int = 0,
    ) -> Iterator[tuple[int, ...]]:
        """Tables of which the releases from one on show the same."""
        if at == len(seen):
            yield state.values
            return
        start = len(state.values)
        for newcomers in _choices(options[start : start + self.arrivals[at]]):
            following, shown = self.step(state, newcomers)
            if shown == seen[at]:
                yield from self._explaining(following, seen, options, at + 1)


@dataclass(frozen=True)
class Narrowed:
    """A person and the values that all tables together leave."""

    person: int
    values: tuple[int, ...]


def _among(people: int, seen: Sequence[Seen | None]) -> list[set[int]]:
    """The values of those who are first shown together, by subtraction; none for who never is."""
    among: list[set[int]] = [set() for _ in range(people)]
    before: Seen = frozenset()
    for shown in seen:
        for members, values in shown or ():
            left = Counter(values)
            for old, theirs in before:
                if old <= members:
                    left -= Counter(theirs)
            for person in members:
                if not among[person]:
                    among[person] = set(left)
        before = shown or before
    return among


def _first_with(person: int, seen: Sequence[Seen | None]) -> frozenset[int]:
    """Who stands with somebody in the first release that shows them; nobody where none does."""
    blocks = (people for shown in seen for people, _ in shown or () if person in people)
    return next(blocks, frozenset())


def _choices(options: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    if not options:
        yield ()
        return
    for first in options[0]:
        for rest in _choices(options[1:]):
            yield (first, *rest)


def _valid(values: set[int], k: int, e: int) -> bool:
    return len(values) >= k and max(values) - min(values) >= e


def _counts(classes: Sequence[Sequence[int]]) -> ValueCounts:
    values = sorted({value for each in classes for value in each})
    rows = [[each.count(value) for each in classes] for value in values]
    shape = np.array(rows, dtype=np.int64).reshape(len(values), len(classes))
    return ValueCounts.of_matrix(ExactNumbers.of(values), shape)
