"""What groups show that were formed by cutting: intervals, common ancestors, or sets of values.

What it does: for p groups of values of one column, finds the smallest published value that covers
each group.

- Numbers, and dates and times without a declared hierarchy, are ordered: a group shows the closed
  interval from its lowest to its highest value, dates as ISO 8601 writes intervals
  (``2020-02-01/2020-02-28``).  The hierarchy that a numeric column may have is not used.
- Other columns are trees: a group shows its lowest common ancestor in the column's hierarchy, ``*``
  where there is none.
- Nominal columns may be shown as sets in place of trees of two levels, which know nothing between
  a value and ``*``: a group shows the values of its rows, ``A|B|C`` (``disclosure.interval``), or
  ``*`` where they are more than ``MOST_NAMED``.  So asked, numbers with a declared tree are codes,
  and trees.

A group that mixes missing and other values of an ordered column shows a missing value, which says
nothing about either.

Shares.  An interval covers the share of one value, and of the rest its length over that of the
public bounds; without bounds, over that of the column's values.  A set covers what its values do,
or, where nobody declared the domain, of everything the share of its further values among those of
the column.  Shares measure loss and are never published.

Cost: O(n) for each level of the hierarchy, for n values in groups.

Combinations of quasi-identifiers as the atoms that cuts divide.

What it does: counts rows by distinct combination of quasi-identifiers alone, keeps the sensitive
values of each for the criteria, and measures any division of the atoms into groups.  No cut sees a
sensitive value: two rows that differ in nothing else stay together.

Where persons have several rows, cuts go by the persons of each atom: their sum is at least the
number of persons of a group, so it rules out what k forbids, and criteria count the others.

Cost: O(g) for g combinations once, and O(g) for each division, plus the sort of its cells where
criteria read many sensitive values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.interval import set_text
from voile.models.criteria import Groups, SensitiveCells
from voile.models.information_loss import attribute_losses, product_of_losses
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.problem import Problem
from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    SMALLEST_SHARE,
    BoundHierarchy,
    DistinctValues,
    GeneralizedValues,
)
from voile.table.decisions import RecodedColumn
from voile_base.ondemand import dataclass

__all__ = [
    "MOST_NAMED",
    "Atoms",
    "ColumnRegions",
    "Shape",
    "domain_scale",
    "is_ordered",
    "least_rows",
    "loss_of_regions",
    "positions",
    "shape_of",
]


Shape = Literal["ordered", "tree", "set"]
"""What the groups of a column show."""

MOST_NAMED = 100
"""Values that a set names at most; a longer list helps nobody."""

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

    @staticmethod
    def of(
        hierarchy: BoundHierarchy,
        values: DistinctValues,
        codes: NDArray[np.int32],
        starts: NDArray[np.int64],
        sets: bool = False,
    ) -> ColumnRegions:
        """The smallest published value that covers each of p groups of values, none empty.

        ``codes`` (n,) names the values of a column, group by group; ``starts`` (p,) says where each
        group begins; ``sets``: as in ``shape_of``.
        """
        shape = shape_of(hierarchy, values, sets)
        if shape == "set":
            return _sets(hierarchy, values, codes, starts)
        if shape == "ordered":
            low = np.minimum.reduceat(codes, starts)
            high = np.maximum.reduceat(codes, starts)
            return _intervals(hierarchy, values, low, high)
        return _ancestors(hierarchy, values, codes, starts)


def is_ordered(hierarchy: BoundHierarchy, values: DistinctValues) -> bool:
    """Whether groups show intervals of this column."""
    if values.numbers is not None:
        return True
    return values.kind in _CALENDAR and hierarchy.height <= 1


def shape_of(hierarchy: BoundHierarchy, values: DistinctValues, sets: bool = False) -> Shape:
    """What groups show of this column; ``sets``: of nominal columns sets of values."""
    if not sets:
        return "ordered" if is_ordered(hierarchy, values) else "tree"
    if values.numbers is not None and _is_tree(hierarchy):
        return "tree"
    if is_ordered(hierarchy, values):
        return "ordered"
    return "tree" if _is_tree(hierarchy) else "set"


def _is_tree(hierarchy: BoundHierarchy) -> bool:
    """Whether there are named groups between the values and everything."""
    return any(level.texts is not None and len(level) > 1 for level in hierarchy.values[1:])


def positions(values: DistinctValues) -> NDArray[np.float64]:
    """Where the d values of an ordered column lie between 0 and 1; missing ones lie at 0.

    Numbers by their size, others by their rank among the values.
    """
    first = int(values.missing)
    position = np.zeros(len(values))
    if len(values) - first < 2:
        return position
    if values.numbers is None:
        position[first:] = np.linspace(0, 1, len(values) - first)
    else:
        units = values.numbers.units
        length = int(units[-1]) - int(units[0])
        position[first:] = ((units - units[0]) / length).astype(np.float64)
    return position


def domain_scale(hierarchy: BoundHierarchy, values: DistinctValues) -> float:
    """What the values of an ordered column cover of its public bounds; 1 where there are none."""
    top = hierarchy.values[-1]
    if values.numbers is None or not len(values.numbers) or not (top.low and top.high):
        return 1.0
    least, most = values.numbers[[0, -1]].decimals()
    bounds = top.high.decimals()[-1] - top.low.decimals()[0]
    return float((most - least) / bounds) if bounds else 1.0


def _intervals(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> ColumnRegions:
    unknown = (low == 0) & values.missing
    mixed = unknown & (high > 0)
    share = _interval_share(hierarchy, values, low, high)
    share[mixed] = 1.0
    keys, first, index = np.unique(
        np.where(unknown, -1, low.astype(np.int64) * len(values) + high),
        return_index=True,
        return_inverse=True,
    )
    has_missing = bool(len(keys)) and int(keys[0]) < 0
    shown = slice(1, None) if has_missing else slice(None)
    lowest, highest = low[first][shown], high[first][shown]
    widest = np.zeros(len(keys))
    np.maximum.at(widest, index, share)
    if values.numbers is None:
        generalized = GeneralizedValues(
            share=widest,
            texts=(*([None] * has_missing), *_spans(values, lowest, highest)),
            missing=has_missing,
            alone=has_missing and not mixed.any(),
        )
    else:
        offset = int(values.missing)
        generalized = GeneralizedValues(
            share=widest,
            low=values.numbers[lowest - offset],
            high=values.numbers[highest - offset],
            missing=has_missing,
            alone=has_missing and not mixed.any(),
        )
    return ColumnRegions(
        RecodedColumn(hierarchy.column, generalized, index.astype(np.int32)), share
    )


def _interval_share(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> NDArray[np.float64]:
    own = hierarchy.values[0].share[hierarchy.codes[0][low]]
    position = positions(values) * domain_scale(hierarchy, values)
    share: NDArray[np.float64] = np.minimum(own + (1 - own) * (position[high] - position[low]), 1.0)
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
    return _of_texts(hierarchy.column, names, pair, share)


def _sets(
    hierarchy: BoundHierarchy,
    values: DistinctValues,
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
) -> ColumnRegions:
    """The values of each group, named."""
    d, p = len(values), len(starts)
    group = np.repeat(np.arange(p), np.diff(np.append(starts, len(codes))))
    member_of, member = np.divmod(np.unique(group * d + codes, return_counts=True)[0], d)
    size = np.bincount(member_of, minlength=p)
    if (size == 1).all() and _leaves_as_it_is(hierarchy.values[0]):
        own = hierarchy.values[0].share[hierarchy.codes[0][member]]
        return ColumnRegions(RecodedColumn(hierarchy.column, None, member.astype(np.int32)), own)
    share = _set_share(hierarchy, member_of, member, size)
    indices: dict[bytes, int] = {}
    of_group: list[int] = []
    listed, width = member.astype(np.int32).tobytes(), np.dtype(np.int32).itemsize
    ends = np.cumsum(size) * width
    for begin, end in zip((ends - size * width).tolist(), ends.tolist(), strict=True):
        key = listed[begin:end] if end - begin <= MOST_NAMED * width else b""
        of_group.append(indices.setdefault(key, len(indices)))
    names = [
        set_text(values.texts[code] for code in np.frombuffer(key, np.int32)) if key else EVERYTHING
        for key in indices
    ]
    return _of_texts(hierarchy.column, names, np.array(of_group), share)


def _set_share(
    hierarchy: BoundHierarchy,
    member_of: NDArray[np.int64],
    member: NDArray[np.int64],
    size: NDArray[np.int64],
) -> NDArray[np.float64]:
    """What sets cover; those that are not written out cover everything."""
    own = hierarchy.values[0].share[hierarchy.codes[0]]
    share: NDArray[np.float64] = np.bincount(member_of, own[member], len(size)).astype(np.float64)
    if own.max() <= SMALLEST_SHARE:
        share += (size - 1) / max(len(own) - 1, 1)
    return np.where(size > MOST_NAMED, 1.0, np.minimum(share, 1.0))


def _of_texts(
    column: str,
    names: list[str | None],
    of_group: NDArray[np.int64],
    share: NDArray[np.float64],
) -> ColumnRegions:
    """Groups that show one of some texts each; a text may stand there several times."""
    texts = sorted(set(names), key=lambda text: (text is not None, text))
    indices = {text: index for index, text in enumerate(texts)}
    index = np.array([indices[name] for name in names], dtype=np.int32)[of_group]
    widest = np.zeros(len(texts))
    np.maximum.at(widest, index, share)
    shown = GeneralizedValues(widest, tuple(texts), missing=bool(texts) and texts[0] is None)
    return ColumnRegions(RecodedColumn(column, shown, index), share)


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


_DENSE = 2_000_000
"""Up to that many possible cells, counting all is faster than sorting those there are."""


@dataclass(frozen=True, eq=False)
class _Sensitive:
    """How often each value of a sensitive column stands in each atom, by pairs."""

    atom: NDArray[np.int64]
    value: NDArray[np.int64]
    rows: NDArray[np.int64]
    total: NDArray[np.int64]


class Atoms:
    """The u distinct combinations of m quasi-identifiers, ascending; private."""

    def __init__(self, problem: Problem) -> None:
        counts = problem.counts
        codes = problem.quasi_identifiers
        new = np.ones(len(codes), dtype=np.bool_)
        new[1:] = (codes[1:] != codes[:-1]).any(axis=1)
        self.of_combination: NDArray[np.int64] = np.cumsum(new) - 1
        """Shape (g,): the atom of each combination."""
        self.codes: NDArray[np.int32] = np.ascontiguousarray(codes[new])
        """Shape (u, m)."""
        self.rows: NDArray[np.int64] = _summed(self.of_combination, counts.rows, int(new.sum()))
        """Shape (u,)."""
        self._problem = problem

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _sensitive(self) -> dict[str, _Sensitive]:
        read = dict.fromkeys(c.column for c in self._problem.criteria if c.column)
        return {column: self._cells(self._problem, column) for column in read}

    @cached_property
    def persons(self) -> NDArray[np.int64]:
        """Shape (u,): those whose the rows of each atom are; rows, where each is another person.

        A group has at most the sum of its atoms.
        """
        units = self._problem.counts.units
        return self.rows if units is None else units.count(self.of_combination, len(self))

    def groups(self, label: NDArray[np.int64], p: int) -> Groups:
        """What criteria may see of p groups of atoms, none empty; -1 is in no group."""
        inside = label >= 0
        rows = _summed(label[inside], self.rows[inside], p)
        units = self._problem.units(label[self.of_combination], p)
        if units is not None:
            return units.seen(rows, self._problem.total)
        cells = self._sensitive.items()
        return Groups(rows, {column: _cells_of_groups(of, label, p) for column, of in cells})

    def _cells(self, problem: Problem, column: str) -> _Sensitive:
        index = problem.counts.columns.index(column)
        values = len(problem.counts.values[index])
        code = problem.counts.codes[:, index].astype(np.int64)
        key, member = np.unique(self.of_combination * values + code, return_inverse=True)
        return _Sensitive(
            atom=key // values,
            value=key % values,
            rows=_summed(member, problem.counts.rows, len(key)),
            total=problem.total[column],
        )


def least_rows(problem: Problem) -> int:
    """The least number of rows of a group that k-anonymity allows; 1 where it is not asked."""
    return max((c.k for c in problem.criteria if isinstance(c, KAnonymity)), default=1)


def loss_of_regions(
    problem: Problem, rows: NDArray[np.int64], regions: tuple[ColumnRegions, ...]
) -> float:
    """The product of losses of p groups (sizes ``rows``) that show these regions."""
    counts = problem.counts
    suppressed = problem.rows - int(rows.sum())
    least = []
    for j, hierarchy in enumerate(problem.hierarchies):
        of_value = _summed(counts.codes[:, j], counts.rows, len(hierarchy.codes[0]))
        least.append(float((hierarchy.values[0].share[hierarchy.codes[0]] * of_value).sum()))
    share = np.column_stack([region.share for region in regions])
    return product_of_losses(attribute_losses(rows, share, np.array(least), suppressed))


def _cells_of_groups(cells: _Sensitive, label: NDArray[np.int64], p: int) -> SensitiveCells:
    group = label[cells.atom]
    inside = group >= 0
    values = len(cells.total)
    key = group[inside] * values + cells.value[inside]
    if p * values <= _DENSE:
        counted = _summed(key, cells.rows[inside], p * values)
        found = np.flatnonzero(counted)
        rows = counted[found]
    else:
        found, member = np.unique(key, return_inverse=True)
        rows = _summed(member, cells.rows[inside], len(found))
    return SensitiveCells(found // values, found % values, rows, cells.total)


def _summed(index: NDArray[np.generic], rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    # Sums in floats are exact: no table has 2**53 rows.
    return np.bincount(index, rows, size).astype(np.int64)
