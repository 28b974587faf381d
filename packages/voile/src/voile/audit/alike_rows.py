"""What rows that are like a person tell: linkability and inference; private.

Source: WP216, section 3.  Every published row has a likelihood to be a person's (``Likeness``); of
two adversaries one lets cells count by how near they are, and one only such as fit.

Linkability: two sets of columns, held by two people, are joined through a file.  Each of t persons
is known by some columns to one of the two and by others to the other.  Two sides are the likelier
one person's the more they have rows in common, compared with others of the first side.  It succeeds
where the best second side of a first one is the same person's; of equals one is taken at random.
Guess: 1 / t.

Inference: one column of a person is told from all others.  Besides the two, who let the likely rows
vote, a third adversary has learnt the column from the file by a forest of trees, where Numba is
installed.  A number is right within a twentieth of the range of the published ones; where these
are few, if none of them is nearer.  Of intervals the one is right that holds the number; a wider
one than the narrowest that does so counts by what it tells, the share of people outside of it.
All columns are asked for of the same people, so that rows are compared with them once.  Guess: the
value that would be right of most published rows.

Cost: t n a column for t people and n different rows; t^2 n for linking, n being the fewer of the
different halves of rows, whose memory is for t^2 and some millions; t n more for each column that
is wanted, and a forest of 50 trees for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import DistinctRows, JointCodes, JointColumn, Likeness
from voile.audit.risk import ORIGINAL, Question, Risk, Setting
from voile.table.codes import code_type
from voile_base.compiled import compiles, njit
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Draws, Randomness

__all__ = ["InferenceRisk", "Likeness", "Linkability", "inference", "linkability"]

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = on_demand("scipy.sparse")

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.int64]

_LINKERS = {"cells that are near": False, "cells that fit": True}
"""Adversaries who link, and whether they let only cells count that fit."""
_VOTERS = {"rows that are near": False, "rows that fit": True}
"""Adversaries who let rows vote, and whether they let only cells count that fit."""
_LIFT = np.float32(2**48)
"""By how much weights are multiplied: they are 0, or at least 2^-101, and at most 1."""
_TREES = 50
_IN_LEAF = 2
"""Rows that a leaf of a tree has at least."""
_LEARNT = 50_000
"""Published rows that a forest learns from."""
_FEW = 20
"""Published numbers, up to which the nearest one is right."""


@dataclass(frozen=True)
class Linkability:
    """The risk as audits count it."""

    name: ClassVar[str] = "linkability"

    def refusal(self, setting: Setting) -> str | None:
        """A file of one column has no second half."""
        first = self._first(setting)
        one = not first or len(first) == len(setting.names)
        return "two sets of columns are needed, and the file shows one" if one else None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One, of two sets of columns."""
        first = self._first(setting)
        rest = [name for name in setting.names if name not in first]
        yield linkability(setting.beside, (first, rest), setting.targets, setting.randomness)

    def _first(self, setting: Setting) -> Sequence[str]:
        """The columns of one of the two people who link; raises ``InputError``."""
        if setting.first is None:
            return setting.names[: len(setting.names) // 2]
        for name in setting.first:
            if name not in setting.names:
                msg = f"the file shows no column {name!r} by which somebody could be linked"
                raise InputError(msg)
        return setting.first


def linkability(
    beside: JointCodes,
    halves: tuple[Sequence[str], Sequence[str]],
    targets: int,
    randomness: Randomness,
) -> Risk:
    """Two sets of columns of t persons, joined through the file."""
    draws = randomness.key("linkability").generator()
    sides = [[c for c in beside.columns if c.name in set(half)] for half in halves]
    groups = range(len(beside.units))
    count = min(targets, *map(beside.people, groups))
    rows = [DistinctRows.of(side) for side in sides]
    shape = tuple(len(each.count) for each in rows)
    each = np.ones(beside.rows, dtype=np.float32)
    pairs = sparse.csr_array((each, (rows[0].place, rows[1].place)), shape=shape)
    won: list[dict[str, Floats]] = []
    for group in groups:
        chosen = beside.drawn(group, count, draws)
        won.append({})
        for by, exact in _LINKERS.items():
            alike = [
                Likeness.of(side, shown, (group, chosen), exact=exact)
                for side, shown in zip(sides, rows, strict=True)
            ]
            won[-1][by] = _joined(_in_common(alike[0], alike[1], pairs))
    named = " | ".join(", ".join(column.name for column in side) for side in sides)
    goal = "a person's values in the first columns are joined with the same person's in the others"
    guess = Estimate(1 / count, 1 / count, 1 / count)
    return Question("linkability", named, goal).answered(won, guess)


def _in_common(first: Likeness, second: Likeness, pairs: sparse.csr_array) -> Singles:
    """How likely each first half and each second one have a row in common, shape (t, t).

    Up to a factor for each second half.  ``pairs``, sparse, says how many rows show each first half
    of a row with each second one.  Where products are dense, the fewer halves stand.  Weights are
    ``_LIFT`` times as much, so that no product of two is subnormal, which is slow.
    """
    fewer, more = (first, second) if pairs.shape[0] <= pairs.shape[1] else (second, first)
    pairs = pairs if fewer is first else pairs.T.tocsr()
    score = np.zeros((fewer.people, more.people), dtype=np.float32)
    for some, one in fewer.by_rows():
        beside = pairs[some]
        held, place = np.unique(beside.indices, return_inverse=True)
        shape = len(one), len(held)
        few = sparse.csr_array((beside.data * _LIFT, place, beside.indptr), shape=shape)
        score += np.multiply(one, _LIFT, out=one).T @ (few @ more.at(held))
    score = score if fewer is first else score.T
    found: Singles = score / first.total[:, np.newaxis]
    return found


def _joined(score: NDArray[np.float32]) -> Floats:
    """The chance that each first half is joined with its own second, of equals one at random."""
    share = score / np.maximum(score.mean(axis=0), np.finfo(np.float32).tiny)
    best = share >= share.max(axis=1, keepdims=True) * (1 - 1e-6)
    chance: Floats = np.diagonal(best) / best.sum(axis=1)
    return chance


@dataclass(frozen=True)
class InferenceRisk:
    """The risk as audits count it."""

    name: ClassVar[str] = "inference"

    def refusal(self, setting: Setting) -> str | None:
        """One column has no others to be told from."""
        return "the file shows one column alone" if len(setting.names) < 2 else None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One for each sensitive column, or for each column where none is."""
        wanted = setting.sensitive or setting.names
        setting.progress("inference: by rows that are near")
        yield from _Inferring.of(setting.beside, wanted, setting.targets, setting.randomness).risks(
            setting.progress
        )


def inference(beside: JointCodes, wanted: str, targets: int, randomness: Randomness) -> Risk:
    """One column of a person from all others, of which the file shows at least one."""
    return next(_Inferring.of(beside, [wanted], targets, randomness).risks(lambda _: None))


@dataclass(frozen=True, eq=False)
class _Inferring:
    """Columns of the same people in each group, each told from all others."""

    beside: JointCodes
    wanted: Sequence[str]
    drawn: Sequence[Indices]
    """The people of each group."""
    voted: Sequence[Mapping[tuple[str, str], Indices]]
    """For each group the cells that rows vote for, by the column and by the adversary."""
    randomness: Randomness

    @classmethod
    def of(
        cls, beside: JointCodes, wanted: Sequence[str], targets: int, randomness: Randomness
    ) -> _Inferring:
        """Draw the people, and let rows vote for the wanted columns of each."""
        groups = range(len(beside.units))
        count = min(targets, *map(beside.people, groups))
        draws = randomness.key("inference").generator()
        drawn = [beside.drawn(group, count, draws) for group in groups]
        voted = _voted(beside.columns, wanted, drawn)
        return cls(beside, wanted, drawn, voted, randomness)

    def risks(self, progress: Callable[[str], None]) -> Iterator[Risk]:
        """One for each of the columns."""
        for name in self.wanted:
            progress(f"inference: {name}")
            yield self._risk(name)

    def _risk(self, name: str) -> Risk:
        column = next(one for one in self.beside.columns if one.name == name)
        right, won = _right(column), []
        learnt = None
        if compiles():
            draws = self.randomness.key("inference", column.name).generator()
            learnt = self._learning.told(column, draws)
        for group, people in enumerate(self.drawn):
            truth = column.value[group][people]
            guesses = {by: self.voted[group][name, by] for by in _VOTERS}
            if learnt is not None:
                guesses["a forest that learnt from the rows"] = learnt[group]
            won.append({by: right[truth, guess] for by, guess in guesses.items()})
        best = _best_constant(column, right)
        constant = right[column.value[ORIGINAL], best]
        everybody = bool((constant == 1).all())
        guessed = Estimate.exactly(1.0) if everybody else constant[self.drawn[ORIGINAL]]
        goal = f"{name!r} is told from all other columns{_within(column)}"
        return Question("inference", name, goal).answered(won, guessed)

    @cached_property
    def _learning(self) -> _Learning:
        columns = self.beside.columns
        asked = [
            [one.as_cell[one.value[group][people]] for one in columns]
            for group, people in enumerate(self.drawn)
        ]
        return _Learning.of(columns, asked, self.randomness.key("inference", "rows").generator())


def _right(column: JointColumn) -> Floats:
    """How far naming a cell is right about a value, between 0 and 1, shape (v, g).

    A text that stands for several values names each of them as often, and one that stands for
    anything tells nothing, as does an interval of everybody.
    """
    if column.numbers is None:
        return np.asarray(column.covers / np.maximum(column.covers.sum(axis=0), 1))
    values, shown = column.numbers
    missing = np.isnan(values)[:, np.newaxis] & np.isnan(shown)
    apart = np.abs(values[:, np.newaxis] - shown)
    if reach := _tolerance(column):
        near = apart <= reach
    else:
        nearest = np.nanmin(np.where(column.wide, np.nan, apart), axis=1, initial=np.inf)
        near = (apart <= nearest[:, np.newaxis]) & ~column.wide
    within = np.where(column.wide, _told_by_intervals(column), 0)
    return np.maximum(within, near | missing)


def _told_by_intervals(column: JointColumn) -> Floats:
    """What each cell tells of the values that it covers, beside the cell that tells most of them.

    A cell tells the share of people whose value it does not cover.
    """
    people = np.bincount(column.value[ORIGINAL], minlength=column.values)
    outside = 1 - people @ column.covers / max(people.sum(), 1)
    told = column.covers * outside
    return np.asarray(told / np.maximum(told.max(axis=1, keepdims=True), np.finfo(float).tiny))


def _tolerance(column: JointColumn) -> float:
    """How far off a number may be: a twentieth of the range of the published ones; 0 of few."""
    assert column.numbers is not None
    numbers = column.numbers[1][column.cell]
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) or len(np.unique(numbers)) <= _FEW:
        return 0.0
    return float(np.subtract(*np.quantile(numbers, [0.99, 0.01]))) / 20


def _within(column: JointColumn) -> str:
    if column.wide.any():
        return " by an interval that holds it"
    reach = 0.0 if column.numbers is None else _tolerance(column)
    return f", within {reach:.3g}" if reach else ""


def _counted(rows: DistinctRows, column: JointColumn) -> Any:
    """How many published rows show each cell of a column in each of g different rows; sparse."""
    each = np.ones(len(rows.place), dtype=np.float32)
    shape = len(rows.count), column.covers.shape[1]
    return sparse.csr_array((each, (rows.place, column.cell)), shape=shape)


def _voted(
    columns: Sequence[JointColumn], wanted: Sequence[str], drawn: Sequence[Indices]
) -> list[dict[tuple[str, str], Indices]]:
    """The cell that most weight of the nearest rows falls to, for each person of each group."""
    names, rows = [one.name for one in columns], DistinctRows.of(columns)
    shown = {names.index(name): _counted(rows, columns[names.index(name)]) for name in wanted}
    found = []
    for group, people in enumerate(drawn):
        votes = {(name, by): np.zeros(len(people), np.int64) for name in wanted for by in _VOTERS}
        for by, exact in _VOTERS.items():
            alike = Likeness.of(columns, rows, (group, people), exact=exact)
            for some, blocks in alike.in_blocks():
                total = {at: np.zeros((), dtype=np.float32) for at in shown}
                for part, weights in blocks:
                    for place in shown:
                        total[place] = total[place] + shown[place][part].T @ weights
                for place, each in total.items():
                    others = alike.without(place, some, each)
                    votes[names[place], by][some] = others.argmax(axis=0)
        found.append(votes)
    return found


@dataclass(frozen=True, eq=False)
class _Learning:
    """What forests of all wanted columns share: the rows they learn from, and whom they are asked.

    Each column's cells as ranks of the numbers that trees cut.
    """

    columns: Sequence[JointColumn]
    rows: Indices
    """Shape (n,): of the published rows, those that are learnt from."""
    ranks: NDArray[np.unsignedinteger]
    """Shape (m, n + p): of the m columns, of these rows and then of p people of all groups."""
    numbers: tuple[Floats, ...]
    """For each column the number of each rank, ascending."""
    sizes: tuple[int, ...]
    """How many people each group has."""

    @classmethod
    def of(
        cls, columns: Sequence[JointColumn], asked: Sequence[Sequence[Indices]], draws: Draws
    ) -> _Learning:
        """``asked``: for each group and each column the cells by which its people are known."""
        rows = draws.permutation(len(columns[0].cell))[:_LEARNT]
        found = [
            np.unique(
                one.as_numbers(np.concatenate([one.cell[rows], *(each[at] for each in asked)])),
                return_inverse=True,
            )
            for at, one in enumerate(columns)
        ]
        kind = np.promote_types(code_type(max(len(each) for each, _ in found)), np.uint16)
        ranks = np.stack([rank.astype(kind) for _, rank in found])
        sizes = tuple(len(each[0]) for each in asked)
        return cls(columns, rows, ranks, tuple(numbers for numbers, _ in found), sizes)

    def told(self, wanted: JointColumn, draws: Draws) -> list[Indices]:
        """The wanted cell of all people of each group, as a forest has learnt it from the others.

        Of many numbers it learns the number, and names the nearest cell.  Texts nearly each of
        which stands in one row cannot be learnt: then it names the most frequent one.
        """
        cells, seed = wanted.cell[self.rows], np.uint64(draws.integers(2**63))
        if wanted.numbers is not None and len(np.unique(cells)) > _FEW:
            shown = wanted.numbers[1]
            there = np.flatnonzero(np.isfinite(shown[cells]))
            order = np.argsort(shown)[: int(np.isfinite(shown).sum())]
            middles = (shown[order][1:] + shown[order][:-1]) / 2
            means = self._grown(wanted, there, (np.empty(0, np.int64), shown[cells]), 1, seed)
            return self._by_group(order[np.searchsorted(middles, means[:, 0] / _TREES)])
        kinds, kind = np.unique(cells, return_inverse=True)
        if 2 * len(kinds) > len(cells):
            usual = int(np.bincount(cells).argmax())
            return [np.full(size, usual) for size in self.sizes]
        every = np.arange(len(cells))
        votes = self._grown(wanted, every, (kind, np.empty(0)), len(kinds), seed)
        return self._by_group(kinds[votes.argmax(axis=1)])

    def _by_group(self, told: Indices) -> list[Indices]:
        return np.split(told, np.cumsum(self.sizes)[:-1])

    def _grown(
        self,
        wanted: JointColumn,
        rows: Indices,
        truth: tuple[Indices, Floats],
        kinds: int,
        seed: np.uint64,
    ) -> Floats:
        """What trees say of each person, added up, shape (p, kinds); ``truth``: see ``_grow``."""
        others = np.array([at for at, one in enumerate(self.columns) if one is not wanted])
        starts = np.cumsum([0, *map(len, self.numbers)])
        found = np.zeros((sum(self.sizes), kinds))
        learnt = len(self.rows)
        known, asked = map(np.ascontiguousarray, np.split(self.ranks, [learnt], axis=1))
        numbers = starts, np.concatenate(self.numbers)
        tries = len(others) if len(truth[1]) else max(1, int(np.sqrt(len(others))))
        _grow(known, asked, numbers, truth, (others, tries), (rows, seed), found)
        return found


@njit(nogil=True)
def _grow(known, asked, numbers, truth, columns, drawn, found):  # type: ignore[no-untyped-def]
    """Extremely randomized trees, of which only branches grow that a person is asked of.

    ``truth``: the kind of each row, or else its number; ``drawn``: the rows that are learnt from,
    and the seed.  Source: Geurts, Ernst and Wehenkel,
    "Extremely randomized trees" (Machine Learning 63, 2006), with ``_IN_LEAF`` rows in a leaf.
    """
    (kind, number), (rows, seed) = truth, drawn
    state = np.array([seed], dtype=np.uint64)
    order, people = rows.copy(), np.arange(len(found))
    counts = np.zeros((2, found.shape[1]), dtype=np.int64)
    total = counts[0]
    stack = np.empty((len(rows) + 2, 4), dtype=np.int64)
    for _ in range(_TREES):
        stack[0] = 0, len(order), 0, len(people)
        top = 1
        while top:
            top -= 1
            start, stop, first, last = stack[top]
            if first == last:
                continue
            some, whom = order[start:stop], people[first:last]
            square = _count_kinds(kind, some, total) if len(kind) else 0
            column, cut = -1, 0
            if len(some) >= 2 * _IN_LEAF and square < len(some) ** 2:
                column, cut = _best_cut(known, numbers, truth, columns, some, counts, state)
            if column < 0:
                _tell(kind, number, some, total, whom, found)
                continue
            middle = start + _parted(known[column], some, cut)
            between = first + _parted(asked[column], whom, cut)
            stack[top] = middle, stop, between, last
            stack[top + 1] = start, middle, first, between
            top += 2


@njit(nogil=True)
def _best_cut(known, numbers, truth, columns, some, counts, state):  # type: ignore[no-untyped-def]
    """The best of one random cut in each of some random columns: the column, and the last rank.

    Of columns in which these rows differ ``columns[1]`` are tried, or one at least; -1 for none.
    """
    (starts, values), (others, tries) = numbers, columns
    best, chosen, last, tried, differ = -1.0, -1, 0, 0, 0
    ranks, number = np.empty(len(some), known.dtype), np.empty(0)
    kind = truth[0][some] if len(truth[0]) else truth[0]
    if not len(kind):
        number = truth[1][some]
    for turn in range(len(others)):
        if tried >= tries and differ:
            break
        at = turn + np.int64(_draw(state) % np.uint64(len(others) - turn))
        others[turn], others[at] = others[at], others[turn]
        column = known[others[turn]]
        low = high = column[some[0]]
        for place in range(len(some)):
            rank = column[some[place]]
            ranks[place] = rank
            low, high = min(low, rank), max(high, rank)
        tried += 1
        if low == high:
            continue
        differ += 1
        cut = _rank_below(values[starts[others[turn]] :], np.int64(low), np.int64(high), state)
        worth = _of_kinds(ranks, kind, cut, counts) if len(kind) else _of_sums(ranks, number, cut)
        if worth > best:
            best, chosen, last = worth, others[turn], cut
    return chosen, last


@njit(nogil=True)
def _rank_below(table, low, high, state):  # type: ignore[no-untyped-def]
    """The last rank whose number is up to a random one between those of two others."""
    share = np.float64(_draw(state) >> np.uint64(11)) / 2.0**53
    limit = table[low] + share * (table[high] - table[low])
    end = high - 1
    while low < end:
        middle = (low + end + 1) // 2
        if table[middle] <= limit:
            low = middle
        else:
            end = middle - 1
    return low


@njit(nogil=True)
def _of_kinds(ranks, kind, cut, counts):  # type: ignore[no-untyped-def]
    """What a cut is worth: on both sides the squares of counts over rows; -1 for too few rows."""
    total, left = counts
    before, square, both, every = 0, 0, 0, 0
    for place in range(len(kind)):  # without branches, that no processor could foretell
        goes, one = int(ranks[place] <= cut), kind[place]
        square += goes * (2 * left[one] + 1)
        both += goes * total[one]
        every += total[one]
        left[one] += goes
        before += goes
    if len(left) < len(kind):
        left[:] = 0
    else:
        for one in kind:
            left[one] = 0
    behind = len(kind) - before
    if min(before, behind) < _IN_LEAF:
        return -1.0
    return square / before + (every - 2 * both + square) / behind


@njit(nogil=True)
def _of_sums(ranks, number, cut):  # type: ignore[no-untyped-def]
    """The same by the squares of sums of numbers."""
    before, mine, whole = 0, 0.0, 0.0
    for place in range(len(number)):
        goes = ranks[place] <= cut
        mine += number[place] * goes
        whole += number[place]
        before += goes
    behind = len(number) - before
    if min(before, behind) < _IN_LEAF:
        return -1.0
    return mine**2 / before + (whole - mine) ** 2 / behind


@njit(nogil=True)
def _count_kinds(kind, some, total):  # type: ignore[no-untyped-def]
    """Count the kinds of some rows; the sum of the squares of the counts."""
    total[:] = 0
    square = 0
    for row in some:
        square += 2 * total[kind[row]] + 1
        total[kind[row]] += 1
    return square


@njit(nogil=True)
def _tell(kind, number, some, total, whom, found):  # type: ignore[no-untyped-def]
    """Add what the rows of a leaf say of those who are in it."""
    if not len(kind):
        mean = 0.0
        for row in some:
            mean += number[row] / len(some)
        for person in whom:
            found[person, 0] += mean
    elif len(total) < len(some):
        for person in whom:
            found[person] += total / len(some)
    else:
        for person in whom:
            for row in some:
                found[person, kind[row]] += 1 / len(some)


@njit(nogil=True)
def _parted(column, some, cut):  # type: ignore[no-untyped-def]
    """Put those up to a cut before the others, in place; how many they are."""
    first, last = 0, len(some) - 1
    while first <= last:
        if column[some[first]] <= cut:
            first += 1
        else:
            some[first], some[last] = some[last], some[first]
            last -= 1
    return first


@njit(nogil=True)
def _draw(state):  # type: ignore[no-untyped-def]
    """The next of the numbers of 64 bits that follow from a seed: SplitMix64, as in ``sides``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    drawn = state[0]
    drawn = (drawn ^ (drawn >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    drawn = (drawn ^ (drawn >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return drawn ^ (drawn >> np.uint64(31))


def _best_constant(column: JointColumn, right: Floats) -> int:
    """The cell whose naming would be right for most published rows.

    Of numbers the file alone tells that: the guess is the same whoever the people are.
    """
    count = np.bincount(column.cell, minlength=column.covers.shape[1])
    if column.numbers is not None and not column.wide.any():
        shown, reach = column.numbers[1], _tolerance(column)
        order = np.argsort(shown)
        rows = np.concatenate(([0], np.cumsum(count[order])))
        ends = (
            np.searchsorted(shown, shown - reach, "left", order),
            np.searchsorted(shown, shown + reach, "right", order),
        )
        within = np.where(np.isnan(shown), count, rows[ends[1]] - rows[ends[0]])
        return int(within.argmax())
    weight = column.covers @ count / np.maximum(column.covers.sum(axis=0), 1).max()
    return int((weight @ right).argmax())
