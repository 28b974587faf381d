"""What releases let one measure of claims that are not about groups of persons.

Permuted within clusters:

- its clusters are numbered from 1, none is left out, and there are as many as it says, of the sizes
  that it says;
- every combination of sensitive values stands in one cluster;
- the permuted columns are published quasi-identifiers;
- the number of their distinct arrangements, counted again, is the one that it says.

Flows: the cells that it publishes, and how wide their intervals are.

Moved trajectories (positions themselves are checked by ``voile.disclosure.moved``):

- it promises nothing for trajectories where angles were selected, or zones are those of true
  positions;
- it shows no positions beside remaining distances;
- its trips have as many reports as the costliest one that it states, or there is none such.

That a permutation was drawn uniformly, or noise from a distribution, cannot be seen in an output.

Cost: a count of the sensitive columns by cluster and of each permuted one, of the rows of flows, or
of the trips.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Protocol

import numpy as np

from voile.disclosure.aggregate import Aggregate, Label
from voile.disclosure.moved import Moved, Remaining, TurningLaplace
from voile.models.dependence import PairCounts
from voile.models.permutation import log_arrangements
from voile.release.published import PublicRelease

__all__ = ["flow_breaches", "moved_breaches", "permutation_breaches"]

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


def permutation_breaches(release: PublicRelease, claim: PermutationTerms) -> Iterator[str]:
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


def flow_breaches(published: PublicRelease, cells: int) -> Iterator[str]:
    """What the published cells contradict, of which there are to be ``cells``."""
    columns = published.disclosure.columns
    labels = [name for name, shown in columns.items() if isinstance(shown, Label)]
    rows = published.table.count(labels).rows
    if len(rows) != cells or (rows != 1).any():
        yield f"it publishes each of {cells} cells once, and has {rows.sum()} of {len(rows)}"
    for name, shown in columns.items():
        if isinstance(shown, Aggregate):
            yield from _intervals(published, labels[0], name, shown)


def _intervals(published: PublicRelease, kind: str, name: str, shown: Aggregate) -> Iterator[str]:
    """Whether the ends are those of the noise, for each kind of cell."""
    counted = published.table.count([kind, *shown.published(name)])
    values = [np.array(array.to_pylist(), dtype=object) for array in counted.values]
    kinds, count, low, high = (
        column[counted.codes[:, place]] for place, column in enumerate(values)
    )
    width = np.array([shown.half_widths.get(str(it), -1) for it in kinds])
    count = count.astype(np.int64)
    wrong = (low != np.maximum(count - width, 0)) | (high != np.maximum(count + width, 0))
    if (wrong | (width < 0)).any():
        yield f"column {name!r} has intervals other than those of its noise"


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
