"""The files of an audit, and what is said of them: original, released file, control; private.

All are read with the plan's types and texts for missing values; without a plan, roles are those
that ``voile plan`` would propose for the original, and the texts that seem to stand for missing
values are read so on all sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from voile.audit.overlap import shared_people
from voile.proposal.whole import propose
from voile.publish.registry import read_plan
from voile.release.manifest import DOCUMENT
from voile.release.reading.rows import People
from voile.release.recounting import recount
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import Read, plain, read_compactly
from voile.table.profile import Inspected
from voile.table.summaries import ColumnDetails
from voile_base.errors import TableError

__all__ = ["Sides", "read_sides"]


@dataclass(frozen=True, eq=False)
class Sides:
    """What an audit compares; private."""

    released: pl.DataFrame
    original: People
    control: People | None
    plan: Plan
    """Of a plan that was given, or one that says the proposed roles and nothing else."""
    roles: Mapping[str, tuple[str, ...]]
    """Columns of the original by role."""
    identifiers: tuple[str, ...]
    """Columns of the original that tell people apart, which attacks do not look at."""
    roles_of: Literal["plan", "proposal"]
    notices: tuple[str, ...]
    void: bool
    """Whether people of the original stand in the control, beside whom nothing can be told."""


def read_sides(
    released: Path, original: Path, control: Path | None = None, plan: Path | None = None
) -> Sides:
    """Read the files of an audit; ``released`` may be a release folder of Voile.

    Raises ``TableError`` where a file cannot be read or the control lacks a column of the original,
    ``PlanError`` for a plan that is wrong or names columns that the original lacks,
    ``RefusedError`` for a release folder that is not what it claims.
    """
    stated = read_plan(plan) if plan is not None else None
    held, schema, said = _original(original, stated)
    missing, texts = said.missing, said.texts
    shown = read_compactly(_data_of(released), missing, texts).frame
    one = (said.roles.person, said.roles.household)
    told_apart = (
        *said.roles.identifiers,
        *(name for name in one if name and name in held.columns),
    )
    others = None
    notices: list[str] = []
    void = False
    if control is not None:
        frame = _like(read_compactly(control, missing, texts), schema, control)
        others = People(frame, said)
        notices += _doubts(held, frame)
        shared = shared_people(held, frame, told_apart)
        void = shared is not None
        notices += [shared] if shared else []
    roles = {
        "quasi_identifiers": said.roles.quasi_identifiers,
        "sensitive": said.roles.sensitive,
    }
    return Sides(
        released=shown,
        original=People(held, said),
        control=others,
        plan=said,
        roles=roles,
        identifiers=told_apart,
        roles_of="proposal" if stated is None else "plan",
        notices=tuple(notices),
        void=void,
    )


def _original(path: Path, stated: Plan | None) -> tuple[pl.DataFrame, pl.Schema, Plan]:
    """The rows, their types in the file, and the plan that was given or is proposed for them."""
    if stated is not None:
        found = read_compactly(path, stated.missing, stated.texts)
        stated.bind(found.frame.columns)
        return found.frame, found.types, stated
    details: list[ColumnDetails] = []

    def look(rows: pl.DataFrame, notes: Sequence[str]) -> None:
        table = Inspected(rows, notes)
        details.extend(table.details(column) for column in table.columns)

    found = read_compactly(path, look=look)
    proposed = _proposed(found.frame.columns, details)
    if proposed.missing:
        del found
        found = read_compactly(path, proposed.missing)
    return found.frame, found.types, proposed


def _data_of(released: Path) -> Path:
    """The data of a release folder, which is recounted; any other path as it is."""
    if not (released / DOCUMENT).is_file():
        return released
    found = recount(released)
    if refusal := found.refusal():
        raise refusal
    return found.whole


def _proposed(names: Sequence[str], details: Sequence[ColumnDetails]) -> Plan:
    """A plan with the roles that are proposed for a table, and texts for missing values."""
    proposal = propose(details)

    def of(*roles: Any) -> tuple[str, ...]:
        return tuple(column.name for role in roles for column in proposal.of_role(role))

    identifiers = of("identifier", "person", "household")
    withheld = tuple(column.name for column in proposal.columns if column.is_withheld)
    quasi, sensitive = (*of("quasi"), *withheld), of("sensitive")
    if not quasi:
        quasi = tuple(n for n in names if n not in {*identifiers, *sensitive})
    roles = Roles(identifiers=identifiers, quasi_identifiers=quasi, sensitive=sensitive)
    return Plan(roles=roles, nulls="category", missing=proposal.marks)


def _like(read: Read, own: pl.Schema, path: Path) -> pl.DataFrame:
    """The control in the columns of the original and their types."""
    columns = []
    for name, dtype in own.items():
        # The same name in another case is the same column, where no other is meant.
        alike = [n for n in read.types if n.casefold() == name.casefold() and n not in own]
        held = name if name in read.types or len(alike) != 1 else alike[0]
        if held not in read.types:
            msg = f"{path}: the control has no column {name!r}, which the original has"
            raise TableError(msg)
        column = read.frame[held].alias(name)
        if read.types[held] != dtype:
            column = plain(column).cast(dtype, strict=False)
            if column.null_count() > read.frame[held].null_count():
                msg = (
                    f"{path}: column {name!r} of the control holds values that cannot be those of "
                    "the original's column, which has another type"
                )
                raise TableError(msg)
        columns.append(column)
    return pl.DataFrame(columns)


def _doubts(own: pl.DataFrame, control: pl.DataFrame) -> list[str]:
    """That the two were taken for each other."""
    if control.height <= own.height:
        return []
    return [
        f"the control has {control.height:,} rows and the original {own.height:,}: make sure that "
        "they are not the wrong way round"
    ]
