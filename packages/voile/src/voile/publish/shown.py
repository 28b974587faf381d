"""What a release shows of the columns of a plan: their roles, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from voile.disclosure.exact import Exact
from voile.disclosure.interval import Generalized, Interval, ValueSet
from voile.disclosure.shown import Shown
from voile.schema.roles import Roles
from voile.table.decisions import RecodedColumn

__all__ = ["Spans", "exactly", "recoded", "shown_roles"]

Spans = Literal["period", "range", "set"]
"""How texts of groups that differ in detail name several values."""

_PRIVATE = ("identifiers",)


def shown_roles(roles: Roles, columns: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Columns of a release by role: ``NAME``, or its interval, or both."""
    return {
        role: tuple(
            shown
            for name in names
            for shown in (name, f"{name}.low", f"{name}.high")
            if shown in columns
        )
        for role, names in roles.by_role.items()
        if role not in _PRIVATE
    }


def exactly(names: Iterable[str]) -> dict[str, Shown]:
    """Columns that are published as they are."""
    return {name: Exact() for name in names}


def recoded(
    columns: Iterable[RecodedColumn],
    levels: Mapping[str, int] | None,
    spans: Mapping[str, Spans] | None = None,
) -> dict[str, Shown]:
    """Columns that the engine recodes, at one level each, or (None) with groups that differ.

    ``spans`` are the columns of texts with two ends, or of sets, where groups differ.
    """
    return {
        column.column: _recoded(
            column,
            "differs" if levels is None else levels[column.column],
            spans.get(column.column) if spans and levels is None else None,
        )
        for column in columns
    }


def _recoded(
    column: RecodedColumn,
    level: int | Literal["differs"],
    span: Spans | None,
) -> Shown:
    values = column.values
    if values is None or (values.texts is None and values.low is None):
        return Exact()
    if values.texts is None:
        return Interval(level=level)
    if span == "set":
        return ValueSet()
    return Generalized(level=level) if span is None else Interval(level=level, ends=span)
