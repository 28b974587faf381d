"""k-means of numbers from one random start, as the paper prints it: it may miss the optimum.

What it does: draws K rows as first means, assigns every number to the nearest mean, moves the
means, and goes on until no assignment changes, or after ``ITERATIONS``.

Source: "Privacy Preserving in Big Data Sets through Multiple Shuffle" (ACSW 2017), Algorithm 1 and
eqs. 2 and 3; 4.2.1 for the number of iterations.

Claim: none beside that: of the twelve salaries of its Table 2 five in six starts miss the best four
clusters.  ``segments`` finds the optimum.

Cost: O(iterations K d) for d distinct numbers.

Departures: a mean that no number is nearest to stays where it is, where the paper divides by zero;
of means that are as near, the first that was drawn takes the number, as printed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from voile_base.randomness import Key

__all__ = ["ITERATIONS", "assignments", "random_start"]

ITERATIONS = 1000
_REFUSED = np.uint64(2**64 - 1)


def random_start(
    numbers: NDArray[np.float64], rows: NDArray[np.float64], clusters: int, key: Key
) -> NDArray[np.int64]:
    """The cluster of each number, shape (d,), from 0 by their means; empty ones are left out.

    ``numbers`` (d,) are distinct, of ``rows`` (d,) each.
    """
    label = np.zeros(len(numbers), dtype=np.int64)
    for label in assignments(numbers, rows, clusters, key):  # noqa: B007 - the last one is wanted
        pass
    least = np.full(clusters, np.inf)
    np.minimum.at(least, label, numbers)
    return np.unique(least[label], return_inverse=True)[1].astype(np.int64)


def assignments(
    numbers: NDArray[np.float64], rows: NDArray[np.float64], clusters: int, key: Key
) -> Iterator[NDArray[np.int64]]:
    """The clusters after each iteration, in the order of their starts, until nothing changes."""
    means = numbers[_drawn(rows, clusters, key)]
    before = None
    for _ in range(ITERATIONS):
        label = _nearest(numbers, means)
        if before is not None and np.array_equal(label, before):
            return
        yield label
        own = np.bincount(label, weights=rows, minlength=clusters)
        sums = np.bincount(label, weights=rows * numbers, minlength=clusters)
        means = np.divide(sums, own, out=means.copy(), where=own > 0)
        before = label


def _nearest(numbers: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.int64]:
    """The mean that each number is nearest to, the first of those that are as near."""
    apart, first = np.unique(means, return_index=True)
    middles = (apart[1:] + apart[:-1]) / 2
    sides = (first[np.searchsorted(middles, numbers, side=side)] for side in ("left", "right"))
    return np.minimum(*sides).astype(np.int64)


def _drawn(rows: NDArray[np.float64], clusters: int, key: Key) -> NDArray[np.int64]:
    """The numbers of K different rows, each set of rows as likely as any other.

    Row by row: a word below the number of rows, drawn anew where its row was drawn before.
    """
    ends = np.cumsum(np.maximum(np.rint(rows), 1).astype(np.int64))
    total, place = int(ends[-1]), 0
    limit = _REFUSED - _REFUSED % np.uint64(total)
    chosen: dict[int, None] = {}
    while len(chosen) < min(clusters, total):
        word = key.stream(1, place)[0]
        place += 1
        if word < limit:
            chosen.setdefault(int(word % np.uint64(total)))
    return np.searchsorted(ends, np.array(list(chosen)), side="right")
