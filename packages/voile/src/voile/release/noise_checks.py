"""What a claim on noise contradicts of the scales, epsilons and budgets that a release states.

Noise itself cannot be seen in an output.  These can: noise of a scale costs what the claim says
(range over scale, times the rows of a person; trips over scale, and passages; epsilon by zone as
the levels over the radii say), and the budgets of columns add up to the epsilon that is claimed.
What cells show of their noise, their kinds check (``voile.disclosure.stated_noise``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isclose
from typing import Protocol

from voile.disclosure.aggregate import Aggregate
from voile.disclosure.moved import Moved, Remaining
from voile.disclosure.stated_noise import Cluster, StatedNoise
from voile.release.published import PublicRelease

__all__ = ["budget_breaches", "count_price_breaches", "scale_breaches", "zone_breaches"]

_ROUNDING = 1e-5
"""Relative: releases state some numbers with six digits."""
_PASSAGES = "passages"
"""The kind of cells of flows of which a trip counts for several."""


class PricedTerms(Protocol):
    """What is claimed to be spent."""

    @property
    def epsilon(self) -> Decimal:
        """In all."""

    @property
    def rows_per_person(self) -> int | None:
        """That take part at most; None: each person is one row."""

    @property
    def budget(self) -> Mapping[str, Mapping[str, Decimal]] | None:
        """By column and mechanism."""


class FlowTerms(PricedTerms, Protocol):
    """The same of counts of trips."""

    @property
    def trips(self) -> int:
        """Of a vehicle, that count."""

    @property
    def passages(self) -> int | None:
        """Of roads in an hour, of a trip, that count."""


def budget_breaches(claim: PricedTerms) -> Iterator[str]:
    """Budgets that add up to another epsilon than is claimed."""
    if claim.budget is not None:
        spent = sum((e for each in claim.budget.values() for e in each.values()), Decimal(0))
        if not isclose(spent, claim.epsilon, rel_tol=_ROUNDING):
            yield f"the budgets that it states add up to {spent}, and it claims {claim.epsilon}"


def scale_breaches(published: PublicRelease, claim: PricedTerms) -> Iterator[str]:
    """Noise that is less than the epsilon of its column buys."""
    rows = claim.rows_per_person or 1
    for name, shown in published.disclosure.columns.items():
        if (noise := shown.noise) is None:
            continue
        spent = (claim.budget or {}).get(name, {})
        epsilon = float(spent.get("discrete-laplace", claim.epsilon))
        for cluster in noise.clusters:
            width = _width(cluster, noise)
            if width and cluster.scale * epsilon < rows * width * (1 - _ROUNDING):
                yield (
                    f"column {name!r} has noise of scale {cluster.scale:.6g}, which is too little "
                    f"for the epsilon of {epsilon:g} that is claimed of it"
                )


def _width(cluster: Cluster, noise: StatedNoise) -> float:
    """The range of the values of a cluster; 0 where the release does not say it."""
    if cluster.low is not None and cluster.high is not None:
        return cluster.high - cluster.low
    whole = noise.clamp if len(noise.clusters) == 1 else None
    return whole[1] - whole[0] if whole else 0.0


def count_price_breaches(published: PublicRelease, claim: FlowTerms) -> Iterator[str]:
    """Noise of counts that is not what a vehicle can change, over its epsilon."""
    budget: Mapping[str, Mapping[str, Decimal]] = claim.budget or {}
    for shown in published.disclosure.columns.values():
        if not isinstance(shown, Aggregate):
            continue
        for kind, scale in shown.scales.items():
            changes = claim.trips * ((claim.passages or 0) if kind == _PASSAGES else 1)
            spent = budget.get(kind, {}).get("discrete-laplace", claim.epsilon)
            if not isclose(scale * float(spent), changes, rel_tol=_ROUNDING):
                yield (
                    f"its counts of {kind} have noise of scale {scale:.6g}, which is not that of "
                    f"{changes} of a vehicle at the epsilon of {spent} that is claimed"
                )


def zone_breaches(published: PublicRelease, epsilon: float) -> Iterator[str]:
    """Epsilons of positions that are not those of the zones that the release states."""
    for name, shown in published.disclosure.columns.items():
        if not isinstance(shown, Moved | Remaining):
            continue
        largest = max(shown.zones.levels) / min(shown.zones.radii)
        if epsilon < largest * (1 - _ROUNDING):
            yield (
                f"column {name!r} has noise of {largest:.6g} per metre, and an epsilon of "
                f"{epsilon:g} is claimed"
            )
