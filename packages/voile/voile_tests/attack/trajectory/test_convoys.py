"""Vehicles on one route: found by what they show, and followed by their mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from voile.attack.trajectory.fleets import _convoys, follow_convoys
from voile.attack.trajectory.knowing import TripKnowledge
from voile.attack.trajectory.on_release import follow_trips
from voile.attack.trajectory.reports import Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import GaussianField, LocationNoise, perturb
from voile_geo.planar.steps import Zones
from voile_tests.attack.trajectory.test_fleets import ADVERSARY, GAP, ROADS, ways
from voile_tests.attack.trajectory.test_on_release import release_of

pytestmark = pytest.mark.slow

TRACKS = ways(4)
VANS = 10
EPSILON = 0.01


def field(shared: float) -> GaussianField:
    """Noise that stays, with so much of it a fleet's."""
    return GaussianField(Zones([EPSILON]), shared=shared)


def sighted(
    noise: LocationNoise, seed: int = 3, tracks: Sequence[Floats] = TRACKS
) -> list[Sighted]:
    """Ten vans, which are a fleet, on each of four routes, one after the other."""
    found = []
    for route, track in enumerate(tracks):
        for van in range(VANS):
            word = np.array([route * VANS + van], dtype=np.uint64)
            time = np.arange(len(track)) * GAP
            trip = Trips(
                *ROADS.to_degrees(track),
                time,
                np.array([0, len(track)]),
                word,
                vehicle=word,
                fleet=np.array([route], dtype=np.uint64),
            )
            moved = perturb(noise, trip, Randomness.seeded(seed).key("convoys"))
            plane = ROADS.to_plane(moved.latitude, moved.longitude)
            found.append(Sighted(time, plane, moved.epsilon))
    return found


def error(found: list, name: int) -> float:
    """Mean metres off, over the vans of a route."""
    some = found[name * VANS : (name + 1) * VANS]
    return float(np.mean([np.hypot(*(one.position - TRACKS[name]).T).mean() for one in some]))


def left_of(noise: LocationNoise) -> float:
    """Metres off by the mean of all vans, over those trip by trip; three draws of four routes."""
    together, alone = [], []
    for seed in range(3):
        trips = sighted(noise, seed)
        vans = [f"{i}" for i in range(len(trips))]
        found = follow_convoys(ADVERSARY, trips, vans, noise)
        together += [error(found, route) for route in range(4)]
        singly = [ADVERSARY.informed(trips[route * VANS], noise) for route in range(4)]
        pairs = zip(singly, TRACKS, strict=True)
        alone += [float(np.hypot(*(one.position - track).T).mean()) for one, track in pairs]
    return float(np.mean(together) / np.mean(alone))


def test_vans_of_a_route_are_found_and_routes_kept_apart() -> None:
    """Ten of each of four routes, in groups that hold no van of another route."""
    for shared in (0.0, 0.75):
        groups = _convoys(sighted(field(shared)), field(shared))
        assert sorted(i for group in groups for i in group) == list(range(4 * VANS))
        for group in groups:
            assert len({i // VANS for i in group}) == 1
        assert max(map(len, groups)) >= 8


def test_near_routes_are_told_apart_by_many_vans() -> None:
    """Ten vans on each of two roads 240 m apart, which is less than two vans differ by: two groups.

    Five draws; with 100 m they are one.  One road alone is one group.
    """
    road = np.stack((np.arange(60) * 400.0, np.zeros(60)), axis=1)
    for seed in range(5):
        for metres, expected in ((240.0, [VANS, VANS]), (100.0, [2 * VANS])):
            near = [road, road + np.array([0.0, metres])]
            groups = _convoys(sighted(field(0.0), seed, near), field(0.0))
            assert [len(group) for group in groups] == expected
            if len(groups) > 1:
                assert all(len({i // VANS for i in group}) == 1 for group in groups)
        alone = _convoys(sighted(field(0.0), seed, [road]), field(0.0))
        assert [len(group) for group in alone] == [VANS]


def test_the_mean_of_vans_tells_less_where_they_share_a_field() -> None:
    """Below .4 of what he is off trip by trip without it, above .5 with it (seen: .19 and .71)."""
    assert left_of(field(0.0)) < 0.4
    assert left_of(field(0.75)) > 0.5


def test_the_attack_tries_all_vehicles_by_itself() -> None:
    """With a column of vehicles, among what knowledge adds; of vans of one route it finds more."""
    frames = []
    for trip in range(VANS):
        latitude, longitude = ROADS.to_degrees(TRACKS[0])
        time = 1.7e9 + np.arange(len(latitude)) * 60.0
        columns = {"trip": f"T{trip}", "time": time, "latitude": latitude, "longitude": longitude}
        frames.append(pl.DataFrame(columns).with_columns(van=pl.lit(f"V{trip}")))
    frame = pl.concat(frames)
    release = release_of(frame.drop("van"), mechanism="correlated-gaussian", epsilon=EPSILON)
    found = follow_trips(
        release,
        frame,
        ROADS,
        knowledge=TripKnowledge(vehicle="van"),
        randomness=Randomness.seeded(1),
    )
    by_name = {one.adversary: one for one in found}
    assert by_name["informed, all vehicles"].error.value < by_name["informed"].error.value
