"""Among how many somebody hides: k-anonymity, k^m-anonymity of sets of items, and delta-presence.

k-anonymity: everybody hides among at least k rows
--------------------------------------------------
Source: Sweeney, "k-anonymity: a model for protecting privacy" (2002), Definition 3.

Claim: each group of rows that share their published quasi-identifiers has at least k rows, so
that who knows somebody's quasi-identifiers cannot tell which of k rows is theirs.  It says nothing
about the sensitive values of these rows; see ``l_diversity`` and ``t_closeness``.  Where persons
or households have several rows, a group has rows of at least k of them.

Cost: O(p).

How exposed rows are is measured by the sizes of the groups that share quasi-identifiers: a row is
unique if no other row agrees with it in all of them, and whoever knows them finds it.  That is
private: computed from private rows without protection.  Cost: O(g log g) for g groups.

k^m-anonymity: who knows m items of somebody finds k rows, or none
------------------------------------------------------------------
Source: Terrovitis, Mamoulis and Kalnis, "Privacy-preserving anonymization of set-valued data" (VLDB
2008), Definition 1, within each group as in Poulis, Loukides, Gkoulalas-Divanis and Skiadopoulos,
"Anonymizing data with relational and transaction attributes" (ECML PKDD 2013), Definition 4:
(k, k^m)-anonymity.  A cell of the column holds a set, its items between separators.  Each
combination of up to m items that some row of a group has stands in at least k rows of it.

Monotone: what k rows of a part have, k rows of a union have.

Cost: O(c s^m) for c cells of sets of s items.

delta-presence: nobody learns from a group who of a population belongs to a part of it
--------------------------------------------------------------------------------------
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
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.models.criteria import (
    Criterion,
    Groups,
    StatedCriterion,
    at_most,
    decimal_parameter,
    whole_parameter,
)
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values.value import NumberOrText, checked

__all__ = [
    "DeltaPresence",
    "GroupExposure",
    "ItemSetAnonymity",
    "KAnonymity",
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

    @staticmethod
    def of(sizes: NDArray[np.int64]) -> GroupExposure:
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
