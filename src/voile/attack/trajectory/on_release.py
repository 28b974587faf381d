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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from voile.attack.outcome import Estimate
from voile.attack.trajectory.adversaries import Finding, RoadAdversary, Sighted, share_right
from voile.attack.trajectory.selection import selected
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
    if release.method.get("mechanism") == "remaining-distance" or "latitude" not in release.roles:
        msg = "the release shows no positions, so that no truck can be followed on a map"
        raise InputError(msg)
    named = named or TrajectoryColumns()
    randomness = randomness or Randomness.secure()
    chosen = selected(release, original, named, roads, (trips, reports), randomness)
    noise, adversary = noise_of(release.method, roads), RoadAdversary(roads)
    zones = _zones(noise, release.method.get("destination"))
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


def noise_of(method: Mapping[str, Any], roads: RoadNetwork | None = None) -> LocationNoise:
    """The noise that a method's parameters describe, as everybody can read them in a release.

    Raises ``InputError`` where radii were chosen by the roads of a map, and this is another one.
    """
    factor = float(method["decision"].get("epsilon_factor", 1.0))
    levels = method.get("levels", [method.get("epsilon")])
    centre = method.get("centre")
    radii, grid = method.get("radii", [1.0]), None
    if "roads" in method:
        found = _radii_of(method, roads)
        radii, grid = found.radii, found.grid
    zones = Zones(
        levels=[float(level) * factor for level in levels],
        radii=radii,
        level_limits=method.get("level_limits", ()),
        radius_limits=method.get("radius_limits", ()),
        centre=None if centre is None else (centre[0], centre[1]),
        by=method.get("zones_by", "published"),
        grid=grid,
    )
    match method["mechanism"]:
        case "correlated-gaussian":
            return CorrelatedGaussian(zones, float(method["tau"]))
        case "angle-selection":
            deviation = float(method["decision"]["deviation"])
            return AngleSelection(zones, deviation, method.get("start", "uniform"))
    return PlanarLaplace(zones)


def _radii_of(method: Mapping[str, Any], roads: RoadNetwork | None) -> RoadRadii:
    """The radii that a release chose by the roads of a map, found anew."""
    if roads is None or roads.digest != method["decision"]["map"]["digest"]:
        msg = (
            f"the release chose its noise by the roads of the map {method['roads']}, and this is "
            "another map, or another version of it: the noise cannot be known without that one"
        )
        raise InputError(msg)
    least, most = method["radius_bounds"]
    return radii_of_roads(roads, int(method["roads_within"]), (float(least), float(most)))


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
