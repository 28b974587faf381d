"""Pictures of the trips that adversaries follow: a map for each, and a page of the fleet; private.

``Gallery`` draws them into a folder, ``picture_of`` one of them.

A map shows the true path, what is published of it, and what the informed adversary makes of that,
with true stops and where he puts them.  Files are numbered in the order in which trips were drawn,
and their names tell nothing.

Cost: a second or two a map, which grows with the roads in view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from voile.attack.trajectory.adversaries import RoadEstimate, share_right
from voile.attack.trajectory.knowing import TrackedTrip
from voile.attack.trajectory.reports import WITHIN, put, stops_of
from voile.report.fleet_page import FleetTrip
from voile_base.durable import write_text
from voile_geo.roads.drawing import DrawnPath, draw_paths
from voile_geo.roads.network import RoadNetwork

__all__ = ["Gallery", "TripPicture", "picture_of"]

_INFORMED, _PAGE = "informed", "fleet.html"


@dataclass(frozen=True, eq=False)
class TripPicture:
    """A trip that was followed, and its map before it is drawn."""

    trip: FleetTrip
    paths: Sequence[DrawnPath]

    def draw(self, where: Path | IO[bytes], roads: RoadNetwork) -> None:
        """Draw the map, to a file by its name or, as SVG, to an open one."""
        trip = self.trip
        title = f"PRIVATE. {trip.right:.0%} of {trip.reports} reports on the right road"
        draw_paths(where, roads, self.paths, title)


def picture_of(seen: TrackedTrip, made: Mapping[str, RoadEstimate], name: str) -> TripPicture:
    """What came of a trip, whose map has a name; see ``Watch``."""
    informed = made[_INFORMED]
    true = stops_of(seen.sighted.time, seen.track)
    named = [put(stop, informed.position) for stop in true]
    apart = [float(np.hypot(*(a - b.place))) for a, b in zip(named, true, strict=True)]
    error, shown = (
        float(np.hypot(*(place - seen.track).T).mean())
        for place in (informed.position, seen.sighted.shown)
    )
    trip = FleetTrip(
        trip=seen.trip,
        reports=len(seen.track),
        right=share_right(informed.road, seen.road),
        error=error,
        shown=shown,
        stops=len(true),
        stops_found=sum(metres <= WITHIN for metres in apart),
        nearest=min(apart, default=None),
        lost=informed.lost,
        picture=name,
    )
    paths = [
        DrawnPath("true path", seen.track),
        DrawnPath(f"published, {shown:,.0f} m off", seen.sighted.shown),
        DrawnPath(f"inferred, {error:,.0f} m off", informed.position),
    ]
    if true:
        places = np.array([stop.place for stop in true])
        paths.append(DrawnPath(f"true stops ({len(true)})", places, joined=False))
        paths.append(DrawnPath("where he puts these", np.array(named), joined=False))
    return TripPicture(trip, paths)


@dataclass(eq=False)
class Gallery:
    """Draws each trip as it is followed, into a folder, and then the page."""

    folder: Path
    roads: RoadNetwork
    trips: list[FleetTrip] = field(default_factory=list)

    def __call__(self, seen: TrackedTrip, made: Mapping[str, RoadEstimate]) -> None:
        """Draw one trip; see ``Watch``."""
        name = f"trip-{len(self.trips) + 1:03}.svg"
        picture = picture_of(seen, made, name)
        picture.draw(self.folder / name, self.roads)
        (self.folder / name).chmod(0o600)
        self.trips.append(picture.trip)

    def finish(self, name: str, notes: Sequence[str]) -> Path:
        """Write the page; returns its name in the folder."""
        from voile.report.html import render_fleet  # noqa: PLC0415 - an extra

        write_text(self.folder / _PAGE, render_fleet(name, self.trips, notes), private=True)
        return Path(_PAGE)
