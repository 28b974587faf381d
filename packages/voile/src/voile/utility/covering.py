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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.covering import Covered, permuted_covered
from voile.disclosure.disclosure import Shown
from voile.disclosure.spread import Spread
from voile.release.reading.rows import People, PublishedRows, texts_of
from voile.release.reading.views import ShownCells
from voile.schema.hierarchy.generalized import DistinctValues
from voile.table.alignment import common_codes
from voile.table.arrays import Frame
from voile.utility.domain import OriginalDomain
from voile.utility.protocol import Comparison
from voile_base.errors import InputError, nearest

__all__ = ["ColumnCovering", "coverings", "published_columns"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnCovering:
    """One column: d distinct values of the original, and e distinct published entries; private."""

    domain: OriginalDomain
    entry: NDArray[np.int32]
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
    shown, (entry,) = common_codes([published.frame.select(used)])
    rows = np.bincount(entry, minlength=shown.height)
    stated, cells = published.disclosure.columns[name], ShownCells(name, shown, rows)
    notes = tuple(stated.notes(domain.known, cells))
    narrow = entry.astype(np.int32)  # fewer entries than rows, and one stays for each row
    covered = stated.covered(domain, cells)
    if name in published.permuted:
        covered = permuted_covered(domain, covered, entry, published.groups()[0])
    return ColumnCovering(domain, narrow, rows, shown, notes, stated, covered)
