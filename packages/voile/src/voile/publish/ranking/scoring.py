"""Scores: what each value of each ranking column adds.

A score is a weighted sum of functions of one column each, all of which rise with it.  Weights,
values and powers are exact, so that ties are ties and nothing else.  Roots and logarithms are
rounded to ``DECIMALS`` decimals first, the same on every machine.  Where lower is better a value
counts negatively; a text counts by its place in the declared order, from 1.

Engines ask for exact and for near scores, with a bound on how far these may lie apart: the double x
stands for a number within a share r of its magnitude, and M is the largest magnitude.

    w x          |w| M r
    w x ** n     |w| M**n ((1 + r)**n - 1)
    w sqrt(x)    |w| sqrt(M) r, and half a unit of the last decimal
    w ln(x)      |w| -ln(1 - r), and the same half; log10 less

To each comes the rounding of a few operations in double precision.

Cost: O(d) for d distinct values; an exact root or logarithm takes some microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import lcm, log1p
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.expression import Expression, GrowingFunction
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Plan
from voile.table.best_rows import ValueScores
from voile.table.private import PrivateTable
from voile_base.errors import PlanError, TableError, nearest

__all__ = ["DECIMALS", "Scoring"]

DECIMALS = 9
"""Roots and logarithms are rounded to so many decimals."""
_DIGITS = 40
_SAFE = 2**61
_ROUNDING = 16 * 2.0**-53
"""More than the relative error of the few operations that a near term takes."""
_CALENDAR = ("date", "datetime", "time", "duration")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scoring:
    """How rows are scored by all ranking columns of a plan; a ``RowScore``."""

    expression: Expression

    @classmethod
    def of_weights(cls, weights: Mapping[str, Decimal] | None, plan: Plan) -> Scoring:
        """A weighted sum of the ranking columns; None: each counts 1.

        Weights are above 0, and count negatively where the plan says that lower is better.  Raises
        ``PlanError`` where columns and weights do not go together.
        """
        columns = _ranking_columns(plan)
        given = dict.fromkeys(columns, Decimal(1)) if weights is None else weights
        _require_same(given, columns)
        signed = {
            GrowingFunction(column): Fraction(given[column]) * (-1 if _lower(plan, column) else 1)
            for column in columns
        }
        return cls(Expression(signed))

    @classmethod
    def of_expression(cls, expression: Expression, plan: Plan) -> Scoring:
        """An expression, whose signs say which values are better; see ``expression``.

        Raises ``PlanError`` where columns and expression do not go together.
        """
        columns = _ranking_columns(plan)
        _require_same({measure.column for measure in expression.weights}, columns)
        for measure, weight in expression.weights.items():
            if weight > 0 and _lower(plan, measure.column):
                msg = (
                    f"by adds {measure} to the score, and [columns.{measure.column}] says that "
                    "lower is better; subtract it, or leave `better` out"
                )
                raise PlanError(msg)
        return cls(expression)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are scored."""
        return tuple(dict.fromkeys(measure.column for measure in self.expression.weights))

    def require_kinds(self, table: PrivateTable) -> None:
        """Raise ``TableError`` for a column whose values have no order to rank by."""
        declared = table.plan.columns
        unordered = [c for c in self.columns if declared.get(c, ColumnPlan()).order is None]
        for column, kind in table.kinds(unordered).items():
            if kind in _CALENDAR:
                msg = (
                    f"[roles] ranking: column {column!r} holds values of kind {kind}, which no "
                    "weight can multiply; rank by a number, such as days since a date"
                )
                raise TableError(msg)
            if kind != "number":
                msg = (
                    f"[roles] ranking: column {column!r} holds values of kind {kind}, which have "
                    f"no order to rank by; declare in [columns.{column}] "
                    'order = ["worst", ..., "best"], or type = "number" if it should hold numbers'
                )
                raise TableError(msg)

    def exact(self, column: str, values: ExactNumbers) -> ValueScores:
        """What values of a column add; raises ``TableError`` where one cannot be scored."""
        terms = [_exact(values, measure, weight) for measure, weight in self._terms(column)]
        denominator = lcm(*(term.denominator for term in terms))
        units = [_times(t.units, denominator // t.denominator) for t in terms]
        return ValueScores(_sum(units), denominator)

    def near(self, column: str, values: Floats) -> Floats:
        """What values of a column add, rounded; NaN or infinite where that is not possible."""
        with np.errstate(all="ignore"):
            terms = [_weighted(_near(values, m), weight) for m, weight in self._terms(column)]
            return terms[0] if len(terms) == 1 else np.sum(terms, axis=0)

    def error(self, column: str, low: float, high: float, relative: float) -> float:
        """The most by which ``near`` of a double differs from ``exact`` of what it stands for.

        The double lies in [``low``, ``high``], and within a share ``relative`` of its magnitude of
        the number that it stands for.
        """
        ends = np.array([low, high])
        error = 0.0
        with np.errstate(all="ignore"):
            for measure, weight in self._terms(column):
                largest = float(np.abs(_near(ends, measure)).max())
                own = largest * _ROUNDING + _propagated(measure, largest, relative)
                error += abs(float(weight)) * own
        return error * (1 + _ROUNDING)

    def _terms(self, column: str) -> Iterator[tuple[GrowingFunction, Fraction]]:
        weights = self.expression.weights.items()
        return ((measure, weight) for measure, weight in weights if measure.column == column)


class _Function(NamedTuple):
    """A function that is not exact."""

    exact: Callable[[Decimal], Decimal]
    """Correctly rounded."""
    near: Callable[[Floats], Floats]
    needs_positive: bool


_FUNCTIONS: Mapping[str, _Function] = {
    "sqrt": _Function(Decimal.sqrt, np.sqrt, needs_positive=False),
    "ln": _Function(Decimal.ln, np.log, needs_positive=True),
    "log10": _Function(Decimal.log10, np.log10, needs_positive=True),
}


def _ranking_columns(plan: Plan) -> tuple[str, ...]:
    columns = plan.roles.ranking
    if not columns:
        msg = '[roles] ranking names no column; name those to rank by, such as ["score"]'
        raise PlanError(msg)
    return columns


def _require_same(weighted: Collection[str], columns: tuple[str, ...]) -> None:
    for name in sorted(weighted):
        if name not in columns:
            msg = f"by: {name!r} is no ranking column of [roles]{nearest(name, columns)}"
            raise PlanError(msg)
    for name in columns:
        if name not in weighted:
            msg = f"by gives no weight to the ranking column {name!r}"
            raise PlanError(msg)


def _lower(plan: Plan, column: str) -> bool:
    return plan.columns.get(column, ColumnPlan()).better == "lower"


def _exact(values: ExactNumbers, measure: GrowingFunction, weight: Fraction) -> ValueScores:
    """A term of each value."""
    least = int(values.units.min(initial=1))
    if measure.function:
        function = _FUNCTIONS[measure.function]
        if least < 0 or (function.needs_positive and not least):
            wrong = values.units <= 0 if function.needs_positive else values.units < 0
            _refuse(measure, "above 0" if function.needs_positive else "at least 0", wrong)
        units = np.empty(len(values), dtype=object)
        with localcontext(prec=_DIGITS):
            units[:] = [
                int((function.exact(value) * 10**DECIMALS).to_integral_value())
                for value in values.decimals()
            ]
        scale = DECIMALS
    elif measure.power > 1:
        if least < 0:
            _refuse(measure, "at least 0", values.units < 0)
        units = values.units.astype(object) ** measure.power
        scale = values.scale * measure.power
    else:
        units, scale = values.units, values.scale
    return ValueScores(_times(units, weight.numerator), 10**scale * weight.denominator)


def _times(units: NDArray[Any], factor: int) -> NDArray[Any]:
    """Units times a whole number, without overflow."""
    largest = max(abs(int(units.max(initial=0))), abs(int(units.min(initial=0))))
    if largest * abs(factor) >= _SAFE:
        units = units.astype(object)
    product: NDArray[Any] = units * factor
    return product


def _sum(units: list[NDArray[Any]]) -> NDArray[Any]:
    if len(units) == 1:
        return units[0]
    total: NDArray[Any] = np.sum([each.astype(object) for each in units], axis=0)
    return total


def _near(values: Floats, measure: GrowingFunction) -> Floats:
    """A measure of each value, NaN where it has none."""
    if measure.function:
        return _FUNCTIONS[measure.function].near(values)
    if measure.power == 1:
        return values
    powers: Floats = np.where(values < 0, np.nan, values) ** measure.power
    return powers


def _weighted(values: Floats, weight: Fraction) -> Floats:
    return values if weight == 1 else values * float(weight)


def _propagated(measure: GrowingFunction, largest: float, relative: float) -> float:
    """By how much a measure of a double differs from that of the number that it stands for."""
    rounding = 10.0**-DECIMALS
    match measure.function:
        case None:
            return largest * ((1 + relative) ** measure.power - 1 + measure.power * _ROUNDING)
        case "sqrt":
            return largest * relative + rounding
        case _:
            return -log1p(-relative) + rounding


def _refuse(measure: GrowingFunction, must: str, wrong: NDArray[np.bool_]) -> NoReturn:
    count = int(np.count_nonzero(wrong))
    msg = (
        f"by: {measure} is for values {must}, and {count} different values of the column are not; "
        "use the column itself, or leave those rows out"
    )
    raise TableError(msg)
