"""Attacks on a release of trips: how far each adversary is off, and how often on the right road.

What it does: lets every adversary of ``adversaries`` follow the trips of a release on a road map,
and judges them by the true positions.

Adversary: has the published trips, the map, the method with its parameters, and a law of movement.
The informed one uses the mechanism's own law; where zones depend on a receiver he knows that place.

Claim: rates are counted.  The true road at a report is the one that map matching of the exact track
finds, with a receiver's error of 15 m.  Means are over trips, with intervals of confidence 95 % by
Student's law over trips, because the reports of one trip are not independent.  What is left out is
counted in notes (``selection``).

Cost: that of ``inference`` for each trip and adversary; drawn trips bound it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from voile.attack.outcome import Estimate
from voile.attack.trajectory.adversaries import Finding, RoadAdversary, Sighted, share_right
from voile.attack.trajectory.selection import selected
from voile.disclosure import moved as stating
from voile.disclosure.moved import Moved
from voile.dp.planar.noise import AngleSelection, CorrelatedGaussian, LocationNoise, PlanarLaplace
from voile.dp.planar.zones import Zones, ZoneTable
from voile.errors import InputError
from voile.geodesy import Floats
from voile.randomness import Randomness
from voile.release.release import Release
from voile.roads.density import RoadRadii, radii_of_roads
from voile.roads.network import RoadNetwork
from voile.schema.trajectory import TrajectoryColumns

__all__ = ["TripsOutcome", "follow_trips", "noise_of"]

_ADVERSARIES = ("none", "median", "smoother", "map-matching", "informed")


@dataclass(frozen=True)
class TripsOutcome:
    """What one adversary makes of the trips of a release; private."""

    adversary: str
    trips: int
    reports: int
    error: Estimate
    """Mean distance between his estimate and the truth, in metres."""
    right: Estimate
    """Share of the reports at which he names the true road."""
    seconds: float
    """Processor time a trip, without the look-up of what can be reached on the map."""
    notes: tuple[str, ...] = ()
    """What was left out, the same for all adversaries of a release."""

    def document(self) -> dict[str, Any]:
        """The outcome for JSON, without the notes."""
        return {
            "adversary": self.adversary,
            "trips": self.trips,
            "reports": self.reports,
            "error_metres": self.error.document(),
            "right_roads": self.right.document(),
            "seconds_per_trip": self.seconds,
        }


def follow_trips(
    release: Release,
    original: Any,
    roads: RoadNetwork,
    named: TrajectoryColumns | None = None,
    *,
    trips: int = 100,
    reports: int = 100,
    randomness: Randomness | None = None,
) -> tuple[TripsOutcome, ...]:
    """Let each adversary follow drawn trips, at most so many reports of each; private.

    What is left out is said in the notes of every outcome.

    ``original`` is the private table, a data frame of any kind, with the columns of ``named``.
    Raises ``InputError`` where the release shows no positions or has levels for receivers that it
    does not name, where its trips are not those of the original, have one report each or lie off
    the map, or where its noise was chosen by another map.
    """
    moved = _positions(release)
    named = named or TrajectoryColumns()
    randomness = randomness or Randomness.secure()
    chosen = selected(release, original, named, roads, (trips, reports), randomness)
    noise, adversary = noise_of(moved, roads), RoadAdversary(roads)
    zones = _zones(noise, moved.destination)
    found: dict[str, list[tuple[float, float, float, int]]] = {name: [] for name in _ADVERSARIES}
    for trip in chosen.trips:
        track, sighted = _sighted(trip, roads, zones)
        truth = adversary.true_roads(sighted.time, track)
        for name, finding in _followed(adversary, sighted, noise):
            error = float(np.hypot(*(finding.position - track).T).mean())
            right = share_right(finding.road, truth)
            found[name].append((error, right, finding.seconds, len(track)))
    notes = (*chosen.notes, *_looked_up(adversary))
    return tuple(_outcome(name, np.array(rows), notes) for name, rows in found.items())


def noise_of(moved: Moved, roads: RoadNetwork | None = None) -> LocationNoise:
    """The noise that a release states of its positions, as everybody can read it.

    Raises ``InputError`` where radii were chosen by the roads of a map, and this is another one.
    """
    stated = moved.zones
    radii, grid = stated.radii, None
    if stated.map is not None:
        found = _radii_of(stated.map, roads)
        radii, grid = found.radii, found.grid
    zones = Zones(
        levels=[level * stated.factor for level in stated.levels],
        radii=radii,
        level_limits=stated.level_limits,
        radius_limits=stated.radius_limits,
        centre=stated.centre,
        by=stated.by,
        grid=grid,
    )
    match moved.law:
        case stating.CorrelatedGaussian(tau=tau):
            return CorrelatedGaussian(zones, tau)
        case stating.TurningLaplace(deviation=deviation, start=start):
            return AngleSelection(zones, deviation, start)
        case stating.PlanarLaplace():
            return PlanarLaplace(zones)


def _radii_of(stated: stating.RoadMap, roads: RoadNetwork | None) -> RoadRadii:
    """The radii that a release chose by the roads of a map, found anew."""
    if roads is None or roads.digest != stated.digest:
        msg = (
            f"the release chose its noise by the roads of the map {stated.name}, and this is "
            "another map, or another version of it: the noise cannot be known without that one"
        )
        raise InputError(msg)
    return radii_of_roads(roads, stated.within, stated.bounds)


def _positions(release: Release) -> Moved:
    """How a release moved its positions; raises ``InputError`` where it shows none."""
    for role in ("latitude", "longitude"):
        for column in release.roles.get(role, ()):
            shown = release.disclosure.columns.get(release.disclosure.owner(column) or "")
            if isinstance(shown, Moved):
                return shown
    msg = "the release shows no positions, so that no truck can be followed on a map"
    raise InputError(msg)


def _followed(
    adversary: RoadAdversary, sighted: Sighted, noise: LocationNoise
) -> Iterator[tuple[str, Finding]]:
    yield "none", adversary.as_shown(sighted)
    yield "median", adversary.median(sighted)
    yield "smoother", adversary.smoother(sighted)
    yield "map-matching", adversary.matching(sighted)
    yield "informed", adversary.informed(sighted, noise)


def _looked_up(adversary: RoadAdversary) -> Iterator[str]:
    yield (
        f"looking up what can be reached on the map took {adversary.looking:.2g} s in all, which "
        "the adversaries who match to it share and no trip's time holds"
    )


def _zones(noise: LocationNoise, receiver: Any) -> ZoneTable:
    if noise.zones.needs_receiver and receiver is None:
        msg = "the noise depends on where each trip is bound for, and the release does not say that"
        raise InputError(msg)
    return noise.zones.table(None if receiver is None else (receiver[0], receiver[1]))


def _sighted(trip: pl.DataFrame, roads: RoadNetwork, zones: ZoneTable) -> tuple[Floats, Sighted]:
    """The true track in the plane of the map, and what is seen of it, where it is followed."""
    true, shown = (
        roads.to_plane(trip[f"{side}_latitude"].to_numpy(), trip[f"{side}_longitude"].to_numpy())
        for side in ("true", "shown")
    )
    places = zip(trip["shown_latitude"].to_list(), trip["shown_longitude"].to_list(), strict=True)
    epsilons, last = [], None
    for place in places:
        epsilons.append(zones.epsilon(place, last))
        last = place
    kept = np.flatnonzero(trip["followed"].to_numpy())
    time = trip["time"].to_numpy()[kept]
    seen = Sighted(time - time[0], shown[kept], np.array(epsilons)[kept], number=kept)
    return true[kept], seen


def _outcome(name: str, rows: Floats, notes: tuple[str, ...]) -> TripsOutcome:
    error, right, seconds, reports = rows.T
    return TripsOutcome(
        name,
        trips=len(rows),
        reports=int(reports.sum()),
        error=Estimate.of_units(error.tolist()),
        right=Estimate.of_units(right.tolist(), most=1.0),
        seconds=float(seconds.mean()),
        notes=notes,
    )
