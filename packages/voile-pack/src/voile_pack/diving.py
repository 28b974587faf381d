"""From a fractional solution over patterns to a packing, by rounding a part and searching the rest.

What it does: looks for a packing into a given number of bins.  Fixes the patterns that the linear
programme uses most, solves it again for what is left, and so on; at each depth the local
search tries to pack what is left into the bins that are left.

Source: the residual greedy rounding of Wäscher and Gau (1996), "Heuristics for the integer
one-dimensional cutting stock problem"; diving with columns generated anew as in Sadykov et al.
(2019), "Primal heuristics for branch and price".

``dive_to_part`` does so down to a rest of ``1 - FIXED`` of the bins, and gives the rest to an
integer programme over a part of its patterns: those with the smallest reduced costs.  It pays where
all patterns are too many because there are many packings.

Claim: a returned packing is valid; None proves nothing.  Deterministic, but where time cuts it off.

Algorithm: patterns are fixed as often as the solution uses them, rounded down; then those with
the largest fraction, once each, for ``SHARE`` of the bins that are left.  A dive
ends where the bound of what is left says that the target is out of reach.

Cost: some log(items) linear programmes, each smaller than the one before, and for a part some
nodes of an integer programme of ``PATTERNS`` columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile_pack.column_generation import corners, finish, mean_of, relax
from voile_pack.heuristics import decreasing
from voile_pack.local_search import search
from voile_pack.patterns import Demand, Pattern, Relaxation
from voile_pack.stop import Deadline
from voile_pack.tight_patterns import choose_of_part

__all__ = ["dive", "dive_to_part"]

SHARE = 0.25
FIXED = 0.6
"""Of the bins, before a part of the patterns is tried for the rest."""
CORNERS = 5
SPREAD = 0.3
"""Prices whose mean says which patterns are tried, and how far their demands differ."""
SHARE_OF_PART = 0.2
"""Of what is left of the limit, for the integer programme."""


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


def dive_to_part(
    demand: Demand, relaxation: Relaxation, bins: int, deadline: Deadline, word: int
) -> list[Pattern] | None:
    """Patterns that pack ``demand`` into ``bins`` bins, or None; needs OR-Tools.

    ``relaxation`` belongs to ``demand``; ``word`` (not 0) chooses the course.
    """
    fixed: list[Pattern] = []
    left, types = demand, np.arange(len(demand.weights))
    most = round(FIXED * bins)
    while len(fixed) < most:
        certain, likely = _choose(left, relaxation, bins - len(fixed), word + len(fixed))
        step = _fixable(left, (certain + likely)[: most - len(fixed)], bins - len(fixed), deadline)
        if step is None:
            break
        group, relaxation = step
        fixed += [_spread(pattern, types, demand) for pattern in group]
        left, present = left.without(group).present()
        types = types[present]
    last = _pack_rest(left, relaxation, bins - len(fixed), deadline, word)
    return None if last is None else fixed + [_spread(p, types, demand) for p in last]


def _fixable(
    left: Demand, group: list[Pattern], bins: int, deadline: Deadline
) -> tuple[list[Pattern], Relaxation] | None:
    """The first of a group, as many as leave the rest its bins, and the programme of the rest."""
    while group and not deadline.passed():
        following = relax(left.without(group).present()[0], deadline)
        if following is not None and following.bound + len(group) <= bins:
            return group, following
        group = group[: len(group) // 2]
    return None


def _pack_rest(
    left: Demand, relaxation: Relaxation, bins: int, deadline: Deadline, word: int
) -> list[Pattern] | None:
    """Patterns of a part that pack ``left`` into ``bins`` bins, or None."""
    finished = finish(left, relaxation, deadline)
    if finished.bound > bins or deadline.passed():
        return None
    found = corners(left, finished, deadline, CORNERS, SPREAD, word)
    prices = mean_of(left, found, bins, deadline) if found else finished.prices
    return choose_of_part(left, prices, bins, deadline.within(SHARE_OF_PART))


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
