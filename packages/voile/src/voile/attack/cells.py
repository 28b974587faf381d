"""Who and what can lie together in every release: cells, and bounds on what they hold.

A cell is a trail: one group for each release, absence counting as a group.  Everybody in all the
releases is in exactly one cell, with one value.  The files say how often each token (a tuple by
which people are told apart, or a sensitive value) stands in each group, so they bound how many
of the tokens are in each cell.  With ``x[t, c]`` the number of tokens t in cell c and ``s[c]`` the
number of people in it:

    sum of x[t, c] over the cells c that pass through group g of a release  =  count of t in g
    sum of x[t, c] over all values t  =  s[c]  =  sum of x[t, c] over all tuples t of people

Algorithm: start with one cell and refine it by one release after another; keep only the pairs
(t, c) that both kinds of tokens allow, and tighten lower and upper bounds of all ``x`` and ``s``
with these equations until nothing changes, or for a fixed number of rounds: the bounds hold
after any.  Subtracting several groups at once needs nothing more: the equations of the newest
group and of every older group that meets it are all there.

Sound: a bound holds for every table that is consistent with the files.  Exact if each value
stands in a single group of each release, as it does where groups are ranges that do not overlap:
the equations of one value then form a chain that has one solution.  Otherwise bounds may be
wider than they could be: the exact answer is an integer programme over tables with as many ways
as there are releases.

Cost: O((R + 1) q) a round for R releases and q pairs (t, c).  q is the number of distinct tuples
and values where each occurs once, and grows where tuples are common.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.table.alignment import Codes

__all__ = ["ContradictionError", "Placement", "Side", "TokenCells", "TooManyPairsError"]


_MOST_PAIRS = 8_000_000  # about a gigabyte
_ROUNDS = 40  # bounds are sound after any round; chains of releases close in a few


class ContradictionError(Exception):
    """No table is consistent with what was assumed about the releases."""


class TooManyPairsError(Exception):
    """The tokens of a release are too common to tell cells apart."""


@dataclass(frozen=True, eq=False)
class Placement:
    """How many tokens of one kind stand in each group of a release, absence included.

    Absence is two groups: 0 for people who are not in the newer release either (only where
    nobody leaves), and ``width - 1`` for those who are.  The number of tokens in the second is
    exactly what arrived between the two releases, which is why the two are kept apart.

    Parallel arrays over the distinct pairs, ascending by item, then by group.
    """

    item: Codes
    group: Codes
    least: Codes
    most: Codes
    width: int
    """Number of groups, both absences included."""


@dataclass(frozen=True, eq=False)
class _Equation:
    """For each of m sums of bounds: which pairs it adds up, and what the total can be."""

    member: Codes
    """The sum to which each pair belongs, shape (n,)."""
    least: Codes
    most: Codes


@dataclass(frozen=True, eq=False)
class Side:
    """Tokens of one kind in their cells: parallel arrays over the n possible pairs."""

    item: Codes
    cell: Codes
    lower: Codes
    upper: Codes
    equations: tuple[_Equation, ...] = ()

    def chosen(self, keep: NDArray[np.bool_] | Codes) -> Side:
        """Only some of the pairs, or pairs repeated."""
        return Side(
            self.item[keep],
            self.cell[keep],
            self.lower[keep],
            self.upper[keep],
            tuple(replace(sums, member=sums.member[keep]) for sums in self.equations),
        )


@dataclass(frozen=True, eq=False)
class TokenCells:
    """Cells, and what can lie in them."""

    trail: Codes
    """Shape (cells, releases): group of each cell in each release used so far; 0 for absence."""
    values: Side
    people: Side
    sizes: Side
    """The number of people in each cell: one token in all cells."""
    growing: bool
    """Whether nobody leaves: absence from a release means absence from the older ones."""

    @classmethod
    def undivided(cls, values: Codes, people: Codes, *, growing: bool) -> TokenCells:
        """One cell that holds everybody; the most that there can be of each token is given."""
        everybody = np.array([people.sum()])
        return cls(
            trail=np.zeros((1, 0), np.int64),
            values=_undivided(values),
            people=_undivided(people),
            sizes=_undivided(everybody),
            growing=growing,
        )

    def refined(self, values: Placement, people: Placement) -> TokenCells:
        """The cells divided by one more release, which is older than those before.

        Raises ``ContradictionError`` where no table is consistent with the releases, and
        ``TooManyPairsError`` where there would be too much to keep in memory.
        """
        one, other = (self.values, values), (self.people, people)
        if _ways(*one) <= _ways(*other):
            divided_values, divided_people, parts = _divided(one, other, self._absent())
        else:
            divided_people, divided_values, parts = _divided(other, one, self._absent())
        parent, group = np.divmod(parts, people.width)
        in_group = np.bincount(people.group, people.most, people.width).astype(np.int64)
        sizes = self.sizes.chosen(parent)
        sizes = replace(
            sizes,
            cell=np.arange(len(parts)),
            lower=np.zeros(len(parts), np.int64),
            upper=np.minimum(sizes.upper, in_group[group]),
            equations=(*sizes.equations, _Equation(group, in_group, in_group)),
        )
        trail = np.column_stack((self.trail[parent], group % (people.width - 1)))
        return TokenCells(trail, divided_values, divided_people, sizes, self.growing)._closed()

    def _absent(self) -> NDArray[np.bool_]:
        """Cells whose people cannot be in an older release."""
        if not self.growing or not self.trail.shape[1]:
            return np.zeros(len(self.trail), np.bool_)
        answer: NDArray[np.bool_] = self.trail[:, -1] == 0
        return answer

    def _closed(self) -> TokenCells:
        """The same with bounds as tight as the equations make them, and without empty pairs."""
        values, people, sizes = self.values, self.people, self.sizes
        stale = {"values", "people"}
        for _ in range(_ROUNDS):
            before = sizes
            if "values" in stale:
                tightened, sizes = _with_sizes(_tightened(values), sizes)
                if _same(tightened, values):
                    stale.discard("values")
                values = tightened
            if "people" in stale:
                tightened, sizes = _with_sizes(_tightened(people), sizes)
                if _same(tightened, people):
                    stale.discard("people")
                people = tightened
            sizes = _tightened(sizes)
            if not _same(sizes, before):
                stale = {"values", "people"}
            elif not stale:
                break
        return replace(self, values=values, people=people, sizes=sizes)._compressed()

    def _compressed(self) -> TokenCells:
        """Without pairs that cannot be and cells that are empty."""
        kept = self.sizes.upper > 0
        number = np.cumsum(kept) - 1

        def compress(side: Side) -> Side:
            side = side.chosen((side.upper > 0) & kept[side.cell])
            return replace(side, cell=number[side.cell])

        return replace(
            self,
            trail=self.trail[kept],
            values=compress(self.values),
            people=compress(self.people),
            sizes=compress(self.sizes),
        )


def _undivided(most: Codes) -> Side:
    item = np.flatnonzero(most)
    nothing = np.zeros(len(item), np.int64)
    return Side(item, nothing, nothing, most[item].astype(np.int64))


def _divided(
    small: tuple[Side, Placement], large: tuple[Side, Placement], absent: NDArray[np.bool_]
) -> tuple[Side, Side, Codes]:
    """Both sides in divided cells, and the part of each new cell: ``parent * width + group``.

    The smaller side tells which parts there can be; only those are looked for in the larger.
    """
    side, placement = small
    pair, place = _matches(side.item, placement.item)
    group = placement.group[place]
    fits = (group == 0) == absent[side.cell[pair]]
    pair, place = pair[fits], place[fits]
    part = side.cell[pair] * placement.width + placement.group[place]
    large_pair, large_place, large_part = _within(*large, _distinct(part))
    parts = _distinct(large_part)
    common = np.isin(part, parts)
    pair, place, part = pair[common], place[common], part[common]
    return (
        _side(small, pair, place, np.searchsorted(parts, part)),
        _side(large, large_pair, large_place, np.searchsorted(parts, large_part)),
        parts,
    )


def _within(side: Side, placement: Placement, parts: Codes) -> tuple[Codes, Codes, Codes]:
    """Pairs of a side, and places of their items, that lie in one of the parts.

    Of the two ways to enumerate them, by the places of the items or by the parts of the cells,
    the shorter is taken.
    """
    width = placement.width
    parents = parts // width
    if _ways(side, placement) <= _match_count(side.cell, parents):
        pair, place = _matches(side.item, placement.item)
        part = side.cell[pair] * width + placement.group[place]
        keep = np.isin(part, parts)
    else:
        pair, index = _matches(side.cell, parents)
        part = parts[index]
        key = placement.item * width + placement.group
        wanted = side.item[pair] * width + part % width
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        keep = key[place] == wanted
    return pair[keep], place[keep], part[keep]


def _side(tokens: tuple[Side, Placement], pair: Codes, place: Codes, cell: Codes) -> Side:
    """A side with its pairs divided over the places of a release."""
    side, placement = tokens
    divided = side.chosen(pair)
    return Side(
        item=divided.item,
        cell=cell,
        lower=np.zeros(len(pair), np.int64),
        upper=np.minimum(divided.upper, placement.most[place]),
        equations=(*divided.equations, _Equation(place, placement.least, placement.most)),
    )


def _ways(side: Side, placement: Placement) -> int:
    """How many pairs there are if each is divided over all places of its item."""
    return _match_count(side.item, placement.item)


def _distinct(numbers: Codes) -> Codes:
    """Distinct numbers that are not negative, ascending; fast where they are many and small."""
    largest = int(numbers.max(initial=0))
    if largest > 8 * len(numbers):
        return np.unique(numbers)
    seen = np.zeros(largest + 1, np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen)


def _match_count(left: Codes, right: Codes) -> int:
    ends = np.searchsorted(right, left, side="right")
    return int((ends - np.searchsorted(right, left)).sum())


def _matches(left: Codes, right: Codes) -> tuple[Codes, Codes]:
    """All (i, j) with ``left[i] == right[j]``, ascending by i; ``right`` ascends."""
    start = np.searchsorted(right, left)
    times = np.searchsorted(right, left, side="right") - start
    total = int(times.sum())
    if total > max(_MOST_PAIRS, 2 * len(left), len(right)):
        raise TooManyPairsError
    i = np.repeat(np.arange(len(left)), times)
    return i, np.arange(total) + np.repeat(start - np.cumsum(times) + times, times)


def _tightened(side: Side) -> Side:
    """Bounds tightened once by every equation of the side."""
    for equation in reversed(side.equations):  # the oldest release determines most by itself
        side = _tightened_by(side, equation)
    return side


def _tightened_by(side: Side, sums: _Equation) -> Side:
    lower, upper, member = side.lower, side.upper, sums.member
    low, high = _totals(lower, sums), _totals(upper, sums)
    if (low > sums.most).any() or (high < sums.least).any():
        raise ContradictionError
    # What the others take at least is not left for this pair; what they cannot take, it must.
    tight_upper = np.minimum(upper, (sums.most - low)[member] + lower)
    tight_lower = np.maximum(lower, (sums.least - high)[member] + upper)
    return replace(side, lower=tight_lower, upper=tight_upper)


def _with_sizes(side: Side, sizes: Side) -> tuple[Side, Side]:
    """Tighten a side by the sizes of the cells, and the sizes by the side."""
    by_cell = _Equation(side.cell, sizes.lower, sizes.upper)
    side = _tightened_by(side, by_cell)
    lower = np.maximum(sizes.lower, _totals(side.lower, by_cell))
    upper = np.minimum(sizes.upper, _totals(side.upper, by_cell))
    if (lower > upper).any():
        raise ContradictionError
    return side, replace(sizes, lower=lower, upper=upper)


def _totals(bound: Codes, sums: _Equation) -> Codes:
    return np.bincount(sums.member, bound, len(sums.least)).astype(np.int64)


def _same(one: Side, other: Side) -> bool:
    return np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)
