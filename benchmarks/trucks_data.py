"""Real drives on a real map: GeoLife's cars and taxis on the roads of Beijing.

A drive is 10 to 20 minutes of a trip, at least 2 km long, on the map throughout, with no more than
30 s between fixes; positions between fixes are interpolated linearly in time.  Taken are all that
their drivers labelled as by car or taxi.  These are few, so unlabelled ones are added that move as
cars do: above 12 m/s for a tenth of the time, as no labelled walk or bicycle does, and within 15 m
of a road for cars half of the time; one drive of a trip, and at most ``MOST_OF_ONE`` of a person.

The true roads are those of the track of 10 s, matched to the map with a receiver's error.  A drive
counts where that match is never lost and lies within 20 m of the track on average.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.data import shared_file
from voile.attack.trajectory.adversaries import RoadAdversary
from voile.attack.trajectory.inference import Movement
from voile_geo.geodesy import Floats
from voile_geo.roads.nearest import NearbyRoads, distance_to_segment, stretches
from voile_geo.roads.network import Indices, RoadNetwork
from voile_geo.roads.reading import DRIVABLE, read_roads

__all__ = ["TRACKED", "Drive", "beijing", "drives"]

TRACKED = 10.0
"""Seconds between the positions of a track."""
LONGEST, SHORTEST, LEAST_METRES = 1_200.0, 600.0, 2_000.0
GAP = 30.0
FAST, NEAR, MATCHED = 12.0, 15.0, 20.0
RECEIVER, PIECE = 15.0, 50.0
"""Metres: what positions are off by per axis, and pieces of roads for matching exact tracks."""
FASTEST = 40.0
"""m/s: no car is faster in the match of its track."""
MOST_OF_ONE = 14
LABELS = ("car", "taxi")


@dataclass(frozen=True, eq=False)
class Drive:
    """n positions of a car, every ``TRACKED`` seconds from 0."""

    user: int
    labelled: bool
    track: Floats
    """Shape (n, 2), metres of the map's plane."""
    road: Indices
    """Shape (n,): the roads of the matched track, as ``roads.nearest`` numbers them."""
    fine: Floats
    """Shape (m, 2): a position every second from 0."""

    def every(self, interval: float) -> slice:
        """Which positions are reported, one every ``interval`` seconds."""
        return slice(0, None, round(interval / TRACKED))


@dataclass(frozen=True, eq=False)
class _Stretch:
    user: int
    trip: str
    labelled: bool
    fine: Floats

    @property
    def track(self) -> Floats:
        """A position every ``TRACKED`` seconds."""
        return self.fine[:: round(TRACKED)]

    @property
    def moves_as_a_car(self) -> bool:
        speed = np.hypot(*(self.track[3:] - self.track[:-3]).T) / (3 * TRACKED)
        return bool(np.quantile(speed, 0.9) > FAST)


def beijing() -> RoadNetwork:
    """Beijing's roads for cars within about the fifth ring: the largest connected part."""
    edges, nodes = (shared_file(f"roads/beijing-{what}.csv") for what in ("edges", "nodes"))
    roads = read_roads(edges, nodes)
    for_cars = np.isin(np.array(roads.classes), DRIVABLE)
    return roads.only(for_cars[roads.class_of]).largest_connected()


def drives(roads: RoadNetwork) -> list[Drive]:
    """All drives, the labelled ones first."""
    found: list[Drive] = []
    taken: Counter[int | str] = Counter()
    nearby, road = NearbyRoads(roads), stretches(roads)
    matcher = RoadAdversary(roads, Movement(fastest=FASTEST), piece=PIECE)
    for one in sorted(_stretches(roads), key=lambda one: not one.labelled):
        full = taken[one.trip] or taken[one.user] >= MOST_OF_ONE
        if not one.labelled and (full or not one.moves_as_a_car):
            continue
        near = nearby.nearest_in_plane(one.track).distance
        # No road is nearer than the nearest one.
        if near.mean() > MATCHED or (not one.labelled and np.median(near) > NEAR):
            continue
        match = matcher.match(np.arange(len(one.track)) * TRACKED, one.track, RECEIVER)
        if match.lost or _off(roads, road, match.road, one.track).mean() > MATCHED:
            continue
        taken.update([one.trip, one.user])
        found.append(Drive(one.user, one.labelled, one.track, match.road, one.fine))
    return found


def _off(roads: RoadNetwork, stretch: Indices, road: Indices, points: Floats) -> Floats:
    """Metres from each point to a road of its own; ``stretch`` is the road of each edge."""
    order = np.argsort(stretch, kind="stable")
    begins = np.searchsorted(stretch[order], np.arange(stretch.max() + 2))
    segments = np.concatenate((roads.plane[roads.source], roads.plane[roads.target]), axis=1)
    return np.array(
        [
            min(distance_to_segment(*point, segments[edge])[0] for edge in order[first:last])
            for point, first, last in zip(points, begins[road], begins[road + 1], strict=True)
        ]
    )


def _stretches(roads: RoadNetwork) -> Iterator[_Stretch]:
    """Tracks of all stretches that are long enough and on the map."""
    low, high = roads.plane.min(axis=0), roads.plane.max(axis=0)
    for fixes in _without_gaps():
        user, trip, label = fixes.row(0)[:3]
        seconds = fixes["seconds"].to_numpy()
        plane = roads.to_plane(fixes["lat"].to_numpy(), fixes["lon"].to_numpy())
        for begin in np.arange(seconds[0], seconds[-1] - SHORTEST, LONGEST):
            time = np.arange(begin, min(begin + LONGEST, seconds[-1]))
            fine = np.stack([np.interp(time, seconds, plane[:, k]) for k in (0, 1)], axis=1)
            track = fine[:: round(TRACKED)]
            driven = np.hypot(*np.diff(track[::3], axis=0).T).sum()
            if driven > LEAST_METRES and ((track > low) & (track < high)).all():
                yield _Stretch(user, trip, label in LABELS, fine)


def _without_gaps() -> Iterator[pl.DataFrame]:
    """Fixes of one trip by car, by taxi or without a label, in the order of time."""
    trip = ("user_id", "traj_id", "mode")
    fixes = pl.read_parquet(shared_file("trajectories/geolife-beijing-a.parquet"))
    fixes = fixes.filter(pl.col("mode").is_null() | pl.col("mode").is_in(LABELS))
    fixes = fixes.with_columns(seconds=pl.col("time_utc").dt.timestamp("ms") / 1000)
    fixes = fixes.select(*trip, "lat", "lon", "seconds").sort("user_id", "traj_id", "seconds")
    fixes = fixes.unique([*trip[:2], "seconds"], keep="first", maintain_order=True)
    changes = [pl.col(name).ne_missing(pl.col(name).shift()) for name in trip]
    cut = pl.any_horizontal(*changes, pl.col("seconds").diff() > GAP).fill_null(value=True)
    for stretch in fixes.with_columns(cut.cum_sum().alias("part")).partition_by("part"):
        if stretch["seconds"][-1] - stretch["seconds"][0] >= SHORTEST:
            yield stretch
