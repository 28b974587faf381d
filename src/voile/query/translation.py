"""Predicates of SQL as predicates of Polars SQL that mean the same, or a reason why not.

A predicate is translated node by node.  Every kind of node that may occur is listed here with the
arguments that it may have, and the kind of every part is inferred from the kinds of the columns;
whatever is not listed is refused.  What comes out is therefore built from known parts only, and
a comparison of a number with a text is found here rather than by the engine.

Meaning, where dialects differ or Polars departs from SQL:

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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from voile.errors import QueryError
from voile.query.refusals import source, why_not
from voile.query.terms import (
    CALLED,
    NUMBERS,
    TIMES,
    Term,
    alike,
    as_number,
    as_time,
    balanced,
    common_number,
    joined,
    kind_called,
    quoted_text,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

__all__ = ["translate"]

_WIDEST = 126  # bits of magnitude that arithmetic in 128 bits may reach
_LARGEST_LITERAL = 10**37  # Polars reads integers of up to 38 digits

_COMPARISONS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_DISTINCT = {exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM"}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_CAST_TYPES = {
    "integer": ("INT128", "TINYINT SMALLINT MEDIUMINT INT BIGINT INT128"),
    "decimal": ("DOUBLE", "FLOAT DOUBLE DECIMAL"),
    "text": ("VARCHAR", "TEXT VARCHAR CHAR NVARCHAR NCHAR"),
    "date": ("DATE", "DATE"),
    "datetime": ("TIMESTAMP", "DATETIME TIMESTAMP"),
    "time": ("TIME", "TIME"),
}
_CASTABLE = {
    "integer": ("integer", "decimal", "text"),
    "decimal": ("integer", "decimal", "text"),
    "text": ("integer", "text", "date"),
    "date": ("date", "datetime"),
    "datetime": ("date", "datetime"),
    "time": ("time",),
}


def translate(predicate: Node, column: Callable[[exp.Column], Term]) -> str:
    """A predicate in Polars SQL; ``column`` resolves names.  Raises ``QueryError``."""
    return _Translation(column).boolean(predicate).sql


class _Translation:
    """One walk over the tree; a method or a table entry for each kind of node."""

    def __init__(self, column: Callable[[exp.Column], Term]) -> None:
        self._column = column

    def term(self, node: Node) -> Term:
        """The translation of any node."""
        translator, allowed = _NODES.get(type(node), (None, ()))
        if translator is None:
            raise QueryError(why_not(node))
        for name, value in node.args.items():
            if value and name not in allowed:
                msg = f"{source(node)}: {name.upper()} is not understood here"
                raise QueryError(msg)
        return translator(self, node)

    def boolean(self, node: Node) -> Term:
        """A part that must be true, false or unknown."""
        term = self.term(node)
        if term.kind == "null":
            return Term("CAST(NULL AS BOOLEAN)", "boolean")
        return self._require(term, node, ("boolean",), "a condition that is true or false")

    def number(self, node: Node) -> Term:
        """A part that must be a number."""
        term = self._require(self.term(node), node, (*NUMBERS, "null"), "a number")
        return Term("CAST(NULL AS INT128)", "integer") if term.kind == "null" else term

    def text(self, node: Node) -> Term:
        """A part that must be a text."""
        term = self._require(self.term(node), node, ("text", "null"), "a text")
        return Term("CAST(NULL AS VARCHAR)", "text") if term.kind == "null" else term

    def column(self, node: exp.Column) -> Term:
        return self._column(node)

    def paren(self, node: exp.Paren) -> Term:
        return self.term(node.this)

    def literal(self, node: exp.Literal) -> Term:
        if node.is_string:
            return Term(quoted_text(node.this), "text", text=node.this, literal=True)
        try:
            number = Decimal(node.this)
        except InvalidOperation:
            msg = f"{source(node)} is not understood as a number"
            raise QueryError(msg) from None
        if node.this.isdigit() and number < _LARGEST_LITERAL:
            return Term(str(int(number)), "integer", int(number).bit_length(), literal=True)
        if not math.isfinite(float(number)):
            msg = f"{source(node)} is too large a number"
            raise QueryError(msg)
        return Term(f"CAST({float(number)!r} AS DOUBLE)", "decimal", literal=True)

    def truth(self, node: exp.Boolean) -> Term:
        return Term("TRUE" if node.this else "FALSE", "boolean", literal=True)

    def null(self, node: exp.Null) -> Term:
        return Term("NULL", "null", literal=True)

    def junction(self, node: exp.And | exp.Or) -> Term:
        parts = [self.boolean(part).sql for part in node.flatten()]
        return Term(balanced("AND" if isinstance(node, exp.And) else "OR", parts), "boolean")

    def negation(self, node: exp.Not) -> Term:
        return Term(f"(NOT {self.boolean(node.this).sql})", "boolean")

    def comparison(self, node: exp.Binary) -> Term:
        operator = {**_COMPARISONS, **_DISTINCT}[type(node)]
        left, right = self._alike(node, [node.this, node.expression])
        return Term(f"({left.sql} {operator} {right.sql})", "boolean")

    def between(self, node: exp.Between) -> Term:
        low, high = node.args["low"], node.args["high"]
        terms = self._alike(node, [node.this, low, high])
        return Term("({} BETWEEN {} AND {})".format(*(term.sql for term in terms)), "boolean")

    def membership(self, node: exp.In) -> Term:
        if node.args.get("query"):
            raise QueryError(why_not(node.args["query"]))
        if not node.expressions:
            msg = f"{source(node)}: IN needs a list of values in parentheses"
            raise QueryError(msg)
        tested, *members = self._alike(node, [node.this, *node.expressions])
        if all(member.literal for member in members):
            listed = ", ".join(member.sql for member in members)
            return Term(f"({tested.sql} IN ({listed}))", "boolean")
        parts = [f"({tested.sql} = {member.sql})" for member in members]
        return Term(balanced("OR", parts), "boolean")

    def identity(self, node: exp.Is) -> Term:
        other = node.expression
        if isinstance(other, exp.Null):
            return Term(f"({self.term(node.this).sql} IS NULL)", "boolean")
        if isinstance(other, exp.Boolean):  # never unknown, unlike Polars' own IS TRUE
            tested = self.boolean(node.this).sql
            tested = tested if other.this else f"(NOT {tested})"
            return Term(f"COALESCE({tested}, FALSE)", "boolean")
        msg = f"{source(node)}: IS is followed by NULL, NOT NULL, TRUE or FALSE"
        raise QueryError(msg)

    def pattern(self, node: exp.Like | exp.ILike) -> Term:
        tested, pattern = self.text(node.this), self.term(node.expression)
        if pattern.text is None:
            msg = f"{source(node)}: the pattern of LIKE must be a text in single quotes"
            raise QueryError(msg)
        operator = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
        negated = "NOT " if node.args.get("negate") else ""
        return Term(f"({tested.sql} {negated}{operator} {pattern.sql})", "boolean")

    def negative(self, node: exp.Neg) -> Term:
        return self._rewritten(self.number(node.this), "(-{})")

    def arithmetic(self, node: exp.Binary) -> Term:
        left, right = self.number(node.this), self.number(node.expression)
        bits = {
            exp.Add: max(left.bits, right.bits) + 1,
            exp.Sub: max(left.bits, right.bits) + 1,
            exp.Mul: left.bits + right.bits,
            exp.Mod: left.bits,
        }[type(node)]
        kind = common_number((left, right)) if bits <= _WIDEST else "decimal"
        left, right = as_number(left, kind), as_number(right, kind)
        divisor = f"NULLIF({right.sql}, 0)" if isinstance(node, exp.Mod) else right.sql
        sql = f"({left.sql} {_ARITHMETIC[type(node)]} {divisor})"
        return Term(sql, kind, bits)

    def division(self, node: exp.Div) -> Term:
        dividend, divisor = (
            as_number(self.number(part), "decimal") for part in (node.this, node.expression)
        )
        return Term(f"({dividend.sql} / NULLIF({divisor.sql}, 0))", "decimal")

    def case(self, node: exp.Case) -> Term:
        branches = node.args["ifs"]
        if node.this:  # CASE x WHEN y is CASE WHEN x = y
            conditions = [
                self.comparison(exp.EQ(this=node.this.copy(), expression=branch.this.copy())).sql
                for branch in branches
            ]
        else:
            conditions = [self.boolean(branch.this).sql for branch in branches]
        default = node.args.get("default") or exp.Null()
        results = self._alike(node, [*(branch.args["true"] for branch in branches), default])
        whens = " ".join(
            f"WHEN {condition} THEN {result.sql}"
            for condition, result in zip(conditions, results[:-1], strict=True)
        )
        return joined(f"(CASE {whens} ELSE {results[-1].sql} END)", results)

    def coalesce(self, node: exp.Coalesce) -> Term:
        terms = self._alike(node, [node.this, *node.expressions])
        return joined(f"COALESCE({', '.join(term.sql for term in terms)})", terms)

    def null_if(self, node: exp.Nullif) -> Term:
        terms = self._alike(node, [node.this, node.expression])
        return replace(terms[0], sql=f"NULLIF({terms[0].sql}, {terms[1].sql})", literal=False)

    def absolute(self, node: exp.Func) -> Term:
        return self._rewritten(self.number(node.this), f"{node.sql_name()}({{}})")

    def rounded(self, node: exp.Func) -> Term:
        number = self.number(node.this)
        if number.kind == "integer":
            return number
        return self._rewritten(number, f"{node.sql_name()}({{}})")

    def concatenation(self, node: exp.DPipe) -> Term:
        return Term(f"({self.text(node.this).sql} || {self.text(node.expression).sql})", "text")

    def concat(self, node: exp.Concat) -> Term:
        parts = ", ".join(self.text(part).sql for part in node.expressions)
        return Term(f"CONCAT({parts})", "text")

    def changed_text(self, node: exp.Func) -> Term:
        return Term(f"{node.sql_name()}({self.text(node.this).sql})", "text")

    def length(self, node: exp.Length) -> Term:
        return Term(f"CAST(LENGTH({self.text(node.this).sql}) AS INT128)", "integer", 63)

    def trimmed(self, node: exp.Trim) -> Term:
        side = str(node.args.get("position") or "BOTH").upper()
        removed = node.args.get("expression")
        characters = self._literal_text(removed, node) if removed else "' '"
        return Term(f"TRIM({side} {characters} FROM {self.text(node.this).sql})", "text")

    def end_of_text(self, node: exp.Func) -> Term:
        count = self._whole_number(node.expression, node, least=0)
        return Term(f"{node.sql_name()}({self.text(node.this).sql}, {count})", "text")

    def substring(self, node: exp.Substring) -> Term:
        parts = [self.text(node.this).sql, self._whole_number(node.args["start"], node, least=1)]
        if node.args.get("length"):
            parts.append(self._whole_number(node.args["length"], node, least=0))
        return Term(f"SUBSTR({', '.join(parts)})", "text")

    def replaced(self, node: exp.Replace) -> Term:
        old, new = (
            self._literal_text(node.args.get(a), node) for a in ("expression", "replacement")
        )
        return Term(f"REPLACE({self.text(node.this).sql}, {old}, {new})", "text")

    def affix(self, node: exp.Func) -> Term:
        affix = self._literal_text(node.expression, node)
        name = "STARTS_WITH" if isinstance(node, exp.StartsWith) else "ENDS_WITH"
        return Term(f"{name}({self.text(node.this).sql}, {affix})", "boolean")

    def cast(self, node: exp.Cast) -> Term:
        wanted = str(node.to.this.value)
        for kind, (name, accepted) in _CAST_TYPES.items():
            if wanted in accepted.split():
                term = self.term(node.this)
                if term.text is not None and kind in TIMES:
                    return as_time(term, kind, source(node))
                if term.kind not in (*_CASTABLE[kind], "null"):
                    msg = f"{source(node)}: {kind_called(term)} cannot become {CALLED[kind]}"
                    raise QueryError(msg)
                bits = term.bits if term.kind == "integer" else _WIDEST + 1
                return Term(f"CAST({term.sql} AS {name})", kind, bits)
        msg = f"{source(node)}: use INTEGER, DOUBLE, VARCHAR, DATE, TIMESTAMP or TIME"
        raise QueryError(msg)

    def date_part(self, node: Node) -> Term:
        if isinstance(node, exp.Extract):
            part, moment = str(node.this.name).upper(), node.expression
        else:
            part, moment = type(node).__name__.upper(), node.this
        if part not in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
            msg = f"{source(node)}: use YEAR, QUARTER, MONTH, DAY, HOUR, MINUTE or SECOND"
            raise QueryError(msg)
        clock = part in ("HOUR", "MINUTE", "SECOND")
        kinds = ("datetime", "time") if clock else ("date", "datetime")
        called = "a time" if clock else "a date"
        term = self._require(self.term(moment), moment, kinds, called)
        return Term(f"CAST(EXTRACT({part} FROM {term.sql}) AS INT128)", "integer", 16)

    def _require(self, term: Term, node: Node, kinds: Iterable[str], called: str) -> Term:
        if term.kind not in kinds:
            msg = f"{source(node)} is {kind_called(term)} where {called} is needed"
            raise QueryError(msg)
        return term

    def _rewritten(self, term: Term, form: str) -> Term:
        return Term(form.format(term.sql), term.kind, term.bits)

    def _alike(self, node: Node, parts: Sequence[Node]) -> list[Term]:
        """Parts that are compared with each other, made to be of one kind."""
        return alike([self.term(part) for part in parts], source(node))

    def _literal_text(self, node: Node | None, whole: Node) -> str:
        if not (isinstance(node, exp.Literal) and node.is_string and node.this):
            msg = f"{source(whole)}: the text to look for and to put must stand in single quotes"
            raise QueryError(msg)
        return quoted_text(node.this)

    def _whole_number(self, node: Node, whole: Node, least: int) -> str:
        digits = node.this if isinstance(node, exp.Literal) else ""
        if not (digits.isdigit() and least <= int(digits) < 2**31):
            msg = f"{source(whole)}: positions and lengths must be whole numbers from {least} up"
            raise QueryError(msg)
        return str(int(digits))


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
