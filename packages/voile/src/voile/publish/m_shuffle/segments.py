"""Weighted k-means of numbers on a line, exactly optimal, for every number of clusters at once.

Minimises the sum of squared distances of weighted numbers to the means of their clusters.  In one
dimension clusters of an optimum are segments of the sorted numbers, so the best k segments of the
first j numbers end with one segment and the best k - 1 segments before it.

Sources: Wang and Song, "Ckmeans.1d.dp: optimal k-means clustering in one dimension by dynamic
programming" (The R Journal 3/2, 2011) for the recurrence; Groenlund et al., "Fast exact k-means,
k-medians and Bregman divergence clustering in 1D" (2017), section 2, for the start of the last
segment, which never falls as j grows, so that a layer is solved by halving.

Numbers may come in blocks that no segment may cross (categories): then k segments hold at least one
for each block.

Claim: the cost is optimal up to a relative error of some 1e-14.  The squares of a segment come from
differences of sums over all numbers, in which a narrow segment far from the rest would drown; the
sums are therefore kept in pairs of doubles, some 106 bits (Dekker, 1971).  Among equal costs the
last segment is the longest, so the result does not depend on the machine.

Cost: O(K d log d) time for d distinct numbers, and 4 K d bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit

__all__ = ["Segments", "optimal_segments"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Segments:
    """The best divisions of d numbers into 1 to K segments."""

    cost: Floats
    """Shape (K,): the sum of squares of the best k + 1 segments; infinite where blocks forbid."""
    last_start: Indices
    """Shape (K, d): where the last of k + 1 segments of the first j + 1 numbers begins."""

    def labels(self, count: int) -> NDArray[np.int64]:
        """The segment of each number, shape (d,), ascending from 0, in the best ``count``."""
        numbers = self.last_start.shape[1]
        segment = np.empty(numbers, dtype=np.int64)
        end = numbers
        for k in range(count - 1, -1, -1):
            start = int(self.last_start[k, end - 1])
            segment[start:end] = k
            end = start
        return segment


def optimal_segments(
    numbers: Floats, weights: Floats, block: NDArray[np.int64], most: int
) -> Segments:
    """The best divisions into up to ``most`` segments, 1 to d.

    ``numbers``: shape (d,), ascending within each block; ``weights``: above 0, whole, with a sum
    below 2**53; ``block``: ascending from 0, none left out.
    """
    centred = numbers - numbers[len(numbers) // 2]
    # Scaled by a power of two, which is exact, so that squares neither overflow nor vanish.
    exponent = np.frexp(np.abs(centred).max(initial=0.0))[1]
    sums = _sums(np.ldexp(centred, -exponent), weights)
    block_start = np.searchsorted(block, block).astype(np.int64)
    cost, last_start = _layers(sums, block, block_start, most)
    return Segments(np.ldexp(cost, 2 * exponent), last_start)


@njit(cache=True, nogil=True)
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """The sum as a rounded number and its error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(cache=True, nogil=True)
def _two_product(a: float, b: float) -> tuple[float, float]:
    """The product as a rounded number and its error."""
    product = a * b
    high = 134217729.0 * a
    a_high = high - (high - a)
    high = 134217729.0 * b
    b_high = high - (high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(cache=True, nogil=True)
def _added(high: float, low: float, more: float, error: float) -> tuple[float, float]:
    """The sum of two pairs of doubles."""
    total, rest = _two_sum(high, more)
    return _two_sum(total, rest + low + error)


@njit(cache=True, nogil=True)
def _sums(numbers: Floats, weights: Floats) -> Floats:
    """Sums before each number, shape (d + 1, 5): weights, then w x and w x^2 as pairs."""
    sums = np.zeros((len(numbers) + 1, 5))
    for i in range(len(numbers)):
        x, w = numbers[i], weights[i]
        first, first_error = _two_product(w, x)
        square, square_error = _two_product(x, x)
        second, second_error = _two_product(w, square)
        second_error += w * square_error
        sums[i + 1, 0] = sums[i, 0] + w
        sums[i + 1, 1], sums[i + 1, 2] = _added(sums[i, 1], sums[i, 2], first, first_error)
        sums[i + 1, 3], sums[i + 1, 4] = _added(sums[i, 3], sums[i, 4], second, second_error)
    return sums


@njit(cache=True, nogil=True)
def _squares(sums: Floats, start: int, end: int) -> float:
    """Weighted squared distances of numbers start to end - 1 to their mean."""
    if end - start == 1:
        return 0.0
    weight = sums[end, 0] - sums[start, 0]
    first, first_low = _added(sums[end, 1], sums[end, 2], -sums[start, 1], -sums[start, 2])
    second, second_low = _added(sums[end, 3], sums[end, 4], -sums[start, 3], -sums[start, 4])
    # second - first^2 / weight, each step with the error of the one before.
    square, square_low = _two_product(first, first)
    square_low += 2.0 * first * first_low
    share = square / weight
    back, back_low = _two_product(share, weight)
    share_low = ((square - back) - back_low + square_low) / weight
    squares, rest = _added(second, second_low, -share, -share_low)
    return max(0.0, squares + rest)


@njit(cache=True, nogil=True)
def _layers(
    sums: Floats, block: NDArray[np.int64], block_start: NDArray[np.int64], most: int
) -> tuple[Floats, Indices]:
    numbers = len(block)
    cost = np.full(most, np.inf)
    last_start = np.zeros((most, numbers), dtype=np.int32)
    before = np.full(numbers + 1, np.inf)
    before[0] = 0.0
    for k in range(most):
        best = np.full(numbers + 1, np.inf)
        # Prefixes of k + 1 segments hold as many numbers or more, and as many blocks or fewer.
        longest = int(np.searchsorted(block, k + 1))
        if longest > k:
            _solve_layer(sums, block_start, before, best, last_start[k], k, longest)
        cost[k] = best[numbers]
        before = best
    return cost, last_start


@njit(cache=True, nogil=True)
def _solve_layer(
    sums: Floats,
    block_start: NDArray[np.int64],
    before: Floats,
    best: Floats,
    last_start: Indices,
    k: int,
    longest: int,
) -> None:
    """The best k + 1 segments of prefixes of k + 1 to ``longest`` numbers, the middle one first."""
    waiting = [(k + 1, longest, k, longest - 1)]
    while waiting:
        low, high, from_start, to_start = waiting.pop()
        middle = (low + high) // 2
        first = max(from_start, block_start[middle - 1])
        last = min(to_start, middle - 1)
        least, chosen = np.inf, first
        for start in range(first, last + 1):
            cost = before[start] + _squares(sums, start, middle)
            if cost < least:
                least, chosen = cost, start
        best[middle] = least
        last_start[middle - 1] = chosen
        if low < middle:
            waiting.append((low, middle - 1, from_start, chosen))
        if middle < high:
            waiting.append((middle + 1, high, chosen, to_start))
