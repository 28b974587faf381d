"""(k,e)-anonymity as a property of groups of rows, measured on what is published.

A group of rows is (k,e)-valid if its sensitive values number at least k distinct ones and span a
range (maximum minus minimum) of at least e.  Source: Zhang, Koudas, Srivastava and Yu,
"Aggregate query answering on anonymized tables" (2007).  The empty group is not valid; where
emptiness is harmless, the caller asks for it.

Sensitive values are exact integers ("units"): int64 with magnitudes under 2**61, or Python
integers in an object array.  Cost: one sort of the m pairs (group, value); for a table of many
rows count equal pairs first, and pass the distinct pairs with their counts (10 million raw rows
take seconds).

These measures share no code with the publishers, whose claims they check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockStatistics", "block_statistics", "is_valid", "violations"]


@dataclass(frozen=True)
class BlockStatistics:
    """Size and spread of g groups, in ascending order of their numbers; every field is (g,)."""

    group: NDArray[np.int64]
    rows: NDArray[np.int64]
    distinct: NDArray[np.int64]
    low: NDArray[Any]
    """Smallest value, in units."""
    high: NDArray[Any]
    """Largest value, in units."""


def is_valid(units: NDArray[Any], k: int, e: int) -> bool:
    """Whether one group of values, in any order and with repetitions, is (k,e)-valid."""
    if len(units) == 0:
        return False
    return len(np.unique(units)) >= k and int(units.max()) - int(units.min()) >= e


def block_statistics(
    group: NDArray[np.int64], units: NDArray[Any], count: NDArray[np.int64] | None = None
) -> BlockStatistics:
    """Measure each group of the pairs (``group``, ``units``), both (m,), in any order.

    ``count`` (m,) says how many rows each pair stands for; one by default.  Pairs may repeat.
    """
    groups, member = np.unique(group, return_inverse=True)
    level, rank = np.unique(units, return_inverse=True)
    rows = np.bincount(member, count, len(groups)).astype(np.int64)
    # One number per pair, so that the pairs sort by group and then by value.
    pairs = np.unique(member * np.int64(len(level)) + rank)
    owner = pairs // max(len(level), 1)
    first = np.searchsorted(owner, np.arange(len(groups)))
    last = np.searchsorted(owner, np.arange(len(groups)), side="right") - 1
    shown = level[pairs - owner * len(level)]
    return BlockStatistics(
        group=groups.astype(np.int64),
        rows=rows,
        distinct=(last - first + 1).astype(np.int64),
        low=shown[first],
        high=shown[last],
    )


def violations(statistics: BlockStatistics, k: int, e: int) -> NDArray[np.int64]:
    """Return the numbers of the groups that are not (k,e)-valid, ascending."""
    spread = np.asarray(statistics.high - statistics.low)
    invalid = (statistics.distinct < k) | (spread < e).astype(np.bool_)
    answer: NDArray[np.int64] = statistics.group[invalid]
    return answer
