"""Packing so that each bin is overloaded with a bounded probability.

What it gives: a packing of numbers known through their distributions (``distributions``), in which
the probability that a bin exceeds a capacity is at most q for every bin, and a lower bound on the
bins of all such packings.

Source: the effective bandwidths of Hui (1988) and Kelly (1991), which turn a chance constraint on
a sum of independent numbers into a linear one: by Chernoff, for every tilt s > 0,

    sum_i log E exp(s x_i) / s <= C - log(1/q) / s      implies      P(sum x_i > C) <= q,

so every packing of the weights w_i = log E exp(s x_i) / s into bins of the capacity on the right
keeps the promise.  In the other direction, P(sum x_i <= C) <= exp(s C) prod E exp(-s x_i) must
be at least 1 - q in every bin of every packing that keeps it, so

    sum_i -log E exp(-s x_i) / s <= C + log(1/(1 - q)) / s

is necessary, and bounds for packing these weights are bounds for all.

The guarantee: given the distributions, and for several measures by the union of events with q
divided equally among them, each bin's probability of overload is at most q.  It is a promise for
each bin of a packing that was chosen with regard to what was published only.

The algorithm: the tilt with the least total load; then the share of the reserve log(1/q)/s that
is needed is found by halving, because Chernoff makes it larger than need be: every bin is checked
by ``overload``.  The least share that all bins hold with is packed again with the time that is
left; from a bin that then fails, the smallest items are taken out until it holds, and go into bins
with the whole reserve.  An item whose weight is beyond the capacity on the right gets a bin of its
own.

Departure: the seed knows only the choice of a value from each interval; that is ``parcels``.

Cost: 61 transforms of n numbers in each direction; for each of seven shares a packing by first
heuristics and about a millisecond for each bin.

How likely a bin is overloaded whose parcels are known through intervals or noise only.

What it gives: for independent numbers with known distributions (``distributions``), an upper bound
on the probability that their sum exceeds a capacity.

Sources: Chernoff (1952); the inversion of a characteristic function by the midpoint rule with a
bounded error is Davies (1973, 1980), "The distribution of a linear combination of chi-squared
random variables" (Applied Statistics AS 155).

The guarantee: the number returned is at least the probability, given the distributions; it is above
it by at most a few times ``tolerance`` unless the sum has very few uncertain terms, and then by
what is known of the error.

The algorithm.  Let S be the sum less its mean, x the space left.

1. Chernoff: P(S > x) <= exp(K(s) - s x) for every tilt s > 0, with K the sum of the logarithms of
   the moment generating functions.  A few dozen tilts; no search is needed for it to hold.
2. The same bound gives lo and hi with P(S < lo) and P(S > hi) at most ``tolerance``.  With
   D = 2 pi / max(x - lo, hi - x) and t_k = (k + 1/2) D,

       P(S > x) = 1/2 + sum_k Im(phi(t_k) exp(-i t_k x)) / (pi (k + 1/2)) + error,

   |error| <= max(P(S < x - 2 pi/D), P(S > x + 2 pi/D)) <= tolerance.
3. The sum is cut at K.  A density with one peak of height f, or a mixture of such with mean
   height f, has |phi(t)| <= 2 f / t (its total variation over t), so with T = (K - 1/2) D and m
   the number of terms with 2 f <= T, what is cut off is at most prod min(1, 2 f / T) / (pi m).

The smaller of both bounds is taken.  Cost: 40 n for Chernoff and K n for the inversion, K from
20 (many parcels) to 4,096 (two parcels): about a millisecond for a bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_pack.distributions import Distributions, Floats
from voile_pack.instance import (
    OPERATIONS,
    Deadline,
    Packing,
    PackingReport,
    PackingResult,
    Progress,
    Stop,
    ignore,
)
from voile_pack.vector import VectorInstance, coarse_bound

__all__ = [
    "RobustOutcome",
    "require_probability",
]


_TOLERANCE = 1e-6
_OVERLOAD_TILTS = np.geomspace(1e-2, 1e2, 40)
_MOST_ARGUMENTS = 4096
_BLOCK = 64


def _overload_bounds(
    distributions: Distributions, bin_of: NDArray[np.int64], capacity: float
) -> NDArray[np.float64]:
    """For each bin of a packing, ``_overload_bound`` of what it holds; (bins,).

    ``bin_of`` (n,) numbers the bins from 0.
    """
    groups = Packing(bin_of).items()
    return np.array([_overload_bound(distributions[group], capacity) for group in groups])


def _overload_bound(
    distributions: Distributions, capacity: float, tolerance: float = _TOLERANCE
) -> float:
    """An upper bound on the probability that the numbers sum up to more than ``capacity``."""
    distributions, space = _uncertain(distributions, capacity)
    least, most = distributions.limits
    if space >= float(most.sum()):
        return 0.0
    if space < float(least.sum()):
        return 1.0
    if len(distributions) == 1:
        return float(distributions.above(space)[0])
    origin = distributions.mean
    space -= float(origin.sum())
    tails = _Tails(distributions, origin)
    chernoff = tails.above(space)
    low, high = tails.reach(tolerance)
    if space >= high or space <= low:
        return min(chernoff, 1.0)
    distance = 2 * np.pi / max(space - low, high - space)
    inverted = _inverted(distributions, origin, space, distance, tolerance)
    return float(np.clip(min(chernoff, inverted + tolerance), 0.0, 1.0))


def _uncertain(distributions: Distributions, capacity: float) -> tuple[Distributions, float]:
    """The numbers that are not known exactly, and the space that the others leave them."""
    least, most = distributions.limits
    known = most <= least
    distributions = distributions[np.flatnonzero(~known)]
    # a sum of noise on a grid is that close to a sum of continuous noise
    return distributions, capacity - float(least[known].sum()) - distributions.step * len(
        distributions
    )


class _Tails:
    """Chernoff's bounds on both tails of the sum of some numbers less their means."""

    def __init__(self, distributions: Distributions, origin: Floats) -> None:
        least, most = distributions.limits
        peak = distributions.peak
        spread = np.where(np.isfinite(peak), np.minimum(most - least, 1 / peak), most - least)
        self._tilts = _OVERLOAD_TILTS / np.sqrt((spread**2).sum())
        self._up = distributions.log_moments(self._tilts, origin).sum(axis=1)
        self._down = distributions.log_moments(-self._tilts, origin).sum(axis=1)

    def above(self, space: float) -> float:
        """A bound on P(S > space)."""
        return float(np.exp(min((self._up - self._tilts * space).min(), 0.0)))

    def reach(self, tolerance: float) -> tuple[float, float]:
        """Numbers such that S is below or above them with probability ``tolerance`` at most."""
        low = ((np.log(tolerance) - self._down) / self._tilts).max()
        high = ((self._up - np.log(tolerance)) / self._tilts).min()
        return float(low), float(high)


def _inverted(
    distributions: Distributions, origin: Floats, space: float, distance: float, tolerance: float
) -> float:
    """P(S > space) by the midpoint rule at this distance, plus a bound on what is cut off."""
    count, cut = _arguments_needed(distributions.peak, distance, tolerance)
    total = 0.0
    for first in range(0, count, _BLOCK):
        steps = np.arange(first, min(first + _BLOCK, count)) + 0.5
        arguments = (steps * distance).astype(np.float64)
        transform = distributions.transforms(arguments, origin).prod(axis=1)
        total += float(((transform * np.exp(-1j * arguments * space)).imag / steps).sum())
    return 0.5 + total / np.pi + cut


def _arguments_needed(
    peaks: NDArray[np.float64], distance: float, tolerance: float
) -> tuple[int, float]:
    """How many arguments cut off at most ``tolerance``, and a bound on what they do cut off."""
    count = _BLOCK // 2
    while True:
        end = (count - 0.5) * distance
        small = 2 * peaks <= end
        if small.any():
            cut = float(np.exp(np.log(2 * peaks[small] / end).sum()) / (np.pi * small.sum()))
            if cut <= tolerance or count >= _MOST_ARGUMENTS:
                return count, cut
        elif count >= _MOST_ARGUMENTS:
            return count, 1.0
        count *= 2


_TILTS = np.geomspace(1e-3, 1e3, 61)
_HALVINGS = 6
_UNITS = 1_000_000
"""A capacity in whole units; weights are rounded upwards to them."""
_WORK_OF_A_BIN = 1_000_000
"""Elementary operations to check its overload, about."""


@dataclass(frozen=True, eq=False)
class RobustOutcome(PackingResult):
    """A packing with, for each bin, an upper bound on the probability of its overload."""

    overload: Floats = field(default_factory=lambda: np.empty(0))
    """Shape (bins,), summed over the measures."""

    @staticmethod
    def solve(
        distributions: Sequence[Distributions],
        capacities: Sequence[float],
        probability: float,
        stop: Stop | None = None,
        progress: Progress = ignore,
    ) -> RobustOutcome:
        """Pack n items so that each bin is overloaded with at most this probability.

        ``distributions`` has one entry of n numbers for each measure, such as weight and volume,
        and ``capacities`` one number.  Raises ``InputError`` unless 0 < probability < 1, and where
        an item would overload a bin of its own with a larger probability.
        """
        require_probability(probability)
        deadline = (stop or Stop()).start()
        problem = _Problem(tuple(distributions), tuple(map(float, capacities)), probability)
        problem.require_possible()
        lower_bound = problem.lower_bound()
        best = problem.planned(1.0)
        too_little, enough = 0.0, 1.0
        for _ in range(_HALVINGS):
            if deadline.passed() or _bins(best) <= lower_bound:
                break
            share = (too_little + enough) / 2
            tried = problem.planned(share)
            deadline.spend(_bins(tried) * _WORK_OF_A_BIN)
            if problem.keeps(tried):
                enough = share
                best = tried if _bins(tried) < _bins(best) else best
            else:
                too_little = share
            progress(PackingReport("reserves", _bins(best), lower_bound, deadline.elapsed()))
        if _bins(best) > lower_bound and not deadline.passed():
            planned = problem.planned(enough, deadline, progress)
            tried = problem.mended(planned)
            deadline.spend(_bins(tried) * _WORK_OF_A_BIN)
            best = tried if _bins(tried) < _bins(best) else best
        return RobustOutcome(
            packing=Packing(best),
            lower_bound=lower_bound,
            found_by="effective weights",
            bound_by="necessary weights",
            seconds=deadline.elapsed(),
            work=deadline.work,
            overload=problem.overload(best),
        )


def require_probability(probability: float) -> None:
    """Raise ``InputError`` unless a probability of overload is between 0 and 1, both excluded."""
    if not 0 < probability < 1:
        raise InputError("the probability of overload must be between 0 and 1, both excluded")


def _bins(bin_of: NDArray[np.int64]) -> int:
    return int(bin_of.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class _Problem:
    """Distributions and capacities of d measures, and the probability allowed in all together."""

    distributions: tuple[Distributions, ...]
    capacities: tuple[float, ...]
    probability: float

    @property
    def each(self) -> float:
        """The probability allowed in one measure."""
        return self.probability / len(self.distributions)

    def require_possible(self) -> None:
        """Raise ``InputError`` where an item may not even have a bin of its own."""
        alone = sum(
            distribution.above(c)
            for distribution, c in zip(self.distributions, self.capacities, strict=True)
        )
        indices = np.flatnonzero(np.asarray(alone) > self.probability)
        if len(indices):
            raise InputError(
                f"{len(indices):,} parcels would overload a bin of their own with a probability "
                f"above {self.probability:g} (the first is item {indices[0] + 1:,}); give a larger "
                "capacity or allow a larger probability"
            )

    def overload(self, bin_of: NDArray[np.int64]) -> Floats:
        """A bound on the probability that each bin is overloaded in any measure, (bins,)."""
        pairs = zip(self.distributions, self.capacities, strict=True)
        return np.minimum(
            sum(_overload_bounds(distribution, bin_of, c) for distribution, c in pairs), 1.0
        )

    def holds(self, items: NDArray[np.int64]) -> bool:
        """Whether a bin with these items keeps the promise."""
        pairs = zip(self.distributions, self.capacities, strict=True)
        return (
            sum(_overload_bound(distribution[items], c) for distribution, c in pairs)
            <= self.probability
        )

    def lower_bound(self) -> int:
        """Bins that every packing needs that keeps the promise."""
        bounds = [0]
        for distribution, capacity in zip(self.distributions, self.capacities, strict=True):
            tilts = _TILTS / capacity
            allowed = capacity - np.log1p(-self.probability) / tilts
            weights = (
                distribution.mean
                - distribution.log_moments(-tilts, distribution.mean) / tilts[:, None]
            )
            best = int(np.argmax(weights.sum(axis=1) / allowed))
            unit = allowed[best] / _UNITS
            whole = np.floor(weights[best] / unit).astype(np.int64)
            bounds.append(coarse_bound(np.clip(whole, 0, _UNITS), _UNITS))
        return max(bounds)

    def planned(
        self, share: float, deadline: Deadline | None = None, progress: Progress = ignore
    ) -> NDArray[np.int64]:
        """A packing planned with a share of the reserve; with all of it, it keeps the promise.

        By first heuristics, or by all that can be done until the ``deadline``.
        """
        sizes = np.column_stack([self._effective(k, share) for k in range(len(self.distributions))])
        alone = (sizes > _UNITS).any(axis=1)
        shared = np.flatnonzero(~alone)
        instance = VectorInstance(sizes[shared], np.full(len(self.distributions), _UNITS))
        if deadline is not None:
            outcome = instance.solve(deadline.rest(), progress)
            deadline.spend(outcome.work * OPERATIONS)
        else:
            outcome = instance.pack_quickly()
        bin_of = np.empty(len(sizes), np.int64)
        bin_of[shared] = outcome.packing.bin_of
        bin_of[alone] = outcome.bins + np.arange(alone.sum())
        return bin_of

    def keeps(self, bin_of: NDArray[np.int64]) -> bool:
        """Whether all bins keep the promise; ends at the first that does not."""
        return all(self.holds(items) for items in Packing(bin_of).items())

    def _effective(self, k: int, share: float) -> NDArray[np.int64]:
        """Planning weights of one measure, (n,), where a bin holds ``_UNITS`` of them."""
        distribution, capacity = self.distributions[k], self.capacities[k]
        tilts = _TILTS / capacity
        allowed = capacity + share * np.log(self.each) / tilts
        usable = allowed > 0
        weights = distribution.mean + self._moments[k][usable] / tilts[usable, None]
        best = int(np.argmin(weights.sum(axis=1) / allowed[usable]))
        unit = allowed[usable][best] / _UNITS
        return np.asarray(np.ceil(np.maximum(weights[best], 0.0) / unit)).astype(np.int64)

    @cached_property
    def _moments(self) -> list[Floats]:
        """Of each measure the logarithms of E exp(tilt (x - mean)), (tilts, n)."""
        pairs = zip(self.distributions, self.capacities, strict=True)
        return [
            distribution.log_moments(_TILTS / capacity, distribution.mean)
            for distribution, capacity in pairs
        ]

    def mended(self, bin_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """The packing with items of failing bins moved to bins with the whole reserve."""
        moved = []
        for items in Packing(bin_of).items():
            if self.holds(items):
                continue
            bulk = sum(
                distribution.mean[items] / c
                for distribution, c in zip(self.distributions, self.capacities, strict=True)
            )
            ascending = items[np.argsort(bulk, kind="stable")]
            moved.append(ascending[: self._too_many(ascending)])
        if not moved:
            return bin_of
        out = np.concatenate(moved)
        rest = _Problem(
            tuple(distribution[out] for distribution in self.distributions),
            self.capacities,
            self.probability,
        )
        mended = bin_of.copy()
        mended[out] = _bins(bin_of) + rest.planned(1.0)
        return np.unique(mended, return_inverse=True)[1].reshape(-1)

    def _too_many(self, items: NDArray[np.int64]) -> int:
        """How many of the first items must leave so that the bin holds; found by halving."""
        few, enough = 0, len(items) - 1
        while enough - few > 1:
            middle = (few + enough) // 2
            if self.holds(items[middle:]):
                enough = middle
            else:
                few = middle
        return enough
