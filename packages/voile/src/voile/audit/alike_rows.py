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

Cost: t n a column for t people and n different rows; t^2 n for linking, whose memory is for t^2 and
some millions; t n more for each column that is wanted, and a forest of 50 trees for each.

How likely each published row is a person's, by how near its cells are; private.

Nearness of columns is multiplied: the adversary takes them for independent, and lets no single cell
rule a row out, for rows of a synthesizer are of nobody and still resemble those it learnt from.

Rows that show the same are looked at once, with their number.  Of many people and rows some are
looked at at a time: memory is bounded, whatever their numbers.

Cost: t g look-ups for t people and g different rows, for each column and for each few columns that
have an eighth as many combinations; twice by parts of rows; as many again for each column that is
left out in turn.  Memory: t numbers for each combination that stands in place of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar

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

sparse = on_demand("scipy.sparse")

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.int64]

_LINKERS = {"cells that are near": False, "cells that fit": True}
"""Adversaries who link, and whether they let only cells count that fit."""
_VOTERS = {"rows that are near": False, "rows that fit": True}
"""Adversaries who let rows vote, and whether they let only cells count that fit."""
_LIFT = np.float32(2**43)
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
_LIKENESS_PAIRS = 1 << 22
"""Of a person and a row, that are compared at a time: 16 megabytes for each number of theirs."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """How likely rows are those of t people; each person's add up to 1 over all published rows."""

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
        places: Sequence[int] | None = None,
    ) -> Likeness:
        """Of some people of a group, by columns that stand in the rows at ``places``.

        ``exact``: a cell fits or it does not, and numbers next to each other are no nearer than
        others.  ``places``: None for all in their order.
        """
        group, chosen = people
        cells = rows.cells if places is None else [rows.cells[place] for place in places]
        logs = (np.log(column.fits if exact else column.near) for column in columns)
        values = (column.value[group][chosen] for column in columns)
        return cls(tuple(zip(logs, values, cells, strict=True)), rows.count, len(chosen))

    def without_each(self, places: Sequence[int]) -> Iterator[tuple[slice, int, Singles]]:
        """For some people at a time, shape (people, g): of one of the rows that show the same.

        By all columns but the one at a place, for each of these places.
        """
        every, rows = slice(None), self.count.astype(np.float32)
        for some in _parts(self.people, len(self.count)):
            total = self._sum(some, every)
            for place in places:
                log, value, cell = self.logs[place]
                others = np.take(log[value[some]], cell, axis=1)
                np.subtract(total, others, out=others)
                others -= others.max(axis=1, keepdims=True)
                weight = _weights(others)
                weight /= (weight @ rows)[:, np.newaxis]
                yield some, place, weight

    def by_rows(self) -> Iterator[tuple[slice, Singles]]:
        """By all columns, for some of the different rows at a time, shape (t, rows)."""
        every, scale = slice(None), self._log_totals()[:, np.newaxis]
        for some in _parts(len(self.count), self.people):
            yield some, _weights(self._sum(every, some) - scale)

    def _log_totals(self) -> Singles:
        """What the weights of each person add up to, before they add up to 1."""
        found = np.empty(self.people, dtype=np.float32)
        for some in _parts(self.people, len(self.count)):
            total = self._sum(some, slice(None))
            most = total.max(axis=1)
            weight = _weights(total - most[:, np.newaxis]) @ self.count.astype(np.float32)
            found[some] = most + np.log(weight)
        return found

    @cached_property
    def _joined(self) -> list[tuple[Singles, Indices]]:
        """Columns of few combinations as one: how near each is to each person, and each row's."""
        found: list[tuple[Singles, Indices]] = []
        for log, value, cell in sorted(self.logs, key=lambda each: each[0].shape[1]):
            near = log[value]
            if found:
                before, code = found[-1]
                both = Combinations.of([(code, before.shape[1]), (cell, near.shape[1])])
                if len(both.rows) <= len(self.count) // _FEWER:
                    first, second = both.codes
                    total = np.take(before, first, axis=1) + np.take(near, second, axis=1)
                    found[-1] = total, both.index.astype(np.int64)
                    continue
            found.append((near, cell.astype(np.int64)))
        return found

    def _sum(self, people: slice, rows: slice) -> Singles:
        shape = (len(range(self.people)[people]), len(self.count[rows]))
        total = np.zeros(shape, dtype=np.float32)  # without a column all rows are as likely
        for number, (log, cell) in enumerate(self._joined):
            near = np.take(log[people], cell[rows], axis=1)
            total = np.add(total, near, out=total) if number else near
        return total


def _weights(logs: Singles) -> Singles:
    """Exponentials of logarithms, in their place; below ``_NO_WEIGHT`` 0.

    Without that products would hold subnormal numbers, for which processors take a hundred times as
    long.
    """
    np.copyto(logs, -np.inf, where=logs < _NO_WEIGHT)
    return np.exp(logs, out=logs)


def _parts(count: int, width: int) -> list[slice]:
    step = max(1, _LIKENESS_PAIRS // max(width, 1))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


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
    rows = DistinctRows.of([column for side in sides for column in side])
    places = range(len(sides[0])), range(len(sides[0]), len(rows.cells))
    won: list[dict[str, Floats]] = []
    for group in groups:
        chosen = beside.drawn(group, count, draws)
        won.append({})
        for by, exact in _LINKERS.items():
            alike = [
                Likeness.of(side, rows, (group, chosen), exact=exact, places=at)
                for side, at in zip(sides, places, strict=True)
            ]
            won[-1][by] = _joined(_in_common(*alike))
    named = " | ".join(", ".join(column.name for column in side) for side in sides)
    goal = "a person's values in the first columns are joined with the same person's in the others"
    guess = Estimate(1 / count, 1 / count, 1 / count)
    return Question("linkability", named, goal).answered(won, guess)


def _in_common(first: Likeness, second: Likeness) -> NDArray[np.float32]:
    """How likely each first half and each second one have a row in common, shape (t, t).

    That is ``_LIFT`` squared times as much, so that no product is subnormal, which is slow.
    """
    score = np.zeros((first.people, second.people), dtype=np.float32)
    for (some, one), (_, other) in zip(first.by_rows(), second.by_rows(), strict=True):
        score += (one * (first.count[some].astype(np.float32) * _LIFT)) @ (other * _LIFT).T
    return score


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
            for some, place, weights in alike.without_each(list(shown)):
                votes[names[place], by][some] = (weights @ shown[place]).argmax(axis=1)
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
