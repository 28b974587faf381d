"""Zones by a grid of radii, against a look-up by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import AngleSelection, CorrelatedGaussian, Live, PlanarLaplace, perturb
from voile_geo.planar.steps import RadiusGrid, Zones
from voile_testing.plugin import examples

RADII = (100.0, 250.0, 700.0)
CELLS = np.random.default_rng(1).integers(0, 3, (6, 9)).astype(np.int16)
GRID = RadiusGrid((39_880_000, 116_270_000), (10_000, 12_345), CELLS)
ZONES = Zones((1.0,), RADII, grid=GRID)
TRIPS, REPORTS = 40, 30


def radius_at(latitude: float, longitude: float) -> float:
    """By hand: which cell a position is in, to 10^-6 degrees."""
    row = (round(latitude * 1e6) - 39_880_000) // 10_000
    column = (round(longitude * 1e6) - 116_270_000) // 12_345
    inside = 0 <= row < 6 and 0 <= column < 9
    return RADII[CELLS[row, column]] if inside else RADII[-1]


def key() -> Key:
    return Randomness.seeded(4).key("trips")


def trips() -> Trips:
    """Trips across the grid and beyond it."""
    along = np.tile(np.linspace(-0.01, 0.08, REPORTS), TRIPS)
    return Trips(
        latitude=39.88 + along,
        longitude=116.27 + along,
        time=np.tile(np.arange(REPORTS) * 30.0, TRIPS),
        start=np.arange(0, TRIPS * REPORTS + 1, REPORTS),
        identity=np.arange(TRIPS, dtype=np.uint64),
    )


@settings(max_examples=examples(200), deadline=None)
@given(st.floats(39.86, 39.96), st.floats(116.25, 116.40))
def test_a_position_has_the_radius_of_its_cell(latitude: float, longitude: float) -> None:
    """On the grid and off it, and the same once the position is rounded to six decimals."""
    table = ZONES.table(None)
    expected = 1 / radius_at(latitude, longitude)
    assert table.epsilon((0.0, 0.0), (latitude, longitude)) == expected
    assert table.epsilon((0.0, 0.0), (round(latitude, 6), round(longitude, 6))) == expected
    held = GRID.holds(np.array([latitude]), np.array([longitude]))[0]
    assert held or expected == 1 / RADII[-1]


@pytest.mark.parametrize("by", ["published", "true"])
def test_zones_of_a_table_are_those_of_the_grid(by: Any) -> None:
    """Of the position published before, the first with the smallest epsilon; or of the true one."""
    true = trips()
    shown = perturb(PlanarLaplace(replace(ZONES, by=by)), true, key())
    for trip in range(TRIPS):
        for i in range(trip * REPORTS, (trip + 1) * REPORTS):
            if by == "true":
                expected = radius_at(true.latitude[i], true.longitude[i])
            elif i == trip * REPORTS:
                expected = RADII[-1]
            else:
                expected = radius_at(shown.latitude[i - 1], shown.longitude[i - 1])
            assert shown.epsilon[i] == 1 / expected
    assert len(np.unique(shown.epsilon)) == 3


@pytest.mark.parametrize("kind", [PlanarLaplace, AngleSelection, CorrelatedGaussian])
def test_a_stream_in_a_grid_shows_what_a_table_shows(kind: Any) -> None:
    """Reports one by one equal those of the table to the last bit."""
    noise = AngleSelection(ZONES, 0.5) if kind is AngleSelection else kind(ZONES)
    true = trips()
    shown = perturb(noise, true, key())
    live = Live(noise, key(), 1)
    for i in range(REPORTS, 2 * REPORTS):
        place = true.latitude[i], true.longitude[i]
        assert live.epsilon(*place) == shown.epsilon[i]
        assert live.report(*place, true.time[i]) == (shown.latitude[i], shown.longitude[i])


def test_levels_go_with_a_grid() -> None:
    """Epsilon is the level by the receiver over the radius of the cell."""
    zones = Zones((2.0, 1.0), RADII, (1_000,), grid=GRID)
    near, far = (39.9, 116.3), (39.92, 116.35)
    for at, level in ((near, 2.0), (far, 1.0)):
        assert zones.table(near).epsilon((0, 0), at) == level / radius_at(*at)
    assert zones.table(near).epsilon(near, None) == 1 / RADII[-1]


def test_the_middle_of_a_grid() -> None:
    """Where positions of the grid are expected."""
    assert GRID.middle == pytest.approx((39.91, 116.3255525))


@pytest.mark.parametrize(
    "given",
    [
        {"radii": (100, 50, 700)},
        {"radii": (100, 250)},
        {"radii": (100, 250, math.inf)},
        {"centre": (39.9, 116.3)},
        {"radius_limits": (1, 2)},
        {"grid": RadiusGrid((0, 0), (0, 1), CELLS)},
        {"grid": RadiusGrid((0, 0), (1, 1), CELLS - 1)},
        {"grid": RadiusGrid((0, 0), (1, 1), CELLS[:0])},
    ],
)
def test_grids_that_do_not_fit_are_refused(given: dict[str, Any]) -> None:
    """Radii that do not ascend or are too few, a centre besides, cells without height or radius."""
    with pytest.raises(PlanError):
        Zones(**{"levels": (1.0,), "radii": RADII, "grid": GRID} | given)
