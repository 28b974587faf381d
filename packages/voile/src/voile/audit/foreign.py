"""A released file of another make as adversaries and measures see any release.

It promises nothing, and its columns are shown as they were recognised.  Columns of the file that
show no column of the original are left out, and said; so are rows' numbers of groups unless values
were permuted: then rows of one number in the column ``group`` are a group, or all rows.

Rows that a released file repeats, and how many persons its groups are; private.

Whoever writes each row of a file five times makes five rows that show the same, and hides nobody.
Columns whose cells are values of the original, in rows that somebody has, tell how many people a
row can be of: rows beyond that repeat somebody.  Rows of nobody, permuted values, noise, and files
that show no value as it is, tell nothing of it; nor do rows where a cell is missing, which may
stand for any value.

People whose row stands as it is in a file of rows that are said to be of nobody; private.

A single row that a synthesizer has copied is too little for a rate: one person in thousands changes
none of the three risks.  It is counted instead: people whom the columns of values tell from
everybody else, and who have a row that shows just these, beside people of the control.  How many of
them chance explains is for who reads it to judge, since that hangs on how fine the columns are.

Cost: two sorts a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from voile.audit.common_rows import CommonRows
from voile.audit.recognition import Recognised
from voile.disclosure.exact import Permuted
from voile.disclosure.shown import Disclosure, GroupNumbering, Shown
from voile.release.claims import UnknownClaim
from voile.release.reading import People
from voile.release.release import Guarantee, Release
from voile.table.alignment import common_places
from voile.table.arrays import frame_of
from voile.table.opening import published_rows
from voile.table.published import GROUP
from voile_base.ondemand import dataclass

__all__ = [
    "Foreign",
    "Repetition",
    "as_release",
]


_PROMISE = Guarantee(
    (UnknownClaim(kind="none", parameters={}),),
    "Nothing is promised: the file comes from elsewhere, and how it was made is not stated",
)


@dataclass(frozen=True, eq=False)
class Foreign:
    """A released file read as a release; private, since it was read beside the original."""

    release: Release
    recognised: tuple[Recognised, ...]
    unused: tuple[str, ...]
    """Columns of the file that show no column of the original."""

    def repetition(self, original: People) -> Repetition:
        """What a file repeats, in the columns that show values as they are."""
        exact = {one.name: one.columns[0] for one in self.recognised if one.how == "exact"}
        if not exact or any(one.how == "synthetic" for one in self.recognised):
            return Repetition()
        persons = CommonRows.of(exact, original).persons(list(exact))
        for cells in exact.values():
            persons[cells.is_null().to_numpy()] = 1
        beyond = round(len(persons) - float(persons.sum()))
        if not beyond:
            return Repetition()
        table = self.release.table
        known = self.release.roles.get("quasi_identifiers", ())
        fewest = None
        if known:
            shown = {column.name: column for one in self.recognised for column in one.columns}
            (group,) = common_places([frame_of(shown[name] for name in known)])
            fewest = int(np.floor(np.bincount(group, persons).min() + 1e-6))
        return Repetition(beyond, beyond / table.rows, fewest)

    def copy_notices(self, original: People, control: People | None) -> list[str]:
        """A sentence without a full stop, where somebody's row stands among rows of nobody."""
        shown = [one for one in self.recognised if one.how in {"exact", *_OF_NOBODY}]
        if len(shown) < 2 or not any(one.how in _OF_NOBODY for one in shown):
            return []
        columns = {one.name: one.columns[0] for one in shown}

        def copied(people: People) -> int:
            own, seen = CommonRows.of(columns, people).counts(list(columns))
            return int(((own == 1) & (seen > 0)).sum())

        count = copied(original)
        if not count:
            return []
        beside = ""
        if control is not None:
            expected = copied(control) * original.frame.height / control.frame.height
            beside = f", and of as many people of the control {expected:,.0f}"
        people = "people" if count > 1 else "person"
        has = "have" if count > 1 else "has"
        return [
            f"{count:,} {people} of the original, whom these {len(columns)} columns tell from "
            f"everybody else, {has} a row in the file that shows just that{beside}: what chance "
            "does not explain was copied, and no rate of thousands shows a few such rows"
        ]


def as_release(
    released: pl.DataFrame,
    recognised: Sequence[Recognised],
    roles: Mapping[str, Sequence[str]],
) -> Foreign:
    """The rows of a file in the columns that were recognised; ``roles`` are the original's."""
    columns: dict[str, Shown] = {one.name: one.shown for one in recognised}
    if GROUP not in released.columns or GROUP in columns:
        swapped = (n for n, shown in columns.items() if shown.permuted)
        columns |= {name: Permuted(within="file") for name in swapped}
    frame = pl.DataFrame([column for one in recognised for column in one.columns])
    groups = None
    permuted = [one.name for one in recognised if one.how == "permuted"]
    others = [one.name for one in recognised if one.columns and one.name not in permuted]
    if permuted:
        numbers = _groups(released, taken=GROUP in columns)
        frame = frame.insert_column(0, numbers)
        groups = GroupNumbering(
            column=numbers.name, made="clusters", by=tuple(others) or tuple(permuted)
        )
    disclosure = Disclosure(columns=columns, groups=groups)
    used = {name for one in recognised for name in one.of}
    release = Release(
        table=published_rows(frame.select(disclosure.published)),
        method={"name": "of another make"},
        disclosure=disclosure,
        guarantee=_PROMISE,
        roles={
            role: tuple(column for name in names for column in disclosure.columns_of(name))
            for role, names in roles.items()
        },
        release_id="",
        publishable=False,
    )
    unused = tuple(name for name in released.columns if name not in used)
    return Foreign(release, tuple(recognised), unused)


def _groups(released: pl.DataFrame, *, taken: bool) -> pl.Series:
    """The number of each row's group: as the file says it, or one for all rows."""
    if GROUP in released.columns and not taken:
        return released[GROUP].rank("dense").cast(pl.Int64).alias(GROUP)
    name = GROUP + "'" * taken
    return pl.Series(name, [1], dtype=pl.Int64).new_from_index(0, released.height).alias(name)


_TOLD = 0.01
"""The share of rows beyond which it is told."""


@dataclass(frozen=True)
class Repetition:
    """How many rows repeat others."""

    rows: int = 0
    share: float = 0.0
    fewest: int | None = None
    """Persons of the smallest group; None where no row is repeated, or nothing tells groups."""

    @property
    def notices(self) -> list[str]:
        """A sentence without a full stop, where there is something to tell."""
        if self.share < _TOLD and self.fewest is None:
            return []
        return [
            f"{self.rows:,} rows ({self.share:.1%}) repeat others more often than people of the "
            "original have their values: they hide nobody, and groups of them count for fewer "
            "persons"
        ]


_OF_NOBODY = {"synthetic", "permuted"}
