"""Shares of sensitive values in a group beside those in all rows: beta-likeness, delta-disclosure.

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
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import (
    Criterion,
    Groups,
    StatedCriterion,
    at_most,
    decimal_parameter,
    whole_numbers,
)
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.values.value import NumberOrText, checked

__all__ = ["BetaLikeness", "DeltaDisclosure"]

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
