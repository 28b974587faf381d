"""What each published entry of a column may stand for: the ground of most measures of utility.

What it does: for a column of the original with d distinct values and a release with e distinct
entries (a value, an interval, a period, a generalized label, a missing value, a value with noise),
says which values each entry stands for, with which shares, and how much of the domain it covers.

Source: spreading an entry evenly over what it covers is the usual reading of a generalized table
(Kifer and Gehrke, "Injecting utility into anonymized datasets", SIGMOD 2006, section 2).

Conventions:

- Shares.  Texts and truth values share evenly.  Numbers, dates and times share in proportion to the
  part of the line that is nearer to them than to any other value (an outermost value reaches as
  far out as in): an interval is spread evenly over the line, as its reader would, and not to where
  the private values happen to be dense.  Whole numbers without gaps share evenly.
- Domain.  Values that no row of the original has count only in ``size``.
- Size.  Numbers: width over the width of the public bounds, else over the extent of the values
  (private).  Labels: share of the hierarchy's leaves below the label, 0 for a single leaf (Xu et
  al. 2006; Ghinita et al. 2007).  Dates and times: width over the extent of the values (private).
- A value with noise stands for the value nearest to it, as its user takes it; its size is that of
  the interval around it.
- A missing value is itself; of a column whose groups show intervals it may also be a group that
  mixes missing and other values, and so may be anything where more rows show it than miss theirs.
- A number near the true one stands for the value nearest to it; its size is that of an interval
  whose values, evenly spread, lie as far from its middle on average.
- Columns that were permuted within groups stand for themselves; their size is that of what the
  group holds: the range of its numbers, or the share of all texts.
- A label that names two groups of a hierarchy, neither within the other, covers both and what lies
  between them.

Claim: no entry is without a value.  A number that the original lacks (of rows that were carried
over from another table) stands for the nearest one; a text that nothing explains raises
``TableError``.

Cost: a sort of both columns, of n rows each, and O(d h + e) for hierarchies of height h.  Texts are
compared as Python's, about a microsecond a distinct value.  Memory is O(n + d h + e), however much
the entries cover.

The values that a column of the original holds, over which entries are laid; private.

Cost: one hash look-up a row and a sort of the d distinct values; O(d h) texts for a hierarchy of
height h, made when they are asked for.

Expectations over what published entries stand for, and the same of original values.

What it does: for functions of the value of a column, given as numbers for each of its d distinct
values, their expectation for each of e entries under the shares of ``Spread``.  Indicators give
probabilities.  An entry that stands for one value gives the number of that value, to the last bit,
so that a release of the original is as good as the original, and not nearly.

Cost: O((d + e) f) for f functions: differences of cumulative sums.

Which columns of the original a release shows in which role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array

from voile.disclosure.covering import Covered, Spread
from voile.disclosure.shown import Shown
from voile.release.reading import (
    KnownValues,
    People,
    PublishedRows,
    ShownCells,
    floats_of,
    texts_of,
)
from voile.schema.coding import Coding
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.plan import ColumnPlan
from voile.table.arrays import Frame
from voile.table.binding import distinct_values
from voile.table.codes import DictionaryColumn, count_pairs, count_table
from voile.utility.protocol import Comparison
from voile_base.errors import InputError, TableError, nearest
from voile_base.ondemand import dataclass

__all__ = [
    "ColumnCovering",
    "OriginalDomain",
    "columns_in_role",
    "coverings",
    "expectations",
    "joint_expectations",
    "published_columns",
    "sampling_weights",
]


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, eq=False)
class OriginalDomain:
    """The d distinct values of one column of the original, with what the plan says of it."""

    column: DictionaryColumn
    """The values, ascending, missing first, and the code of each original row."""
    values: DistinctValues
    people: People
    """A table of one row for each value."""

    @classmethod
    def of(cls, original: People, name: str) -> OriginalDomain:
        """The values of a column; raises ``TableError`` where it is absent or empty."""
        if name not in (known := original.frame.columns):
            msg = f"the private original has no column {name!r}{nearest(name, known)}"
            raise TableError(msg)
        column = original.coded_finite(name)
        if not len(column.codes):
            msg = "the private original has no rows, so that nothing can be compared with it"
            raise TableError(msg)
        people = People(column.values.alias(name).to_frame(), original.plan)
        return cls(column, distinct_values(column.values), people)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def described(self) -> ColumnPlan:
        """What the plan says of the column."""
        return self.people.described(self.name)

    @cached_property
    def rows(self) -> Indices:
        """Shape (d,): original rows of each value."""
        return np.bincount(self.column.codes, minlength=len(self))

    @cached_property
    def points(self) -> Floats | None:
        """Where values lie on the line, NaN where missing; None for texts and truth values.

        Numbers within their public bounds, dates and instants as days since 1970, times as days.
        """
        values = self.column.values
        if values.dtype.is_numeric():
            return self.people.numbers(self.name)
        if not values.dtype.is_temporal():
            return None
        # A time of day is counted in nanoseconds, a date in days, all others as their type says.
        if values.dtype == pl.Time:
            days = values.to_physical() / (_DAY * 1000)
        elif values.dtype == pl.Date:
            days = values.to_physical().cast(pl.Float64)
        elif isinstance(values.dtype, pl.Duration):
            days = values.dt.total_microseconds() / _DAY
        else:
            days = values.dt.epoch("us") / _DAY
        return days.fill_null(np.nan).to_numpy()

    @cached_property
    def extent(self) -> tuple[float, float] | None:
        """Ends of the line: public bounds of numbers, else the outermost values (private)."""
        points = self.points
        if points is None:
            return None
        bounds = self.described.bounds if self.values.numbers is not None else None
        if bounds is not None:
            return float(bounds[0]), float(bounds[1])
        known = points[~np.isnan(points)]
        return (float(known[0]), float(known[-1])) if len(known) else (np.nan, np.nan)

    @cached_property
    def weight(self) -> Floats:
        """Shape (d,): how much of an entry that covers it falls to each value; see ``covering``.

        A missing value weighs as much as others on average.
        """
        points = self.points
        if points is None:
            return np.ones(len(self))
        known = points[~np.isnan(points)]
        gaps = np.diff(known)
        if not len(gaps) or not (gaps > 0).all():  # one value, or several clamped to one bound
            return np.ones(len(self))
        ends = np.concatenate([gaps[:1], gaps, gaps[-1:]])
        weight = np.full(len(self), float(ends.mean()))
        weight[~np.isnan(points)] = (ends[:-1] + ends[1:]) / 2
        return weight

    @cached_property
    def hierarchy(self) -> BoundHierarchy | None:
        """The hierarchy of the column; None where no plan is given."""
        if self.people.plan is None:
            return None
        return self.described.bind_hierarchy(self.name, self.values)

    @cached_property
    def generalized(self) -> list[list[str | None]]:
        """The texts that values become at each level; at level 0, and as intervals, their own."""
        own = list(self.values.texts)
        if self.hierarchy is None:
            return [own]
        levels = zip(self.hierarchy.codes, self.hierarchy.values, strict=True)
        return [
            own if shown.texts is None else [shown.texts[code] for code in codes.tolist()]
            for codes, shown in levels
        ]

    @cached_property
    def leaf_order(self) -> Indices:
        """The values in an order in which every group of the hierarchy is a run."""
        if self.hierarchy is None:
            return np.arange(len(self))
        return np.lexsort(self.hierarchy.codes)  # the last key, the highest level, leads

    @cached_property
    def known(self) -> KnownValues:
        """The values as somebody knows them who knows the plan."""
        return KnownValues(self.people, self.name, np.arange(len(self)))

    def nearest(self, numbers: Floats) -> Indices:
        """The index of the value that is nearest to each number; numbers without any give -1."""
        points = self.points
        if points is None or np.isnan(points).all():
            return np.full(len(numbers), -1)
        first = int(self.values.missing)
        known = points[first:]
        borders = (known[1:] + known[:-1]) / 2
        found = np.searchsorted(borders, numbers, side="left") + first
        return np.where(np.isnan(numbers), -1, found)

    def coded(self, codings: Sequence[Coding]) -> tuple[OriginalDomain, Indices] | None:
        """The domain of the coded column, and what each value became."""
        rows = DictionaryColumn(self.column.values, np.arange(len(self)))
        found = self.people.coded_column(rows, codings)
        if found is None:
            return None
        people, coded, code = found
        column = DictionaryColumn(coded.values, code[self.column.codes])
        alone = People(coded.values.to_frame(), people.plan)
        return OriginalDomain(column, distinct_values(coded.values), alone), code


@dataclass(frozen=True, eq=False)
class ColumnCovering:
    """One column: d distinct values of the original, and e distinct published entries; private."""

    domain: OriginalDomain
    entry: NDArray[np.integer]
    """Shape (n,): the entry of each published row."""
    rows: Indices
    """Shape (e,): published rows of each entry."""
    shown: Frame
    """The entries as they are published, e rows of one to three columns."""
    notes: tuple[str, ...]
    """What could not be told."""
    stated: Shown
    """How the release shows the column."""
    _entries: Covered

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.domain.name

    @property
    def values(self) -> DistinctValues:
        """The d distinct values of the original, ascending, missing first."""
        return self.domain.values

    @property
    def own(self) -> NDArray[Any]:
        """Shape (original rows,): the value of each, an index among ``values``."""
        return self.domain.column.codes

    @property
    def spread(self) -> Spread:
        """The distribution of each entry over the values."""
        return self._entries.spread

    @property
    def shares(self) -> Any:
        """The distributions as a sparse matrix, shape (e, d); as large as entries are wide."""
        return self.spread.matrix

    @property
    def size(self) -> Floats:
        """Shape (e,): the share of the domain that each entry covers; 0 for one value."""
        return self._entries.size

    @property
    def low(self) -> Floats | None:
        """Shape (e,): where each entry begins on the line, NaN if missing; None for texts.

        Numbers are themselves, dates and instants days since 1970, times of day days.  A value with
        noise begins and ends at itself.
        """
        return None if self._entries.ends is None else self._entries.ends[0]

    @property
    def high(self) -> Floats | None:
        """Shape (e,): where each entry ends; see ``low``."""
        return None if self._entries.ends is None else self._entries.ends[1]

    @property
    def level(self) -> Indices | None:
        """Shape (e,): the level of the hierarchy that shows each; None where some are of none."""
        return self._entries.level

    @property
    def points(self) -> Floats | None:
        """Shape (d,): where the values lie on the line, as in ``low``."""
        return self.domain.points

    @property
    def noisy(self) -> bool:
        """Whether entries are values with noise, which lie anywhere on the line."""
        return self.stated.noise is not None

    @cached_property
    def labels(self) -> tuple[str | None, ...]:
        """How each entry reads: ``[low, high]`` for two columns, the value for one with noise."""
        if self.column in self.shown.columns:
            return tuple(texts_of(self.shown[self.column]))
        ends = (texts_of(series) for series in self.shown.get_columns()[:2])
        pairs = zip(*ends, strict=True)
        return tuple(None if low is None else f"[{low}, {high}]" for low, high in pairs)


def published_columns(comparison: Comparison) -> tuple[str, ...]:
    """The columns of the original of which the release shows something, in their order."""
    published = comparison.published
    shown = {name for names in published.release.roles.values() for name in names}
    columns = comparison.original.frame.columns
    return tuple(name for name in columns if shown & set(published.columns_of(name)))


def coverings(
    comparison: Comparison, columns: Sequence[str] | None = None
) -> Mapping[str, ColumnCovering]:
    """What the entries of columns stand for; None: of all that are published.

    Found once for the same published rows and original, and kept as long as these are: several
    measures ask for them.  Raises ``InputError`` for a column that is not published, ``TableError``
    or ``PlanError`` where release, original and plan disagree.
    """
    known = _KNOWN.setdefault(comparison.published, WeakKeyDictionary()).setdefault(
        comparison.original, {}
    )
    names = published_columns(comparison) if columns is None else columns
    for name in names:
        if name not in known:
            known[name] = _covering(comparison.published, comparison.original, name)
    return {name: known[name] for name in names}


_KNOWN: WeakKeyDictionary[PublishedRows, WeakKeyDictionary[People, dict[str, ColumnCovering]]] = (
    WeakKeyDictionary()
)


def _covering(published: PublishedRows, original: People, name: str) -> ColumnCovering:
    used = published.columns_of(name)
    if not used:
        msg = f"the release has no column {name!r}{nearest(name, published.frame.columns)}"
        raise InputError(msg)
    domain = OriginalDomain.of(original, name)
    shown, entry = published.combinations(used)
    rows = np.bincount(entry, minlength=shown.height)
    stated, cells = published.disclosure.columns[name], ShownCells(name, shown, rows)
    notes = tuple(stated.notes(domain.known, cells))
    covered = stated.covered(domain, cells)
    if name in published.permuted:
        covered = Covered.permuted(domain, covered, entry.astype(np.int64), published.groups()[0])
    return ColumnCovering(domain, entry, rows, shown, notes, stated, covered)


def expectations(spread: Spread, values: Floats) -> Floats:
    """Expectations of f functions for each entry, shape (e, f), from their ``values``, (d, f)."""
    ordered: Floats = values[spread.order]
    alone = spread.covered == 1
    if alone.all():
        return ordered[spread.start]
    weight = spread.weight[spread.order][:, np.newaxis]
    sums = np.zeros((len(ordered) + 1, values.shape[1] + 1))
    np.cumsum(np.hstack([ordered * weight, weight]), axis=0, out=sums[1:])
    found: Floats = np.empty((len(spread), values.shape[1]))
    found[alone] = ordered[spread.start[alone]]
    wide = ~alone
    totals = sums[spread.stop[wide]] - sums[spread.start[wide]]
    means = totals[:, :-1] / totals[:, -1:]
    # Rounding may leave a mean just outside what it is a mean of, and a probability below 0.
    found[wide] = np.clip(means, values.min(axis=0), values.max(axis=0))
    return found


_MOST_PAIRS = 1 << 23
"""Pairs of entries that are counted in one table: 64 megabytes, and as much for numbers of it."""
_PER_ROW = 8
"""Products of entries for each row, up to which they are counted in a table of all products."""


def joint_expectations(
    one: tuple[Floats, NDArray[np.integer]],
    other: tuple[Floats, NDArray[np.integer]],
    weights: Floats | None,
) -> Floats:
    """Sums over n rows of the products of functions of two columns, shape (f, h).

    Each column is given by what its functions are of each entry, (e, f), and the entry of each row,
    (n,); rows count by their ``weights``, (n,), or 1 each.  Cost: n, and the products of entries of
    which some row has both.
    """
    (left, left_entry), (right, right_entry) = one, other
    shape = len(left), len(right)
    if shape[0] * shape[1] <= _PER_ROW * max(len(left_entry), 1):
        if shape[0] * shape[1] > _MOST_PAIRS:
            return _by_entries(one, other, weights)
        counts = _rows_of_pairs(left_entry, right_entry, shape, weights)
        dense: Floats = left.T @ (counts.astype(np.float64, copy=False) @ right)
        return dense
    if weights is None:
        first, second, rows = count_pairs((left_entry, shape[0]), (right_entry, shape[1]))
        pairs = coo_array((rows.astype(np.float64), (first, second)), shape)
    else:
        pairs = coo_array((weights, (left_entry, right_entry)), shape)
    sums: Floats = left.T @ (pairs.tocsr() @ right)
    return sums


def _by_entries(
    one: tuple[Floats, NDArray[np.integer]],
    other: tuple[Floats, NDArray[np.integer]],
    weights: Floats | None,
) -> Floats:
    """As ``joint_expectations``, some entries of the first column at a time."""
    (left, left_entry), (right, right_entry) = one, other
    step = max(1, _MOST_PAIRS // len(right))
    sums: Floats = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, len(left), step):
        some = left[start : start + step]
        rows = np.flatnonzero((left_entry >= start) & (left_entry < start + step))
        counts = _rows_of_pairs(
            left_entry[rows] - start,
            right_entry[rows],
            (len(some), len(right)),
            None if weights is None else weights[rows],
        )
        sums += some.T @ (counts.astype(np.float64, copy=False) @ right)
    return sums


def _rows_of_pairs(
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    shape: tuple[int, int],
    weights: Floats | None,
) -> NDArray[Any]:
    """How many of n rows show each pair of entries, or the sum of their weights."""
    if weights is None:
        return count_table(left, right, shape[1], shape[0] * shape[1]).reshape(shape)
    places = left.astype(np.int64) * shape[1] + right
    return np.bincount(places, weights, shape[0] * shape[1]).reshape(shape)


def sampling_weights(comparison: Comparison) -> tuple[Floats, Floats] | None:
    """Of the N original and the n published rows; None where the release does not show them.

    The plan names their column, and each is a number above 0.
    """
    plan = comparison.original.plan
    name = None if plan is None else plan.roles.weight
    shown = comparison.published.disclosure.columns.get(name or "")
    if name is None or shown is None or not shown.as_it_is:
        return None
    before = floats_of(comparison.original.column(name))
    after = floats_of(comparison.published.frame[name])
    fit = all(
        len(side) and np.isfinite(side).all() and (side > 0).all() for side in (before, after)
    )
    return (before, after) if fit else None


def columns_in_role(comparison: Comparison, role: str) -> tuple[str, ...]:
    """Names of the original's columns that are published in a role, in the order of the role.

    ``role`` is one of those of ``Release.roles``, such as "quasi_identifiers".
    """
    published, known = comparison.published, published_columns(comparison)
    owners = map(published.disclosure.owner, published.release.roles.get(role, ()))
    return tuple(dict.fromkeys(name for name in owners if name in known))
