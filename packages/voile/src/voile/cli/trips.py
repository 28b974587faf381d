"""Following the trips of a release or of a study on a map, with a picture of each if asked for.

Pictures of the trips that adversaries follow: a map for each, and a page of the fleet; private.

``Gallery`` draws them into a folder, ``_picture_of`` one of them.

A map shows the true path, what is published of it, and what the informed adversary makes of that,
with true stops and where he puts them.  Files are numbered in the order in which trips were drawn,
and their names tell nothing.

Cost: a second or two a map, which grows with the roads in view.

The trips of a study
--------------------
The map is read before anything is charged.  Where trips cannot be followed, because they lie off
the map or the release shows none, the study says why, and stands.

Cost: some seconds a trip; the maps of the worst ``DRAWN`` are drawn.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
import numpy as np

from voile.attack.trajectory.adversaries import RoadEstimate, share_right
from voile.attack.trajectory.knowing import TrackedTrip, TripKnowledge, read_movement, read_places
from voile.attack.trajectory.on_release import Limits, TripsOutcome, Watch, counted, follow_trips
from voile.attack.trajectory.reports import WITHIN, put, stops_of
from voile.cli.attack_call import AttackCall, show_followed
from voile.release.release import Release
from voile.report.html import require_report
from voile.report.pages import FleetTrip, FollowedFleet, worst_first
from voile.study.evidence import EvidenceRun, ReleaseUnderTest
from voile.study.record import PRIVATE, Skipped
from voile.study.rehearsal import Staged
from voile_base.durable import new_private_folder, write_text
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.terminal import print_json
from voile_base.values import Json
from voile_geo.roads.drawing import DrawnPath, draw_paths
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import read_roads

if TYPE_CHECKING:
    from voile.report import html as report_html
else:
    report_html = on_demand("voile.report.html")

__all__ = ["DOCUMENT", "DRAWN", "FollowedTrips", "Gallery", "follow"]


def follow(call: AttackCall, new: Release, stage: Callable[[str], None]) -> Callable[[], None]:
    """Follow the trips of a release on a map; how to show what came of it."""
    reason = "with --roads, trips are followed on a map"
    call.refuse("previous", "attack", reason=reason)
    call.refuse_all_said(but=("targets",), reason=reason)
    if call.against is None or call.roads is None:
        msg = "trips are judged by the true ones; give the private original, with --against"
        raise InputError(msg)
    limits = Limits(
        trips=100 if (trips := call.said["targets"]) is None else trips,
        fastest=None if call.fastest is None else call.fastest / 3.6,
        movement=None if call.movement is None else read_movement(call.movement),
    )
    knowledge = TripKnowledge(
        ends=call.knows,
        places=None if call.places is None else read_places(call.places),
        vehicle=call.vehicle,
    )
    run = call.evidence(new, stage, strict=True)
    stage("reading the map")
    roads = read_roads(call.roads, call.nodes)
    stage("following")

    def followed(watch: Watch | None) -> tuple[TripsOutcome, ...]:
        found = _asked(run, roads, limits, knowledge, watch)
        assert not isinstance(found, Skipped), "what somebody asks for is done, or an error"
        return found

    outcomes = followed(None) if call.pictures is None else _drawn(call, roads, followed)
    if call.as_json:
        return lambda: print_json(
            {
                "private": PRIVATE,
                "adversaries": [outcome.document() for outcome in outcomes],
                "notes": list(outcomes[0].notes),
            }
        )

    def show() -> None:
        click.echo(PRIVATE)
        show_followed(outcomes)

    return show


def _asked(
    run: EvidenceRun,
    roads: RoadNetwork,
    limits: Limits,
    knowledge: TripKnowledge | None = None,
    watch: Watch | None = None,
) -> tuple[TripsOutcome, ...] | Skipped:
    """What adversaries on a map make of the trips of the release (``follow_trips``)."""
    subject = run.subject
    return run.ask(
        "trips",
        "trips",
        lambda: follow_trips(
            subject.release,
            subject.original,
            roads,
            None if subject.plan is None else subject.plan.trajectory,
            limits=limits,
            knowledge=knowledge,
            randomness=subject.randomness,
            watch=watch,
        ),
    )


def _drawn(
    call: AttackCall,
    roads: RoadNetwork,
    followed: Callable[[Watch], tuple[TripsOutcome, ...]],
) -> tuple[TripsOutcome, ...]:
    """Follow trips with a picture of each, in a new folder that appears whole."""
    assert call.pictures is not None, "pictures were asked for"
    require_report()
    with new_private_folder(call.pictures) as folder:
        gallery = Gallery(folder, roads)
        outcomes = followed(gallery)
        page = gallery.finish(call.release.resolve().name, outcomes[0].notes)
    maps = counted(len(gallery.trips), "map")
    click.echo(f"{maps} (private): {call.pictures / page}", err=True)
    return outcomes


_INFORMED, _PAGE = "informed", "fleet.html"


@dataclass(frozen=True, eq=False)
class _TripPicture:
    """A trip that was followed, and its map before it is drawn."""

    trip: FleetTrip
    paths: Sequence[DrawnPath]

    def draw(self, where: Path | IO[bytes], roads: RoadNetwork) -> None:
        """Draw the map, to a file by its name or, as SVG, to an open one."""
        trip = self.trip
        title = f"PRIVATE. {trip.right:.0%} of {trip.reports} reports on the right road"
        draw_paths(where, roads, self.paths, title)


def _picture_of(seen: TrackedTrip, made: Mapping[str, RoadEstimate], name: str) -> _TripPicture:
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
    return _TripPicture(trip, paths)


@dataclass(eq=False)
class Gallery:
    """Draws each trip as it is followed, into a folder, and then the page."""

    folder: Path
    roads: RoadNetwork
    trips: list[FleetTrip] = field(default_factory=list)

    def __call__(self, seen: TrackedTrip, made: Mapping[str, RoadEstimate]) -> None:
        """Draw one trip; see ``Watch``."""
        name = f"trip-{len(self.trips) + 1:03}.svg"
        picture = _picture_of(seen, made, name)
        picture.draw(self.folder / name, self.roads)
        (self.folder / name).chmod(0o600)
        self.trips.append(picture.trip)

    def finish(self, name: str, notes: Sequence[str]) -> Path:
        """Write the page; returns its name in the folder."""
        write_text(
            self.folder / _PAGE, report_html.render_fleet(name, self.trips, notes), private=True
        )
        return Path(_PAGE)


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
        pictures: dict[str, _TripPicture] = {}

        def watch(seen: TrackedTrip, made: Mapping[str, RoadEstimate]) -> None:
            pictures[seen.trip] = _picture_of(seen, made, "")

        subject = ReleaseUnderTest(staged.release, staged.original, staged.plan, randomness)
        outcomes = _asked(EvidenceRun(subject), self.roads, Limits(trips=self.most), watch=watch)
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
        document: Json = {"private": PRIVATE}
        if found.left_out:
            document["left_out"] = found.left_out
        else:
            document |= {"adversaries": list(found.adversaries), "notes": list(found.notes)}
        return {DOCUMENT: json.dumps(document, indent=2, allow_nan=False) + "\n"}

    def _drawn(self, picture: _TripPicture) -> str:
        """A map as an address that holds it; empty where nothing can draw it."""
        drawn = io.BytesIO()
        try:
            picture.draw(drawn, self.roads)
        except InputError:  # matplotlib is an extra, and the report says so
            return ""
        return "data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode()
