"""What a group of rows must satisfy to be published, whatever the model.

``Groups`` is all that a model may see of a table: how many rows each of p groups has, and how
often each value of each sensitive column stands in it.  A ``Criterion`` says which groups are
valid.  Decisions ask criteria while they search; the check of a release asks them again about the
published rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Criterion", "Groups", "SensitiveCells"]


@dataclass(frozen=True, eq=False)
class SensitiveCells:
    """How often each value of one sensitive column stands in each group.

    Parallel arrays over the c distinct pairs of group and value, ascending by group, then value.
    """

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    """The value's place among the distinct values of the column, ascending."""
    rows: NDArray[np.int64]
    total: NDArray[np.int64]
    """Shape (v,): rows of each value in the whole table, against which t-closeness measures."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Sizes of p groups, and their sensitive values."""

    rows: NDArray[np.int64]
    """Shape (p,): at least 1."""
    sensitive: Mapping[str, SensitiveCells] = field(default_factory=dict)


class Criterion(Protocol):
    """A condition on groups of rows."""

    @property
    def monotone(self) -> bool:
        """Whether a union of valid groups is always valid, so that generalizing never harms."""

    @property
    def column(self) -> str | None:
        """The sensitive column that it reads; None for those that only count rows."""

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``, such as ``{"k": 5}``."""
