"""Best linear estimates of counts from noisy tables, with exact variances.

A release of ``dp-synthesis`` has noisy counts of several overlapping tables, so one marginal is
measured many times: how many women there are follows from each table that has the column sex.
What stands here is the generalized least squares estimate of a weighted sum of counts over all of
these, which is unbiased and has the least variance of all linear estimates; answers are consistent
with each other, for they are one linear function of one estimate of all counts.

Source: the decomposition of Xiao, He, Zhang and Kifer, "An optimal and scalable matrix mechanism
for noisy marginals under convex loss functions" (NeurIPS 2023).  A table splits into residuals,
one for each subset A of its columns: what is left when means along each column of A are taken
away.  Noise that is independent, of one variance in a table, is independent in all residuals, too.
Table t of variance v states the residual A with precision 1 / (v c), c the number of cells that it
has along its other columns; so the best estimate weighs tables by these precisions, residual by
residual, and no system of equations is solved.

Cost: one pass over the cells of the tables that share a column with what is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log, prod, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from voile.release.claims import SynthesizedPrivately
from voile.table.domains import measured_cells
from voile.table.published import PublishedTable

__all__ = ["LinearEstimate", "NoisyMarginals", "NoisyTable", "noisy_marginals"]

_LAPLACE_KURTOSIS = 3.0

Names = tuple[str, ...]
Weights = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """The noisy counts of all cells of a table."""

    columns: Names
    counts: NDArray[np.int64]
    variance: float
    """Of the noise of each cell."""


@dataclass(frozen=True)
class LinearEstimate:
    """An estimate of a weighted sum of counts, and the distribution of its noise."""

    value: float
    variance: float
    excess: float
    """Excess kurtosis of its noise: 0 of Gaussian noise, up to 3 of Laplace noise."""

    def margin(self, confidence: float) -> float:
        """Half the width of the interval that covers the truth with this probability, 0 to 1.

        Of Laplace noise the quantile of Cornish and Fisher for the excess, at most that of a single
        Laplace variable.
        """
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        quantile = z
        if self.excess > 0:
            single = -log(1 - confidence) / sqrt(2)
            quantile = min(z + (z**3 - 3 * z) * self.excess / 24, max(single, z))
        return quantile * sqrt(self.variance)


@dataclass(frozen=True, eq=False)
class NoisyMarginals:
    """All noisy tables of a release."""

    labels: Mapping[str, tuple[str | None, ...]]
    """The cells of each column, None for the missing value."""
    tables: tuple[NoisyTable, ...]
    excess: float
    """Excess kurtosis of the noise of one cell."""

    def covers(self, columns: Sequence[str]) -> bool:
        """Whether some table has all of these columns."""
        return any(set(columns) <= set(table.columns) for table in self.tables)

    def estimates(self, columns: Names, weights: Sequence[Weights]) -> tuple[LinearEstimate, ...]:
        """Of the sums over the cells of a marginal of weight times count, for each of ``weights``.

        Weights have a shape as the cells of ``columns``; some table must cover them.
        """
        return tuple(self._estimate(columns, one) for one in weights)

    def covariance(self, columns: Names, one: Weights, other: Weights) -> float:
        """Of the noise of two estimates."""
        pairs = zip(self._terms(columns, one), self._terms(columns, other), strict=True)
        return sum(t.variance * float((a * b).sum()) for (t, a), (_, b) in pairs)

    def _estimate(self, columns: Names, weights: Weights) -> LinearEstimate:
        value = variance = fourth = 0.0
        for table, terms in self._terms(columns, weights):
            value += float((terms * table.counts).sum())
            variance += table.variance * float((terms**2).sum())
            fourth += table.variance**2 * float((terms**4).sum())
        excess = self.excess * fourth / variance**2 if variance else 0.0
        return LinearEstimate(value, variance, excess)

    def _terms(self, columns: Names, weights: Weights) -> Iterator[tuple[NoisyTable, Weights]]:
        """What each cell of each table counts in the estimate."""
        residuals = []
        for size in range(len(columns) + 1):
            for subset in combinations(columns, size):
                across = tuple(i for i, name in enumerate(columns) if name not in subset)
                residual = _residual(weights.mean(axis=across))
                whole = sum(_precision(table, subset) for table in self.tables)
                residuals.append((subset, residual, whole))
        for table in self.tables:
            terms = np.zeros(table.counts.shape)
            for subset, residual, whole in residuals:
                if set(subset) <= set(table.columns):
                    share = _precision(table, subset) / whole
                    terms += share * _along(residual, subset, table.columns)
            yield table, terms


def noisy_marginals(measurements: PublishedTable, claim: SynthesizedPrivately) -> NoisyMarginals:
    """The measurements of a release, of which ``claim`` says which tables they are."""
    measured = measured_cells(measurements)
    pure = claim.rho is None
    variances = {table.columns: _variance(table.noise, pure=pure) for table in claim.tables}
    tables = tuple(
        NoisyTable(columns, counts, variances[columns])
        for columns, counts in measured.counts.items()
    )
    return NoisyMarginals(measured.labels, tables, _LAPLACE_KURTOSIS if pure else 0.0)


def _variance(noise: str, *, pure: bool) -> float:
    """Of a cell: the parameter of Gaussian noise, or twice the squared scale of Laplace noise."""
    return float(2 * Fraction(noise) ** 2 if pure else Fraction(noise))


def _precision(table: NoisyTable, subset: Names) -> float:
    """With which a table states a residual; 0 of one that it does not have."""
    if not set(subset) <= set(table.columns):
        return 0.0
    sizes = zip(table.columns, table.counts.shape, strict=True)
    beside: int = prod(size for name, size in sizes if name not in subset)
    return 1 / (table.variance * beside)


def _residual(weights: Weights) -> Weights:
    """What is left when means along each axis are taken away."""
    for axis in range(weights.ndim):
        weights = weights - weights.mean(axis=axis, keepdims=True)
    return np.asarray(weights)


def _along(residual: Weights, subset: Names, columns: Names) -> Weights:
    """A residual with the axes of a table, of length 1 where it has none."""
    order = [subset.index(name) for name in columns if name in subset]
    sizes = iter(np.transpose(residual, order).shape)
    shape = [next(sizes) if name in subset else 1 for name in columns]
    return np.transpose(residual, order).reshape(shape)
