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
    "population_risks",
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


def population_risks(rows: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimated risk of re-identification of a row of each group, shape (g,), from 0 to 1.

    ``rows`` are those of g groups in a sample, at least 1; ``weights`` their survey weights added
    up, so that p = rows / weights is the share of the group's people who are in the sample, and is
    taken for 1 where weights are less than rows.  With the number of people in the population given
    the rows distributed as a negative binomial, the risk is the mean of 1 / that number:

        1 row      p / (1 - p) log(1 / p)
        2 rows     p / (1 - p) - (p / (1 - p))^2 log(1 / p)
        more       p / (rows - (1 - p)), an approximation

    Source: L. Franconi and S. Polettini, "Individual risk estimation in mu-Argus: a review"
    (Privacy in Statistical Databases 2004, LNCS 3050), equations 6 to 9.
    """
    share = np.minimum(rows / np.maximum(weights, rows), 1.0)
    sampled = share < 1 - _NEARLY_ALL
    odds = np.divide(share, 1 - share, out=np.ones_like(share), where=sampled)
    log = -np.log(share)
    one, two = odds * log, odds - odds**2 * log
    risk = np.select([rows == 1, rows == 2], [one, two], share / (rows - (1 - share)))
    found: NDArray[np.float64] = np.clip(np.where(sampled, risk, 1 / rows), 0, 1)
    return found


_NEARLY_ALL = 1e-6
"""So near to 1 a share of people is taken for all of them: the formulas divide by what is left."""
