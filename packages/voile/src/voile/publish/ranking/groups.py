"""Groups of a ranking: boxes of ranking attributes, and how groups repeat until the top is used up.

A side of a box is one attribute from below or from above, so m attributes have 2 m sides.  The
depth of a row at a side is the rank of its value, counted inwards; a box is a least depth for each
side, and a row is in the box where no side's least depth exceeds its own.  So all sides are alike,
and no loop knows an upper bound from a lower one.

Top rows come first in the order of rows; a set of top rows is a bitset of its own.  The box around
a set of top rows is known by its extreme top row at each side, and what lies in it is the
intersection of 2 m prepared bitsets.

Where persons have several rows a box counts persons besides, by going through its fresh rows with a
mark for each person; only where it has k such rows, since it has no more persons.

Cost: for n rows, t of them top, preparing takes O(m (n + t n / 64)) and so much memory; a box
O(m n / 64).

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
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = [
    "Bits",
    "BoxQuestion",
    "BoxTally",
    "Depths",
    "Edge",
    "Field",
    "Group",
    "RankedBoxes",
    "RankingGroup",
    "Remnant",
    "Search",
    "SearchTerms",
    "Ties",
    "bits_of",
    "content",
    "count",
    "count_persons",
    "has",
    "is_feasible",
    "is_precise",
    "lowest",
    "require",
    "tally",
    "tighten",
]

Bits = NDArray[np.uint64]
"""A set of rows, 64 to a word."""
Words = NDArray[np.uint64] | NDArray[np.int64] | NDArray[np.int32]
Edge = NDArray[np.int64]
"""(s,): where the sides of a box stand, as indices in ``Field.order``."""
Depths = NDArray[np.int32]
"""(s,): the least depth that lies in a box, at each side."""

_MAXIMUM_BYTES = 2**29


class Field(NamedTuple):
    """n rows, the first t of them top, seen from s = 2 m sides."""

    depth: NDArray[np.int32]
    """(s, n): how far inside a row is, as a rank among the values of all rows."""
    order: NDArray[np.int32]
    """(s, t): top rows from the outside inwards."""
    rank: NDArray[np.int32]
    """(s, t): where each top row stands in ``order``."""
    within: NDArray[np.uint64]
    """(s, t, words): the rows that are as far inside as this top row."""
    past: NDArray[np.uint64]
    """(s, levels, top words): the top rows that are further inside than this depth."""
    top: NDArray[np.uint64]
    """(words,): the top rows."""


class BoxQuestion(NamedTuple):
    """A field, the rows that may still be published, and what a group must satisfy."""

    field: Field
    targets: NDArray[np.uint64]
    """(top words,): the top rows from which the search starts."""
    fresh: NDArray[np.uint64]
    """(words,): the rows that no group has published."""
    k: int
    numerator: int
    denominator: int
    unit: NDArray[np.int32]
    """(n,): whose each row is, from 0; (0,) where each is another person's."""
    seen: NDArray[np.int64]
    """(persons + 1,): when each was last counted, and then how often it was counted."""


class BoxTally(NamedTuple):
    """What lies in a box."""

    targets: int
    tops: int
    total: int
    fresh_tops: int
    members: int
    """Fresh rows."""
    persons: int
    """Whose these are; where they are fewer than k, no more is known than that."""


def _field_of(values: NDArray[np.int64], tops: int) -> Field:
    """The field of rows (n, m), the first ``tops`` of them top.

    Raises ``PlanError`` where the prepared bitsets would not fit in memory.
    """
    n, m = values.shape
    words = -(-n // 64)
    if (size := 16 * m * tops * words + 16 * m * n * -(-tops // 64)) > _MAXIMUM_BYTES:
        msg = (
            f"{n} rows lie in the box around the {tops} top rows: comparing them would take "
            f"{size >> 20} MiB; ask for fewer top rows or rank by fewer attributes"
        )
        raise PlanError(msg)
    depth = np.empty((2 * m, n), dtype=np.int32)
    for column in range(m):
        distinct, rank = np.unique(values[:, column], return_inverse=True)
        depth[2 * column] = rank
        depth[2 * column + 1] = len(distinct) - 1 - rank
    inwards = np.argsort(depth, axis=1, kind="stable").astype(np.int32)
    order = np.argsort(depth[:, :tops], axis=1, kind="stable").astype(np.int32)
    levels = int(depth.max()) + 1
    within = np.zeros((2 * m, tops, words), dtype=np.uint64)
    past = np.zeros((2 * m, levels, -(-tops // 64)), dtype=np.uint64)
    _prepare(depth, inwards, within, past)
    ranks = np.argsort(order, axis=1).astype(np.int32)
    return Field(depth, order, ranks, within, past, bits_of(np.arange(n) < tops))


def bits_of(chosen: NDArray[np.bool_]) -> Bits:
    """A set of rows as words; row i is bit i % 64 of word i // 64."""
    padded = np.zeros(-(-len(chosen) // 64) * 64, dtype=np.bool_)
    padded[: len(chosen)] = chosen
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)


@njit(cache=True, nogil=True)
def _prepare(
    depth: NDArray[np.int32], inwards: NDArray[np.int32], within: Bits, past: Bits
) -> None:
    sides, n = depth.shape
    tops = within.shape[1]
    seen = np.empty(within.shape[2], dtype=np.uint64)
    for side in range(sides):
        seen[:] = 0
        last = n
        while last > 0:
            # All rows of one depth enter together, from the innermost outwards.
            first, level = last, depth[side, inwards[side, last - 1]]
            put(seen, past[side, level])
            while first > 0 and depth[side, inwards[side, first - 1]] == level:
                first -= 1
                _add(seen, inwards[side, first])
            for index in range(first, last):
                if inwards[side, index] < tops:
                    put(seen, within[side, inwards[side, index]])
            last = first
        _keep_tops(past[side], tops)


@register_jitable
def put(given: Words, into: Words) -> None:
    """Copy as many words as there is room for; an assignment of arrays is long to compile."""
    for word in range(len(into)):
        into[word] = given[word]


@register_jitable
def _keep_tops(past: Bits, tops: int) -> None:
    if tops % 64:
        mask = (np.uint64(1) << np.uint64(tops % 64)) - np.uint64(1)
        for level in range(past.shape[0]):
            past[level, past.shape[1] - 1] &= mask


@register_jitable
def _add(chosen: Bits, row: int) -> None:
    chosen[row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@register_jitable
def has(chosen: Bits, row: int) -> bool:
    """Whether a row is in a set."""
    return bool((chosen[row >> 6] >> np.uint64(row & 63)) & np.uint64(1) != 0)


def _generate_population(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_population: Any = intrinsic(_generate_population)
"""How many bits of a word are set."""


@register_jitable
def lowest(word: np.uint64) -> int:
    """The index of the lowest bit of a word that is not zero."""
    return int(np.int64(_population((word & (~word + np.uint64(1))) - np.uint64(1))))


@register_jitable
def count(chosen: Bits, mask: Bits) -> int:
    """How many rows two sets share; the shorter one says how far to look."""
    total = np.uint64(0)
    for word in range(min(len(chosen), len(mask))):
        total += _population(chosen[word] & mask[word])
    return int(np.int64(total))


@register_jitable
def tighten(field: Field, chosen: Bits, edge: Edge) -> None:
    """Move each side in to the outermost chosen top row.

    ``edge`` (s,): indices in ``field.order``; it may stand further out, never further in.
    ``chosen`` must not be empty.
    """
    for side in range(len(edge)):
        index = edge[side]
        while not has(chosen, field.order[side, index]):
            index += 1
        edge[side] = index


@register_jitable
def content(field: Field, edge: Edge, rows: Bits) -> None:
    """The rows in the box whose sides stand at ``edge``."""
    put(field.within[0, field.order[0, edge[0]]], rows)
    for side in range(1, len(edge)):
        wall = field.within[side, field.order[side, edge[side]]]
        for word in range(len(rows)):
            rows[word] &= wall[word]


@register_jitable
def tally(question: BoxQuestion, rows: Bits) -> BoxTally:
    """Count the rows of a box."""
    members = count(question.fresh, rows)
    persons = members
    if len(question.unit) > 0 and members >= question.k:
        persons = count_persons(question, rows)
    return BoxTally(
        count(question.targets, rows),
        count(question.field.top, rows),
        count(rows, rows),
        _count_fresh_tops(question, rows),
        members,
        persons,
    )


@register_jitable
def count_persons(question: BoxQuestion, rows: Bits) -> int:
    """Whose the fresh rows among these are; each row is another person's where nobody is named."""
    if len(question.unit) == 0:
        return count(question.fresh, rows)
    now = question.seen[-1] + 1
    question.seen[-1] = now
    found = 0
    for word in range(len(rows)):
        left = rows[word] & question.fresh[word]
        while left:
            person = question.unit[64 * word + lowest(left)]
            left &= left - np.uint64(1)
            if question.seen[person] != now:
                question.seen[person] = now
                found += 1
    return found


@register_jitable
def _count_fresh_tops(question: BoxQuestion, rows: Bits) -> int:
    total = np.uint64(0)
    for word in range(len(question.targets)):
        total += _population(question.field.top[word] & question.fresh[word] & rows[word])
    return int(np.int64(total))


@register_jitable
def is_precise(question: BoxQuestion, tops: int, total: int) -> bool:
    """Whether so many top rows among so many reach the precision; in whole numbers."""
    return tops * question.denominator >= total * question.numerator


@register_jitable
def is_feasible(question: BoxQuestion, here: BoxTally) -> bool:
    """Whether a box is a group: of k persons, and precise in its members and in all of its rows."""
    return (
        here.persons >= question.k
        and is_precise(question, here.tops, here.total)
        and is_precise(question, here.fresh_tops, here.members)
    )


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
        return cls(values, scores, tops, fresh, row, _field_of(values, tops), whose)

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

    def publish(self, terms: SearchTerms, search: Search, key: Key) -> RankedBoxes:
        """Search for groups until no top row is left or no group is found."""
        remnant = self
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

    def group(self, inside: NDArray[np.bool_], *, thresholded: bool = False) -> Group:
        """The group of the fresh rows among ``inside`` (n,), shown by the smallest box around them.

        The counts are taken anew from that box.
        """
        members = np.flatnonzero(inside & self.fresh)
        values, scores = self.values[members], self.scores[members]
        low, high = values.min(axis=0), values.max(axis=0)
        shown = ((self.values >= low) & (self.values <= high)).all(axis=1)
        if thresholded:
            shown &= self.scores >= scores.min()
        return Group(
            low,
            high,
            members,
            int(np.searchsorted(members, self.tops)),
            int(shown[: self.tops].sum()),
            int(shown.sum()),
            int(scores.min()),
            int(scores.max()),
            self.persons(members),
            thresholded,
        )

    def outcome(
        self, rows: Bits | None, *, proved: bool = False, examined: int = 0
    ) -> RankingGroup:
        """What a search found, as its caller reads it."""
        group = None if rows is None else self.group(_rows_of(rows, len(self)))
        return RankingGroup(group, proved, examined)


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


def _rows_of(bits: Bits, n: int) -> NDArray[np.bool_]:
    """A bitset as one flag a row."""
    flags = np.unpackbits(bits.astype("<u8").view(np.uint8), count=n, bitorder="little")
    return flags.astype(np.bool_)
