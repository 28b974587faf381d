"""k-anonymity: everybody hides among at least k rows, or persons where these have several.

Source: Sweeney, "k-anonymity: a model for protecting privacy" (2002), Definition 3.

Claim: each group of rows that share their published quasi-identifiers has at least k rows, so
that who knows somebody's quasi-identifiers cannot tell which of k rows is theirs.  It says nothing
about the sensitive values of these rows; see ``l_diversity`` and ``t_closeness``.  Where persons
or households have several rows, a group has rows of at least k of them.

Cost: O(p).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups
from voile.models.exactness import whole_parameter

__all__ = ["KAnonymity"]


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
