"""What chance alone makes of the information that two columns share.

Permute one of two columns uniformly: the rows in which value i of the first meets value j of the
second are then hypergeometric, X ~ H(n, a_i, b_j).  ``chance_information`` is the exact
expectation of their mutual information.

Source: Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison" (JMLR 11,
2010), Theorem 1 (eq. 24).

Algorithm: values with equally many rows share a law, so there are at most sqrt(2n) laws for each
column.  Each is summed outwards from its mode by the ratio of neighbouring probabilities, until
these are below 1e-18 of that of the mode, and divided by their sum: no factorial is needed, and no
tail is walked.  Cost: O(s t w) for s and t distinct numbers of rows and laws of width w.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["chance_information"]

_NEGLIGIBLE = 1e-18


def chance_information(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Expected mutual information, in nats, of two columns of which one is permuted uniformly.

    ``first`` and ``second`` are the rows of each value of either column, all above 0; their sums
    are the same n, below 2**31.
    """
    laws = [np.unique(rows, return_counts=True) for rows in (first, second)]
    (a, a_times), (b, b_times) = laws
    return float(_summed(a, a_times, b, b_times, int(first.sum())))


@njit(cache=True, nogil=True)
def _summed(
    a: NDArray[np.int64],
    a_times: NDArray[np.int64],
    b: NDArray[np.int64],
    b_times: NDArray[np.int64],
    rows: int,
) -> float:
    total = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            total += a_times[i] * b_times[j] * _information(a[i], b[j], rows)
    return total / rows


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
