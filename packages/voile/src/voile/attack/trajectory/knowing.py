"""What an adversary knows beside the reports of a trip, and what that adds to what he finds.

    ends      where each trip starts, or ends, or where it stops: the place and the road
    places    public depots, and the doors of recipients who collude: he knows when a truck is there
    vehicle   which trips are of one vehicle: all of its days at once (``fleets``), and trips of any
              vehicle that share a route, by their mean (``convoys``)

Each is tried by itself, and all of them together, so that a table shows what each adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voile.attack.trajectory.adversaries import Known, RoadAdversary, RoadEstimate
from voile.attack.trajectory.convoys import follow_convoys
from voile.attack.trajectory.fleets import Day, follow_days
from voile.attack.trajectory.reports import Sighted
from voile.table.frames import from_native
from voile.table.reading import read_frame
from voile_base.errors import InputError
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import LocationNoise
from voile_geo.planar.staying import STILL
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["ENDS", "TrackedTrip", "TripKnowledge", "findings", "read_places", "vehicles_of"]

ENDS = ("start", "destination", "stops")
_AT = 100.0
"""Metres from a known place, within which a truck is there."""


@dataclass(frozen=True, eq=False)
class TripKnowledge:
    """What he knows; raises ``InputError`` for ends that there are not."""

    ends: tuple[str, ...] = ()
    """Of each trip, which of ``ENDS``."""
    places: Floats | None = None
    """Shape (k, 2): latitude and longitude of places at which he sees trucks."""
    vehicle: str | None = None
    """The column of the original that tells vehicles apart."""

    def __post_init__(self) -> None:
        for end in self.ends:
            if end not in ENDS:
                msg = f"an adversary may know {', '.join(ENDS)} of a trip, not {end!r}"
                raise InputError(msg)

    @property
    def cases(self) -> Sequence[tuple[str, bool, bool, bool]]:
        """What is tried: a name, and whether ends, places and vehicles are known."""
        known = bool(self.ends), self.places is not None, self.vehicle is not None
        names = " and ".join(self.ends), "known places", "all days"
        alone = [
            (name, i == 0, i == 1, i == 2)
            for i, (name, one) in enumerate(zip(names, known, strict=True))
            if one
        ]
        return [*alone, *([("all of this", *known)] if sum(known) > 1 else [])]


@dataclass(frozen=True, eq=False)
class TrackedTrip:
    """A trip that is followed; private but for what is sighted of it."""

    trip: str
    track: Floats
    """Shape (n, 2): true positions, metres of the plane."""
    road: Indices
    """Shape (n,): the true roads."""
    sighted: Sighted
    began: float
    """Seconds since 1970."""


def read_places(path: Path) -> Floats:
    """Latitude and longitude of each row of a table, (k, 2); raises ``InputError``."""
    frame = read_frame(path).frame
    names = ("latitude", "longitude")
    if not set(names) <= set(frame.columns):
        msg = f"{path}: a table of places needs the columns latitude and longitude"
        raise InputError(msg)
    try:
        found = frame.select(pl.col(name).cast(pl.Float64) for name in names).drop_nulls()
    except pl.exceptions.PolarsError:
        msg = f"{path}: latitude and longitude must be numbers, in degrees"
        raise InputError(msg) from None
    places = found.to_numpy()
    if not len(places) or not (np.abs(places) <= (90, 180)).all():
        msg = f"{path}: no places, or latitudes beyond 90 or longitudes beyond 180 degrees"
        raise InputError(msg)
    return places


def vehicles_of(original: Any, trip: str, vehicle: str) -> Mapping[str, str]:
    """The vehicle of each trip of the private original; raises ``InputError``."""
    private, _ = from_native(original)
    if vehicle not in private.columns:
        msg = f"the private original has no column {vehicle!r}, by which vehicles are told apart"
        raise InputError(msg)
    pairs = private.select(
        trip=pl.col(trip).cast(pl.String), vehicle=pl.col(vehicle).cast(pl.String)
    ).unique()
    if pairs["trip"].n_unique() < pairs.height:
        msg = (
            f"some trips have several vehicles by column {vehicle!r}: vehicles share ids of trips; "
            "give each trip an id of its own"
        )
        raise InputError(msg)
    return dict(pairs.iter_rows())


def findings(
    adversary: RoadAdversary,
    seen: Sequence[TrackedTrip],
    noise: LocationNoise,
    knowledge: TripKnowledge,
    vehicle_of: Mapping[str, str],
) -> Iterator[tuple[str, list[RoadEstimate]]]:
    """For each case its name, and what he finds of each trip."""
    for name, ends, places, days in knowledge.cases:
        known = [_known(adversary.roads, one, knowledge, ends, places) for one in seen]
        if days:
            yield name, _together(adversary, seen, known, noise, vehicle_of)
        else:
            yield (
                name,
                [
                    adversary.informed(one.sighted, noise, what)
                    for one, what in zip(seen, known, strict=True)
                ],
            )
    if knowledge.vehicle is not None:
        trips, of = [one.sighted for one in seen], [vehicle_of[one.trip] for one in seen]
        yield "all vehicles", follow_convoys(adversary, trips, of, noise)


def _together(
    adversary: RoadAdversary,
    seen: Sequence[TrackedTrip],
    known: Sequence[Known],
    noise: LocationNoise,
    vehicle_of: Mapping[str, str],
) -> list[RoadEstimate]:
    """All trips of each vehicle at once."""
    groups: dict[str, list[int]] = {}
    for i, one in enumerate(seen):
        groups.setdefault(vehicle_of[one.trip], []).append(i)
    found: dict[int, RoadEstimate] = {}
    for trips in groups.values():
        days = [Day(seen[i].sighted, seen[i].began, known[i]) for i in trips]
        found |= zip(trips, follow_days(adversary, days, noise), strict=True)
    return [found[i] for i in range(len(seen))]


def _known(
    roads: RoadNetwork, seen: TrackedTrip, knowledge: TripKnowledge, ends: bool, places: bool
) -> Known:
    """What he knows of one trip."""
    known: dict[int, tuple[Floats, int | None]] = {}
    if places and knowledge.places is not None:
        at = roads.to_plane(*(side.copy() for side in knowledge.places.T))
        far = np.hypot(*(seen.track[:, np.newaxis] - at).transpose(2, 0, 1))
        for report in np.flatnonzero(far.min(axis=1) < _AT).tolist():
            known[report] = (at[far[report].argmin()], None)
    if ends:
        last = len(seen.track) - 1
        reports = {0} if "start" in knowledge.ends else set()
        reports |= {last} if "destination" in knowledge.ends else set()
        reports |= set(_stops(seen.track)) if "stops" in knowledge.ends else set()
        known |= {i: (seen.track[i], int(seen.road[i])) for i in reports}
    return known


def _stops(track: Floats) -> list[int]:
    """At which reports a truck stands: where it was at the report before or will be at the next."""
    still = np.hypot(*np.diff(track, axis=0).T) < STILL
    return np.flatnonzero(np.append(still, False) | np.insert(still, 0, False)).tolist()
