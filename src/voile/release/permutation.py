"""What a release that was permuted within clusters lets one measure of its own claim.

- its clusters are numbered from 1, none is left out, and there are as many as it says, of the sizes
  that it says;
- every combination of sensitive values stands in one cluster;
- the permuted columns are published quasi-identifiers;
- the number of their distinct arrangements, counted again, is the one that it says.

That the permutation was drawn uniformly cannot be seen in an output.

Cost: a count of the sensitive columns by cluster, and of each permuted one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Protocol

import numpy as np

from voile.models.dependence import PairCounts
from voile.models.permutation import log_arrangements
from voile.release.published import Published

__all__ = ["permutation_breaches"]

_ROUNDING = 1e-9
"""Relative; sums of as many logarithms in another order differ by less."""


class PermutationTerms(Protocol):
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


def permutation_breaches(release: Published, claim: PermutationTerms) -> Iterator[str]:
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


def _log_arrangements(release: Published, group: str, name: str) -> float:
    cells = release.table.cells([group], name)
    return log_arrangements(PairCounts(np.asarray(cells.group), cells.value, cells.rows))
