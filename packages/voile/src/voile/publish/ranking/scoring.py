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

Scores as an expression over ranking columns: ``2 * math + reading - 0.5 * time``.

A score is a sum of terms, each a weight times a growing function of one column, so that what a row
scores is a look-up for each of its values.  That leaves out functions of several columns at once.

    sum      a + b, a - b
    weight   2 * a, a / 3, -(a + b) * 0.5
    column   math, `math score`, "math score"
    function sqrt(a), ln(a), log10(a), and whole powers a ** 2, each of one column

A negative weight means that lower is better.  A number by itself shifts all scores alike.

Nothing is evaluated but by the rules above: the text is split by one pattern and read by recursive
descent.  Cost: O(length of the text).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from decimal import Decimal, localcontext
from fractions import Fraction
from math import lcm, log1p
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Plan
from voile.table.best_rows import ValueScores
from voile.table.private import PrivateTable
from voile_base.errors import PlanError, TableError, nearest
from voile_base.ondemand import dataclass

__all__ = ["DECIMALS", "FUNCTIONS", "Scoring", "parse"]


FUNCTIONS = ("sqrt", "ln", "log10")
_LONGEST = 10_000
_DEEPEST = 50
_HIGHEST_POWER = 9
_ALLOWED = (
    'a score adds up numbers times columns (`math score` or "math score" where a name is no plain '
    "word); of one column alone also sqrt, ln, log10 and whole powers such as math ** 2"
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?!\w)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|`(?P<backtick>[^`]+)`"
    r'|"(?P<quoted>[^"]+)"'
    r"|(?P<sign>\*\*|[-+*/()^]))"
)


@dataclass(frozen=True)
class _GrowingFunction:
    """A growing function of one column: the column itself, a root, a logarithm or a power."""

    column: str
    function: str | None = None
    """One of ``FUNCTIONS``, or None."""
    power: int = 1

    def __str__(self) -> str:
        """As it may be written in an expression."""
        if self.function:
            return f"{self.function}(`{self.column}`)"
        return f"`{self.column}`" + (f" ** {self.power}" if self.power > 1 else "")


@dataclass(frozen=True)
class _Expression:
    """A sum of weighted measures, and a number that shifts it."""

    weights: Mapping[_GrowingFunction, Fraction] = field(default_factory=dict)
    shift: Fraction = Fraction(0)

    def plus(self, other: _Expression) -> _Expression:
        """The sum of two expressions."""
        weights = dict(self.weights)
        for measure, weight in other.weights.items():
            weights[measure] = weights.get(measure, Fraction(0)) + weight
        return _Expression(weights, self.shift + other.shift)

    def times(self, factor: Fraction) -> _Expression:
        """The expression with all weights multiplied."""
        return _Expression({m: w * factor for m, w in self.weights.items()}, self.shift * factor)

    @property
    def column(self) -> str | None:
        """The column, if that is all there is."""
        if self.shift or len(self.weights) != 1:
            return None
        ((measure, weight),) = self.weights.items()
        return (
            measure.column if measure == _GrowingFunction(measure.column) and weight == 1 else None
        )


def parse(text: str) -> _Expression:
    """The expression that a text writes down; each weight is above or below 0.

    Raises ``PlanError``, which says what is allowed, for any other text, for a column that cancels
    out, and for one that both raises and lowers the score.
    """
    if len(text) > _LONGEST:
        msg = f"by has {len(text):,} characters, and may have {_LONGEST:,}"
        raise PlanError(msg)
    reader = _Reader(_tokens(text))
    found = reader.sum()
    if reader.kind != "end":
        _refuse(f"{reader.value!r} is out of place")
    if not found.weights:
        _refuse("it names no column")
    for measure, weight in found.weights.items():
        if not weight:
            msg = f"by: {measure} has no weight, or cancels out; leave it out"
            raise PlanError(msg)
    for column in {measure.column for measure in found.weights}:
        signs = {
            weight > 0 for measure, weight in found.weights.items() if measure.column == column
        }
        if len(signs) > 1:
            msg = (
                f"by: the column {column!r} both raises and lowers the score, so that neither "
                "higher nor lower values are better; give all of its terms one sign"
            )
            raise PlanError(msg)
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    """Kind and value of each piece, then an end."""
    tokens: list[tuple[str, str]] = []
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            piece = text[position:].split()[0]
            _refuse(f"{piece!r} is neither a number nor a name")
        kind = "column" if match.lastgroup in {"backtick", "quoted"} else match.lastgroup
        tokens.append((kind, match[match.lastgroup]))
        position = match.end()
    return [*tokens, ("end", "the end")]


class _Reader:
    """Reads tokens from left to right; each method reads what its name says."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._left = tokens[::-1]
        self._depth = 0

    @property
    def kind(self) -> str:
        """Kind of the next token."""
        return self._left[-1][0]

    @property
    def value(self) -> str:
        """The next token."""
        return self._left[-1][1]

    def sum(self) -> _Expression:
        """Products with + and - between them."""
        self._depth += 1
        if self._depth > _DEEPEST:
            _refuse("its parentheses are nested too deeply")
        total = self._product()
        while sign := self._sign("+", "-"):
            total = total.plus(self._product().times(Fraction(1 if sign == "+" else -1)))
        self._depth -= 1
        return total

    def _product(self) -> _Expression:
        product = self._signed()
        while sign := self._sign("*", "/"):
            factor = self._signed()
            if sign == "*" and not product.weights:
                product, factor = factor, product
            if factor.weights:
                _refuse("columns are multiplied or divided by each other")
            if sign == "/" and not factor.shift:
                _refuse("it divides by 0")
            number = factor.shift if sign == "*" else 1 / factor.shift
            product = product.times(number)
        return product

    def _signed(self) -> _Expression:
        factor = 1
        while sign := self._sign("+", "-"):
            factor *= 1 if sign == "+" else -1
        return self._power().times(Fraction(factor))

    def _power(self) -> _Expression:
        base = self._atom()
        sign = self._sign("**", "^")
        if not sign:
            return base
        kind, power = self._left.pop()
        if base.column is None or kind != "number" or not re.fullmatch("[1-9]", power):
            _refuse(f"a power is that of one column, from 1 to {_HIGHEST_POWER}")
        return _one(_GrowingFunction(base.column, power=int(power)))

    def _atom(self) -> _Expression:
        kind, value = self._left.pop()
        match kind:
            case "number":
                return _Expression(shift=Fraction(value))
            case "column":
                return _one(_GrowingFunction(value))
            case "word" if self.value == "(":
                return self._function(value)
            case "word":
                return _one(_GrowingFunction(value))
        if value != "(":
            _refuse(f"{value!r} stands where a number or a column should")
        return self._inside()

    def _function(self, name: str) -> _Expression:
        if name not in FUNCTIONS:
            _refuse(f"there is no function {name!r}{nearest(name, FUNCTIONS)}")
        self._left.pop()
        inside = self._inside()
        if inside.column is None:
            _refuse(f"{name} is that of one column")
        return _one(_GrowingFunction(inside.column, function=name))

    def _inside(self) -> _Expression:
        """What stands in parentheses, the first of which has been read."""
        inside = self.sum()
        if not self._sign(")"):
            _refuse("a parenthesis is not closed")
        return inside

    def _sign(self, *signs: str) -> str | None:
        """The next token, read, if it is one of these."""
        if self.kind == "sign" and self.value in signs:
            return self._left.pop()[1]
        return None


def _one(measure: _GrowingFunction) -> _Expression:
    return _Expression({measure: Fraction(1)})


def _refuse(what: str) -> NoReturn:
    msg = f"by is no expression to rank by: {what}. Allowed: {_ALLOWED}"
    raise PlanError(msg)


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

    expression: _Expression

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
            _GrowingFunction(column): Fraction(given[column]) * (-1 if _lower(plan, column) else 1)
            for column in columns
        }
        return cls(_Expression(signed))

    @classmethod
    def of_expression(cls, expression: _Expression, plan: Plan) -> Scoring:
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

    def _terms(self, column: str) -> Iterator[tuple[_GrowingFunction, Fraction]]:
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
    return plan.column(column).better == "lower"


def _exact(values: ExactNumbers, measure: _GrowingFunction, weight: Fraction) -> ValueScores:
    """A term of each value."""
    least = int(values.units.min(initial=1))
    if measure.function:
        function = _FUNCTIONS[measure.function]
        if least < 0 or (function.needs_positive and not least):
            wrong = values.units <= 0 if function.needs_positive else values.units < 0
            _refuse_measure(measure, "above 0" if function.needs_positive else "at least 0", wrong)
        units = np.empty(len(values), dtype=object)
        with localcontext(prec=_DIGITS):
            units[:] = [
                int((function.exact(value) * 10**DECIMALS).to_integral_value())
                for value in values.decimals()
            ]
        scale = DECIMALS
    elif measure.power > 1:
        if least < 0:
            _refuse_measure(measure, "at least 0", values.units < 0)
        units = values.units.astype(object) ** measure.power
        scale = values.scale * measure.power
    else:
        units, scale = values.units, values.scale
    return ValueScores(_times(units, weight.numerator), 10**scale * weight.denominator)


def _times(units: NDArray[np.generic], factor: int) -> NDArray[Any]:
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


def _near(values: Floats, measure: _GrowingFunction) -> Floats:
    """A measure of each value, NaN where it has none."""
    if measure.function:
        return _FUNCTIONS[measure.function].near(values)
    if measure.power == 1:
        return values
    powers: Floats = np.where(values < 0, np.nan, values) ** measure.power
    return powers


def _weighted(values: Floats, weight: Fraction) -> Floats:
    return values if weight == 1 else values * float(weight)


def _propagated(measure: _GrowingFunction, largest: float, relative: float) -> float:
    """By how much a measure of a double differs from that of the number that it stands for."""
    rounding = 10.0**-DECIMALS
    match measure.function:
        case None:
            return largest * ((1 + relative) ** measure.power - 1 + measure.power * _ROUNDING)
        case "sqrt":
            return largest * relative + rounding
        case _:
            return -log1p(-relative) + rounding


def _refuse_measure(measure: _GrowingFunction, must: str, wrong: NDArray[np.bool_]) -> NoReturn:
    count = int(np.count_nonzero(wrong))
    msg = (
        f"by: {measure} is for values {must}, and {count} different values of the column are not; "
        "use the column itself, or leave those rows out"
    )
    raise TableError(msg)
