"""Inference: one column of a person from all others, through a file; private.

Source: WP216, section 3.

Three adversaries know all other columns of t persons: one takes the value that the nearest
published rows show, one that of the rows that fit (``likeness``), one has learnt it from the file
by a forest of trees, where scikit-learn is installed.  A number is right within a twentieth of the
range of the published ones, unless they are few.  Guess: the value that would be right of most
published rows.

Cost: t n a column, and a forest of 50 trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.audit.beside import Beside, Column
from voile.audit.likeness import PAIRS, posterior
from voile.audit.registry import Setting
from voile.audit.risk import ORIGINAL, Question, Risk
from voile.randomness import Draws, Randomness

__all__ = ["Inference", "inference"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_TREES = 50
_LEARNT = 50_000
"""Published rows that a forest learns from."""
_FEW = 20
"""Numbers that are told exactly or not at all."""


@dataclass(frozen=True)
class Inference:
    """The risk as audits count it."""

    name: ClassVar[str] = "inference"

    def refusal(self, setting: Setting) -> str | None:
        """One column has no others to be told from."""
        return "the file shows one column alone" if len(setting.names) < 2 else None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One for each sensitive column, or for each column where none is."""
        for name in setting.sensitive or setting.names:
            setting.progress(f"inference: {name}")
            yield inference(setting.beside, name, setting.targets, setting.randomness)


def inference(beside: Beside, wanted: str, targets: int, randomness: Randomness) -> Risk:
    """One column of a person from all others, of which the file shows at least one."""
    column = next(one for one in beside.columns if one.name == wanted)
    others = [one for one in beside.columns if one.name != wanted]
    draws = randomness.key("inference", wanted).generator()
    groups = range(len(beside.units))
    count = min(targets, max(PAIRS // beside.rows, 4), *map(beside.people, groups))
    drawn = [beside.drawn(group, count, draws) for group in groups]
    right = _right(column)
    learnt = None if find_spec("sklearn") is None else _learnt(others, column, draws)
    won = []
    for group, people in enumerate(drawn):
        truth = column.value[group][people]
        known = np.stack([one.as_cell[one.value[group][people]] for one in others], axis=1)
        guesses = {
            "rows that are near": _voted(posterior(others, group, people), column),
            "rows that fit": _voted(posterior(others, group, people, exact=True), column),
        }
        if learnt is not None:
            guesses["a forest that learnt from the rows"] = learnt(known)
        won.append({by: right[truth, guess].astype(np.float64) for by, guess in guesses.items()})
    best = _best_constant(column, right)
    guessed = right[column.value[ORIGINAL][drawn[ORIGINAL]], best].astype(np.float64)
    goal = f"{wanted!r} is told from all other columns{_within(column)}"
    return Question("inference", wanted, goal).answered(won, guessed)


def _right(column: Column) -> NDArray[np.bool_]:
    """Whether naming a cell is right about a value, shape (v, g)."""
    if column.numbers is None:
        return column.covers
    values, shown = column.numbers
    reach = _tolerance(column)
    near = np.abs(values[:, np.newaxis] - shown) <= reach
    return np.asarray(near | (np.isnan(values)[:, np.newaxis] & np.isnan(shown)))


def _tolerance(column: Column) -> float:
    """How far off a number may be: a twentieth of the range of the published ones."""
    assert column.numbers is not None
    numbers = column.numbers[1][column.cell]
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) or len(np.unique(numbers)) <= _FEW:
        return 0.0
    return float(np.subtract(*np.quantile(numbers, [0.99, 0.01]))) / 20


def _within(column: Column) -> str:
    reach = 0.0 if column.numbers is None else _tolerance(column)
    return f", within {reach:.3g}" if reach else ""


def _voted(weights: NDArray[np.float32], column: Column) -> Indices:
    """The cell that most weight of the nearest rows falls to, for each person."""
    votes = np.zeros((column.covers.shape[1], len(weights)), dtype=np.float32)
    np.add.at(votes, column.cell, weights.T)
    return np.asarray(votes.argmax(axis=0))


def _learnt(others: Sequence[Column], column: Column, draws: Draws) -> Callable[[Indices], Indices]:
    """The wanted cell of people whose other cells are known, as a forest has learnt it.

    Of many numbers it learns the number, and names the nearest cell.  Texts nearly each of which
    stands in one row cannot be learnt: then it names the most frequent one.
    """
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor  # noqa: PLC0415

    rows = draws.permutation(len(column.cell))[:_LEARNT]
    known = _ordered(others, np.stack([one.cell[rows] for one in others], axis=1))
    cells = column.cell[rows]
    said: dict[str, int] = {
        "n_estimators": _TREES,
        "min_samples_leaf": 2,
        "random_state": int(draws.integers(2**31)),
    }
    if column.numbers is not None and len(np.unique(cells)) > _FEW:
        shown = column.numbers[1]
        there = np.isfinite(shown[cells])
        trees = ExtraTreesRegressor(**said).fit(known[there], shown[cells][there])
        order = np.argsort(shown)[: int(np.isfinite(shown).sum())]
        middles = (shown[order][1:] + shown[order][:-1]) / 2

        def number(asked: Indices) -> Indices:
            near = np.searchsorted(middles, trees.predict(_ordered(others, asked)))
            return np.asarray(order[near])

        return number
    if 2 * len(np.unique(cells)) > len(cells):
        usual = int(np.bincount(cells).argmax())
        return lambda asked: np.full(len(asked), usual)
    forest = ExtraTreesClassifier(**said).fit(known, cells)
    return lambda asked: np.asarray(forest.predict(_ordered(others, asked)))


def _ordered(columns: Sequence[Column], cells: Indices) -> Floats:
    """Cells as numbers that a tree may cut: numbers by their size, texts by their codes."""
    return np.stack(
        [
            cells[:, i].astype(np.float64)
            if column.numbers is None
            else np.nan_to_num(column.numbers[1][cells[:, i]], nan=-1e18)
            for i, column in enumerate(columns)
        ],
        axis=1,
    )


def _best_constant(column: Column, right: NDArray[np.bool_]) -> int:
    """The cell whose naming would be right for most published rows."""
    count = np.bincount(column.cell, minlength=column.covers.shape[1])
    weight = column.covers @ count / np.maximum(column.covers.sum(axis=0), 1).max()
    return int((weight @ right).argmax())
