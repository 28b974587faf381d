"""How a row's budget is divided between drawing its cluster and drawing its noise.

With public bounds a row's cluster is itself a secret, so it is drawn: its own cluster with
probability e^m / (e^m + c - 1), every other with 1 / (e^m + c - 1), where m is the budget for it
(k-ary randomized response; Kairouz, Oh and Viswanath 2014).  The value is then moved into the
drawn cluster and gets noise of scale width / (budget that is left).

The more goes into the draw of the cluster, the fewer rows end in a wrong one, and the more noise
each gets.  The split taken is that with the least expected error among 40, for values that lie
uniformly in their clusters.  It is computed from the borders, which are differentially private,
and from the shares, which are public: it costs nothing.  Where no clusters at all would do better,
one cluster is taken.

Cost: O(c^2) for c clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.publish.clustered_laplace.clusters import Clusters

__all__ = ["BudgetSplit", "best_split", "expected_error"]

_STEPS = 40


@dataclass(frozen=True)
class BudgetSplit:
    """What of a row's budget goes where; the sum is the whole."""

    membership: Decimal
    noise: Decimal
    clustered: bool
    """Whether to use the clusters; otherwise ``membership`` is 0."""

    def weights(self, clusters: int) -> tuple[int, int]:
        """Whole weights of a row's own cluster and of every other one.

        Their ratio is at most e^membership, so that the draw never costs more than it says.
        """
        other = 1 << 40
        return int(Fraction(self.membership.exp()) * other * (1 - Fraction(1, 1 << 80))), other


def best_split(clusters: Clusters, shares: NDArray[np.float64], epsilon: Decimal) -> BudgetSplit:
    """The split of ``epsilon`` with the least expected error."""
    best = BudgetSplit(Decimal(0), epsilon, clustered=False)
    if len(clusters) == 1:
        return best
    whole = Clusters(clusters.low[:1], clusters.high[-1:])
    least = float(_noise(whole, best)[0])
    for step in range(1, _STEPS):
        membership = (epsilon * step / _STEPS).quantize(Decimal("1e-9"))
        split = BudgetSplit(membership, epsilon - membership, clustered=True)
        error = expected_error(clusters, shares, split)
        if error < least:
            best, least = split, error
    return best


def expected_error(clusters: Clusters, shares: NDArray[np.float64], split: BudgetSplit) -> float:
    """Mean distance by which a value is moved, plus the mean noise.

    Published values are clamped, so that no noise counts for more than half of the whole range.
    """
    count = len(clusters)
    own, other = split.weights(count)
    chance = np.full((count, count), other / (own + (count - 1) * other))
    np.fill_diagonal(chance, own / (own + (count - 1) * other))
    middle = (clusters.low + clusters.high) / 2
    border = np.clip(middle[:, np.newaxis], clusters.low, clusters.high)
    error = np.abs(border - middle[:, np.newaxis]) + _noise(clusters, split)
    return float(shares @ (chance * error).sum(axis=1))


def _noise(clusters: Clusters, split: BudgetSplit) -> NDArray[np.float64]:
    """Mean size of the noise in each cluster."""
    most = (clusters.high[-1] - clusters.low[0]) / 2
    noise: NDArray[np.float64] = np.minimum(clusters.width / float(split.noise), most)
    return noise
