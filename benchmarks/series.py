"""A growing table and the decisions of the package on it, without rows, files or a ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.decision import Decision, KETerms, decide
from voile.release.history import Blocks, Version
from voile.schema.numbers import ExactNumbers
from voile.table.summaries import ValueCounts

__all__ = ["Released", "releases"]


@dataclass(frozen=True, eq=False)
class Released:
    """What one release of the series looks like."""

    decision: Decision
    blocks: Blocks
    rows: int
    """Rows that the table holds by now."""

    @property
    def held(self) -> int:
        """Rows that are held back."""
        return self.rows - int(self.blocks.rows.sum())

    @property
    def widths(self) -> NDArray[np.float64]:
        """Range of each block, in the unit of the data."""
        low, high = (
            bound.units.astype(np.float64) / 10**bound.scale
            for bound in (self.blocks.low, self.blocks.high)
        )
        return high - low


def releases(batches: Sequence[ExactNumbers], terms: KETerms) -> Iterator[Released]:
    """Publish the batches one after another; ends where no release is safe."""
    scale = max(batch.scale for batch in batches)
    classes: list[NDArray[np.int64]] = []
    waiting = np.empty(0, np.int64)
    versions: tuple[Version, ...] = ()
    for batch in batches:
        waiting = np.concatenate((waiting, batch.rescaled(scale).units))
        counts = _counts([*classes, waiting], scale)
        decision = decide(counts, versions, terms)
        if decision is None:
            return
        blocks = decision.blocks(counts)
        versions += (Version(len(versions) + 1, "", "", blocks),)
        classes.append(np.empty(0, np.int64) if decision.held else waiting)
        waiting = waiting if decision.held else np.empty(0, np.int64)
        yield Released(decision, blocks, int(counts.rows.sum()))


def _counts(classes: Sequence[NDArray[np.int64]], scale: int) -> ValueCounts:
    values = np.unique(np.concatenate(classes))
    rows = [np.bincount(np.searchsorted(values, c), minlength=len(values)) for c in classes]
    return ValueCounts(ExactNumbers(values, scale), np.stack(rows, axis=1).astype(np.int64))
