"""From a fractional solution over patterns to a packing, by rounding a part and searching the rest.

What it does: looks for a packing into a given number of bins.  Fixes the patterns that the linear
programme uses most, solves it again for what is left, and so on; at each depth the local
search tries to pack what is left into the bins that are left.

Source: the residual greedy rounding of Wäscher and Gau (1996), "Heuristics for the integer
one-dimensional cutting stock problem"; diving with columns generated anew as in Sadykov et al.
(2019), "Primal heuristics for branch and price".

Claim: a returned packing is valid; None proves nothing.  Deterministic.

Algorithm: patterns are fixed as often as the solution uses them, rounded down; then those with
the largest fraction, once each, for ``SHARE`` of the bins that are left.  A dive
ends where the bound of what is left says that the target is out of reach.

Cost: some log(items) linear programmes, each smaller than the one before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.packing.column_generation import relax
from voile.packing.heuristics import decreasing
from voile.packing.local_search import search
from voile.packing.patterns import Demand, Pattern, Relaxation
from voile.packing.stop import Deadline

__all__ = ["dive"]

SHARE = 0.25


def dive(
    demand: Demand,
    relaxation: Relaxation,
    bins: int,
    deadline: Deadline,
    steps: int,
    word: int = 1,
) -> list[Pattern] | None:
    """Patterns that pack ``demand`` into ``bins`` bins, or None where none were found.

    ``relaxation`` belongs to ``demand``; ``steps`` of the local search are taken at each depth;
    ``word`` (not 0) chooses the course.
    """
    fixed: list[Pattern] = []
    left, types = demand, np.arange(len(demand.weights))
    while True:
        groups = _choose(left, relaxation, bins - len(fixed), word)
        for group in [[_spread(p, types, demand) for p in patterns] for patterns in groups]:
            fixed += group
            left, types = demand.without(fixed).present()
            rest = search(
                left.core(), bins - len(fixed), _start(left), steps, deadline, word + len(fixed)
            )
            if rest is not None:
                return fixed + [_spread(p, types, demand) for p in left.patterns_of(rest)]
        following = None if deadline.passed() else relax(left, deadline)
        if following is None or following.bound + len(fixed) > bins:
            return None
        relaxation = following


def _start(demand: Demand) -> NDArray[np.int64]:
    core = demand.core()
    return decreasing(np.array(core.weights), core.capacity)


def _spread(pattern: Pattern, types: NDArray[np.int64], demand: Demand) -> Pattern:
    """A pattern over some types as one over all."""
    whole = np.zeros(len(demand.weights), np.int64)
    whole[types] = pattern
    return whole


def _choose(
    demand: Demand, relaxation: Relaxation, bins: int, word: int
) -> tuple[list[Pattern], list[Pattern]]:
    """Patterns that the solution uses wholly, and some of what is left of ``bins``.

    All of them fit together into ``demand``.
    """
    whole = np.floor(relaxation.amounts + 0.01).astype(np.int64)
    fraction = relaxation.amounts - whole
    order = np.argsort(-(fraction + _jitter(len(fraction), word)), kind="stable")
    left = demand.counts.copy()
    certain = np.repeat(np.arange(len(whole)), np.maximum(whole, 0))
    first = _fitting(relaxation, certain, left, bins)
    few = max(1, round(SHARE * (bins - len(first))))
    return first, _fitting(relaxation, order, left, min(few, bins - len(first)))


def _fitting(
    relaxation: Relaxation, columns: NDArray[np.int64], left: NDArray[np.int64], most: int
) -> list[Pattern]:
    """The first ``most`` patterns of these columns for which there are items ``left``."""
    chosen: list[Pattern] = []
    for column in columns.tolist():
        pattern = relaxation.columns[column]
        if len(chosen) < most and np.all(pattern <= left):
            left -= pattern
            chosen.append(pattern)
    return chosen


def _jitter(length: int, word: int) -> NDArray[np.float64]:
    """Nothing on the first course; on others numbers of up to 0.3 that make another choice."""
    if word == 1:
        return np.zeros(length)
    spread = np.arange(1, length + 1, dtype=np.float64) * 0.754877666 * word
    return 0.3 * (spread % 1.0)
