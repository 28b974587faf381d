"""How the columns of a plan are shown, and releases of treated rows put together in one way.

Methods of survey microdata show all rows, treat some columns, and leave the others as they are;
what differs is what they promise of the columns that they treat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.exact import Exact
from voile.disclosure.interval import Generalized, Interval, ValueSet
from voile.disclosure.shown import Disclosure, GroupNumbering, Shown
from voile.publish.contribution import assumed_of_units, known_rows
from voile.publish.publisher import refuse_ranking, refuse_telling_quasi_identifiers
from voile.release.release import Guarantee, PrivateRecord, Publication, Release
from voile.schema.names import UNORDERED
from voile.schema.persons import units_told
from voile.schema.roles import Protected, Roles
from voile.table.decisions import RecodedColumn
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document

__all__ = [
    "MicrodataOutcome",
    "Spans",
    "assembled",
    "assumed",
    "assumed_of_draws",
    "columns_asked",
    "exactly",
    "named",
    "places_in_order",
    "ranked_columns",
    "recoded",
    "require_large_strata",
    "require_strata_of",
    "require_treated",
    "require_units",
    "require_values",
    "shown_roles",
]

FEWEST_OF_STRATUM = 10
"""Persons of a stratum within which values are drawn or exchanged."""

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
    missing: Literal["alone"] | None = "alone" if values.alone and level == "differs" else None
    if values.texts is None:
        return Interval(level=level, missing=missing)
    if span == "set":
        return ValueSet()
    if span is None:
        return Generalized(level=level)
    return Interval(level=level, ends=span, missing=missing)


@dataclass(frozen=True)
class MicrodataOutcome:
    """What a method made of a table."""

    method: Document
    """Name, parameters and decision, as the release states them."""
    columns: Mapping[str, Shown]
    """How the treated columns are shown."""
    guarantee: Guarantee
    objective: str
    """What was minimised, for the custodian alone."""
    summary: str
    """What came of it, to be said after the number of rows."""
    decision: Document = field(default_factory=dict)
    """Private, beside what the release states of it."""
    notices: tuple[str, ...] = ()
    groups: GroupNumbering | None = None


def assembled(
    table: PrivateTable, shown: PublishedTable, outcome: MicrodataOutcome, randomness: Randomness
) -> Publication:
    """The release of all rows, and what stays private about it."""
    roles = table.plan.roles
    release = Release(
        table=shown,
        method=outcome.method,
        disclosure=Disclosure(
            columns=exactly(roles.published) | dict(outcome.columns), groups=outcome.groups
        ),
        guarantee=outcome.guarantee,
        roles=shown_roles(roles, shown.columns),
        release_id=randomness.token("release"),
        publishable=randomness.publishable,
    )
    private = PrivateRecord(
        rows_in=table.rows + table.dropped,
        rows_out=shown.rows,
        suppressed=table.rows + table.dropped - shown.rows,
        held=0,
        objective=outcome.objective,
        decision=outcome.decision,
        notices=(*table.notes, *outcome.notices),
        summary=outcome.summary,
    )
    return Publication(release, private)


def assumed(roles: Roles) -> tuple[str, ...]:
    """What promises about published combinations take for granted."""
    protected = roles.protected
    assumes: tuple[str, ...] = (
        "what anybody knows of a person beforehand stands in the columns that the promise names",
        assumed_of_units(protected),
        "the parameters were chosen without looking at the rows",
        "no other published data is derived from the same rows",
    )
    return assumes if protected == "row" else (*assumes, known_rows(protected))


def assumed_of_draws(roles: Roles) -> tuple[str, ...]:
    """What methods take for granted that draw values row by row."""
    return (
        assumed_of_units(roles.protected),
        "the parameters were chosen without looking at the rows",
        "no other release draws from the same rows: the average of several tells more than each",
    )


def require_treated(
    table: PrivateTable,
    method: str,
    columns: Sequence[str],
    strata: Sequence[str],
    key: str = "columns",
    key_of_strata: str = "strata",
    default: Sequence[str] | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that a method treats, by default (None) all quasi-identifiers, and its strata.

    Raises ``PlanError`` where there are none, one is both, or a quasi-identifier that may stay as
    it is tells persons by itself; ``InfeasibleError`` where the table has fewer than two units.
    """
    refuse_ranking(table, method)
    refuse_telling_quasi_identifiers(table)
    roles = table.plan.roles
    usual = roles.quasi_identifiers if default is None else tuple(default)
    treated = columns_asked(key, columns, roles) or usual
    within = columns_asked(key_of_strata, strata, roles)
    if not treated or set(treated) & set(within):
        msg = (
            f"[method] {key} names no column, or one that {key_of_strata} names, too; {method} "
            "shows other values in the place of theirs: name different columns in both"
        )
        raise PlanError(msg)
    require_units(table, 2, "two rows at least, between which values may differ")
    return treated, within


def ranked_columns(table: PrivateTable, *, numbers: bool) -> tuple[str, ...]:
    """The quasi-identifiers whose values have ranks: ``numbers`` alone, or dates and orders too."""
    found, kinds = [], table.kinds(table.plan.roles.quasi_identifiers)
    for name, kind in kinds.items():
        plan = table.plan.column(name)
        named = plan.kind in UNORDERED
        line = kind == "number" or (not numbers and kind in {"date", "datetime"})
        if (line and not named) or (not numbers and plan.order is not None):
            found.append(name)
    return tuple(found)


def require_values(counts: CombinationCounts, column: str, place: int = 0) -> None:
    """Raise ``PlanError`` where a counted column has one value: nothing would hide it."""
    values = counts.values[place]
    if len(values) - values.missing < 2:
        msg = (
            f"[method] columns: {column!r} has one value in all rows, so that nothing can take its "
            "place; leave the column out of columns"
        )
        raise PlanError(msg)


def places_in_order(
    table: PrivateTable, counts: CombinationCounts, place: int
) -> NDArray[np.int64]:
    """Where the values of a counted column stand in their order, shape (d,); -1 for missing ones.

    Raises ``PlanError`` for texts whose order the plan does not say.
    """
    name, values = counts.columns[place], counts.values[place]
    found = np.arange(len(values), dtype=np.int64)
    order = table.plan.column(name).order
    if order is not None:
        rank = {text: number for number, text in enumerate(order)}
        found = np.array([rank.get(text or "", -1) for text in values.texts], dtype=np.int64)
    elif values.kind == "text":
        msg = (
            f"[method] columns: the values of {name!r} are texts without an order, so that they "
            f"have no ranks; say it, [columns.{name}] order = [...], or leave the column out"
        )
        raise PlanError(msg)
    if values.missing:
        found[0] = -1
    return found


def require_strata_of(
    table: PrivateTable, counts: CombinationCounts, strata: Sequence[str]
) -> NDArray[np.int64]:
    """The stratum of each counted combination, whose last columns are the strata, from 0.

    Raises ``InfeasibleError`` where one has fewer than ``FEWEST_OF_STRATUM`` who are protected.
    """
    if not strata:
        return np.zeros(len(counts.rows), dtype=np.int64)
    beside = counts.codes[:, -len(strata) :]
    stratum = np.unique(beside, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    number = int(stratum.max(initial=-1)) + 1
    if counts.units is None:
        held = np.bincount(stratum, counts.rows, number)
    else:
        held = counts.units.count(stratum, number)
    if few := int((held < FEWEST_OF_STRATUM).sum()):
        msg = (
            f"no release exists: {few:,} of {number:,} strata of {named(strata)} have fewer than "
            f"{FEWEST_OF_STRATUM} {table.plan.roles.protected}s, whose values would stay among "
            "them; leave a column out of [method] strata, or recode it to fewer values"
        )
        raise InfeasibleError(msg)
    return stratum


def columns_asked(
    key: str, asked: Sequence[str], roles: Roles, among: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Columns that a parameter names, all different and published; raises ``PlanError``."""
    known = roles.published if among is None else among
    for place, name in enumerate(asked):
        if name not in known:
            msg = (
                f"[method] {key} names the column {name!r}, which no role of the plan publishes"
                if among is None
                else f"[method] {key} names the column {name!r}, which it cannot be about"
            )
            msg += f"{nearest(name, known)}; it may name: {', '.join(map(repr, known))}"
            raise PlanError(msg)
        if name in asked[:place]:
            msg = f"[method] {key} names the column {name!r} twice; name it once"
            raise PlanError(msg)
    return tuple(asked)


def require_units(table: PrivateTable, k: int, asked: str) -> None:
    """Raise ``InfeasibleError`` where a table has fewer than k; ``asked``: what must be as many."""
    if k > table.units:
        told = units_told(table.plan.roles.protected, table.units)
        msg = (
            f"no release exists: the table has {told}, and k = {k:,} asks for {asked}; the largest "
            f"k that it allows is {table.units:,}"
        )
        raise InfeasibleError(msg)


def require_large_strata(
    strata: Sequence[str], held: NDArray[np.integer[Any]], k: int, protected: Protected
) -> None:
    """Raise ``InfeasibleError`` where a stratum has fewer than k; ``held`` has shape (s,)."""
    if few := int((held < k).sum()):
        msg = (
            f"no release exists: {few:,} of {len(held):,} strata of {named(strata)} have fewer "
            f"than k = {k:,} {protected}s; leave a column out of [method] strata, or ask for a "
            "smaller k"
        )
        raise InfeasibleError(msg)


def named(columns: Sequence[str]) -> str:
    """Columns as a text: 'a', 'b' and 'c'."""
    *others, last = map(repr, columns)
    return f"{', '.join(others)} and {last}" if others else last
