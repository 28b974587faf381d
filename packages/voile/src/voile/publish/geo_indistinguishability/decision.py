"""From parameters to noise: the mechanism, what it is drawn with, and what its reports cost.

Positions are published on a grid of degrees, so planar Laplace radii are drawn with a smaller
epsilon than is promised (eq. 3 of the seed), by the same factor in all zones: the largest that does
for each of them.  The grid is narrowest in the north, so its step is taken at 80 degrees.  Gaussian
noise and remaining distances are rounded after the draw, which costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from voile_base.errors import InfeasibleError
from voile_geo.planar.noise import LocationNoise
from voile_geo.planar.radius import corrected_epsilon
from voile_geo.planar.zones import Zones

__all__ = ["DECIMALS", "FARTHEST_LATITUDE", "GRID", "DrawnMechanism", "lowered"]

DECIMALS = 6
"""Of published degrees: 0.11 m.  A finer grid would cost 13 % of an epsilon of 0.0001 (eq. 3)."""
FARTHEST_LATITUDE = 80
"""To the north and south, within which the grid is at least as wide as is promised."""
_METRES_PER_DEGREE = 111_132
GRID = 10.0**-DECIMALS * _METRES_PER_DEGREE * math.cos(math.radians(FARTHEST_LATITUDE))
"""The least step of the grid in metres."""
_LARGEST_RADIUS = 52.0
"""Times 1 / epsilon: no radius that is drawn exceeds it."""
_ROOM = 1.2
"""How much larger than 1 / epsilon the reach may become by drawing with a smaller epsilon."""


@dataclass(frozen=True)
class DrawnMechanism:
    """A mechanism as it is drawn."""

    noise: LocationNoise
    factor: float
    """Epsilons that are drawn with, over those that are promised; at most 1."""


def lowered(zones: Zones) -> tuple[Zones, float]:
    """Zones with the epsilons that do for the grid, and their ratio to those that are promised.

    Raises ``InfeasibleError`` where the grid is too fine for them.
    """
    factor = min(_factor(epsilon) for epsilon in zones.epsilons().ravel().tolist())
    return replace(zones, levels=tuple(level * factor for level in zones.levels)), factor


def _factor(epsilon: float) -> float:
    drawn = corrected_epsilon(epsilon, GRID, _ROOM * _LARGEST_RADIUS / epsilon)
    if drawn * _ROOM < epsilon:
        msg = (
            f"epsilon = {epsilon:g} per metre is too small for positions on a grid of "
            f"10^-{DECIMALS} degrees; use a larger epsilon"
        )
        raise InfeasibleError(msg)
    return drawn / epsilon
