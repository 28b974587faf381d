"""How far off the distance to a destination is, when it is taken from published positions.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 8.1, Table 2: mean displacement, and mean absolute error of the distance to a destination.

The distribution: planar Laplace noise at epsilon, seen from a destination at distance D, has a mean
absolute error that depends on a = epsilon D alone: c(a) / epsilon, with c = 2 at the destination,
1.2015 at a = 2, and 4 / pi far away.  The published distance is too long by about 3 / (2 epsilon^2
D), since noise across the way lengthens it.

Departure: the seed's distances are 1.604 times those of the distribution at every epsilon, which
fits metres read as miles; the cause is not proven.

Cost: O(n).
"""

from __future__ import annotations

import math

import numpy as np

from voile.geodesy import Floats, separation

__all__ = ["Position", "distance_errors", "expected_distance_error", "expected_excess"]

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
    """Epsilon times the mean absolute error at a distance of ``scaled`` / epsilon, 0 or more."""
    return _expected(scaled, absolute=True)


def expected_excess(scaled: float) -> float:
    """Epsilon times how much too long the published distance is on average."""
    return _expected(scaled, absolute=False)


def _expected(scaled: float, *, absolute: bool) -> float:
    """By Gauss and Legendre over radii up to 40 / epsilon, and over half a turn of directions."""
    nodes, weights = np.polynomial.legendre.leggauss(_RADII)
    radius = _FARTHEST * (nodes + 1) / 2
    density = radius * np.exp(-radius) * weights * _FARTHEST / 2
    direction = (np.arange(_ANGLES) + 0.5) / _ANGLES * math.pi
    across, along = np.sin(direction), np.cos(direction)
    seen = np.hypot(scaled + np.outer(radius, along), np.outer(radius, across))
    error = seen - scaled
    each = (np.abs(error) if absolute else error).mean(axis=1)
    return float(density @ each)
