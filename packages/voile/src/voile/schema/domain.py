"""The public domain of a column: all values that it may have, as the plan states them.

A domain is a list of **cells**, each of which stands for one or several **leaves**, single values.
What is counted are cells; what is published are leaves, one drawn uniformly within a cell.

    the plan says                                cells
    values, order                                each value
    hierarchy, tree                              the values, or the groups of the lowest level that
                                                 has at most ``MOST_VALUES`` of them
    bounds and edges                             ranges from edge to edge; the last one is closed
    bounds and intervals                         the intervals of the lowest such level
    bounds of whole numbers, few between them    each whole number
    edges that are days                          ranges of days; with ``dates`` and two edges, the
                                                 shortest periods of which there are few enough
    nulls = "category"                           one cell more, the missing value

Levels of a hierarchy above the cells are **coarser** partitions of them, of which tables of counts
have cells, too.

Nothing here sees a row.  Which cell a value belongs to is a function of the value alone: numbers
and days beyond the ends belong to the first and the last cell, texts that are not listed to the
value ``other`` where the plan lists it.  What belongs nowhere has no cell.

Cost: a pass over the leaves of a hierarchy; numbers within bounds are listed only for intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.ranges import PERIODS, Dates, Intervals
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.numbers import ExactNumbers, decimals_of, plain_text, units_of
from voile.schema.plan import ColumnPlan, Nulls, Plan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values import usable_number

__all__ = ["MOST_VALUES", "OTHER", "ColumnDomain", "public_domain"]

MOST_VALUES = 100
"""Cells of a column to which its hierarchy is coarsened."""
OTHER = "other"
"""The listed value that stands for all texts that are not listed."""
_MOST_LEAVES = 1_000_000
_DAY_ZERO = date(1970, 1, 1)

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Coarser:
    """A level above the cells of a column, of several groups."""

    labels: tuple[str | None, ...]
    """What each group is called; None for that of the missing value."""
    groups: Indices
    """Shape (c,): the group of each cell."""


@dataclass(frozen=True, eq=False)
class ColumnDomain:
    """The c cells of a column, in their order, a missing value last."""

    name: str
    kind: Literal["text", "number", "date"]
    labels: tuple[str | None, ...]
    """What each cell is called; None for the missing value."""
    first: Indices
    """Shape (c,): the first leaf of each; -1 for the missing value."""
    width: Indices
    """Shape (c,): how many leaves each has, at least 1."""
    listed: tuple[str, ...] | None
    """The leaves as texts; None: leaf g is ``(origin + g step) / 10**scale``, or a day."""
    origin: int = 0
    step: int = 1
    scale: int = 0
    coarser: tuple[_Coarser, ...] = ()
    """The levels above the cells, each coarser than the one before; all cells in one are none."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def missing(self) -> bool:
        """Whether the last cell is the missing value."""
        return self.labels[-1] is None

    @property
    def present(self) -> int:
        """How many cells stand for values."""
        return len(self) - self.missing

    @property
    def coarse(self) -> bool:
        """Whether some cell stands for several values."""
        return bool((self.width > 1).any())

    @property
    def leaves(self) -> int:
        """How many values there are, missing ones not counted."""
        return int(self.width[: self.present].sum())

    def labels_at(self, level: int) -> tuple[str | None, ...]:
        """What the cells are called, 0, or the groups of a coarser level, from 1."""
        return self.coarser[level - 1].labels if level else self.labels

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The listed leaves of each cell that has several."""
        cells = zip(self.labels, self.first.tolist(), self.width.tolist(), strict=True)
        return {
            label: self.listed[first : first + width]
            for label, first, width in cells
            if self.listed is not None and label is not None and width > 1
        }

    @property
    def other(self) -> int:
        """The cell of texts that are not listed; -1 where they have none."""
        folded = [text.casefold() for text in self.listed or ()]
        if self.kind != "text" or OTHER not in folded:
            return -1
        return int(np.searchsorted(self.first[: self.present], folded.index(OTHER), "right")) - 1

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Shape (leaves,): the leaves of numbers; of days, days since 1970."""
        if self.listed is not None:
            return np.array([float(text) for text in self.listed])
        return self.numbers_of(np.arange(self.leaves)).astype(np.float64)

    def numbers_of(self, leaves: Indices) -> NDArray[np.int64] | NDArray[np.float64]:
        """The numbers of some leaves, whole ones as such."""
        if self.listed is None or self.kind == "date":
            units = self.origin + self.step * leaves
            return units / 10**self.scale if self.scale else units
        numbers = self.numbers[leaves]
        whole = all("." not in text for text in self.listed)
        return numbers.astype(np.int64) if whole else numbers


def public_domain(plan: Plan, names: Sequence[str] | None = None) -> tuple[ColumnDomain, ...]:
    """The domains of some columns, or of all that a plan publishes; raises ``PlanError``."""
    found = []
    for name in plan.roles.published if names is None else names:
        declared = plan.column(name)
        try:
            found.append(_column_domain(name, declared, plan.nulls_of(name)))
        except PlanError as error:
            raise plan.error(f"[columns.{name}] {error}") from None
    return tuple(found)


def _column_domain(name: str, declared: ColumnPlan, nulls: Nulls = "refuse") -> ColumnDomain:
    """The domain of one column; raises ``PlanError`` where the plan states none, or one value."""
    made = _stated(name, declared)
    if nulls == "category":
        made = replace(
            made,
            labels=(*made.labels, None),
            first=np.append(made.first, -1),
            width=np.append(made.width, 1),
            coarser=tuple(map(_with_missing, made.coarser)),
        )
    if len(made) < 2:
        msg = (
            "its domain has one value, which says nothing about anybody; leave the column out, or "
            'state finer ranges; for days, dates = ["month", "year"] falls back on years where '
            "there are too many months"
        )
        raise PlanError(msg)
    return made


def _with_missing(level: _Coarser) -> _Coarser:
    return _Coarser((*level.labels, None), np.append(level.groups, len(level.labels)))


def _coarser(
    cells: int, levels: Iterable[tuple[Sequence[str], NDArray[np.int32] | Indices]]
) -> tuple[_Coarser, ...]:
    """Of levels, each with its labels and the group of each cell, those that are coarser."""
    found: list[_Coarser] = []
    for labels, groups in levels:
        if 1 < len(labels) < (len(found[-1].labels) if found else cells):
            found.append(_Coarser(tuple(labels), np.asarray(groups, dtype=np.int64)))
    return tuple(found)


def _stated(name: str, declared: ColumnPlan) -> ColumnDomain:
    listed = declared.values or declared.order
    if declared.kind == "text":
        msg = "free text has no public domain; leave the column out"
    elif listed is not None and declared.edges is not None:
        msg = "values and edges both state the domain; leave one of the two out"
    elif listed is not None:
        return _of_texts(name, declared, [str(one) for one in listed])
    elif isinstance(declared.hierarchy, Taxonomy):
        return _of_taxonomy(name, declared, declared.hierarchy)
    elif declared.edges is not None:
        return _of_edges(name, declared)
    elif declared.bounds is not None:
        return _of_bounds(name, declared, declared.bounds)
    else:
        msg = (
            "nothing states its public domain: say values = [...], a hierarchy that lists them, "
            "bounds with edges or intervals, or edges that are days"
        )
    raise PlanError(msg)


def _of_texts(name: str, declared: ColumnPlan, texts: list[str]) -> ColumnDomain:
    """A cell for each text, or number, that is listed."""
    each = np.arange(len(texts))
    return ColumnDomain(
        name, _kind(declared, texts), tuple(texts), each, np.ones_like(each), tuple(texts)
    )


def _kind(declared: ColumnPlan, texts: list[str]) -> Literal["text", "number"]:
    if declared.reads_as == "text":
        return "text"
    numbers = [usable_number(text, texts=True) for text in texts]
    return "number" if None not in numbers and len(set(numbers)) == len(texts) else "text"


def _of_taxonomy(name: str, declared: ColumnPlan, taxonomy: Taxonomy) -> ColumnDomain:
    """The groups of the lowest level that has few, in the order in which they are listed."""
    levels = list(zip(*taxonomy.paths, strict=True))
    fits = (level for level in levels if len(set(level)) <= MOST_VALUES)
    groups = next(fits, levels[-1])
    place = {label: index for index, label in enumerate(dict.fromkeys(groups))}
    code = np.array([place[label] for label in groups])
    order = np.argsort(code, kind="stable")
    leaves = [taxonomy.paths[index][0] for index in order.tolist()]
    width = np.bincount(code)
    first = np.cumsum(width) - width
    above = []
    for level in levels[levels.index(groups) + 1 :]:
        of_cell = [level[order[leaf]] for leaf in first.tolist()]
        at = {label: index for index, label in enumerate(dict.fromkeys(of_cell))}
        above.append((tuple(at), np.array([at[label] for label in of_cell])))
    return ColumnDomain(
        name, _kind(declared, leaves), tuple(place), first, width, tuple(leaves),
        coarser=_coarser(len(place), above),
    )  # fmt: skip


def _of_edges(name: str, declared: ColumnPlan) -> ColumnDomain:
    """Ranges from edge to edge, of numbers within the bounds or of days."""
    edges = declared.edges or ()
    days = [edge for edge in edges if isinstance(edge, date)]
    if days and len(days) < len(edges):
        msg = "edges are all numbers, or all days"
        raise PlanError(msg)
    if days:
        return _of_days(name, declared, days)
    numbers = [edge for edge in edges if isinstance(edge, Decimal)]
    low, high = declared.bounds or (numbers[0], numbers[-1])
    if any(one >= other for one, other in pairwise(numbers)):
        msg = "edges must ascend"
        raise PlanError(msg)
    if numbers[0] < low or numbers[-1] > high:
        msg = f"edges lie outside the bounds [{plain_text(low)}, {plain_text(high)}]; mend either"
        raise PlanError(msg)
    borders = sorted({low, *numbers, high})
    places = max(map(decimals_of, borders))
    unit = Decimal(1).scaleb(-places)
    starts = [units_of(border, places) for border in borders]
    first = np.array(starts[:-1]) - starts[0]
    ends = np.append(first[1:], starts[-1] - starts[0] + 1)
    upper = [*(border - unit for border in borders[1:-1]), borders[-1]]
    labels = tuple(map(_range, borders[:-1], upper))
    return ColumnDomain(name, "number", labels, first, ends - first, None, starts[0], scale=places)


def _range(low: Decimal | date, high: Decimal | date) -> str:
    if low == high:
        return _text(low)
    return f"[{_text(low)}, {_text(high)}]"


def _text(border: Decimal | date) -> str:
    return plain_text(border) if isinstance(border, Decimal) else border.isoformat()


def _of_bounds(name: str, declared: ColumnPlan, bounds: tuple[Decimal, Decimal]) -> ColumnDomain:
    """Intervals within bounds, or each whole number between them."""
    low, high = bounds
    if isinstance(declared.hierarchy, Intervals):
        return _of_intervals(name, declared.hierarchy, bounds)
    whole = low == low.to_integral_value() and high == high.to_integral_value()
    if declared.hierarchy is not None or not whole or high - low >= MOST_VALUES:
        msg = (
            "bounds alone do not say which ranges are counted: say edges = [...] or "
            "intervals = { widths = [...] }"
        )
        raise PlanError(msg)
    each = np.arange(int(high - low) + 1)
    labels = tuple(str(int(low) + place) for place in each.tolist())
    return ColumnDomain(name, "number", labels, each, np.ones_like(each), None, int(low))


def _of_intervals(name: str, intervals: Intervals, bounds: tuple[Decimal, Decimal]) -> ColumnDomain:
    """The intervals of the lowest level of which there are few."""
    low, high = bounds
    declared = (intervals.unit or Decimal(0), intervals.origin, *intervals.widths, *bounds)
    places = max(map(decimals_of, declared))
    step = units_of(intervals.unit or Decimal(1).scaleb(-places), places)
    start, end = units_of(low, places), units_of(high, places)
    start += (units_of(intervals.origin, places) - start) % step
    if (end - start) // step >= _MOST_LEAVES:
        msg = (
            f"there are more than {_MOST_LEAVES:,} steps within the bounds; say "
            "edges = [...], or a coarser unit in intervals"
        )
        raise PlanError(msg)
    units = np.arange(start, end + 1, step)
    values = ExactNumbers(units, places)
    bound = intervals.bind(name, DistinctValues("number", tuple(values.texts()), values), bounds)
    codes = _lowest(bound)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    width = np.diff(np.append(first, len(codes)))

    def ranges(starts: Indices) -> tuple[str, ...]:
        ends = np.append(starts[1:], len(codes)) - 1
        decimals = ExactNumbers(units[np.append(starts, ends)], places).decimals()
        return tuple(map(_range, decimals[: len(starts)], decimals[len(starts) :]))

    coarser = _coarser(len(first), _above(bound, first, ranges))
    labels = ranges(first)
    return ColumnDomain(name, "number", labels, first, width, None, start, step, places, coarser)


def _above(
    bound: BoundHierarchy, first: Indices, ranges: Callable[[Indices], tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], Indices]]:
    """The ranges of each level and the one of each cell, by the first leaf of each cell."""
    for codes in bound.codes:
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        yield ranges(starts), np.searchsorted(starts, first, side="right") - 1


def _lowest(bound: BoundHierarchy) -> NDArray[np.int32]:
    """What values become at the lowest level that has few."""
    fits = (codes for codes in bound.codes if len(codes) and int(codes.max()) < MOST_VALUES)
    return next(fits, bound.codes[-1])


def _of_days(name: str, declared: ColumnPlan, edges: list[date]) -> ColumnDomain:
    """Ranges of days, or the periods between two of them."""
    if any(one >= other for one, other in pairwise(edges)):
        msg = "edges must ascend"
        raise PlanError(msg)
    begin, end = edges[0], edges[-1]
    days = (end - begin).days + 1

    def ranges(starts: Indices) -> tuple[str, ...]:
        ends = np.append(starts[1:], days)
        return tuple(
            _range(begin + timedelta(days=one), begin + timedelta(days=other - 1))
            for one, other in zip(starts.tolist(), ends.tolist(), strict=True)
        )

    coarser: tuple[_Coarser, ...] = ()
    if isinstance(declared.hierarchy, Dates):
        bound = _periods(name, declared.hierarchy, edges, days)
        starts = np.flatnonzero(np.diff(_lowest(bound), prepend=-1))
        coarser = _coarser(len(starts), _above(bound, starts, ranges))
    else:
        starts = np.array([(edge - begin).days for edge in edges[:-1]])
    width = np.append(starts[1:], days) - starts
    origin = (begin - _DAY_ZERO).days
    return ColumnDomain(name, "date", ranges(starts), starts, width, None, origin, coarser=coarser)


def _periods(name: str, hierarchy: Dates, edges: list[date], days: int) -> BoundHierarchy:
    """The days between two of them as periods, the first one longer than a day."""
    if len(edges) != 2 or days > _MOST_LEAVES:
        msg = "with dates, edges are two days: the first and the last one possible"
        raise PlanError(msg)
    longer = tuple(p for p in hierarchy.periods if PERIODS.index(p) > PERIODS.index("day"))
    texts = tuple((edges[0] + timedelta(days=day)).isoformat() for day in range(days))
    return Dates(longer or ("year",)).bind(name, DistinctValues("date", texts))
