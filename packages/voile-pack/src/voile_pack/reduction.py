"""What can be packed at once without losing the optimum, and the smaller instance that is left.

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_pack.instance import Instance, Packing

__all__ = ["Reduced", "reduce"]


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
