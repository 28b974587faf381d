"""How exposed the rows of a table are: the sizes of the groups that share quasi-identifiers.

A row is unique if no other row agrees with it in all quasi-identifiers; whoever knows them finds
it.  Source: Sweeney, "k-anonymity: a model for protecting privacy" (2002), whose k is the size of
the smallest group.  Private: computed from private rows without protection.

Cost: O(g log g) for g groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Exposure", "exposure"]


@dataclass(frozen=True)
class Exposure:
    """Private facts about the groups of rows that agree in a set of quasi-identifiers."""

    rows: int
    groups: int
    unique: int
    """Rows that are alone in their group."""
    smallest: int
    """Size of the smallest group: the k of k-anonymity."""
    median_group: float
    """Median size over groups."""
    median_row: float
    """Median size over rows: half of the people hide in a group no larger than this."""

    @property
    def unique_share(self) -> float:
        """Share of the rows that are unique, from 0 to 1."""
        return self.unique / self.rows if self.rows else 0.0


def exposure(sizes: NDArray[np.int64]) -> Exposure:
    """Measure the exposure from the sizes of all groups, shape (g,), g at least 1."""
    ordered = np.sort(sizes)
    rows = int(ordered.sum())
    covered = np.cumsum(ordered)
    # The middle rows of the table, counted along groups of ascending size.
    middle = np.searchsorted(covered, [(rows - 1) // 2 + 1, rows // 2 + 1])
    return Exposure(
        rows=rows,
        groups=len(ordered),
        unique=int((ordered == 1).sum()),
        smallest=int(ordered[0]),
        median_group=float(np.median(ordered)),
        median_row=float(ordered[middle].mean()),
    )
