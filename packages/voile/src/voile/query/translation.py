"""Predicates of SQL as expressions that mean the same, or a reason why not.

A predicate is translated node by node.  Every kind of node that may occur is listed here with the
arguments that it may have, and the kind of every part is inferred from the kinds of the columns;
whatever is not listed is refused.  What comes out is therefore built from known parts only, and
a comparison of a number with a text is found here rather than by an engine.

Meaning, where dialects differ:

* Logic has three values; a row for which a predicate is unknown does not match.
* ``/`` is division of numbers with a fraction (``7 / 2`` is 3.5), ``%`` has the sign of the
  dividend, and both by zero are unknown.
* Arithmetic of integers is exact: it is done in 128 bits, which the width of the columns' types
  shows to suffice, and in double precision where it does not.  Everything with a fraction is in
  double precision; a 32-bit float is the number that its shortest decimal says.
* Texts compare by code points; LIKE distinguishes upper and lower case, ILIKE does not, and
  neither has an escape character.  ``||`` with a missing text is missing, ``CONCAT`` skips it.
* A text in single quotes that is compared with a date or a time is read as one.

Cost: O(length of the predicate).

A ``Term`` is an expression and the kind of value that it has.  Parts that are
compared or combined must be of one kind; ``alike`` makes them so where that loses nothing, and
refuses where it would be a guess.

A refusal is in words that help to write another predicate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from voile_base.errors import QueryError
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Call, Expression, Literal, negated

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

__all__ = ["CALLED", "NUMBERS", "TIMES", "Term", "alike", "call", "translate"]

_QUOTED_LENGTH = 60

_UNSTEADY = (
    exp.Rand,
    exp.Randn,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.CurrentDatetime,
    exp.CurrentUser,
)
_UNSTEADY_NAMES = ("NOW", "RANDOM", "UUID", "GETDATE", "SYSDATE", "TODAY", "LOCALTIME")


def _source(node: Node) -> str:
    """A part of a predicate as SQL, to be quoted in a message."""
    text = node.sql()
    return text if len(text) <= _QUOTED_LENGTH else f"{text[: _QUOTED_LENGTH - 3]}..."


def _why_not(node: Node) -> str:
    """Why a kind of node has no place in a predicate."""
    if isinstance(node, (exp.Query, exp.Subquery, exp.Exists)):
        return "a predicate cannot hold a query of its own; it speaks of one row at a time"
    if isinstance(node, (exp.AggFunc, exp.Window)):
        return (
            f"{_source(node)} looks at many rows, and a predicate speaks of one row at a time; "
            "ask for aggregates in separate queries"
        )
    if isinstance(node, _UNSTEADY) or node.name.upper() in _UNSTEADY_NAMES:
        return (
            f"{_source(node)} differs from one evaluation to the next; a predicate must depend on "
            "the row alone"
        )
    if isinstance(node, exp.Escape):
        return f"{_source(node)}: ESCAPE is not understood; STARTS_WITH and REPLACE take any text"
    return (
        f"{_source(node)} is not understood in a predicate; it may hold comparisons, BETWEEN, IN, "
        "LIKE, IS NULL, AND, OR, NOT, CASE, arithmetic, and the functions ABS, SIGN, FLOOR, CEIL, "
        "MOD, COALESCE, NULLIF, CAST, EXTRACT, UPPER, LOWER, LENGTH, TRIM, LEFT, RIGHT, SUBSTR, "
        "REPLACE, CONCAT, STARTS_WITH, ENDS_WITH; a column of such a name is written in double "
        "quotes"
    )


NUMBERS = ("integer", "decimal")
TIMES = ("date", "datetime", "time")
CALLED = {
    "integer": "a number",
    "decimal": "a number",
    "text": "a text",
    "boolean": "a truth value",
    "null": "NULL",
    "date": "a date",
    "datetime": "a date and time",
    "time": "a time of day",
}
_WRITTEN = {
    "date": "'2024-12-31'",
    "datetime": "'2024-12-31 23:59:00'",
    "time": "'23:59:00'",
}
_MOMENTS: dict[str, type[date | datetime | time]] = {
    "date": date,
    "datetime": datetime,
    "time": time,
}


@dataclass(frozen=True)
class Term:
    """A translated part of a predicate."""

    expression: Expression
    kind: str
    """A key of ``CALLED``, or another kind, of values that can only be missing or not."""
    bits: int = 0
    """For an integer, a bound of the bits of its magnitude."""
    text: str | None = None
    """The value of a text in single quotes."""
    literal: bool = False
    """Whether it is a value as it was written, or one converted from that."""


def call(operation: str, *operands: Expression) -> Expression:
    """An operation on expressions."""
    return Call(operation, operands)


def _kind_called(term: Term) -> str:
    """What a term is, for people."""
    return CALLED.get(term.kind, f"a value of type {term.kind}")


def _joined(expression: Expression, terms: Sequence[Term]) -> Term:
    """A term that is one of several alike ones."""
    kind = next((term.kind for term in terms if term.kind != "null"), "null")
    return Term(expression, kind, max(term.bits for term in terms))


def _common_number(terms: Iterable[Term]) -> str:
    """The kind in which numbers are combined."""
    return "decimal" if any(term.kind == "decimal" for term in terms) else "integer"


def _as_number(term: Term, kind: str) -> Term:
    """A number as one of the given kind."""
    if kind == "decimal" and term.kind == "integer":
        number = call("decimal", term.expression)
        if isinstance(term.expression, Literal):
            number = Literal(float(term.expression.value))
        return Term(number, "decimal", term.bits, literal=term.literal)
    return term


def _as_time(term: Term, kind: str, source: str) -> Term:
    """A text in single quotes as a date, a date and time, or a time of day."""
    text = term.text or ""
    try:
        moment = _MOMENTS[kind].fromisoformat(text)
    except ValueError:
        msg = f"{source}: {text!r} is not {CALLED[kind]}; write it like {_WRITTEN[kind]}"
        raise QueryError(msg) from None
    if getattr(moment, "tzinfo", None) is not None:
        msg = f"{source}: {text!r} has an offset from UTC; leave it out"
        raise QueryError(msg)
    return Term(Literal(moment), kind, literal=True)


def alike(terms: Sequence[Term], source: str) -> list[Term]:
    """Terms that are compared with each other, made to be of one kind; NULL goes with any.

    ``_source`` is what to quote where they cannot be: raises ``QueryError``.
    """
    moment = next((term.kind for term in terms if term.kind in TIMES), None)
    if moment:
        terms = [_as_time(t, moment, source) if t.text is not None else t for t in terms]
    present = [term for term in terms if term.kind != "null"]
    kinds = {term.kind for term in present}
    if kinds <= set(NUMBERS):
        common = _common_number(present)
        return [_as_number(term, common) for term in terms]
    if len(kinds) == 1 and kinds <= set(CALLED):
        return list(terms)
    if kinds == {"date", "datetime"}:
        return [_as_timestamp(term) for term in terms]
    together = " with ".join(dict.fromkeys(_kind_called(term) for term in present))
    msg = f"{source} puts {together} together"
    if "text" in kinds and kinds <= {"text", *NUMBERS}:
        msg += "; a number is written without quotes, a text in single quotes"
    raise QueryError(msg)


def _as_timestamp(term: Term) -> Term:
    if term.kind != "date":
        return term
    moment = call("datetime", term.expression)
    if isinstance(term.expression, Literal):
        moment = Literal(datetime.combine(term.expression.value, time()))
    return Term(moment, "datetime", literal=term.literal)


_WIDEST = 126  # bits of magnitude that arithmetic in 128 bits may reach
_LARGEST_LITERAL = 10**37  # what fits in 128 bits, with room

_COMPARISONS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_DISTINCT = {exp.NullSafeEQ: "same", exp.NullSafeNEQ: "other"}
_PATTERNS = {exp.Like: "like", exp.ILike: "alike"}
_TRIMS = {"BOTH": "trim", "LEADING": "trim start", "TRAILING": "trim end"}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_CAST_TYPES = {
    "integer": "TINYINT SMALLINT MEDIUMINT INT BIGINT INT128",
    "decimal": "FLOAT DOUBLE DECIMAL",
    "text": "TEXT VARCHAR CHAR NVARCHAR NCHAR",
    "date": "DATE",
    "datetime": "DATETIME TIMESTAMP",
    "time": "TIME",
}
_CASTABLE = {
    "integer": ("integer", "decimal", "text"),
    "decimal": ("integer", "decimal", "text"),
    "text": ("integer", "text", "date"),
    "date": ("date", "datetime"),
    "datetime": ("date", "datetime"),
    "time": ("time",),
}


def translate(predicate: Node, column: Callable[[exp.Column], Term]) -> Expression:
    """A predicate as an expression; ``column`` resolves names.  Raises ``QueryError``."""
    return _Translation(column).boolean(predicate).expression


class _Translation:
    """One walk over the tree; a method or a table entry for each kind of node."""

    def __init__(self, column: Callable[[exp.Column], Term]) -> None:
        self._column = column

    def term(self, node: Node) -> Term:
        """The translation of any node."""
        translator, allowed = _NODES.get(type(node), (None, ()))
        if translator is None:
            raise QueryError(_why_not(node))
        for name, value in node.args.items():
            if value and name not in allowed:
                msg = f"{_source(node)}: {name.upper()} is not understood here"
                raise QueryError(msg)
        return translator(self, node)

    def boolean(self, node: Node) -> Term:
        """A part that must be true, false or unknown."""
        term = self.term(node)
        if term.kind == "null":
            return Term(call("boolean", Literal(None)), "boolean")
        return self._require(term, node, ("boolean",), "a condition that is true or false")

    def number(self, node: Node) -> Term:
        """A part that must be a number."""
        term = self._require(self.term(node), node, (*NUMBERS, "null"), "a number")
        return _missing("integer") if term.kind == "null" else term

    def text(self, node: Node) -> Term:
        """A part that must be a text."""
        term = self._require(self.term(node), node, ("text", "null"), "a text")
        return _missing("text") if term.kind == "null" else term

    def column(self, node: exp.Column) -> Term:
        return self._column(node)

    def paren(self, node: exp.Paren) -> Term:
        return self.term(node.this)

    def literal(self, node: exp.Literal) -> Term:
        if node.is_string:
            return Term(Literal(node.this), "text", text=node.this, literal=True)
        try:
            number = Decimal(node.this)
        except InvalidOperation:
            msg = f"{_source(node)} is not understood as a number"
            raise QueryError(msg) from None
        if node.this.isdigit() and number < _LARGEST_LITERAL:
            whole = int(number)
            return Term(Literal(whole), "integer", whole.bit_length(), literal=True)
        if not math.isfinite(float(number)):
            msg = f"{_source(node)} is too large a number"
            raise QueryError(msg)
        return Term(Literal(float(number)), "decimal", literal=True)

    def truth(self, node: exp.Boolean) -> Term:
        return Term(Literal(bool(node.this)), "boolean", literal=True)

    def null(self, node: exp.Null) -> Term:
        return Term(Literal(None), "null", literal=True)

    def junction(self, node: exp.And | exp.Or) -> Term:
        parts = [self.boolean(part).expression for part in node.flatten()]
        return Term(call("and" if isinstance(node, exp.And) else "or", *parts), "boolean")

    def negation(self, node: exp.Not) -> Term:
        return Term(negated(self.boolean(node.this).expression), "boolean")

    def comparison(self, node: exp.Binary) -> Term:
        operator = {**_COMPARISONS, **_DISTINCT}[type(node)]
        left, right = self._alike(node, [node.this, node.expression])
        return _called("boolean", operator, left, right)

    def between(self, node: exp.Between) -> Term:
        low, high = node.args["low"], node.args["high"]
        tested, least, most = self._alike(node, [node.this, low, high])
        ends = (_called("boolean", ">=", tested, least), _called("boolean", "<=", tested, most))
        return _called("boolean", "and", *ends)

    def membership(self, node: exp.In) -> Term:
        if node.args.get("query"):
            raise QueryError(_why_not(node.args["query"]))
        if not node.expressions:
            msg = f"{_source(node)}: IN needs a list of values in parentheses"
            raise QueryError(msg)
        tested, *members = self._alike(node, [node.this, *node.expressions])
        if all(member.literal for member in members):
            return _called("boolean", "in", tested, *members)
        return _called("boolean", "or", *(_called("boolean", "=", tested, it) for it in members))

    def identity(self, node: exp.Is) -> Term:
        other = node.expression
        if isinstance(other, exp.Null):
            return _called("boolean", "missing", self.term(node.this))
        if isinstance(other, exp.Boolean):
            tested = self.boolean(node.this).expression
            return Term(call("holds", tested if other.this else negated(tested)), "boolean")
        msg = f"{_source(node)}: IS is followed by NULL, NOT NULL, TRUE or FALSE"
        raise QueryError(msg)

    def pattern(self, node: exp.Like | exp.ILike) -> Term:
        tested, pattern = self.text(node.this), self.term(node.expression)
        if pattern.text is None:
            msg = f"{_source(node)}: the pattern of LIKE must be a text in single quotes"
            raise QueryError(msg)
        found = _called("boolean", _PATTERNS[type(node)], tested, pattern)
        return Term(negated(found.expression), "boolean") if node.args.get("negate") else found

    def negative(self, node: exp.Neg) -> Term:
        return self._rewritten(self.number(node.this), "negative")

    def arithmetic(self, node: exp.Binary) -> Term:
        left, right = self.number(node.this), self.number(node.expression)
        bits = {
            exp.Add: max(left.bits, right.bits) + 1,
            exp.Sub: max(left.bits, right.bits) + 1,
            exp.Mul: left.bits + right.bits,
            exp.Mod: left.bits,
        }[type(node)]
        kind = _common_number((left, right)) if bits <= _WIDEST else "decimal"
        left, right = _as_number(left, kind), _as_number(right, kind)
        return Term(call(_ARITHMETIC[type(node)], left.expression, right.expression), kind, bits)

    def division(self, node: exp.Div) -> Term:
        dividend, divisor = (
            _as_number(self.number(part), "decimal") for part in (node.this, node.expression)
        )
        return _called("decimal", "/", dividend, divisor)

    def case(self, node: exp.Case) -> Term:
        branches = node.args["ifs"]
        if node.this:  # CASE x WHEN y is CASE WHEN x = y
            conditions = [
                self.comparison(exp.EQ(this=node.this.copy(), expression=branch.this.copy()))
                for branch in branches
            ]
        else:
            conditions = [self.boolean(branch.this) for branch in branches]
        default = node.args.get("default") or exp.Null()
        results = self._alike(node, [*(branch.args["true"] for branch in branches), default])
        pairs = zip(conditions, results[:-1], strict=True)
        terms = [*(term for pair in pairs for term in pair), results[-1]]
        return _joined(call("case", *(term.expression for term in terms)), results)

    def coalesce(self, node: exp.Coalesce) -> Term:
        terms = self._alike(node, [node.this, *node.expressions])
        return _joined(call("coalesce", *(term.expression for term in terms)), terms)

    def null_if(self, node: exp.Nullif) -> Term:
        terms = self._alike(node, [node.this, node.expression])
        both = (term.expression for term in terms)
        return replace(terms[0], expression=call("null if", *both), literal=False)

    def absolute(self, node: exp.Func) -> Term:
        return self._rewritten(self.number(node.this), node.sql_name().lower())

    def rounded(self, node: exp.Func) -> Term:
        number = self.number(node.this)
        if number.kind == "integer":
            return number
        return self._rewritten(number, node.sql_name().lower())

    def concatenation(self, node: exp.DPipe) -> Term:
        return _called("text", "join", self.text(node.this), self.text(node.expression))

    def concat(self, node: exp.Concat) -> Term:
        return _called("text", "concat", *(self.text(part) for part in node.expressions))

    def changed_text(self, node: exp.Func) -> Term:
        return _called("text", node.sql_name().lower(), self.text(node.this))

    def length(self, node: exp.Length) -> Term:
        return Term(call("length", self.text(node.this).expression), "integer", 63)

    def trimmed(self, node: exp.Trim) -> Term:
        side = str(node.args.get("position") or "BOTH").upper()
        removed = node.args.get("expression")
        characters = self._literal_text(removed, node) if removed else Literal(" ")
        return Term(call(_TRIMS[side], self.text(node.this).expression, characters), "text")

    def end_of_text(self, node: exp.Func) -> Term:
        count = self._whole_number(node.expression, node, least=0)
        return Term(call(node.sql_name().lower(), self.text(node.this).expression, count), "text")

    def substring(self, node: exp.Substring) -> Term:
        parts = [
            self.text(node.this).expression,
            self._whole_number(node.args["start"], node, least=1),
        ]
        if node.args.get("length"):
            parts.append(self._whole_number(node.args["length"], node, least=0))
        return Term(call("substring", *parts), "text")

    def replaced(self, node: exp.Replace) -> Term:
        old, new = (
            self._literal_text(node.args.get(a), node) for a in ("expression", "replacement")
        )
        return Term(call("replace", self.text(node.this).expression, old, new), "text")

    def affix(self, node: exp.Func) -> Term:
        affix = self._literal_text(node.expression, node)
        name = "starts with" if isinstance(node, exp.StartsWith) else "ends with"
        return Term(call(name, self.text(node.this).expression, affix), "boolean")

    def cast(self, node: exp.Cast) -> Term:
        wanted = str(node.to.this.value)
        for kind, accepted in _CAST_TYPES.items():
            if wanted in accepted.split():
                term = self.term(node.this)
                if term.text is not None and kind in TIMES:
                    return _as_time(term, kind, _source(node))
                if term.kind not in (*_CASTABLE[kind], "null"):
                    msg = f"{_source(node)}: {_kind_called(term)} cannot become {CALLED[kind]}"
                    raise QueryError(msg)
                bits = term.bits if term.kind == "integer" else _WIDEST + 1
                return Term(call(kind, term.expression), kind, bits)
        msg = f"{_source(node)}: use INTEGER, DOUBLE, VARCHAR, DATE, TIMESTAMP or TIME"
        raise QueryError(msg)

    def date_part(self, node: Node) -> Term:
        if isinstance(node, exp.Extract):
            part, moment = str(node.this.name).upper(), node.expression
        else:
            part, moment = type(node).__name__.upper(), node.this
        if part not in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
            msg = f"{_source(node)}: use YEAR, QUARTER, MONTH, DAY, HOUR, MINUTE or SECOND"
            raise QueryError(msg)
        clock = part in ("HOUR", "MINUTE", "SECOND")
        kinds = ("datetime", "time") if clock else ("date", "datetime")
        called = "a time" if clock else "a date"
        term = self._require(self.term(moment), moment, kinds, called)
        return Term(call(part.lower(), term.expression), "integer", 16)

    def _require(self, term: Term, node: Node, kinds: Iterable[str], called: str) -> Term:
        if term.kind not in kinds:
            msg = f"{_source(node)} is {_kind_called(term)} where {called} is needed"
            raise QueryError(msg)
        return term

    def _rewritten(self, term: Term, operation: str) -> Term:
        return Term(call(operation, term.expression), term.kind, term.bits)

    def _alike(self, node: Node, parts: Sequence[Node]) -> list[Term]:
        """Parts that are compared with each other, made to be of one kind."""
        return alike([self.term(part) for part in parts], _source(node))

    def _literal_text(self, node: Node | None, whole: Node) -> Expression:
        if not (isinstance(node, exp.Literal) and node.is_string and node.this):
            msg = f"{_source(whole)}: the text to look for and to put must stand in single quotes"
            raise QueryError(msg)
        return Literal(node.this)

    def _whole_number(self, node: Node, whole: Node, least: int) -> Expression:
        digits = node.this if isinstance(node, exp.Literal) else ""
        if not (digits.isdigit() and least <= int(digits) < 2**31):
            msg = f"{_source(whole)}: positions and lengths must be whole numbers from {least} up"
            raise QueryError(msg)
        return Literal(int(digits))


def _called(kind: str, operation: str, *terms: Term) -> Term:
    """An operation on terms, whose value is of this kind."""
    return Term(call(operation, *(term.expression for term in terms)), kind)


def _missing(kind: str) -> Term:
    """A missing value of a kind."""
    return Term(call(kind, Literal(None)), kind)


_T = _Translation
_BINARY = ("this", "expression")
_NODES: Mapping[type[Node], tuple[Callable[[Any, Any], Term], tuple[str, ...]]] = {
    exp.Column: (_T.column, ("this", "table")),
    exp.Paren: (_T.paren, ("this",)),
    exp.Literal: (_T.literal, ("this", "is_string")),
    exp.Boolean: (_T.truth, ("this",)),
    exp.Null: (_T.null, ()),
    exp.And: (_T.junction, _BINARY),
    exp.Or: (_T.junction, _BINARY),
    exp.Not: (_T.negation, ("this",)),
    **dict.fromkeys(_COMPARISONS, (_T.comparison, _BINARY)),
    **dict.fromkeys(_DISTINCT, (_T.comparison, _BINARY)),
    exp.Between: (_T.between, ("this", "low", "high")),
    exp.In: (_T.membership, ("this", "expressions", "query")),
    exp.Is: (_T.identity, _BINARY),
    exp.Like: (_T.pattern, (*_BINARY, "negate")),
    exp.ILike: (_T.pattern, (*_BINARY, "negate")),
    exp.Neg: (_T.negative, ("this",)),
    **dict.fromkeys(_ARITHMETIC, (_T.arithmetic, _BINARY)),
    exp.Div: (_T.division, (*_BINARY, "typed", "safe")),
    exp.Case: (_T.case, ("this", "ifs", "default")),
    exp.Coalesce: (_T.coalesce, ("this", "expressions", "is_nvl", "is_null")),
    exp.Nullif: (_T.null_if, _BINARY),
    exp.Abs: (_T.absolute, ("this",)),
    exp.Sign: (_T.absolute, ("this",)),
    exp.Floor: (_T.rounded, ("this",)),
    exp.Ceil: (_T.rounded, ("this",)),
    exp.DPipe: (_T.concatenation, (*_BINARY, "safe")),
    exp.Concat: (_T.concat, ("expressions", "safe", "coalesce")),
    exp.Upper: (_T.changed_text, ("this",)),
    exp.Lower: (_T.changed_text, ("this",)),
    exp.Length: (_T.length, ("this",)),
    exp.Trim: (_T.trimmed, ("this", "expression", "position")),
    exp.Left: (_T.end_of_text, _BINARY),
    exp.Right: (_T.end_of_text, _BINARY),
    exp.Substring: (_T.substring, ("this", "start", "length")),
    exp.Replace: (_T.replaced, ("this", "expression", "replacement")),
    exp.StartsWith: (_T.affix, _BINARY),
    exp.EndsWith: (_T.affix, _BINARY),
    exp.Cast: (_T.cast, ("this", "to")),
    exp.Extract: (_T.date_part, _BINARY),
    exp.Year: (_T.date_part, ("this",)),
    exp.Month: (_T.date_part, ("this",)),
    exp.Day: (_T.date_part, ("this",)),
}
