"""Which reports of a trip an adversary follows, and by which clock: what dense reports need.

Pieces of road are about 100 m long, so that steps of 10 m cannot be followed on them: of dense
reports those are followed that are some seconds apart (``FollowedReports.of``).

Noise that stays with places is drawn where a truck has moved on by ``STILL`` metres, and its fresh
part by a clock that runs only then.  Such a release shows three things exactly:

- when a truck stands: it is shown at one position again, and these reports tell nothing else;
- the clock of the fresh part, which a follower of fewer reports reads off all of them;
- where reports are dense, how far the truck has driven: its position changes once it is ``STILL``
  metres on.  ``FollowedReports.by_odometer`` follows it by that way in place of time.

Where positions are held between fixes, as a page shows them, only the fixes count.

Where a truck stood, and where an adversary puts that.

A stop begins at a report and lasts while further ones stay within ``WITHIN`` metres of it; it
counts from ``LASTS`` seconds on.  The adversary is told when a truck stands, for times, silence or
noise that stays with the place may show it; he puts it at the mean of what he infers meanwhile.

Cost: O(n) for n reports, and O(n) for each stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.planar.field import STILL
from voile_geo.roads.network import Indices

__all__ = [
    "LASTS",
    "ODOMETER_SPEED",
    "STEP",
    "WITHIN",
    "FollowedReports",
    "Sighted",
    "put",
    "stops_of",
]


T = TypeVar("T")

STEP = 10.0
"""Seconds between reports that are followed, at least."""
ODOMETER_SPEED = 10.0
"""m/s: metres that count for a second where a truck is followed by its odometer."""
_NEARLY = 0.75
"""Of the seconds that reports are to be apart: where they are so far apart all are followed."""
_DENSE = 2.5
"""Seconds between reports, up to which a truck is seen within every ``STILL`` metres."""
_ODOMETER_STEP, _BEGINNINGS = 150.0, (0.0, 0.5)
"""Metres between reports that are followed by the odometer, and where these begin, in steps."""
_HELD = 10.0
"""Seconds between fixes, from which on positions are taken for held."""


@dataclass(frozen=True, eq=False)
class Sighted:
    """What is published of one trip: n reports."""

    time: Floats
    """Shape (n,), seconds, of the clock by which movement is supposed."""
    shown: Floats
    """Shape (n, 2): published positions, in metres of the network's plane."""
    epsilon: Floats
    """Shape (n,), per metre; a function of what was published before."""
    number: Indices | None = None
    """Shape (n,): of each among all reports of the trip, from 0; None where all are here."""
    driven: Floats | None = None
    """Shape (n,): the clock of the fresh part of noise that stays, in seconds; None: ``time``."""

    def chosen(self, which: Indices) -> Sighted:
        """Some of its reports, by their places."""
        number = np.arange(len(self.time)) if self.number is None else self.number
        driven = None if self.driven is None else self.driven[which]
        return Sighted(
            self.time[which], self.shown[which], self.epsilon[which], number[which], driven
        )

    @property
    def spacing(self) -> float:
        """Seconds between reports, usually."""
        return float(np.median(np.diff(self.time))) if len(self.time) > 1 else np.inf


@dataclass(frozen=True, eq=False)
class FollowedReports:
    """Some reports of a trip, and where all of its reports lie between these."""

    sighted: Sighted
    """The reports that are followed."""
    place: Floats
    """Shape (n,): of each report of the trip, the place among these, from 0; between two of them
    by the way."""

    @classmethod
    def of(cls, sighted: Sighted, stays: bool, every: float = 0.0) -> FollowedReports:
        """Reports that are so many seconds apart at least.

        ``stays`` says that noise stays with places: then those are left out at which the truck
        stands, and the clock of movement stops there.
        """
        every = 0.0 if sighted.spacing >= _NEARLY * every else every
        if not stays:
            some = _apart(sighted.time, every)
            place = np.interp(np.arange(len(sighted.time)), some, np.arange(len(some)))
            return cls(sighted.chosen(some), place)
        fixes = _Fixes.of(sighted)
        some = _apart(fixes.seen.time, every)
        moved = np.append(True, np.diff(fixes.way[some]) > 0)
        step = np.diff(fixes.seen.time[some], prepend=fixes.seen.time[some[0]])
        clock = np.cumsum(np.where(moved, step, 0.0))[moved]
        return fixes.followed(some[moved], clock)

    @classmethod
    def by_odometer(cls, sighted: Sighted) -> list[FollowedReports]:
        """Reports at which a truck has driven some metres more, and that way as their clock.

        ``ODOMETER_SPEED`` metres count for a second.  Several choices, that begin at different
        places; none where the way is not shown.
        """
        fixes = _Fixes.of(sighted)
        moved = np.flatnonzero(np.diff(fixes.way, prepend=0.0) > 0)
        if fixes.held or sighted.spacing > _DENSE or len(moved) < 2:
            return []
        # A truck at a constant speed that moves on at its n-th report is within an n-th beyond.
        reports = np.maximum(np.rint(np.diff(fixes.seen.time[moved]) / sighted.spacing), 1.5)
        way = np.append(0.0, np.cumsum(STILL * (1 + 0.5 / (reports - 1))))
        found = []
        for beginning in _BEGINNINGS:
            first = min(int(np.searchsorted(way, beginning * _ODOMETER_STEP)), len(way) - 1)
            some = np.union1d([0], first + _apart(way[first:], _ODOMETER_STEP))
            found.append(fixes.followed(moved[some], np.rint(way[some] / ODOMETER_SPEED)))
        return found

    @property
    def nearest(self) -> Indices:
        """Shape (n,): for each report of the trip, the one of these that is nearest."""
        return np.floor(self.place + 0.5).astype(np.int64)

    @property
    def weights(self) -> sparse.csr_array:
        """Shape (n, m): how much each of these counts for each report of the trip, by the way."""
        before = np.floor(self.place).astype(np.int64)
        after = np.minimum(before + 1, len(self.sighted.time) - 1)
        part, report = self.place - before, np.arange(len(self.place))
        counts = np.concatenate((1 - part, part))
        at = np.tile(report, 2), np.concatenate((before, after))
        return sparse.csr_array((counts, at), (len(report), len(self.sighted.time)))

    def known(self, known: Mapping[int, T]) -> dict[int, T]:
        """What is known of reports, by these ones."""
        at = self.nearest
        return {int(at[report]): place for report, place in known.items()}

    def between(self, values: Floats) -> Floats:
        """Values (m, 2) of these reports, for all of the trip, (n, 2): between two by the way."""
        before = np.floor(self.place).astype(np.int64)
        after = np.minimum(before + 1, len(values) - 1)
        part = (self.place - before)[:, np.newaxis]
        return np.asarray((1 - part) * values[before] + part * values[after])


@dataclass(frozen=True, eq=False)
class _Fixes:
    """The reports that show a place of their own, with what the release shows beside places."""

    seen: Sighted
    """With the clock of the fresh part of the noise."""
    way: Floats
    """How often the truck has moved on, up to each fix."""
    of_all: Floats
    """Shape (n,): the same for each report of the trip, between two fixes by the time."""
    held: bool

    @classmethod
    def of(cls, sighted: Sighted) -> _Fixes:
        """Of all reports of a trip whose noise stays with places."""
        time = sighted.time
        changes = np.append(True, (np.diff(sighted.shown, axis=0) != 0).any(axis=1))
        slots = _slots(time, changes)
        moves = changes[slots]
        driven = np.cumsum(np.where(moves, np.diff(time[slots], prepend=time[slots[0]]), 0.0))
        way = np.cumsum(moves).astype(np.float64)
        seen = replace(sighted.chosen(slots), driven=driven)
        return cls(seen, way, np.interp(time, time[slots], way), len(slots) < len(time))

    def followed(self, which: Indices, clock: Floats) -> FollowedReports:
        """Some of them, by another clock of movement."""
        place = np.interp(self.of_all, self.way[which], np.arange(len(which)))
        return FollowedReports(replace(self.seen.chosen(which), time=clock), place)


def _slots(time: Floats, changes: NDArray[np.bool_]) -> Indices:
    """Reports that show a new fix, or could: all of them, but where positions are held."""
    everything = np.arange(len(time))
    gaps = np.diff(time[changes])
    if len(gaps) < 3:
        return everything
    least = float(gaps.min())
    whole = np.abs(gaps / least - np.rint(gaps / least)) * least
    if least < max(_HELD, 3 * float(np.median(np.diff(time)))) or whole.max() > 1.0:
        return everything
    first = float(time[np.flatnonzero(changes)[1]])
    late = np.mod(time - first + 0.5 * least, least) - 0.5 * least
    return np.union1d(np.flatnonzero(np.abs(late) <= 0.5), np.flatnonzero(changes))


def _apart(clock: Floats, step: float) -> Indices:
    """Places of readings that are a step apart at least, the first one among them."""
    if step <= 0:
        return np.arange(len(clock))
    found = [0]
    while (after := int(np.searchsorted(clock, clock[found[-1]] + step))) < len(clock):
        found.append(max(after, found[-1] + 1))
    return np.array(found, dtype=np.int64)


WITHIN, LASTS = 100.0, 300.0
"""Metres, and seconds."""


@dataclass(frozen=True, eq=False)
class _TruckStop:
    """Where and when a truck stands."""

    place: Floats
    """Shape (2,), metres of the plane: the mean of its reports."""
    first: int
    """The report at which it begins."""
    last: int


def stops_of(time: Floats, place: Floats) -> list[_TruckStop]:
    """The stops of a track: ``time`` (n,) in seconds, ``place`` (n, 2) in metres."""
    stops, first = [], 0
    while first < len(time):
        apart = np.hypot(*(place[first:] - place[first]).T) > WITHIN
        last = first + (int(np.argmax(apart)) if apart.any() else len(apart)) - 1
        if time[last] - time[first] >= LASTS:
            stops.append(_TruckStop(place[first : last + 1].mean(axis=0), first, last))
            first = last + 1
        else:
            first += 1
    return stops


def put(stop: _TruckStop, inferred: Floats) -> Floats:
    """Where somebody puts a stop who infers (n, 2) of the reports: shape (2,), metres."""
    return np.asarray(inferred[stop.first : stop.last + 1].mean(axis=0))
