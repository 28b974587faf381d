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

The blocks of all versions are kept as their lives (``BlockLives``): each block once, with the
version that made it and the one that it was gone from.  What a release adds is what it changes, so
that a series costs its rows, and not its rows times its releases.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.table.keeping import KeptRows
from voile.table.summaries import KnownRows
from voile_base.errors import RefusedError
from voile_base.ondemand import dataclass

__all__ = [
    "BlockLives",
    "Blocks",
    "History",
    "LivedBlocks",
    "SeriesTerms",
    "Version",
    "now",
]


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

    def as_text(self) -> str:
        """All but the name, as a record keeps it."""
        return json.dumps(
            {
                "method": dict(self.method),
                "columns": dict(self.columns),
                "roles": {role: list(columns) for role, columns in self.roles.items()},
                "record_key": self.record_key,
            }
        )

    @classmethod
    def of_text(cls, name: str, text: str) -> SeriesTerms:
        """The terms that a record keeps; raises ``ValueError`` for what is none."""
        try:
            document = json.loads(text)
            return cls(
                name=name,
                method=document["method"],
                columns=document["columns"],
                roles={role: tuple(columns) for role, columns in document["roles"].items()},
                record_key=document["record_key"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            msg = "the terms of the series cannot be read"
            raise ValueError(msg) from error

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
                "restore them, or begin a new series: of the same people only if nobody has seen a "
                "release of this one"
            )
            raise RefusedError(msg)

    def _details(self, other: SeriesTerms) -> list[str]:
        pairs = [(self.method, other.method), (self.columns, other.columns)]
        return [
            f"{name}: {_told(before, name)} before, {_told(now, name)} now"
            for before, now in pairs
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]


def _told(terms: Mapping[str, str], name: str) -> str:
    """A term, in quotes where it is a clause."""
    text = terms.get(name, "absent").strip("; ")
    return f'"{text}"' if " " in text else text


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

    COLUMNS: ClassVar[tuple[str, ...]] = ("low", "high", "rows", "distinct", "batch")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Blocks:
        return Blocks(
            ExactNumbers(self.low.units[index], self.low.scale),
            ExactNumbers(self.high.units[index], self.high.scale),
            self.rows[index],
            self.distinct[index],
            self.batch[index],
        )

    def rescaled(self, scale: int) -> Blocks:
        """The same blocks with borders in units of 10**-scale, at least the present ones."""
        return replace(self, low=self.low.rescaled(scale), high=self.high.rescaled(scale))

    @classmethod
    def joined(cls, several: Sequence[Blocks]) -> Blocks:
        """The blocks of several, one after the other, in one unit."""
        scale = max(
            (numbers.scale for one in several for numbers in (one.low, one.high)), default=0
        )

        def together(which: str) -> NDArray[Any]:
            return np.concatenate(
                [getattr(one, which) for one in several] or [np.zeros(0, np.int64)]
            )

        def numbers(which: str) -> ExactNumbers:
            units = [getattr(one, which).rescaled(scale).units for one in several]
            return ExactNumbers(np.concatenate(units or [np.zeros(0, np.int64)]), scale)

        plain = (together(which) for which in ("rows", "distinct", "batch"))
        return cls(numbers("low"), numbers("high"), *plain)

    def unchanged(self, now: Blocks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Which blocks stand in two versions of a series, alike in all that is kept of them.

        None where the blocks of the second do not ascend, or the two are in different units: then
        all of them count as new.  Cost: one sort of them.
        """
        scales = {numbers.scale for one in (self, now) for numbers in (one.low, one.high)}
        units = (self.low.units, self.high.units, now.low.units, now.high.units)
        if len(scales) > 1 or any(each.dtype == object for each in units):
            return None
        order = np.lexsort((now.low.units, now.batch))
        if (np.diff(order) != 1).any():
            return None
        joined = Blocks.joined([self, now])
        second = np.arange(len(joined)) >= len(self)
        order = np.lexsort((second, joined.low.units, joined.batch))
        columns = (joined.low.units, joined.high.units, joined.rows, joined.distinct, joined.batch)
        same = second[order][1:] & ~second[order][:-1]
        for column in columns:
            same &= np.diff(column[order]) == 0
        kept = np.zeros(len(joined), dtype=np.bool_)
        kept[order[1:][same]] = True
        kept[order[:-1][same]] = True
        return kept[: len(self)], kept[len(self) :]


@dataclass(frozen=True, eq=False)
class BlockLives:
    """All blocks that a series ever had, in the order in which they were made; private.

    ``born`` (b,) has the version that made a block, ``gone`` (b,) the first that has it no more,
    and a number above ``versions`` where that has not happened.
    """

    blocks: Blocks
    born: NDArray[np.int64]
    gone: NDArray[np.int64]
    versions: int

    @classmethod
    def of(cls, versions: Sequence[Blocks]) -> BlockLives:
        """The lives of the blocks of all versions, from the oldest to the newest."""
        made, born, gone = [], [], []
        alive = np.zeros(0, np.int64)
        count = 0
        empty = Blocks.joined([])
        for number, (before, now) in enumerate(pairwise([empty, *versions]), start=1):
            kept = before.unchanged(now) if len(before) else None
            stays, old = kept or (np.zeros(len(before), np.bool_), np.zeros(len(now), np.bool_))
            gone.append((alive[~stays], number))
            new = now[~old]
            here = np.empty(len(now), np.int64)
            here[old] = alive[stays]
            here[~old] = np.arange(count, count + len(new))
            made.append(new)
            born.append(np.full(len(new), number, np.int64))
            alive, count = here, count + len(new)
        ends = np.full(count, len(versions) + 1, np.int64)
        for which, number in gone:
            ends[which] = number
        return cls(Blocks.joined(made), np.concatenate([*born, alive[:0]]), ends, len(versions))

    def of_version(self, number: int) -> NDArray[np.int64]:
        """Which blocks a version has, ascending by batch and ``low``; indices.

        Those of a version that shares none with others stay in the order in which it gave them.
        """
        there = (self.born <= number) & (self.gone > number)
        if (self.born[there] == number).all():
            return np.flatnonzero(there)
        ordered: NDArray[np.int64] = self._order[there[self._order]]
        return ordered

    def at(self, number: int) -> Blocks:
        """The blocks of a version."""
        return self.blocks[self.of_version(number)]

    def containing(self, version: NDArray[np.int64], units: NDArray[Any]) -> NDArray[np.int64]:
        """The block born in a version that contains a value, (m,) each; -1 where none does.

        ``units`` are in the unit of the blocks.  Cost: O((b + m) log b).
        """
        if not len(self.born):
            return np.full(len(units), -1, np.int64)
        low = self.blocks.low.units
        borders = np.unique(low)
        width = len(borders) + 1
        key = self.born * width + np.searchsorted(borders, low, side="right")
        order = np.argsort(key, kind="stable")
        asked = version * width + np.searchsorted(borders, units, side="right")
        place = order[np.maximum(np.searchsorted(key[order], asked, side="right") - 1, 0)]
        inside = (self.born[place] == version) & (low[place] <= units)
        inside &= np.asarray(units <= self.blocks.high.units[place], dtype=np.bool_)
        return np.where(inside, place, -1)

    @cached_property
    def only_grow(self) -> bool:
        """Whether each block lies, from the version that made it on, within one block of each.

        So it is measured here, by the borders of blocks: those of a version are disjoint, sealed
        ones are never gone, and one that is gone lies within one that was made in its place.
        """
        batch = self.blocks.batch
        gone = np.flatnonzero(self.gone <= self.versions)
        if (batch[gone] != 0).any() or not ((batch == 0).all() or np.array_equal(batch, self.born)):
            return False
        home = self.containing(self.gone[gone], self.blocks.low.units[gone])
        if (home < 0).any() or (self.blocks.high.units[gone] > self.blocks.high.units[home]).any():
            return False
        return self._disjoint

    @property
    def _disjoint(self) -> bool:
        """Whether no two blocks of one version meet, within a batch; said of those that grow.

        Those born together are compared, and of blocks without a batch those gone together, and
        those that stand at the end.  That is enough: where a new block meets one that stays, what
        either grows into meets the other, until both are gone at once or stand at the end.
        """
        whole = self.blocks.batch == 0
        return _meet_nowhere(self.blocks, self.born) and _meet_nowhere(
            self.blocks[whole], self.gone[whole]
        )

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.lexsort((self.blocks.low.units, self.blocks.batch))


def _meet_nowhere(blocks: Blocks, when: NDArray[np.int64]) -> bool:
    """Whether blocks of one time are disjoint."""
    order = np.lexsort((blocks.low.units, when))
    low, high, time = blocks.low.units[order], blocks.high.units[order], when[order]
    return not ((time[1:] == time[:-1]) & (low[1:] <= high[:-1]).astype(np.bool_)).any()


class LivedBlocks(Blocks):
    """The blocks of one version of a series, put together where they are asked for."""

    lives: BlockLives
    number: int

    def __init__(self, lives: BlockLives, number: int) -> None:
        vars(self).update(lives=lives, number=number)

    def __getattr__(self, name: str) -> Any:
        if name not in Blocks.COLUMNS:
            raise AttributeError(name)
        made = self.lives.at(self.number)
        vars(self).update({column: getattr(made, column) for column in Blocks.COLUMNS})
        return vars(self)[name]


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
    folded: bool = False
    """Whether its marks stand among those of other versions, in ``History.folded``."""


@dataclass(frozen=True, eq=False)
class History:
    """The releases of one series so far, oldest first; an immutable, private value."""

    terms: SeriesTerms
    key: bytes
    """32 secret bytes: the key of the row marks of this series."""
    versions: tuple[Version, ...] = ()
    folded: KeptRows = field(default_factory=KeptRows)
    """Marks of the rows of all versions that are folded."""

    @cached_property
    def lives(self) -> BlockLives:
        """The lives of all blocks of the series; read from the ledger, or compared."""
        blocks = [version.blocks for version in self.versions]
        lived = [each for each in blocks if isinstance(each, LivedBlocks)]
        if lived and len(lived) == len(blocks) == lived[0].lives.versions:
            lives = lived[0].lives
            if all(each.lives is lives and each.number == n for n, each in enumerate(lived, 1)):
                return lives
        return BlockLives.of(blocks)

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
        single = (version.published for version in self.versions if not version.folded)
        return KnownRows(
            (self.folded, *single),
            latest.held if latest else KeptRows(),
            len(self.versions),
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
