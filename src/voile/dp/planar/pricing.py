"""What a trip's reports cost, whatever the mechanism: one number of each kind, which add up.

Two trajectories of a trip are neighbours where they are nowhere more than ``distance`` metres
apart.  What tells them apart is an epsilon (planar Laplace noise, angle selection, the remaining
distance) and the square of the mu of Gaussian differential privacy (correlated noise); see
``costs`` for both.  Each adds up over the releases of a trip, also of several mechanisms, and

    total = epsilon + gaussian_epsilon(sqrt(mu squared), delta)

bounds all of them together at that delta (basic composition of a pure and a Gaussian part).

Cost: O(n) for a trip of n reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from voile.dp.planar.angles import turn_constant
from voile.dp.planar.costs import (
    Differences,
    angle_selection_cost,
    independent_cost,
    most_shifted_squared_mu,
    squared_mu,
)
from voile.geodesy import Floats
from voile.ondemand import on_demand

__all__ = ["PROTECTS_NOTHING_ABOVE", "TripCost", "TripPrice", "total_epsilons"]

special: Any = on_demand("scipy.special")

PROTECTS_NOTHING_ABOVE = 20.0
"""Epsilon of a trip above which its promise is called none.

It bounds by e^epsilon how far the odds between two neighbouring trajectories may shift, and e^20 is
485 million: nobody's odds between two paths that lie so near each other are so long beforehand, so
a bound beyond that excludes nothing that an adversary could find out.  Below it something is
excluded, though from about 10 on (22,000) only for those who began with odds as long."""
_HALVINGS = 60


class TripCost(NamedTuple):
    """What the reports of one trip cost."""

    epsilon: float
    squared_mu: float


@dataclass(frozen=True)
class TripPrice:
    """How the reports of a trip are priced; with neither tau nor a deviation, each by itself."""

    distance: float
    """Metres between neighbours, above 0."""
    tau: float | None = None
    """Seconds, of correlated noise."""
    deviation: float | None = None
    """Radians, of a turn under angle selection."""
    first_turn: bool = False
    """Whether the first direction, too, is a turn, from a direction that is known."""
    differences: Differences = "any"
    """How neighbours may differ; only correlated noise tells the two apart."""

    def cost(self, epsilons: Floats, time: Floats) -> TripCost:
        """The cost of a trip's reports; ``epsilons`` per metre and ``time`` in seconds, (n,)."""
        if not len(epsilons):
            return TripCost(0.0, 0.0)
        if self.tau is not None:
            gaussian = squared_mu(epsilons, time, self.distance, self.tau, self.differences)
            return TripCost(0.0, float(gaussian[-1]))
        if self.deviation is not None:
            spent = angle_selection_cost(epsilons, self.distance, self.deviation)
            if self.first_turn:
                spent = spent + turn_constant(self.deviation)
        else:
            spent = independent_cost(epsilons, self.distance)
        return TripCost(float(spent[-1]), 0.0)

    def most(self, first: float, between: tuple[float, float], time: Floats) -> TripCost:
        """The most that reports can cost whose epsilons are drawn between two, the first given.

        Costs as ``cost``; where the two are one, the same.
        """
        least, most = between
        if self.tau is not None and self.differences == "shifted" and least < most:
            shifted = most_shifted_squared_mu(least, most, time, self.distance, self.tau)
            return TripCost(0.0, shifted)
        epsilons = np.full(len(time), most)
        epsilons[:1] = first
        return self.cost(epsilons, time)


def total_epsilons(epsilon: Floats, mu_squared: Floats, delta: float) -> Floats:
    """The epsilon of all reports of each of t trips together, shape (t,), rounded up.

    Infinite where noise was Gaussian and ``delta`` is 0, or no epsilon will do.
    """
    total = np.array(epsilon, dtype=np.float64)
    gaussian = np.asarray(mu_squared) > 0
    if not gaussian.any():
        return total
    if delta == 0:
        total[gaussian] = math.inf
        return total
    total[gaussian] += _gaussian_epsilons(np.sqrt(mu_squared[gaussian]), delta)
    return total


def _gaussian_epsilons(mu: Floats, delta: float) -> Floats:
    """``costs.gaussian_epsilon`` for many mu at once, by bisection."""
    finite = np.isfinite(mu)
    low = np.zeros(len(mu))
    # Where the bound of a normal tail already is below delta.
    high = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta))) + 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _gaussian_deltas(middle, mu) <= delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    free = _gaussian_deltas(np.zeros(len(mu)), mu) <= delta
    return np.where(finite, np.where(free, 0.0, high), math.inf)


def _gaussian_deltas(epsilon: Floats, mu: Floats) -> Floats:
    """``costs.gaussian_delta`` for many at once."""
    with np.errstate(invalid="ignore"):
        first = special.ndtr(-epsilon / mu + mu / 2)
        return np.asarray(first - np.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2)))
