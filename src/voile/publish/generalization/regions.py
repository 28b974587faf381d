"""What groups of rows show that were formed by cutting: intervals, or lowest common ancestors.

What it does: for p groups of values of one column, finds the smallest published value that covers
each group.

- Numbers, and dates and times without a declared hierarchy, are ordered: a group shows the closed
  interval from its lowest to its highest value, dates as ISO 8601 writes intervals
  (``2020-02-01/2020-02-28``).  The hierarchy that a numeric column may have is not used.
- Other columns are trees: a group shows its lowest common ancestor in the column's hierarchy, ``*``
  where there is none.

A group that mixes missing and other values of an ordered column shows a missing value, which says
nothing about either.

Shares.  An interval covers the share of one value, and of the rest its length over that of the
public bounds; without bounds, over that of the column's values.  It measures loss and is never
published.

Cost: O(n) for each level of the hierarchy, for n values in groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.schema.hierarchy.levels import EVERYTHING
from voile.table.decisions import RecodedColumn

__all__ = ["ColumnRegions", "domain_scale", "is_ordered", "positions", "regions"]

_CALENDAR = ("date", "datetime", "time")


@dataclass(frozen=True, eq=False)
class ColumnRegions:
    """What a column shows in each of p groups, and what share of its domain that covers."""

    column: RecodedColumn
    share: NDArray[np.float64]
    """Shape (p,)."""

    def at(self, groups: NDArray[np.int64]) -> ColumnRegions:
        """What some of the groups show, in this order."""
        column = replace(self.column, codes=self.column.codes[groups])
        return ColumnRegions(column, self.share[groups])


def is_ordered(hierarchy: BoundHierarchy, values: DistinctValues) -> bool:
    """Whether groups show intervals of this column."""
    if values.numbers is not None:
        return True
    return values.kind in _CALENDAR and hierarchy.height <= 1


def positions(values: DistinctValues) -> NDArray[np.float64]:
    """Where the d values of an ordered column lie between 0 and 1; missing ones lie at 0.

    Numbers by their size, others by their place among the values.
    """
    first = int(values.missing)
    place = np.zeros(len(values))
    if len(values) - first < 2:
        return place
    if values.numbers is None:
        place[first:] = np.linspace(0, 1, len(values) - first)
    else:
        units = values.numbers.units
        length = int(units[-1]) - int(units[0])
        place[first:] = ((units - units[0]) / length).astype(np.float64)
    return place


def domain_scale(hierarchy: BoundHierarchy, values: DistinctValues) -> float:
    """What the values of an ordered column cover of its public bounds; 1 where there are none."""
    top = hierarchy.values[-1]
    if values.numbers is None or not len(values.numbers) or not (top.low and top.high):
        return 1.0
    least, most = values.numbers[[0, -1]].decimals()
    bounds = top.high.decimals()[-1] - top.low.decimals()[0]
    return float((most - least) / bounds) if bounds else 1.0


def regions(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
) -> ColumnRegions:
    """The smallest published value that covers each of p groups of values, none empty.

    ``codes`` (n,) names the values of a column, group by group; ``starts`` (p,) says where each
    group begins.
    """
    if is_ordered(hierarchy, values):
        low = np.minimum.reduceat(codes, starts)
        high = np.maximum.reduceat(codes, starts)
        return _intervals(hierarchy, values, low, high)
    return _ancestors(hierarchy, values, codes, starts)


def _intervals(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> ColumnRegions:
    unknown = (low == 0) & values.missing
    share = _interval_share(hierarchy, values, low, high)
    share[unknown & (high > 0)] = 1.0
    keys, first, place = np.unique(
        np.where(unknown, -1, low.astype(np.int64) * len(values) + high),
        return_index=True,
        return_inverse=True,
    )
    has_missing = bool(len(keys)) and int(keys[0]) < 0
    shown = slice(1, None) if has_missing else slice(None)
    lowest, highest = low[first][shown], high[first][shown]
    widest = np.zeros(len(keys))
    np.maximum.at(widest, place, share)
    if values.numbers is None:
        generalized = GeneralizedValues(
            share=widest,
            texts=(*([None] * has_missing), *_spans(values, lowest, highest)),
            missing=has_missing,
        )
    else:
        offset = int(values.missing)
        generalized = GeneralizedValues(
            share=widest,
            low=values.numbers[lowest - offset],
            high=values.numbers[highest - offset],
            missing=has_missing,
        )
    return ColumnRegions(
        RecodedColumn(hierarchy.column, generalized, place.astype(np.int32)), share
    )


def _interval_share(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> NDArray[np.float64]:
    own = hierarchy.values[0].share[hierarchy.codes[0][low]]
    place = positions(values) * domain_scale(hierarchy, values)
    share: NDArray[np.float64] = np.minimum(own + (1 - own) * (place[high] - place[low]), 1.0)
    return share


def _spans(
    values: DistinctValues, low: NDArray[np.int32], high: NDArray[np.int32]
) -> list[str | None]:
    texts = values.texts
    return [
        texts[a] if a == b else f"{texts[a]}/{texts[b]}"
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]


def _ancestors(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
) -> ColumnRegions:
    """The lowest level at which all values of a group agree, and what they are there."""
    level = np.full(len(starts), hierarchy.height + 1)
    node = np.zeros(len(starts), dtype=np.int64)
    share = np.ones(len(starts))
    for height in range(hierarchy.height, -1, -1):
        generalized = hierarchy.codes[height][codes]
        lowest = np.minimum.reduceat(generalized, starts)
        agree = lowest == np.maximum.reduceat(generalized, starts)
        level[agree], node[agree] = height, lowest[agree]
        share[agree] = hierarchy.values[height].share[lowest[agree]]
    if not level.any() and _leaves_as_it_is(hierarchy.values[0]):
        own = RecodedColumn(hierarchy.column, None, codes[starts].astype(np.int32))
        return ColumnRegions(own, share)
    keys, pair = np.unique(level * (len(values) + 1) + node, return_inverse=True)
    names = [_name(hierarchy, values, *divmod(key, len(values) + 1)) for key in keys.tolist()]
    # Values that stay alone on several levels have one name on all of them.
    texts = sorted(set(names), key=lambda text: (text is not None, text))
    places = {text: place for place, text in enumerate(texts)}
    place = np.array([places[name] for name in names], dtype=np.int32)[pair]
    widest = np.zeros(len(texts))
    np.maximum.at(widest, place, share)
    shown = GeneralizedValues(widest, tuple(texts), missing=bool(texts) and texts[0] is None)
    return ColumnRegions(RecodedColumn(hierarchy.column, shown, place), share)


def _leaves_as_it_is(level: GeneralizedValues) -> bool:
    return level.texts is None and level.low is None


def _name(hierarchy: BoundHierarchy, values: DistinctValues, level: int, node: int) -> str | None:
    """How a generalized value reads; a value of level 0 reads as in the file."""
    if level > hierarchy.height:
        return EVERYTHING
    texts = hierarchy.values[level].texts
    if texts is not None:
        return texts[node]
    return values.texts[int(np.flatnonzero(hierarchy.codes[level] == node)[0])]
