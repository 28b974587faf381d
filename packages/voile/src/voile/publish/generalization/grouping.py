"""Compiled grouping of packed rows: the one loop that every evaluation of a node runs.

What it does: the codes of a row are packed into one or a few 64-bit words, a field of bits for
each column.  Generalizing a column replaces its field; rows with equal words are then one group.

Claim: fields are as wide as the column's finest codes need, so no two different rows share their
words, and the groups are exact.

Algorithm: a hash table with linear probing, at most half full, that holds places of groups;
words are compared in full.  Groups are numbered in the order in which they are first met.

Cost: expected O(n W) for n rows of W words, about 4 ns a row for W = 1; 8 to 16 bytes a row for
the table, which is used again.  While all that was grouped is less than Numba takes to load, rows
are hashed in NumPy, about 20 ns a row, which gives the same groups in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, pays_by_now
from voile_base.ondemand import dataclass

__all__ = ["Fields", "GroupTable", "Grouper", "Words", "get_ready"]

Words = tuple[NDArray[np.uint64], ...]
"""The packed codes of n rows: W arrays of shape (n,)."""

_WORD = 64
_LEAST = 20_000_000
"""So many rows are grouped in NumPy in the time in which Numba is loaded."""
_CALL = 1_000
"""What a call costs beside its rows, in rows."""
_IN_CACHE = 1 << 16
"""Rows beyond these cost four times as much, as their table leaves the cache."""
_MULTIPLIER = np.uint64(11400714819323198485)
"""2**64 over the golden ratio, as in Fibonacci hashing: high bits depend on all below."""


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Rows counted by their packed codes; p entries, all different."""

    words: Words
    rows: NDArray[np.int64]
    """Shape (p,)."""

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, chosen: NDArray[np.bool_]) -> GroupTable:
        """Some of the entries."""
        places = np.flatnonzero(chosen)
        return GroupTable(tuple(word[places] for word in self.words), self.rows[places])


class Fields:
    """Where the code of each column stands in the words of a row."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """``sizes``: for each column, the number of different codes at its finest."""
        word, used = 0, 0
        places = []
        for size in sizes:
            width = max(size - 1, 1).bit_length()
            if used + width > _WORD:
                word, used = word + 1, 0
            places.append((word, np.uint64(used), np.uint64((1 << width) - 1)))
            used += width
        self._places = tuple(places)
        self._words = word + 1

    def pack(self, codes: Sequence[NDArray[np.generic]]) -> Words:
        """The words of n rows, from an array (n,) of codes for each column."""
        rows = len(codes[0]) if len(codes) else 0
        words = tuple(np.zeros(rows, dtype=np.uint64) for _ in range(self._words))
        for (word, shift, _), code in zip(self._places, codes, strict=True):
            words[word][:] |= code.astype(np.uint64) << shift
        return words

    def codes(self, words: Words, column: int) -> NDArray[np.int64]:
        """The codes of one column, shape (n,)."""
        word, shift, mask = self._places[column]
        codes: NDArray[np.int64] = ((words[word] >> shift) & mask).view(np.int64)
        return codes

    def replaced(self, words: Words, tables: Mapping[int, NDArray[np.uint64]]) -> Words:
        """A copy in which each code c of a column j of ``tables`` is ``tables[j][c]``."""
        made = self.without(words, [*tables])
        if pays_by_now(len(tables) * (len(words[0]) + _CALL), 6 * _LEAST):
            for column, table in tables.items():
                word, shift, mask = self._places[column]
                _replace(words[word], made[word], shift, mask, table)
            return made
        for column, table in tables.items():
            word, shift, _ = self._places[column]
            made[word][:] |= (table << shift)[self.codes(words, column)]
        return made

    def histogram(self, table: GroupTable, column: int, size: int) -> NDArray[np.int64]:
        """Rows by their code in one column, shape (size,)."""
        codes = self.codes(table.words, column)
        return np.bincount(codes, table.rows, size).astype(np.int64)  # exact: below 2**53

    def without(self, words: Words, columns: Sequence[int]) -> Words:
        """The words with the fields of some columns set to 0."""
        kept = np.full(self._words, np.iinfo(np.uint64).max, dtype=np.uint64)
        for word, shift, mask in (self._places[column] for column in columns):
            kept[word] &= ~(mask << shift)
        return tuple(word & mask for word, mask in zip(words, kept, strict=True))


class Grouper:
    """Groups equal rows, in buffers that are used again; not to be shared by threads."""

    def __init__(self) -> None:
        self._places = np.empty(0, dtype=np.int32)

    def group(self, words: Words, rows: NDArray[np.int64]) -> GroupTable:
        """Groups of equal rows, with the sums of ``rows`` (n,)."""
        return self._group(words, rows, None)

    def group_with_members(
        self, words: Words, rows: NDArray[np.int64]
    ) -> tuple[GroupTable, NDArray[np.int64]]:
        """The same, and the group of each row, shape (n,)."""
        member = np.empty(len(rows), dtype=np.int64)
        return self._group(words, rows, member), member

    def _group(
        self, words: Words, rows: NDArray[np.int64], member: NDArray[np.int64] | None
    ) -> GroupTable:
        if not pays_by_now(len(rows) + 3 * max(0, len(rows) - _IN_CACHE) + _CALL, _LEAST):
            return self._hashed_groups(words, rows, member)
        bits = max(2, (2 * len(rows)).bit_length())
        if len(self._places) < 1 << bits:
            self._places = np.empty(1 << bits, dtype=np.int32)
        grouped = GroupTable(tuple(np.empty_like(word) for word in words), np.empty_like(rows))
        places = self._places[: 1 << bits]
        groups = _group(words, rows, places, bits, grouped.words, grouped.rows, member)
        return GroupTable(
            tuple(word[:groups].copy() for word in grouped.words), grouped.rows[:groups].copy()
        )

    def _hashed_groups(
        self, words: Words, rows: NDArray[np.int64], member: NDArray[np.int64] | None
    ) -> GroupTable:
        """What ``_group`` gives, in its order, without compiled code."""
        first = self._first_equals(words)
        heads = np.flatnonzero(first == np.arange(len(first)))
        number = np.empty(len(first), dtype=np.int64)
        number[heads] = np.arange(len(heads))
        of_row = number[first]
        sums = np.zeros(len(heads), dtype=np.int64)
        np.add.at(sums, of_row, rows)
        if member is not None:
            member[:] = of_row
        return GroupTable(tuple(word[heads] for word in words), sums)

    def _first_equals(self, words: Words) -> NDArray[np.int32]:
        """For each row the first one with its words, shape (n,).

        Rows leave their number at the place that their words have, the first one last.  Those who
        find there the number of a row with other words are sorted.
        """
        rows = len(words[0])
        bits = max(2, (4 * rows).bit_length())
        if len(self._places) < 1 << bits:
            self._places = np.empty(1 << bits, dtype=np.int32)
        mixed = words[0] * _MULTIPLIER
        for word in words[1:]:
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ word) * _MULTIPLIER
        place = (mixed >> np.uint64(64 - bits)).view(np.int64)
        self._places[place[::-1]] = np.arange(rows, dtype=np.int32)[::-1]
        first: NDArray[np.int32] = self._places[place]
        other = np.zeros(rows, dtype=np.bool_)
        for word in words:
            other |= word[first] != word
        others = np.flatnonzero(other)
        first[others] = others[_first_by_sorting(tuple(word[others] for word in words))]
        return first


def _first_by_sorting(words: Words) -> NDArray[np.int64]:
    """For each row the first one with its words, shape (n,)."""
    order = np.lexsort(words)
    begins = np.zeros(len(order), dtype=np.bool_)
    begins[:1] = True
    for word in words:
        ordered = word[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[begins][np.cumsum(begins) - 1]  # the sort is stable
    return first


def get_ready() -> None:
    """Load the compiled loops for rows of one word: a third of a second."""
    fields = Fields([2])
    words = fields.pack([np.arange(2)])
    words = fields.replaced(words, {0: np.arange(2, dtype=np.uint64)})
    table, _ = Grouper().group_with_members(words, np.ones(2, dtype=np.int64))
    Grouper().group(words, table.rows)


@njit(cache=True, nogil=True)
def _replace(
    word: NDArray[np.uint64],
    made: NDArray[np.uint64],
    shift: np.uint64,
    mask: np.uint64,
    table: NDArray[np.uint64],
) -> None:
    for i in range(len(word)):
        made[i] |= table[np.int64((word[i] >> shift) & mask)] << shift


@njit(cache=True, nogil=True)
def _group(
    words: Words,
    rows: NDArray[np.int64],
    places: NDArray[np.int32],
    bits: int,
    grouped_words: Words,
    grouped_rows: NDArray[np.int64],
    member: NDArray[np.int64] | None,
) -> int:
    """Fill the groups and, unless None, the group of each row; returns the number of groups.

    Compiled once for each number of words, and with and without members.
    """
    places[:] = -1
    last = len(places) - 1
    shift = np.uint64(64 - bits)
    groups = 0
    for i in range(len(rows)):
        mixed = np.uint64(0)
        for w in range(len(words)):
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ words[w][i]) * _MULTIPLIER
        place = np.int64(mixed >> shift)
        while True:
            group = places[place]
            if group < 0:
                break
            same = True
            for w in range(len(words)):
                same &= grouped_words[w][group] == words[w][i]
            if same:
                break
            place = (place + 1) & last
        if group < 0:
            group = groups
            places[place] = group
            for w in range(len(words)):
                grouped_words[w][group] = words[w][i]
            grouped_rows[group] = rows[i]
            groups += 1
        else:
            grouped_rows[group] += rows[i]
        if member is not None:
            member[i] = group
    return groups
