"""What a series of releases has promised so far: a plain value, and private.

A series is one growing table published again and again.  Each ``Version`` records the blocks of
one release and marks the rows first published in it; rows that could not yet be published safely
are marked as held.  That is what the next release is checked against, and nothing more is kept:
no attribute of a row, and of the sensitive values only the borders of the blocks, which every
release shows anyway.

A row is marked by 64 bits of a keyed pseudorandom function of its identity and, where a record
key identifies it, by 64 bits of its contents.  The key belongs to the series.  With n rows, two
different rows share a mark with probability below n**2 / 2**65 (3e-6 for ten million rows); the
only effect is that a change of one of them goes unnoticed.  Marks are data sets of an engine.

Cost: 10 bytes a row, 18 with a record key, on the disk.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.table.keeping import KeptRows
from voile.table.summaries import KnownRows
from voile_base.errors import RefusedError

__all__ = ["Blocks", "History", "SeriesTerms", "Version", "now"]


@dataclass(frozen=True)
class SeriesTerms:
    """What stays the same over all releases of a series."""

    name: str
    method: Mapping[str, str]
    """The parameters of the method, as text (``{"k": "3", "e": "2000", ...}``)."""
    columns: Mapping[str, str]
    """Published columns and the kind of their values (``{"salary": "number", ...}``)."""
    roles: Mapping[str, tuple[str, ...]]
    """Roles of the published columns, by name of role."""
    record_key: str | None = None
    """The column that identifies a row across versions; None: rows are only appended."""

    @property
    def people_leave(self) -> bool:
        """Whether rows may leave, so that blocks are classes of rows and not ranges of values."""
        return not self.method.keys().isdisjoint({"group_size", "boxes"})

    def refuse_difference(self, other: SeriesTerms) -> None:
        """Raise ``RefusedError`` naming what ``other`` would change."""
        changed = [
            what
            for what, before, now in (
                ("the method's parameters", dict(self.method), dict(other.method)),
                ("the columns or their types", dict(self.columns), dict(other.columns)),
                ("the roles of the columns", dict(self.roles), dict(other.roles)),
                ("the record key", self.record_key, other.record_key),
            )
            if before != now
        ]
        if changed:
            details = "; ".join([*self._details(other)])
            msg = (
                f"series {self.name!r} was begun with other terms: {' and '.join(changed)} differ"
                f"{f' ({details})' if details else ''}. Releases of one series must agree in them; "
                "restore them, or begin a new series only for data about other people"
            )
            raise RefusedError(msg)

    def _details(self, other: SeriesTerms) -> list[str]:
        pairs = [(self.method, other.method), (self.columns, other.columns)]
        return [
            f"{name}: {before.get(name, 'absent')} before, {now.get(name, 'absent')} now"
            for before, now in pairs
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The p blocks of one release, ascending by ``low`` within a batch.

    A block holds the rows whose sensitive value lies in [low, high] and, where batches are
    sealed, that were first published in version ``batch``.  Without sealed batches all blocks
    have batch 0 and hold every published row in their range.

    In a series whose people come and go they are classes of rows (``table.matching``), and both
    borders are the number of the class.
    """

    low: ExactNumbers
    high: ExactNumbers
    rows: NDArray[np.int64]
    distinct: NDArray[np.int64]
    batch: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Version:
    """One release of a series, as the next one must know it."""

    number: int
    """1 for the first release."""
    release_id: str
    """The public name of the release: 128 bits in hexadecimal, also in ``release.json``."""
    created: str
    """ISO 8601, UTC."""
    blocks: Blocks
    published: KeptRows = field(default_factory=KeptRows)
    """Marks of the rows first published in this version; see ``table.matching``."""
    held: KeptRows = field(default_factory=KeptRows)
    """Marks of rows seen and held back, or retired; kept for the newest version only."""


@dataclass(frozen=True, eq=False)
class History:
    """The releases of one series so far, oldest first; an immutable, private value."""

    terms: SeriesTerms
    key: bytes
    """32 secret bytes: the key of the row marks of this series."""
    versions: tuple[Version, ...] = ()

    @property
    def next_number(self) -> int:
        """The number of the release to be made."""
        return len(self.versions) + 1

    @property
    def latest(self) -> Version | None:
        """The newest release, if there is one."""
        return self.versions[-1] if self.versions else None

    @property
    def known(self) -> KnownRows:
        """What the next release matches its rows with."""
        latest = self.latest
        return KnownRows(
            tuple(version.published for version in self.versions),
            latest.held if latest else KeptRows(),
        )

    def refuse_earlier_clock(self, clock: str) -> None:
        """Raise ``RefusedError`` where the newest release was made later than this; ISO 8601."""
        latest, when = self.latest, datetime.datetime.fromisoformat
        if latest and when(clock) < when(latest.created):
            msg = (
                f"series {self.terms.name!r}: release {latest.number} was made at "
                f"{latest.created}, and this computer's clock says {clock}. Releases follow each "
                "other in time; set the clock right"
            )
            raise RefusedError(msg)

    def appended(self, version: Version) -> History:
        """The history with one more version; only the newest keeps its held rows."""
        if version.number != self.next_number:
            msg = f"version {version.number} cannot follow version {len(self.versions)}"
            raise ValueError(msg)
        earlier = tuple(replace(old, held=KeptRows()) for old in self.versions)
        return replace(self, versions=(*earlier, version))


def now() -> str:
    """When a version is made: ISO 8601, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
