"""What many reports cost together at a delta: an epsilon that is proved, and nearly the smallest.

What it does: for any number of reports of several distributions (``losses``), and Gaussian noise
beside them, the smallest epsilon for which an upper bound of

    delta(epsilon) = E (1 - e^(epsilon - S))+ ,   S the sum of all losses,

is at most delta.  Gaussian noise, with the square of its mu, enters exactly: given the sum s of the
other losses what is left is its own delta at epsilon - s (``costs.gaussian_delta``).

Algorithm.  Each distribution is put on one grid of losses, in a way that only adds to delta.
Masses are tilted, w_i ~ p_i e^(t l_i), with the t at which the moment bound (Rényi) is best, so
that the losses that matter are in the middle of the distribution of their sum and not in its tail.
The n-fold convolution is a power of the discrete Fourier transform on N points.  From its inverse w

    delta(epsilon) <= M sum_k (w_k + e) e^(-t l_k) delta_mu(epsilon - l_k) + tails,

with M the moment of all distributions together.  Three errors, each bounded and added:

- What lies beyond the window of N points wraps into it, which only adds; what it should have
  counted for outside is bounded by moments of order t + u and t - u.
- e: rounding.  A transform of N points is off by at most 16 r log2(N) in the Euclidean norm,
  relative to it, with r = 2^-53 (Higham, "Accuracy and stability of numerical algorithms", theorem
  24.2, has 7 r log2(N) for radix 2); a power n makes n |x|^(n - 1) of it; the inverse adds its own.
- All sums and exponentials else: delta is lowered by a millionth of itself, and with Gaussian noise
  by 10^-13.

The grid has a step of a thirtieth of the root mean square of the reaches, which adds some .03 % to
epsilon.  Where neither tells more than the sum of all reaches, the sum is the answer.

Sources: Koskela, Jälkö and Honkela (2020) and Gopi, Lee and Wutschitz (2021) for convolution by
transforms; tilting as in the method of steepest descent.  Libraries (``dp-accounting``) know
neither this distribution nor tilting.

Assumption: distributions are fixed beforehand.  Epsilons that are chosen in the light of earlier
reports may be entered at the most that they can be.

Cost: some milliseconds for 1,000 reports; N rises with the root of their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from voile_base.ondemand import on_demand
from voile_geo.geodesy import Floats
from voile_geo.planar.costs import gaussian_deltas, gaussian_epsilon
from voile_geo.planar.losses import LARGEST_REACH, LossDistribution, log_moment, masses

__all__ = ["Counted", "composed_epsilon", "counted"]

optimize = on_demand("scipy.optimize")

Counted = tuple[tuple[LossDistribution, int], ...]
"""Distributions, ascending, and of how many reports each is; numbers above 0."""

_PER_REACH = 30
_MOST_POINTS = 2**20
_DEVIATIONS = 14
_MARGIN = 1e-6
_ROUNDING = 16 * 2.0**-53
_CANCELLED = 1e-13
"""More than what the difference of two terms loses in ``gaussian_deltas``."""
_RELATIVE_STEP = 1e-10


@lru_cache(maxsize=1 << 14)
def composed_epsilon(reports: Counted, squared_mu: float, delta: float) -> float:
    """The epsilon of all reports together, and of Gaussian noise, at a delta of at least 0."""
    if math.isinf(squared_mu) or (squared_mu and not delta):
        return math.inf
    pure = sum(distribution.reach * count for distribution, count in reports)
    beside = gaussian_epsilon(math.sqrt(squared_mu), delta) if squared_mu else 0.0
    most = pure + beside
    within = tuple(
        (distribution, count)
        for distribution, count in reports
        if distribution.reach <= LARGEST_REACH
    )
    if not delta or not within:
        return most
    beyond = pure - sum(distribution.reach * count for distribution, count in within)
    return min(most, beyond + _Composed(within, squared_mu).epsilon(delta))


class _Part(NamedTuple):
    """A distribution on the grid."""

    losses: Floats
    mass: Floats
    times: int


class _Composed:
    """The sum of the losses of some reports, and of Gaussian noise."""

    def __init__(self, reports: Counted, squared_mu: float) -> None:
        self._reports = reports
        self._squared_mu = squared_mu
        count = sum(count for _, count in reports)
        square = sum(n * distribution.reach**2 for distribution, n in reports)
        # The sum of losses has about the variance ``square`` / 2.
        span = 2 * _DEVIATIONS * math.sqrt(square / 2) + 4 * max(
            distribution.reach for distribution, _ in reports
        )
        self._step = max(math.sqrt(square / count) / _PER_REACH, span / _MOST_POINTS)
        self._points = 1 << max(6, math.ceil(math.log2(span / self._step)))
        self._parts = [
            _Part((first + np.arange(len(mass), dtype=np.float64)) * self._step, mass, n)
            for (first, mass), n in (
                (masses(distribution, self._step), n) for distribution, n in reports
            )
        ]

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon whose delta is proved to be at most this one, rounded up."""
        allowed = delta * (1 - _MARGIN) - (_CANCELLED if self._squared_mu else 0.0)
        if allowed <= 0:
            return math.inf
        tilt, guess = self._best_order(delta)
        proved = self._bound(tilt, guess)
        if proved(0.0) <= allowed:
            return 0.0
        if proved(guess) > allowed:  # rounding weighs more than delta; moments prove their guess
            return guess
        found, _ = optimize.brentq(
            lambda epsilon: math.log(proved(epsilon) / allowed), 0.0, guess, full_output=True
        )
        while proved(found) > allowed:
            found *= 1 + _RELATIVE_STEP
        return float(found)

    def _best_order(self, delta: float) -> tuple[float, float]:
        """An order whose moment proves a small epsilon at delta, and that epsilon."""

        def gaussian(order: float) -> float:
            return self._squared_mu / 2 * order * (order + 1) - math.log(delta)

        def proves(log_order: float) -> float:
            order = math.exp(log_order)
            at = np.asarray(order)
            exact = sum(
                n * log_moment(distribution, at).item() for distribution, n in self._reports
            )
            return (exact + gaussian(order)) / order

        found = optimize.minimize_scalar(
            proves, bounds=(-12, 8), method="bounded", options={"xatol": 1e-3}
        )
        order = math.exp(found.x)
        on_the_grid = (self._moment_of_reports(order) + gaussian(order)) / order
        return order, max(on_the_grid, 1e-12)

    def _moment_of_reports(self, order: float) -> float:
        """The logarithm of E e^(order S) on the grid, without Gaussian noise."""
        return sum(n * _log_sum(order * at, mass) for at, mass, n in self._parts)

    def _bound(self, tilt: float, guess: float) -> _Bound:
        step, points = self._step, self._points
        mean, square = self._tilted(tilt)
        start = math.floor(mean / step) - points // 2
        tilted = np.ones(points // 2 + 1, dtype=np.complex128)
        slack = np.zeros(points // 2 + 1)
        for at, mass, n in self._parts:
            tilted, slack = _multiplied(tilted, slack, _wrapped(at, mass, tilt, step, points), n)
        shown = np.roll(np.fft.irfft(tilted, points), -(start % points))
        doubled = 2 * slack.sum() - slack[0] - slack[-1]
        norm = math.sqrt(2 * float((np.abs(tilted) ** 2).sum()) / points)
        error = doubled / points + _ROUNDING * math.log2(points) * norm
        losses = (start + np.arange(points, dtype=np.float64)) * step
        further = 0.5 * _DEVIATIONS / math.sqrt(square)
        return _Bound(
            losses=losses,
            weights=np.maximum(shown, 0.0) + error,
            tilt=tilt,
            log_moment=self._moment_of_reports(tilt),
            squared_mu=self._squared_mu,
            beyond=self._beyond(tilt, further, losses),
        )

    def _tilted(self, tilt: float) -> tuple[float, float]:
        """Mean and variance of the sum of losses on the grid, tilted."""
        mean = square = 0.0
        for at, mass, n in self._parts:
            weight = np.exp(tilt * at - tilt * at.max()) * mass
            weight /= weight.sum()
            one = float(weight @ at)
            mean, square = mean + n * one, square + n * float(weight @ (at - one) ** 2)
        return mean, max(square, self._step**2)

    def _beyond(self, tilt: float, further: float, losses: Floats) -> float:
        """The logarithm of what losses beyond the window count for, times e^(tilt epsilon)."""
        gaussian = self._squared_mu / 2 * tilt * (tilt + 1)
        ends = (
            self._moment_of_reports(tilt + further) - further * losses[-1],
            self._moment_of_reports(tilt - further) + further * losses[0],
        )
        return gaussian + float(np.logaddexp(*ends))


class _Bound(NamedTuple):
    """An upper bound of delta for every epsilon; see the module's formula."""

    losses: Floats
    weights: Floats
    tilt: float
    log_moment: float
    squared_mu: float
    beyond: float

    def __call__(self, epsilon: float) -> float:
        first = 0 if self.squared_mu else int(np.searchsorted(self.losses, epsilon))
        above = self.losses[first:] - epsilon
        if self.squared_mu:
            counts = gaussian_deltas(-above, np.full(len(above), math.sqrt(self.squared_mu)))
            counts = np.clip(counts, 0.0, 1.0)
        else:
            counts = -np.expm1(-above)
        with np.errstate(divide="ignore"):
            exponents = np.log(counts) - self.tilt * above
        inside = _log_sum(exponents, self.weights[first:]) + self.log_moment
        both = np.logaddexp(inside, self.beyond) - self.tilt * epsilon
        return math.exp(min(float(both), 0.0))


def _log_sum(exponents: Floats, weights: Floats) -> float:
    """The logarithm of sum weights e^exponents; some weight is above 0."""
    most = exponents.max(initial=-math.inf)
    return most + math.log(weights @ np.exp(exponents - most)) if most > -math.inf else -math.inf


def _wrapped(at: Floats, mass: Floats, tilt: float, step: float, points: int) -> Floats:
    """A tilted distribution, of mass 1, on the circle of the transform."""
    weight = np.exp(tilt * (at - at.max())) * mass
    circle = np.zeros(points)
    np.add.at(circle, np.rint(at / step).astype(np.int64) % points, weight / weight.sum())
    return circle


def _multiplied(
    product: np.ndarray, slack: Floats, distribution: Floats, count: int
) -> tuple[np.ndarray, Floats]:
    """A transform times the power of another one, and by how much it may be off."""
    points = len(distribution)
    found = np.fft.rfft(distribution)
    off = (
        _ROUNDING * math.log2(points) * math.sqrt(points) * float(np.sqrt((distribution**2).sum()))
    )
    size = np.minimum(np.abs(found) + off, 1.0)
    power = found**count
    own = count * size ** (count - 1) * off + (count + 4) * _ROUNDING * size**count
    return product * power, slack * size**count + np.minimum(np.abs(product) + slack, 1.0) * own


def counted(distributions: Sequence[LossDistribution], counts: Iterable[float]) -> Counted:
    """Distributions with their numbers of reports, as ``composed_epsilon`` takes them."""
    return tuple(
        sorted(
            (distribution, int(n))
            for distribution, n in zip(distributions, counts, strict=True)
            if n
        )
    )
