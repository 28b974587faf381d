"""Boxes of ranking attributes as bitsets of the rows that lie in them.

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
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

from voile_base.errors import PlanError

__all__ = [
    "Bits",
    "BoxQuestion",
    "Field",
    "bits_of",
    "content",
    "count",
    "count_persons",
    "field_of",
    "has",
    "is_feasible",
    "is_precise",
    "lowest",
    "tally",
    "tighten",
]

Bits = NDArray[np.uint64]
"""A set of rows, 64 to a word."""

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


class _BoxTally(NamedTuple):
    """What lies in a box."""

    targets: int
    tops: int
    total: int
    fresh_tops: int
    members: int
    """Fresh rows."""
    persons: int
    """Whose these are; where they are fewer than k, no more is known than that."""


def field_of(values: NDArray[np.int64], tops: int) -> Field:
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
def _prepare(depth: NDArray[np.int32], inwards: NDArray[np.int32], within: Any, past: Any) -> None:
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
def put(given: Any, into: Any) -> None:
    """Copy as many words as there is room for; an assignment of arrays is long to compile."""
    for word in range(len(into)):
        into[word] = given[word]


@register_jitable
def _keep_tops(past: Any, tops: int) -> None:
    if tops % 64:
        mask = (np.uint64(1) << np.uint64(tops % 64)) - np.uint64(1)
        for level in range(past.shape[0]):
            past[level, past.shape[1] - 1] &= mask


@register_jitable
def _add(chosen: Any, row: int) -> None:
    chosen[row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@register_jitable
def has(chosen: Any, row: int) -> Any:
    """Whether a row is in a set."""
    return (chosen[row >> 6] >> np.uint64(row & 63)) & np.uint64(1) != 0


def _generate_population(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_population: Any = intrinsic(_generate_population)
"""How many bits of a word are set."""


@register_jitable
def lowest(word: Any) -> Any:
    """The index of the lowest bit of a word that is not zero."""
    return np.int64(_population((word & (~word + np.uint64(1))) - np.uint64(1)))


@register_jitable
def count(chosen: Any, mask: Any) -> Any:
    """How many rows two sets share; the shorter one says how far to look."""
    total = np.uint64(0)
    for word in range(min(len(chosen), len(mask))):
        total += _population(chosen[word] & mask[word])
    return np.int64(total)


@register_jitable
def tighten(field: Any, chosen: Any, edge: Any) -> None:
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
def content(field: Any, edge: Any, rows: Any) -> None:
    """The rows in the box whose sides stand at ``edge``."""
    put(field.within[0, field.order[0, edge[0]]], rows)
    for side in range(1, len(edge)):
        wall = field.within[side, field.order[side, edge[side]]]
        for word in range(len(rows)):
            rows[word] &= wall[word]


@register_jitable
def tally(question: Any, rows: Any) -> Any:
    """Count the rows of a box."""
    members = count(question.fresh, rows)
    persons = members
    if len(question.unit) > 0 and members >= question.k:
        persons = count_persons(question, rows)
    return _BoxTally(
        count(question.targets, rows),
        count(question.field.top, rows),
        count(rows, rows),
        _count_fresh_tops(question, rows),
        members,
        persons,
    )


@register_jitable
def count_persons(question: Any, rows: Any) -> Any:
    """Whose the fresh rows among these are; each row is another person's where nobody is named."""
    if len(question.unit) == 0:
        return count(question.fresh, rows)
    now = question.seen[-1] + 1
    question.seen[-1] = now
    found = np.int64(0)
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
def _count_fresh_tops(question: Any, rows: Any) -> Any:
    total = np.uint64(0)
    for word in range(len(question.targets)):
        total += _population(question.field.top[word] & question.fresh[word] & rows[word])
    return np.int64(total)


@register_jitable
def is_precise(question: Any, tops: int, total: int) -> Any:
    """Whether so many top rows among so many reach the precision; in whole numbers."""
    return tops * question.denominator >= total * question.numerator


@register_jitable
def is_feasible(question: Any, here: Any) -> Any:
    """Whether a box is a group: of k persons, and precise in its members and in all of its rows."""
    return (
        here.persons >= question.k
        and is_precise(question, here.tops, here.total)
        and is_precise(question, here.fresh_tops, here.members)
    )
