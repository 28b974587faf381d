"""How far one must look from a place to see so many different roads: public facts for radii.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5, which names the option of radii by the density of roads and takes rings around a centre.

A road is a stretch between two crossings (``stretches``).

A radius is computed from the map alone, so it is public.  A grid has one for the middle of each of
its cells, rounded up to a ladder of radii that are at most a tenth apart.

Cost: sorting the edges, and for each place a look at the edges near it: 15 microseconds a cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.planar.zones import MICRODEGREES, RadiusGrid
from voile_geo.roads.nearest import NearbyRoads, cells_around, distance_to_segment
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.stretches import stretches

__all__ = ["CELL", "MOST_CELLS", "RoadRadii", "radii_of_roads", "radius_of_roads"]

CELL = 250.0
"""Metres: height and width of a cell, unless the map is too large for it."""
MOST_CELLS = 250_000
_STEP = 1.1
_METRES_PER_DEGREE = 111_132.0


@dataclass(frozen=True, eq=False)
class RoadRadii:
    """Radii by the density of roads, for ``voile_geo.planar.zones``; public."""

    radii: tuple[float, ...]
    """Metres, ascending; the last is the largest that is allowed, and holds beyond the map."""
    grid: RadiusGrid
    """Which of them holds where."""
    cell: float
    """Metres: about the height and width of a cell."""


def radius_of_roads(
    roads: RoadNetwork, points: Floats, count: int, most: float = 20_000.0, cell: float = CELL
) -> Floats:
    """For points of the plane (n, 2), the radius in metres within which ``count`` roads lie.

    A road counts as soon as a point of it lies within; ``most`` where there are not enough.  Roads
    are looked up in cells of ``cell`` metres.
    """
    radii = np.empty(len(points))
    _radii(points, NearbyRoads(roads, cell).grid, stretches(roads), count, most, radii)
    return radii


def radii_of_roads(roads: RoadNetwork, count: int, bounds: tuple[float, float]) -> RoadRadii:
    """The radii within which ``count`` roads lie, in a grid over a map.

    ``bounds`` are the smallest and the largest radius that is allowed, in metres, ascending.
    """
    ladder = _ladder(*bounds)
    cell, step, corner, shape = _layout(roads)
    middles = [
        (start + size * (np.arange(cells) + 0.5)) / MICRODEGREES
        for start, size, cells in zip(corner, step, shape, strict=True)
    ]
    latitude, longitude = (side.ravel() for side in np.meshgrid(*middles, indexing="ij"))
    points = roads.to_plane(latitude, longitude)
    found = radius_of_roads(roads, points, count, bounds[1], cell)
    # To the centimetre, so that the last digits of a machine's arithmetic do not matter.
    cells = np.searchsorted(ladder, np.round(found, 2)).reshape(shape).astype(np.int16)
    return RoadRadii(tuple(ladder.tolist()), RadiusGrid(corner, step, cells), cell)


def _ladder(least: float, most: float) -> Floats:
    """Radii from the smallest to the largest, each at most a tenth above the one before."""
    steps = math.ceil(math.log(most / least) / math.log(_STEP))
    between = np.geomspace(least, most, steps + 1)[1:-1]
    return np.unique([least, *np.round(between, 2), most])


def _layout(roads: RoadNetwork) -> tuple[float, tuple[int, int], tuple[int, int], tuple[int, int]]:
    """The size of a cell in metres; step and corner in millionths of a degree; rows and columns."""
    sides = roads.latitude, roads.longitude
    low = [math.floor(float(side.min()) * MICRODEGREES) for side in sides]
    high = [math.ceil(float(side.max()) * MICRODEGREES) for side in sides]
    narrow = max(0.01, math.cos(math.radians(roads.origin[0])))
    cell = CELL
    while True:
        degrees = cell / _METRES_PER_DEGREE * MICRODEGREES
        step = round(degrees), round(degrees / narrow)
        shape = (high[0] - low[0]) // step[0] + 1, (high[1] - low[1]) // step[1] + 1
        if shape[0] * shape[1] <= MOST_CELLS:
            return cell, step, (low[0], low[1]), shape
        cell *= 2


@njit(cache=True, nogil=True)
def _radii(points, grid, stretch, count, most, radii):  # type: ignore[no-untyped-def]
    """How far one must look from each point; ``grid`` is that of ``NearbyRoads``."""
    cell = grid[2]
    nearest = np.full(stretch.max() + 1, np.inf)
    seen = np.empty(len(nearest), np.int64)
    reach = cell
    for i in range(len(points)):
        while True:
            found = _look(points[i], min(reach, most), grid, stretch, nearest, seen)
            far = nearest[seen[:found]]
            nearest[seen[:found]] = np.inf
            if found >= count or reach >= most:
                break
            reach *= 2
        radii[i] = np.partition(far, count - 1)[count - 1] if found >= count else most
        # The next place is probably near by, and needs to look about as far.
        reach = max(cell / 2, 1.25 * radii[i])


@njit(cache=True, nogil=True)
def _look(point, reach, grid, stretch, nearest, seen):  # type: ignore[no-untyped-def]
    """How many roads come within a reach; which, and how near, in ``seen`` and ``nearest``."""
    segments, corner, cell, shape, start, members = grid
    found = 0
    low_x, high_x, low_y, high_y = cells_around(point, reach, corner, cell, shape)
    for column in range(low_x, high_x + 1):
        for row in range(low_y, high_y + 1):
            place = column * shape[1] + row
            for edge in members[start[place] : start[place + 1]]:
                far, _ = distance_to_segment(point[0], point[1], segments[edge])
                road = stretch[edge]
                if far <= reach and far < nearest[road]:
                    if nearest[road] == np.inf:
                        seen[found] = road
                        found += 1
                    nearest[road] = far
    return found
