"""The best pattern for given prices: a bounded knapsack, by branch and bound.

Source: the depth-first search of Gilmore and Gomory (1963), with the bound of Dantzig (1957).

Guarantee: no pattern is worth more than the upper bound that it gives.  The bound that prunes is
computed in binary fractions, with a relative error below 1e-14; ``tolerance``, at least 1e-9 of
what a bin is worth, swallows it.

Algorithm: types by descending price per weight: take as many as fit, then give back the last one
taken, and so on; a branch ends where what is left of the bin, filled at the best remaining ratio,
cannot beat the best value by more than ``tolerance``.

Cost: exponential at worst, hence ``limit`` branches; mostly tens to thousands for bins of a few
items, several times faster than the O(n C) table of values on the benchmark sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit

__all__ = ["SCALE", "TOLERANCE", "WORK_OF_A_BRANCH", "best_pattern"]

SCALE = 2**40
"""What a bin is worth, about; prices are integers of this unit."""
TOLERANCE = SCALE >> 20
WORK_OF_A_BRANCH = 20


@njit(cache=True)
def best_pattern(
    weights: NDArray[np.int64],
    counts: NDArray[np.int64],
    prices: NDArray[np.int64],
    capacity: int,
    tolerance: int,
    limit: int,
    pattern: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Put the best pattern into ``pattern`` (m,).

    The answer is its value, what no pattern exceeds, and how many branches were seen.
    ``weights``, ``counts`` and ``prices`` are (m,), positive, positive and nonnegative.
    """
    order = np.argsort(-(prices / weights))
    m = int((prices > 0).sum())
    order = order[:m]
    weight, price, count = weights[order], prices[order], counts[order]
    ratio = price / weight
    lightest = np.empty(m + 1, np.int64)
    lightest[m] = capacity + 1
    for i in range(m - 1, -1, -1):
        lightest[i] = min(lightest[i + 1], weight[i])

    taken, best_taken = np.zeros(m, np.int64), np.zeros(m, np.int64)
    depth, stack = 0, np.empty(m, np.int64)  # types that are taken, in their order
    best, value, room, i = 0, 0, capacity, 0
    branches = 0
    while branches < limit:
        branches += 1
        while i < m and room >= lightest[i] and value + room * ratio[i] > best + tolerance:
            if weight[i] <= room:
                taken[i] = min(count[i], room // weight[i])
                room -= taken[i] * weight[i]
                value += taken[i] * price[i]
                stack[depth] = i
                depth += 1
            i += 1
        if value > best:
            best = value
            best_taken[:] = taken
        if depth == 0:
            break
        i = stack[depth - 1]
        taken[i] -= 1
        room += weight[i]
        value -= price[i]
        depth -= taken[i] == 0
        i += 1

    pattern[:] = 0
    pattern[order] = best_taken
    upper = best + tolerance
    if branches == limit and m:
        upper = max(upper, int(capacity * ratio[0] * (1 + 1e-12)) + 1)
    return best, upper, branches
