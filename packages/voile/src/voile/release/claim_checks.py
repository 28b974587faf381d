"""What releases let one measure of claims that are not about groups of persons.

Permuted within clusters:

- its clusters are numbered from 1, none is left out, and there are as many as it says, of the sizes
  that it says;
- every combination of sensitive values stands in one cluster;
- the permuted columns are published quasi-identifiers;
- the number of their distinct arrangements, counted again, is the one that it says.

Moved trajectories (positions themselves are checked by ``voile.disclosure.moved``):

- it promises nothing for trajectories where angles were selected, or zones are those of true
  positions;
- it shows no positions beside remaining distances;
- its trips have as many reports as the costliest one that it states, or there is none such.

That a permutation was drawn uniformly, or noise from a distribution, cannot be seen in an output.

Cost: a count of the sensitive columns by cluster and of each permuted one, or of the
trips.

What a claim on noise contradicts of the scales, epsilons and budgets that a release states.

Noise itself cannot be seen in an output.  These can: noise of a scale costs what the claim says
(range over scale, times the rows of a person; epsilon by zone as
the levels over the radii say), and the budgets of columns add up to the epsilon that is claimed.
What cells show of their noise, their kinds check (``voile.disclosure.noise``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isclose
from typing import Protocol

import numpy as np

from voile.disclosure.moved import Moved, Remaining, TurningLaplace
from voile.disclosure.noise import Cluster, StatedNoise
from voile.models.permutation import PairCounts, log_arrangements
from voile.release.group_checks import PublicRelease

__all__ = [
    "budget_breaches",
    "moved_breaches",
    "permutation_breaches",
    "scale_breaches",
    "zone_breaches",
]


_ROUNDING = 1e-9
"""Relative; sums of as many logarithms in another order differ by less."""


class _PermutationTerms(Protocol):
    """What a permutation within clusters says of itself."""

    @property
    def clusters(self) -> int:
        """How many."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Rows of each, in the order of their numbers; None: not stated."""

    @property
    def permuted(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def log_arrangements(self) -> float:
        """Natural logarithm of the number of arrangements."""


def permutation_breaches(release: PublicRelease, claim: _PermutationTerms) -> Iterator[str]:
    """What a permuted release claims and does not have; nothing where it is sound."""
    permuted, groups = claim.permuted, release.disclosure.groups
    if set(permuted) != release.disclosure.permuted or groups is None:
        yield "it does not show the columns that it permutes as permuted"
        return
    numbers = release.table.count_matching(None, groups.column)
    sizes = tuple(numbers[cluster] for cluster in sorted(numbers))
    if sorted(numbers) != list(range(1, claim.clusters + 1)):
        yield f"its clusters are not numbered from 1 to {claim.clusters}"
    elif claim.sizes is not None and sizes != claim.sizes:
        yield "its clusters are not of the sizes that it states"
    sensitive = list(release.roles.get("sensitive", ()))
    apart = len(release.table.group_sizes([*sensitive, groups.column]))
    if not sensitive or apart != len(release.table.group_sizes(sensitive)):
        yield "some combination of sensitive values stands in several clusters"
    if not set(permuted) <= set(release.roles.get("quasi_identifiers", ())):
        yield "what it permutes are not quasi-identifiers that it publishes"
        return
    arrangements = sum(_log_arrangements(release, groups.column, name) for name in permuted)
    if not isclose(arrangements, claim.log_arrangements, rel_tol=_ROUNDING):
        yield "its permuted columns have another number of arrangements than it states"


def _log_arrangements(release: PublicRelease, group: str, name: str) -> float:
    cells = release.table.cells([group], name)
    return log_arrangements(PairCounts(np.asarray(cells.group), cells.value, cells.rows))


def moved_breaches(
    published: PublicRelease,
    *,
    protects_trajectories: bool,
    within_zones: bool,
    reports: int | None,
) -> Iterator[str]:
    """What a moved release claims and does not have; nothing where it is sound.

    ``reports`` are those of the costliest trip, where one is stated.
    """
    shown = published.disclosure.columns.values()
    moved = [one for one in shown if isinstance(one, Moved)]
    turning = any(isinstance(one.law, TurningLaplace) for one in moved)
    if protects_trajectories and (turning or within_zones):
        yield "it promises for trajectories what holds for single reports"
    if moved and any(isinstance(one, Remaining) for one in shown):
        yield "it shows positions beside remaining distances"
    if reports is not None and reports not in published.table.group_sizes(published.roles["trip"]):
        yield "no trip has as many reports as the costliest one that it states"


_NOISE_ROUNDING = 1e-5
"""Relative: releases state some numbers with six digits."""


class _PricedTerms(Protocol):
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


def budget_breaches(claim: _PricedTerms) -> Iterator[str]:
    """Budgets that add up to another epsilon than is claimed."""
    if claim.budget is not None:
        spent = sum((e for each in claim.budget.values() for e in each.values()), Decimal(0))
        if not isclose(spent, claim.epsilon, rel_tol=_NOISE_ROUNDING):
            yield f"the budgets that it states add up to {spent}, and it claims {claim.epsilon}"


def scale_breaches(published: PublicRelease, claim: _PricedTerms) -> Iterator[str]:
    """Noise that is less than the epsilon of its column buys."""
    rows = claim.rows_per_person or 1
    for name, shown in published.disclosure.columns.items():
        if (noise := shown.noise) is None:
            continue
        spent = (claim.budget or {}).get(name, {})
        epsilon = float(spent.get("discrete-laplace", claim.epsilon))
        for cluster in noise.clusters:
            width = _width(cluster, noise)
            if width and cluster.scale * epsilon < rows * width * (1 - _NOISE_ROUNDING):
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


def zone_breaches(published: PublicRelease, epsilon: float) -> Iterator[str]:
    """Epsilons of positions that are not those of the zones that the release states."""
    for name, shown in published.disclosure.columns.items():
        if not isinstance(shown, Moved | Remaining):
            continue
        largest = max(shown.zones.levels) / min(shown.zones.radii)
        if epsilon < largest * (1 - _NOISE_ROUNDING):
            yield (
                f"column {name!r} has noise of {largest:.6g} per metre, and an epsilon of "
                f"{epsilon:g} is claimed"
            )
