"""From private counts and the history of a series to the blocks of the next release.

Pure: arrays in, a plain value out; only the decision knows the method, only the engine knows
where the rows are.  All numbers are brought to one unit first, so that ranges compare exactly.

Searches: "full-cover" and "exact" keep one partition of all published rows; "sealed-batches"
keeps every old block as it is and cuts each batch of fresh rows by itself, so blocks never widen
and their ranges may overlap.  A sealed batch is a union of atoms that never change, so every
atom is a block of one release and valid: the "union" guarantee holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.exact import exact_blocks
from voile.publish.ke_anonymity.full_cover import Adversary, full_cover_blocks
from voile.publish.ke_anonymity.static import optimal_blocks
from voile.release.history import Blocks, Version
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile.table.decisions import BlockAssignment
from voile.table.summaries import ValueCounts

__all__ = ["Decision", "Search", "Terms", "decide"]

Search = Literal["full-cover", "exact", "sealed-batches"]


@dataclass(frozen=True)
class Terms:
    """What a decision must achieve."""

    k: int
    e: Decimal
    adversary: Adversary = "union"
    search: Search = "full-cover"


@dataclass(frozen=True, eq=False)
class Decision:
    """The blocks of a release and the fate of the fresh rows; private."""

    values: ExactNumbers
    """The d distinct values, in the unit of the decision."""
    ranges: NDArray[np.int64]
    """Shape (p, 2): index ranges [start, stop) of the blocks among the values."""
    batch: NDArray[np.int64]
    """Shape (p,): the version whose fresh rows a block seals; 0 for all published rows."""
    held: bool
    """Whether the fresh rows are held back."""

    def assignment(self, classes: int) -> BlockAssignment:
        """The block of each value and class of rows; the last class is the fresh rows."""
        block = np.full((len(self.values), classes), -1, dtype=np.int64)
        for number, (start, stop) in enumerate(self.ranges.tolist()):
            sealed = self.batch[number]
            block[start:stop, sealed - 1 if sealed else slice(None)] = number
        if self.held:
            block[:, -1] = -1
        return BlockAssignment(self.values, block)

    def blocks(self, counts: ValueCounts) -> Blocks:
        """The blocks as history keeps them, with their rows and distinct values."""
        assigned = self.assignment(counts.rows.shape[1]).block
        published = np.where(assigned >= 0, counts.rows, 0)
        value, row_class = np.nonzero(published)
        block = assigned[value, row_class]
        rows = np.bincount(block, published[value, row_class], len(self.ranges))
        pairs = np.unique(block * len(self.values) + value)
        return Blocks(
            low=self.values[self.ranges[:, 0]],
            high=self.values[self.ranges[:, 1] - 1],
            rows=rows.astype(np.int64),
            distinct=np.bincount(pairs // len(self.values), minlength=len(self.ranges)),
            batch=self.batch,
        )


def decide(counts: ValueCounts, versions: tuple[Version, ...], terms: Terms) -> Decision | None:
    """The cheapest safe blocks, or None where no release is safe.

    ``counts`` has a class of rows for each version and the last for fresh rows.
    """
    scale = max(
        counts.values.scale,
        decimals_of(terms.e),
        *(numbers.scale for v in versions for numbers in (v.blocks.low, v.blocks.high)),
        0,
    )
    values = counts.values.rescaled(scale)
    e = units_of(terms.e, scale)
    present = counts.rows > 0
    if terms.search == "sealed-batches":
        return _sealed(values, present[:, -1], versions, terms.k, e)
    releases = [_index_ranges(values, version.blocks) for version in versions]
    held = False
    if terms.search == "exact" and versions and terms.adversary == "pairwise":
        ranges = exact_blocks(values.units, present.T, releases, terms.k, e)
    else:
        latest = releases[-1] if releases else np.empty((0, 2), dtype=np.int64)
        cover = full_cover_blocks(values.units, present[:, -1], latest, terms.k, e, terms.adversary)
        ranges, held = (cover.blocks, cover.held) if cover else (None, False)
    if ranges is None:
        return None
    return Decision(values, ranges, np.zeros(len(ranges), dtype=np.int64), held)


def _sealed(
    values: ExactNumbers, fresh: NDArray[np.bool_], versions: tuple[Version, ...], k: int, e: int
) -> Decision | None:
    """Old blocks as they are, and the static optimum of the fresh rows beside them."""
    latest = versions[-1].blocks if versions else None
    old = _index_ranges(values, latest) if latest else np.empty((0, 2), dtype=np.int64)
    old_batch = latest.batch if latest else np.empty(0, dtype=np.int64)
    chosen = np.flatnonzero(fresh)
    new = optimal_blocks(values.units[chosen], k, e) if len(chosen) else None
    if new is None:
        return Decision(values, old, old_batch, held=len(chosen) > 0) if latest else None
    sealed = np.column_stack((chosen[new[:, 0]], chosen[new[:, 1] - 1] + 1))
    batch = np.full(len(new), len(versions) + 1, dtype=np.int64)
    return Decision(
        values, np.concatenate((old, sealed)), np.concatenate((old_batch, batch)), held=False
    )


def _index_ranges(values: ExactNumbers, blocks: Blocks) -> NDArray[np.int64]:
    """Blocks of an earlier release as index ranges [start, stop) among the present values."""
    low = blocks.low.rescaled(values.scale).units
    high = blocks.high.rescaled(values.scale).units
    units: NDArray[Any] = values.units
    return np.column_stack(
        (np.searchsorted(units, low), np.searchsorted(units, high, side="right"))
    ).astype(np.int64)
