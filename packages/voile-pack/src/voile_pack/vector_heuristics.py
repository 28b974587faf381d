"""Compiled loops of vector packing: first fit, best fit, filling bin by bin, and repacking.

Source: Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for Vector Bin Packing" (Microsoft
Research, 2011): the item-centric orders of section 3, and the bin-centric dot-product rule, which
puts next into a bin the item whose sizes point most in the direction of the space that is left.
Repacking is ruin and recreate (Schrimpf et al. 2000) with the aim of Falkenauer (1996): among
packings with as many bins, uneven ones are better, because a bin that is nearly empty is the next
to go.

Cost for n items, b bins and d dimensions: first and best fit n b d at worst; filling n**2 d at
worst; one round of repacking r b d for the r items that were taken out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit

__all__ = ["best_fit", "fill_by_direction", "first_fit", "repack"]

_CHOSEN_BINS = 4


@njit(cache=True)
def _fits(size, space):  # type: ignore[no-untyped-def]
    for k in range(len(size)):  # noqa: SIM110 - compiled code knows no generators
        if size[k] > space[k]:
            return False
    return True


@njit(cache=True)
def first_fit(
    sizes: NDArray[np.int64], capacities: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put each item of ``order`` into the first bin with room; the bin of each item, (n,)."""
    items, dimensions = sizes.shape
    spaces = np.empty((items, dimensions), np.int64)
    bin_of = np.full(items, -1, np.int64)
    bins = 0
    for item in order:
        number = 0
        while number < bins and not _fits(sizes[item], spaces[number]):
            number += 1
        if number == bins:
            spaces[bins] = capacities
            bins += 1
        spaces[number] -= sizes[item]
        bin_of[item] = number
    return bin_of


@njit(cache=True)
def _fullest(size, spaces, bins, inverse):  # type: ignore[no-untyped-def]
    """The bin with room whose space is least, by the sum of shares of the capacities; or -1."""
    best, least = -1, np.inf
    for number in range(bins):
        if _fits(size, spaces[number]):
            left = 0.0
            for k in range(len(inverse)):
                left += spaces[number, k] * inverse[k]
            if left < least:
                best, least = number, left
    return best


@njit(cache=True)
def _put_in(sizes, capacities, order, spaces, bins, most, bin_of):  # type: ignore[no-untyped-def]
    """Put each item of ``order`` into the fullest bin with room, or into a new one.

    Changes ``spaces`` and ``bin_of``; returns how many bins there are, and ends as soon as they
    are more than ``most``.
    """
    inverse = 1.0 / capacities
    for item in order:
        number = _fullest(sizes[item], spaces, bins, inverse)
        if number < 0:
            number = bins
            bins += 1
            if bins > most:
                break
            spaces[number] = capacities
        spaces[number] -= sizes[item]
        bin_of[item] = number
    return bins


@njit(cache=True)
def best_fit(
    sizes: NDArray[np.int64], capacities: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put each item of ``order`` into the fullest bin with room; the bin of each item, (n,)."""
    items, dimensions = sizes.shape
    spaces = np.empty((items, dimensions), np.int64)
    bin_of = np.full(items, -1, np.int64)
    _put_in(sizes, capacities, order, spaces, 0, items, bin_of)
    return bin_of


@njit(cache=True)
def fill_by_direction(
    sizes: NDArray[np.int64], capacities: NDArray[np.int64], importance: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Fill one bin after the other with the item of the largest dot product with its space.

    ``importance`` (d,) weighs the dimensions.  Returns the bin of each item, (n,).
    """
    items, dimensions = sizes.shape
    shares = sizes / capacities
    left = np.arange(items)
    count = items
    bin_of = np.full(items, -1, np.int64)
    space = capacities.copy()
    pull = np.empty(dimensions)
    bins = 0
    while count:
        for k in range(dimensions):
            pull[k] = importance[k] * space[k] / capacities[k]
        best, most = -1, -1.0
        for index in range(count):
            item = left[index]
            product = 0.0
            for k in range(dimensions):
                product += pull[k] * shares[item, k]
            if product > most and _fits(sizes[item], space):
                best, most = index, product
        if best < 0:
            bins += 1
            space[:] = capacities
            continue
        item = left[best]
        bin_of[item] = bins
        space -= sizes[item]
        count -= 1
        left[best] = left[count]
    return bin_of


@njit(cache=True)
def _unevenness(spaces, bins, inverse):  # type: ignore[no-untyped-def]
    total = 0.0
    for number in range(bins):
        load = len(inverse) - (spaces[number] * inverse).sum()
        total += load * load
    return total


@njit(cache=True)
def _take_out(words, spaces, bins, inverse):  # type: ignore[no-untyped-def]
    """New numbers of the bins, -1 for those taken out, and how many are left.

    Taken out are the emptiest of a few bins drawn at random, and up to three more.
    """
    number_of = np.zeros(bins, np.int64)
    emptiest, most = 0, -1.0
    for draw in range(_CHOSEN_BINS):
        number = words[draw] % bins
        left = (spaces[number] * inverse).sum()
        if left > most:
            emptiest, most = number, left
    number_of[emptiest] = -1
    for draw in range(words[_CHOSEN_BINS] % _CHOSEN_BINS):
        number_of[words[_CHOSEN_BINS + 1 + draw] % bins] = -1
    kept = 0
    for number in range(bins):
        if number_of[number] == 0:
            number_of[number] = kept
            kept += 1
    return number_of, kept


@njit(cache=True)
def _disturbed(out, bulk, words):  # type: ignore[no-untyped-def]
    """Items in descending order of bulk, each disturbed by a random factor from 1/2 to 3/2."""
    keys = np.empty(len(out))
    for index in range(len(out)):
        word = words[index % len(words)] >> (index // len(words) % 32)
        keys[index] = -bulk[out[index]] * (0.5 + (word % 1024) / 1024.0)
    return out[np.argsort(keys)]


@njit(cache=True)
def repack(
    sizes: NDArray[np.int64],
    capacities: NDArray[np.int64],
    bin_of: NDArray[np.int64],
    words: NDArray[np.int64],
    goal: int,
) -> NDArray[np.int64]:
    """Take a few bins out and put their items back, as often as there are rows of ``words``.

    ``words`` is (rounds, 64): random, at least 0; they choose bins and disturb the order of items.
    A round stands if it leaves fewer bins, or as many and no more even ones.  Stops early with
    ``goal`` bins.  Returns the bin of each item, (n,).
    """
    items, dimensions = sizes.shape
    inverse = 1.0 / capacities
    bulk = (sizes * inverse).sum(axis=1)
    bins = bin_of.max() + 1
    spaces = np.empty((bins + 1, dimensions), np.int64)
    spaces[:] = capacities
    for item in range(items):
        spaces[bin_of[item]] -= sizes[item]
    uneven = _unevenness(spaces, bins, inverse)
    for row in range(len(words)):
        if bins <= goal:
            break
        number_of, kept = _take_out(words[row], spaces, bins, inverse)
        trial = number_of[bin_of]
        trial_spaces = np.empty_like(spaces)
        for number in range(bins):
            if number_of[number] >= 0:
                trial_spaces[number_of[number]] = spaces[number]
        out = _disturbed(np.flatnonzero(trial < 0), bulk, words[row, 8:])
        trial_bins = _put_in(sizes, capacities, out, trial_spaces, kept, bins, trial)
        if trial_bins > bins:
            continue
        trial_uneven = _unevenness(trial_spaces, trial_bins, inverse)
        if trial_bins < bins or trial_uneven >= uneven - 1e-9:
            bin_of, spaces, bins, uneven = trial, trial_spaces, trial_bins, trial_uneven
    return bin_of
