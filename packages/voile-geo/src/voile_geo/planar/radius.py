"""The radius of planar Laplace noise, and what finite precision costs.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 2 and eqs. 2 and 3, after Andrés, Bordenabe, Chatzikokolakis and Palamidessi,
"Geo-indistinguishability" (CCS 2013), sections 4 and 5.

The distribution: noise with density (epsilon^2 / 2 pi) e^(-epsilon r) in the plane has a uniform
direction and a radius r with epsilon r ~ Gamma(2, 1): distribution 1 - (1 + x) e^(-x), mean 2,
standard deviation sqrt(2), at x = epsilon r.

Mechanisms draw the sum of two exponential variables, -ln(u v) with u and v uniform.  The inverse of
the distribution, -(W(-1, (p - 1) / e) + 1) by Lambert's W, loses all digits for small p; the seed
prints the "+ 1" inside W, which is a slip.

Finite precision (eq. 3): where positions are rounded to a grid of step u and directions come in
steps of delta_theta, a mechanism run at epsilon' is epsilon-geo-indistinguishable within r_max if

    epsilon' + (1 / u) ln((q + 2 e^(epsilon' u)) / (q - 2 e^(epsilon' u))) <= epsilon,
    q = u / (r_max delta_theta).

There is such an epsilon' only where q > 2 and epsilon is large enough.
"""

from __future__ import annotations

import math

from voile_base.errors import InfeasibleError
from voile_base.ondemand import on_demand

__all__ = ["ANGLE_STEP", "MEAN_RADIUS", "corrected_epsilon"]

optimize = on_demand("scipy.optimize")

MEAN_RADIUS = 2.0
"""Mean radius times epsilon."""
ANGLE_STEP = 2 * math.pi * 2.0**-53
"""Between the directions that are drawn, in radians."""


def corrected_epsilon(
    epsilon: float, step: float, reach: float, angle_step: float = ANGLE_STEP
) -> float:
    """The largest epsilon' (1/m) to draw with, so that rounded positions keep ``epsilon``; eq. 3.

    ``step`` is the grid of published positions and ``reach`` the largest radius, in metres;
    ``angle_step`` is in radians.  Raises ``InfeasibleError`` where no epsilon' does.
    """
    fineness = step / (reach * angle_step)

    def excess(drawn: float) -> float:
        growth = 2 * math.exp(drawn * step)
        return drawn + math.log((fineness + growth) / (fineness - growth)) / step - epsilon

    if fineness <= 2 or excess(0.0) > 0:
        msg = (
            f"positions on a grid of {step:g} m within {reach:g} m cannot keep epsilon = "
            f"{epsilon:g} per metre; use a coarser grid, a larger epsilon or a smaller reach"
        )
        raise InfeasibleError(msg)
    largest = min(epsilon, math.log(fineness / 2) / step * (1 - 1e-12))
    if excess(largest) <= 0:
        return largest
    # Rounded down: the excess of what is returned is not above 0.
    found = float(optimize.brentq(excess, 0.0, largest, xtol=1e-18, rtol=1e-15))
    return found * (1 - 1e-12)
