"""A distribution of rows that fits noisy tables: a mixture of products, fitted by MAP.

What it does: ``fitted`` takes measurements, and nothing else, to a mixture of K components, within
each of which columns are independent.  Whoever has the measurements can repeat it, on one machine
to the last digit (the order in which a library sums is the machine's).

Source: the model is that of latent classes (Lazarsfeld and Henry 1968); fitting a product mixture
to noisy marginals is after Liu, Vietri and Wu, "Iterative methods for private synthetic data"
(NeurIPS 2021), with all pairs measured at once in place of an adaptive selection.

Estimator.  Component k has a weight w_k and for column j the distribution softmax(b_j + d_kj)
over its cells, b_j being logarithms of the shares that all tables with column j state of it.  The
loss is the sum over measured cells of (N p - y)^2 / (2 v), N the estimated number of rows, plus
``_PRIOR`` |d|^2 / 2: a Gaussian prior that keeps components alike unless counts say otherwise.
Adam with 600 steps whose size falls as a half cosine; three fits from different starts, joined
with equal weights.  Numbers of components, steps and fits are fixed: none follows from what comes
of it.

Cells that a public fact says are empty enter like counts of 0 with a small variance.

An earlier release of the same people, or of others like them, is public, and enters as what it
counts: of a cell with e rows, scaled to the number of rows now, as a measurement of the variance
v + 2 e, v that of the noise.  So it counts as much as new noise where cells are small, and next to
nothing where samples of people differ by more than noise does.  The rule is fixed: how well
the two agree decides nothing.

Cost: with V cells of all columns together, 3 V^2 K multiplications a step in single precision; some
.4 s for eleven columns of 96 cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.publish.measuring import ColumnSet, Measured, Measurements
from voile_base.randomness import Randomness

__all__ = ["Mixture", "fitted"]

_COMPONENTS, _STEPS, _FITS = 100, 600, 3
_RATE, _PRIOR, _SPREAD = 0.1, 0.6, 0.8
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_FLOOR = 0.3
"""Standard deviations of its noisy count that a cell is taken to have at least, to begin with."""

Singles = NDArray[np.float32]
Impossible = Mapping[ColumnSet, NDArray[np.bool_]]
Earlier = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Mixture:
    """A distribution of rows."""

    total: float
    """How many rows there are, estimated."""
    weights: NDArray[np.float64]
    """Shape (components,): they sum to 1."""
    columns: tuple[NDArray[np.float64], ...]
    """For each column, shape (components, cells): the distribution of its cells."""


def fitted(
    measurements: Measurements,
    impossible: Impossible | None = None,
    earlier: Earlier | None = None,
) -> Mixture:
    """The mixture that fits measurements.

    ``impossible`` marks cells that public facts empty; ``earlier`` has the counts of an earlier
    release, table by table.
    """
    target = _Target.of(measurements, impossible or {}, earlier)
    fits = [_fit(target, number) for number in range(_FITS)]
    weights = np.concatenate([weight for weight, _ in fits]).astype(np.float64) / _FITS
    cells = np.concatenate([shares for _, shares in fits]).astype(np.float64)
    parts = np.split(cells, target.starts[1:], axis=1)
    columns = tuple(part / part.sum(axis=1, keepdims=True) for part in parts)
    return Mixture(measurements.total, weights / weights.sum(), columns)


@dataclass(frozen=True, eq=False)
class _Target:
    """What a fit is held against: all cells of all columns side by side, V of them."""

    total: np.float32
    starts: NDArray[np.int64]
    """Where the cells of each column begin."""
    column: NDArray[np.int64]
    """Shape (V,): the column of each cell."""
    base: Singles
    """Shape (V,): logarithms of shares."""
    single: Singles
    """Shape (V,): noisy counts of one-way tables."""
    single_weight: Singles
    """Shape (V,): one over their variances."""
    pair: Singles
    """Shape (V, V): noisy counts of pairs, symmetric."""
    pair_weight: Singles
    """Shape (V, V): one over their variances; 0 of what was not measured."""

    @classmethod
    def of(
        cls, measurements: Measurements, impossible: Impossible, earlier: Earlier | None
    ) -> _Target:
        sizes = np.array(measurements.sizes)
        starts = np.cumsum(sizes) - sizes
        slices = [slice(s, s + size) for s, size in zip(starts, sizes, strict=True)]
        cells = int(sizes.sum())
        single, single_weight = np.zeros((2, cells))
        pair, pair_weight = np.zeros((2, cells, cells), dtype=np.float32)
        seen, precision = np.zeros((2, cells))  # of each cell's count, in all tables with it
        for number, one in enumerate(measurements.tables):
            before = None if earlier is None else earlier[number]
            counts, weight = _weighed(one, before, measurements.total)
            for axis, column in enumerate(one.columns):
                across = tuple(other for other in range(counts.ndim) if other != axis)
                share = 1 / (1 / weight).sum(axis=across)
                seen[slices[column]] += counts.sum(axis=across) * share
                precision[slices[column]] += share
            if len(one.columns) == 1:
                single[slices[one.columns[0]]] = counts
                single_weight[slices[one.columns[0]]] = weight
                continue
            a, b = (slices[column] for column in one.columns)
            if (empty := impossible.get(one.columns)) is not None:
                counts, weight = np.where(empty, 0, counts), np.where(empty, 1.0, weight)
            pair[a, b], pair[b, a] = counts, counts.T
            pair_weight[a, b], pair_weight[b, a] = weight, weight.T
        least = _FLOOR / np.sqrt(precision)
        return cls(
            total=np.float32(measurements.total),
            starts=starts,
            column=np.repeat(np.arange(len(sizes)), sizes),
            base=np.log(np.maximum(seen / precision, least)).astype(np.float32),
            single=single.astype(np.float32),
            single_weight=single_weight.astype(np.float32),
            pair=pair,
            pair_weight=pair_weight,
        )

    def shares(self, deviations: Singles) -> Singles:
        """Shape (components, V): the distribution of each column in each component."""
        logits = self.base + deviations
        most = np.maximum.reduceat(logits, self.starts, axis=1)[:, self.column]
        raised = np.exp(logits - most)
        whole = np.add.reduceat(raised, self.starts, axis=1)[:, self.column]
        return np.asarray(raised / whole, dtype=np.float32)

    def gradients(self, weights: Singles, shares: Singles) -> tuple[Singles, Singles]:
        """Of the loss, by logits of cells (components, V) and by weights (components,)."""
        expected = shares * (self.total * weights)[:, np.newaxis]
        gap = expected.T @ shares
        gap -= self.pair
        gap *= self.pair_weight
        by_pairs = shares @ gap
        alone = self.single_weight * (expected.sum(axis=0) - self.single)
        by_weights = self.total * ((shares * by_pairs).sum(axis=1) / 2 + shares @ alone)
        by_shares = expected * (by_pairs + alone)
        mean = np.add.reduceat(by_shares, self.starts, axis=1)[:, self.column]
        return by_shares - shares * mean, by_weights


def _weighed(
    one: Measured, before: NDArray[np.int64] | None, total: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts, and one over their variances: of what is measured, and of an earlier release."""
    variance = float(one.variance)
    counts, weight = one.counts.astype(np.float64), np.full(one.counts.shape, 1 / variance)
    if before is None:
        return counts, weight
    known = before * (total / max(int(before.sum()), 1))
    other = 1 / (variance + 2 * known)
    return (counts * weight + known * other) / (weight + other), weight + other


class _Adam:
    """Steps down a gradient (Kingma and Ba 2015)."""

    def __init__(self, like: Singles) -> None:
        self._mean, self._square = np.zeros_like(like), np.zeros_like(like)

    def step(self, place: Singles, gradient: Singles, turn: int, rate: float) -> None:
        """Move a place, in single precision."""
        self._mean += np.float32(1 - _FIRST) * (gradient - self._mean)
        self._square += np.float32(1 - _SECOND) * (gradient * gradient - self._square)
        mean = self._mean / np.float32(1 - _FIRST ** (turn + 1))
        square = self._square / np.float32(1 - _SECOND ** (turn + 1))
        place -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(_TINY))


def _fit(target: _Target, number: int) -> tuple[Singles, Singles]:
    """One fit from a start of its own: weights, and distributions of all columns."""
    start = Randomness.following("dp-synthesis", f"{number}").key("start").generator()
    shape = (_COMPONENTS, len(target.base))
    deviations = start.normal(0, _SPREAD, shape).astype(np.float32)
    logits = np.zeros(_COMPONENTS, dtype=np.float32)
    of_cells, of_weights = _Adam(deviations), _Adam(logits)
    for turn in range(_STEPS):
        rate = _RATE * (1 + np.cos(np.pi * turn / _STEPS)) / 2
        weights, shares = _softmax(logits), target.shares(deviations)
        by_cells, by_weights = target.gradients(weights, shares)
        by_logits = weights * (by_weights - (weights * by_weights).sum())
        of_cells.step(deviations, by_cells + np.float32(_PRIOR) * deviations, turn, rate)
        of_weights.step(logits, by_logits, turn, rate)
    return _softmax(logits), target.shares(deviations)


def _softmax(logits: Singles) -> Singles:
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum(), dtype=np.float32)
