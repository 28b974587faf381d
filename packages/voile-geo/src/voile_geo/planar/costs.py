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

Epsilons chosen in the light of earlier reports (``steps``) are no obstacle: all three sums hold for
adaptive choices as long as each is compared with what is left before the report (for Gaussian
mechanisms Smith and Thakurta, "Fully adaptive composition for Gaussian differential privacy",
2022).

Cost: O(n).

The privacy loss of one report: planar Laplace noise, and Laplace noise on a distance.

A report of a place is compared with one of a place ``reach`` / epsilon metres away: P and Q are the
distributions of what is published, and the loss is L = ln(dP / dQ) where P holds.

Planar Laplace noise.  In elliptic coordinates around the two places, L = reach sin(phi), and with
z = reach / 2 and the Bessel functions I and K

    P(d phi) = (1 / pi) e^(z sin phi) (z K_1(z) + z^2 K_0(z) cos^2 phi) d phi,  |phi| <= pi / 2,
    E_P e^(t L) = z K_1(z) I_0(y) + z^2 K_0(z) I_1(y) / y,  y = (1 + 2 t) z.

(With s = |x| + |x - d| and L = |x - d| - |x| the element of area is (s^2 - L^2) / (4 sqrt((s^2 -
d^2)(d^2 - L^2))) ds dL on either side, and the integral over s is K_0 and K_1.  At t = 0 the second
line is z times the Wronskian of I and K, which is 1 / z.)

Laplace noise: L = reach with probability 1 / 2, -reach with e^(-reach) / 2, and between the two it
has the density e^((L - reach) / 2) / 4.

Worst neighbours.  A smaller reach never loses more: for noise with a log-concave density g and a
shift t along a line, ln g(u) - ln g(u - t) falls with u on each line, so that the best event on it
is a half-line {u < c}, and its advantage G(c) - k G(c - t) rises with t, for every k >= 0.  So the
pair (P, Q) dominates those of all places that are nearer, in any direction, and of less epsilon;
and products of dominating pairs dominate compositions, adaptive ones too (Zhu, Dong and Wang,
"Optimal accounting of differential privacy via characteristic function", 2022).  Mirrored, P is Q:
the order of neighbours does not matter.

On a grid.  ``_masses`` moves the mass between two points of a grid of losses onto the two, keeping
that of P and that of Q.  The pair that results dominates (P, Q): its curve of delta over e^epsilon
is the chord of a convex one ("connect the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi,
2022).  Integrals are by Gauss and Legendre over arcs of at most pi / 16; the integrand is entire
and at most e^(2 reach cosh 1) within 1 of an arc, so that 20 points are off by less than
10^-45 e^(3.1 reach), beneath rounding for every reach up to ``LARGEST_REACH``.

Cost: 20 evaluations for each cell of the grid.

What many reports cost together at a delta: an epsilon that is proved, and nearly the smallest.

What it does: for any number of reports of several distributions (``losses``), and Gaussian noise
beside them, the smallest epsilon for which an upper bound of

    delta(epsilon) = E (1 - e^(epsilon - S))+ ,   S the sum of all losses,

is at most delta.  Gaussian noise, with the square of its mu, enters exactly: given the sum s of the
other losses what is left is its own delta at epsilon - s (``costs._gaussian_delta``).

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
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from voile_base.ondemand import dataclass, on_demand
from voile_geo.geodesy import Floats
from voile_geo.planar.steps import gaussian_scale, turn_constant

__all__ = [
    "LARGEST_REACH",
    "Counted",
    "Differences",
    "LossDistribution",
    "Noise",
    "angle_selection_cost",
    "composed_epsilon",
    "gaussian_deltas",
    "gaussian_epsilon",
    "independent_cost",
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


def _gaussian_delta(epsilon: float, mu: float) -> float:
    """The smallest delta of a mu-Gaussian-DP mechanism at an epsilon (Dong, Roth and Su 2022)."""
    if mu == 0:
        return 0.0
    first = special.ndtr(-epsilon / mu + mu / 2)
    return float(first - math.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2)))


def gaussian_deltas(epsilon: Floats, mu: Floats) -> Floats:
    """``_gaussian_delta`` for many epsilons, also below 0, and mu above 0; all of one shape."""
    with np.errstate(invalid="ignore"):
        first = special.ndtr(-epsilon / mu + mu / 2)
        return np.asarray(first - np.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon of a mu-Gaussian-DP mechanism at a delta between 0 and 1."""
    if math.isinf(mu):
        return math.inf
    if _gaussian_delta(0.0, mu) <= delta:
        return 0.0
    # Where the bound of a normal tail already is below delta.
    most = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta))) + 1
    found = float(optimize.brentq(lambda e: _gaussian_delta(e, mu) - delta, 0.0, most, xtol=1e-12))
    return found * (1 + 1e-9)


LARGEST_REACH = 20.0
"""Above which a report is priced by its largest loss alone."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_ARC = math.pi / 16


Noise = Literal["planar-laplace", "laplace"]


@dataclass(frozen=True, order=True)
class LossDistribution:
    """What is known of the loss of one report."""

    noise: Noise
    reach: float
    """The largest loss: epsilon per metre, times the metres between neighbours; above 0."""

    def log_moment(self, order: Floats) -> Floats:
        """The logarithm of E_P e^(order L), of any shape; at order 0 and at -1 it is 0."""
        order = np.asarray(order, dtype=np.float64)
        if self.noise == "laplace":
            return np.asarray(_log_moment_on_a_line(self.reach, order))
        z = self.reach / 2
        y = np.abs(1 + 2 * order) * z
        # e^-y I_1(y) / y is 1/2 at 0.
        ratio = np.where(y > 0, special.ive(1, y) / np.where(y > 0, y, 1.0), 0.5)
        inside = z * special.kve(1, z) * special.ive(0, y) + z * z * special.kve(0, z) * ratio
        return np.asarray(np.log(inside) + y - z)


class _Masses(NamedTuple):
    """A distribution on the points of a grid, (first + i) step for i = 0, 1, ..., under P."""

    first: int
    mass: Floats


def _log_moment_on_a_line(reach: float, order: Floats) -> Floats:
    ends = np.logaddexp(order * reach, -(1 + order) * reach) - math.log(2)
    rate = np.abs(order + 0.5)
    # The integral of e^((order + 1/2) l - reach / 2) / 4 between -reach and reach.
    size = np.where(rate > 0, -np.expm1(-2 * rate * reach) / np.where(rate > 0, 2 * rate, 1), reach)
    between = rate * reach - reach / 2 + np.log(size / 2)
    return np.asarray(np.logaddexp(ends, between))


def _masses(distribution: LossDistribution, step: float) -> _Masses:
    """The distribution on a grid of losses ``step`` apart, pessimistically: what dominates it."""
    first = math.floor(-distribution.reach / step)
    last = max(math.ceil(distribution.reach / step), first + 1)
    grid = np.zeros(last - first + 1)
    losses, weights = (
        _line(distribution, step) if distribution.noise == "laplace" else _arcs(distribution, step)
    )
    cell = np.clip(np.floor(losses / step).astype(np.int64), first, last - 1)
    # What goes to the upper point, so that E_P[1] and E_P[e^-L] = E_Q[1] stay.
    upper = np.clip(np.expm1(-(losses - cell * step)) / math.expm1(-step), 0.0, 1.0)
    np.add.at(grid, cell - first, weights * (1 - upper))
    np.add.at(grid, cell - first + 1, weights * upper)
    return _Masses(first, grid)


def _arcs(distribution: LossDistribution, step: float) -> tuple[Floats, Floats]:
    """Losses and their weights, whose sums are integrals over each cell of the grid."""
    reach, z = distribution.reach, distribution.reach / 2
    inner = np.arange(math.ceil(-reach / step), math.floor(reach / step) + 1) * step
    ends = np.concatenate(([-math.pi / 2], np.arcsin(np.clip(inner / reach, -1, 1)), [math.pi / 2]))
    ends = np.unique(np.concatenate((ends, np.arange(-8, 9) * _ARC)))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    phi = middle[:, np.newaxis] + half[:, np.newaxis] * _NODES
    sine, square = np.sin(phi), np.cos(phi) ** 2
    # kve is K e^z, so that the exponents cannot overflow.
    density = np.exp(z * sine - z) * (z * special.kve(1, z) + z * z * special.kve(0, z) * square)
    weights = density / math.pi * half[:, np.newaxis] * _WEIGHTS
    return (reach * sine).ravel(), weights.ravel()


def _line(distribution: LossDistribution, step: float) -> tuple[Floats, Floats]:
    """The same of Laplace noise on a line, with its two ends."""
    reach = distribution.reach
    inner = np.arange(math.ceil(-reach / step), math.floor(reach / step) + 1) * step
    ends = np.unique(np.concatenate(([-reach], np.clip(inner, -reach, reach), [reach])))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    losses = middle[:, np.newaxis] + half[:, np.newaxis] * _NODES
    weights = np.exp((losses - reach) / 2) / 4 * half[:, np.newaxis] * _WEIGHTS
    at_ends = np.array([math.exp(-reach) / 2, 0.5])
    return np.append(losses.ravel(), [-reach, reach]), np.append(weights.ravel(), at_ends)


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
                (_masses(distribution, self._step), n) for distribution, n in reports
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
            exact = sum(n * distribution.log_moment(at).item() for distribution, n in self._reports)
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
