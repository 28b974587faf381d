"""Cell keys: noise for counts that is the same wherever the same persons are counted.

Each person has a **record key**, 64 bits that a keyed function of a secret file makes of the
person's name.  The **cell key** of a cell is the sum of the record keys of its persons modulo
2**64: uniform, and the same in every table that counts the same persons.  Noise is looked up by the
count and the cell key in a **perturbation table**: so no average over tables takes it off, and a
zero stays a zero.

For each count the distribution of the noise is the one of **maximum entropy** among those with mean
0, the variance that is asked for, at most ``maximum`` either way, that make no count negative and
none that lies between 0 and ``minimum``.  It is p_v = exp(a v + b v^2) / Z, of which a and b are
found from the convex dual.  A count so small that this variance cannot be had with mean 0 gets the
nearest variance that can.

What it does not keep: **tables no longer add up**, each cell has noise of its own; and two tables
that differ by one person differ by the noise of two independent cells, not by one.  Whoever has the
secret takes the noise off.

Source: Fraser and Wooton, "A proposed method for confidentialising tabular output to protect
against differencing" (UNECE work session, 2005); Giessing, "Computational issues in the design of
transition probabilities and disclosure risk estimation for additive noise" (PSD 2016).  Keys are
summed modulo 2**64 here, and record keys are not stored but made again from the secret.

Cost: linear in cells; one convex program of two variables for each count up to ``maximum`` +
``minimum``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from voile.schema.tabulation import CellPerturbation

__all__ = ["PerturbationTable"]

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]
_EDGE = 1e-6
"""How near to the least or largest variance its distribution is taken itself."""


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """For each count, how probable each noise is; the last row is that of all larger counts."""

    maximum: int
    probabilities: Numbers
    """Shape (counts, 2 maximum + 1): of the noise from -maximum to maximum."""

    @classmethod
    def of(cls, plan: CellPerturbation) -> PerturbationTable:
        """The table of a plan; count 0 has no noise."""
        noise = np.arange(-plan.maximum, plan.maximum + 1)
        least = plan.minimum or 1
        rows = [(noise == 0).astype(np.float64)]
        for count in range(1, plan.maximum + least + 1):
            after = count + noise
            allowed = (after == 0) | (after >= least)
            rows.append(_least_informed(noise, allowed, float(plan.variance)))
        return cls(plan.maximum, np.array(rows))

    def noise(self, counts: Indices, keys: Indices) -> Indices:
        """Shape (cells,): the noise of counts by their cell keys."""
        row = np.minimum(counts, len(self.probabilities) - 1)
        uniform = keys.view(np.uint64).astype(np.float64) / 2.0**64
        ends = np.cumsum(self.probabilities, axis=1)[:, :-1]
        found: Indices = (uniform[:, None] >= ends[row]).sum(axis=1) - self.maximum
        # A sum of probabilities may miss 1 by rounding; what cannot be is not drawn.
        order = np.abs(found[:, None] - (np.arange(2 * self.maximum + 1) - self.maximum))
        possible = self.probabilities[row] > 0
        drawn: Indices = np.argmin(np.where(possible, order, 4 * self.maximum), axis=1)
        return drawn - self.maximum


def _least_informed(noise: Indices, allowed: NDArray[np.bool_], variance: float) -> Numbers:
    """The distribution of maximum entropy with mean 0 and a variance, as near as it can be had."""
    found = np.zeros(len(noise))
    values = noise[allowed].astype(np.float64)
    if not (values < 0).any() or not (values > 0).any():
        found[noise == 0] = 1.0
        return found
    below, above = values[values <= 0], values[values >= 0]
    narrow = _between(values, below.max(), above.min())
    wide = _between(values, below.min(), above.max())
    least, most = float(narrow @ values**2), float(wide @ values**2)
    if variance <= least + _EDGE:
        found[allowed] = narrow
    elif variance >= most - _EDGE:
        found[allowed] = wide
    else:
        found[allowed] = _exponential(values, variance)
    return found


def _between(values: Numbers, low: float, high: float) -> Numbers:
    """Mean 0 on two values, or on one that is 0."""
    share = 1.0 if high == low else high / (high - low)
    return np.where(values == low, share, np.where(values == high, 1.0 - share, 0.0))


def _exponential(values: Numbers, variance: float) -> Numbers:
    """Weights exp(a v + b v^2) / Z with mean 0 and the variance: the minimum of the convex dual."""
    scale = np.abs(values).max()
    moments = np.array([values / scale, (values / scale) ** 2])
    target = np.array([0.0, variance / scale**2])

    def dual(multipliers: Numbers) -> float:
        return float(logsumexp(multipliers @ moments) - multipliers @ target)

    def slope(multipliers: Numbers) -> Numbers:
        logits = multipliers @ moments
        gradient: Numbers = moments @ np.exp(logits - logsumexp(logits)) - target
        return gradient

    def curvature(multipliers: Numbers) -> Numbers:
        logits = multipliers @ moments
        weights = np.exp(logits - logsumexp(logits))
        mean = moments @ weights
        second: Numbers = (moments * weights) @ moments.T - np.outer(mean, mean)
        return second

    result = minimize(
        dual, np.zeros(2), jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-11}
    )
    logits = result.x @ moments
    weights: Numbers = np.exp(logits - logsumexp(logits))
    return weights
