"""Best linear estimates of counts from noisy tables, with exact variances.

A release has noisy counts of several overlapping tables, so one marginal is measured many times:
how many women there are follows from each table that has the column sex, and how many people a
county has from the towns in it.  What stands here is a least squares estimate over all of these:
unbiased, and consistent, for all answers are linear functions of one estimate of all counts.

Source: the decomposition of Xiao, He, Zhang and Kifer, "An optimal and scalable matrix mechanism
for noisy marginals under convex loss functions" (NeurIPS 2023), here with levels.  Along a column
with the partitions P_0 (its cells), P_1, ..., P_h, each coarser than the one before, and that of
all cells together, the functions on cells split into orthogonal parts: those constant on blocks of
P_r that average to 0 within blocks of P_(r+1).  A **residual** is one part of each column.  A table
with every column at a level of at most its part states a residual, with the precision 1 / (v c): v
the variance of its noise, c the mean of what a unit vector of the residual costs in its cells,
which is a product over columns.  Estimates weigh tables by these precisions, residual by residual;
no system of equations is solved.

Where all blocks of a level have the same size this is generalized least squares, which no linear
estimate is more precise than.  Where sizes differ it is weighted least squares with one weight for
all cells of a level in place of one for each: still unbiased and consistent, and its variances,
which are computed from its own coefficients, are exact.  This departs from the source, which has no
levels, and saves the factorization of a matrix of all cells.

Cost: with R residuals of what is asked (2 for each column without levels, multiplied), R passes
over the cells of all tables; variances of a whole table take a millisecond for each table and each
different shape of its cells, of which there is one where no column has levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product
from math import ceil, exp, log, prod, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from voile_base.ondemand import dataclass

__all__ = ["LAPLACE_KURTOSIS", "LinearEstimate", "NoisyMarginals", "NoisyTable"]

LAPLACE_KURTOSIS = 3.0
_DIGITS = 9
"""By which coefficients of a cell are told apart: they are fractions of numbers of cells."""
_SINGLE = 0.999
"""Of the fourth powers of coefficients over their squared sum of squares, 1 of a single one."""
_NEXT_TO_NONE, _LARGE, _FAR, _TINY = 1e-3, 10_000.0, 40, 1e-12

Names = tuple[str, ...]
Weights = NDArray[np.float64]
Codes = NDArray[np.int64]
Key = tuple[int, ...]
"""A level, or a part, of each column."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """The noisy counts of all cells of a table."""

    columns: Names
    counts: NDArray[np.int64]
    variance: float
    """Of the noise of each cell."""
    levels: Key = ()
    """Of each column; empty: all columns by their cells."""

    @property
    def level_of(self) -> Mapping[str, int]:
        """The level of each of its columns."""
        return dict(zip(self.columns, self.levels or (0,) * len(self.columns), strict=True))


@dataclass(frozen=True)
class LinearEstimate:
    """An estimate of a weighted sum of counts, and the distribution of its noise."""

    value: float
    variance: float
    excess: float
    """Excess kurtosis of its noise: 0 of Gaussian noise, up to 3 of Laplace noise."""
    single: bool = False
    """Whether all but next to nothing of it is the noise of one cell: then errors are whole
    numbers."""

    def margin(self, confidence: float) -> float:
        """Half the width of the interval that covers the truth with this probability, 0 to 1.

        Of Laplace noise the quantile of Cornish and Fisher for the excess, at most that of a single
        Laplace variable.
        """
        if self.single:
            return _radius(self.variance, confidence, laplace=self.excess > 0)
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        quantile = z
        if self.excess > 0:
            single = -log(1 - confidence) / sqrt(2)
            quantile = min(z + (z**3 - 3 * z) * self.excess / 24, max(single, z))
        return quantile * sqrt(self.variance)


def _radius(variance: float, confidence: float, *, laplace: bool) -> float:
    """The least whole number that discrete noise keeps to with a confidence."""
    if variance < _NEXT_TO_NONE:
        return 0.0
    if laplace:
        base = exp(-sqrt(2 / variance))
        return max(ceil(log((1 - confidence) * (1 + base) / 2) / log(base) - 1 - _TINY), 0)
    if variance > _LARGE:
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return ceil(z * sqrt(variance) - 0.5)
    sizes = np.arange(ceil(_FAR * sqrt(variance)) + 2)
    chances = np.exp(-(sizes**2) / (2 * variance)) * np.where(sizes, 2, 1)
    inside = np.cumsum(chances) / chances.sum()
    return float(np.searchsorted(inside, confidence * (1 - _TINY)))


@dataclass(frozen=True, eq=False)
class _Axis:
    """The partitions of the n cells of a column, from its cells to all of them in one block."""

    codes: tuple[Codes, ...]
    """For each partition, shape (n,): the block of each cell."""

    @classmethod
    def of(cls, cells: int, groups: Sequence[Codes]) -> _Axis:
        return cls((np.arange(cells), *groups, np.zeros(cells, dtype=np.int64)))

    @property
    def whole(self) -> int:
        """The partition of one block: the level of a table that does not have the column."""
        return len(self.codes) - 1

    @cached_property
    def sizes(self) -> tuple[Codes, ...]:
        """For each partition, how many cells each block has."""
        return tuple(np.bincount(code) for code in self.codes)

    @cached_property
    def first(self) -> tuple[Codes, ...]:
        """For each partition, a cell of each block."""
        return tuple(np.unique(code, return_index=True)[1] for code in self.codes)

    def parts(self, level: int) -> list[int]:
        """The parts of functions on blocks of a level that are not empty."""
        blocks = [len(size) for size in self.sizes]
        return [r for r in range(level, self.whole) if blocks[r] > blocks[r + 1]] + [self.whole]

    @cached_property
    def costs(self) -> Mapping[tuple[int, int], float]:
        """For each level and part that it states, see ``_cost``."""
        return {
            (level, part): self._cost(level, part)
            for level in range(self.whole + 1)
            for part in self.parts(level)
        }

    def _cost(self, level: int, part: int) -> float:
        """The mean of the squared length of a unit vector of a part, in blocks of a level."""
        share = 1 / self.sizes[part][self.codes[part]]
        blocks = len(self.sizes[part])
        if part < self.whole:
            share = share - 1 / self.sizes[part + 1][self.codes[part + 1]]
            blocks -= len(self.sizes[part + 1])
        return float((share / self.sizes[level][self.codes[level]]).sum()) / blocks

    def averaged(self, weights: Weights, axis: int, partition: int) -> Weights:
        """Means of blocks, for each cell."""
        if not partition:
            return weights
        sums = self.summed(weights, axis, 0, partition)
        means = sums / _shaped(self.sizes[partition], axis, sums.ndim)
        return np.take(means, self.codes[partition], axis=axis)

    def component(self, weights: Weights, axis: int, part: int) -> Weights:
        """A part of weights of cells."""
        found = self.averaged(weights, axis, part)
        return found if part == self.whole else found - self.averaged(weights, axis, part + 1)

    def summed(self, counts: Weights, axis: int, level: int, coarser: int) -> Weights:
        """Counts of blocks of a level, added up to those of a coarser one."""
        if level == coarser:
            return counts
        code = self.codes[coarser][self.first[level]]
        order = np.argsort(code, kind="stable")
        starts = np.searchsorted(code[order], np.arange(len(self.sizes[coarser])))
        return np.asarray(np.add.reduceat(np.take(counts, order, axis=axis), starts, axis=axis))

    def spread(self, counts: Weights, axis: int, part: int, level: int) -> Weights:
        """The part of counts of its blocks, as counts of the blocks of a finer level."""
        first, ndim = self.first[level], counts.ndim
        density = np.take(
            counts / _shaped(self.sizes[part], axis, ndim), self.codes[part][first], axis=axis
        )
        if part < self.whole:
            above = self.summed(counts, axis, part, part + 1)
            above = above / _shaped(self.sizes[part + 1], axis, ndim)
            density = density - np.take(above, self.codes[part + 1][first], axis=axis)
        return density * _shaped(self.sizes[level], axis, ndim)

    def coefficients(self, level: int, block: int) -> list[tuple[Weights, Codes]]:
        """The parts of the function that is 1 on a block of a level, by blocks of each partition.

        For each partition: the different values of the parts, shape (partitions, different), of
        which there are few, and of how many blocks they are.
        """
        return self.coefficients_of((self.codes[level] == block).astype(np.float64))

    def coefficients_of(self, weights: Weights) -> list[tuple[Weights, Codes]]:
        """The same of any function on cells, shape (n,)."""
        parts = np.stack([self.component(weights, 0, part) for part in range(self.whole + 1)])
        found = []
        for first in self.first:
            shown = parts[:, first]
            _, at, often = np.unique(
                shown.round(_DIGITS), axis=1, return_index=True, return_counts=True
            )
            found.append((shown[:, at], often))
        return found

    def shapes(self, level: int) -> tuple[Codes, Codes]:
        """A block of each shape, and the shape of each block: what variances depend on."""
        counted = [
            np.bincount(self.codes[part][self.first[finer]])[self.codes[part][self.first[level]]]
            for part in range(level, self.whole)
            for finer in range(part + 1)
        ]
        if not counted:
            return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        _, first, inverse = np.unique(
            np.stack(counted), axis=1, return_index=True, return_inverse=True
        )
        return first, inverse.reshape(-1)


def _shaped(numbers: Codes, axis: int, ndim: int) -> Codes:
    return numbers.reshape([-1 if place == axis else 1 for place in range(ndim)])


@dataclass(frozen=True, eq=False)
class NoisyMarginals:
    """All noisy tables of a release."""

    labels: Mapping[str, tuple[str | None, ...]]
    """The cells of each column, None for the missing value."""
    tables: tuple[NoisyTable, ...]
    excess: float
    """Excess kurtosis of the noise of one cell."""
    groups: Mapping[str, Sequence[Codes]] = field(default_factory=dict)
    """For each column with levels and each of these, the block of each cell."""

    def covers(self, columns: Sequence[str]) -> bool:
        """Whether some table has all of these columns, by their cells."""
        return any(all(table.level_of.get(name) == 0 for name in columns) for table in self.tables)

    def estimates(self, columns: Names, weights: Sequence[Weights]) -> tuple[LinearEstimate, ...]:
        """Of the sums over the cells of a marginal of weight times count, for each of ``weights``.

        Weights have a shape as the cells of ``columns``; some table must cover them.
        """
        return tuple(self._estimate(self._terms(columns, one)) for one in weights)

    def covariance(self, columns: Names, one: Weights, other: Weights) -> float:
        """Of the noise of two estimates."""
        pairs = zip(self._terms(columns, one), self._terms(columns, other), strict=True)
        return sum(t.variance * float((a * b).sum()) for (t, a), (_, b) in pairs)

    def cells(self, columns: Names, levels: Key) -> Weights:
        """Estimates of all cells of a table, each column at its level; some table must be finer."""
        axes = [self._axes[name] for name in columns]
        found = np.zeros([len(it.sizes[level]) for it, level in zip(axes, levels, strict=True)])
        for residual, shares in self._shares(columns, levels):
            counts = np.zeros(
                [len(it.sizes[part]) for it, part in zip(axes, residual, strict=True)]
            )
            for table, share in zip(self.tables, shares, strict=True):
                if share:
                    counts = counts + share * self._summed(table, columns, residual)
            for axis, it in enumerate(axes):
                counts = it.spread(counts, axis, residual[axis], levels[axis])
            found += counts
        return found

    def margins(self, columns: Names, levels: Key, confidence: float) -> Weights:
        """Half the widths of the intervals of all cells of a table; see ``cells``."""
        each, inverse = self._different(columns, levels)
        found = self._margins(columns, each, self._weights(columns, levels), confidence)
        return found[np.ix_(*inverse)]

    def margins_across(
        self, columns: Names, levels: Key, across: Sequence[Weights], confidence: float
    ) -> Weights:
        """Half the widths of the intervals of weighted sums over the cells of the last column.

        For each of ``across``, weights of these cells, and each cell of the other columns at their
        levels: shape, the cells of the others, then the number of ``across``.
        """
        each, inverse = self._different(columns[:-1], levels[:-1])
        each.append([self._axes[columns[-1]].coefficients_of(one) for one in across])
        found = self._margins(columns, each, self._weights(columns, levels), confidence)
        return found[np.ix_(*inverse, np.arange(len(across)))]

    def _different(
        self, columns: Names, levels: Key
    ) -> tuple[list[list[list[tuple[Weights, Codes]]]], list[Codes]]:
        """For each column the coefficients of a block of each shape, and that of each block."""
        each, inverse = [], []
        for name, level in zip(columns, levels, strict=True):
            it = self._axes[name]
            first, shape = it.shapes(level)
            each.append([it.coefficients(level, int(block)) for block in first])
            inverse.append(shape)
        return each, inverse

    def _margins(
        self,
        columns: Names,
        each: Sequence[Sequence[Sequence[tuple[Weights, Codes]]]],
        weights: Sequence[Weights],
        confidence: float,
    ) -> Weights:
        """Half widths for each combination of the coefficients of columns."""
        found = np.zeros([len(own) for own in each])
        for place in np.ndindex(found.shape):
            of_axes = [own[at] for own, at in zip(each, place, strict=True)]
            found[place] = self._error(columns, of_axes, weights).margin(confidence)
        return found

    @cached_property
    def _axes(self) -> Mapping[str, _Axis]:
        return {
            name: _Axis.of(len(labels), self.groups.get(name, ()))
            for name, labels in self.labels.items()
        }

    def _estimate(self, terms: Iterator[tuple[NoisyTable, Weights]]) -> LinearEstimate:
        value = variance = fourth = 0.0
        for table, factors in terms:
            value += float((factors * table.counts).sum())
            variance += table.variance * float((factors**2).sum())
            fourth += table.variance**2 * float((factors**4).sum())
        return self._estimated(value, variance, fourth)

    def _estimated(self, value: float, variance: float, fourth: float) -> LinearEstimate:
        together = fourth / variance**2 if variance else 0.0
        return LinearEstimate(value, variance, self.excess * together, together > _SINGLE)

    def _terms(self, columns: Names, weights: Weights) -> Iterator[tuple[NoisyTable, Weights]]:
        """What each cell of each table counts in the estimate of weighted cells."""
        axes = [self._axes[name] for name in columns]
        residuals = []
        for residual, shares in self._shares(columns, (0,) * len(columns)):
            part = weights
            for axis, it in enumerate(axes):
                part = it.component(part, axis, residual[axis])
            residuals.append((part, shares))
        for number, table in enumerate(self.tables):
            terms = np.zeros(table.counts.shape)
            for part, shares in residuals:
                if shares[number]:
                    terms += shares[number] * self._along(part, columns, table)
            yield table, terms

    def _along(self, part: Weights, columns: Names, table: NoisyTable) -> Weights:
        """A part of weights, of which a table states it, by the cells of the table."""
        level_of = table.level_of
        for axis, name in enumerate(columns):
            it = self._axes[name]
            part = np.take(part, it.first[level_of.get(name, it.whole)], axis=axis)
        order = [columns.index(name) for name in table.columns if name in columns]
        gone = [axis for axis in range(len(columns)) if axis not in order]
        shape = [
            part.shape[columns.index(name)] if name in columns else 1 for name in table.columns
        ]
        return np.transpose(part, [*gone, *order]).reshape(shape)

    def _weights(self, columns: Names, levels: Key) -> list[Weights]:
        """For each table, its weight in each residual, shape: the partitions of the columns."""
        shape = [self._axes[name].whole + 1 for name in columns]
        found = [np.zeros(shape) for _ in self.tables]
        for residual, shares in self._shares(columns, levels):
            for weights, share in zip(found, shares, strict=True):
                weights[residual] = share
        return found

    def _error(
        self,
        columns: Names,
        of_axes: Sequence[Sequence[tuple[Weights, Codes]]],
        weights: Sequence[Weights],
    ) -> LinearEstimate:
        """The noise of the estimate of one cell; its value is left out."""
        variance = fourth = 0.0
        for table, own in zip(self.tables, weights, strict=True):
            level_of, terms, times = table.level_of, own, np.ones(())
            for axis, name in enumerate(columns):
                level = level_of.get(name, self._axes[name].whole)
                values, often = of_axes[axis][level]
                terms = _applied(terms, values, axis)
                times = np.multiply.outer(times, often)
            sizes = zip(table.columns, table.counts.shape, strict=True)
            times = times * prod(size for name, size in sizes if name not in columns)
            variance += table.variance * float((times * terms**2).sum())
            fourth += table.variance**2 * float((times * terms**4).sum())
        return self._estimated(0.0, variance, fourth)

    def _summed(self, table: NoisyTable, columns: Names, residual: Key) -> Weights:
        """The counts of a table, added up to the blocks of a residual of some columns."""
        across = tuple(axis for axis, name in enumerate(table.columns) if name not in columns)
        counts = table.counts.sum(axis=across).astype(np.float64)
        names = [name for name in table.columns if name in columns]
        for axis, name in enumerate(names):
            part = residual[columns.index(name)]
            counts = self._axes[name].summed(counts, axis, table.level_of[name], part)
        counts = np.transpose(counts, [names.index(name) for name in columns if name in names])
        shape = iter(counts.shape)
        return counts.reshape([next(shape) if name in names else 1 for name in columns])

    def _shares(self, columns: Names, levels: Key) -> Iterator[tuple[Key, Sequence[float]]]:
        """Each residual that blocks of levels have, and the weight of each table in it."""
        axes = [self._axes[name] for name in columns]
        for residual in product(*(it.parts(of) for it, of in zip(axes, levels, strict=True))):
            part_of = dict(zip(columns, residual, strict=True))
            precisions = [self._precision(table, part_of) for table in self.tables]
            whole = sum(precisions)
            if not whole:
                msg = "no table has all of these columns at these levels"
                raise ValueError(msg)
            yield residual, [precision / whole for precision in precisions]

    def _precision(self, table: NoisyTable, part_of: Mapping[str, int]) -> float:
        """With which a table states a residual; 0 of one that it does not have."""
        level_of, cost = table.level_of, table.variance
        for name, part in part_of.items():
            it = self._axes[name]
            level = level_of.get(name, it.whole)
            if level > part:
                return 0.0
            cost *= it.costs[level, part]
        sizes = zip(table.columns, table.counts.shape, strict=True)
        beside: int = prod(size for name, size in sizes if name not in part_of)
        return 1 / (cost * beside)


def _applied(terms: Weights, matrix: Weights, axis: int) -> Weights:
    """A matrix, shape (old, new), applied along an axis."""
    return np.asarray(np.moveaxis(np.tensordot(terms, matrix, axes=(axis, 0)), -1, axis))
