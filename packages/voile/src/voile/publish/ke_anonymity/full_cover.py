"""The optimal blocks of the next release of a series under the full-cover rule.

What it does: cuts the values of a grown table into blocks so that comparing the new release
with the earlier ones tells nothing, at the smallest sum of ranges among cuts that never fall
inside a block of the latest release (full cover).  Against the union adversary, fresh rows
(rows never published before) that have no company yet are held back.

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015),
Definition 5, and Lemma 1 and Theorem 1 on how a new block may lie over old ones.  The union
adversary is not in the source.

Guarantee, for a series in which every release was decided here, with one k and one e, rows
only appended, and published rows published again in every later release:

- "pairwise": for every earlier block a and new block b, each of a - b, b - a and a & b holds no
  row or is (k,e)-valid (Definition 5), against *all* earlier releases.
- "union": every atom (the rows that lie in one block in every release, absence counting as a
  block) is (k,e)-valid, hence so is whatever is left of a block after subtracting any number of
  others.  The rows held are the fewest possible, and then the sum of ranges is minimal among
  *all* partitions of the rows, with or without full cover.

Algorithm: let b = [i, j) be a new block.  Since a cut splits no old block, b covers each old
block wholly or not at all, and a value outside the old blocks has fresh rows only.  With f the
fresh rows of b:

1. f is valid: allowed, for b - a contains f for every old block a.
2. f is empty and b covers an old block: allowed.
3. pairwise only: b covers two or more old blocks: allowed, for b - a contains the other one.

Else b is not allowed: f is left when the one old block in b is subtracted, or b is f itself.
Starts of the first and third kind are prefixes for a fixed j, those of the second an interval:
two windows for ``cuts.best_cuts``.

The latest release is enough.  A block a of an earlier release lies within one block A of the
latest, which lies within one new block b.  Then a - b is empty and a & b = a is valid.  If b
covers another old block, b - a contains it; if not, b - a = (A - a) + f, and A - a was empty or
valid before.  Atoms: places at and after birth are fixed by the block at birth, so the fresh
rows of a new block are an atom, and earlier atoms never change.

Holding back (union).  Validity is monotone: what contains a valid set is valid.  If all fresh
rows together are valid, one block of everything is allowed, and none is held.  If not, then
publishing any of them puts a nonempty, invalid atom into the world: no subset of an invalid set
is valid.  So all are held, and the blocks stay as they were.  The fewest rows held is therefore
none or all.

No loss (union).  Take any partition with valid atoms.  Merging two of its blocks whose ranges
overlap keeps atoms empty or valid (each becomes a union of old ones) and does not raise the
sum; so let ranges be disjoint.  If a cut split an old block, both sides would consist of
nonempty atoms, all valid, and the same split in the earlier release would have been allowed
there and cheaper: that release was not optimal.  This is why a release that holds everything
back keeps its blocks.  For "pairwise" the argument covers one earlier release and no more: a
block that had to merge old ones for the sake of a few fresh rows could be split again once more
rows have come, and full cover never does; ``exact`` finds that optimum.

Cost: O(d + p) for d distinct values and p old blocks, plus a binary search per fresh value.

Departures from the source: its lemmas admit blocks that touch an old border value, and its
claim of overall optimality is wrong from the third release on; see the tests named after the
counterexamples.  Its search is O(p n^3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.cuts import (
    after_last,
    best_cuts,
    blocks_of,
    enclosing,
    latest_valid_start,
)

__all__ = ["Adversary", "FullCover", "full_cover_blocks", "one_block_of_fresh"]

Adversary = Literal["union", "pairwise"]


@dataclass(frozen=True)
class FullCover:
    """What to publish next.

    A row is published in block m if its value has an index in ``blocks[m, 0] .. blocks[m, 1] - 1``
    and the row is not held.  ``held`` says that every fresh row is held, wherever its value lies;
    then ``blocks`` are those of the latest release.  Otherwise no row is held, and the blocks
    cover all values.
    """

    blocks: NDArray[np.int64]
    """(p, 2) index ranges [start, stop), ascending and disjoint."""
    held: bool


def full_cover_blocks(
    values: NDArray[Any],
    fresh: NDArray[np.bool_],
    old_blocks: NDArray[np.int64],
    k: int,
    e: int,
    adversary: Adversary,
) -> FullCover | None:
    """Decide the cheapest safe blocks under the full-cover rule; None if nothing is safe.

    ``values``: (d,) as for ``static.optimal_blocks``, of published and fresh rows together;
    ``fresh``: (d,) the value has rows that were never published (it may have others);
    ``old_blocks``: (p, 2) index ranges [start, stop) of the latest release's blocks, valid,
    ascending, disjoint; (0, 2) where there is none, which gives the static optimum.
    Rows that an earlier release held back are fresh.  Raises ``ValueError`` where a value is
    neither fresh nor in an old block: then these are not the old blocks of this table.
    """
    d = len(values)
    old_blocks = np.asarray(old_blocks, np.int64).reshape(-1, 2)
    _check_published_lie_in_blocks(fresh, old_blocks)
    fresh_valid = latest_valid_start(values, fresh, k, e)
    if adversary == "union" and fresh.any() and fresh_valid[d] < 0:
        return FullCover(old_blocks.copy(), held=True) if len(old_blocks) else None
    low, high = _windows(fresh, fresh_valid, old_blocks, adversary)
    cut_allowed = enclosing(old_blocks, d)[0] == np.arange(d + 1)
    blocks = blocks_of(best_cuts(values, cut_allowed, low, high))
    return None if blocks is None else FullCover(blocks, held=False)


def one_block_of_fresh(
    fresh: NDArray[np.bool_], old_blocks: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Blocks, as above, of which one holds all fresh rows and every old block that it meets.

    ``fresh`` (d,) has a true value, and the fresh rows are valid together.
    """
    old = np.asarray(old_blocks, np.int64).reshape(-1, 2)
    place = np.flatnonzero(fresh)
    start, stop = enclosing(old, len(fresh))
    block = np.array([[start[place[0]], stop[place[-1] + 1]]], np.int64)
    before, after = old[old[:, 1] <= block[0, 0]], old[old[:, 0] >= block[0, 1]]
    return np.concatenate((before, block, after))


def _windows(
    fresh: NDArray[np.bool_],
    fresh_valid: NDArray[np.int64],
    old_blocks: NDArray[np.int64],
    adversary: Adversary,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Windows (2, d + 1) of the allowed starts for each right end; see the module's cases 1-3."""
    ended = np.searchsorted(old_blocks[:, 1], np.arange(len(fresh) + 1), side="right")
    starts = np.concatenate(([-1, -1], old_blocks[:, 0]))
    covers_one, covers_two = starts[ended + 1], starts[ended]
    prefix = np.maximum(fresh_valid, covers_two) if adversary == "pairwise" else fresh_valid
    low = np.stack((np.zeros_like(prefix), after_last(fresh)))
    return low, np.stack((prefix, covers_one))


def _check_published_lie_in_blocks(fresh: NDArray[np.bool_], old_blocks: NDArray[np.int64]) -> None:
    """Refuse old blocks that leave out a value all of whose rows are published."""
    steps = np.zeros(len(fresh) + 1, np.int64)
    np.add.at(steps, old_blocks[:, 0], 1)
    np.add.at(steps, old_blocks[:, 1], -1)
    published = np.cumsum(steps[:-1]) > 0
    if not np.all(fresh | published):
        raise ValueError("a value is neither fresh nor in a block of the latest release")
