"""l-diversity: the sensitive values of a group are well represented.

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond
k-anonymity" (TKDD 2007): distinct (section 4), entropy (Definition 4.1), recursive
(Definition 4.2).

Claim, for a group whose sensitive values number r_1 >= r_2 >= ... >= r_m rows:

- distinct: m >= l;
- entropy: the entropy of the shares r_i / n is at least log l;
- recursive: r_1 < c (r_l + r_(l+1) + ... + r_m), so that a value stays below a bounded share even
  after l - 2 others were ruled out.

Where persons have several rows (``Groups.units``), each person of a group weighs one in it, r is
what the values weigh, and each kind asks besides for l values (the least whole number that is not
smaller) of as many different persons, which is no more than it says where each person is one row.

A missing sensitive value counts as a value of its own.  All three are monotone, a union of valid
groups is valid, where no person stands in several.  Distinct: values only come together, whoever
has them.  Entropy: it is concave, so that a mixture has at least the mixed entropies.  Recursive:
the l - 1 most frequent values of a union number at most as many rows as those of its parts
together, so its tail has at least theirs, and its r_1 at most theirs.  The last two ask for sums of
the parts, and a person who stands in several weighs one in their union, too: see ``units``.

Algorithm: sums over the cells of each group.  Distinct and recursive compare whole numbers.
Entropy is compared in floats, and within their error of log l again with 50 digits, where a
difference below 1e-35 counts as equal: l values of equally many rows are exactly entropy
l-diverse.

Cost: O(c) for c cells; recursive sorts them, O(c log c).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import lru_cache
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import (
    Criterion,
    Groups,
    StatedCriterion,
    at_most,
    decimal_parameter,
    sums,
    whole_numbers,
    whole_parameter,
)
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values.value import NumberOrText, checked

__all__ = ["DistinctDiversity", "EntropyDiversity", "Kind", "LDiversity", "RecursiveDiversity"]

Kind = Literal["distinct", "entropy", "recursive"]

_DIGITS = 50
_EQUAL = Decimal("1e-35")


@dataclass(frozen=True)
class DistinctDiversity:
    """At least ``l`` different sensitive values in every group, l at least 2."""

    l: int
    column: str
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_l(self.l)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        return groups.different(self.column, self.l)

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        return {"l": {"value": self.l, "kind": "distinct", "column": self.column}}


@dataclass(frozen=True)
class EntropyDiversity:
    """Sensitive values as uncertain as ``l`` equally frequent ones; l above 1, also a fraction."""

    l: Decimal | float | str
    column: str
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number = decimal_parameter("l", self.l, "a number above 1")
        if number <= 1:
            msg = "l must be above 1: the entropy of a group's sensitive values is at least log l"
            raise PlanError(msg)
        object.__setattr__(self, "l", number)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        assert isinstance(self.l, Decimal)
        cells = groups.sensitive[self.column]
        size = groups.sizes(self.column).astype(np.float64)
        count = cells.rows.astype(np.float64)
        p = len(size)
        most = np.log(size)
        entropy = most - sums(count * np.log(count), cells.group, p) / size
        difference = entropy - float(self.l.ln())
        answer = np.asarray(difference >= 0, dtype=np.bool_)
        terms = np.bincount(cells.group, minlength=p)
        # Each of the terms added up carries a rounding error of about 1e-16 of the logarithm.
        error = 1e-15 * (terms + 10) * (1 + most)
        near = np.flatnonzero(np.abs(difference) <= error)
        start = np.append(0, np.cumsum(terms))
        # Most ties are of m values of equally many rows, whose entropy is log m.
        unlike = cells.rows != cells.rows[start[cells.group]]
        uneven = np.bincount(cells.group, unlike, minlength=p)[near] > 0
        answer[near] = terms[near] >= ceil(self.l)
        for group in near[uneven].tolist():
            counts = cells.rows[start[group] : start[group + 1]]
            shape = tuple(np.sort(counts // np.gcd.reduce(counts)).tolist())
            answer[group] = _entropy_reaches(shape, self.l)
        return _of_different(groups, self.column, ceil(self.l), answer)

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        assert isinstance(self.l, Decimal)
        return {"l": {"value": json_number(self.l), "kind": "entropy", "column": self.column}}


@dataclass(frozen=True)
class RecursiveDiversity:
    """(c, l)-diversity: r_1 < c (r_l + ... + r_m) in every group; l at least 2, c above 0."""

    l: int
    c: Decimal | float | str
    column: str
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_l(self.l)
        number = decimal_parameter("c", self.c, "a number above 0")
        if number <= 0:
            msg = "c must be above 0: the most frequent value has less than c times the tail's rows"
            raise PlanError(msg)
        object.__setattr__(self, "c", number)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which of the p groups are valid, shape (p,)."""
        assert isinstance(self.c, Decimal)
        cells = groups.sensitive[self.column]
        p = len(groups.rows)
        order = np.lexsort((-cells.rows, cells.group))
        count = cells.rows[order]
        first = np.searchsorted(cells.group, np.arange(p))
        rank = np.arange(len(count)) - first[cells.group]
        tail = sums(np.where(rank >= self.l - 1, count, 0), cells.group, p)
        largest = count[first] if p else count
        # r_1 < c tail  <=>  not (tail / r_1 <= 1 / c); multiplied out, so that all is whole
        top, bottom = self.c.as_integer_ratio()
        bound = int(groups.sizes(self.column).max(initial=0)) * max(top, bottom)
        left = whole_numbers(tail, bound) * top
        right = whole_numbers(largest, bound) * bottom
        return _of_different(groups, self.column, self.l, ~at_most(left, right, Decimal(1)))

    def document(self) -> Mapping[str, object]:
        """Its parameters as they stand in ``release.json``."""
        assert isinstance(self.c, Decimal)
        value = {"value": self.l, "kind": "recursive", "c": json_number(self.c)}
        return {"l": {**value, "column": self.column}}


@checked(PlanError)
@dataclass(frozen=True)
class LDiversity(StatedCriterion):
    """The sensitive values of each group are l-diverse."""

    name: ClassVar[str] = "l-diversity"

    column: str
    l: NumberOrText
    """A whole number, but for the entropy kind."""
    kind: Kind = "distinct"
    c: NumberOrText | None = None
    """Of the recursive kind alone."""

    def __post_init__(self) -> None:
        if (self.c is None) == (self.kind == "recursive"):
            msg = (
                'l needs c where kind = "recursive", for example '
                '{ value = 3, kind = "recursive", c = 2 }, and nowhere else'
            )
            raise PlanError(msg)
        self._criterion()

    def criterion(self, values: DistinctValues, plan: Plan | None) -> Criterion:
        """The criterion of its kind, whatever the values are."""
        del values, plan
        return self._criterion()

    def _criterion(self) -> Criterion:
        match self.kind:
            case "distinct":
                return DistinctDiversity(_whole(self.l), self.column)
            case "entropy":
                return EntropyDiversity(self.l, self.column)
            case "recursive":
                assert self.c is not None
                return RecursiveDiversity(_whole(self.l), self.c, self.column)

    @property
    def words(self) -> str:
        """What holds of the values of the column in a group."""
        match self.kind:
            case "distinct":
                return f"number at least {self.l} different ones"
            case "entropy":
                return f"are as uncertain as {self.l} equally frequent ones (by entropy)"
            case "recursive":
                return (
                    f"are recursively ({self.c}, {self.l})-diverse: the most frequent one has "
                    f"fewer than {self.c} times the rows of all but the {_whole(self.l) - 1} most "
                    "frequent ones"
                )


def _whole(number: object) -> int:
    """A decimal that is whole as an integer; anything else is left to be refused."""
    assert isinstance(number, Decimal)
    return int(number) if number == int(number) else number  # type: ignore[return-value]


def _of_different(
    groups: Groups,
    column: str,
    l: int,
    valid: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which valid groups have l values of different persons; implied where each is one row."""
    if groups.units is None or not valid.any():
        return valid
    return valid & groups.different(column, l)


def _check_l(value: int) -> None:
    whole_parameter("l", value, 2, "how many sensitive values are well represented in a group")


@lru_cache(maxsize=4096)
def _entropy_reaches(counts: tuple[int, ...], least: Decimal) -> bool:
    """Whether the entropy of counts is at least log ``least``, with 50 digits."""
    with localcontext(prec=_DIGITS):
        size = Decimal(sum(counts))
        spread = sum((count * Decimal(count).ln() for count in counts), Decimal(0))
        return size.ln() - spread / size - least.ln() >= -_EQUAL
