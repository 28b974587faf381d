"""From the bitset of a box to the group that it publishes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.boxes import Bits
from voile.publish.ranking.groups import RankingGroup, group_of
from voile.publish.ranking.remnant import Remnant

__all__ = ["outcome_of", "rows_of"]


def rows_of(bits: Bits, n: int) -> NDArray[np.bool_]:
    """A bitset as one flag a row."""
    flags = np.unpackbits(bits.astype("<u8").view(np.uint8), count=n, bitorder="little")
    return flags.astype(np.bool_)


def outcome_of(
    remnant: Remnant, rows: Bits | None, *, proved: bool = False, examined: int = 0
) -> RankingGroup:
    """What a search found, as its caller reads it."""
    group = None if rows is None else group_of(remnant, rows_of(rows, len(remnant)))
    return RankingGroup(group, proved, examined)
