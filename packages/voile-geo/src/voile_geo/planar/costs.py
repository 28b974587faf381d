"""What the reports of a trip cost together, for each mechanism.

Two trajectories of the same trip are neighbours at a distance d (metres) where none of their
positions at the same time lie further apart.  A trip's cost is the (epsilon, delta) with which its
published reports tell neighbours apart.

- Planar Laplace noise, and the remaining distance: the losses of all reports add up to
  d sum epsilon_i, with delta 0 (Andrés et al. 2013; 1-Lipschitz distances for the latter).
- Angle selection: d sum epsilon_i + (n - 1) kappa, which does not vanish with d (``angles``).
- Correlated Gaussian noise: given the reports before it, report i is a Gaussian mechanism with the
  standard deviation s_i sqrt(1 - a_i^2) on x_i - a_i (s_i / s_(i-1)) x_(i-1).  For trajectories
  that differ by D_i it is exactly mu-Gaussian-DP with

      mu^2 = |D_1 / s_1|^2 + sum |D_i / s_i - a_i D_(i-1) / s_(i-1)|^2 / (1 - a_i^2).

  The most that neighbours at distance d can give is with differences that change sides,
  (d / s_i + a_i d / s_(i-1))^2 / (1 - a_i^2) for each.  A path that is moved as a whole, the case
  that matters for a truck on one road or the next, gives (d / s_i - a_i d / s_(i-1))^2 over
  1 - a_i^2.

Epsilons chosen in the light of earlier reports (``zones``) are no obstacle: all three sums hold for
adaptive choices as long as each is compared with what is left before the report (for Gaussian
mechanisms Smith and Thakurta, "Fully adaptive composition for Gaussian differential privacy",
2022).

Cost: O(n).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from voile_base.ondemand import on_demand
from voile_geo.geodesy import Floats
from voile_geo.planar.angles import turn_constant
from voile_geo.planar.steps import gaussian_scale

__all__ = [
    "Differences",
    "angle_selection_cost",
    "gaussian_delta",
    "gaussian_deltas",
    "gaussian_epsilon",
    "independent_cost",
    "most_shifted_squared_mu",
    "next_squared_mu",
    "squared_mu",
]

optimize = on_demand("scipy.optimize")
special = on_demand("scipy.special")

Differences = Literal["any", "shifted"]
"""How neighbours may differ: anyhow within the distance, or moved as a whole."""


def independent_cost(epsilons: Floats, distance: float) -> Floats:
    """Epsilon of the first i reports together, for each i; ``epsilons`` (n,) are per metre."""
    return distance * np.cumsum(epsilons)


def angle_selection_cost(epsilons: Floats, distance: float, deviation: float) -> Floats:
    """Epsilon of the first i reports under angle selection; ``deviation`` of a turn in radians."""
    turns = np.arange(len(epsilons))
    return independent_cost(epsilons, distance) + turns * turn_constant(deviation)


def squared_mu(
    epsilons: Floats, time: Floats, distance: float, tau: float, differences: Differences = "any"
) -> Floats:
    """Mu squared of the first i reports with correlated Gaussian noise, shape (n,).

    ``epsilons`` (n,) are per metre, ``time`` (n,) in seconds.  Two reports at one time have the
    same noise: the second costs nothing if the truck has not moved, and infinitely much otherwise.
    """
    if not len(epsilons):
        return np.empty(0)
    scaled = distance / np.array([gaussian_scale(float(epsilon)) for epsilon in epsilons])
    kept = np.exp(-np.diff(time) / tau)
    before = kept * scaled[:-1]
    apart = scaled[1:] + before if differences == "any" else np.abs(scaled[1:] - before)
    fresh = -np.expm1(-2 * np.diff(time) / tau)
    with np.errstate(divide="ignore", invalid="ignore"):
        added = np.where(apart > 0, apart**2 / fresh, 0.0)
    return np.cumsum(np.concatenate(([scaled[0] ** 2], added)))


def most_shifted_squared_mu(
    least: float, most: float, time: Floats, distance: float, tau: float
) -> float:
    """The most that ``squared_mu`` of n reports is, each with an epsilon between two.

    For trajectories that are moved as a whole, whose reports cost most where epsilons change:
    |s_i - a s_(i-1)| is at most s(most) - a s(least), s rising with epsilon.
    """
    if not len(time):
        return 0.0
    low, high = (distance / gaussian_scale(epsilon) for epsilon in (least, most))
    kept = np.exp(-np.diff(time) / tau)
    apart = high - kept * low
    fresh = -np.expm1(-2 * np.diff(time) / tau)
    with np.errstate(divide="ignore", invalid="ignore"):
        added = np.where(apart > 0, apart**2 / fresh, 0.0)
    return float(high**2 + added.sum())


def next_squared_mu(
    epsilon: float,
    seconds: float | None,
    distance: float,
    tau: float,
    differences: Differences = "any",
) -> float:
    """What one report more adds to ``squared_mu``, ``seconds`` after the one before it, if any.

    For a stream whose reports all have one epsilon.
    """
    scaled = (distance / gaussian_scale(epsilon)) ** 2
    if seconds is None:
        return scaled
    if differences == "shifted":  # (1 - kept)^2 / (1 - kept^2)
        return scaled * math.tanh(seconds / tau / 2)
    kept = math.exp(-seconds / tau)
    return scaled * (1 + kept) / -math.expm1(-seconds / tau) if seconds else math.inf


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The smallest delta of a mu-Gaussian-DP mechanism at an epsilon (Dong, Roth and Su 2022)."""
    if mu == 0:
        return 0.0
    first = special.ndtr(-epsilon / mu + mu / 2)
    return float(first - math.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2)))


def gaussian_deltas(epsilon: Floats, mu: Floats) -> Floats:
    """``gaussian_delta`` for many epsilons, also below 0, and mu above 0; all of one shape."""
    with np.errstate(invalid="ignore"):
        first = special.ndtr(-epsilon / mu + mu / 2)
        return np.asarray(first - np.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon of a mu-Gaussian-DP mechanism at a delta between 0 and 1."""
    if math.isinf(mu):
        return math.inf
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    # Where the bound of a normal tail already is below delta.
    most = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta))) + 1
    found = float(optimize.brentq(lambda e: gaussian_delta(e, mu) - delta, 0.0, most, xtol=1e-12))
    return found * (1 + 1e-9)
