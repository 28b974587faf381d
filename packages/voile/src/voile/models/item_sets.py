"""k^m-anonymity of sets of items: who knows m items of somebody finds k rows, or none.

Source: Terrovitis, Mamoulis and Kalnis, "Privacy-preserving anonymization of set-valued data" (VLDB
2008), Definition 1, within each group as in Poulis, Loukides, Gkoulalas-Divanis and Skiadopoulos,
"Anonymizing data with relational and transaction attributes" (ECML PKDD 2013), Definition 4:
(k, k^m)-anonymity.  A cell of the column holds a set, its items between separators.  Each
combination of up to m items that some row of a group has stands in at least k rows of it.

Monotone: what k rows of a part have, k rows of a union have.

Cost: O(c s^m) for c cells of sets of s items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.models.criteria import Criterion, Groups, StatedCriterion
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.values.value import checked

__all__ = ["ItemSetAnonymity"]

_MOST = 5_000_000
"""Combinations of items that are counted."""


@dataclass(frozen=True)
class _ItemSets:
    """Combinations of up to m items stand in k rows."""

    k: int
    m: int
    separator: str
    column: str
    sets: tuple[tuple[str, ...], ...]
    """The items of each distinct value, ascending."""
    monotone: ClassVar[bool] = True

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        first, combination, number = self._combinations
        cells = groups.sensitive[self.column]
        held = first[cells.value + 1] - first[cells.value]
        ends = np.cumsum(held)
        run = np.arange(int(ends[-1]) if len(ends) else 0)
        run += np.repeat(first[cells.value] - ends + held, held)
        pair = np.repeat(cells.group, held) * max(number, 1) + combination[run]
        different, place = np.unique(pair, return_inverse=True)
        rows = np.bincount(place.reshape(-1), np.repeat(cells.rows, held), len(different))
        broken = different[rows < self.k] // max(number, 1)
        return np.asarray(np.bincount(broken, minlength=len(groups.rows)) == 0)

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        return {"k": self.k, "m": self.m, "separator": self.separator, "column": self.column}

    @cached_property
    def _combinations(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Where the combinations of each value begin, these as numbers, and how many there are."""
        numbers: dict[tuple[str, ...], int] = {}
        first, found = [0], []
        for items in self.sets:
            for size in range(1, min(self.m, len(items)) + 1):
                found += [numbers.setdefault(some, len(numbers))
                          for some in combinations(items, size)]  # fmt: skip
            first.append(len(found))
        return np.array(first, np.int64), np.array(found, np.int64), len(numbers)


@checked(PlanError)
@dataclass(frozen=True)
class ItemSetAnonymity(StatedCriterion):
    """As a plan states it; raises ``PlanError``."""

    name: ClassVar[str] = "km-anonymity"

    column: str
    k: Annotated[int, Field(ge=2)]
    """Rows of a group that have each combination of items, at least."""
    m: Annotated[int, Field(ge=1)]
    """How many items of a person somebody may know."""
    separator: Annotated[str, Field(min_length=1)] = "|"
    """What stands between the items of a cell."""

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion:
        """The sets that the values hold; raises ``PlanError`` where too many must be counted."""
        if plan is not None and plan.roles.unit is not None:
            msg = (
                f"km-anonymity of column {self.column!r} counts rows, and the plan names persons "
                "with several; make a row of each person, with all items of it"
            )
            raise PlanError(msg)
        sets = tuple(
            tuple(sorted({item.strip() for item in (text or "").split(self.separator)} - {""}))
            for text in values.texts
        )
        number = sum(comb(len(s), size) for s in sets for size in range(1, self.m + 1))
        if number > _MOST:
            msg = (
                f"km-anonymity of column {self.column!r} has {number:,} combinations of up to "
                f"{self.m} items to count, and at most {_MOST:,} are counted; ask for a smaller m"
            )
            raise PlanError(msg)
        return _ItemSets(self.k, self.m, self.separator, self.column, sets)

    @property
    def words(self) -> str:
        """What holds in a group."""
        return (
            f"have each combination of up to {self.m} items in at least {self.k} rows "
            "(k^m-anonymity)"
        )
