"""What the groups of a series show, as texts that the marks of rows keep, and back.

A group shows in every release what it showed in the first: who was at its borders may have left.

Cost: O(p log p) for p groups, by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.regions import ColumnRegions
from voile.release.history import Blocks
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.table.decisions import RecodedColumn
from voile.table.matching import ShownText

__all__ = ["NOTHING", "blocks_of", "regions_of", "texts_of"]

NOTHING: ShownText = (None, None, 0.0)
"""Of rows without a group."""


def texts_of(
    column: RecodedColumn, values: DistinctValues, hierarchy: BoundHierarchy | None = None
) -> list[ShownText]:
    """What groups show of a column, and what share of its domain that is.

    ``hierarchy`` knows the shares of the column's own values, where groups show these.
    """
    told = column.values
    each: list[ShownText]
    if told is None or (told.texts is None and told.low is None):
        assert hierarchy is not None
        share = hierarchy.values[0].share[hierarchy.codes[0]]
        each = [(text, None, float(s)) for text, s in zip(values.texts, share, strict=True)]
    elif told.texts is not None:
        each = [(t, None, float(s)) for t, s in zip(told.texts, told.share, strict=True)]
    else:
        assert told.low is not None
        assert told.high is not None
        ends = zip(told.low.texts(), told.high.texts(), strict=True)
        known = [(None, None), *ends] if told.missing else list(ends)
        each = [(*pair, float(s)) for pair, s in zip(known, told.share, strict=True)]
    return [each[code] for code in column.codes.tolist()]


def regions_of(column: str, shown: Sequence[ShownText], *, ends: bool) -> ColumnRegions:
    """What groups show of a column, from texts; ``ends``: these are the ends of ranges."""
    told: list[tuple[str | None, str | None]] = [(low, high) for low, high, _ in shown]
    distinct = sorted(set(told), key=_by_size if ends else _missing_first)
    places = {each: place for place, each in enumerate(distinct)}
    codes = np.array([places[each] for each in told], dtype=np.int32)
    share = np.array([each for _, _, each in shown])
    widest = np.zeros(len(distinct))
    np.maximum.at(widest, codes, share)
    missing = distinct[0][0] is None
    if ends:
        low, high = (
            ExactNumbers.of([str(end[side]) for end in distinct[int(missing) :]]) for side in (0, 1)
        )
        values = GeneralizedValues(widest, low=low, high=high, missing=missing)
    else:
        texts = tuple(text for text, _ in distinct)
        values = GeneralizedValues(widest, texts=texts, missing=missing)
    return ColumnRegions(RecodedColumn(column, values, codes), share)


def blocks_of(classes: NDArray[np.int64], sizes: NDArray[np.int64]) -> Blocks:
    """Classes as a history keeps them: both borders are the number of the class."""
    number = ExactNumbers(classes.astype(np.int64), 0)
    return Blocks(number, number, sizes, sizes, np.zeros(len(sizes), dtype=np.int64))


def _missing_first(ends: tuple[str | None, str | None]) -> tuple[bool, str]:
    return ends[0] is not None, ends[0] or ""


def _by_size(ends: tuple[str | None, str | None]) -> tuple[bool, Decimal, Decimal]:
    low, high = (Decimal(end or 0) for end in ends)
    return ends[0] is not None, low, high
