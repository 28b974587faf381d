"""Packing into a given number of bins by exchanges, for when best fit needs a bin or two more.

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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, register_jitable
from voile_pack.instance import Deadline, Instance

__all__ = ["search"]

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
