"""The optimal blocks of a single (k,e)-anonymous release.

What it does: cuts the distinct sensitive values into blocks of at least k distinct values and a
range of at least e each, at the smallest sum of ranges.

Source: Zhang, Koudas, Srivastava and Yu, "Aggregate query answering on anonymized tables"
(2007); the seed "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model"
(2015) starts from the same static optimum.

Claim: optimal among all partitions of the rows into valid blocks, not only among those into
value ranges.  If the ranges of two blocks overlap or touch, their union is valid and its range
is at most the sum of theirs; so some optimum has disjoint ranges, and never splits equal values.

Algorithm: for each right end the allowed starts are a prefix, because a block stays valid when
it grows; ``cuts.best_cuts`` with one window.

Cost: O(d) after the values are counted and sorted, plus a binary search per value.

Departure from the source: a prefix maximum in place of the O(n^2) search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.cuts import best_cuts, blocks_of, latest_valid_start

__all__ = ["Feasible", "largest_feasible", "optimal_blocks"]


def optimal_blocks(values: NDArray[Any], k: int, e: int) -> NDArray[np.int64] | None:
    """Blocks [start, stop) of the static optimum, (p, 2) index ranges, or None if infeasible.

    ``values``: (d,) strictly ascending distinct sensitive values in units, int64 (magnitudes
    under 2**61) or Python integers in an object array; ``k`` >= 2; ``e`` >= 0 in units.
    """
    d = len(values)
    high = latest_valid_start(values, np.ones(d, np.bool_), k, e)[np.newaxis]
    return blocks_of(best_cuts(values, np.ones(d + 1, np.bool_), np.zeros_like(high), high))


@dataclass(frozen=True)
class Feasible:
    """The parameters that a single release of a table can reach (``e`` in units)."""

    k: int
    e: int


def largest_feasible(values: NDArray[Any]) -> Feasible | None:
    """Find the largest k and the largest e for which a static release exists, if one does.

    The two do not compete: a release exists if and only if the whole table is one valid block,
    so every k up to the one and every e up to the other do together, and where only one of the
    two asked for is too large, lowering that one is enough.  Fewer than two distinct values
    allow no k >= 2, hence None.
    """
    if len(values) < 2:
        return None
    return Feasible(k=len(values), e=int(values[-1]) - int(values[0]))
