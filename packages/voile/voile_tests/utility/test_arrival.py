"""Errors of distances and of times of arrival, against hand-worked values and the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from voile.utility.trips import (
    AlongRoads,
    ConstantSpeed,
    arrival_errors,
    distance_errors,
    expected_distance_error,
)
from voile_base.randomness import Randomness
from voile_geo.geodesy import displace
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import PlanarLaplace, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import Ways
from voile_geo.roads.network import RoadNetwork

HOME = (39.9, 116.3)


def at(*east_north: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Positions some metres east and north of home."""
    east, north = np.array(east_north, dtype=float).T
    return displace(np.full(len(east), HOME[0]), np.full(len(east), HOME[1]), east, north)


def street() -> RoadNetwork:
    """One way east in 5 edges of 1 km at 60 km/h, and back at 30 km/h; home is its western end."""
    latitude, longitude = at(*((1_000.0 * i, 0.0) for i in range(6)))
    here = np.arange(5)
    source, target = np.concatenate((here, here + 1)), np.concatenate((here + 1, here))
    speed = np.repeat([60.0, 30.0], 5)
    return RoadNetwork(latitude, longitude, source, target, np.zeros(10, dtype=np.int64), speed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scaled", "constant"),
    [
        (5.0, 1.240),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [(0.0, 2.0), (1.0, 1.350), (2.0, 1.2015), (10.0, 1.266), (1e5, 4 / math.pi)]
        ),
    ],
)
def test_the_expected_error_of_a_distance_has_the_constants_of_the_law(
    scaled: float, constant: float
) -> None:
    """The worked constants at five distances, and twice the mean of a half circle far away."""
    assert expected_distance_error(scaled) == pytest.approx(constant, abs=6e-4)


@pytest.mark.slow
def test_the_expected_error_is_the_integral_of_the_density() -> None:
    """Against adaptive integration of |distance - D| over the density of planar Laplace noise."""
    for scaled in (0.3, 3.0):

        def weighted(angle: float, radius: float, scaled: float = scaled) -> float:
            seen = math.sqrt(scaled**2 + radius**2 + 2 * scaled * radius * math.cos(angle))
            return abs(seen - scaled) * radius * math.exp(-radius) / math.pi

        exact, _ = integrate.dblquad(weighted, 0, 40, 0, math.pi, epsabs=1e-6)
        assert expected_distance_error(scaled) == pytest.approx(exact, abs=1e-4)


def test_distances_are_compared_with_their_sign() -> None:
    """A report 300 m nearer and one 100 m further away."""
    true, shown = at((1_000, 0), (0, 500)), at((700, 0), (0, -600))
    found = distance_errors(*true, *shown, HOME)
    assert found == pytest.approx([-300, 100], abs=0.01)


@pytest.mark.slow
def test_the_measured_error_of_a_distance_is_the_expected_one() -> None:
    """40,000 reports 400 m from home at 0.005 per metre: a = 2; within 5 standard errors, 6e-7."""
    count = 40_000
    true = at(*([(400.0, 0.0)] * count))
    trips = Trips(*true, np.zeros(count), np.arange(count + 1), np.arange(count).astype(np.uint64))
    shown = perturb(PlanarLaplace(Zones([0.005], [1.0])), trips, Randomness.seeded(5).key("trips"))
    errors = np.abs(distance_errors(*true, shown.latitude, shown.longitude, HOME)) * 0.005
    tolerance = 5 * errors.std() / math.sqrt(count)
    assert errors.mean() == pytest.approx(expected_distance_error(2.0), abs=tolerance)
    assert abs(errors.mean() - 1.604 * expected_distance_error(2.0)) > 10 * tolerance


def test_at_a_constant_speed_a_kilometre_is_a_minute_and_twelve_seconds() -> None:
    """50 km/h on the straight line, for positions and for distances."""
    times = ConstantSpeed(HOME)
    assert times.seconds(*at((3_000, 4_000))) == pytest.approx([360], abs=0.01)
    assert times.for_distances(np.array([1_000.0])) == pytest.approx([72])
    true, shown = at((1_000, 0)), at((0, 250))
    assert arrival_errors(times, true, shown) == pytest.approx([-54], abs=0.01)


def test_along_the_roads_a_position_counts_from_the_nearest_road() -> None:
    """2 km from home at 30 km/h is four minutes, however far to the side a report lies."""
    times = AlongRoads(Ways(street(), by="seconds"), HOME)
    assert times.seconds(*at((2_000, 0), (2_000, 300))) == pytest.approx([240, 240], abs=0.1)
    errors = arrival_errors(times, at((2_000, 0)), at((2_500, -800)))
    assert errors == pytest.approx([60], abs=0.1)


def test_reports_without_a_way_have_no_error() -> None:
    """On a one-way street home, what lies behind home has no way back."""
    roads = street()
    one_way = roads.only(np.arange(10) < 5)
    times = AlongRoads(Ways(one_way, by="seconds"), tuple(float(x[0]) for x in at((2_000, 0))))
    true, shown = at((500, 0), (500, 0), (500, 0)), at((1_500, 0), (3_500, 0), (0, 10))
    errors = arrival_errors(times, true, shown)
    assert np.isnan(errors[1])
    assert errors[[0, 2]] == pytest.approx([-60, 30], abs=0.1)
