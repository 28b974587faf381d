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

import numpy as np

from voile.models.dependence import PairCounts
from voile.models.permutation import log_arrangements
from voile.release.release import Release
from voile.table.polars_published import GROUP

__all__ = ["permutation_breaches"]

_ROUNDING = 1e-9
"""Relative; sums of as many logarithms in another order differ by less."""


def permutation_breaches(release: Release) -> Iterator[str]:
    """What a permuted release claims and does not have; nothing where it is sound.

    Raises ``KeyError``, ``TypeError`` or ``ValueError`` where it does not say what it claims.
    """
    parameters = release.guarantee.parameters
    permuted = list(parameters["permuted"])
    numbers = release.table.count_matching("TRUE", GROUP)
    sizes = [entry["rows"] for entry in release.method["decision"]["clusters"]]
    if sorted(numbers) != list(range(1, int(parameters["clusters"]) + 1)):
        yield f"its clusters are not numbered from 1 to {parameters['clusters']}"
    elif [numbers[cluster] for cluster in sorted(numbers)] != sizes:
        yield "its clusters are not of the sizes that it states"
    sensitive = list(release.roles.get("sensitive", ()))
    apart = len(release.table.group_sizes([*sensitive, GROUP]))
    if not sensitive or apart != len(release.table.group_sizes(sensitive)):
        yield "some combination of sensitive values stands in several clusters"
    strange = [name for name in permuted if name not in release.roles["quasi_identifiers"]]
    if strange or not permuted:
        yield "what it permutes are not quasi-identifiers that it publishes"
        return
    arrangements = sum(_log_arrangements(release, name) for name in permuted)
    if not isclose(arrangements, parameters["log_arrangements"], rel_tol=_ROUNDING):
        yield "its permuted columns have another number of arrangements than it states"


def _log_arrangements(release: Release, name: str) -> float:
    cells = release.table.cells([GROUP], name)
    return log_arrangements(PairCounts(np.asarray(cells.group), cells.value, cells.rows))
