"""Evidence in a column with Laplace noise: how well each published value fits a known one.

What it does: for t known values x and n published rows, the logarithm of how much more likely a row
shows what it shows if it is the row of x than if it is anybody's.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), eq. 30: the
probability of row j is proportional to (1 / 2b) exp(-|y - x| / b), with y its published value and b
the scale of the noise in its cluster.  The factor 1 / 2b stays: clusters have different scales.

Claim: this is Bayes' rule.  A row of x and n - 1 rows of others were published; if the others are
independent of x, the posterior of row j is proportional to f(y | x) / m(y), where f is the
distribution of the noise, and m(y) is the mean of f(y | x') over the values x' that a row may have
beforehand.  For values that are equally likely on the whole line m is 1, and that is eq. 30.

What a published row tells besides, and how it is used:

- Clusters are recognised by the width of the interval around y.  Ends may be clamped to public
  bounds, so one side that is not clamped is enough; where both are, every cluster that is wide
  enough is possible, and their distributions are added.
- Clamped values.  A bound shows with the probability of a whole tail, another value only with
  a density, and the two cannot be compared; f / m can.  For values uniform between the bounds
  [L, H], f / m at a bound is the limit of f / m inside, (1 / 2b) exp(-|y - x| / b) over
  1 - exp(-(y - L) / b) / 2 - exp(-(H - y) / b) / 2: dividing mends eq. 30 and leaves no special
  case.  Far from the bounds the divisor is 1.
- Borders of the clusters, where the release states them: x lies in a cluster, draws cluster c with
  a stated probability (1 for its own, if none is stated), and is moved into it before noise is
  added.  A row may then have any value with the density that the clusters show: the share of the
  rows that they hold, over their width.  Without borders nothing is known of which values lie in
  which cluster, as in eq. 30.

Cost: O(t n) for each cluster that a row may have; one exponential a pair.

Departures from the source: its adversary does not know the scales; this one reads them in the
release.  Division by m, which changes nothing where values are not clamped and borders not stated.

The compiled loop behind ``noise``: weights of pairs of a target and a row in one cluster.

Noise as a release states it, and what cells contradict of that.

Noise itself cannot be seen in an output.  These can: a noisy value lies on its grid and between its
public bounds, each interval is as wide around it as one of the scales makes it, and an interval is
as wide as its confidence asks of noise of its scale (eq. 23 of the source of
``publish.clustered_laplace``).

Cost: a count of the column with its interval.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.evidence import Chosen, Floats
from voile_base.compiled import njit
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.values.value import Value

__all__ = [
    "LEAST_SCALE",
    "Cluster",
    "NoiseDistributions",
    "NoisyEvidence",
    "Readings",
    "StatedNoise",
]


@njit(cache=True, nogil=True, error_model="numpy")
def _weigh(
    chance: Floats,
    start: Floats,
    scale: Floats,
    cluster: Any,
    value: Floats,
    level: Floats,
    weights: Floats,
) -> None:
    """For t targets and n rows, ``chance - |value - start| / scale + level`` into ``weights``.

    ``chance`` and ``start`` have shape (t, c), ``scale`` (c,), ``cluster``, ``value`` and ``level``
    (n,); rows of cluster -1 are left as they are.
    """
    for target in range(len(chance)):
        for row in range(len(value)):
            c = cluster[row]
            if c >= 0:
                far = abs(value[row] - start[target, c]) / scale[c]
                weights[target, row] = chance[target, c] - far + level[row]


LEAST_SCALE = 1 / 64
"""In steps of the grid: noise that is as good as none."""


@dataclass(frozen=True, eq=False)
class NoiseDistributions:
    """The c clusters of a column, as a release describes them."""

    step: float
    scale: Floats
    half_width: Floats
    borders: tuple[Floats, Floats] | None = None
    """Least and largest value of each cluster, ascending; None where they are not stated."""
    own: Floats | None = None
    """With borders: the probability with which a row of the cluster stays in it, shape (c,)."""

    def __len__(self) -> int:
        return len(self.scale)


@dataclass(frozen=True, eq=False)
class Readings:
    """What n different published rows show of a column, shape (n,) each."""

    value: Floats
    low: Floats
    high: Floats
    rows: NDArray[np.int64]
    """How many rows show it."""

    def clusters(
        self, distributions: NoiseDistributions, bounds: tuple[float, float] | None = None
    ) -> NDArray[np.bool_]:
        """Shape (n, c): whether a row may have been published in a cluster, by its interval.

        Ends at the bounds may be cut short; without bounds, the outermost ends of the column.
        """
        room = distributions.step / 2
        least, most = bounds or (self.low.min(), self.high.max())
        fits = np.ones((len(self.value), len(distributions)), dtype=np.bool_)
        for reach, at_end in (
            (self.value - self.low, self.low <= least + room),
            (self.high - self.value, self.high >= most - room),
        ):
            short = reach[:, np.newaxis] - distributions.half_width
            fits &= (np.abs(short) <= room) | (at_end[:, np.newaxis] & (short < 0))
        return fits

    def bounds(self, distributions: NoiseDistributions) -> tuple[float, float]:
        """The bounds to which values were clamped, as far as intervals that are cut short show.

        Infinite where every interval is whole on that side: nothing shows that any was cut there.
        """
        room = distributions.step / 2
        fits = self.clusters(distributions)

        def cut(reach: Floats) -> bool:
            whole = fits & (np.abs(reach[:, np.newaxis] - distributions.half_width) <= room)
            return bool((~whole.any(axis=1)).any())

        low = float(self.low.min()) if cut(self.value - self.low) else -np.inf
        high = float(self.high.max()) if cut(self.high - self.value) else np.inf
        return low, high


@dataclass(frozen=True, eq=False)
class _Population:
    """How a row comes to its published value, as far as the adversary can tell.

    A row has a value in one of s segments with a stated density, draws one of c clusters with the
    probabilities of its segment, is moved into the range of that cluster, and gets its noise.
    """

    segments: tuple[Floats, Floats]
    """Ends, ascending, shape (s,) each."""
    density: Floats
    """Shape (s,)."""
    chance: Floats
    """Shape (s, c)."""
    ranges: tuple[Floats, Floats]
    """Into which values are moved, shape (c,) each; infinite where they stay."""

    @classmethod
    def of(
        cls, distributions: NoiseDistributions, bounds: tuple[float, float], published: Floats
    ) -> _Population:
        """With borders, what the clusters show; without, anything between the bounds.

        ``published`` (c,) counts the rows that were published in each cluster.
        """
        count = len(distributions)
        if distributions.borders is None:
            low, high = (np.array([bound]) for bound in bounds)
            everywhere = np.full(count, -np.inf), np.full(count, np.inf)
            return cls((low, high), np.ones(1), np.ones((1, count)), everywhere)
        assert distributions.own is not None
        own = distributions.own if count > 1 else np.ones(1)
        chance = np.repeat((1 - own)[:, np.newaxis] / max(count - 1, 1), count, axis=1)
        np.fill_diagonal(chance, own)
        low, high = distributions.borders
        density = _shares(chance, published) / np.maximum(high - low, distributions.step)
        return cls(distributions.borders, density, chance, distributions.borders)

    def log_draws(self, known: Floats) -> tuple[Floats, Floats]:
        """For t values: log probability of each cluster, and where noise is added; (t, c) each."""
        segment = np.searchsorted(self.segments[0][1:], known, side="right")
        with np.errstate(divide="ignore"):
            return np.log(self.chance[segment]), np.clip(known[:, np.newaxis], *self.ranges)

    def mean_decay(self, value: Floats, cluster: int, scale: float) -> Floats:
        """exp(-|y - start| / scale), added up over the values that a row may have; shape (n,)."""
        total = np.zeros(len(value))
        into = self.ranges[0][cluster], self.ranges[1][cluster]
        for low, high, weight in zip(
            *self.segments, self.density * self.chance[:, cluster], strict=True
        ):
            inside = min(max(low, into[0]), high), max(min(high, into[1]), low)
            if inside[0] < inside[1]:
                start, stop = (_integral(value, end, scale) for end in inside)
                total += weight * (stop - start)
            if np.isfinite(into).all():
                for border, length in ((into[0], inside[0] - low), (into[1], high - inside[1])):
                    total += weight * length * np.exp(-np.abs(value - border) / scale)
        return total


@dataclass(frozen=True, eq=False)
class NoisyEvidence:
    """Known values of t targets, and n published values with noise."""

    known: Floats
    """Shape (t,), on the grid; NaN where the adversary knows nothing that can be in the column."""
    value: Floats
    """Shape (n,)."""
    scale: Floats
    """Shape (c,)."""
    bounds: tuple[float, float]
    """Between which values are published, on the grid; infinite where no bounds show."""
    fits: NDArray[np.bool_]
    """Shape (n, c): the clusters that a row may have been published in."""
    widths: Floats
    """Shape (c,): half-widths of the intervals."""
    _population: _Population

    @classmethod
    def of(
        cls,
        column: str,
        known: Floats,
        readings: Readings,
        distributions: NoiseDistributions,
        declared: tuple[float, float] | None = None,
    ) -> Self:
        """Evidence in a column whose public bounds are declared, or else read from intervals.

        Raises ``TableError`` where the intervals are not those of the stated clusters.
        """
        clamped_to = declared or readings.bounds(distributions)
        low, high = _on_grid(np.array(clamped_to), distributions.step)
        bounds = float(low), float(high)
        fits = readings.clusters(distributions, bounds)
        if not fits.any(axis=1).all():
            msg = f"column {column!r}: its intervals are not those that the release describes"
            raise TableError(msg)
        return cls(
            known=np.clip(_on_grid(known, distributions.step), *bounds),
            value=readings.value,
            scale=distributions.scale,
            bounds=bounds,
            fits=fits,
            widths=distributions.half_width,
            _population=_Population.of(distributions, bounds, _published_in(fits, readings.rows)),
        )

    @property
    def half_width(self) -> Floats:
        """Shape (n,): how far the interval around each value reaches at most."""
        widest: Floats = np.where(self.fits, self.widths, 0.0).max(axis=1)
        return widest

    def log_weights(self, targets: Chosen) -> Floats:
        """Logarithm of f / m of each published row for some of the targets, shape (targets, n)."""
        known = self.known[targets]
        chance, start = self._population.log_draws(known)
        weights = np.empty((len(known), len(self.value)))
        cluster, level = self._alone
        _weigh(chance, start, self.scale, cluster, self.value, level, weights)
        for clusters, rows in self._alike:
            if len(clusters) > 1:
                terms = [
                    chance[:, c, np.newaxis]
                    + np.log(self._height(rows, c))
                    - np.abs(self.value[rows] - start[:, c, np.newaxis]) / self.scale[c]
                    for c in clusters
                ]
                weights[:, rows] = np.logaddexp.reduce(terms) - self._log_marginal[rows]
        weights[np.isnan(known)] = -np.inf
        return weights

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows; what others show of the population stays known."""
        return replace(self, value=self.value[rows], fits=self.fits[rows])

    @cached_property
    def _alike(self) -> list[tuple[list[int], NDArray[np.intp]]]:
        """Clusters in which the same rows may have been published, and those rows."""
        kinds, kind = np.unique(self.fits, axis=0, return_inverse=True)
        rows = [np.flatnonzero(kind.ravel() == number) for number in range(len(kinds))]
        return [(np.flatnonzero(c).tolist(), r) for c, r in zip(kinds, rows, strict=True)]

    @cached_property
    def _alone(self) -> tuple[NDArray[np.intp], Floats]:
        """The cluster of each row that fits no other, else -1, and log (height / m) there; (n,)."""
        cluster, level = np.full(len(self.value), -1), np.zeros(len(self.value))
        for clusters, rows in self._alike:
            if len(clusters) == 1:
                cluster[rows] = clusters[0]
                level[rows] = np.log(self._height(rows, clusters[0])) - self._log_marginal[rows]
        return cluster, level

    @cached_property
    def _log_marginal(self) -> Floats:
        """Logarithm of m of each published row, shape (n,)."""
        marginal = np.zeros(len(self.value))
        for clusters, rows in self._alike:
            for c in clusters:
                decay = self._population.mean_decay(self.value[rows], c, float(self.scale[c]))
                marginal[rows] += self._height(rows, c) * decay
        logarithm: Floats = np.log(np.maximum(marginal, np.finfo(np.float64).tiny))
        return logarithm

    def _height(self, rows: NDArray[np.intp], cluster: int) -> Floats:
        """The density at y = x, or half of all mass at a bound, where a whole tail lies."""
        at_bound = np.isin(self.value[rows], self.bounds)
        return np.where(at_bound, 0.5, 0.5 / self.scale[cluster])


def _on_grid(numbers: Floats, step: float) -> Floats:
    """The nearest multiples of the step, halves upwards, as values are rounded before noise."""
    rounded: Floats = np.floor(numbers / step + 0.5) * step
    return rounded


def _integral(value: Floats, end: float, scale: float) -> Floats:
    """The integral of exp(-|y - x| / scale) over x from minus infinity to an end."""
    tail = scale * np.exp(-np.abs(value - end) / scale)
    return np.where(end < value, tail, 2 * scale - tail)


def _published_in(fits: NDArray[np.bool_], rows: NDArray[np.int64]) -> Floats:
    """How many rows were published in each cluster; those of several count for each in part."""
    counts: Floats = (rows / fits.sum(axis=1)) @ fits
    return counts


def _shares(chance: Floats, published: Floats) -> Floats:
    """The shares of rows whose values lie in each cluster, from where rows were published.

    Rows of cluster i were published in cluster j with probability ``chance[i, j]``; the shares are
    those that would show what is seen, none below that of one row.
    """
    rows = published.sum()
    shares, *_ = np.linalg.lstsq(chance.T, published / rows)
    shares = np.maximum(shares, 1 / rows)
    normalized: Floats = shares / shares.sum()
    return normalized


Chance = Annotated[float, Field(ge=0, le=1)]


class Cluster(Value):
    """The noise of one cluster, and where its values lie; numbers in units of the column."""

    scale: Annotated[float, Field(ge=0)]
    """Of the noise."""
    half_width: float
    """Of the interval around a published value."""
    share: Chance
    """Of the rows that were meant to lie in it, before anything is seen."""
    low: float | None = None
    """Its least value; None where the release does not say."""
    high: float | None = None
    """Its largest value; None where the release does not say."""
    own: Chance = 1.0
    """The probability that a row of the cluster gets its noise there."""
    other: Chance = 0.0
    """The probability that a row of each other cluster gets its noise there."""


class StatedNoise(Protocol):
    """Laplace noise in clusters, on the numbers of a column."""

    @property
    def step(self) -> float:
        """Published values are multiples of it."""

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """Ascending by value."""

    @property
    def clamp(self) -> tuple[float, float] | None:
        """The least and the largest value that may be published; None where there are none."""
