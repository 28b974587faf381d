"""What chance alone makes of the information that two columns share.

Permute one of two columns uniformly: the rows in which value i of the first meets value j of the
second are then hypergeometric, X ~ H(n, a_i, b_j).  ``chance_information`` is the exact
expectation of their mutual information; ``chance_shares`` is what each value of the first column
adds to it, which depends on nothing of the first column but the value's own rows.

Source: Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison" (JMLR 11,
2010), Theorem 1 (eq. 24).

Algorithm: values with equally many rows share a distribution, so there are at most sqrt(2n)
distributions for each column.  Each is summed outwards from its mode by the ratio of neighbouring
probabilities, until these are below 1e-18 of that of the mode, and divided by their sum: no
factorial is needed, and no tail is walked.  Cost: O(s t w) for s and t distinct numbers of rows and
distributions of width w.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit

__all__ = ["chance_information", "chance_shares"]

_NEGLIGIBLE = 1e-18


def chance_information(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Expected mutual information, in nats, of two columns of which one is permuted uniformly.

    ``first`` and ``second`` are the rows of each value of either column, all above 0; their sums
    are the same n, below 2**31.
    """
    sizes, times = np.unique(first, return_counts=True)
    return float(times @ chance_shares(sizes, second))


def chance_shares(sizes: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """What values with so many rows, shape (s,), each add to the chance information, in nats.

    ``second`` are the rows of each value of the other column, as for ``chance_information``.
    """
    b, b_times = np.unique(second, return_counts=True)
    return np.asarray(_summed(sizes, b, b_times, int(second.sum())))


@njit(cache=True, nogil=True)
def _summed(
    sizes: NDArray[np.int64], b: NDArray[np.int64], b_times: NDArray[np.int64], rows: int
) -> NDArray[np.float64]:
    shares = np.zeros(len(sizes))
    for i in range(len(sizes)):
        for j in range(len(b)):
            shares[i] += b_times[j] * _information(sizes[i], b[j], rows)
    return shares / rows


@njit(cache=True, nogil=True)
def _information(a: int, b: int, rows: int) -> float:
    """Expectation of X ln(X n / (a b)) for X ~ H(n, a, b)."""
    low, high = max(0, a + b - rows), min(a, b)
    mode = min(max((a + 1) * (b + 1) // (rows + 2), low), high)
    scale = rows / (float(a) * float(b))
    weights = 1.0
    total = mode * math.log(mode * scale) if mode else 0.0
    weight = 1.0
    for x in range(mode, high):
        weight *= float(a - x) * float(b - x) / (float(x + 1) * float(rows - a - b + x + 1))
        if weight < _NEGLIGIBLE:
            break
        weights += weight
        total += weight * (x + 1) * math.log((x + 1) * scale)
    weight = 1.0
    for x in range(mode, low, -1):
        weight *= float(x) * float(rows - a - b + x) / (float(a - x + 1) * float(b - x + 1))
        if weight < _NEGLIGIBLE:
            break
        weights += weight
        if x > 1:
            total += weight * (x - 1) * math.log((x - 1) * scale)
    return total / weights
