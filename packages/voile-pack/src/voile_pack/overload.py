"""How likely a bin is overloaded whose parcels are known through intervals or noise only.

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

import numpy as np
from numpy.typing import NDArray

from voile_pack.distributions import Distributions, Floats
from voile_pack.instance import Packing

__all__ = ["overload_bound", "overload_bounds"]

_TOLERANCE = 1e-6
_TILTS = np.geomspace(1e-2, 1e2, 40)
_MOST_ARGUMENTS = 4096
_BLOCK = 64


def overload_bounds(
    distributions: Distributions, bin_of: NDArray[np.int64], capacity: float
) -> NDArray[np.float64]:
    """For each bin of a packing, ``overload_bound`` of what it holds; (bins,).

    ``bin_of`` (n,) numbers the bins from 0.
    """
    groups = Packing(bin_of).items()
    return np.array([overload_bound(distributions[group], capacity) for group in groups])


def overload_bound(
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
        self._tilts = _TILTS / np.sqrt((spread**2).sum())
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
