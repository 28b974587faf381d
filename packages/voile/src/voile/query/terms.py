"""Parts of a predicate, with the kinds of their values.

A ``Term`` is an expression and the kind of value that it has.  Parts that are
compared or combined must be of one kind; ``alike`` makes them so where that loses nothing, and
refuses where it would be a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from voile_base.errors import QueryError
from voile_base.values.expressions import Call, Expression, Literal

__all__ = [
    "CALLED",
    "NUMBERS",
    "TIMES",
    "Term",
    "alike",
    "as_number",
    "as_time",
    "call",
    "common_number",
    "joined",
    "kind_called",
]

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


def kind_called(term: Term) -> str:
    """What a term is, for people."""
    return CALLED.get(term.kind, f"a value of type {term.kind}")


def joined(expression: Expression, terms: Sequence[Term]) -> Term:
    """A term that is one of several alike ones."""
    kind = next((term.kind for term in terms if term.kind != "null"), "null")
    return Term(expression, kind, max(term.bits for term in terms))


def common_number(terms: Iterable[Term]) -> str:
    """The kind in which numbers are combined."""
    return "decimal" if any(term.kind == "decimal" for term in terms) else "integer"


def as_number(term: Term, kind: str) -> Term:
    """A number as one of the given kind."""
    if kind == "decimal" and term.kind == "integer":
        number = call("decimal", term.expression)
        if isinstance(term.expression, Literal):
            number = Literal(float(term.expression.value))
        return Term(number, "decimal", term.bits, literal=term.literal)
    return term


def as_time(term: Term, kind: str, source: str) -> Term:
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

    ``source`` is what to quote where they cannot be: raises ``QueryError``.
    """
    moment = next((term.kind for term in terms if term.kind in TIMES), None)
    if moment:
        terms = [as_time(t, moment, source) if t.text is not None else t for t in terms]
    present = [term for term in terms if term.kind != "null"]
    kinds = {term.kind for term in present}
    if kinds <= set(NUMBERS):
        common = common_number(present)
        return [as_number(term, common) for term in terms]
    if len(kinds) == 1 and kinds <= set(CALLED):
        return list(terms)
    if kinds == {"date", "datetime"}:
        return [_as_timestamp(term) for term in terms]
    together = " with ".join(dict.fromkeys(kind_called(term) for term in present))
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
