"""Risks in closed form: of all rows, or of all persons, by counting those who look alike.

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

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from voile.attack.fitted import Fitted, spread
from voile.attack.standing import Standing
from voile.release.reading.sightings import People
from voile.schema.roles import Protected

__all__ = ["ClosedForm"]

Codes = NDArray[np.int64]

_MOST = 1 << 28
"""Persons of all sets of combinations together."""
_AT_A_TIME = 1 << 22


@dataclass(frozen=True, eq=False)
class ClosedForm:
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
        cls, fitted: Fitted, standing: Standing, people: People, among: tuple[Fitted, People]
    ) -> Self | None:
        """Looked for ``among`` a population, of whom he does not know whose rows were published."""
        crowd, everybody = among
        known = np.flatnonzero(standing.place >= 0)
        if people.protected == "row":
            alike, choices = crowd.people, everybody.frame.height
        else:
            alike, choices = _units_fitting(crowd, everybody), everybody.units[1]
        return cls._of(fitted, standing, people, known, alike[standing.place[known]], choices)

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
        whose = known if of_rows else people.units[0][known]
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
        )

    @property
    def by_unit(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Codes]:
        """The mean and the worst risk of each target, and the row by which it is the worst."""
        risk = 1 / self.alike
        mean = np.bincount(self.unit, risk) / np.bincount(self.unit)
        order = np.lexsort((self.known, self.alike, self.unit))
        _, first = np.unique(self.unit[order], return_index=True)
        worst = order[first]
        return mean, risk[worst], self.known[worst]


def _units_fitting(fitted: Fitted, people: People) -> Codes:
    """How many persons have a row that fits each combination, shape (g,)."""
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
