"""Steps and distances in metres, against an independent library of geodesics."""

from __future__ import annotations

import numpy as np
import pyproj
import pytest

from voile_geo.geodesy import (
    displace,
    displaced,
    east_north,
    separation,
    sine_cosine,
    sines_cosines,
)

GEODESICS = pyproj.Geod(ellps="WGS84")
SIZE = 20_000


@pytest.mark.parametrize(("reach", "error"), [(1e3, 0.001), (2e4, 0.15), (1e5, 3.0)])
def test_steps_end_where_geodesics_end(reach: float, error: float) -> None:
    """20,000 steps anywhere up to 89.9 degrees end within a stated distance of the geodesic."""
    rng = np.random.default_rng(1)
    latitude, longitude = rng.uniform(-89.9, 89.9, SIZE), rng.uniform(-180, 180, SIZE)
    azimuth, metres = rng.uniform(0, 2 * np.pi, SIZE), rng.uniform(0, reach, SIZE)
    east, north = metres * np.sin(azimuth), metres * np.cos(azimuth)
    ends = displace(latitude, longitude, east, north)
    right = GEODESICS.fwd(longitude, latitude, np.degrees(azimuth), metres)
    _, _, apart = GEODESICS.inv(ends[1], ends[0], right[0], right[1])
    assert np.max(apart) < error


def test_north_is_as_long_as_it_should_be() -> None:
    """A step of 1 km north is 1 km at every latitude: no component shrinks with the latitude."""
    for latitude in (0.0, 30.0, 60.0, 80.0):
        end = displaced(latitude, 10.0, 0.0, 1000.0)
        _, _, metres = GEODESICS.inv(10.0, latitude, end[1], end[0])
        assert metres == pytest.approx(1000, abs=0.001)


@pytest.mark.slow
def test_looking_back_undoes_a_step() -> None:
    """Metres east and north to the end of a step are those of the step, to 1 cm in 20 km."""
    rng = np.random.default_rng(2)
    latitude, longitude = rng.uniform(-85, 85, SIZE), rng.uniform(-180, 180, SIZE)
    east, north = rng.uniform(-14e3, 14e3, (2, SIZE))
    ends = displace(latitude, longitude, east, north)
    seen = east_north(latitude, longitude, *ends)
    assert seen[0] == pytest.approx(east, abs=0.01)
    assert seen[1] == pytest.approx(north, abs=0.01)
    assert separation(latitude, longitude, *ends) == pytest.approx(np.hypot(east, north), abs=0.01)


def test_the_date_line_and_the_poles_are_no_walls() -> None:
    """A step east over 180 degrees arrives in the west, and one over the pole on the other side."""
    _, longitude = displaced(10.0, 179.999, 1000.0, 0.0)
    assert -180 <= longitude < -179.98
    latitude, longitude = displaced(89.999, 20.0, 0.0, 1000.0)
    assert latitude < 90
    assert longitude == pytest.approx(-160.0)


@pytest.mark.parametrize("latitude", [-85.0, -17.0, 0.0, 65.0])
def test_longitude_180_is_written_as_minus_180(latitude: float) -> None:
    """Also where a step ends on it or begins there, or goes nowhere: one place has one name."""
    for start in (180.0, -180.0):
        for north in (0.0, 5.0, 3_000.0, -30_000.0):
            _, longitude = displaced(latitude, start, 0.0, north)
            assert longitude == -180.0
        for east in (400.0, -400.0):
            _, longitude = displaced(latitude, start, east, 0.0)
            assert -180 < longitude < 180
            assert np.sign(longitude) == -np.sign(east)
            ends = (np.array([value]) for value in (latitude, longitude, latitude, start))
            assert separation(*ends)[0] == pytest.approx(400, rel=1e-6)


def test_sine_and_cosine_keep_their_digits() -> None:
    """From -1 to 1 turns they differ from the library's by less than 1e-15."""
    for turns in np.linspace(-1, 1, 10_001):
        sine, cosine = sine_cosine(turns)
        assert abs(sine - np.sin(2 * np.pi * turns)) < 1e-15
        assert abs(cosine - np.cos(2 * np.pi * turns)) < 1e-15


def test_sines_and_cosines_of_many_angles_are_those_of_one() -> None:
    """To the last bit, at both ends of the circle, on the table's directions and between them."""
    drawn = np.random.default_rng(4).integers(0, 2**53, 2_000)
    turns = np.concatenate((drawn, (0, 1, 2**43 - 1, 2**43, 2**53 - 1))).astype(np.uint64)
    found, work = np.empty((2, len(turns))), np.empty((2, len(turns)))
    sines_cosines(turns, work, *found)
    assert found.T.tolist() == [list(sine_cosine(float(one) * 2.0**-53)) for one in turns]
