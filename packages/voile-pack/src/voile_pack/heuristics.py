"""Good packings at once, and packings into fewer bins by exchanges.

An instance is made smaller, is packed greedily, and gets a lower bound from its weights; where the
bound is lower than the packing, exchanges look for a packing into fewer bins.

Greedy packings (decreasing)
----------------------------
What it does: takes the items from the heaviest to the lightest and puts each into the first bin
that has room (first fit) or into the fullest one (best fit), or opens a bin.

Source: Johnson (1973), "Near-optimal bin packing algorithms".

Guarantee: at most 11/9 of the optimum plus 6/9 of a bin (Dósa, 2007).

Algorithm: first fit descends a tree whose nodes hold the most room among their bins; best fit
looks at all bins that still have room for the lightest item.

Cost: first fit O(n log n), best fit O(n b) for b open bins; hence best fit is only tried where
n * n is at most ``BEST_FIT_WORK``.

Lower bounds from the weights alone (lower_bound)
-------------------------------------------------
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

The smaller instance (Reduced)
------------------------------
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

Exchanges (search)
------------------
What it does: keeps ``bins`` bins that are never overfull and a list of spare items, and
exchanges items until none is spare.

Source: Buljubašić and Vasquez (2016), "Consistent neighborhood search for one-dimensional bin
packing and two-dimensional vector packing"; the idea of a consistent partial solution is theirs.

Claim: a returned packing is valid.  None is returned where none was found; that proves nothing.
The course is a function of the input: the numbers that steer it come from a fixed generator, and
are no randomness in the sense of ``voile_base.randomness``.

Algorithm: in each step, for one bin, up to two of its items go for up to two spare ones, so that
the bin gets fuller, or stays as full (a walk along a plateau); what came in is locked for a
while.  Then that bin and another exchange items so that their loads come apart, since the room of
one nearly empty bin is worth more than the same room in many.  Where nothing got better for long, a
few bins are emptied.

Cost: a step looks at O(q^2 s) exchanges for q items in a bin, at most ``LOOKED_AT`` of them, and s
spare items; memory O(b q) for b bins.

Departure from the source: bins are drawn rather than scanned, emptied bins take the place of its
restarts, and no exact packing of the last two bins is tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, register_jitable
from voile_base.ondemand import dataclass
from voile_pack.instance import Deadline, Instance, Packing

__all__ = [
    "Reduced",
    "decreasing",
    "first_fit_decreasing",
    "lower_bound",
    "search",
]

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

    @staticmethod
    def of(instance: Instance) -> Reduced:
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


LOOKED_AT = 16
"""Items of one bin that take part in a step."""
PATIENCE = 5
"""Steps per bin without progress before bins are emptied."""
EMPTIED = 2
"""Bins that are emptied at most."""
SLOTS = 20_000_000
"""Room for items in all bins, b q, beyond which no search is tried."""
STEPS_AT_ONCE = 1_000
WORK_OF_A_LOOK = 20
"""Elementary operations for what may go out of a bin, besides one for each spare item."""

Items = NDArray[np.int64]


class _State(NamedTuple):
    """Bins and spare items; items are numbered by descending weight."""

    weights: Items
    """(n,)"""
    room: Items
    """(b,): what each bin could still take."""
    held: Items
    """(b, q): items of each bin, in any order."""
    held_count: Items
    """(b,): how many."""
    spare: Items
    """(n,): the spare items, heaviest first, in the first ``totals[0]`` entries."""
    totals: Items
    """Number of spare items, their weight, the least such weight lately, steps since it fell."""
    locked: Items
    """(n,): the step until which an item must stay."""
    free: Items
    """(``LOOKED_AT``,): room to note indices in."""
    words: NDArray[np.uint64]
    """(1,): where the fixed generator stands."""
    work: Items
    """(1,): elementary operations since they were last counted, about."""


class _Exchange(NamedTuple):
    """Indices in the bin that go out and indices among the spare that come in; -1 is none."""

    gain: int
    out: int
    out_too: int
    come: int
    come_too: int


_NOTHING = _Exchange(-1, -1, -1, -1, -1)


def search(
    core: Instance, bins: int, start: Items, steps: int, deadline: Deadline, word: int = 1
) -> Items | None:
    """The bin (n,) of each item in a packing into at most ``bins`` bins; None where none was found.

    ``core.weights`` are descending and positive; ``start`` (n,) gives the bin of each item in
    some packing, from which the search sets out.  ``word`` (not 0) chooses the course.
    """
    if int(start.max(initial=-1)) < bins:
        return start
    most = int(np.searchsorted(np.cumsum(core.weights[::-1]), core.capacity, side="right"))
    if bins == 0 or bins * most > SLOTS:
        return None
    state = _state(core, bins, start, most, word)
    for begin in range(0, steps, STEPS_AT_ONCE):
        state.work[0] = 0
        packed = _walk(state, begin, min(begin + STEPS_AT_ONCE, steps))
        deadline.spend(int(state.work[0]))
        if packed:
            return _bins(state)
        if deadline.passed():
            break
    return None


def _state(core: Instance, bins: int, start: Items, most: int, word: int) -> _State:
    """Keep the fullest ``bins`` bins of ``start``; the items of the others are spare."""
    load = np.bincount(start, core.weights).astype(np.int64)
    kept = np.argsort(-load, kind="stable")[:bins]
    number = np.full(len(load), -1, np.int64)
    number[kept] = np.arange(bins)
    bin_of = number[start]
    held = np.zeros((bins, most), np.int64)
    count = np.zeros(bins, np.int64)
    for item, its_bin in enumerate(bin_of.tolist()):
        if its_bin >= 0:
            held[its_bin, count[its_bin]] = item
            count[its_bin] += 1
    outside = np.flatnonzero(bin_of < 0)
    spare = np.zeros(len(core), np.int64)
    spare[: len(outside)] = outside
    weight = int(core.weights[outside].sum())
    totals = np.array([len(outside), weight, weight, 0], np.int64)
    room = core.capacity - load[kept]
    locked = np.zeros(len(core), np.int64)
    words = np.array([word * 88172645463325252 % 2**64], np.uint64)
    weights = np.array(core.weights)  # writable, so that there is one type to compile for
    free = np.zeros(LOOKED_AT, np.int64)
    work = np.zeros(1, np.int64)
    return _State(weights, room, held, count, spare, totals, locked, free, words, work)


def _bins(state: _State) -> Items:
    """The bin (n,) of each item, where none is spare; bins that are empty are not counted."""
    bin_of = np.full(len(state.weights), -1, np.int64)
    for number, count in enumerate(state.held_count.tolist()):
        bin_of[state.held[number, :count]] = number
    _, compact = np.unique(bin_of, return_inverse=True)
    return compact.astype(np.int64)


@njit(cache=True)
def _walk(state: _State, begin: int, end: int) -> bool:
    """Take the steps from ``begin`` to ``end``; whether no item is spare any more."""
    bins = len(state.room)
    for step in range(begin, end):
        if state.totals[0] == 0:
            return True
        one = _draw(state.words, bins)
        exchange = _best_exchange(state, one, step)
        if exchange.gain >= 0:
            _apply(state, one, exchange, step)
        if state.totals[1] < state.totals[2]:
            state.totals[2], state.totals[3] = state.totals[1], 0
        else:
            state.totals[3] += 1
        if state.totals[3] > PATIENCE * bins:
            for _ in range(1 + _draw(state.words, EMPTIED)):
                _empty(state, _draw(state.words, bins))
            state.locked[:] = 0
            state.totals[2], state.totals[3] = state.totals[1], 0
        other = _draw(state.words, bins)
        if other != one:
            _part_loads(state, one, other)
    return bool(state.totals[0] == 0)


@register_jitable
def _draw(words: NDArray[np.uint64], below: int) -> Any:
    """The next number of a xorshift generator, brought to 0 .. below - 1."""
    word = words[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    words[0] = word
    return np.int64((word >> np.uint64(11)) % np.uint64(below))


@register_jitable
def _best_exchange(state: _State, number: int, step: int) -> _Exchange:
    """The exchange of one bin with the spare items that fills it most; a random one of equals."""
    count = state.held_count[number]
    first = _draw(state.words, count) if count > LOOKED_AT else 0
    free, many = state.free, 0
    for i in range(min(count, LOOKED_AT)):
        index = (first + i) % count
        if state.locked[state.held[number, index]] <= step:
            free[many] = index
            many += 1
    state.work[0] += (many + 1) * (many + 2) // 2 * (WORK_OF_A_LOOK + state.totals[0])
    best, ties = _NOTHING, 0
    for i in range(-1, many):
        for j in range(-1, max(i, 0)):
            out, out_too = free[i] if i >= 0 else -1, free[j] if j >= 0 else -1
            best, ties = _best_to_come(state, number, (out, out_too), best, ties)
    return best


@register_jitable
def _best_to_come(
    state: _State, number: int, outs: tuple[int, int], best: _Exchange, ties: int
) -> tuple[_Exchange, int]:
    """The better of ``best`` and what can come for the items at two indices (-1 is none)."""
    weights, spare, spares = state.weights, state.spare, state.totals[0]
    out, out_too = outs
    gone = weights[state.held[number, out]] if out >= 0 else 0
    gone += weights[state.held[number, out_too]] if out_too >= 0 else 0
    room = state.room[number]
    come = _first_within(weights, spare, spares, room + gone)
    # One item for another of the same weight is no exchange at all.
    least = 1 if out_too < 0 else 0
    if come < spares:
        gain = weights[spare[come]] - gone
        if gain >= max(best.gain, least):
            candidate = _Exchange(gain, out, out_too, come, -1)
            best, ties = _better(best, ties, candidate, state.words)
    last = spares - 1
    while come < last:
        gain = weights[spare[come]] + weights[spare[last]] - gone
        if gain > room:
            come += 1
            continue
        if gain >= max(best.gain, 0):
            candidate = _Exchange(gain, out, out_too, come, last)
            best, ties = _better(best, ties, candidate, state.words)
        last -= 1
    return best, ties


@register_jitable
def _better(
    best: _Exchange, ties: int, candidate: _Exchange, words: NDArray[np.uint64]
) -> tuple[_Exchange, int]:
    """The candidate, which is no worse; of equals, ``ties`` so far, each with the same chance."""
    ties = 1 if candidate.gain > best.gain else ties + 1
    return (candidate if ties == 1 or _draw(words, ties) == 0 else best), ties


@register_jitable
def _first_within(weights: Items, spare: Items, spares: int, limit: int) -> int:
    """Place of the heaviest spare item of at most ``limit``; ``spares`` where there is none."""
    low, high = 0, spares
    while low < high:
        middle = (low + high) // 2
        if weights[spare[middle]] <= limit:
            high = middle
        else:
            low = middle + 1
    return low


@register_jitable
def _apply(state: _State, number: int, exchange: _Exchange, step: int) -> None:
    bins = len(state.room)
    spare, totals = state.spare, state.totals
    came = spare[exchange.come]
    came_too = spare[exchange.come_too] if exchange.come_too >= 0 else -1
    kept = 0
    for index in range(totals[0]):
        if index not in (exchange.come, exchange.come_too):
            spare[kept] = spare[index]
            kept += 1
    totals[0] = kept
    # The later index first: taking out moves the last item of the bin.
    for index in (max(exchange.out, exchange.out_too), min(exchange.out, exchange.out_too)):
        if index >= 0:
            _spare(state, _take(state, number, index))
    for item in (came, came_too):
        if item >= 0:
            _put(state, number, item)
            totals[1] -= state.weights[item]
            state.locked[item] = step + bins * (2 + _draw(state.words, 3))


@register_jitable
def _take(state: _State, number: int, index: int) -> int:
    """Take the item at that index out of a bin."""
    item = int(state.held[number, index])
    state.held_count[number] -= 1
    state.held[number, index] = state.held[number, state.held_count[number]]
    state.room[number] += state.weights[item]
    return item


@register_jitable
def _put(state: _State, number: int, item: int) -> None:
    state.held[number, state.held_count[number]] = item
    state.held_count[number] += 1
    state.room[number] -= state.weights[item]


@register_jitable
def _spare(state: _State, item: int) -> None:
    """Put an item among the spare ones, in its order."""
    index = state.totals[0]
    while index > 0 and state.spare[index - 1] > item:
        state.spare[index] = state.spare[index - 1]
        index -= 1
    state.spare[index] = item
    state.totals[0] += 1
    state.totals[1] += state.weights[item]


@register_jitable
def _empty(state: _State, number: int) -> None:
    while state.held_count[number] > 0:
        _spare(state, _take(state, number, state.held_count[number] - 1))


@register_jitable
def _part_loads(state: _State, one: int, other: int) -> None:
    """Exchange up to one item of a bin for up to two of another, where loads come apart most.

    The sum of the squared loads grows by 2 d (d + load of one - load of the other) when ``one``
    gets heavier by d.
    """
    weights, held_one, held_other = state.weights, state.held[one], state.held[other]
    best, best_out, best_come, best_come_too = 0.0, -1, -1, -1
    lead = state.room[other] - state.room[one]
    mine = min(state.held_count[one], LOOKED_AT) + 1
    theirs = min(state.held_count[other], LOOKED_AT) + 1
    state.work[0] += mine * theirs * (theirs + 1) // 2
    for out in range(-1, min(state.held_count[one], LOOKED_AT)):
        gone = weights[held_one[out]] if out >= 0 else 0
        for come in range(-1, min(state.held_count[other], LOOKED_AT)):
            for come_too in range(-1, max(come, 0)):
                d = (weights[held_other[come]] if come >= 0 else 0) - gone
                d += weights[held_other[come_too]] if come_too >= 0 else 0
                if d > state.room[one] or -d > state.room[other]:
                    continue
                gain = float(d) * float(d + lead)  # beyond 64 bits for large capacities
                if gain > best:
                    best, best_out, best_come, best_come_too = gain, out, come, come_too
    if best == 0.0:
        return
    gone_item = _take(state, one, best_out) if best_out >= 0 else -1
    came = _take(state, other, best_come) if best_come >= 0 else -1
    came_too = _take(state, other, best_come_too) if best_come_too >= 0 else -1
    if gone_item >= 0:
        _put(state, other, gone_item)
    if came >= 0:
        _put(state, one, came)
    if came_too >= 0:
        _put(state, one, came_too)
