"""How fast trucks may be for those who follow them."""

from __future__ import annotations

import numpy as np
import pytest

from voile.attack.trajectory.on_release import IMPOSSIBLE, OWN, SIGNED, _own_speed, fastest_of
from voile_geo.roads.nearest import NearbyRoads
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import NetworkBuilder, RoadChain

USUAL = 28.0


def straight(speed: float, reports: int = 6, gap: float = 30.0) -> tuple[np.ndarray, np.ndarray]:
    """Times, and a track eastward at so many m/s."""
    time = np.arange(reports) * gap
    return time, np.stack((time * speed, np.zeros(reports)), axis=1)


def test_own_speed_is_the_highest_that_is_kept() -> None:
    """A truck that speeds up is as fast as it ends; two reports have a speed, and one has none."""
    time, track = straight(20.0)
    assert _own_speed(time, track) == pytest.approx(20)
    track[4:, 0] += np.array([300.0, 600.0])
    assert _own_speed(time, track) == pytest.approx(30)
    assert _own_speed(time[:2], track[:2]) == pytest.approx(20)
    assert _own_speed(time[:1], track[:1]) == 0


def test_what_a_receiver_got_wrong_is_no_speed() -> None:
    """One position far ahead or aside, a jump across the country, two reports at one time."""
    time, track = straight(20.0)
    for wrong in ([3_000.0, 0.0], [1_000.0, 0.0], [0.0, 1_000.0], [-800.0, 900.0]):
        aside = track.copy()
        aside[3] += wrong
        assert _own_speed(time, aside) == pytest.approx(20)
    there_and_back = track.copy()
    there_and_back[[2, 3]] += 300_000
    assert _own_speed(time, there_and_back) == pytest.approx(20)
    assert _own_speed(np.repeat(time, 2), np.repeat(track, 2, axis=0)) == pytest.approx(20)


def two_roads() -> RoadNetwork:
    """One that is signed 50 km/h, and one of 130 km/h far north of it."""
    builder = NetworkBuilder()
    for latitude, sign in ((0.0, "50"), (0.1, "130")):
        ends = ((latitude, -0.05), (latitude, 0.05))
        builder.add(RoadChain(ends, (latitude, latitude), (-0.05, 0.05), "both", None, sign))
    return builder.build("a map")


@pytest.mark.parametrize(
    ("north", "speed", "limit"),
    [
        (False, 15.0, USUAL),
        (False, 30.0, OWN * 30.0),
        (True, 15.0, SIGNED * 130 / 3.6),
        (True, 36.0, OWN * 36.0),
        (True, 65.0, IMPOSSIBLE),
    ],
)
def test_the_limit_follows_the_roads_of_the_trips_and_their_own_speeds(north, speed, limit) -> None:
    """The usual limit, or more by the signs on their roads, or by how fast they are."""
    roads = two_roads()
    time, track = straight(speed, reports=4)
    track[:, 1] = roads.plane[:, 1].max() if north else roads.plane[:, 1].min()
    slow = straight(3.0)[0], straight(3.0)[1] + track[0]
    found = fastest_of(roads, NearbyRoads(roads), [slow, (time, track)], USUAL)
    assert found == pytest.approx(limit)
