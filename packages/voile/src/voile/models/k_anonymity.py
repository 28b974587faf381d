"""k-anonymity: everybody hides among at least k rows, or persons where these have several.

Source: Sweeney, "k-anonymity: a model for protecting privacy" (2002), Definition 3.

Claim: each group of rows that share their published quasi-identifiers has at least k rows, so
that who knows somebody's quasi-identifiers cannot tell which of k rows is theirs.  It says nothing
about the sensitive values of these rows; see ``l_diversity`` and ``t_closeness``.  Where persons
or households have several rows, a group has rows of at least k of them.

Cost: O(p).

How exposed rows are is measured by the sizes of the groups that share quasi-identifiers: a row is
unique if no other row agrees with it in all of them, and whoever knows them finds it.  That is
private: computed from private rows without protection.  Cost: O(g log g) for g groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups, whole_parameter

__all__ = [
    "GroupExposure",
    "KAnonymity",
    "exposure",
]


@dataclass(frozen=True)
class KAnonymity:
    """Every group has at least ``k`` rows, or persons; raises ``PlanError`` where k is below 1."""

    k: int
    monotone: ClassVar[bool] = True
    column: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        whole_parameter("k", self.k, 1, "the least number of rows of a group")

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        return groups.at_least(self.k)

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        return {"k": self.k}


@dataclass(frozen=True)
class GroupExposure:
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


def exposure(sizes: NDArray[np.int64]) -> GroupExposure:
    """Measure the exposure from the sizes of all groups, shape (g,), g at least 1."""
    ordered = np.sort(sizes)
    rows = int(ordered.sum())
    covered = np.cumsum(ordered)
    # The middle rows of the table, counted along groups of ascending size.
    middle = np.searchsorted(covered, [(rows - 1) // 2 + 1, rows // 2 + 1])
    return GroupExposure(
        rows=rows,
        groups=len(ordered),
        unique=int((ordered == 1).sum()),
        smallest=int(ordered[0]),
        median_group=float(np.median(ordered)),
        median_row=float(ordered[middle].mean()),
    )
