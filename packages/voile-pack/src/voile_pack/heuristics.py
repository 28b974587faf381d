"""First-fit and best-fit decreasing: good packings at once.

What it does: takes the items from the heaviest to the lightest and puts each into the first bin
that has room (first fit) or into the fullest one (best fit), or opens a bin.

Source: Johnson (1973), "Near-optimal bin packing algorithms".

Guarantee: at most 11/9 of the optimum plus 6/9 of a bin (Dósa, 2007).

Algorithm: first fit descends a tree whose nodes hold the most room among their bins; best fit
looks at all bins that still have room for the lightest item.

Cost: first fit O(n log n), best fit O(n b) for b open bins; hence best fit is only tried where
n * n is at most ``BEST_FIT_WORK``.

Lower bounds on the number of bins, from the weights alone.

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

What can be packed at once without losing the optimum, and the smaller instance that is left.

What it does: fixes bins that stand in some optimal packing, leaves out what weighs nothing,
sorts what remains and divides it by its greatest common divisor.

Source: Martello and Toth (1990), the reduction procedure MTRP, for bins of one and two items.

Guarantee: the optimum of the instance is the number of fixed bins plus the optimum of the core.
Two exchanges show it.  (a) If w_i + w_j = C, take any packing: whatever shares a bin with i weighs
at most w_j, so it can change places with j.  (b) If i fits with at most one other item, whatever
shares its bin is at most as heavy as the heaviest j that fits, and can change places with it.

Algorithm: (a) sweep the ascending weights with one pointer from each end.  (b) From the
heaviest item downwards, while it fits with no two of the rest: what fits beside it is a prefix
of the ascending order, which only grows; a stack of that prefix has the heaviest on top.

Cost: O(n log n) for sorting, O(n) after it.

Departure from the source: bins of three items are not searched for; column generation that
follows gains nothing from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_pack.instance import Instance, Packing

__all__ = ["Reduced", "decreasing", "first_fit_decreasing", "lower_bound", "reduce"]


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


BEST_FIT_WORK = 1_000_000_000


def decreasing(weights: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """The better of the two: the bin (n,) of each item; ``weights`` (n,) are descending."""
    first = first_fit_decreasing(weights, capacity)
    if len(weights) ** 2 > BEST_FIT_WORK:
        return first
    best = _best_fit_decreasing(weights, capacity)
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
def _best_fit_decreasing(weights: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
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


@dataclass(frozen=True, eq=False)
class Reduced:
    """An instance as bins that are fixed and a core that is left.

    ``core``: weights descending, none zero.  ``index`` is (n_core,): where a core's item stands in
    the instance.  ``fixed_bin`` is (n,): the bin of each fixed item, or -1.
    """

    core: Instance
    index: NDArray[np.int64]
    fixed_bin: NDArray[np.int64]
    fixed: int

    def lift(self, core_bin: NDArray[np.int64]) -> Packing:
        """The packing of the instance, given the bin (n_core,) of each item of the core."""
        bin_of = self.fixed_bin.copy()
        bin_of[self.index] = self.fixed + core_bin
        # Whatever weighs nothing fits everywhere.
        return Packing(np.maximum(bin_of, 0))


def reduce(instance: Instance) -> Reduced:
    """Fix what can be fixed."""
    order = np.argsort(-instance.weights, kind="stable")
    order = order[instance.weights[order] > 0]
    bin_of = np.full(len(order), -1, np.int64)
    descending = np.ascontiguousarray(instance.weights[order])
    fixed = _fix_exact_pairs(descending, instance.capacity, bin_of)
    left = np.flatnonzero(bin_of < 0)
    bin_left = np.full(len(left), -1, np.int64)
    fixed += _fix_dominant_pairs(descending[left], instance.capacity, bin_left, fixed)
    bin_of[left] = bin_left
    fixed_bin = np.full(len(instance), -1, np.int64)
    fixed_bin[order] = bin_of
    index = order[bin_of < 0]
    weights = instance.weights[index]
    unit = math.gcd(*np.unique(weights).tolist()) or 1
    core = Instance(weights // unit, max(instance.capacity // unit, 1))
    return Reduced(core, index, fixed_bin, fixed)


@njit(cache=True)
def _fix_exact_pairs(weights: NDArray[np.int64], capacity: int, bin_of: NDArray[np.int64]) -> int:
    """Give a bin to items that fill it alone or two by two; the number of bins."""
    bins = 0
    heavy, light = 0, len(weights) - 1
    while heavy <= light:
        if weights[heavy] == capacity:
            bin_of[heavy] = bins
            bins += 1
            heavy += 1
            continue
        load = weights[heavy] + weights[light]
        if load == capacity and heavy < light:
            bin_of[heavy] = bin_of[light] = bins
            bins += 1
        heavy += load >= capacity
        light -= load <= capacity
    return bins


@njit(cache=True)
def _fix_dominant_pairs(
    weights: NDArray[np.int64], capacity: int, bin_of: NDArray[np.int64], first: int
) -> int:
    """Give a bin, from number ``first`` on, to items that fit with at most one other."""
    n = len(weights)
    stack = np.empty(n, np.int64)  # what fits beside the heaviest; its bottom only grows lighter
    size, bins = 0, 0
    light = n - 1  # the lightest item that is not yet on the stack
    for heavy in range(n):
        if bin_of[heavy] >= 0:
            continue  # given away as a partner
        while light > heavy and weights[heavy] + weights[light] <= capacity:
            stack[size] = light
            size += 1
            light -= 1
        if light < heavy and size and stack[size - 1] == heavy:
            size -= 1  # an item is not its own partner
        if size >= 2 and weights[heavy] + weights[stack[0]] + weights[stack[1]] <= capacity:
            break
        bin_of[heavy] = first + bins
        if size:
            size -= 1
            bin_of[stack[size]] = first + bins
        bins += 1
    return bins
