"""Why a part of a predicate is refused, in words that help to write another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

__all__ = ["source", "why_not"]

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


def source(node: Node) -> str:
    """A part of a predicate as SQL, to be quoted in a message."""
    text = node.sql()
    return text if len(text) <= _QUOTED_LENGTH else f"{text[: _QUOTED_LENGTH - 3]}..."


def why_not(node: Node) -> str:
    """Why a kind of node has no place in a predicate."""
    if isinstance(node, (exp.Query, exp.Subquery, exp.Exists)):
        return "a predicate cannot hold a query of its own; it speaks of one row at a time"
    if isinstance(node, (exp.AggFunc, exp.Window)):
        return (
            f"{source(node)} looks at many rows, and a predicate speaks of one row at a time; "
            "ask for aggregates in separate queries"
        )
    if isinstance(node, _UNSTEADY) or node.name.upper() in _UNSTEADY_NAMES:
        return (
            f"{source(node)} differs from one evaluation to the next; a predicate must depend on "
            "the row alone"
        )
    if isinstance(node, exp.Escape):
        return f"{source(node)}: ESCAPE is not understood; STARTS_WITH and REPLACE take any text"
    return (
        f"{source(node)} is not understood in a predicate; it may hold comparisons, BETWEEN, IN, "
        "LIKE, IS NULL, AND, OR, NOT, CASE, arithmetic, and the functions ABS, SIGN, FLOOR, CEIL, "
        "MOD, COALESCE, NULLIF, CAST, EXTRACT, UPPER, LOWER, LENGTH, TRIM, LEFT, RIGHT, SUBSTR, "
        "REPLACE, CONCAT, STARTS_WITH, ENDS_WITH; a column of such a name is written in double "
        "quotes"
    )
