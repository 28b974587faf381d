"""A hierarchy bound to a column: what each of its values becomes at each level.

Every kind of hierarchy ends in the same plain value: for each level, the generalized values and,
for each of the d distinct values of the column, which of them it becomes.  Methods see only that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers

__all__ = ["BoundHierarchy", "DistinctValues", "GeneralizedValues"]


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """The d distinct values of one column, ascending; a missing value, if any, comes first."""

    kind: str
    """Kind of the values: number, text, boolean, date, ..."""
    texts: tuple[str | None, ...]
    """How each value reads in a file: numbers in plain decimal notation, dates in ISO 8601."""
    numbers: ExactNumbers | None = None
    """For numbers: the values that are not missing, exactly; shape (d,) or (d - 1,)."""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def missing(self) -> bool:
        """Whether the first value stands for the missing ones."""
        return bool(self.texts) and self.texts[0] is None


@dataclass(frozen=True, eq=False)
class GeneralizedValues:
    """The q generalized values of one level, as they are published.

    Either texts, or closed intervals ``[low, high]``; neither where the level leaves the values
    of the column as they are.
    """

    share: NDArray[np.float64]
    """Shape (q,): the share of the column's public domain that each covers, above 0, at most 1."""
    texts: tuple[str | None, ...] | None = None
    """None stands for a missing value."""
    low: ExactNumbers | None = None
    high: ExactNumbers | None = None
    """Borders of the intervals, both inclusive; where ``missing``, of those behind the first."""
    missing: bool = False
    """Whether the first generalized value is the missing one."""

    def __len__(self) -> int:
        return len(self.share)


@dataclass(frozen=True, eq=False)
class BoundHierarchy:
    """What the d distinct values of a column become at each of its levels.

    Level 0 leaves every value as it is, or makes it an interval of its own; each level is a
    coarsening of the one below.
    """

    column: str
    codes: tuple[NDArray[np.int32], ...]
    """For each level, shape (d,): the generalized value of each distinct value."""
    values: tuple[GeneralizedValues, ...]
    """For each level."""

    @property
    def height(self) -> int:
        """The highest level; level 0 is the lowest."""
        return len(self.codes) - 1
