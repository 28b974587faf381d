"""The most profitable content of one bin with several capacities: a compiled search.

Depth-first over the types of items, most profit per share of the bin first, each type as often
as it fits and then once less.  A branch is cut where its profit cannot exceed the best one: the
relaxations are one knapsack for each dimension and one for the mean of all, bounded by their best
remaining densities.  Profits are whole numbers, and bounds in floating point are rounded upwards,
so that a completed search is exact.

Cost: up to ``nodes`` nodes of d operations each; what is not searched then is still bounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.compiled import njit

__all__ = ["Patterns", "profitable_patterns"]

_KEPT = 8
_SAFE = 1.0 + 1e-9


class Patterns(NamedTuple):
    """Contents of one bin, and what is known about the most profitable one."""

    copies: NDArray[np.int64]
    """Shape (p, t): how often each type stands in each content; ever more profit."""
    profit: int
    """Of the last content."""
    bound: int
    """No content has more profit; equals ``profit`` where the search was completed."""
    nodes: int
    """How many were seen."""


def profitable_patterns(
    sizes: NDArray[np.int64],
    copies: NDArray[np.int64],
    capacities: NDArray[np.int64],
    profits: NDArray[np.int64],
    nodes: int,
) -> Patterns:
    """Search the contents of a bin; ``sizes`` (t, d), ``copies`` and ``profits`` (t,)."""
    shares = sizes / capacities
    shares = np.column_stack([shares, shares.mean(axis=1)])
    order = np.argsort(-profits / (shares[:, -1] + 1e-12), kind="stable")
    order = order[profits[order] > 0]
    with np.errstate(divide="ignore"):
        density = profits[order, None] / shares[order]
    densities = np.vstack([density, np.zeros(density.shape[1])])
    densities = np.maximum.accumulate(densities[::-1])[::-1].copy()
    later = np.append(np.cumsum((profits * copies)[order][::-1])[::-1], 0)
    kept, found, profit, bound, seen = _search(
        sizes[order], copies[order], capacities, profits[order], densities, later, nodes
    )
    patterns = np.zeros((min(found, _KEPT), len(sizes)), np.int64)
    latest = np.arange(max(found - _KEPT, 0), found) % _KEPT
    patterns[:, order] = kept[latest]
    return Patterns(patterns, int(profit), int(bound), int(seen))


@njit(cache=True)
def _relaxed(space, capacities, densities, later):  # type: ignore[no-untyped-def]
    """Most profit that the space can still take, rounded upwards.

    ``later`` is what all remaining items are worth together.
    """
    dimensions = len(capacities)
    bound, mean = float(later), 0.0
    for k in range(dimensions):
        room = space[k] / capacities[k]
        mean += room / dimensions
        if densities[k] < np.inf:
            bound = min(bound, room * densities[k])
    if densities[dimensions] < np.inf:
        bound = min(bound, mean * densities[dimensions])
    return np.int64(np.ceil(bound * _SAFE))


@njit(cache=True)
def _copies_that_fit(size, copies, space):  # type: ignore[no-untyped-def]
    for k in range(len(size)):
        if size[k] > 0:
            copies = min(copies, space[k] // size[k])
    return copies


@njit(cache=True)
def _search(sizes, copies, capacities, profits, densities, later, nodes):  # type: ignore[no-untyped-def]
    types = len(sizes)
    bound = _relaxed(capacities, capacities, densities[0], later[0])
    space = capacities.copy()
    taken = np.zeros(types, np.int64)
    kept = np.zeros((_KEPT, types), np.int64)
    found, best, value, j = 0, 0, 0, 0
    for node in range(nodes):
        while j < types and value + _relaxed(space, capacities, densities[j], later[j]) > best:
            taken[j] = _copies_that_fit(sizes[j], copies[j], space)
            space -= taken[j] * sizes[j]
            value += taken[j] * profits[j]
            j += 1
        if j == types and value > best:
            best = value
            kept[found % _KEPT] = taken
            found += 1
        j -= 1
        while j >= 0 and taken[j] == 0:
            j -= 1
        if j < 0:
            return kept, found, best, best, node + 1
        taken[j] -= 1
        space += sizes[j]
        value -= profits[j]
        j += 1
        taken[j:] = 0
    return kept, found, best, bound, nodes
