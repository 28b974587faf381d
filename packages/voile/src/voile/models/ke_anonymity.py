"""(k,e)-anonymity as a property of groups of rows, and the rule by which new rows of a series wait.

A group of rows is (k,e)-valid if its sensitive values number at least k distinct ones and span a
range (maximum minus minimum) of at least e.  Source: Zhang, Koudas, Srivastava and Yu,
"Aggregate query answering on anonymized tables" (2007).  The empty group is not valid; where
emptiness is harmless, the caller asks for it.

Sensitive values are exact integers ("units"): int64 with magnitudes under 2**61, or Python
integers in an object array.  Cost: one sort of the m pairs (group, value); for a table of many
rows count equal pairs first, and pass the distinct pairs with their counts (10 million raw rows
take seconds).

These measures share no code with the publishers, whose claims they check.

What the releases of one growing table give away when they are compared.

Everything here is private: it is computed from which rows lie together, which only the
custodian knows.  It answers whether a new release keeps two promises about a history:

- pairwise: Definition 5 of "An incremental privacy-preservation algorithm for the (k, e)-
  Anonymous model" (2015): for every block a of an earlier release and every block b of the new
  one, each of the sets of rows a - b, b - a and a & b is empty or (k,e)-valid;
- union: every atom is (k,e)-valid, an atom being the rows that lie in one block in every
  release, where absence counts as a block.  Whatever an adversary gets by subtracting and
  intersecting blocks of any number of releases is a union of atoms.

Both are checked as they are defined, by operations on sets of rows; nothing is assumed about how
the blocks were made: they need not be ranges, nor nested over the releases.  Rows that always
lie together and have one value count as one cell.  A set difference is a set of rows, and its
values are those of the remaining rows, not a difference of sets of values: that is what an
adversary gets.

The pairs of the newest release with each earlier one suffice, if every release was so checked
when it was the newest.  Atoms need no such history: an atom of fewer releases is a union of
atoms of all.

Cost for m cells and T earlier releases: O(T m log m), independent of the number of pairs of
blocks.  A difference x - y is measured without building it: its low is the smallest low among
the parts into which x falls, leaving out the part in y, for which the two smallest are enough;
and it has the distinct values of x but those found in no other part.  Pairs that do not meet
have x - y = x: they need x itself to be valid, which is reported once, as kind "block".

How new rows wait, such that waiting tells nothing of anybody
-------------------------------------------------------------
What it does: new rows wait in one pool.  ``fate`` says what becomes of it when a release is made.

1. Before the pool has ``batch`` rows it is not looked at: it waits.
2. At the first look it is published if it is (k,e)-valid.  If not, it is refused, and waits.
3. The pool of which ``refused`` rows were refused is looked at again when newcomers have made it
   twice as large.  Let M be all its values.  Those refused had fewer than k distinct values or a
   range below e, and whoever knows this rule knows that.  ``possible`` computes, exactly, which
   values of M a refused row can have, and which a newcomer.  If both sets are valid the pool is
   published, all of it in ONE block.  Otherwise it is set aside: its rows are never published,
   and later rows make a new pool.  So is a refused pool from which a row was withdrawn.

Source: the rule is ours.  It is of the kind that Kenthapadi, Mishra and Nissim, "Simulatable
auditing" (PODS 2005), ask for: whether to answer is decided over all tables that explain what was
and will be seen.  The adversary is that of Wong, Fu, Wang and Pei, "Minimality attack in privacy
preserving data publishing" (VLDB 2007), who knows the algorithm and its input but for the values.

Guarantee, against an adversary who knows this rule, the plan, when each row arrived or left, and
all releases, and none of the values: everybody, published, waiting or set aside, keeps at least k
possible values that span at least e.  It assumes that neither the days of releases nor who leaves
depend on values, that any number is a possible value of a row that is not published, and that
nobody knows of attempts to begin a series before its first release, which ended without one.

Proof.  Pools share no rows, and what happens to a pool depends on its own values alone, so worlds
(tables that explain all that was seen) combine freely over pools, once the cuts of a release
depend on nothing but which values stand in which published class of rows.  For one pool:

- Never published (it waits, was refused or is set aside).  Let x be any number.  In the world
  where all its rows have x, no look finds two distinct values: the first look refuses it, since k
  is at least 2; the second finds only x for the refused rows and sets it aside.  What depends on
  counts of rows happens as it did.  So everybody may have any x.
- Published at the first look.  Whether it is, and where it is cut, depends on the set of its
  values.  Permuting values within a block changes neither, so everybody in a block may have each
  of its values, and a block is valid.
- Published at the second look.  Its worlds are the assignments of M to its rows for which the
  refused ones are invalid together: the second look depends on M alone, and one block shows M and
  nothing more.  Rows refused are alike, and so are newcomers; ``possible`` goes through all their
  worlds, and the pool is published only if what is left is valid.  Newcomers who are as many as
  the refused keep no less than these: were what they can be too few or too near, so would be any
  of them, as many as were refused, who may then have been refused in their place.

Cost: O(d log d) for d distinct values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile_base.ondemand import dataclass

__all__ = [
    "GROWTH",
    "NONE_REFUSED",
    "BlockStatistics",
    "BreachKind",
    "Fate",
    "Pool",
    "Refused",
    "WaitingRule",
    "atom_breaches",
    "block_statistics",
    "is_valid",
    "pairwise_breaches",
    "possible",
    "violations",
]


@dataclass(frozen=True)
class BlockStatistics:
    """Size and spread of g groups, in ascending order of their numbers; every field is (g,)."""

    group: NDArray[np.int64]
    rows: NDArray[np.int64]
    distinct: NDArray[np.int64]
    low: NDArray[Any]
    """Smallest value, in units."""
    high: NDArray[Any]
    """Largest value, in units."""


def is_valid(units: NDArray[np.generic], k: int, e: int) -> bool:
    """Whether one group of values, in any order and with repetitions, is (k,e)-valid."""
    if len(units) == 0:
        return False
    return len(np.unique(units)) >= k and int(units.max()) - int(units.min()) >= e


def block_statistics(
    group: NDArray[np.int64], units: NDArray[np.generic], count: NDArray[np.int64] | None = None
) -> BlockStatistics:
    """Measure each group of the pairs (``group``, ``units``), both (m,), in any order.

    ``count`` (m,) says how many rows each pair stands for; one by default.  Pairs may repeat.
    """
    groups, member = np.unique(group, return_inverse=True)
    level, rank = np.unique(units, return_inverse=True)
    rows = np.bincount(member, count, len(groups)).astype(np.int64)
    # One number per pair, so that the pairs sort by group and then by value.
    # Counted, since numpy loads its masked arrays for unique values alone.
    pairs, _ = np.unique(member * np.int64(len(level)) + rank, return_counts=True)
    owner = pairs // max(len(level), 1)
    first = np.searchsorted(owner, np.arange(len(groups)))
    last = np.searchsorted(owner, np.arange(len(groups)), side="right") - 1
    shown = level[pairs - owner * len(level)]
    return BlockStatistics(
        group=groups.astype(np.int64),
        rows=rows,
        distinct=(last - first + 1).astype(np.int64),
        low=shown[first],
        high=shown[last],
    )


def violations(statistics: BlockStatistics, k: int, e: int) -> NDArray[np.int64]:
    """Return the numbers of the groups that are not (k,e)-valid, ascending."""
    spread = np.asarray(statistics.high - statistics.low)
    invalid = (statistics.distinct < k) | (spread < e).astype(np.bool_)
    answer: NDArray[np.int64] = statistics.group[invalid]
    return answer


BreachKind = Literal["a-b", "b-a", "a&b", "block", "atom"]


@dataclass(frozen=True)
class _Breach:
    """A set of rows that can be told apart and is not (k,e)-valid.  Private.

    ``releases`` are the releases compared, ascending, and ``blocks`` the block of each, -1 for
    absence.  For "a-b", "b-a" and "a&b", a is the block of the earlier release; for "block",
    the block of a single release is invalid by itself; for "atom", all releases are listed.
    """

    kind: BreachKind
    releases: tuple[int, ...]
    blocks: tuple[int, ...]
    distinct: int
    spread: int
    """Maximum minus minimum, in units."""


def pairwise_breaches(
    units: NDArray[np.generic], blocks: NDArray[np.int64], k: int, e: int
) -> list[_Breach]:
    """Breaches of Definition 5 between the newest release and every earlier one.

    ``units``: (m,) the value of each cell, in any order; ``blocks``: (R, m) the block of each
    cell in each release, oldest first, -1 where the cell is absent; R >= 1.  Blocks that are
    not valid by themselves are reported for every release.
    """
    newest = len(blocks) - 1
    found = [
        breach
        for release in range(len(blocks))
        for breach in _invalid_blocks(units, blocks[release], release, k, e)
    ]
    for release in range(newest):
        pairs = _Pairs.of(blocks[release], blocks[newest], units)
        kinds: list[tuple[BreachKind, _Sets]] = [
            ("a&b", pairs.intersections()),
            ("a-b", pairs.differences(pairs.a)),
            ("b-a", pairs.differences(pairs.b)),
        ]
        found.extend(
            _Breach(kind, (release, newest), pair, distinct, spread)
            for kind, sets in kinds
            for pair, distinct, spread in sets.invalid(k, e)
        )
    return found


def atom_breaches(
    units: NDArray[np.generic], blocks: NDArray[np.int64], k: int, e: int
) -> list[_Breach]:
    """Atoms of all releases that are not valid; the arguments are as for `pairwise_breaches`.

    Cells absent from every release are no atom.
    """
    shown = (blocks >= 0).any(axis=0)
    units, blocks = units[shown], blocks[:, shown]
    atom = np.zeros(len(units), np.int64)
    for block in blocks:
        # Refining one release at a time keeps the numbers below m times the number of blocks.
        _, atom = np.unique(atom * (np.max(block, initial=0) + 2) + block + 1, return_inverse=True)
    statistics = block_statistics(atom, units)
    _, example = np.unique(atom, return_index=True)
    return [
        _Breach(
            "atom",
            tuple(range(len(blocks))),
            tuple(blocks[:, example[number]].tolist()),
            int(statistics.distinct[number]),
            int(statistics.high[number]) - int(statistics.low[number]),
        )
        for number in violations(statistics, k, e).tolist()
    ]


def _invalid_blocks(
    units: NDArray[np.generic], block: NDArray[np.int64], release: int, k: int, e: int
) -> Iterator[_Breach]:
    statistics = block_statistics(block[block >= 0], units[block >= 0])
    for number in np.searchsorted(statistics.group, violations(statistics, k, e)).tolist():
        spread = int(statistics.high[number]) - int(statistics.low[number])
        pair = (int(statistics.group[number]),)
        yield _Breach("block", (release,), pair, int(statistics.distinct[number]), spread)


@dataclass(frozen=True)
class _Sets:
    """One set of rows for each of n pairs of blocks; a set without values is empty."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    distinct: NDArray[np.int64]
    low: NDArray[Any]
    high: NDArray[Any]

    def invalid(self, k: int, e: int) -> Iterator[tuple[tuple[int, int], int, int]]:
        """Yield pair, distinct count and spread of each set that is neither empty nor valid."""
        spread = self.high - self.low
        poor = (self.distinct > 0) & ((self.distinct < k) | (spread < e).astype(np.bool_))
        for index in np.flatnonzero(poor).tolist():
            pair = (int(self.a[index]), int(self.b[index]))
            yield pair, int(self.distinct[index]), int(spread[index])


@dataclass(frozen=True)
class _Pairs:
    """The parts into which the blocks of two releases cut each other.

    A part is the cells with one block in the earlier and one in the newest release, -1 for
    absence, but for cells absent from both.  ``a`` and ``b`` give both blocks of each part.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    parts: BlockStatistics
    part_of_cell: NDArray[np.int64]
    units: NDArray[Any]

    @classmethod
    def of(cls, a: NDArray[np.int64], b: NDArray[np.int64], units: NDArray[Any]) -> _Pairs:
        shown = (a >= 0) | (b >= 0)
        a, b, units = a[shown], b[shown], units[shown]
        width = np.max(b, initial=0) + 2
        code, part_of_cell = np.unique((a + 1) * width + b + 1, return_inverse=True)
        return cls(
            a=code // width - 1,
            b=code % width - 1,
            parts=block_statistics(part_of_cell, units),
            part_of_cell=part_of_cell,
            units=units,
        )

    @property
    def meeting(self) -> NDArray[np.bool_]:
        """Parts that lie in a block of both releases."""
        return (self.a >= 0) & (self.b >= 0)

    def intersections(self) -> _Sets:
        """Measure a & b of every pair that meets."""
        return self._sets(self.parts.distinct, self.parts.low, self.parts.high)

    def differences(self, outer: NDArray[np.int64]) -> _Sets:
        """Measure x - y of every pair that meets; ``outer`` is the block x of each part."""
        whole = block_statistics(outer[self.part_of_cell], self.units)
        index = np.searchsorted(whole.group, outer)
        distinct = whole.distinct[index] - self._values_found_only_here(outer)
        low = _smallest_of_others(outer, self.parts.low)
        high = -_smallest_of_others(outer, -self.parts.high)
        return self._sets(distinct, low, high)

    def _values_found_only_here(self, outer: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each part, how many of its values no other part of the same outer block holds."""
        level, rank = np.unique(self.units, return_inverse=True)
        pair = np.unique(self.part_of_cell * len(level) + rank)
        part, rank = pair // max(len(level), 1), pair % max(len(level), 1)
        _, seen, times = np.unique(
            outer[part] * len(level) + rank, return_inverse=True, return_counts=True
        )
        return np.bincount(part[times[seen] == 1], minlength=len(outer)).astype(np.int64)

    def _sets(
        self, distinct: NDArray[np.int64], low: NDArray[np.generic], high: NDArray[np.generic]
    ) -> _Sets:
        keep = self.meeting
        return _Sets(self.a[keep], self.b[keep], distinct[keep], low[keep], high[keep])


def _smallest_of_others(outer: NDArray[np.int64], low: NDArray[np.generic]) -> NDArray[Any]:
    """For each part, the smallest ``low`` among the other parts with the same ``outer``.

    A part that is alone gets its own.
    """
    _, rank = np.unique(low, return_inverse=True)
    order = np.lexsort((rank, outer))
    first = np.searchsorted(outer[order], outer)
    last = np.searchsorted(outer[order], outer, side="right") - 1
    smallest = order[first]
    second = order[np.minimum(first + 1, last)]
    answer: NDArray[Any] = low[np.where(smallest == np.arange(len(outer)), second, smallest)]
    return answer


GROWTH = 2
"""A refused pool is looked at again when it has this many times as many rows."""

Fate = Literal["published", "waiting", "refused", "aside"]
"""What becomes of a pool at a release; see the module."""


@dataclass(frozen=True)
class WaitingRule:
    """The rule and its public parameters; see the module."""

    batch: int
    """Rows that a pool must have before it is looked at; at least 1."""
    k: int
    """At least 2."""
    e: int
    """In units of the values; at least 0."""

    def fate(self, pool: Pool) -> Fate:
        """What becomes of a pool when a release is made; a pool without rows waits."""
        if pool.refused.rows:
            return self._second_look(pool)
        rows = int(pool.rows.sum())
        if rows == 0 or rows < self.batch:
            return "waiting"
        return "published" if self._valid(pool.values) else "refused"

    def _second_look(self, pool: Pool) -> Fate:
        refused = pool.refused.rows
        if pool.refused.left:
            return "aside"
        if int(pool.rows.sum()) < GROWTH * refused:
            return "waiting"
        found = possible(pool.values, pool.rows, refused, self.k, self.e)
        valid = self._valid(pool.values[found.earlier]) and self._valid(pool.values[found.later])
        return "published" if valid else "aside"

    def _valid(self, values: NDArray[np.generic]) -> bool:
        return len(values) >= self.k and int(values[-1]) - int(values[0]) >= self.e


@dataclass(frozen=True)
class Refused:
    """The rows of a pool that its first look refused; public."""

    rows: int = 0
    """How many; 0 where the pool was not looked at."""
    left: int = 0
    """How many of them were withdrawn since."""


NONE_REFUSED = Refused()


@dataclass(frozen=True, eq=False)
class Pool:
    """The rows of a series that no release has shown and that are not set aside; private."""

    values: NDArray[Any]
    """Shape (d,): their distinct values in units, ascending."""
    rows: NDArray[np.int64]
    """Shape (d,): how many have each value, at least 1."""
    refused: Refused = NONE_REFUSED


@dataclass(frozen=True, eq=False)
class _Possible:
    """Which of the d values the rows of a pool can have; each field is (d,)."""

    earlier: NDArray[np.bool_]
    """The rows that were there before."""
    later: NDArray[np.bool_]
    """The newcomers."""


def possible(
    values: NDArray[np.generic], rows: NDArray[np.int64], earlier: int, k: int, e: int
) -> _Possible:
    """What each row can have where ``earlier`` of the rows are known to be invalid together.

    ``values`` (d,) ascending distinct units, ``rows`` (d,) how many have each, more in all than
    ``earlier``, which is at least 1.  A value is possible for an earlier row if some ``earlier`` of
    the rows, one of them with this value, have fewer than k distinct values or a range below e; for
    a newcomer, if some ``earlier`` of the rows without one of this value do.
    """
    near = _of_near_values(values, rows, earlier, e)
    few = _of_few_values(rows, earlier, k)
    return _Possible(near.earlier | few.earlier, near.later | few.later)


def _of_near_values(
    values: NDArray[np.generic], rows: NDArray[np.int64], earlier: int, e: int
) -> _Possible:
    """By windows of a range below e: each begins at a value."""
    d = len(values)
    e = min(e, int(values[-1]) - int(values[0]) + 1)  # which cannot overflow, and is as far
    start = np.arange(d)
    stop = np.maximum(np.searchsorted(values, values + e, side="left"), start)
    total = np.concatenate(([0], np.cumsum(rows)))
    size = total[stop] - total[start]

    def covered(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the chosen windows each value lies in."""
        steps = np.zeros(d + 1, dtype=np.int64)
        np.add.at(steps, start[chosen], 1)
        np.add.at(steps, stop[chosen], -1)
        return np.cumsum(steps[:-1])

    enough = size >= earlier
    if (size > earlier).any():
        later = np.ones(d, dtype=np.bool_)
    else:
        later = covered(enough) < int(enough.sum())
    return _Possible(covered(enough) > 0, later)


def _of_few_values(rows: NDArray[np.int64], earlier: int, k: int) -> _Possible:
    """By sets of k - 1 distinct values: the most frequent ones, or one value and those."""
    d = len(rows)
    most = np.sort(rows)[::-1]
    all_but_one, best = int(most[: k - 2].sum()), int(most[: k - 1].sum())
    # One of the k - 1 most frequent is in the best set; another one replaces the last of it.
    least = int(most[k - 2]) if d >= k - 1 else 0
    with_it = np.where(rows >= least, best, all_but_one + rows)
    # The best set can do without one row of a value unless all such values are needed in full.
    spare = d >= k and int(most[k - 1]) == least
    needed = rows > least if spare else rows >= least
    return _Possible(with_it >= earlier, np.where(needed, best - 1, best) >= earlier)
