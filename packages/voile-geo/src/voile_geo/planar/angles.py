"""Angle selection: the direction of a report's noise is that of the one before, hardly turned.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5: eqs. 7 and 13, Algorithms 1 and 2, Figure 10.

The distribution: angle i = angle (i - 1) + sigma z, z standard normal, wrapped to a circle, with
sigma = spread sqrt(2 ln(1.25 / delta)) / epsilon (eq. 7, the Gaussian mechanism, which holds for
epsilon below 1; ``spread`` is the seed's Delta_2, the largest distance of two angles).

Claim: none for trajectories.  The angle does not depend on the position, so its epsilon protects
nothing about it.  The log-ratio of the densities of n reports from two trajectories that are
nowhere more than d apart is at most n epsilon d + (n - 1) kappa, where kappa = ln f(0) / f(pi) for
the density f of a wrapped turn.  Kappa does not vanish with d: there is no geo-indistinguishability
of trajectories at any epsilon.  A single report is planar Laplace, because the first direction is
uniform.

Departures: Algorithm 1 starts at the angle 0, and then the first report is not planar Laplace
(``start = "zero"`` keeps it reachable).  Eq. 13 truncates the normal distribution at half a turn
where Algorithm 2 wraps it; the two differ, and the mechanism wraps.
"""

from __future__ import annotations

import math

import numpy as np

from voile_base.ondemand import on_demand
from voile_geo.geodesy import Floats

__all__ = [
    "turn_constant",
    "turn_deviation",
    "turn_within",
    "turn_within_truncated",
    "wrapped_density",
]

special = on_demand("scipy.special")


def turn_deviation(epsilon: float, delta: float, spread: float = 2 * math.pi) -> float:
    """Sigma of eq. 7 in radians, for an epsilon of angles above 0 and a delta between 0 and 1."""
    return spread * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def wrapped_density(turn: Floats, deviation: float) -> Floats:
    """Density, per radian, of a normal turn wrapped to the circle; radians, any shape."""
    turn = np.asarray(turn, dtype=np.float64)
    if deviation > math.pi:  # the Fourier series converges where the sum over turns is slow
        waves = np.arange(1, 2 + math.ceil(9 / deviation))
        terms = np.exp(-0.5 * (waves * deviation) ** 2) * np.cos(turn[..., np.newaxis] * waves)
        return np.asarray((1 + 2 * terms.sum(axis=-1)) / (2 * math.pi))
    rounds = 2 * math.pi * np.arange(-_rounds(deviation), _rounds(deviation) + 1)
    shifted = (turn[..., np.newaxis] + rounds) / deviation
    scale = deviation * math.sqrt(2 * math.pi)
    return np.asarray(np.exp(-0.5 * shifted**2).sum(axis=-1) / scale)


def turn_within(reach: float, deviation: float) -> float:
    """The chance that a wrapped turn stays within ``reach`` radians to either side, up to pi."""
    rounds = 2 * math.pi * np.arange(-_rounds(deviation), _rounds(deviation) + 1)
    ends = special.ndtr((rounds + reach) / deviation) - special.ndtr((rounds - reach) / deviation)
    return float(ends.sum())


def turn_within_truncated(reach: float, deviation: float) -> float:
    """The same for a turn truncated at half a turn, as eq. 13 has it."""

    def inside(limit: float) -> float:
        return float(special.erf(limit / (deviation * math.sqrt(2))))

    return inside(reach) / inside(math.pi)


def turn_constant(deviation: float) -> float:
    """Kappa: the logarithm of how much likelier no turn is than a reversal."""
    ahead, back = wrapped_density(np.array([0.0, math.pi]), deviation)
    # Far out the density is that of two equal terms, whose logarithm does not underflow.
    far = math.log(2) - math.pi**2 / (2 * deviation**2) - math.log(deviation)
    last = math.log(back) if back > 0 else far - 0.5 * math.log(2 * math.pi)
    return math.log(ahead) - last


def _rounds(deviation: float) -> int:
    """How many times round the circle matters."""
    return 1 + math.ceil(9 * deviation / (2 * math.pi))
