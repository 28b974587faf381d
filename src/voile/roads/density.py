"""How far one must look from a place to see so many different roads: public facts for radii.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5, which names the option of radii by the density of roads and takes rings around a centre.

A radius is computed from the map alone, at the middle of each cell of a grid, so it is public.
Edges are counted, a road with two directions once.

Cost: a sort of the roads near each cell.
"""

from __future__ import annotations

import numpy as np

from voile.geodesy import Floats
from voile.roads.nearest import NearbyRoads
from voile.roads.network import RoadNetwork

__all__ = ["radius_of_roads"]


def radius_of_roads(
    roads: RoadNetwork, points: Floats, count: int, most: float = 20_000.0
) -> Floats:
    """For points of the plane (n, 2), the radius in metres within which ``count`` edges lie.

    An edge counts as soon as a point of it lies within; ``most`` where there are not enough.
    """
    twin = roads.reverse
    first = np.flatnonzero((twin < 0) | (twin > np.arange(roads.edges)))
    once = np.zeros(roads.edges, dtype=np.bool_)
    once[first] = True
    nearby = NearbyRoads(roads)
    ends = roads.plane[roads.source], roads.plane[roads.target]
    radii = np.full(len(points), most)
    for i, point in enumerate(points):
        reach = 250.0
        while reach <= 2 * most:
            found = nearby.within((float(point[0]), float(point[1])), reach)
            found = found[once[found]]
            if len(found) >= count:
                far = _distances(point, ends[0][found], ends[1][found])
                radii[i] = min(most, float(np.partition(far, count - 1)[count - 1]))
                break
            reach *= 2
    return radii


def _distances(point: Floats, start: Floats, end: Floats) -> Floats:
    """From a point to each of n segments."""
    along = end - start
    square = np.maximum((along**2).sum(axis=1), 1e-12)
    share = np.clip(((point - start) * along).sum(axis=1) / square, 0, 1)
    return np.asarray(np.hypot(*(point - start - share[:, np.newaxis] * along).T))
