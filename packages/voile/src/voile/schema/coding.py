"""Codings of a column: a value becomes another one by a public rule, whatever row it stands in.

    top-coding      a number above ``bound`` becomes ``shown``
    bottom-coding   a number below ``bound`` becomes ``shown``
    rounding        a number becomes the nearest multiple of ``base``, the greater of two
    recoding        a value becomes its node of the column's hierarchy at ``level``

A release states its codings, and whoever knows a value can work out what became of it.  A missing
value stays missing, but where the highest level of a hierarchy covers it.

Numbers are exact: nothing is rounded but by ``rounding``.  Cost: vectorized over the d distinct
values of a column where they fit in machine words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.schema.hierarchy.generalized import DistinctValues, GeneralizedValues
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile.schema.plan import ColumnPlan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values.value import Exact, Value

__all__ = [
    "BottomCoded",
    "Coding",
    "Recoded",
    "Rounded",
    "TopCoded",
    "coded_values",
    "described_after",
    "strays",
]


class TopCoded(Value):
    """Numbers above a bound show one number."""

    kind: Literal["top-coding"] = "top-coding"
    bound: Exact
    shown: Exact

    def of(self, numbers: ExactNumbers) -> ExactNumbers:
        """What numbers become."""
        numbers, bound, shown = _common(numbers, self.bound, self.shown)
        return replace(numbers, units=np.where(numbers.units > bound, shown, numbers.units))


class BottomCoded(Value):
    """Numbers below a bound show one number."""

    kind: Literal["bottom-coding"] = "bottom-coding"
    bound: Exact
    shown: Exact

    def of(self, numbers: ExactNumbers) -> ExactNumbers:
        """What numbers become."""
        numbers, bound, shown = _common(numbers, self.bound, self.shown)
        return replace(numbers, units=np.where(numbers.units < bound, shown, numbers.units))


class Rounded(Value):
    """Numbers show the nearest multiple of a base; halfway the greater one."""

    kind: Literal["rounding"] = "rounding"
    base: Annotated[Exact, Field(gt=0)]

    def of(self, numbers: ExactNumbers) -> ExactNumbers:
        """What numbers become."""
        numbers, base = _common(numbers, self.base)
        return replace(numbers, units=(2 * numbers.units + base) // (2 * base) * base)


class Recoded(Value):
    """Values show their node of the column's hierarchy at one level."""

    kind: Literal["recoding"] = "recoding"
    level: Annotated[int, Field(ge=1)]


Coding = Annotated[TopCoded | BottomCoded | Rounded | Recoded, Field(discriminator="kind")]


@dataclass(frozen=True, eq=False)
class _CodedValues:
    """The distinct values of a coded column, and what each value of the column became."""

    values: DistinctValues
    codes: NDArray[np.int64]
    """Shape (d,): for each value before, the value after."""


def coded_values(
    column: str, described: ColumnPlan, values: DistinctValues, codings: Sequence[Coding]
) -> _CodedValues:
    """What the distinct values of a column become by codings, one after the other.

    Raises ``PlanError`` for numbers that are none, and for a level that a hierarchy lacks.
    """
    codes = np.arange(len(values))
    for coding in codings:
        step = _coded(column, described, values, coding)
        values, codes = step.values, step.codes[codes]
        described = described_after(described, [coding])
    return _CodedValues(values, codes)


def described_after(described: ColumnPlan, codings: Sequence[Coding]) -> ColumnPlan:
    """What a plan's facts of a column are, of the coded column."""
    for coding in codings:
        if isinstance(coding, Recoded):
            described = ColumnPlan(kind="nominal", nulls=described.nulls)
            continue
        bounds = described.bounds
        if bounds is not None:
            if isinstance(coding, TopCoded) and coding.bound < bounds[1]:
                bounds = bounds[0], max(coding.bound, coding.shown)
            elif isinstance(coding, BottomCoded) and coding.bound > bounds[0]:
                bounds = min(coding.bound, coding.shown), bounds[1]
            elif isinstance(coding, Rounded):
                bounds = _nearest(bounds[0], coding.base), _nearest(bounds[1], coding.base)
            bounds = bounds if bounds[0] < bounds[1] else None
        described = replace(described, bounds=bounds, outside="refuse", values=None, edges=None)
    return described


def strays(numbers: ExactNumbers, codings: Sequence[Coding]) -> int:
    """How many numbers no coded column shows; of recoded ones nobody can tell without a plan."""
    least: Decimal | None = None
    most: Decimal | None = None
    base: Decimal | None = None
    constants: list[Decimal] = []
    for coding in codings:
        match coding:
            case TopCoded():
                most = coding.bound if most is None else min(most, coding.bound)
                constants = [coding.shown if it > coding.bound else it for it in constants]
                constants.append(coding.shown)
            case BottomCoded():
                least = coding.bound if least is None else max(least, coding.bound)
                constants = [coding.shown if it < coding.bound else it for it in constants]
                constants.append(coding.shown)
            case Rounded():
                base = coding.base
                constants = [_nearest(it, base) for it in constants]
                least = None if least is None else _nearest(least, base)
                most = None if most is None else _nearest(most, base)
            case Recoded():
                return 0
    fits = np.ones(len(numbers), dtype=np.bool_)
    for limit, above in ((least, True), (most, False)):
        if limit is not None:
            scaled, unit = _common(numbers, limit)
            fits &= scaled.units >= unit if above else scaled.units <= unit
    if base is not None:
        scaled, unit = _common(numbers, base)
        fits &= (scaled.units % unit == 0).astype(np.bool_)
    for constant in constants:
        scaled, unit = _common(numbers, constant)
        fits |= scaled.units == unit
    return int((~fits).sum())


def _coded(
    column: str, described: ColumnPlan, values: DistinctValues, coding: Coding
) -> _CodedValues:
    if isinstance(coding, Recoded):
        return _recoded(column, described, values, coding.level)
    if values.numbers is None:
        msg = (
            f"{coding.kind} is for numbers, and column {column!r} holds values of kind "
            f"{values.kind!r}; leave it out of columns, or take recoding by its hierarchy"
        )
        raise PlanError(msg)
    numbers = coding.of(values.numbers)
    units, place = np.unique(numbers.units, return_inverse=True)
    first = int(values.missing)
    codes = np.concatenate([np.zeros(first, np.int64), place.reshape(-1) + first])
    different = ExactNumbers(units, numbers.scale)
    texts = (*[None] * first, *different.texts())
    return _CodedValues(DistinctValues(values.kind, texts, different), codes)


def _recoded(
    column: str, described: ColumnPlan, values: DistinctValues, level: int
) -> _CodedValues:
    if described.hierarchy is None and described.order is None:
        msg = (
            f"recoding needs the hierarchy of column {column!r}: say [columns.{column}] hierarchy "
            "or intervals"
        )
        raise PlanError(msg)
    hierarchy = described.bind_hierarchy(column, values)
    if level > hierarchy.height:
        msg = (
            f"level = {level} is above the hierarchy of column {column!r}, whose highest level is "
            f"{hierarchy.height}; name a level from 1 to {hierarchy.height}"
        )
        raise PlanError(msg)
    labels = _node_texts(hierarchy.values[level])
    if labels is None:
        return _CodedValues(values, np.arange(len(values)))
    named = [labels[code] for code in hierarchy.codes[level].tolist()]
    missing = [text for text in (None,) if text in named]
    different: list[str | None] = [*missing, *sorted({text for text in named if text is not None})]
    place = {text: number for number, text in enumerate(different)}
    codes = np.array([place[text] for text in named], dtype=np.int64)
    return _CodedValues(DistinctValues("text", tuple(different)), codes)


def _node_texts(nodes: GeneralizedValues) -> Sequence[str | None] | None:
    """How nodes of a level read, intervals as ``[low, high]``; None for values as they are."""
    if nodes.texts is not None:
        return nodes.texts
    if nodes.low is None or nodes.high is None:
        return None
    ends = zip(nodes.low.texts(), nodes.high.texts(), strict=True)
    return [*[None] * int(nodes.missing), *(f"[{low}, {high}]" for low, high in ends)]


def _common(numbers: ExactNumbers, *others: Decimal) -> tuple[Any, ...]:
    """Numbers and others in one unit; Python's integers where machine words are too short."""
    scale = max(numbers.scale, *(decimals_of(other) for other in others))
    numbers = numbers.rescaled(scale)
    units = [units_of(other, scale) for other in others]
    if any(abs(unit) >= _SAFE for unit in units) or (
        numbers.units.dtype != object
        and len(numbers)
        and (int(np.abs(numbers.units).max()) >= _SAFE)
    ):
        numbers = replace(numbers, units=numbers.units.astype(object))
    return (numbers, *units)


_SAFE = 2**60
"""Twice as much, and one unit more, still fits in a machine word."""


def _nearest(number: Decimal, base: Decimal) -> Decimal:
    return (number / base + Decimal("0.5")).to_integral_value(ROUND_FLOOR) * base
