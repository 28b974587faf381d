"""Sensitive values of a group beside those of all rows: t-closeness, and limits for their shares.

t-closeness: they are distributed almost as those of all rows
-------------------------------------------------------------
Source: Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity"
(ICDE 2007), Definition 2; the distances of section 4: equal (4.1, equation for D with ground
distance 1), ordered (4.1, numerical attributes), hierarchical (4.2).

Claim: the earth mover's distance between P, the distribution of a sensitive column in a group, and
Q, its distribution in all rows (``SensitiveCells.total``), is at most t.  The ground distance of
two values is

- equal: 1 for two different values, so that D is the total variation (1/2) sum |p_i - q_i|;
- ordered: |i - j| / (v - 1) for the i-th and j-th of v values in order, so that
  D = sum_i |P(first i) - Q(first i)| / (v - 1); a missing value is the first of them;
- hierarchical: level of the lowest common ancestor over the height H of the tree.

Departure: the paper adds up, over the nodes N of the tree, height(N) / H times what must move
between the children of N.  What moves there is half of (sum of |surplus| over the children) minus
|surplus of N|, so the sum telescopes: D is the mean, over the levels 0 to H - 1 of the hierarchy,
of the total variation between P and Q generalized to that level.  That is what is computed here.

All three are monotone where no person stands in several groups: D is convex in P, and a union's P
is a mixture of its parts'.  Where persons have several rows, P is the distribution of what somebody
meets who draws one of the persons of the group and then one of that person's rows in it.  Q is the
same of the whole table as one group: what was to be learnt before anybody knew in which group a
person stands, and at distance 0 from a release that shows no more than that.

Values that stand in no row of the whole table do not count.  Algorithm: sums over the cells of
each group in whole numbers, and an exact comparison with t.

Cost: O(c) for c cells; ordered O(c log v); hierarchical O(H c log c).

Shares: beta-likeness and delta-disclosure
------------------------------------------
**beta-likeness**: Cao and Karras, "Publishing microdata with a robust privacy guarantee" (PVLDB
2012), Definitions 2 (basic) and 3 (enhanced).  For each value of a sensitive column with share p in
all rows and q in a group, (q - p) / p <= beta; of the enhanced kind <= min(beta, -ln p), which
bounds frequent values more strictly, so that q is below 1 however large beta is.  A value that is
rarer in a group than in all rows breaks nothing.

**delta-disclosure**: Brickell and Shmatikov, "The cost of privacy: destruction of data-mining
utility in anonymized data publishing" (KDD 2008), Definition 2.  |ln(q / p)| < delta for each
value, so that each group holds every value: one that is absent has q = 0.

Both are monotone where no person stands in several groups: a union's shares are a mixture of those
of its parts.  Where persons have several rows, shares are those of ``t_closeness``.

Algorithm: whole numbers, compared exactly, but for -ln p and exp(delta), which are taken to 28
digits; no quotient of whole numbers is equal to one of them.

Cost: O(c) for c cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import (
    Criterion,
    Groups,
    SensitiveCells,
    StatedCriterion,
    at_most,
    decimal_parameter,
    sums,
    whole_numbers,
)
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values.value import NumberOrText, checked

__all__ = [
    "BetaLikeness",
    "DeltaDisclosure",
    "Distance",
    "EqualCloseness",
    "HierarchicalCloseness",
    "OrderedCloseness",
    "TCloseness",
]

Distance = Literal["equal", "ordered", "hierarchical"]

_ORDERED = ("number", "date", "datetime", "time", "duration", "boolean")
"""Kinds of values whose order means something."""


class _Distances(NamedTuple):
    """Exact distances of p groups: whole numbers (p,), as fractions."""

    numerator: NDArray[Any]
    denominator: NDArray[Any]


@dataclass(frozen=True)
class _Closeness:
    """What the three distances share; t lies between 0 and 1, both included."""

    t: Decimal | float | str
    column: str
    monotone: ClassVar[bool] = True
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        number = decimal_parameter("t", self.t, "a number between 0 and 1")
        if not 0 <= number <= 1:
            msg = "t must be between 0 and 1: the largest distance from the whole table"
            raise PlanError(msg)
        object.__setattr__(self, "t", number)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        assert isinstance(self.t, Decimal)
        exact = self._measured(groups)
        return at_most(exact.numerator, exact.denominator, self.t)

    def distances(self, groups: Groups) -> NDArray[np.float64]:
        """The distance of each group from the whole table, shape (p,), between 0 and 1."""
        exact = self._measured(groups)
        answer: NDArray[np.float64] = (exact.numerator / exact.denominator).astype(np.float64)
        return answer

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        assert isinstance(self.t, Decimal)
        return {"t": {"value": json_number(self.t), "kind": self.kind, "column": self.column}}

    def _measured(self, groups: Groups) -> _Distances:
        if not len(groups.rows):
            return _Distances(groups.rows, groups.rows)
        return self._distances(groups.sizes(self.column), groups.sensitive[self.column])

    def _distances(self, rows: NDArray[np.int64], cells: SensitiveCells) -> _Distances:
        raise NotImplementedError


@dataclass(frozen=True)
class EqualCloseness(_Closeness):
    """All different values are equally far from each other."""

    kind: ClassVar[str] = "equal"

    def _distances(self, rows: NDArray[np.int64], cells: SensitiveCells) -> _Distances:
        size, all_rows = _sizes(rows, cells, steps=1)
        return _Distances(_variation(size, all_rows, cells), 2 * size * all_rows)


@dataclass(frozen=True)
class OrderedCloseness(_Closeness):
    """Values are as far from each other as their ranks in ascending order."""

    kind: ClassVar[str] = "ordered"

    def _distances(self, rows: NDArray[np.int64], cells: SensitiveCells) -> _Distances:
        present = cells.total > 0
        v = int(present.sum())
        size, all_rows = _sizes(rows, cells, steps=v)
        rank = (np.cumsum(present) - 1)[cells.value]
        # Shares of the first i values, as counts: in the whole table, below[i - 1]; in a group
        # they are constant from one of its cells to the next.
        below = whole_numbers(np.cumsum(cells.total[present]), _reach(rows, cells, v))
        area = np.concatenate([below[:1] * 0, np.cumsum(below)])
        stop = np.append(rank[1:], v)
        last = np.append(np.flatnonzero(np.diff(cells.group)), len(rank) - 1)
        stop[last] = v - 1
        start = np.minimum(rank, stop)
        first = np.searchsorted(cells.group, np.arange(len(rows)))
        held = np.cumsum(cells.rows)
        held -= (held - cells.rows)[first][cells.group]
        owner = size[cells.group]
        level = held.astype(size.dtype) * all_rows
        # Up to ``cross`` the whole table is at or below the group, behind it above.
        cross = np.searchsorted(below, level // owner, side="right")
        cross = np.clip(cross, start, stop)
        surplus = (2 * cross - start - stop) * level
        deficit = owner * (area[stop] + area[start] - 2 * area[cross])
        before = size * area[rank[first]]
        numerator = sums(surplus + deficit, cells.group, len(rows)) + before
        return _Distances(numerator, size * all_rows * max(v - 1, 1))


@dataclass(frozen=True)
class HierarchicalCloseness(_Closeness):
    """Values are as far from each other as their lowest common ancestor is high.

    ``hierarchy`` has the codes of the column's distinct values; a top level of several values is
    taken to have one more node above it.
    """

    hierarchy: BoundHierarchy
    kind: ClassVar[str] = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hierarchy.column != self.column:
            msg = f"t is asked for column {self.column!r} with the hierarchy of another column"
            raise PlanError(msg)

    def _distances(self, rows: NDArray[np.int64], cells: SensitiveCells) -> _Distances:
        levels = self.hierarchy.codes
        rooted = levels[:-1] if len(np.unique(levels[-1])) == 1 else levels
        size, all_rows = _sizes(rows, cells, steps=len(levels))
        numerator = sum(
            (_variation(size, all_rows, _generalized(cells, codes)) for codes in rooted),
            size * 0,
        )
        return _Distances(numerator, 2 * size * all_rows * max(len(rooted), 1))


def _reach(rows: NDArray[np.int64], cells: SensitiveCells, steps: int) -> int:
    """What no sum of products can exceed."""
    return 4 * int(rows.max(initial=1)) * int(cells.total.sum()) * max(steps, 1)


def _sizes(rows: NDArray[np.int64], cells: SensitiveCells, steps: int) -> tuple[NDArray[Any], int]:
    """Sizes of the groups, wide enough for products, and the number of rows of the whole table."""
    return whole_numbers(rows, _reach(rows, cells, steps)), int(cells.total.sum())


def _variation(size: NDArray[Any], all_rows: int, cells: SensitiveCells) -> NDArray[Any]:
    """Sum of |p_i - q_i| over all values, in units of 1 / (group size times all rows)."""
    observed = cells.rows.astype(size.dtype) * all_rows
    expected = cells.total[cells.value] * size[cells.group]
    # Values that the group lacks contribute q_i: all of Q but what its cells take.
    shifted = abs(observed - expected) - expected
    total: NDArray[Any] = sums(shifted, cells.group, len(size)) + size * all_rows
    return total


def _generalized(cells: SensitiveCells, codes: NDArray[np.int32]) -> SensitiveCells:
    """The cells with values replaced by their generalized ones."""
    width = int(codes.max(initial=0)) + 1
    key, member = np.unique(cells.group * width + codes[cells.value], return_inverse=True)
    rows = np.zeros(len(key), dtype=np.int64)
    np.add.at(rows, member, cells.rows)
    total = np.zeros(width, dtype=np.int64)
    np.add.at(total, codes, cells.total)
    return SensitiveCells(key // width, key % width, rows, total)


@checked(PlanError)
@dataclass(frozen=True)
class TCloseness(StatedCriterion):
    """The sensitive values of each group are distributed almost as those of all rows."""

    name: ClassVar[str] = "t-closeness"
    of_all_rows: ClassVar[bool] = True

    column: str
    t: NumberOrText
    """Between 0 and 1, both included."""
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        EqualCloseness(self.t, self.column)

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion | None:
        """The criterion of its distance; raises ``PlanError`` where the column has none such.

        The distance on a tree needs the plan, which has the tree.
        """
        match self.distance:
            case "equal":
                return EqualCloseness(self.t, self.column)
            case "ordered":
                if values.kind not in _ORDERED and len(values) > values.missing:
                    msg = (
                        f'[method] t: distance = "ordered" is one of numbers, dates and times, and '
                        f"column {self.column!r} holds values of kind {values.kind!r}; choose "
                        '"hierarchical" or "equal"'
                    )
                    raise PlanError(msg)
                return OrderedCloseness(self.t, self.column)
            case "hierarchical":
                if plan is None:
                    return None
                declared = plan.column(self.column)
                if declared.hierarchy is None:
                    msg = (
                        f'[method] t: distance = "hierarchical" needs a hierarchy of column '
                        f"{self.column!r}; declare one in [columns.{self.column}], or choose "
                        "another distance"
                    )
                    raise PlanError(msg)
                hierarchy = declared.bind_hierarchy(self.column, values)
                return HierarchicalCloseness(self.t, self.column, hierarchy)

    @property
    def words(self) -> str:
        """What holds of the values of the column in a group."""
        return (
            f"are distributed within {self.distance} distance {self.t} of those of all rows "
            "of the private table, left out ones included"
        )


_Kind = Literal["basic", "enhanced"]


def _shares(groups: Groups, column: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Of each cell q and p, shape (c,) each, in units of 1 / (size of its group times all rows)."""
    cells = groups.sensitive[column]
    rows, size = int(cells.total.sum()), groups.sizes(column)
    largest = rows * rows
    usual = whole_numbers(cells.total[cells.value], largest)
    expected = usual * whole_numbers(size[cells.group], largest)
    return whole_numbers(cells.rows, largest) * rows, expected


@dataclass(frozen=True)
class _Likeness:
    """At most this gain of a value's share over that in all rows."""

    beta: Decimal
    kind: _Kind
    column: str
    monotone: ClassVar[bool] = True

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        cells = groups.sensitive[self.column]
        shown, expected = _shares(groups, self.column)
        fine = at_most(shown, expected, 1 + self.beta)
        if self.kind == "enhanced":
            for total in np.unique(cells.total[cells.value]).tolist():
                gain = (Decimal(int(cells.total.sum())) / Decimal(total)).ln()
                if gain < self.beta:
                    same = cells.total[cells.value] == total
                    fine[same] &= at_most(shown[same], expected[same], 1 + gain)
        broken = np.bincount(cells.group[~fine], minlength=len(groups.rows))
        return np.asarray(broken == 0)

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        return {"beta": json_number(self.beta), "kind": self.kind, "column": self.column}


@checked(PlanError)
@dataclass(frozen=True)
class BetaLikeness(StatedCriterion):
    """As a plan states it; raises ``PlanError``."""

    name: ClassVar[str] = "beta-likeness"
    of_all_rows: ClassVar[bool] = True

    column: str
    beta: NumberOrText
    """The largest gain, above 0; 1 lets a share double."""
    kind: _Kind = "enhanced"

    def __post_init__(self) -> None:
        number = decimal_parameter("beta", self.beta, "a number above 0")
        if number <= 0:
            msg = "beta must be above 0: how much a share may gain; 1 lets it double"
            raise PlanError(msg)
        object.__setattr__(self, "beta", number)

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion:
        """The same for all columns."""
        del values, plan
        assert isinstance(self.beta, Decimal)
        return _Likeness(self.beta, self.kind, self.column)

    @property
    def words(self) -> str:
        """What holds in a group."""
        gain = f"by at most {self.beta} times their share of all rows"
        return f"have shares that exceed those of all rows {gain} ({self.kind} beta-likeness)"


@dataclass(frozen=True)
class _Disclosure:
    """Shares within this factor of those of all rows, both ways."""

    delta: Decimal
    column: str
    monotone: ClassVar[bool] = True

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        cells = groups.sensitive[self.column]
        shown, expected = _shares(groups, self.column)
        factor = self.delta.exp()
        fine = at_most(shown, expected, factor) & at_most(expected, shown, factor)
        held = np.bincount(cells.group[fine], minlength=len(groups.rows))
        return np.asarray(held == (cells.total > 0).sum())

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        return {"delta": json_number(self.delta), "column": self.column}


@checked(PlanError)
@dataclass(frozen=True)
class DeltaDisclosure(StatedCriterion):
    """As a plan states it; raises ``PlanError``."""

    name: ClassVar[str] = "delta-disclosure"
    of_all_rows: ClassVar[bool] = True

    column: str
    delta: NumberOrText
    """The largest logarithm of a quotient of shares, above 0, at most 100."""

    def __post_init__(self) -> None:
        number = decimal_parameter("delta", self.delta, "a number above 0, at most 100")
        if not 0 < number <= 100:
            msg = "delta must be above 0 and at most 100: the largest |ln(q / p)| of two shares"
            raise PlanError(msg)
        object.__setattr__(self, "delta", number)

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion:
        """The same for all columns."""
        del values, plan
        assert isinstance(self.delta, Decimal)
        return _Disclosure(self.delta, self.column)

    @property
    def words(self) -> str:
        """What holds in a group."""
        return f"are {self.delta}-disclosure private: |ln(q / p)| of their shares is below it"
