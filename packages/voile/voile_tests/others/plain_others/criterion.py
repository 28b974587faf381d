"""No value stands in more than a share of the rows of a group: alpha of (alpha, k)-anonymity.

Source: Wong, Li, Fu and Wang, "(alpha, k)-anonymity" (KDD 2006), Definition 2, for every value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voile.models.criteria import Criterion, Groups, StatedCriterion
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.plan import Plan
from voile_base.errors import PlanError


@dataclass(frozen=True)
class Share:
    """At most this share of the rows of a group have one value; a union's share is a mixture."""

    alpha: float
    column: str
    monotone: ClassVar[bool] = True

    def holds(self, groups: Groups) -> np.ndarray:
        """Which of the p groups are valid, shape (p,)."""
        cells = groups.sensitive[self.column]
        most = np.zeros(len(groups.rows), dtype=np.int64)
        np.maximum.at(most, cells.group, cells.rows)
        return most <= self.alpha * groups.rows

    def document(self) -> Mapping[str, object]:
        """Its parameters."""
        return {"alpha": self.alpha, "column": self.column}


@dataclass(frozen=True)
class LargestShare(StatedCriterion):
    """As a plan states it."""

    name: ClassVar[str] = "largest-share"

    column: str
    alpha: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            msg = "alpha must be above 0 and at most 1"
            raise PlanError(msg)

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion:
        """The same for all columns."""
        return Share(float(self.alpha), self.column)

    @property
    def words(self) -> str:
        """What holds in a group."""
        return f"stand each in at most {self.alpha} of the rows"
