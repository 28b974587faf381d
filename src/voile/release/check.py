"""A publisher claims; this checks.

A claim is measured again on the published output, with code that shares nothing with the
publishers; ``claims`` says what each kind lets one see there.  So is what a kind of disclosure
promises of its cells.  A claim that fails is a fault of Voile, never of the caller: it raises
``GuaranteeBrokenError``, which is no ``VoileError``, and nothing is published.

t-closeness compares with all rows of the private table, so ``check_against_counts`` measures it
before a publication leaves its publisher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import PlanError
from voile.models.criteria import Criterion
from voile.models.differencing import atom_breaches, pairwise_breaches
from voile.release.claims import GroupClaim
from voile.release.group_checks import common_unit, criteria_against_counts
from voile.release.history import Blocks, History
from voile.release.release import Release
from voile.schema.numbers import ExactNumbers
from voile.table.decisions import BlockAssignment
from voile.table.summaries import CombinationCounts, ValueCounts
from voile.table.whose import PublishedUnits

__all__ = [
    "GuaranteeBrokenError",
    "check_against_counts",
    "check_against_history",
    "check_release",
]


class GuaranteeBrokenError(RuntimeError):
    """An output does not have what its publisher claimed."""


def check_release(release: Release) -> None:
    """Measure what a release's claims, and its statements on columns, let one see in its rows.

    Raises ``GuaranteeBrokenError``.  Cost: that of each claim, and a count of the distinct values
    of each column whose kind promises something of them.
    """
    try:
        for breach in _breaches(release):
            raise GuaranteeBrokenError(breach)
    except (PlanError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        msg = f"the guarantee does not state what it promises: {error}"
        raise GuaranteeBrokenError(msg) from error


def _breaches(release: Release) -> Iterator[str]:
    for claim in release.guarantee.claims:
        yield from claim.breaches(release)
    for name, shown in release.disclosure.columns.items():
        if shown.promises:
            for column in shown.published(name):
                values = release.table.cells([column], column).values
                yield from shown.breaches(column, values)


def check_against_counts(
    release: Release,
    criteria: Sequence[Criterion],
    counts: CombinationCounts,
    whose: PublishedUnits | None = None,
) -> None:
    """Measure criteria on the published groups, against private counts of the whole table.

    ``counts`` has all columns that the criteria read, and names their values as the criteria do.
    ``whose`` says which persons or households the published rows are of, where these have several:
    they are counted anew, by the groups that the release shows.
    Raises ``GuaranteeBrokenError``.  Cost: that of ``check_release``.
    """
    for claim in release.guarantee.claims:
        if isinstance(claim, GroupClaim):
            for breach in criteria_against_counts(release, claim.shared, criteria, counts, whose):
                raise GuaranteeBrokenError(breach)


def check_against_history(
    counts: ValueCounts,
    assignment: BlockAssignment,
    history: History,
    k: int,
    e: Decimal,
    adversary: str,
) -> None:
    """Measure what comparing a new release with all earlier ones of its series singles out.

    By set operations on cells (rows of one value first published together), not by the rule that
    the decision followed.  Raises ``GuaranteeBrokenError``.  Cost: O(v m log m) for v versions
    and m cells.
    """
    value, birth = np.nonzero(counts.rows)
    values, range_units = common_unit(assignment.values, e)
    earlier = [
        _block_of_cells(values, version.blocks, value, birth, version.number)
        for version in history.versions
    ]
    blocks = np.stack([*earlier, assignment.block[value, birth]])
    find = atom_breaches if adversary == "union" else pairwise_breaches
    breaches = find(values.units[value], blocks, k, range_units)
    if breaches:
        msg = f"compared with earlier releases, this one gives away {len(breaches)} sets of rows"
        raise GuaranteeBrokenError(msg)


def _block_of_cells(
    values: ExactNumbers,
    blocks: Blocks,
    value: NDArray[np.int64],
    birth: NDArray[np.int64],
    version: int,
) -> NDArray[np.int64]:
    """The block of each cell in an earlier version, -1 where it was absent."""
    units: NDArray[Any] = values.units[value]
    found = np.full(len(value), -1, dtype=np.int64)
    for batch in np.unique(blocks.batch).tolist():
        members = np.flatnonzero(blocks.batch == batch)
        low = blocks.low[members].rescaled(values.scale).units
        high = blocks.high[members].rescaled(values.scale).units
        place = np.maximum(np.searchsorted(low, units, side="right") - 1, 0)
        inside = (low[place] <= units) & (units <= high[place])
        belongs = birth == batch - 1 if batch else birth < version
        found = np.where(inside & belongs, members[place], found)
    return found
