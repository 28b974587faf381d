"""Scores as an expression over ranking columns: ``2 * math + reading - 0.5 * time``.

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
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

from voile_base.errors import PlanError, nearest

__all__ = ["FUNCTIONS", "Expression", "GrowingFunction", "parse"]

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
class GrowingFunction:
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
class Expression:
    """A sum of weighted measures, and a number that shifts it."""

    weights: Mapping[GrowingFunction, Fraction] = field(default_factory=dict)
    shift: Fraction = Fraction(0)

    def plus(self, other: Expression) -> Expression:
        """The sum of two expressions."""
        weights = dict(self.weights)
        for measure, weight in other.weights.items():
            weights[measure] = weights.get(measure, Fraction(0)) + weight
        return Expression(weights, self.shift + other.shift)

    def times(self, factor: Fraction) -> Expression:
        """The expression with all weights multiplied."""
        return Expression({m: w * factor for m, w in self.weights.items()}, self.shift * factor)

    @property
    def column(self) -> str | None:
        """The column, if that is all there is."""
        if self.shift or len(self.weights) != 1:
            return None
        ((measure, weight),) = self.weights.items()
        return (
            measure.column if measure == GrowingFunction(measure.column) and weight == 1 else None
        )


def parse(text: str) -> Expression:
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

    def sum(self) -> Expression:
        """Products with + and - between them."""
        self._depth += 1
        if self._depth > _DEEPEST:
            _refuse("its parentheses are nested too deeply")
        total = self._product()
        while sign := self._sign("+", "-"):
            total = total.plus(self._product().times(Fraction(1 if sign == "+" else -1)))
        self._depth -= 1
        return total

    def _product(self) -> Expression:
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

    def _signed(self) -> Expression:
        factor = 1
        while sign := self._sign("+", "-"):
            factor *= 1 if sign == "+" else -1
        return self._power().times(Fraction(factor))

    def _power(self) -> Expression:
        base = self._atom()
        sign = self._sign("**", "^")
        if not sign:
            return base
        kind, power = self._left.pop()
        if base.column is None or kind != "number" or not re.fullmatch("[1-9]", power):
            _refuse(f"a power is that of one column, from 1 to {_HIGHEST_POWER}")
        return _one(GrowingFunction(base.column, power=int(power)))

    def _atom(self) -> Expression:
        kind, value = self._left.pop()
        match kind:
            case "number":
                return Expression(shift=Fraction(value))
            case "column":
                return _one(GrowingFunction(value))
            case "word" if self.value == "(":
                return self._function(value)
            case "word":
                return _one(GrowingFunction(value))
        if value != "(":
            _refuse(f"{value!r} stands where a number or a column should")
        return self._inside()

    def _function(self, name: str) -> Expression:
        if name not in FUNCTIONS:
            _refuse(f"there is no function {name!r}{nearest(name, FUNCTIONS)}")
        self._left.pop()
        inside = self._inside()
        if inside.column is None:
            _refuse(f"{name} is that of one column")
        return _one(GrowingFunction(inside.column, function=name))

    def _inside(self) -> Expression:
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


def _one(measure: GrowingFunction) -> Expression:
    return Expression({measure: Fraction(1)})


def _refuse(what: str) -> NoReturn:
    msg = f"by is no expression to rank by: {what}. Allowed: {_ALLOWED}"
    raise PlanError(msg)
