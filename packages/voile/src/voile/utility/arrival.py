"""How far off the time of arrival is, and the distance, taken from what is published of a truck.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 8.2, measures errors of arrival at a constant speed on the straight line; along the roads is
our own.

Who waits takes the published position for true and asks how long it is from there: on the straight
line at a constant speed (``ConstantSpeed``), or along the roads (``AlongRoads``).  Where a distance
is published, it is driven at the constant speed (``ConstantSpeed.for_distances``).  The error is
the time from the published position minus that from the true one.

Claim: none; these are measures, and they are private.  Along the roads a position is moved to the
nearest road first, which costs a minute where that is the other carriageway.

The distance to a destination is taken from published positions: the mean absolute error of section
8.1, Table 2.  Its distribution: planar Laplace noise at epsilon, seen from a destination at
distance D, has a mean absolute error that depends on a = epsilon D alone: c(a) / epsilon, with c =
2 at the destination, 1.2015 at a = 2, and 4 / pi far away.  The published distance is too long by
about 3 / (2 epsilon^2 D), since noise across the way lengthens it.

Departure: the seed's distances are 1.604 times those of the distribution at every epsilon, which
fits metres read as miles; the cause is not proven.

Cost: O(n) on the line; along the roads a search of the network for each destination, 5 ms for
27,000 nodes, and a microsecond a position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from voile_geo.geodesy import Floats, separation
from voile_geo.roads.ways import Ways, WaysTo

__all__ = [
    "AlongRoads",
    "ArrivalTimes",
    "ConstantSpeed",
    "Position",
    "arrival_errors",
    "distance_errors",
    "expected_distance_error",
]


Position = tuple[float, float]
"""Latitude and longitude in degrees."""
_RADII, _ANGLES, _FARTHEST = 400, 2_000, 40.0


def distance_errors(
    latitude: Floats,
    longitude: Floats,
    published_latitude: Floats,
    published_longitude: Floats,
    destination: Position,
) -> Floats:
    """By how much n published positions seem further from a destination than true ones; private.

    All of shape (n,), degrees; the result is in metres and may be negative.
    """
    ends = [np.full(len(latitude), side) for side in destination]
    true = separation(latitude, longitude, ends[0], ends[1])
    return separation(published_latitude, published_longitude, ends[0], ends[1]) - true


def expected_distance_error(scaled: float) -> float:
    """Epsilon times the mean absolute error at a distance of ``scaled`` / epsilon, 0 or more.

    By Gauss and Legendre over radii up to 40 / epsilon, and over half a turn of directions.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_RADII)
    radius = _FARTHEST * (nodes + 1) / 2
    density = radius * np.exp(-radius) * weights * _FARTHEST / 2
    direction = (np.arange(_ANGLES) + 0.5) / _ANGLES * math.pi
    across, along = np.sin(direction), np.cos(direction)
    seen = np.hypot(scaled + np.outer(radius, along), np.outer(radius, across))
    return float(density @ np.abs(seen - scaled).mean(axis=1))


class ArrivalTimes(Protocol):
    """How long it is from anywhere to one destination."""

    def seconds(self, latitude: Floats, longitude: Floats) -> Floats:
        """Seconds from n positions, shape (n,); infinite where no way leads there."""


@dataclass(frozen=True)
class ConstantSpeed:
    """On the straight line, at a constant speed."""

    destination: Position
    speed: float = 50.0
    """In km/h."""

    def seconds(self, latitude: Floats, longitude: Floats) -> Floats:
        """Seconds from n positions."""
        ends = [np.full(len(latitude), side) for side in self.destination]
        return self.for_distances(separation(latitude, longitude, ends[0], ends[1]))

    def for_distances(self, metres: Floats) -> Floats:
        """Seconds for distances."""
        return np.asarray(metres * 3.6 / self.speed)


class AlongRoads:
    """By the fastest way along the roads, from the road nearest to a position."""

    def __init__(self, ways: Ways, destination: Position) -> None:
        """Ways ``by="seconds"`` on a map, and where they lead."""
        self._to: WaysTo = ways.to(*destination)

    def seconds(self, latitude: Floats, longitude: Floats) -> Floats:
        """Seconds from n positions."""
        return self._to.of(latitude, longitude)


def arrival_errors(
    times: ArrivalTimes, true: tuple[Floats, Floats], published: tuple[Floats, Floats]
) -> Floats:
    """By how many seconds a truck is expected too late at n reports; private.

    ``true`` and ``published`` are latitudes and longitudes, each of shape (n,).  Not a number where
    no way leads to the destination from either.
    """
    expected, actual = times.seconds(*published), times.seconds(*true)
    known = np.isfinite(expected) & np.isfinite(actual)
    late = np.full(len(expected), np.nan)
    np.subtract(expected, actual, out=late, where=known)
    return late
