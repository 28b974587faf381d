"""Linkability: two sets of columns, held by two people, joined through a file; private.

Source: WP216, section 3.

Each of t persons is known by some columns to one of the two and by others to the other.  For both
sides every published row has a likelihood to be the person's (``likeness``); two sides are the
likelier one person's the more they have rows in common, compared with others of the first side.
It succeeds where the best second side of a first one is the same person's; of equals one is taken
at random.  Guess: 1 / t.

Two adversaries try: one lets cells count by how near they are, one only such as fit.

Cost: t n + t^2 n for t persons and n different published rows; memory for t^2 and some millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import DistinctRows, JointCodes, Likeness
from voile.audit.risk import Question, Risk, Setting
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["Linkability", "linkability"]

Floats = NDArray[np.float64]

_BY = {"cells that are near": False, "cells that fit": True}
"""Adversaries, and whether they let only cells count that fit."""


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
        for by, exact in _BY.items():
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
    """How likely each first half and each second one have a row in common, shape (t, t)."""
    score = np.zeros((first.people, second.people), dtype=np.float32)
    for (some, one), (_, other) in zip(first.by_rows(), second.by_rows(), strict=True):
        score += (one * first.count[some].astype(np.float32)) @ other.T
    return score


def _joined(score: NDArray[np.float32]) -> Floats:
    """The chance that each first half is joined with its own second, of equals one at random."""
    share = score / np.maximum(score.mean(axis=0), np.finfo(np.float32).tiny)
    best = share >= share.max(axis=1, keepdims=True) * (1 - 1e-6)
    chance: Floats = np.diagonal(best) / best.sum(axis=1)
    return chance
