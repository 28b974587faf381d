"""Following the trips of a study on a map: what adversaries find, and maps of the worst trips.

The map is read before anything is charged.  Where trips cannot be followed, because they lie off
the map or the release shows none, the study says why, and stands.

Cost: some seconds a trip; the maps of the worst ``DRAWN`` are drawn.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from voile.attack.trajectory.adversaries import RoadEstimate
from voile.attack.trajectory.knowing import TrackedTrip
from voile.attack.trajectory.on_release import Limits, TripsOutcome
from voile.cli.trips import TripPicture, asked, picture_of
from voile.report.pages import FollowedFleet, worst_first
from voile.study.evidence import EvidenceRun, ReleaseUnderTest
from voile.study.record import PRIVATE, Skipped
from voile.study.rehearsal import Staged
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import read_roads

__all__ = ["DOCUMENT", "DRAWN", "FollowedTrips"]

DRAWN = 6
DOCUMENT = "trips.json"


@dataclass(eq=False)
class FollowedTrips:
    """Who follows the trips of a release that is studied; see ``study.single.Beside``."""

    roads: RoadNetwork
    most: int
    found: FollowedFleet | None = None
    outcomes: tuple[TripsOutcome, ...] = ()
    """What each adversary made of them; empty where they could not be followed."""

    @classmethod
    def on(cls, roads: Path, nodes: Path | None, most: int) -> FollowedTrips:
        """On a map in a file; raises ``TableError`` and ``InputError`` as ``read_roads`` does."""
        return cls(read_roads(roads, nodes), most)

    def look(self, staged: Staged, randomness: Randomness, progress: Callable[[str], None]) -> None:
        """Follow at most ``most`` trips, and draw the worst."""
        progress("following trips")
        pictures: dict[str, TripPicture] = {}

        def watch(seen: TrackedTrip, made: Mapping[str, RoadEstimate]) -> None:
            pictures[seen.trip] = picture_of(seen, made, "")

        subject = ReleaseUnderTest(staged.release, staged.original, staged.plan, randomness)
        outcomes = asked(EvidenceRun(subject), self.roads, Limits(trips=self.most), watch=watch)
        if isinstance(outcomes, Skipped):
            self.found = FollowedFleet((), (), left_out=outcomes.reason)
            return
        progress("drawing maps")
        trips = worst_first([picture.trip for picture in pictures.values()])
        drawn = [
            replace(trip, picture=self._drawn(pictures[trip.trip])) if i < DRAWN else trip
            for i, trip in enumerate(trips)
        ]
        self.outcomes = outcomes
        documents = [outcome.document() for outcome in outcomes]
        self.found = FollowedFleet(drawn, outcomes[0].notes, documents)

    @property
    def documents(self) -> Mapping[str, str]:
        """The figures for other programs, without maps."""
        found = self.found
        if found is None:
            return {}
        document: dict[str, Any] = {"private": PRIVATE}
        if found.left_out:
            document["left_out"] = found.left_out
        else:
            document |= {"adversaries": list(found.adversaries), "notes": list(found.notes)}
        return {DOCUMENT: json.dumps(document, indent=2, allow_nan=False) + "\n"}

    def _drawn(self, picture: TripPicture) -> str:
        """A map as an address that holds it; empty where nothing can draw it."""
        drawn = io.BytesIO()
        try:
            picture.draw(drawn, self.roads)
        except InputError:  # matplotlib is an extra, and the report says so
            return ""
        return "data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode()
