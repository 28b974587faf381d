"""Which tables are measured, what of the budget each gets, and the noisy counts.

Budget.  One-way tables share a tenth of it evenly, pairs the rest by a power of their numbers of
cells: with rho by cells^(2/3), which has the least sum of standard deviations over all cells for
Gaussian noise, and with pure epsilon by cells^(1/2), which has it for Laplace noise.  Weights are
whole numbers, rounded to a quarter of a power of two, so that shares are exact fractions and sum to
the budget exactly, and few different variances are drawn with.

Price.  Somebody's rows, at most m, change the cells of one table by m at most in all: squared, and
together, by m^2, where all of them stand in one cell; and the counts of several tables are several
vectors.  Discrete Gaussian noise of variance m^2 / (2 rho_t) on each cell of table t is
rho_t-zero-concentrated private, discrete Laplace noise of scale m / epsilon_t epsilon_t-private,
and both add up over tables (``voile.dp``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor, log2, prod

import numpy as np
from numpy.typing import NDArray

from voile.dp.discrete_gaussian import DiscreteGaussian
from voile.dp.discrete_laplace import DiscreteLaplace
from voile_base.randomness import Key

__all__ = [
    "Measured",
    "Measurements",
    "TableShare",
    "measured",
    "shares_of",
    "tables_of",
    "variance_of",
]

_ONE_WAY = Fraction(1, 10)
_LADDER = 4
"""Steps of a weight in a doubling."""

ColumnSet = tuple[int, ...]


@dataclass(frozen=True)
class TableShare:
    """One table, and what of a budget it gets."""

    columns: ColumnSet
    """By their places."""
    cells: int
    share: Fraction
    """Rho or epsilon."""
    pure: bool
    """Whether it is epsilon."""

    def noise(self, rows: int) -> DiscreteGaussian | DiscreteLaplace:
        """The noise of each cell, where somebody has so many rows at most."""
        if self.pure:
            return DiscreteLaplace((rows / self.share,))
        return DiscreteGaussian(rows**2 / (2 * self.share))


@dataclass(frozen=True, eq=False)
class Measured:
    """The noisy counts of one table, all that is known of it."""

    columns: ColumnSet
    counts: NDArray[np.int64]
    variance: Fraction
    """Of the noise of each cell: the parameter of the Gaussian, twice the squared Laplace scale."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that leaves the private table: whatever is made of it costs nothing more."""

    sizes: tuple[int, ...]
    """Cells of each column."""
    tables: tuple[Measured, ...]

    @property
    def total(self) -> float:
        """How many rows there are, by all tables weighed by their precision; at least 1."""
        weights = np.array([float(1 / (it.variance * it.counts.size)) for it in self.tables])
        totals = np.array([float(it.counts.sum()) for it in self.tables])
        return max(float((weights * totals).sum() / weights.sum()), 1.0)


def tables_of(columns: int, together: Sequence[Sequence[int]] | None) -> list[ColumnSet]:
    """Each column by itself; then all pairs, or those that stand together in some set."""
    sets = [range(columns)] if together is None else together
    pairs = {tuple(sorted(pair)) for one in sets for pair in combinations(one, 2)}
    return [*((place,) for place in range(columns)), *sorted(pairs)]


def shares_of(
    tables: Sequence[ColumnSet], sizes: Sequence[int], budget: Fraction, *, pure: bool
) -> tuple[TableShare, ...]:
    """What each table gets; the sum is the budget exactly."""
    cells = [prod(sizes[place] for place in columns) for columns in tables]
    power = 1 / 2 if pure else 2 / 3
    weights = [
        1 if len(columns) == 1 else _rounded(count**power)
        for columns, count in zip(tables, cells, strict=True)
    ]
    single = [len(columns) == 1 for columns in tables]
    whole = {
        kind: sum(w for w, one in zip(weights, single, strict=True) if one is kind)
        for kind in (True, False)
    }
    parts = {True: _ONE_WAY if whole[False] else Fraction(1), False: 1 - _ONE_WAY}
    return tuple(
        TableShare(columns, count, budget * parts[one] * Fraction(weight, whole[one]), pure)
        for columns, count, weight, one in zip(tables, cells, weights, single, strict=True)
    )


def _rounded(weight: float) -> int:
    """A whole number within a tenth of 64 times the weight, one of few."""
    return floor(64 * 2 ** (round(_LADDER * log2(weight)) / _LADDER))


def measured(
    shares: Sequence[TableShare],
    counts: Sequence[NDArray[np.int64]],
    rows: int,
    key: Key,
) -> tuple[Measured, ...]:
    """The counts with noise; all tables of one noise are drawn by one call.

    ``rows`` are those of a person that take part at most.  The word of a cell is its place among
    all cells of all tables, so no two share one.
    """
    first = np.cumsum([0, *(count.size for count in counts)])
    noise = np.zeros(int(first[-1]), dtype=np.int64)
    of_share: dict[Fraction, list[int]] = {}
    for place, one in enumerate(shares):
        of_share.setdefault(one.share, []).append(place)
    for places in of_share.values():
        words = np.concatenate([np.arange(first[it], first[it + 1]) for it in places])
        noise[words] = _drawn(shares[places[0]].noise(rows), words.astype(np.uint64), key)
    return tuple(
        Measured(
            one.columns,
            count + noise[first[it] : first[it + 1]].reshape(count.shape),
            variance_of(one, rows),
        )
        for it, (one, count) in enumerate(zip(shares, counts, strict=True))
    )


def variance_of(share: TableShare, rows: int) -> Fraction:
    """Of the noise of each cell, as ``Measured`` states it."""
    if share.pure:
        return 2 * (rows / share.share) ** 2
    return Fraction(rows) ** 2 / (2 * share.share)


def _drawn(
    noise: DiscreteGaussian | DiscreteLaplace, words: NDArray[np.uint64], key: Key
) -> NDArray[np.int64]:
    if isinstance(noise, DiscreteGaussian):
        return noise.draw(words, key)
    return noise.draw(np.zeros(len(words), dtype=np.int64), words, key)
