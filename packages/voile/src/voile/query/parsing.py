"""What a user types, read: ``SUM(capital-loss)`` and a predicate of SQL.

Nothing is evaluated here.  Texts are parsed by sqlglot; ``translation`` turns a predicate into
an expression.  Names that are no plain identifiers, such as capital-loss, can be written
as they are where nothing else can be meant, and in double quotes anywhere.

Names in double quotes are looked up as they are; others too, and where that fails without regard
to upper and lower case, as is the custom of SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import Dialect, ParseError, Token, TokenError, TokenType, exp

from voile.query.translation import Term, call, translate
from voile_base.errors import QueryError, nearest
from voile_base.ondemand import dataclass
from voile_base.values.expressions import Call, Expression, Literal
from voile_base.values.expressions import Column as Value

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

__all__ = [
    "AGGREGATES",
    "AggregateCall",
    "QueriedColumns",
    "parse_predicate",
]

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")

_CALL = re.compile(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTEGER_BITS = 64
_DEEPEST = 32  # what an engine descends into safely, with room

_EXAMPLE = "write for example SUM(salary), COUNT(*), AVG(salary), MIN(salary) or MAX(salary)"


@dataclass(frozen=True)
class QueriedColumns:
    """The published columns, as far as queries need to know them."""

    kinds: Mapping[str, str]
    """Kind of each column; "single" is a decimal in 32 bits."""
    sensitive: str | None
    """The one column that is permuted, so that queries aggregate it alone; None: they aggregate
    any."""

    def find(self, name: str, *, quoted: bool) -> str | None:
        """The column that a name means."""
        if name in self.kinds or quoted:
            return name if name in self.kinds else None
        alike = [known for known in self.kinds if known.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    def missing(self, name: str) -> str:
        """Why a name cannot be used: the release has no such column."""
        msg = (
            f"the release has no column {name!r}{nearest(name, self.kinds)} (published: "
            f"{', '.join(self.kinds)}); other columns of the original table were not published"
        )
        return msg + _quoting_hint([known for known in self.kinds if name in known.split("-")])


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of a column; ``column`` is None for ``COUNT(*)``."""

    function: str
    column: str | None

    def __str__(self) -> str:
        return f"{self.function}({self.column or '*'})"

    @staticmethod
    def parse(text: str, columns: QueriedColumns) -> AggregateCall:
        """``SUM(column)`` and the like, in any case; raises ``QueryError``."""
        call = _CALL.fullmatch(text)
        if call is None:
            msg = (
                f"{text!r} is not one aggregate of one column; {_EXAMPLE}; "
                "conditions go into --where"
            )
            raise QueryError(msg)
        function, argument = call[1].upper(), call[2].strip()
        if function not in AGGREGATES:
            msg = f"{call[1]} is not known{nearest(function, AGGREGATES)}; {_EXAMPLE}"
            raise QueryError(msg)
        if argument == "*" and function == "COUNT":
            return AggregateCall(function, None)
        quoted = _QUOTED.fullmatch(argument)
        name = quoted[1].replace('""', '"') if quoted else argument
        column = columns.find(name, quoted=bool(quoted))
        if column is None:
            if quoted or _PLAIN.fullmatch(name):
                raise QueryError(columns.missing(name))
            msg = (
                f"{text!r}: {argument or 'nothing'} is not a column of the release"
                f"{nearest(name, columns.kinds)}; {_EXAMPLE}; "
                "neither DISTINCT nor calculations are understood inside an aggregate"
            )
            raise QueryError(msg)
        if function != "COUNT" and columns.sensitive not in (None, column):
            msg = (
                f"{function}({column}) needs no bounds: {column!r} is published unchanged, so "
                f"compute it from the release's data; queries aggregate {columns.sensitive!r}"
            )
            raise QueryError(msg)
        return AggregateCall(function, column)


def parse_predicate(text: str, columns: QueriedColumns) -> Expression:
    """A predicate over published columns as an expression; raises ``QueryError``."""
    if not text.strip():
        msg = "the predicate is empty; leave it out to query all rows, or write one like age > 40"
        raise QueryError(msg)
    try:
        predicate = translate(_parse(text, columns), lambda node: _column(node, columns))
        if _depth(predicate) > _DEEPEST:
            raise RecursionError
        return predicate
    except RecursionError:
        msg = "the predicate is nested too deeply; write it with fewer parentheses, NOTs or CASEs"
        raise QueryError(msg) from None


def _parse(text: str, columns: QueriedColumns) -> Node:
    dialect = Dialect.get_or_raise(None)
    try:
        tokens = dialect.tokenize(text)
        _refuse_trickery(tokens)
        parsed = dialect.parser().parse_into(
            exp.Condition, _join_names(tokens, text, columns), text
        )
    except TokenError:
        msg = (
            "the predicate cannot be read; is a quote or a comment not closed? A quote inside a "
            "text is written twice: 'it''s'"
        )
        raise QueryError(msg) from None
    except ParseError as error:
        raise QueryError(_syntax_error(error, text, columns)) from None
    if len(parsed) != 1 or parsed[0] is None:
        msg = "write one predicate"
        raise QueryError(msg)
    return parsed[0]


def _depth(predicate: Expression) -> int:
    """How deeply operations are nested."""
    if not isinstance(predicate, Call):
        return 0
    return 1 + max(map(_depth, predicate.operands), default=0)


def _refuse_trickery(tokens: Iterable[Token]) -> None:
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            msg = f"write one predicate, without a semicolon (at character {token.start + 1})"
            raise QueryError(msg)
        if token.comments:
            msg = f"comments are not taken in a predicate (near character {token.end + 1})"
            raise QueryError(msg)


def _join_names(tokens: list[Token], text: str, columns: QueriedColumns) -> list[Token]:
    """Tokens in which hours-per-week is one name, if it is a column and no subtraction."""
    joined: list[Token] = []
    position = 0
    while position < len(tokens):
        end = _name_end(tokens, position, text, columns)
        first, last = tokens[position], tokens[end]
        if end > position:
            name = columns.find(text[first.start : last.end + 1], quoted=False) or ""
            first = Token(
                TokenType.IDENTIFIER,
                name,
                line=first.line,
                col=last.col,
                start=first.start,
                end=last.end,
            )
        joined.append(first)
        position = end + 1
    return joined


def _name_end(tokens: list[Token], begin: int, text: str, columns: QueriedColumns) -> int:
    """The last token of the longest column's name with hyphens that begins at a token."""
    best = end = begin
    while (
        end + 2 < len(tokens)
        and tokens[end + 1].token_type == TokenType.DASH
        and tokens[end].end + 1 == tokens[end + 1].start
        and tokens[end + 1].end + 1 == tokens[end + 2].start
    ):
        end += 2
        name = text[tokens[begin].start : tokens[end].end + 1]
        parts = name.split("-")
        subtraction = all(columns.find(p, quoted=False) or p.isdigit() for p in parts)
        if columns.find(name, quoted=False) and not subtraction:
            best = end
    return best


def _syntax_error(error: ParseError, text: str, columns: QueriedColumns) -> str:
    details = error.errors[0] if error.errors else {}
    begin = details.get("start_context")
    place = str(details.get("highlight") or "")
    at = f" at character {len(begin) + 1}" if begin is not None and text.startswith(begin) else ""
    near = f", near {place!r}" if place else ""
    unusual = [name for name in columns.kinds if not _PLAIN.fullmatch(name) and name in text]
    return (
        f"the predicate is not valid SQL{at}{near}; write for example \"age > 40 AND sex = 'F'\""
        + _quoting_hint(unusual)
    )


def _quoting_hint(names: Iterable[str]) -> str:
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    return f"; write {' and '.join(quoted)} in double quotes" if quoted else ""


def _column(node: exp.Column, columns: QueriedColumns) -> Term:
    identifier = node.this
    if node.args.get("table"):
        msg = f"{node.sql()}: write the column's name alone"
        raise QueryError(msg)
    if not isinstance(identifier, exp.Identifier):
        msg = f"{node.sql()} is not the name of a column"
        raise QueryError(msg)
    quoted = bool(identifier.args.get("quoted"))
    name = columns.find(identifier.name, quoted=quoted)
    if name is None:
        text = "; a text is written in single quotes" if quoted else ""
        raise QueryError(columns.missing(identifier.name) + text)
    if name == columns.sensitive:
        msg = (
            f"the predicate asks for {name!r}, the sensitive column: its values were permuted "
            "among the rows of each group, so which row has which value is not in the release. "
            "Use other columns in the predicate; MIN, MAX, SUM and AVG tell about its values"
        )
        raise QueryError(msg)
    return _column_term(name, columns.kinds[name])


def _column_term(name: str, kind: str) -> Term:
    """A column in the type in which it takes part in a predicate."""
    match kind:
        case "integer":  # never wraps round, as 8 bits do in age - 50
            return Term(call("integer", Value(name)), kind, _INTEGER_BITS)
        case "single":
            return Term(call("number of text", Value(name)), "decimal")
        case "decimal":
            return Term(call("decimal", Value(name)), kind)
        case "empty":
            return Term(Literal(None), "null")
        case _:
            return Term(Value(name), kind)
