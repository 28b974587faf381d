"""A publisher claims; this checks.

Syntactic models are measured again on the published output, with code that shares nothing with
the publishers.  A claim that fails is a fault of Voile, never of the caller: it raises
``GuaranteeBrokenError``, which is no ``VoileError``, and nothing is published.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.differencing import atom_breaches, pairwise_breaches
from voile.models.ke_anonymity import block_statistics, violations
from voile.release.history import Blocks, History
from voile.release.release import Release
from voile.schema.numbers import ExactNumbers, decimals_of, exact_decimal, units_of
from voile.table.polars_published import GROUP
from voile.table.protocol import BlockAssignment, ValueCounts

__all__ = ["GuaranteeBrokenError", "check_against_history", "check_release"]


class GuaranteeBrokenError(RuntimeError):
    """An output does not have what its publisher claimed."""


def check_release(release: Release) -> None:
    """Measure a release's syntactic guarantee on its rows.

    Raises ``GuaranteeBrokenError``.  Cost: one count of the distinct pairs of group and value.
    """
    if release.guarantee.kind != "ke-anonymity":
        msg = f"there is no check for guarantees of kind {release.guarantee.kind!r}"
        raise GuaranteeBrokenError(msg)
    k = int(release.guarantee.parameters["k"])
    e = exact_decimal(release.guarantee.parameters["e"])
    pairs = release.table.group_values(release.roles["sensitive"][0], GROUP)
    values, range_units = _common_unit(pairs.values, e)
    statistics = block_statistics(pairs.group, values.units, pairs.rows)
    broken = violations(statistics, k, range_units)
    if len(broken):
        msg = f"{len(broken)} groups of the release are not ({k}, {e})-valid"
        raise GuaranteeBrokenError(msg)


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
    values, range_units = _common_unit(assignment.values, e)
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


def _common_unit(values: ExactNumbers, e: Decimal) -> tuple[ExactNumbers, int]:
    scale = max(values.scale, decimals_of(e))
    return values.rescaled(scale), units_of(e, scale)
