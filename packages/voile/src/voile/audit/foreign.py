"""A released file of another make as adversaries and measures see any release.

It promises nothing, and its columns are shown as they were recognised.  Columns of the file that
show no column of the original are left out, and said; so are rows' numbers of groups unless values
were permuted: then rows of one number in the column ``group`` are a group, or all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from voile.audit.recognition import Recognised
from voile.disclosure.permuted import Permuted
from voile.disclosure.shown import Disclosure, GroupNumbering, Shown
from voile.release.claims import UnknownClaim
from voile.release.release import Guarantee, Release
from voile.table.opening import published_rows
from voile.table.published import GROUP

__all__ = ["Foreign", "as_release"]

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
