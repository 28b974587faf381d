"""delta-presence: nobody learns from a group who of a population belongs to a part of it.

Source: Nergiz, Atzori and Clifton, "Hiding the presence of individuals from shared databases"
(SIGMOD 2007), Definition 1.  The table is the public population, and a column says of each row
whether it belongs to the part whose presence is hidden.  In each group the share that belongs lies
between two bounds, so that the belief of whoever finds a person's group does, too.

A group's share is compared exactly, as whole numbers.  Monotone where no person stands in several
groups: a union's share is a mixture of its parts'.  Where persons have several rows, shares are
those of ``t_closeness``.

Cost: O(c) for c cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import (
    Criterion,
    Groups,
    StatedCriterion,
    at_most,
    decimal_parameter,
)
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.values.value import NumberOrText, checked

__all__ = ["DeltaPresence"]


@dataclass(frozen=True)
class _Presence:
    """A share of one value between two bounds."""

    low: Decimal
    high: Decimal
    value: int
    """The rank of the value; -1 where no row has it."""
    member: str
    column: str
    monotone: ClassVar[bool] = True

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        cells, size = groups.sensitive[self.column], groups.sizes(self.column)
        present = np.zeros(len(size), dtype=size.dtype)
        there = cells.value == self.value
        present[cells.group[there]] = cells.rows[there]
        absent = size - present
        return at_most(present, size, self.high) & at_most(absent, size, 1 - self.low)

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        return {
            "low": json_number(self.low),
            "high": json_number(self.high),
            "member": self.member,
            "column": self.column,
        }


@checked(PlanError)
@dataclass(frozen=True)
class DeltaPresence(StatedCriterion):
    """As a plan states it; raises ``PlanError``."""

    name: ClassVar[str] = "delta-presence"

    column: str
    member: str
    """The value of those who belong to the part, as the table has it."""
    high: NumberOrText
    """The largest share of a group, from 0 to 1."""
    low: NumberOrText = 0
    """The least share of a group; 0 lets a group tell that nobody of it belongs."""

    def __post_init__(self) -> None:
        bounds = [decimal_parameter(n, getattr(self, n), "a number from 0 to 1")
                  for n in ("low", "high")]  # fmt: skip
        if not 0 <= bounds[0] <= bounds[1] <= 1 or not bounds[1]:
            msg = "low and high must be shares with 0 <= low <= high <= 1, and high above 0"
            raise PlanError(msg)
        object.__setattr__(self, "low", bounds[0])
        object.__setattr__(self, "high", bounds[1])

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion:
        """The bounds for the rank of the value; raises ``PlanError`` where no row has it."""
        assert isinstance(self.low, Decimal)
        assert isinstance(self.high, Decimal)
        place = values.texts.index(self.member) if self.member in values.texts else -1
        if place < 0 and plan is not None:
            msg = (
                f"delta-presence: no row of column {self.column!r} has the value of member; name "
                "the value of those whose presence is hidden"
            )
            raise PlanError(msg)
        return _Presence(self.low, self.high, place, self.member, self.column)

    @property
    def words(self) -> str:
        """What holds in a group."""
        return (
            f"are {self.member!r} in at least {self.low} and at most {self.high} of the rows "
            "(delta-presence)"
        )
