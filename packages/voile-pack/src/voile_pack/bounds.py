"""Lower bounds on the number of bins, from the weights alone.

What it does: each function u here is dual feasible: for all x with sum(x) <= C it holds that
sum(u(x)) <= u(C).  So the rounded-up ratio of sum(u(w)) and u(C) is a lower bound.

Source: Martello and Toth (1990), bound L2, which is the best of the functions ``_threshold``;
Fekete and Schepers (2001), "New classes of fast lower bounds for bin packing problems",
theorem 1 (``_stepped``); Carlier, Clautiaux and Moukrim (2007), "New reduction procedures and
lower bounds for the two-dimensional bin packing problem", function f_2 (``_scaled``).

Guarantee: exact integers throughout; no packing has fewer bins than the bound.

Algorithm: each family has a parameter.  Only the weights up to half a bin, and the numbers up
to ``STEPS``, can matter or are worth trying.  The functions see distinct weights and counts.

Cost: O(m) for each of at most ``MOST`` thresholds, spread evenly, for m distinct weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["lower_bound"]

STEPS = 100
MOST = 2_000
WORK = 20_000_000
"""Thresholds times distinct weights, beyond which fewer thresholds are tried."""
Weights = NDArray[np.int64]


def lower_bound(weights: NDArray[np.int64], capacity: int) -> int:
    """A number of bins that every packing of ``weights`` (n,) needs; 0 for no items.

    Weights are within 0 and ``capacity``.
    """
    if not len(weights):
        return 0
    values, counts = np.unique(weights, return_counts=True)
    bounds = (
        -(-_total(u, counts, at_capacity) // at_capacity)
        for u, at_capacity in _functions(values, capacity)
    )
    return max(1, *bounds)


def _total(u: Weights, counts: NDArray[np.int64], at_most: int) -> int:
    """The sum of ``u`` (m,), each at most ``at_most``, times ``counts``; never beyond 64 bits."""
    if at_most * int(counts.sum()) < 2**63:
        return int(u @ counts)
    return sum(map(int.__mul__, u.tolist(), counts.tolist()))


def _functions(values: Weights, capacity: int) -> Iterator[tuple[Weights, int]]:
    """Dual feasible functions as their values (m,) at the weights and at the capacity."""
    thresholds = np.unique(values[(values > 0) & (2 * values <= capacity)])
    most = min(MOST, max(1, WORK // len(values)))
    if len(thresholds) > most:
        thresholds = thresholds[np.linspace(0, len(thresholds) - 1, most).astype(np.int64)]
    for threshold in [0, *thresholds.tolist()]:
        yield _threshold(values, capacity, threshold), capacity
    for threshold in thresholds.tolist():
        yield _scaled(values, capacity, threshold), 2 * (capacity // threshold)
    if capacity < 2**62 // (STEPS + 1):
        for k in range(1, min(STEPS, most) + 1):
            yield _stepped(values, capacity, k), capacity * k


def _threshold(values: Weights, capacity: int, threshold: int) -> Weights:
    """Drop what is below the threshold, let what is beyond its complement fill a bin."""
    kept = np.where(values < threshold, 0, values)
    return np.where(values > capacity - threshold, capacity, kept)


def _scaled(values: Weights, capacity: int, unit: int) -> Weights:
    """Twice the number of whole units; large weights as what is left of a bin beside them."""
    small = 2 * (values // unit)
    large = 2 * (capacity // unit - (capacity - values) // unit)
    half = np.full_like(values, capacity // unit)
    return np.select([2 * values < capacity, 2 * values > capacity], [small, large], half)


def _stepped(values: Weights, capacity: int, k: int) -> Weights:
    """Weights rounded down to the steps of a stair, but for those at the edge of a step."""
    steps, rest = np.divmod(values * (k + 1), capacity)
    return np.where(rest == 0, values * k, steps * capacity)
