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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError
from voile_pack.distributions import Distributions
from voile_pack.instance import Packing, PackingReport, PackingResult, Progress, ignore
from voile_pack.overload import overload_bound, overload_bounds
from voile_pack.stop import OPERATIONS, Deadline, Stop
from voile_pack.vector import VectorInstance, coarse_bound, pack_quickly, solve_vectors

__all__ = ["RobustOutcome", "require_probability", "solve_robust"]

_TILTS = np.geomspace(1e-3, 1e3, 61)
_HALVINGS = 6
_UNITS = 1_000_000
"""A capacity in whole units; weights are rounded upwards to them."""
_WORK_OF_A_BIN = 1_000_000
"""Elementary operations to check its overload, about."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RobustOutcome(PackingResult):
    """A packing with, for each bin, an upper bound on the probability of its overload."""

    overload: Floats = field(default_factory=lambda: np.empty(0))
    """Shape (bins,), summed over the measures."""


def solve_robust(
    distributions: Sequence[Distributions],
    capacities: Sequence[float],
    probability: float,
    stop: Stop | None = None,
    progress: Progress = ignore,
) -> RobustOutcome:
    """Pack n items so that each bin is overloaded with at most this probability.

    ``distributions`` has one entry of n numbers for each measure, such as weight and volume, and
    ``capacities`` one number.  Raises ``InputError`` unless 0 < probability < 1, and where an item
    would overload a bin of its own with a larger probability.
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
            sum(overload_bounds(distribution, bin_of, c) for distribution, c in pairs), 1.0
        )

    def holds(self, items: NDArray[np.int64]) -> bool:
        """Whether a bin with these items keeps the promise."""
        pairs = zip(self.distributions, self.capacities, strict=True)
        return (
            sum(overload_bound(distribution[items], c) for distribution, c in pairs)
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
            outcome = solve_vectors(instance, deadline.rest(), progress)
            deadline.spend(outcome.work * OPERATIONS)
        else:
            outcome = pack_quickly(instance)
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
