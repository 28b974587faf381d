"""Groups of a ranking: what a search returns, and how groups repeat until the top is used up.

What a group shows is the smallest box around its members, and their range of scores.  Its members
are the rows in the box that no earlier group has published, so nobody is published twice.  Boxes
may overlap.  A group is *feasible* if

- it has at least k members, or members of k persons: it stays k-anonymous for somebody who takes
  the other groups away;
- all top rows in the box, published before or not, are at least ``precision`` of all rows of the
  table in the box;
- its own top rows are at least ``precision`` of its members: else a box over rows that were
  published before could pass off a group of mostly other rows as precise.

Termination: each group publishes a top row at least.  A round starts from the best ``batch`` top
rows that are left; where it finds nothing the batch is doubled, up to all that are left.  Only
the last attempt, from all of them, may take all of the work that the terms allow, and it says
whether nothing more was possible or nothing was found.

The rows that matter to a ranking: the top rows, and the others in the box around them.

Larger is better: the caller has turned attributes where lower is better, and has computed the
scores, as whole numbers.  A row that lies outside the box of all top rows lies in no box that top
rows span, so it is left out before anything is searched.

Persons with several rows: the remnant has a row for each person and each different ranking
attributes, so that rows of a person that agree in these count once; ``unit`` says whose each is.

Ties: all rows that share the score at the border count as top (``ties="top"``), or none of them
(``ties="none"``).  The order of the rows of a table decides nothing: rows are sorted by score and
then by values, so that only equal rows, which are in the same boxes, can change places.

What a group of a ranking must satisfy, and how hard the exact search may try.

From the bitset of a box to the group that it publishes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.boxes import Bits, BoxQuestion, Field, bits_of, field_of
from voile_base.errors import PlanError
from voile_base.randomness import Key

__all__ = [
    "Group",
    "RankedBoxes",
    "RankingGroup",
    "Remnant",
    "Search",
    "SearchTerms",
    "Ties",
    "group_of",
    "outcome_of",
    "publish_groups",
    "require",
]


_MOST_ROWS = 2**31


@dataclass(frozen=True)
class SearchTerms:
    """Terms of a group, and limits of the exact search; other searches bring their own parameters.

    Raises ``PlanError`` for a value out of its range.
    """

    k: int
    """A group has at least so many rows, or persons, with top rows and others together."""
    precision: Fraction
    """Least share of top rows among all rows of the table in the box, in (0, 1]; exact."""
    batch: int | None = None
    """A search starts from so many of the best top rows that are left, or from those of so many
    persons (and all tied with the last of them); None: from all of them."""
    beyond_top: bool = True
    """``exact``: try boxes spanned by any rows too, not only those spanned by top rows."""
    work: int = 100_000
    """``exact``, ``auto``: limit of boxes looked at in a round; the same on every machine."""
    seconds: float | None = None
    """``exact``, ``auto``: limit of time in a round.  Whether it strikes depends on the machine."""

    def __post_init__(self) -> None:
        require(2 <= self.k < _MOST_ROWS, "k", "a whole number, at least 2")
        require(0 < self.precision <= 1, "precision", "above 0 and at most 1")
        require(
            self.precision.denominator < _MOST_ROWS, "precision", "a number of at most 9 decimals"
        )
        require(self.batch is None or self.batch >= 1, "batch", "at least 1")
        require(self.work >= 1, "work", "at least 1")
        require(self.seconds is None or self.seconds > 0, "seconds", "above 0")


def require(holds: bool, name: str, must: str) -> None:
    """Raise ``PlanError`` where a parameter is out of its range."""
    if not holds:
        msg = f"{name} must be {must}"
        raise PlanError(msg)


Ties = Literal["top", "none"]
_EACH = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Remnant:
    """n rows of m ranking attributes, best first.  Private: it holds rows of the table."""

    values: NDArray[np.int64]
    """(n, m): larger is better."""
    scores: NDArray[np.int64]
    """(n,): falling."""
    tops: int
    """The first so many rows are top."""
    fresh: NDArray[np.bool_]
    """(n,): rows that no group has published."""
    row: NDArray[np.int64]
    """(n,): where each row stood in the arrays that were given."""
    field: Field
    unit: NDArray[np.int32] | None = None
    """(n,): whose each row is, from 0; None: each is another person's."""

    @classmethod
    def of_table(
        cls,
        values: NDArray[np.int64],
        scores: NDArray[np.int64],
        top: int,
        ties: Ties = "top",
    ) -> Self:
        """The remnant of a whole table: values (n, m), scores (n,), the ``top`` best are asked for.

        Raises ``PlanError`` where the table has fewer rows, or where ties leave no top row or no
        other.
        """
        if not 1 <= top <= len(scores):
            msg = f"top must be from 1 to the number of rows, {len(scores)}"
            raise PlanError(msg)
        border = np.partition(scores, len(scores) - top)[len(scores) - top]
        is_top = scores >= border
        if ties == "none" and np.count_nonzero(is_top) > top:
            is_top = scores > border
        if not is_top.any():
            msg = "all of the best rows share one score, so there is no top; let ties count as top"
            raise PlanError(msg)
        best = values[is_top]
        kept = np.arange(len(scores))
        for column, low, high in zip(values.T, best.min(axis=0), best.max(axis=0), strict=True):
            own = column[kept]
            kept = kept[(own >= low) & (own <= high)]
        found = cls.of_rows(values[kept], scores[kept], int(is_top.sum()))
        return replace(found, row=kept[found.row])

    @classmethod
    def of_rows(
        cls,
        values: NDArray[np.int64],
        scores: NDArray[np.int64],
        tops: int,
        unit: NDArray[np.int64] | None = None,
    ) -> Self:
        """The remnant from rows that were filtered already; ``unit`` (n,) says whose each is.

        The rows must be all rows of the table in some box that holds the top rows, usually the
        box around them; ``tops`` counts the top rows, ties settled.  Raises ``PlanError`` where
        ``tops`` would part rows of equal score, or there are not so many.
        """
        if not 1 <= tops <= len(scores):
            msg = f"the number of top rows must be from 1 to the number of rows, {len(scores)}"
            raise PlanError(msg)
        row = np.lexsort((*(-values.T[::-1]), -scores))
        values, scores = np.ascontiguousarray(values[row]), scores[row]
        if tops < len(scores) and scores[tops - 1] == scores[tops]:
            msg = "rows of equal score must all be top or none: count them so"
            raise PlanError(msg)
        fresh = np.ones(len(scores), dtype=np.bool_)
        whose = None
        if unit is not None:
            whose = np.unique(unit[row], return_inverse=True)[1].astype(np.int32)
        return cls(values, scores, tops, fresh, row, field_of(values, tops), whose)

    def __len__(self) -> int:
        return len(self.scores)

    def published(self, members: NDArray[np.int64]) -> Self:
        """The same rows after a group was published; they still count in the boxes of others."""
        fresh = self.fresh.copy()
        fresh[members] = False
        return replace(self, fresh=fresh)

    def persons(self, rows: NDArray[np.int64]) -> int:
        """Whose some rows are, given by their numbers: how many different persons."""
        return len(rows) if self.unit is None else len(np.unique(self.unit[rows]))

    def targets(self, batch: int | None) -> NDArray[np.bool_]:
        """Which top rows, shape (tops,), a search starts from: the best fresh ones and all ties.

        ``batch`` counts persons, each by the best of their rows.
        """
        left = self.fresh[: self.tops]
        ranked = np.flatnonzero(left)
        if self.unit is not None:
            ranked = ranked[np.sort(np.unique(self.unit[ranked], return_index=True)[1])]
        if batch is None or batch >= len(ranked):
            return left
        chosen: NDArray[np.bool_] = left & (
            self.scores[: self.tops] >= self.scores[ranked[batch - 1]]
        )
        return chosen

    def question(self, terms: SearchTerms) -> BoxQuestion:
        """What compiled searches are asked."""
        return BoxQuestion(
            self.field,
            bits_of(self.targets(terms.batch)),
            bits_of(self.fresh),
            terms.k,
            terms.precision.numerator,
            terms.precision.denominator,
            _EACH if self.unit is None else self.unit,
            np.zeros(1 if self.unit is None else int(self.unit.max()) + 2, dtype=np.int64),
        )


@dataclass(frozen=True, eq=False)
class Group:
    """One box and who is in it.  ``members`` is private: numbers of rows."""

    low: NDArray[np.int64]
    """(m,): least value of each attribute."""
    high: NDArray[np.int64]
    """(m,): greatest value."""
    members: NDArray[np.int64]
    """Rows of the remnant that this group publishes, ascending: top rows first, by score."""
    published_tops: int
    """Top rows among the members."""
    true_count: int
    """Top rows in the box, members of earlier groups too."""
    total_count: int
    """Rows of the table in the box."""
    score_low: int
    score_high: int
    """Range of the scores of the members."""
    persons: int
    """Whose the members are."""
    thresholded: bool = False
    """Only rows of at least ``score_low`` belong to the group (Perfect Precision)."""

    @property
    def precision(self) -> Fraction:
        """Share of top rows among the rows of the table in the box."""
        return Fraction(self.true_count, self.total_count)

    @property
    def own_precision(self) -> Fraction:
        """Share of top rows among the members."""
        return Fraction(self.published_tops, len(self.members))

    def is_feasible(self, terms: SearchTerms) -> bool:
        """Whether the group satisfies the terms; see the module."""
        least = min(self.precision, self.own_precision)
        return self.persons >= terms.k and least >= terms.precision


@dataclass(frozen=True, eq=False)
class RankingGroup:
    """A group, or none; and whether the search knows that there is no better answer."""

    group: Group | None
    proved: bool
    """With a group: none publishes more of the rows searched from.  Without: none is feasible."""
    examined: int = 0
    """Boxes looked at."""


_PART_OF_WORK = 64
"""An attempt from a part of the top rows that are left may take this part of the work."""

Search = Callable[[Remnant, SearchTerms, Key], RankingGroup]
"""Looks for one group."""


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """All groups of a ranking, in the order in which they were found."""

    groups: tuple[Group, ...]
    tops: int
    """Top rows there were."""
    published: int
    """Top rows in the groups."""
    stop: str
    """"used up", "impossible" (proved) or "not found"."""
    remnant: Remnant
    """What was left; private."""

    @property
    def recall(self) -> Fraction:
        """Share of the top that was published."""
        return Fraction(self.published, self.tops)


def publish_groups(remnant: Remnant, terms: SearchTerms, search: Search, key: Key) -> RankedBoxes:
    """Search for groups until no top row is left or no group is found."""
    groups: list[Group] = []
    while (left := int(remnant.fresh[: remnant.tops].sum())) > 0:
        persons = remnant.persons(np.flatnonzero(remnant.fresh[: remnant.tops]))
        outcome = _round(remnant, terms, search, key, persons)
        if outcome.group is None:
            stop = "impossible" if outcome.proved else "not found"
            break
        groups.append(outcome.group)
        remnant = remnant.published(outcome.group.members)
    else:
        stop = "used up"
    return RankedBoxes(tuple(groups), remnant.tops, remnant.tops - left, stop, remnant)


def _round(
    remnant: Remnant, terms: SearchTerms, search: Search, key: Key, left: int
) -> RankingGroup:
    batch = left if terms.batch is None else min(terms.batch, left)
    while batch < left:
        part = replace(terms, batch=batch, work=max(1, terms.work // _PART_OF_WORK))
        outcome = search(remnant, part, key)
        if outcome.group is not None:
            return outcome
        batch = min(2 * batch, left)
    return search(remnant, replace(terms, batch=None), key)


def group_of(remnant: Remnant, inside: NDArray[np.bool_], *, thresholded: bool = False) -> Group:
    """The group of the fresh rows among ``inside`` (n,), shown by the smallest box around them.

    The counts are taken anew from that box.
    """
    members = np.flatnonzero(inside & remnant.fresh)
    values, scores = remnant.values[members], remnant.scores[members]
    low, high = values.min(axis=0), values.max(axis=0)
    shown = ((remnant.values >= low) & (remnant.values <= high)).all(axis=1)
    if thresholded:
        shown &= remnant.scores >= scores.min()
    return Group(
        low,
        high,
        members,
        int(np.searchsorted(members, remnant.tops)),
        int(shown[: remnant.tops].sum()),
        int(shown.sum()),
        int(scores.min()),
        int(scores.max()),
        remnant.persons(members),
        thresholded,
    )


def _rows_of(bits: Bits, n: int) -> NDArray[np.bool_]:
    """A bitset as one flag a row."""
    flags = np.unpackbits(bits.astype("<u8").view(np.uint8), count=n, bitorder="little")
    return flags.astype(np.bool_)


def outcome_of(
    remnant: Remnant, rows: Bits | None, *, proved: bool = False, examined: int = 0
) -> RankingGroup:
    """What a search found, as its caller reads it."""
    group = None if rows is None else group_of(remnant, _rows_of(rows, len(remnant)))
    return RankingGroup(group, proved, examined)
