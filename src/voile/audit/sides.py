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

from voile.errors import InputError, TableError
from voile.proposal.whole import propose
from voile.publish.registry import read_plan
from voile.release.reading.rows import People, texts_of
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import rows_in_memory
from voile.table.profile import Inspected

__all__ = ["Sides", "read_sides"]

_ALIKE = 0.05
"""How many more of the control's rows may be rows of the original than rows of it are twice in
it, as a share."""


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
    ``PlanError`` for a plan that is wrong or names columns that the original lacks.
    """
    stated = read_plan(plan) if plan is not None else None
    missing = stated.missing if stated else ()
    own, notes = rows_in_memory(
        str(original), missing=missing, texts=stated.texts if stated else ()
    )
    if stated is None:
        stated, missing = _proposed(own, notes)
        own, _ = rows_in_memory(str(original), missing=missing)
        roles_of: Literal["plan", "proposal"] = "proposal"
    else:
        stated.bind(own.columns)
        roles_of = "plan"
    texts = stated.texts
    shown, _ = rows_in_memory(str(_data_of(released)), missing=missing, texts=texts)
    people = People(own, stated)
    others = None
    notices: list[str] = []
    void = False
    if control is not None:
        frame, _ = rows_in_memory(str(control), missing=missing, texts=texts)
        others = People(_like(frame, own, control), stated)
        notices += _doubts(own, others.frame)
        shared = _of_original(own, others.frame)
        void = shared is not None
        notices += [shared] if shared else []
    roles = {
        "quasi_identifiers": stated.roles.quasi_identifiers,
        "sensitive": stated.roles.sensitive,
    }
    one = (stated.roles.person, stated.roles.household)
    told_apart = (
        *stated.roles.identifiers,
        *(name for name in one if name and name in own.columns),
    )
    return Sides(shown, people, others, stated, roles, told_apart, roles_of, tuple(notices), void)


def _data_of(released: Path) -> Path:
    """The data of a release folder; any other path as it is."""
    if not (released / "release.json").is_file():
        return released
    for name in ("data.parquet", "data.csv", "data"):
        if (released / name).exists():
            return released / name
    msg = f"{released}: the release has no data"
    raise TableError(msg)


def _proposed(own: pl.DataFrame, notes: Sequence[str]) -> tuple[Plan, tuple[str, ...]]:
    """A plan with the roles that are proposed for a table, and texts for missing values."""
    table = Inspected(own, tuple(notes))
    proposal = propose([table.details(column) for column in table.columns])

    def of(*roles: Any) -> tuple[str, ...]:
        return tuple(column.name for role in roles for column in proposal.of_role(role))

    identifiers = of("identifier", "person", "household")
    quasi, sensitive = of("quasi"), of("sensitive")
    if not quasi:
        quasi = tuple(n for n in own.columns if n not in {*identifiers, *sensitive})
    roles = Roles(identifiers=identifiers, quasi_identifiers=quasi, sensitive=sensitive)
    return Plan(roles=roles, nulls="category", missing=proposal.marks), proposal.marks


def _like(frame: pl.DataFrame, own: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The control in the columns of the original and their types."""
    for name in own.columns:
        if name not in frame.columns:
            msg = f"{path}: the control has no column {name!r}, which the original has"
            raise TableError(msg)
    try:
        return frame.select(own.columns).cast(own.schema, strict=True)
    except pl.exceptions.PolarsError:
        for name in own.columns:
            if (
                frame[name].cast(own.schema[name], strict=False).null_count()
                > frame[name].null_count()
            ):
                msg = (
                    f"{path}: column {name!r} of the control holds values that cannot be those of "
                    "the original's column, which has another type"
                )
                raise TableError(msg) from None
        raise InputError(f"{path}: the control does not fit the original") from None


def _doubts(own: pl.DataFrame, control: pl.DataFrame) -> list[str]:
    """That the two were taken for each other."""
    if control.height <= own.height:
        return []
    return [
        f"the control has {control.height:,} rows and the original {own.height:,}: make sure that "
        "they are not the wrong way round"
    ]


def _of_original(own: pl.DataFrame, control: pl.DataFrame) -> str | None:
    """That people stand on both sides, as more rows do than by chance; None where they do not."""
    rows = pl.concat([own, control])
    texts = pl.DataFrame({name: texts_of(rows[name]) for name in rows.columns})
    first, second = texts[: own.height], texts[own.height :]
    alone = first.filter(first.is_unique())
    both = second.join(alone, on=texts.columns, how="semi", nulls_equal=True).height
    share, chance = both / control.height, 1 - alone.height / own.height
    if share <= chance + _ALIKE:
        return None
    return (
        f"{both:,} of the {control.height:,} rows of the control are rows of the original: "
        "where the same people stand on both sides, the comparison with the control is void"
    )
