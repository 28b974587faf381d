"""Expectations over what published entries stand for, and the same of original values.

What it does: for functions of the value of a column, given as numbers for each of its d distinct
values, their expectation for each of e entries under the shares of ``Spread``.  Indicators give
probabilities.  An entry that stands for one value gives the number of that value, to the last bit,
so that a release of the original is as good as the original, and not nearly.

Cost: O((d + e) f) for f functions: differences of cumulative sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.spread import Spread

__all__ = ["expectations"]

Floats = NDArray[np.float64]


def expectations(spread: Spread, values: Floats) -> Floats:
    """Expectations of f functions for each entry, shape (e, f), from their ``values``, (d, f)."""
    ordered = values[spread.order]
    weight = spread.weight[spread.order][:, np.newaxis]
    sums = np.zeros((len(ordered) + 1, values.shape[1] + 1))
    np.cumsum(np.hstack([ordered * weight, weight]), axis=0, out=sums[1:])
    found: Floats = np.empty((len(spread), values.shape[1]))
    alone = spread.covered == 1
    found[alone] = ordered[spread.start[alone]]
    wide = ~alone
    totals = sums[spread.stop[wide]] - sums[spread.start[wide]]
    means = totals[:, :-1] / totals[:, -1:]
    # Rounding may leave a mean just outside what it is a mean of, and a probability below 0.
    found[wide] = np.clip(means, values.min(axis=0), values.max(axis=0))
    return found
