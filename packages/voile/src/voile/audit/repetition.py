"""Rows that a released file repeats, and how many persons its groups are; private.

Whoever writes each row of a file five times makes five rows that show the same, and hides nobody.
Columns whose cells are values of the original, in rows that somebody has, tell how many people a
row can be of: rows beyond that repeat somebody.  Rows of nobody, permuted values, noise, and files
that show no value as it is, tell nothing of it; nor do rows where a cell is missing, which may
stand for any value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voile.audit.common_rows import CommonRows
from voile.audit.foreign import Foreign
from voile.release.reading.rows import People
from voile.table.alignment import common_places
from voile.table.arrays import frame_of

__all__ = ["Repetition", "repetition"]

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


def repetition(foreign: Foreign, original: People) -> Repetition:
    """What a file repeats, in the columns that show values as they are."""
    exact = {one.name: one.columns[0] for one in foreign.recognised if one.how == "exact"}
    if not exact or any(one.how == "synthetic" for one in foreign.recognised):
        return Repetition()
    persons = CommonRows.of(exact, original).persons(list(exact))
    for cells in exact.values():
        persons[cells.is_null().to_numpy()] = 1
    beyond = round(len(persons) - float(persons.sum()))
    if not beyond:
        return Repetition()
    table = foreign.release.table
    known = foreign.release.roles.get("quasi_identifiers", ())
    fewest = None
    if known:
        shown = {column.name: column for one in foreign.recognised for column in one.columns}
        (group,) = common_places([frame_of(shown[name] for name in known)])
        fewest = int(np.floor(np.bincount(group, persons).min() + 1e-6))
    return Repetition(beyond, beyond / table.rows, fewest)
