"""Evidence in columns without noise: which published rows a known value can belong to.

What it does: for the known values of t targets and n published rows, says for each pair whether
what the row shows covers the value: an interval that holds it, or a text that it became.

Claim: no row that is a target's own is ever ruled out, as long as texts were generalized as
assumed.  Numbers are compared in double precision; rounding keeps the order of numbers, so that an
interval never loses a value.  A missing value is covered by a missing one.  A missing cell covers
every value where groups may show that way that they mix, unless it is told which of them do.

Cost: O(v c) a column for the v different values of t targets and the c different cells of n rows,
and one level of the hierarchy more where the level is not stated; O(t n) to look up all pairs, or
O(t n / 8) where eight rows are packed in a byte.

The two sides that are compared: values that somebody knows, and cells that a release shows.

Kinds see both through these protocols, as arrays and texts; where rows and frames are is the
business of whoever reads a release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile_base.ondemand import dataclass

if TYPE_CHECKING:
    from voile.schema.coding import Coding

__all__ = [
    "CheckedCells",
    "Chosen",
    "CoverEvidence",
    "DistinctCells",
    "Domain",
    "Evidence",
    "Floats",
    "Indices",
    "IntervalEvidence",
    "Known",
    "Labels",
    "MixedEvidence",
    "Sets",
    "Texts",
    "TurnedEvidence",
    "WeighedEvidence",
    "numbered",
    "places_of_bits",
]


Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Chosen = slice | NDArray[np.int64]
"""Some of the targets: neighbours, or any by their places."""


class Evidence(Protocol):
    """What one column says of every pair of a target and a published row."""

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets, shape (targets, n); -inf rules it out."""

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows, by their places, in this order."""


class CoverEvidence(ABC):
    """Evidence by which a row fits a target or does not, and nothing in between."""

    @abstractmethod
    def covers(self, targets: Chosen) -> Mask:
        """Whether each row fits each of some targets, shape (targets, n)."""

    @abstractmethod
    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows, by their places, in this order."""

    @property
    def strict(self) -> CoverEvidence | None:
        """The same where missing cells stand for missing values alone; None where they do."""
        return None

    def log_weights(self, targets: Chosen) -> Floats:
        """0 where the row fits, else -inf."""
        return np.where(self.covers(targets), 0.0, -np.inf)

    def packed(self, targets: Chosen) -> NDArray[np.uint8]:
        """``covers`` with eight rows a byte, as ``packbits`` orders them."""
        return np.packbits(self.covers(targets), axis=1)

    def packed_targets(self, targets: Chosen) -> NDArray[np.uint8]:
        """``covers`` turned round, shape (n, targets / 8), with eight targets a byte."""
        return np.packbits(np.ascontiguousarray(self.covers(targets).T), axis=1)

    def spread(self, value: NDArray[np.int64], cell: NDArray[np.int64]) -> CoverEvidence:
        """The same about t targets, each of a value that these have, and n rows of these cells."""
        narrow = cell.astype(np.min_scalar_type(int(cell.max(initial=0))))
        return _Spread(self, len(value) and int(value.max()) + 1, value, narrow)


@dataclass(frozen=True, eq=False)
class _Spread(CoverEvidence):
    """What is compared once for each of v values and c cells, and is asked of t and n of them."""

    evidence: CoverEvidence
    """Of values and cells."""
    values: int
    value: NDArray[np.int64]
    """Shape (t,)."""
    cell: NDArray[np.integer]
    """Shape (n,); of all rows in the narrowest type."""

    @property
    def strict(self) -> CoverEvidence | None:
        """As that of the values and cells."""
        found = self.evidence.strict
        return None if found is None else replace(self, evidence=found)

    def covers(self, targets: Chosen) -> Mask:
        """Whether the cell of each row fits the value of each of some targets."""
        held, place = numbered(self.value[targets], self.values)
        covers: Mask = self.evidence.covers(held)[:, self.cell][place]
        return covers

    def packed(self, targets: Chosen) -> NDArray[np.uint8]:
        """The same with eight rows a byte: each value is packed once."""
        held, place = numbered(self.value[targets], self.values)
        packed: NDArray[np.uint8] = np.packbits(self.evidence.covers(held)[:, self.cell], axis=1)[
            place
        ]
        return packed

    def packed_targets(self, targets: Chosen) -> NDArray[np.uint8]:
        """The same turned round, with eight targets a byte: each cell is packed once."""
        held, place = numbered(self.value[targets], self.values)
        cells = np.packbits(np.ascontiguousarray(self.evidence.covers(held)[place].T), axis=1)
        packed: NDArray[np.uint8] = cells[self.cell]
        return packed

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        cells = int(self.cell.max()) + 1 if len(self.cell) else 0
        held, place = numbered(self.cell[rows], cells)
        return replace(self, evidence=self.evidence.only(held), cell=place)


@dataclass(frozen=True, eq=False)
class TurnedEvidence(CoverEvidence):
    """Evidence of all values and cells of a column, turned round: cells in place of values."""

    evidence: CoverEvidence
    cells: int
    value: NDArray[np.int64] | None = None
    """Shape (n,): the values that stand in place of cells; None: all, in their order."""

    @classmethod
    def of(cls, evidence: CoverEvidence, cell: NDArray[np.integer]) -> Self:
        """Of a column of which rows show these cells."""
        return cls(evidence, int(cell.max()) + 1 if len(cell) else 0)

    def covers(self, targets: Chosen) -> Mask:
        """Whether each value fits each of some cells, shape (targets, n)."""
        some = self.evidence.only(np.arange(self.cells)[targets])
        covers: Mask = some.covers(slice(None) if self.value is None else self.value).T
        return np.ascontiguousarray(covers)

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the values."""
        return replace(self, value=rows if self.value is None else self.value[rows])


@dataclass(frozen=True, eq=False)
class WeighedEvidence:
    """The same of evidence that weighs, and does not only say yes or no."""

    evidence: Evidence
    """Of values and cells."""
    value: NDArray[np.integer]
    """Shape (t,)."""
    cell: NDArray[np.int64]
    """Shape (n,)."""

    @classmethod
    def of(cls, evidence: Evidence, value: NDArray[np.integer], cell: NDArray[np.int64]) -> Self:
        """Of all cells of a column, of which n rows show some."""
        held, place = np.unique(cell, return_inverse=True)
        return cls(evidence.only(held), value, place)

    def about(self, targets: NDArray[np.int64]) -> Self:
        """The same about some of the targets, by their places."""
        return replace(self, value=self.value[targets].astype(np.int64))

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets; each value is weighed once."""
        held, place = np.unique(self.value[targets], return_inverse=True)
        weights: Floats = self.evidence.log_weights(held.astype(np.int64))[:, self.cell][place]
        return weights

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return self.of(self.evidence, self.value, self.cell[rows])


def numbered(codes: NDArray[np.integer], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different codes below a size, ascending, and the place of each among them."""
    there = np.zeros(size, dtype=np.bool_)
    there[codes] = True
    held = np.flatnonzero(there)
    place = np.empty(size, dtype=np.int64)
    place[held] = np.arange(len(held))
    return held, place[codes]


def places_of_bits(bits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row and the place of each bit that is set, as ``packbits`` orders them."""
    place = np.flatnonzero(bits)
    which, bit = np.divmod(np.flatnonzero(np.unpackbits(bits.reshape(-1)[place])), 8)
    row, byte = np.divmod(place[which], max(bits.shape[1], 1))
    return row, 8 * byte + bit


@dataclass(frozen=True, eq=False)
class MixedEvidence(CoverEvidence):
    """Evidence of n rows whose missing cells stand for other values, too, where that is said."""

    evidence: CoverEvidence
    """Where all of them do."""
    strict_evidence: CoverEvidence
    """Where none of them does."""
    mixed: Mask
    """Shape (n,): those of which it is so for all targets."""
    number: NDArray[np.int64]
    """Shape (n,): which rows these are."""
    own: NDArray[np.int64] | None = None
    """Shape (t,): the number of the row of which it is so for each target, -1 for none."""

    def covers(self, targets: Chosen) -> Mask:
        """Whether the row fits, by how its missing cell is read."""
        mixed = self.mixed
        if self.own is not None:
            mixed = mixed | (self.own[targets][:, np.newaxis] == self.number)
        covers: Mask = np.where(
            mixed, self.evidence.covers(targets), self.strict_evidence.covers(targets)
        )
        return covers

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(
            self,
            evidence=self.evidence.only(rows),
            strict_evidence=self.strict_evidence.only(rows),
            mixed=self.mixed[rows],
            number=self.number[rows],
        )


@dataclass(frozen=True, eq=False)
class IntervalEvidence(CoverEvidence):
    """Known numbers of t targets, and closed intervals in n rows."""

    known: Floats
    """Shape (t,); NaN for a missing value."""
    low: Floats
    """Shape (n,); NaN in both ends for a missing value."""
    high: Floats
    missing_is_anything: bool = False
    """Whether a row that shows a missing value may have any."""
    whole: bool = False
    """Whether all rows show the one interval of all values, which missing values became too."""

    @property
    def strict(self) -> CoverEvidence | None:
        """The same where a row that shows a missing value has a missing value."""
        hidden = np.isnan(self.low) & np.isnan(self.high)
        mixes = self.missing_is_anything and bool(hidden.any())
        return replace(self, missing_is_anything=False) if mixes else None

    def covers(self, targets: Chosen) -> Mask:
        """Whether the interval holds the number."""
        known = self.known[targets, np.newaxis]
        covers = (self.low <= known) & (known <= self.high)
        hidden = np.isnan(self.low) & np.isnan(self.high)
        if hidden.any():
            covers |= hidden & (np.isnan(known) | self.missing_is_anything)
        if self.whole:
            covers |= np.isnan(known)
        return covers

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, low=self.low[rows], high=self.high[rows])


@dataclass(frozen=True, eq=False)
class Labels(CoverEvidence):
    """What the values of t targets may have become, and the texts of n rows, as numbers."""

    known: NDArray[np.int32]
    """Shape (levels, t): a target fits a row whose text is that of any level."""
    shown: NDArray[np.int32]
    """Shape (n,)."""
    anything: Mask
    """Shape (n,): rows whose text may stand for any value."""

    @classmethod
    def of(
        cls,
        known: Sequence[Sequence[str | None]],
        shown: Sequence[str | None],
        anything: Collection[str | None] = (),
    ) -> Self:
        """From texts: for each level what the t targets become, and what the n rows show."""
        codes: dict[str | None, int] = {}

        def code(texts: Sequence[str | None]) -> NDArray[np.int32]:
            numbers = [codes.setdefault(text, len(codes)) for text in texts]
            return np.array(numbers, dtype=np.int32)

        wild = np.array([text in anything for text in shown], dtype=np.bool_)
        return cls(np.stack([code(texts) for texts in known]), code(shown), wild)

    def covers(self, targets: Chosen) -> Mask:
        """Whether the text may stand for the value."""
        covers = self.known[0, targets, np.newaxis] == self.shown
        for level in self.known[1:]:
            covers |= level[targets, np.newaxis] == self.shown
        if self.anything.any():
            covers |= self.anything
        return np.asarray(covers)

    def packed_targets(self, targets: Chosen) -> NDArray[np.uint8]:
        """The same turned round, with eight targets a byte: each text is packed once."""
        if self.anything.any():
            return super().packed_targets(targets)
        held, place = numbered(self.shown, int(self.shown.max(initial=-1)) + 1)
        texts = Labels(self.known, held.astype(np.int32), np.zeros(len(held), dtype=np.bool_))
        packed: NDArray[np.uint8] = CoverEvidence.packed_targets(texts, targets)[place]
        return packed

    def fits_some_row(self) -> Mask:
        """Shape (t,): whether any row may be that of each target."""
        found = np.isin(self.known, self.shown).any(axis=0)
        return np.asarray(found | self.anything.any())

    def fits_some_target(self, targets: Chosen) -> Mask:
        """Shape (n,): whether each row may be that of any of some targets."""
        found: Mask = np.isin(self.shown, self.known[:, targets]) | self.anything
        return found

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows], anything=self.anything[rows])

    def spread(self, value: NDArray[np.int64], cell: NDArray[np.int64]) -> CoverEvidence:
        """The same about targets of these values and rows of these cells."""
        if not self.is_exact:
            return super().spread(value, cell)
        return Labels(self.known[:, value], self.shown[cell], self.anything[cell])

    @property
    def is_exact(self) -> bool:
        """Whether a target fits the rows that show one text, and no other."""
        return len(self.known) == 1 and not self.anything.any()


@dataclass(frozen=True, eq=False)
class Sets(CoverEvidence):
    """The values of t targets as numbers, and sets of them in n rows; of e different sets."""

    known: NDArray[np.int64]
    """Shape (t,)."""
    first: NDArray[np.int64]
    """Shape (v + 1,): where in ``sets`` those begin that name each of the v values."""
    sets: NDArray[np.int64]
    """The sets, between 0 and e, that name each value, value by value."""
    shown: NDArray[np.int64]
    """Shape (n,): the set of each row."""
    anything: Mask
    """Shape (e,): sets that are not written out, and may hold any value."""

    @classmethod
    def of(
        cls,
        known: Sequence[str | None],
        shown: Sequence[Sequence[str | None] | None],
    ) -> Self:
        """From the values of t targets, and those that n rows name; None names any."""
        codes: dict[str | None, int] = {}
        targets = np.array([codes.setdefault(text, len(codes)) for text in known], dtype=np.int64)
        pairs = [
            (codes[value], place)
            for place, named in enumerate(shown)
            for value in named or ()
            if value in codes
        ]
        value, place = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        order = np.argsort(value, kind="stable")
        first = np.searchsorted(value[order], np.arange(len(codes) + 1))
        anything = np.array([named is None for named in shown], dtype=np.bool_)
        return cls(targets, first, place[order], np.arange(len(shown)), anything)

    def covers(self, targets: Chosen) -> Mask:
        """Whether the set holds the value."""
        values, target = np.unique(self.known[targets], return_inverse=True)
        holds = np.tile(self.anything, (len(values), 1))
        for place, value in enumerate(values.tolist()):
            holds[place, self.sets[self.first[value] : self.first[value + 1]]] = True
        covers: Mask = holds[:, self.shown][target]
        return covers

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])


Indices = NDArray[np.int64]
Texts = list[str | None]


class Known(Protocol):
    """What somebody knows of t values of one column, and of the column; private."""

    @property
    def texts(self) -> Texts:
        """The t values as texts, alike however a file stores them; None for a missing one."""

    @property
    def numbers(self) -> Floats:
        """The t values as numbers within the public bounds; NaN for what is none."""

    @property
    def vocabulary(self) -> AbstractSet[str | None]:
        """All values that the column of the table holds, as texts."""

    @property
    def order(self) -> Sequence[str] | None:
        """The declared order of texts, the lowest first; None where none is known."""

    @property
    def bounds(self) -> tuple[Decimal, Decimal] | None:
        """Public bounds of the column; None where none are known."""

    @property
    def has_hierarchy(self) -> bool:
        """Whether the hierarchy of the column is known."""

    def generalized(self, level: int | None) -> list[Texts] | None:
        """What the t values become at a level of the hierarchy, or (None) at each, lowest first.

        None where nobody tells the hierarchy.  Raises ``InputError`` for a level that it lacks.
        """

    def coded(self, codings: Sequence[Coding]) -> Known | None:
        """What is known of the coded values; None where that needs a hierarchy not known."""


class DistinctCells(Protocol):
    """The g different cells, or tuples of cells, that show one column of a table."""

    @property
    def name(self) -> str:
        """Name of the table's column."""

    @property
    def rows(self) -> Indices:
        """Shape (g,): how many published rows show each."""

    def texts(self, column: str) -> Texts:
        """What one of the published columns shows, as g texts."""

    def numbers(self, column: str) -> Floats:
        """The same as g numbers; NaN for what is none."""


class CheckedCells(DistinctCells, Protocol):
    """Cells as a check sees them, which holds them against what is stated of the column."""

    def values(self, column: str) -> DistinctValues:
        """The distinct values of one of the published columns, exactly."""


class Domain(Protocol):
    """The d distinct values of a column of the original, over which cells are laid; private."""

    def __len__(self) -> int: ...

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def values(self) -> DistinctValues:
        """The values, ascending, missing first."""

    @property
    def rows(self) -> Indices:
        """Shape (d,): original rows of each."""

    @property
    def points(self) -> Floats | None:
        """Shape (d,): where they lie on the line, NaN where missing; None for texts."""

    @property
    def extent(self) -> tuple[float, float] | None:
        """Ends of the line."""

    @property
    def weight(self) -> Floats:
        """Shape (d,): how much of a cell that covers it falls to each value."""

    @property
    def hierarchy(self) -> BoundHierarchy | None:
        """The hierarchy of the column; None where none is known."""

    @property
    def generalized(self) -> list[Texts]:
        """The texts that values become at each level."""

    @property
    def leaf_order(self) -> Indices:
        """The values in an order in which every node of the hierarchy is a run."""

    @property
    def known(self) -> Known:
        """The values as somebody knows them who knows the plan."""

    def nearest(self, numbers: Floats) -> Indices:
        """The place of the value that is nearest to each number; -1 where there is none."""

    def coded(self, codings: Sequence[Coding]) -> tuple[Domain, Indices] | None:
        """The values that codings make of these, and which each becomes, shape (d,); as above."""
