"""What noise costs those who wait: errors of the time of arrival on real drives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.trucks_data import Drive
from voile.utility.trips import AlongRoads, ConstantSpeed, Position, arrival_errors
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import LocationNoise, noisy_distances, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import Ways
from voile_geo.roads.network import RoadNetwork

__all__ = ["Waiting"]

SEED = 2024
INTERVAL = 30.0


class Waiting:
    """Somebody waits at the end of each drive."""

    def __init__(self, roads: RoadNetwork, drives: Sequence[Drive]) -> None:
        ways = Ways(roads, by="seconds")
        self._places: list[tuple[Floats, Floats]] = []
        self._ends: list[Position] = []
        self._along: list[AlongRoads] = []
        for drive in drives:
            latitude, longitude = roads.to_degrees(drive.track)
            reported = drive.every(INTERVAL)
            self._places.append((latitude[reported], longitude[reported]))
            self._ends.append((float(latitude[-1]), float(longitude[-1])))
            self._along.append(AlongRoads(ways, self._ends[-1]))

    def by_positions(
        self, make: Callable[[Zones], LocationNoise], epsilon: float
    ) -> tuple[Floats, Floats]:
        """Mean absolute errors of each drive in minutes: on the line at 50 km/h, along roads."""
        key, noise = Randomness.seeded(SEED).key("trips"), make(Zones([epsilon], [1.0]))
        line, roads = [], []
        for number, (true, end) in enumerate(zip(self._places, self._ends, strict=True)):
            moved = perturb(noise, _trip(true, number), key)
            shown = moved.latitude, moved.longitude
            line.append(_mean_minutes(arrival_errors(ConstantSpeed(end), true, shown)))
            roads.append(_mean_minutes(arrival_errors(self._along[number], true, shown)))
        return np.array(line), np.array(roads)

    def by_distance(self, epsilon: float) -> Floats:
        """The same for noisy remaining distances, on the line at 50 km/h."""
        key, line = Randomness.seeded(SEED).key("distances"), []
        for number, (true, end) in enumerate(zip(self._places, self._ends, strict=True)):
            times = ConstantSpeed(end)
            metres = times.seconds(*true) * times.speed / 3.6
            trip = _trip(true, number)
            shown = noisy_distances(metres, np.full(len(metres), epsilon), trip, key)
            line.append(_mean_minutes(times.for_distances(shown - metres)))
        return np.array(line)


def _mean_minutes(errors: Floats) -> float:
    return float(np.nanmean(np.abs(errors)) / 60)


def _trip(place: tuple[Floats, Floats], identity: int) -> Trips:
    count = len(place[0])
    time = np.arange(count) * INTERVAL
    start, word = np.array([0, count]), np.array([identity], dtype=np.uint64)
    return Trips(*place, time, start, word, vehicle=word)
