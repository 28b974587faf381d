"""Special uniques (SUDA2): rows that few values already tell apart from all others.

A minimal sample unique of a row is a set of columns in whose values it is alone, and in those of no
smaller part of which it is.  Each set of j of m columns scores (m - j)!, so that small sets weigh
most.

Sources: Elliot, Manning and Ford, "A computational algorithm for handling the special uniques
problem" (IJUFKS 2002), for minimal uniques and scores; Elliot and Skinner, "Identifying population
uniques using limited information" (2000), for the chance that a unique match is right in a file
with U uniques and P rows in pairs, of which a share pi was sampled, U pi / (U pi + P (1 - pi));
the score of a row spreads it over rows so that the harmonic mean of all is that chance, by the
power 1 + (8 - m) / 20 of scores, as sdcMicro does.

A column's contribution to a row is the share of its score that sets with the column make.

Missing values match nothing: no set holds one.

Cost: O(g) for each set of columns that is tried, 2^m at most; sets all of whose rows are unique by
smaller ones are left out, and so are rows that are not unique in all columns together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

__all__ = ["SpecialUniques", "special_uniques"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Scores of g combinations of values of m columns; private."""

    score: Floats
    """Shape (g,): 0 for rows that are not unique."""
    chance: Floats
    """Shape (g,): DIS, the chance that a match of the row is right."""
    contribution: Floats
    """Shape (g, m): the share of the score that sets with each column make."""

    @property
    def by_column(self) -> Floats:
        """Shape (m,): the share of all scores, in percent; of several columns more than 100."""
        total = self.score.sum()
        if not total:
            return np.zeros(self.contribution.shape[1])
        return np.asarray(100 * (self.score @ self.contribution) / total)

    def by_value(self, codes: NDArray[np.int64], column: int) -> Floats:
        """Of a column's share, that of each of its values, in percent; NaN where it has none."""
        own = self.score * self.contribution[:, column]
        with np.errstate(invalid="ignore"):
            return np.asarray(100 * np.bincount(codes[:, column], own) / own.sum())


def special_uniques(
    codes: NDArray[np.int64],
    missing: NDArray[np.bool_],
    rows: NDArray[np.int64],
    sampled: float = 0.01,
) -> SpecialUniques:
    """The special uniques of counted combinations, shape (g, m), with their rows (g,)."""
    count, width = codes.shape
    score, contribution = np.zeros(count), np.zeros((count, width))
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    for size in range(1, width + 1):
        found: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for columns in combinations(range(width), size):
            alone = _alone(codes, missing, rows, columns)
            found[columns] = alone
            minimal = alone & ~_by_parts(unique, columns, count)
            if minimal.any():
                weight = factorial(width - size)
                score[minimal] += weight
                contribution[np.ix_(np.flatnonzero(minimal), np.array(columns))] += weight
        unique = found
    there = score > 0
    contribution[there] /= score[there, np.newaxis]
    return SpecialUniques(score, _chances(score, rows, width, sampled), contribution)


def _alone(
    codes: NDArray[np.int64],
    missing: NDArray[np.bool_],
    rows: NDArray[np.int64],
    columns: tuple[int, ...],
) -> NDArray[np.bool_]:
    """Which combinations are of one row that is alone in the values of these columns."""
    label = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        label = label * (int(codes[:, column].max(initial=0)) + 1) + codes[:, column]
        if len(columns) > 1:
            label = np.unique(label, return_inverse=True)[1]
    held = np.bincount(label, rows)
    return np.asarray((held[label] == 1) & ~missing[:, list(columns)].any(axis=1))


def _by_parts(
    unique: Mapping[tuple[int, ...], NDArray[np.bool_]], columns: tuple[int, ...], count: int
) -> NDArray[np.bool_]:
    """Which are alone in some part of the columns: what is so in a part is so in all above it."""
    found = np.zeros(count, dtype=np.bool_)
    for part in combinations(columns, len(columns) - 1):
        if part:
            found |= unique[part]
    return found


def _chances(score: Floats, rows: NDArray[np.int64], width: int, sampled: float) -> Floats:
    """DIS of each combination."""
    there = score > 0
    chance = np.zeros(len(score))
    if not there.any():
        return chance
    uniques, paired = int((rows == 1).sum()), 2 * int((rows == 2).sum())
    of_file = uniques * sampled / (uniques * sampled + paired * (1 - sampled))
    power = 1 + (8 - width) / 20
    inverse = score[there] ** -power
    spread = (1 / of_file - 1) * uniques * inverse / inverse.sum()
    chance[there] = 1 / (1 + spread)
    return chance
