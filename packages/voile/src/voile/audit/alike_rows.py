"""What rows that are like a person tell: linkability and inference; private.

Source: WP216, section 3.  Every published row has a likelihood to be a person's (``Likeness``); of
two adversaries one lets cells count by how near they are, and one only such as fit.

Linkability: two sets of columns, held by two people, are joined through a file.  Each of t persons
is known by some columns to one of the two and by others to the other.  Two sides are the likelier
one person's the more they have rows in common, compared with others of the first side.  It succeeds
where the best second side of a first one is the same person's; of equals one is taken at random.
Guess: 1 / t.

Inference: one column of a person is told from all others.  Besides the two, who let the likely rows
vote, a third adversary has learnt the column from the file by a forest of trees, where scikit-learn
is installed.  A number is right within a twentieth of the range of the published ones; where these
are few, if none of them is nearer.  Of intervals the one is right that holds the number; a wider
one than the narrowest that does so counts by what it tells, the share of people outside of it.
All columns are asked for of the same people, so that rows are compared with them once.  Guess: the
value that would be right of most published rows.

Cost: t n a column for t people and n different rows; t^2 n for linking, n being the fewer of the
different halves of rows, whose memory is for t^2 and some millions; t n more for each column that
is wanted, and a forest of 50 trees for each.

How likely each published row is a person's, by how near its cells are; private.

Nearness of columns is multiplied: the adversary takes them for independent, and lets no single cell
rule a row out, for rows of a synthesizer are of nobody and still resemble those it learnt from.

Rows that show the same are looked at once, with their number.  Of many people and rows some are
looked at at a time: memory is bounded, whatever their numbers.  Numbers of all people stand beside
each other for each row, so that a look-up copies a line.

Cost: t g look-ups for t people and g different rows, for each column and for each few columns that
have an eighth as many combinations; twice by parts of rows; as many again for each column that is
left out in turn.  Memory: t numbers for each combination that stands in place of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import DistinctRows, JointCodes, JointColumn
from voile.audit.risk import ORIGINAL, Question, Risk, Setting
from voile.table.codes import Combinations
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Draws, Randomness

__all__ = ["InferenceRisk", "Likeness", "Linkability", "inference", "linkability"]

ensemble = on_demand("sklearn.ensemble")

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
_AT_A_TIME = 5
"""Trees that are held in memory."""
_LEARNT = 50_000
"""Published rows that a forest learns from."""
_FEW = 20
"""Published numbers, up to which the nearest one is right."""

_FEWER = 8
"""By how many times combinations of columns are fewer than rows, to be looked at in their place."""
_NO_WEIGHT = np.float32(-70)
"""The logarithm of a weight, below which all rows of a file together tell nothing."""
_LIKENESS_PAIRS = 1 << 20
"""Of a person and a row, that are compared at a time: 4 megabytes for each number of theirs."""
_PEOPLE = 256
"""Who are looked at together where votes for each of thousands of cells are counted."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """How likely rows are those of t people, beside a row that is likely for each person."""

    logs: tuple[tuple[Singles, Indices, NDArray[np.integer]], ...]
    """For each column how near its cells are to its values, the value of each person, and the cell
    of each different row."""
    count: Indices
    """Shape (g,): how many rows show each."""
    people: int
    """How many people there are."""

    @classmethod
    def of(
        cls,
        columns: Sequence[JointColumn],
        rows: DistinctRows,
        people: tuple[int, Indices],
        *,
        exact: bool = False,
    ) -> Likeness:
        """Of some people of a group, by the columns of the rows.

        ``exact``: a cell fits or it does not, and numbers next to each other are no nearer than
        others.
        """
        group, chosen = people
        logs = (np.log(column.fits if exact else column.near) for column in columns)
        values = (column.value[group][chosen] for column in columns)
        return cls(tuple(zip(logs, values, rows.cells, strict=True)), rows.count, len(chosen))

    def without_each(self, places: Sequence[int]) -> Iterator[tuple[slice, slice, int, Singles]]:
        """For some people and some of the different rows at a time, shape (rows, people).

        By all columns but the one at a place, for each of these places.  A row is so many times as
        likely as the one that is likeliest by all columns, or, where that one is worth less without
        the column, up to as many times more as the column is worth.
        """
        for some in _parts(self.people, _PEOPLE):
            near, left_out = self._near(some), [self._column(place, some) for place in places]
            most = self._most(near)
            for rows in self._rows(some):
                total = self._sum(near, rows) - most
                for place, log in zip(places, left_out, strict=True):
                    others = total - np.take(log, self.logs[place][2][rows], axis=0)
                    yield some, rows, place, _weights(others)

    def by_rows(self) -> Iterator[tuple[slice, Singles]]:
        """By all columns, for some of the different rows at a time, shape (rows, t).

        A person's likeliest rows weigh 1, and the others in proportion.
        """
        return ((rows, self.at(rows)) for rows in self._rows(slice(None)))

    def at(self, rows: slice | Indices) -> Singles:
        """The same of some of the different rows, by their places."""
        near, most = self._of_all
        return _weights(self._sum(near, rows) - most)

    @property
    def total(self) -> Singles:
        """Shape (t,): what all published rows weigh for each person."""
        each = (self.count[rows].astype(np.float32) @ one for rows, one in self.by_rows())
        return sum(each, start=np.zeros(self.people, dtype=np.float32))

    @cached_property
    def _of_all(self) -> tuple[list[tuple[Singles, Indices]], Singles]:
        near = self._near(slice(None))
        return near, self._most(near)

    def _rows(self, people: slice) -> Iterator[slice]:
        step = max(1, _LIKENESS_PAIRS // max(len(range(self.people)[people]), 1))
        return _parts(len(self.count), step)

    def _most(self, near: Sequence[tuple[Singles, Indices]]) -> Singles:
        """The logarithm of the weight of each person's likeliest row."""
        people = near[0][0].shape[1] if near else self.people
        found = np.full(people, -np.inf, dtype=np.float32)
        for rows in self._rows(slice(0, people)):
            np.maximum(found, self._sum(near, rows).max(axis=0, initial=-np.inf), out=found)
        return found

    def _column(self, place: int, people: slice) -> Singles:
        """How near each cell of a column is to each of some people, shape (cells, people)."""
        log, value, _ = self.logs[place]
        return np.ascontiguousarray(log[value[people]].T)

    @cached_property
    def _groups(self) -> list[tuple[list[tuple[int, NDArray[np.integer]]], Indices, int]]:
        """Columns of few combinations as one: the cell of each column in each combination.

        Besides, the combination of each of the different rows, and how many there are.
        """
        found: list[tuple[list[tuple[int, NDArray[np.integer]]], Indices, int]] = []
        for place in sorted(range(len(self.logs)), key=lambda at: self.logs[at][0].shape[1]):
            log, _, cell = self.logs[place]
            cells = log.shape[1]
            if found:
                before, code, size = found[-1]
                both = Combinations.of([(code, size), (cell, cells)])
                if len(both.rows) <= len(self.count) // _FEWER:
                    first, second = both.codes
                    each = [*((at, shown[first]) for at, shown in before), (place, second)]
                    found[-1] = each, both.index.astype(np.int64), len(both.rows)
                    continue
            found.append(([(place, np.arange(cells))], cell.astype(np.int64), cells))
        return found

    def _near(self, people: slice) -> list[tuple[Singles, Indices]]:
        """How near combinations are to some people, (combinations, people), and each row's."""
        found = []
        for each, code, _ in self._groups:
            near = [np.take(self._column(place, people), cell, axis=0) for place, cell in each]
            found.append((sum(near[1:], start=near[0]), code))
        return found

    def _sum(self, near: Sequence[tuple[Singles, Indices]], rows: slice | Indices) -> Singles:
        """The logarithms of weights of some rows, shape (rows, people)."""
        if not near:  # without a column all rows are as likely
            return np.zeros((len(self.count[rows]), self.people), dtype=np.float32)
        total: Singles = np.take(near[0][0], near[0][1][rows], axis=0)
        for log, code in near[1:]:
            total += np.take(log, code[rows], axis=0)
        return total


def _weights(logs: Singles) -> Singles:
    """Exponentials of logarithms, in their place; below ``_NO_WEIGHT`` 0.

    Without that products would hold subnormal numbers, for which processors take a hundred times as
    long.
    """
    np.copyto(logs, -np.inf, where=logs < _NO_WEIGHT)
    return np.exp(logs, out=logs)


def _parts(count: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


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
        learnt = self._learnt(column) if find_spec("sklearn") else None
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

    def _learnt(self, column: JointColumn) -> list[Indices]:
        others = [one for one in self.beside.columns if one.name != column.name]
        known = [
            np.stack([one.as_cell[one.value[group][people]] for one in others], axis=1)
            for group, people in enumerate(self.drawn)
        ]
        draws = self.randomness.key("inference", column.name).generator()
        return _learnt(others, column, known, draws)


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
            for some, which in groupby(alike.without_each(list(shown)), key=lambda one: one[0]):
                total = {at: np.zeros((), dtype=np.float32) for at in shown}
                for _, part, place, weights in which:
                    total[place] = total[place] + shown[place][part].T @ weights
                for place, each in total.items():
                    votes[names[place], by][some] = each.argmax(axis=0)
        found.append(votes)
    return found


def _learnt(
    others: Sequence[JointColumn], column: JointColumn, asked: Sequence[Indices], draws: Draws
) -> list[Indices]:
    """The wanted cell of people whose other cells are known, as a forest has learnt it.

    Of many numbers it learns the number, and names the nearest cell.  Texts nearly each of which
    stands in one row cannot be learnt: then it names the most frequent one.  Few trees are held at
    a time.
    """
    rows = draws.permutation(len(column.cell))[:_LEARNT]
    known = np.stack([one.as_numbers(one.cell[rows]) for one in others], axis=1)
    wanted = [
        np.stack([one.as_numbers(each[:, at]) for at, one in enumerate(others)], axis=1)
        for each in asked
    ]
    cells, seeds = column.cell[rows], draws.integers(2**31, size=_TREES // _AT_A_TIME)
    if column.numbers is not None and len(np.unique(cells)) > _FEW:
        shown = column.numbers[1]
        there = np.isfinite(shown[cells])
        order = np.argsort(shown)[: int(np.isfinite(shown).sum())]
        middles = (shown[order][1:] + shown[order][:-1]) / 2
        found = _grown(_regressor, (known[there], shown[cells][there]), wanted, seeds)
        return [order[np.searchsorted(middles, numbers)] for numbers in found]
    kinds = np.unique(cells)
    if 2 * len(kinds) > len(cells):
        usual = int(np.bincount(cells).argmax())
        return [np.full(len(each), usual) for each in asked]
    return [kinds[s.argmax(axis=1)] for s in _grown(_classifier, (known, cells), wanted, seeds)]


def _grown(
    trees: Callable[[int, Floats, Any], Callable[[Floats], Floats]],
    learnt: tuple[Floats, object],
    wanted: Sequence[Floats],
    seeds: Indices,
) -> list[Floats]:
    """What all trees together say, added up."""
    found: list[Floats] | None = None
    for seed in seeds.tolist():
        says = trees(seed, *learnt)
        some = [says(each) / len(seeds) for each in wanted]
        found = some if found is None else [a + b for a, b in zip(found, some, strict=True)]
    assert found is not None
    return found


def _classifier(seed: int, known: Floats, cells: Indices) -> Callable[[Floats], Floats]:

    forest = ensemble.ExtraTreesClassifier(_AT_A_TIME, min_samples_leaf=2, random_state=seed)
    return forest.fit(known, cells).predict_proba  # type: ignore[no-any-return]


def _regressor(seed: int, known: Floats, numbers: Floats) -> Callable[[Floats], Floats]:

    forest = ensemble.ExtraTreesRegressor(_AT_A_TIME, min_samples_leaf=2, random_state=seed)
    return forest.fit(known, numbers).predict  # type: ignore[no-any-return]


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
