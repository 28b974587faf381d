"""A release of the rows that a method of survey microdata has treated, put together in one way.

Such methods show all rows, treat some columns, and leave the others as they are; what differs is
what they promise of the columns that they treat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.shown import Disclosure, GroupNumbering, Shown
from voile.publish.contribution import assumed_of_units, known_rows
from voile.publish.shown import exactly, shown_roles
from voile.release.release import Guarantee, PrivateRecord, Publication, Release
from voile.schema.persons import units_told
from voile.schema.roles import Protected, Roles
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile_base.errors import InfeasibleError, PlanError, nearest
from voile_base.randomness import Randomness

__all__ = [
    "MicrodataOutcome",
    "assembled",
    "assumed",
    "columns_asked",
    "named",
    "require_large_strata",
    "require_units",
]


@dataclass(frozen=True)
class MicrodataOutcome:
    """What a method made of a table."""

    method: Mapping[str, Any]
    """Name, parameters and decision, as the release states them."""
    columns: Mapping[str, Shown]
    """How the treated columns are shown."""
    guarantee: Guarantee
    objective: str
    """What was minimised, for the custodian alone."""
    summary: str
    """What came of it, to be said after the number of rows."""
    decision: Mapping[str, Any] = field(default_factory=dict)
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
