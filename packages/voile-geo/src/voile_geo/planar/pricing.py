"""What a trip's reports cost, whatever the mechanism: one number of each kind, which add up.

Two trajectories of a trip are neighbours where they are nowhere more than ``distance`` metres
apart.  What tells them apart is

- a number of reports that are all alike, planar Laplace noise or the remaining distance at one
  epsilon, with the distribution of their loss (``losses``);
- the square of the mu of Gaussian differential privacy, of correlated noise (``costs``);
- an epsilon, of angle selection, and of reports whose epsilons follow from what was published
  before them: their losses add up to it at delta 0, which holds for such choices too.

Each adds up over the releases of a trip, also of several mechanisms, and

    total = epsilon + composed_epsilon(reports of each distribution, mu squared, delta)

bounds all of them together at that delta (``composition``; basic composition with the first part).

Cost: O(n) for a trip of n reports; some milliseconds for each different number of them.

What the trajectory paper says of its mechanism is computed as well: its composition, and its two
measures.  Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy"
(ESORICS 2023), Theorem 1 (after Kairouz, Oh and Viswanath, ICML 2015), eqs. 8 to 11, Lemma 1.
Nothing of that is part of a promise of Voile's; each function says where the paper's use of it
fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.ondemand import dataclass, on_demand
from voile_geo.geodesy import Floats
from voile_geo.planar.costs import (
    Counted,
    Differences,
    LossDistribution,
    angle_selection_cost,
    composed_epsilon,
    gaussian_deltas,
    gaussian_epsilon,
    independent_cost,
    squared_mu,
)
from voile_geo.planar.steps import gaussian_scale, turn_constant

__all__ = [
    "PROTECTS_NOTHING_ABOVE",
    "TripCost",
    "TripPrice",
    "composed_deviation",
    "composed_epsilon_as_printed",
    "composed_epsilon_of_turns",
    "guessed_distance_density",
    "guessed_distance_density_as_printed",
    "largest_epsilon",
    "midpoint_displacement",
    "total_epsilons",
    "vector_displacement",
]

special = on_demand("scipy.special")

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
    alike: int = 0
    """Reports whose loss has the distribution of the price."""


@dataclass(frozen=True)
class TripPrice:
    """How the reports of a trip are priced; with tau, deviation, distribution None they add up."""

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
    distribution: LossDistribution | None = None
    """Of each report, where all are alike."""

    def cost(self, epsilons: Floats, time: Floats) -> TripCost:
        """The cost of a trip's reports; ``epsilons`` per metre and ``time`` in seconds, (n,)."""
        if not len(epsilons):
            return TripCost(0.0, 0.0)
        if self.distribution is not None:
            return TripCost(0.0, 0.0, len(epsilons))
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
            shifted = _most_shifted_squared_mu(least, most, time, self.distance, self.tau)
            return TripCost(0.0, shifted)
        epsilons = np.full(len(time), most)
        epsilons[:1] = first
        return self.cost(epsilons, time)


def _most_shifted_squared_mu(
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


def _counted(distributions: Sequence[LossDistribution], counts: Iterable[float]) -> Counted:
    """Distributions with their numbers of reports, as ``composed_epsilon`` takes them."""
    return tuple(
        sorted(
            (distribution, int(n))
            for distribution, n in zip(distributions, counts, strict=True)
            if n
        )
    )


def total_epsilons(
    epsilon: Floats,
    mu_squared: Floats,
    delta: float,
    alike: Mapping[LossDistribution, NDArray[np.int64]] | None = None,
) -> Floats:
    """The epsilon of all reports of each of t trips together, shape (t,), rounded up.

    ``alike`` says how many reports of each distribution a trip has, each of shape (t,).  Infinite
    where noise was Gaussian and ``delta`` is 0, or no epsilon will do.
    """
    total = np.array(epsilon, dtype=np.float64)
    mu_squared = np.asarray(mu_squared, dtype=np.float64)
    distributions = tuple(alike or ())
    counts = np.zeros((len(total), len(distributions)))
    for column, distribution in enumerate(distributions):
        counts[:, column] = (alike or {})[distribution]
    together = counts.any(axis=1)
    total[together] += _composed(distributions, counts[together], mu_squared[together], delta)
    gaussian = ~together & (mu_squared > 0)
    if gaussian.any():
        mu = np.sqrt(mu_squared[gaussian])
        total[gaussian] += _gaussian_epsilons(mu, delta) if delta else math.inf
    return total


def largest_epsilon(
    epsilon: Floats,
    mu_squared: Floats,
    delta: float,
    alike: Mapping[LossDistribution, NDArray[np.int64]] | None = None,
) -> tuple[int, float]:
    """Which of t trips, at least one, has the largest of ``total_epsilons``, and that.

    Where trips differ in one number alone, only one of them has to be composed.
    """
    columns = [np.asarray(column) for column in (epsilon, mu_squared, *(alike or {}).values())]
    differing = [column for column in columns if (column != column[0]).any()]
    if len(differing) > 1:
        totals = total_epsilons(epsilon, mu_squared, delta, alike)
        most = int(np.argmax(totals))
        return most, float(totals[most])
    most = int(np.argmax(differing[0])) if differing else 0
    one = slice(most, most + 1)
    only = {distribution: counts[one] for distribution, counts in (alike or {}).items()}
    return most, float(total_epsilons(epsilon[one], mu_squared[one], delta, only)[0])


def _composed(
    distributions: tuple[LossDistribution, ...], counts: Floats, mu_squared: Floats, delta: float
) -> Floats:
    """What trips cost beside their epsilons; each different one is composed once."""
    different, place = np.unique(np.column_stack((mu_squared, counts)), axis=0, return_inverse=True)
    found = [
        composed_epsilon(_counted(distributions, row[1:].tolist()), float(row[0]), delta)
        for row in different
    ]
    return np.array(found, dtype=np.float64)[place.reshape(-1)]


def _gaussian_epsilons(mu: Floats, delta: float) -> Floats:
    """``costs.gaussian_epsilon`` for many mu at once, by bisection."""
    finite = np.isfinite(mu)
    low = np.zeros(len(mu))
    # Where the bound of a normal tail already is below delta.
    high = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta))) + 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = gaussian_deltas(middle, mu) <= delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    free = gaussian_deltas(np.zeros(len(mu)), mu) <= delta
    return np.where(finite, np.where(free, 0.0, high), math.inf)


def composed_deviation(rounds: int, epsilon: float, delta: float, spread: float) -> float:
    """Theorem 1: sigma of Gaussian noise for (epsilon, delta) over all ``rounds`` together.

    ``spread`` is Delta_2.  Its variance is 8 k ln(e + epsilon / delta) spread^2 / epsilon^2.
    """
    return spread * math.sqrt(8 * rounds * math.log(math.e + epsilon / delta)) / epsilon


def composed_epsilon_as_printed(rounds: int, epsilon: float) -> float:
    """Section 5.2: sqrt(k) epsilon_a for k rounds of epsilon_a each.

    Fails: solving Theorem 1 for what k rounds with the noise of eq. 7 cost gives about twice as
    much, sqrt(4 ln(e + epsilon / delta) / ln(1.25 / delta)) times sqrt(k) epsilon_a; and eq. 7
    holds for epsilon_a below 1, where the paper takes 5.  ``composed_epsilon_of_turns`` is exact.
    """
    return math.sqrt(rounds) * epsilon


def composed_epsilon_of_turns(rounds: int, epsilon: float, delta: float) -> float:
    """The exact epsilon, at ``delta``, of k Gaussian turns that eq. 7 made for epsilon_a each.

    k rounds of Gaussian noise are one, sqrt(k) times as telling: mu = sqrt(k) Delta_2 / sigma.
    What is protected are angles, which are drawn and follow from no position: of positions it
    says nothing.
    """
    single = epsilon / math.sqrt(2 * math.log(1.25 / delta))
    return gaussian_epsilon(math.sqrt(rounds) * single, delta)


def guessed_distance_density_as_printed(distance: Floats, epsilon: float) -> Floats:
    """Eq. 8: the density that the paper gives to the distance from the published position.

    It is that of one dimension, largest at 0: fails in the plane, where it is
    ``guessed_distance_density``.
    """
    return np.asarray(epsilon * np.exp(-epsilon * np.asarray(distance, np.float64)))


def guessed_distance_density(distance: Floats, epsilon: float) -> Floats:
    """The density, per metre, of the distance that planar Laplace noise moves a position by.

    epsilon^2 d e^(-epsilon d): 0 at 0 and largest at 1 / epsilon.
    """
    distance = np.asarray(distance, np.float64)
    return np.asarray(epsilon**2 * distance * np.exp(-epsilon * distance))


def midpoint_displacement(radius: Floats, angle: Floats) -> Floats:
    """Eq. 9: how far the midpoint of two neighbouring reports is from that of the true positions.

    ``radius`` and ``angle`` (..., n): metres and radians of the noise of n reports in a row;
    answers are (..., n - 1), metres.

    Lemma 1 takes a larger one for more privacy.  Fails against who knows the mechanism: what makes
    it large, noise that hardly turns, is what he follows the truck by.
    """
    turn = np.diff(angle)
    first, second = radius[..., :-1], radius[..., 1:]
    square = first**2 + second**2 + 2 * first * second * np.cos(turn)
    return np.asarray(np.sqrt(np.maximum(square, 0)) / 2)


def vector_displacement(radius: Floats, angle: Floats) -> Floats:
    """Eqs. 10 and 11: the length of the average vector difference of three reports in a row.

    Shapes as for ``midpoint_displacement``, and (..., n - 2); it fails in the same way.
    """
    east, north = radius * np.cos(angle), radius * np.sin(angle)
    sums = [part[..., :-2] + 2 * part[..., 1:-1] + part[..., 2:] for part in (east, north)]
    return np.asarray(np.hypot(*sums) / 4)
