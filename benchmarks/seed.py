"""The seed's incremental algorithm, as its authors describe it: the baseline, not the product.

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015):
a dynamic programme over the n sorted rows; each of the n^2 blocks [i, j) that is (k,e)-valid is
tested against each of the p blocks of the latest release by Definition 5.  Cost: O(p n^3).

Treatment of what the source gets wrong: its printed lemmas let a block touch an old border value
and let the rows that no old block explains be too few (``printed_rule_blocks``).  The searches
here use the corrected rule, so that their sums compare with the package's pairwise full cover: no
old block is split, and the rows of b outside an old block in b are none or valid.

Three ways to do it, slowest first:

- ``BY_ROWS``: the description to the letter; a & b, b - a and a - b are measured by a pass over
  the rows of b for each old block.
- ``BORDERS_FIRST``: what a careful author does; borders tell in O(1) whether an old block lies
  apart from b or is split by it, and rows are looked at only where b covers it.  The source says
  that overlaps are skipped, so this is the baseline that counts.
- ``STRENGTHENED``: with two ideas more, of ours: cuts only between different values, and the sum
  of ranges compared before anything else.

The one source runs interpreted, over lists, and compiled, over arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

__all__ = ["BORDERS_FIRST", "BY_ROWS", "STRENGTHENED", "SortedRows", "printed_rule_blocks"]

BY_ROWS, BORDERS_FIRST, STRENGTHENED = 0, 1, 2


@dataclass(frozen=True)
class SortedRows:
    """n rows in ascending order of value, and which block of the latest release each is in."""

    value: NDArray[np.int64]
    owner: NDArray[np.int64]
    """-1 for fresh rows."""
    first: NDArray[np.int64]
    """(p,): the first and the last row of each old block."""
    last: NDArray[np.int64]
    size: NDArray[np.int64]
    """(p,): how many rows each old block has."""

    @classmethod
    def of(
        cls, published: NDArray[np.int64], fresh: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> SortedRows:
        """Rows by value; ``borders`` (p, 2) are the least and greatest value of the old blocks."""
        owner = np.searchsorted(borders[:, 0], published, side="right") - 1
        values = np.concatenate((published, fresh))
        order = np.argsort(values, kind="stable")
        owners = np.concatenate((owner, np.full(len(fresh), -1)))[order]
        rows = [np.flatnonzero(owners == block) for block in range(len(borders))]
        return cls(
            value=values[order],
            owner=owners,
            first=np.array([r[0] for r in rows], np.int64),
            last=np.array([r[-1] for r in rows], np.int64),
            size=np.array([len(r) for r in rows], np.int64),
        )

    def blocks(self, k: int, e: int, way: int, *, compiled: bool) -> NDArray[np.int64] | None:
        """Find the optimum; least and greatest value of each block (p, 2), or None."""
        n = len(self.value)
        fields: tuple[Any, ...] = (self.value, self.owner, self.first, self.last, self.size)
        best: tuple[Any, Any] = np.zeros(n + 1, np.int64), np.full(n + 1, -1, np.int64)
        if compiled:
            search = _search
        else:  # plain lists are what the interpreter is fastest with
            search = _search.py_func
            fields = tuple(field.tolist() for field in fields)
            best = best[0].tolist(), best[1].tolist()
        search(fields, best, (k, e), way)
        start = best[1]
        if start[n] < 0:
            return None
        borders, end = [], n
        while end > 0:
            borders.append((self.value[start[end]], self.value[end - 1]))
            end = start[end]
        return np.array(borders[::-1], np.int64)


@njit
def _search(rows, best, terms, way):  # type: ignore[no-untyped-def]
    """Fill in cost and start of the last block of the best cuts of the first j rows, each j."""
    value, k, e = rows[0], terms[0], terms[1]
    cost, start = best
    n = len(value)
    start[0] = 0
    for j in range(1, n + 1):
        if way == STRENGTHENED and j < n and value[j] == value[j - 1]:
            continue
        distinct = 0
        for i in range(j - 1, -1, -1):
            if i == j - 1 or value[i] != value[i + 1]:
                distinct += 1
            width = value[j - 1] - value[i]
            if distinct < k or width < e or start[i] < 0:
                continue
            total = cost[i] + width
            if way == STRENGTHENED and start[j] >= 0 and total >= cost[j]:
                continue
            if _gives_away(rows, (i, j), terms, way != BY_ROWS):
                continue
            if start[j] < 0 or total < cost[j]:
                cost[j] = total
                start[j] = i


@register_jitable
def _gives_away(rows, block, terms, borders_first):  # type: ignore[no-untyped-def]
    """Whether Definition 5, with full cover, fails between [i, j) and some old block."""
    first, last, size = rows[2], rows[3], rows[4]
    i, j = block
    for m in range(len(first)):
        if borders_first:
            if last[m] < i or first[m] >= j:
                continue
            if first[m] < i or last[m] >= j:
                return True
        shared, rest, distinct, width = _without(rows[0], rows[1], block, m)
        if shared > 0 and shared < size[m]:
            return True
        if shared > 0 and rest > 0 and (distinct < terms[0] or width < terms[1]):
            return True
    return False


@register_jitable
def _without(value, owner, block, m):  # type: ignore[no-untyped-def]
    """Rows of a block in the old block m; of the others, number, distinct values and range."""
    shared, rest, distinct, low, high = 0, 0, 0, 0, 0
    for row in range(block[0], block[1]):
        if owner[row] == m:
            shared += 1
            continue
        here = value[row]
        if rest == 0:
            low = here
        if rest == 0 or here != high:
            distinct += 1
        rest += 1
        high = here
    return shared, rest, distinct, high - low


def printed_rule_blocks(
    values: Sequence[int], borders: Sequence[tuple[int, int]], k: int, e: int
) -> list[tuple[int, int]] | None:
    """The optimum under the rule as printed; least and greatest value of each block, or None.

    Our reading of its Lemma 1 and Theorem 1: a valid block is refused where its range strictly
    crosses an end of an old one or lies strictly inside; all else is admitted.  Equal values stay
    together, which the source does not ask for and which leaks less.
    """
    cost: list[int | None] = [0]
    start = [0]
    for j in range(1, len(values) + 1):
        found: list[tuple[int, int]] = []
        for i in range(j - k, -1, -1):
            low, high, before = values[i], values[j - 1], cost[i]
            if before is None or high - low < e:
                continue
            if not any(_printed_rule_refuses(low, high, a) for a in borders):
                found.append((before + high - low, -i))
        total, place = min(found, default=(None, 1))
        cost.append(total)
        start.append(-place)
    if cost[-1] is None:
        return None
    blocks, end = [], len(values)
    while end:
        blocks.append((values[start[end]], values[end - 1]))
        end = start[end]
    return blocks[::-1]


def _printed_rule_refuses(low: int, high: int, old: tuple[int, int]) -> bool:
    crosses_low = low < old[0] < high < old[1]
    crosses_high = old[0] < low < old[1] < high
    inside = old[0] < low and high < old[1]
    return crosses_low or crosses_high or inside
