"""How fast trucks may be for those who follow them: a limit of speed for trips on a map.

The limit is what adversaries and the matching of exact tracks suppose alike: a truck that is faster
is taken for another, and cannot be followed.  It is the largest of

- ``Movement.fastest``, which was found right for city traffic;
- ``SIGNED`` times the highest speed that the map signs on the roads nearest to the trips;
- ``OWN`` times the highest speed of the trips themselves, on the straight line.

Own speeds are those that are kept over two steps, for a single position that a receiver got wrong
is no speed; what is above ``IMPOSSIBLE`` is no truck's.  One limit holds on all roads: the signs of
a map are not good enough to forbid a road to a truck.

The limit is one number of private trips, which an adversary may well guess: his estimate is the
better for it, so that the audit errs on the safe side.

Cost: a look-up of the nearest road for each position.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from voile_geo.geodesy import Floats
from voile_geo.roads.nearest import NearbyRoads
from voile_geo.roads.network import RoadNetwork

__all__ = ["IMPOSSIBLE", "OWN", "SIGNED", "fastest_of", "own_speed"]

SIGNED, OWN = 1.1, 1.2
IMPOSSIBLE = 70.0
"""m/s."""


def own_speed(time: Floats, track: Floats) -> float:
    """The highest speed of an exact track (n, 2) in metres at times (n,) in seconds; m/s."""
    once = _speeds(time, track, 1)
    if len(time) > 2:
        twice = _speeds(time, track, 2)
        once[:-1] = np.minimum(once[:-1], twice)
        once[1:] = np.minimum(once[1:], twice)
    return float(once[once <= IMPOSSIBLE].max(initial=0.0))


def _speeds(time: Floats, track: Floats, steps: int) -> Floats:
    """Speeds from each position to that so many steps later; 0 where no time passes."""
    moved, elapsed = np.hypot(*(track[steps:] - track[:-steps]).T), time[steps:] - time[:-steps]
    return np.asarray(np.divide(moved, elapsed, out=np.zeros_like(moved), where=elapsed > 0))


def fastest_of(
    roads: RoadNetwork,
    nearby: NearbyRoads,
    trips: Sequence[tuple[Floats, Floats]],
    usual: float,
) -> float:
    """The limit in m/s for trips, each its times (n,) and its exact track (n, 2); private."""
    tracks = np.concatenate([track for _, track in trips])
    signed = float(roads.speed[np.unique(nearby.nearest_in_plane(tracks).edge)].max()) / 3.6
    own = max(own_speed(time, track) for time, track in trips)
    return min(max(usual, SIGNED * signed, OWN * own), IMPOSSIBLE)
