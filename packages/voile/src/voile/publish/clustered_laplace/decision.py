"""The decision: from counts of values and a budget to clusters, draws and noise.

Pure functions on small arrays; see the package's docstring for the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.noise import Cluster
from voile.disclosure.noisy import Noisy
from voile.dp.categorical import Categorical
from voile.dp.discrete_laplace import DiscreteLaplace
from voile.dp.events import PrivacyEvent
from voile.dp.grid import Grid
from voile.publish.clustered_laplace.budget_split import BudgetSplit
from voile.publish.clustered_laplace.clusters import Clusters
from voile.publish.contribution import EACH_PERSON_A_ROW, Contribution
from voile.schema.numbers import ExactNumbers
from voile.table.decisions import Perturbation

__all__ = ["NoisyColumn", "perturbation"]


@dataclass(frozen=True, eq=False)
class NoisyColumn:
    """What is decided for one column: clusters, the split of the budget, the grid."""

    column: str
    clusters: Clusters
    split: BudgetSplit
    grid: Grid
    confidence: Decimal
    borders: Decimal = Decimal(0)
    """Budget of the borders; 0 where there are none, or where they come from the data."""
    public: bool = False
    """Whether the clusters may be told: they come from public bounds and private quantiles."""
    contribution: Contribution = EACH_PERSON_A_ROW
    """How many rows neighbours differ in; budgets here are those of a row."""

    @property
    def noise(self) -> DiscreteLaplace:
        """Noise of scale width / budget for each cluster, in steps."""
        budget = Fraction(self.split.noise)
        return DiscreteLaplace(tuple(int(width) / budget for width in self.clusters.width.tolist()))

    @property
    def half_width(self) -> tuple[int, ...]:
        """The smallest radius that holds the noise with the asked confidence, in steps."""
        return self.noise.radius(self.confidence)

    @property
    def widest(self) -> Decimal:
        """Half of the widest interval, in units of the column."""
        steps = self.grid.number(max(self.half_width))
        return (
            steps.to_integral_value() if steps == steps.to_integral_value() else steps.normalize()
        )

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What is spent where bounds are public: on borders, clusters of rows, and noise."""
        spent = {
            "exponential": self.borders,
            "randomized-response": self.split.membership,
            "discrete-laplace": self.split.noise,
        }
        return self.contribution.replaced(spent)

    def document(self) -> dict[str, Any]:
        """What a release tells of the noise.

        For each cluster the scale and the half-width, which its intervals show anyway; with public
        bounds also its borders, and the probability of a row's own cluster and of any other.
        """
        clusters = [
            {
                "scale": float(scale * self.grid.step),
                "half_width": float(self.grid.number(radius)),
                **(self._borders_of(cluster) if self.public else {}),
            }
            for cluster, (scale, radius) in enumerate(
                zip(self.noise.scales, self.half_width, strict=True)
            )
        ]
        return {"step": float(self.grid.step), "clusters": clusters}

    def shown(self, shares: Sequence[Decimal], bounds: tuple[Decimal, Decimal] | None) -> Noisy:
        """What a release states of the column: ``document``, public shares and public bounds.

        Where fewer clusters are used than were asked for, rows are equally likely in each.
        """
        found = self.document()
        count = len(found["clusters"])
        shared = shares if len(shares) == count else [Decimal(1) / count] * count
        clusters = tuple(
            Cluster(share=float(share), **stated)
            for share, stated in zip(shared, found["clusters"], strict=True)
        )
        clamp = bounds and (float(bounds[0]), float(bounds[1]))
        return Noisy(step=found["step"], clusters=clusters, clamp=clamp)

    def _borders_of(self, cluster: int) -> dict[str, float]:
        own, other = self.split.weights(len(self.clusters))
        if not self.split.membership:
            own, other = 1, 0
        everything = own + (len(self.clusters) - 1) * other
        return {
            "low": float(self.grid.number(int(self.clusters.low[cluster]))),
            "high": float(self.grid.number(int(self.clusters.high[cluster]))),
            "own": own / everything,
            "other": other / everything,
        }


def perturbation(
    decided: NoisyColumn, values: ExactNumbers, bounds: tuple[Decimal, Decimal] | None
) -> Perturbation:
    """What the engine is to do with the rows of a column that holds these d distinct values.

    What is published is clamped to public bounds, where there are any.
    """
    steps = decided.grid.units(values)
    clusters = decided.clusters
    return Perturbation(
        column=decided.column,
        values=values,
        membership=_membership(clusters.of(steps), len(clusters), decided.split),
        start=clusters.clamped(steps),
        noise=decided.noise,
        exponent=decided.grid.exponent,
        half_width=np.array(decided.half_width, dtype=np.int64),
        clamp=bounds and (decided.grid.unit(bounds[0]), decided.grid.unit(bounds[1])),
    )


def _membership(own: NDArray[np.int64], clusters: int, split: BudgetSplit) -> Categorical:
    """The distribution by which each of d values draws a cluster; ``own`` is where it lies."""
    if not split.membership:
        return Categorical.certain(own, clusters)
    favoured, other = split.weights(clusters)
    weights = np.full((clusters, clusters), other, dtype=object)
    np.fill_diagonal(weights, favoured)
    distributions = Categorical.of_weights(weights)
    # One distribution for each cluster serves all its values.
    return replace(distributions, only=distributions.only[own])
