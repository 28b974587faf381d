"""Uniform permutations within runs of an array, drawn from a keyed function of the place.

Fisher-Yates within each run: the i-th place of all draws its partner from the i-th word of a keyed
stream, so a run that is permuted again, by itself or elsewhere, is permuted alike.  A partner below
m is drawn with a bias under m / 2**64.

Cost: O(n), eight bytes of AES in counter mode and one exchange a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.randomness import Key

__all__ = ["permute_within_runs"]

_PLACES = 1 << 20


def permute_within_runs(values: NDArray[Any], sizes: NDArray[np.int64], key: Key) -> None:
    """Permute ``values``, shape (n,), in place and uniformly within consecutive runs.

    ``sizes`` are the lengths of the runs; they add up to n, and each is below 2**32.
    """
    ends = np.cumsum(sizes)
    run, start = 0, 0
    while run < len(sizes):
        # Words for about a million places at a time stay near the processor.
        stop = max(run + 1, int(np.searchsorted(ends, start + _PLACES, side="right")))
        end = int(ends[stop - 1])
        _exchange(values[start:end], sizes[run:stop], key.stream(end - start, start))
        run, start = stop, end


@njit(cache=True, nogil=True)
def _exchange(values: NDArray[Any], sizes: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    start = 0
    for size in sizes:
        for place in range(size - 1, 0, -1):
            word = words[start + place]
            choices = np.uint64(place + 1)
            # The upper 64 bits of word * choices: a whole number below choices.
            partner = ((word >> half) * choices + (((word & low) * choices) >> half)) >> half
            other = start + np.int64(partner)
            values[start + place], values[other] = values[other], values[start + place]
        start += size
