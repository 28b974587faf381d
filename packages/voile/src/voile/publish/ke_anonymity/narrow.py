"""Blocks of a batch that make the bounds of sums and averages narrow.

What it does: cuts sorted rows into (k,e)-valid ranges of values such that the bounds of a SUM over
the rows of a stated family of queries are, in expectation, as narrow as possible.

Family: a query matches of each block any number of its n rows, 0 to n equally likely, whichever
rows these are.  The bounds of a SUM over c rows of a block are the sums of its c least and of its c
greatest values; their mean distance is

    (1 / (n + 1)) * sum over its sorted values x_0 <= ... <= x_(n-1) of x_i (2 i - n + 1),

and the bounds of an AVG are those of the SUM by how many rows match, which is known.  The sum of
ranges that ``static`` minimises counts a block of two rows like one of two thousand.

Source: the family and the objective are ours; bounds as in Zhang, Koudas, Srivastava and Yu,
"Aggregate query answering on anonymized tables" (2007).

Claim: optimal among cuts into valid ranges that split no equal values, up to the rounding of
double precision; valid exactly.  The cut is a function of the multiset of values alone.

Algorithm: the best last block for each right end j.  A block in two valid parts costs at least as
much as its parts, so it begins after the last position from which one valid block and another reach
j.  (Let A lie below B, with a and b rows, and measure from where they meet.  With D the sum of all
differences of two values, D(A) <= (a - 1) |sum A|, so that what A costs less in the larger block,
D(A) b / ((a + 1) (a + b + 1)), is at most its share b |sum A| / (a + b + 1) in the differences
across; alike for B.)

Cost: O(d w) for d distinct values, of which w lie in two of the least valid blocks; beyond
``MAXIMUM_BLOCKS`` the sum of ranges decides, in O(d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.cuts import as_units, blocks_of, boundaries_of, latest_valid_start
from voile.publish.ke_anonymity.static import optimal_blocks
from voile_base.compiled import njit, uncompiled

__all__ = ["MAXIMUM_BLOCKS", "narrow_blocks"]

MAXIMUM_BLOCKS = 1_000_000_000
"""Candidates that are compared; some seconds."""
_COMPILED_FROM = 5_000


def narrow_blocks(
    values: NDArray[Any], rows: NDArray[np.int64], k: int, e: int
) -> NDArray[np.int64] | None:
    """Blocks [start, stop), (p, 2) index ranges, or None if infeasible.

    ``values``: (d,) as for ``static.optimal_blocks``; ``rows``: (d,) how many have each.
    """
    d = len(values)
    units = as_units(values)
    latest = latest_valid_start(units, np.ones(d, np.bool_), k, e)
    # Positions from which one valid block, or two, reach each right end; -1 where none do.
    earliest = np.where(latest >= 0, latest[latest], -1) + 1
    if int((latest + 1 - earliest)[latest >= 0].sum()) > MAXIMUM_BLOCKS:
        return optimal_blocks(values, k, e)
    x = (units - units[0]).astype(np.float64) if d else np.empty(0)
    before = np.concatenate(([0], np.cumsum(rows))).astype(np.float64)
    ranks = rows * (before[:-1] + (rows - 1) / 2)
    total = np.concatenate(([0.0], np.cumsum(x * rows)))
    ranked = np.concatenate(([0.0], np.cumsum(x * ranks)))
    few = int((latest + 1 - earliest)[latest >= 0].sum()) < _COMPILED_FROM
    kernel = uncompiled(_best_starts) if few else _best_starts
    return blocks_of(boundaries_of(kernel(earliest, latest, before, total, ranked)))


@njit(cache=True)
def _best_starts(
    earliest: NDArray[np.int64],
    latest: NDArray[np.int64],
    before: NDArray[np.float64],
    total: NDArray[np.float64],
    ranked: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Start of the last block in the best cuts of each [0, j), or -1; ``start[0]`` is 0.

    ``before`` counts the rows before each position, ``total`` sums their values, and ``ranked``
    their values by rank.
    """
    d = len(latest) - 1
    cost = np.full(d + 1, np.inf)
    start = np.full(d + 1, -1, np.int64)
    cost[0] = 0.0
    start[0] = 0
    for j in range(1, d + 1):
        for i in range(earliest[j], latest[j] + 1):
            n = before[j] - before[i]
            middle = 2 * before[i] + n - 1
            spread = 2 * (ranked[j] - ranked[i]) - middle * (total[j] - total[i])
            with_it = cost[i] + spread / (n + 1)
            if with_it < cost[j]:
                cost[j] = with_it
                start[j] = i
    return start
