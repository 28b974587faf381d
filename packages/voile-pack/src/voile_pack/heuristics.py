"""First-fit and best-fit decreasing: good packings at once.

What it does: takes the items from the heaviest to the lightest and puts each into the first bin
that has room (first fit) or into the fullest one (best fit), or opens a bin.

Source: Johnson (1973), "Near-optimal bin packing algorithms".

Guarantee: at most 11/9 of the optimum plus 6/9 of a bin (Dósa, 2007).

Algorithm: first fit descends a tree whose nodes hold the most room among their bins; best fit
looks at all bins that still have room for the lightest item.

Cost: first fit O(n log n), best fit O(n b) for b open bins; hence best fit is only tried where
n * n is at most ``BEST_FIT_WORK``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit

__all__ = ["best_fit_decreasing", "decreasing", "first_fit_decreasing"]

BEST_FIT_WORK = 1_000_000_000


def decreasing(weights: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """The better of the two: the bin (n,) of each item; ``weights`` (n,) are descending."""
    first = first_fit_decreasing(weights, capacity)
    if len(weights) ** 2 > BEST_FIT_WORK:
        return first
    best = best_fit_decreasing(weights, capacity)
    return best if best.max(initial=-1) <= first.max(initial=-1) else first


@njit(cache=True)
def first_fit_decreasing(weights: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """The bin (n,) of each item; ``weights`` (n,) are descending."""
    leaves = 1
    while leaves < len(weights):
        leaves *= 2
    room = np.full(2 * leaves, capacity, np.int64)
    bin_of = np.empty(len(weights), np.int64)
    for item, weight in enumerate(weights):
        node = 1
        while node < leaves:
            node *= 2
            node += room[node] < weight
        bin_of[item] = node - leaves
        room[node] -= weight
        while node > 1:
            node //= 2
            room[node] = max(room[2 * node], room[2 * node + 1])
    return bin_of


@njit(cache=True)
def best_fit_decreasing(weights: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """The bin (n,) of each item; ``weights`` (n,) are descending."""
    n = len(weights)
    bin_of = np.empty(n, np.int64)
    room = np.empty(n, np.int64)
    number = np.empty(n, np.int64)  # of the open bins, in any order
    is_open, bins = 0, 0
    for item, weight in enumerate(weights):
        best = -1
        for index in range(is_open):
            if room[index] >= weight and (best < 0 or room[index] < room[best]):
                best = index
        if best < 0:
            best = is_open
            room[best], number[best] = capacity, bins
            is_open += 1
            bins += 1
        bin_of[item] = number[best]
        room[best] -= weight
        if room[best] < weights[n - 1]:
            is_open -= 1
            room[best], number[best] = room[is_open], number[is_open]
    return bin_of
