"""Three searches written straightforwardly: every box is counted over the whole table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SEARCHES", "Asked"]

Chosen = NDArray[np.int64]
"""Rows of the table."""


class Asked(NamedTuple):
    """A table (n, m), scores (n,), which of its rows are top, and what a group must satisfy."""

    values: NDArray[np.int64]
    scores: NDArray[np.int64]
    is_top: NDArray[np.bool_]
    k: int
    precision: Fraction

    def inside(self, rows: Chosen) -> NDArray[np.bool_]:
        """Which rows of the table lie in the box around some."""
        low, high = self.values[rows].min(axis=0), self.values[rows].max(axis=0)
        return ((self.values >= low) & (self.values <= high)).all(axis=1)

    def counts(self, rows: Chosen) -> tuple[int, int]:
        """Top rows and all rows in the box around some."""
        inside = self.inside(rows)
        return int((inside & self.is_top).sum()), int(inside.sum())

    def feasible(self, tops: int, total: int) -> bool:
        """Whether a box is a group."""
        return total >= self.k and tops >= self.precision * total


Rating = Callable[[Asked, tuple[int, int], tuple[int, int]], tuple[float, float]]


def growing(asked: Asked) -> Chosen | None:
    """From each top row take in the row that gains most."""
    best: Chosen | None = None
    every = np.flatnonzero(asked.is_top)
    every = every[np.argsort(-asked.scores[every])]
    for start in every:
        rows = np.array([start])
        while True:
            rows = np.flatnonzero(asked.inside(rows) & asked.is_top)
            if asked.feasible(*asked.counts(rows)) and (best is None or len(rows) > len(best)):
                best = rows
            left = every[~np.isin(every, rows)]
            if not len(left):
                break
            gains = []
            for row in left:
                tops, total = asked.counts(np.append(rows, row))
                gains.append(2 * tops - total)
            rows = np.append(rows, left[int(np.argmax(gains))])
    return best


def deletion(asked: Asked) -> Chosen | None:
    """Delete the top row whose box loses fewest top rows and most others."""
    return _delete(asked, lambda rows, row: [rows[rows != row]], _gain)


def peeling_ratio(asked: Asked) -> Chosen | None:
    """Delete any number of rows from one side, by the lift for each."""
    return _delete(asked, lambda rows, row: _sides(asked, rows, row), _ratio)


def _delete(
    asked: Asked, steps: Callable[[Chosen, int], list[Chosen]], rating: Rating
) -> Chosen | None:
    rows = np.flatnonzero(asked.is_top)
    while True:
        here = asked.counts(rows)
        if here[1] < asked.k:
            return None
        if asked.feasible(*here):
            return rows
        best, most = None, (-np.inf, -np.inf)
        for row in sorted(rows, key=lambda row: asked.scores[row]):
            for rest in steps(rows, row):
                if not len(rest):
                    continue
                there = asked.counts(rest)
                if there[1] < asked.k or there[0] == here[0]:
                    continue
                if rating(asked, here, there) > most:
                    most, best = rating(asked, here, there), rest
        if best is None:
            return None
        rows = np.flatnonzero(asked.inside(best) & asked.is_top)


def _sides(asked: Asked, rows: Chosen, row: int) -> list[Chosen]:
    """The rows that are further inside than one row, for each side."""
    own = asked.values[rows]
    mark = asked.values[row]
    return [rows[keep] for keep in (*(own > mark).T, *(own < mark).T)]


def _gain(asked: Asked, here: tuple[int, int], there: tuple[int, int]) -> tuple[float, float]:
    lost = here[0] - there[0]
    return 2 * (there[0] - here[0]) - (there[1] - here[1]), -lost


def _ratio(asked: Asked, here: tuple[int, int], there: tuple[int, int]) -> tuple[float, float]:
    lift = there[0] / there[1] - here[0] / here[1]
    return lift / (here[0] - there[0]), lift


SEARCHES = {"deletion": deletion, "growing": growing, "peeling-ratio": peeling_ratio}
