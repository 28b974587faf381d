"""From private counts and the history of a series to the blocks of the next release.

Pure: arrays in, a plain value out; only the decision knows the method, only the engine knows
where the rows are.  All numbers are brought to one unit first, so that ranges compare exactly.

Whether fresh rows are published is decided by ``models.ke_anonymity``, and where they are cut here:

- The searches "full-cover" and "exact" keep one partition of all published rows.
- "sealed-batches" keeps every old block as it is and cuts each batch of fresh rows by itself, so
  blocks never widen and their ranges may overlap.  A sealed batch is a union of atoms that never
  change, so every atom is a block of one release and valid: the "union" guarantee holds.
- "narrow-batches" cuts batches likewise, but such that the bounds of sums and averages are narrow
  (see ``narrow``) rather than their ranges.
- "lemma-1" and "figure-13" are the paper's as it prints them, for study: see below.
- Rows that a look refused before are published in one block with all that came later, whatever
  the search.

Every cut depends only on which values stand in which class of rows (those first published by one
release, or fresh), and on earlier cuts.  Permuting the values of a class within its block changes
none of that, in this release or a later one; which is what ``models.ke_anonymity`` needs of the
cuts.

Series with the rule "until-valid" publish all fresh rows as soon as they are valid together.

What it does: cuts the values of a grown table into (k,e)-valid blocks of the smallest sum of
ranges, by the tests that the seed "An incremental privacy-preservation algorithm for the (k, e)-
Anonymous model" (2015) prints:

- "lemma-1": the overlap test of Lemma 1 (Fig. 4) alone, against the latest release.  A block is
  refused where its range strictly crosses an end of an old block's, or lies strictly inside one.
- "figure-13": the algorithm of section 5 and Fig. 13: that test, and after it Definition 5 against
  the latest release.

The naive algorithm of section 6, which tests every block by Definition 5 against every release,
gives the blocks of ``exact``.

Guarantee: of a release by itself, that it is (k,e)-anonymous.  Of releases beside each other, none:

- "lemma-1", k = 2, e = 4: {7, 13}, then 1 and 19: {1, 7} and {13, 19} single out 7 and 13.
- "figure-13", k = 2, e = 2: {6, 9}, then 3 and 12 in one block with them, then 6 and 8:
  {3, 6, 6, 8} and {9, 12} pass the test against the latest release, and single out 6 and 9 against
  the first.

So such a release is marked as unfit for publication.

Algorithm: ``exact``'s search over pairs of ends, of which the overlap test leaves some.
Cost: O(d^2 p) time and O(d^2) memory for d distinct values and p old blocks.

Departures: equal values stay in one block, which the seed does not ask for and which leaks less.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.ke_anonymity import NONE_REFUSED, Fate, Pool, Refused, WaitingRule
from voile.publish.ke_anonymity.searches import (
    Adversary,
    enclosing,
    exact_blocks,
    full_cover_blocks,
    narrow_blocks,
    optimal_blocks,
)
from voile.release.history import Blocks, Version
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile.table.decisions import BlockAssignment
from voile.table.summaries import ValueCounts
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = [
    "AS_PRINTED",
    "MAXIMUM_VALUES",
    "Decision",
    "KETerms",
    "Search",
    "decide",
    "printed_blocks",
]

AS_PRINTED = ("lemma-1", "figure-13")
MAXIMUM_VALUES = 4_000
"""Distinct values up to which all pairs of ends are held in memory."""


def printed_blocks(
    values: NDArray[np.generic],
    present: NDArray[np.bool_],
    latest: NDArray[np.int64],
    terms: tuple[int, int],
    search: str,
) -> NDArray[np.int64] | None:
    """Blocks [start, stop), (p, 2) index ranges, as the paper cuts them; None where it finds none.

    ``values``: (d,) as for ``static.optimal_blocks``; ``present``: (2, d), which values have rows
    of the latest release, and which have fresh ones; ``latest``: (p, 2), index ranges of the blocks
    of that release; ``terms``: k, and e in units; ``search``: one of ``AS_PRINTED``.
    Raises ``PlanError`` beyond ``MAXIMUM_VALUES``.
    """
    if len(values) > MAXIMUM_VALUES:
        raise PlanError(
            f'search = "{search}" is the paper\'s version, for study: it takes up to '
            f"{MAXIMUM_VALUES:,} distinct values, and the table has {len(values):,}; use "
            'search = "full-cover", or leave search out'
        )
    releases = [latest] if search == "figure-13" and len(latest) else []
    births = present if releases else np.logical_or.reduce(present, keepdims=True)
    return exact_blocks(values, births, releases, *terms, admitted=_admitted(len(values), latest))


def _admitted(d: int, latest: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which blocks [i, j) the printed Lemma 1 lets through: (d + 1, d + 1), by i and j.

    Values ascend, so their indices compare as they do.
    """
    low = np.arange(d + 1)[:, np.newaxis]
    high = np.arange(d + 1)[np.newaxis] - 1
    refused = np.zeros((d + 1, d + 1), np.bool_)
    for start, stop in latest.tolist():
        first, last = start, stop - 1
        refused |= (low < first) & (first < high) & (high < last)
        refused |= (first < low) & (low < last) & (last < high)
        refused |= (first < low) & (high < last)
    return ~refused


Search = Literal["full-cover", "exact", "sealed-batches", "narrow-batches", "lemma-1", "figure-13"]
_SEALED = ("sealed-batches", "narrow-batches")


@dataclass(frozen=True)
class KETerms:
    """What a decision must achieve."""

    k: int
    e: Decimal
    adversary: Adversary = "union"
    search: Search = "full-cover"
    batch: int | None = None
    """Fresh rows that are looked at together (see ``models.ke_anonymity``); None: "until-valid"."""


@dataclass(frozen=True, eq=False)
class Decision:
    """The blocks of a release and the fate of the fresh rows; private."""

    values: ExactNumbers
    """The d distinct values, in the unit of the decision."""
    ranges: NDArray[np.int64]
    """Shape (p, 2): index ranges [start, stop) of the blocks among the values."""
    batch: NDArray[np.int64]
    """Shape (p,): the version whose fresh rows a block seals; 0 for all published rows."""
    fate: Fate = "published"
    """What becomes of the fresh rows, if there are any."""

    @property
    def held(self) -> bool:
        """Whether fresh rows, if there are any, are held back."""
        return self.fate != "published"

    def assignment(self, counts: ValueCounts) -> BlockAssignment:
        """The block of each counted pair of value and class; the last class is the fresh rows."""
        ends = len(self.values) + 1
        sealed, own = self.batch > 0, counts.row_class + 1
        block = np.full(len(counts.value), -1, dtype=np.int64)
        for asked, batch, chosen in (
            (np.zeros_like(own), self.batch, ~sealed),
            (own, self.batch, sealed),
        ):
            which = np.flatnonzero(chosen)
            if not len(which):
                continue
            key = batch[which] * ends + self.ranges[which, 0]
            order = np.argsort(key, kind="stable")
            place = np.searchsorted(key[order], asked * ends + counts.value, side="right") - 1
            home = which[order[np.maximum(place, 0)]]
            inside = (batch[home] == asked) & (self.ranges[home, 0] <= counts.value)
            inside &= counts.value < self.ranges[home, 1]
            block = np.where(inside, home, block)
        if self.held:
            block[counts.row_class == counts.classes - 1] = -1
        return BlockAssignment(self.values, block)

    def blocks(self, counts: ValueCounts) -> Blocks:
        """The blocks as history keeps them, with their rows and distinct values."""
        block = self.assignment(counts).block
        shown = block >= 0
        value, block = counts.value[shown], block[shown]
        rows = np.bincount(block, counts.count[shown], len(self.ranges))
        # Without counts, NumPy loads its masked arrays first: a thirtieth of a small release.
        pairs, _ = np.unique(block * len(self.values) + value, return_counts=True)
        return Blocks(
            low=self.values[self.ranges[:, 0]],
            high=self.values[self.ranges[:, 1] - 1],
            rows=rows.astype(np.int64),
            distinct=np.bincount(pairs // len(self.values), minlength=len(self.ranges)),
            batch=self.batch,
        )


def decide(
    counts: ValueCounts,
    versions: tuple[Version, ...],
    terms: KETerms,
    refused: Refused = NONE_REFUSED,
) -> Decision | None:
    """The cheapest safe blocks, or None where no release is safe.

    ``counts`` has a class of rows for each version and the last for fresh rows, of which those
    ``refused`` were refused before.
    """
    # The unit of the newest release is at least as fine as that of each before it.
    latest = (versions[-1].blocks.low, versions[-1].blocks.high) if versions else ()
    scale = max(counts.values.scale, decimals_of(terms.e), *(each.scale for each in latest), 0)
    values = counts.values.rescaled(scale)
    e = units_of(terms.e, scale)
    rows = counts.fresh
    fresh = rows > 0
    if terms.batch is None:
        return _cut(values, counts, versions, terms, e)
    pool = Pool(values.units[fresh], rows[fresh], refused)
    fate = WaitingRule(terms.batch, terms.k, e).fate(pool)
    if fate != "published":
        return _unchanged(values, versions, fate) if versions else None
    if refused.rows:
        return _in_one_block(values, fresh, versions, terms.search)
    return _cut(values, counts, versions, terms, e)


def _cut(
    values: ExactNumbers,
    counts: ValueCounts,
    versions: tuple[Version, ...],
    terms: KETerms,
    e: int,
) -> Decision | None:
    """The cheapest safe blocks, where fresh rows wait if and only if nothing else is safe."""
    if terms.search in _SEALED:
        return _sealed(values, counts.fresh, versions, terms, e)
    fate: Fate = "published"
    if terms.search in AS_PRINTED:
        latest, _ = _latest(values, versions)
        fresh = counts.fresh
        ever = np.stack((counts.total > fresh, fresh > 0))
        ranges = printed_blocks(values.units, ever, latest, (terms.k, e), terms.search)
    elif terms.search == "exact" and versions and terms.adversary == "pairwise":
        releases = [_index_ranges(values, version.blocks) for version in versions]
        ranges = exact_blocks(values.units, counts.present().T, releases, terms.k, e)
    else:
        latest, _ = _latest(values, versions)
        cover = full_cover_blocks(
            values.units, counts.fresh > 0, latest, terms.k, e, terms.adversary
        )
        ranges = cover.blocks if cover else None
        fate = "waiting" if cover and cover.held else "published"
    if ranges is None:
        return None
    return Decision(values, ranges, np.zeros(len(ranges), dtype=np.int64), fate)


def _sealed(
    values: ExactNumbers,
    rows: NDArray[np.int64],
    versions: tuple[Version, ...],
    terms: KETerms,
    e: int,
) -> Decision | None:
    """Old blocks as they are, and the best of the fresh rows, (d,) by value, beside them."""
    chosen = np.flatnonzero(rows)
    fresh = values.units[chosen]
    new = None
    if len(chosen) and terms.search == "narrow-batches":
        new = narrow_blocks(fresh, rows[chosen], terms.k, e)
    elif len(chosen):
        new = optimal_blocks(fresh, terms.k, e)
    if new is None and not versions:
        return None
    if new is None:
        return _unchanged(values, versions, "waiting" if len(chosen) else "published")
    return _sealed_beside(
        values, np.column_stack((chosen[new[:, 0]], chosen[new[:, 1] - 1] + 1)), versions
    )


def _sealed_beside(
    values: ExactNumbers, new: NDArray[np.int64], versions: tuple[Version, ...]
) -> Decision:
    """Old blocks as they are, and new ones of the fresh rows."""
    old, old_batch = _latest(values, versions)
    batch = np.full(len(new), len(versions) + 1, dtype=np.int64)
    return Decision(values, np.concatenate((old, new)), np.concatenate((old_batch, batch)))


def _in_one_block(
    values: ExactNumbers, fresh: NDArray[np.bool_], versions: tuple[Version, ...], search: Search
) -> Decision:
    """All fresh rows in one block."""
    if search in _SEALED:
        place = np.flatnonzero(fresh)
        return _sealed_beside(values, np.array([[place[0], place[-1] + 1]]), versions)
    ranges = _one_block_of_fresh(fresh, _latest(values, versions)[0])
    return Decision(values, ranges, np.zeros(len(ranges), dtype=np.int64))


def _one_block_of_fresh(
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


def _unchanged(values: ExactNumbers, versions: tuple[Version, ...], fate: Fate) -> Decision:
    """Old blocks as they are."""
    return Decision(values, *_latest(values, versions), fate)


def _latest(
    values: ExactNumbers, versions: tuple[Version, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Index ranges and batches of the blocks of the latest release."""
    if not versions:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)
    latest = versions[-1].blocks
    return _index_ranges(values, latest), latest.batch


def _index_ranges(values: ExactNumbers, blocks: Blocks) -> NDArray[np.int64]:
    """Blocks of an earlier release as index ranges [start, stop) among the present values."""
    low = blocks.low.rescaled(values.scale).units
    high = blocks.high.rescaled(values.scale).units
    units: NDArray[Any] = values.units
    return np.column_stack(
        (np.searchsorted(units, low), np.searchsorted(units, high, side="right"))
    ).astype(np.int64)
