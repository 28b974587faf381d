"""Radii by the density of roads, against shapely and by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import MOST_CELLS, RoadRadii, _radius_of_roads, stretches
from voile_geo.roads.network import RoadNetwork
from voile_testing.plugin import examples
from voile_testing.towns import network_of, random_network


def merged(roads: RoadNetwork) -> Any:
    """The roads between crossings as lines of the plane, as shapely merges them."""
    ends = zip(roads.source.tolist(), roads.target.tolist(), strict=True)
    pairs = {tuple(sorted(pair)) for pair in ends}
    lines = shapely.linestrings(roads.plane[np.array(sorted(pairs))])
    return np.array(shapely.get_parts(shapely.line_merge(shapely.multilinestrings(lines))))


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 40),
    most=st.floats(50, 3_000),
    cell=st.sampled_from([60.0, 250.0, 3_000.0]),
)
def test_the_radius_holds_so_many_roads_and_no_fewer(
    seed: int, count: int, most: float, cell: float
) -> None:
    """Anywhere on or off the map: shapely's count-th nearest road, or the most that is allowed."""
    roads = random_network(seed, size=5)
    lines = merged(roads)
    low, high = roads.plane.min(0) - 500, roads.plane.max(0) + 500
    points = np.random.default_rng(seed).uniform(low, high, (10, 2))
    found = _radius_of_roads(roads, points, count, most, cell)
    assert stretches(roads).max() + 1 == len(lines)
    for point, radius in zip(points, found, strict=True):
        far = np.sort(shapely.distance(shapely.Point(point), lines))
        expected = min(far[count - 1], most) if count <= len(far) else most
        assert radius == pytest.approx(expected, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 12))
def test_a_cell_has_the_next_radius_of_the_ladder(seed: int, count: int) -> None:
    """In the middle of every cell: at least what holds so many roads, at most a tenth above."""
    roads, bounds = random_network(seed, size=5, spacing=0.004), (120.0, 500.0)
    found = RoadRadii.of(roads, count, bounds)
    assert (found.radii[0], found.radii[-1]) == bounds
    steps = np.array(found.radii[1:]) / found.radii[:-1]
    assert steps.min() > 1
    assert steps.max() < 1.101
    lines, zones = merged(roads), Zones((1.0,), found.radii, grid=found.grid)
    for row, column in np.ndindex(found.grid.cells.shape):
        at = [
            (corner + (place + 0.5) * step) / 1e6
            for corner, step, place in zip(
                found.grid.corner, found.grid.step, (row, column), strict=True
            )
        ]
        point = roads.to_plane(np.array(at[:1]), np.array(at[1:]))[0]
        far = np.sort(shapely.distance(shapely.Point(point), lines))
        needed = far[count - 1] if count <= len(far) else np.inf
        radius = 1 / zones.table(None).epsilon((0, 0), (at[0], at[1]))
        below = [one for one in found.radii if one < radius - 1e-6]
        assert needed <= radius + 0.01 or radius == pytest.approx(bounds[1])
        assert not below or needed > below[-1] - 0.01


def test_beyond_the_map_the_largest_radius_holds() -> None:
    """Off the map in all directions, however dense the roads at its border are."""
    found = RoadRadii.of(random_network(3), 3, (100.0, 900.0))
    zones = Zones((1.0,), found.radii, grid=found.grid).table(None)
    middle = found.grid.middle
    assert zones.epsilon((0, 0), middle) > 1 / 500
    for north, east in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        away = middle[0] + north * 0.1, middle[1] + east * 0.1
        assert zones.epsilon((0, 0), away) == 1 / 900
        assert not found.grid.holds(np.array(away[:1]), np.array(away[1:]))[0]
    assert found.grid.holds(np.array(middle[:1]), np.array(middle[1:]))[0]


def test_large_maps_have_larger_cells() -> None:
    """Two villages a thousand kilometres apart: the number of cells stays bounded."""
    village = [(45.0, 5.0), (45.001, 5.0), (45.001, 5.001)]
    far = [(54.0, 15.0), (54.001, 15.0), (54.001, 15.001)]
    found = RoadRadii.of(network_of(village, far), 1, (100.0, 2_000.0))
    assert found.grid.cells.size <= MOST_CELLS
    assert found.cell == 2_000.0
    assert {found.grid.cells.ravel()[0], found.grid.cells.ravel()[-1]} != {len(found.radii) - 1}


def test_a_digest_tells_maps_apart() -> None:
    """The same roads have one digest, whatever else is known of them; a moved road has another."""
    one = random_network(5)
    speed = RoadNetwork(
        one.latitude, one.longitude, one.source, one.target, one.road, one.speed + 1
    )
    assert one.digest == random_network(5).digest == speed.digest
    moved = one.latitude.copy()
    moved[3] += 2e-6
    other = RoadNetwork(moved, one.longitude, one.source, one.target, one.road, one.speed)
    assert len({one.digest, other.digest, random_network(6).digest}) == 3


@pytest.mark.slow
def test_beijing(shared_data) -> None:  # type: ignore[no-untyped-def]
    """In the middle 20 roads lie within some hundred metres, far out within a kilometre."""
    from voile_geo.roads.reading import read_roads  # noqa: PLC0415

    folder = shared_data / "roads"
    roads = read_roads(folder / "beijing-edges.csv", folder / "beijing-nodes.csv")
    found = RoadRadii.of(roads, 20, (100.0, 2_000.0))
    radii = np.array(found.radii)[found.grid.cells]
    rows, columns = (np.arange(count) + 0.5 for count in radii.shape)
    north = (found.grid.corner[0] + rows * found.grid.step[0]) / 1e6 - 39.906
    east = (found.grid.corner[1] + columns * found.grid.step[1]) / 1e6 - 116.391
    away = np.hypot(north[:, np.newaxis] * 111.1, east * 85.3)
    near, far = np.median(radii[away < 5]), np.median(radii[(away > 10) & (away < 20)])
    assert 150 < near < 350
    assert 500 < far < 1_200
