"""Which published combinations each row of the original fits.

What it does: numbers the g different combinations that a release shows in some columns, and finds
for each of the d different rows of the original, as far as these columns tell them apart, all that
it fits.  That is what risks in closed form are counted from (``closed_form``).

Claim: there is an answer only where every combination is fitted by as many rows as are published
with it, or more.  So it is where the original is the one that was published.  Where groups overlap,
as those of missing values and of small children of a node may, a row fits several combinations.

Algorithm: where each column has one text for a value, as in full-domain generalization, rows and
combinations are joined by these texts.  Elsewhere each distinct value of a column has one bit for
each combination that covers it; the bits of a row are those of its values together.

Cost: O(N log N) for N rows, or for d different rows, m columns and v distinct values
O((d + v) m g / 8) bytes passed over, of which v g / 8 are held, and 8 bytes for each of the p pairs
of a row and a combination that it fits.  Beyond ``_MOST``, ``_MOST_KEPT`` and ``_MOST_PAIRS`` there
is no answer, and risks are estimated from a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.attack.owners import Crowd
from voile.disclosure.evidence import CoverEvidence, Labels
from voile.release.reading.sightings import (
    People,
    PublishedRows,
    Sightings,
    exact_labels_as_one,
)
from voile.table.alignment import common_codes
from voile.table.codes import encode

__all__ = ["Fitted", "MatchingColumn", "spread"]

Codes = NDArray[np.int64]

_MOST = 20_000_000_000
_MOST_KEPT = 1 << 29
"""Bytes of bits that are held."""
_AT_A_TIME = 1 << 24
"""Bytes of bits that are looked at together."""
_MOST_PAIRS = 1 << 25
"""Pairs of a row of the original and a combination that it fits."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Rows of the original and of the release, by the g combinations that are published."""

    shown: Codes
    """Shape (n,): the combination of each published row."""
    rows: Codes
    """Shape (g,): how many published rows show each."""
    crowd: Crowd
    """The d different rows of the original, and which of them each of all N is."""
    start: Codes
    """Shape (d + 1,): where in ``combinations`` those of each different row begin."""
    combinations: Codes
    """Those that each different row fits, ascending."""

    @classmethod
    def of(cls, published: PublishedRows, people: People, columns: Sequence[str]) -> Fitted | None:
        """Compare all rows in these columns; None where too many fit too much.

        None, too, where a column is permuted, noisy or cannot be read, or where fewer rows of the
        original fit than are published.
        """
        if not published.frame.height or any(name in published.permuted for name in columns):
            return None
        crowd = Crowd.of(people, columns)
        seen = [MatchingColumn.of(published, people, name) for name in columns]
        read = [column for column in seen if column is not None]
        if len(read) < len(seen):
            return None
        cells, (shown,) = common_codes(
            [published.frame.select([c for name in columns for c in published.columns_of(name)])]
        )
        first = _first_of_each(shown, cells.height)
        joined = _joined(read, crowd.first, first)
        if joined is None:
            return None
        row, combinations = joined
        degree = np.bincount(row, minlength=len(crowd.first))
        start = np.concatenate([[0], np.cumsum(degree)])
        rows = np.bincount(shown, minlength=len(first))
        found = cls(shown, rows, crowd, start, combinations)
        if int(degree[crowd.number].sum()) > _MOST_PAIRS:
            return None
        return found if (found.people >= rows).all() else None

    @cached_property
    def degree(self) -> Codes:
        """Shape (d,): how many combinations each different row fits."""
        return np.diff(self.start)

    @property
    def overlap(self) -> bool:
        """Whether some row fits several combinations."""
        return bool((self.degree > 1).any())

    @property
    def fitting(self) -> int:
        """How many rows of the original fit some combination."""
        return int(self.crowd.count[self.degree > 0].sum())

    @cached_property
    def people(self) -> Codes:
        """Shape (g,): how many rows of the original fit each combination."""
        count = np.repeat(self.crowd.count, self.degree)
        counted = np.bincount(self.combinations, weights=count, minlength=len(self.rows))
        return counted.astype(np.int64)

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """All pairs of a row of the original and a combination that it fits, by row; (p,) each."""
        return spread(self.start, self.combinations, self.crowd.number)

    @cached_property
    def published_alike(self) -> Codes:
        """Shape (d,): how many published rows each different row fits."""
        running = np.concatenate([[0], np.cumsum(self.rows[self.combinations])])
        alike: Codes = running[self.start[1:]] - running[self.start[:-1]]
        return alike


def spread(start: Codes, member: Codes, chosen: Codes) -> tuple[Codes, Codes]:
    """The members of each of some owners: places in ``chosen``, ascending, and members.

    ``start`` (owners + 1,) says where in ``member`` those of each owner begin.
    """
    degree = (start[1:] - start[:-1])[chosen]
    place = np.repeat(np.arange(len(chosen)), degree)
    within = np.arange(len(place)) - np.repeat(np.cumsum(degree) - degree, degree)
    return place, member[start[chosen][place] + within]


@dataclass(frozen=True, eq=False)
class MatchingColumn:
    """A known column: what fits what, of its distinct values and its distinct cells."""

    evidence: CoverEvidence
    value: Codes
    """Shape (N,): which of the v values each row of the original has."""
    cell: Codes
    """Shape (n,): which of the c cells each published row shows."""

    @classmethod
    def of(cls, published: PublishedRows, people: People, name: str) -> MatchingColumn | None:
        """A column; None where rows neither fit nor do not, or where that cannot be told."""
        values = encode(people.column(name))
        value = values.codes.astype(np.int64)
        first = _first_of_each(value, len(values.values))
        sightings = Sightings.of(published, people, [name], first)
        (evidence,) = sightings.evidence
        if sightings.notes or not isinstance(evidence, CoverEvidence):
            return None
        return cls(evidence, value, sightings.place)

    @property
    def labels(self) -> Labels | None:
        """The texts, where a value has one and fits no other."""
        found = self.evidence
        return found if isinstance(found, Labels) and found.is_exact else None

    def bits(self, first: Codes) -> NDArray[np.uint8]:
        """For each value, one bit for each of g combinations, of which a row each is given."""
        cells = self.cell[first]
        parts = np.array_split(np.arange(int(self.value.max(initial=-1)) + 1), self._parts(first))
        return np.concatenate(
            [np.packbits(self.evidence.covers(part)[:, cells], axis=1) for part in parts]
        )

    def _parts(self, first: Codes) -> int:
        return max(1, (int(self.value.max(initial=0)) + 1) * len(first) // _AT_A_TIME)


def _joined(
    columns: Sequence[MatchingColumn], people: Codes, first: Codes
) -> tuple[Codes, Codes] | None:
    """Pairs of one of d people and a combination that fits; None where it costs too much.

    ``people`` (d,) and ``first`` (g,) are a row of the original and of the release for each.
    """
    exact = [(one, labels) for one in columns if (labels := one.labels) is not None]
    if len(exact) == len(columns):
        place = _joined_by_labels(exact, people, first)
        there = np.flatnonzero(place >= 0)
        return there, place[there]
    width = (len(first) + 7) // 8
    values = sum(int(column.value.max(initial=0)) + 1 for column in columns)
    if len(people) * len(columns) * width > _MOST or values * width > _MOST_KEPT:
        return None
    bits = [column.bits(first) for column in columns]
    step = max(1, _AT_A_TIME // width)
    rows, fits, pairs = [], [], 0
    for begin in range(0, len(people), step):
        part = slice(begin, begin + step)
        found = bits[0][columns[0].value[people[part]]]
        for column, held in zip(columns[1:], bits[1:], strict=True):
            found &= held[column.value[people[part]]]
        pairs += int(np.bitwise_count(found).sum(dtype=np.int64))
        if pairs > _MOST_PAIRS:
            return None
        row, fit = _places_of_bits(found)
        rows.append(begin + row)
        fits.append(fit)
    return np.concatenate(rows), np.concatenate(fits)


def _places_of_bits(bits: NDArray[np.uint8]) -> tuple[Codes, Codes]:
    """The row and the place of each bit that is set, as ``packbits`` orders them."""
    row, byte = np.nonzero(bits)
    which, bit = np.nonzero(np.unpackbits(bits[row, byte, np.newaxis], axis=1))
    return row[which], 8 * byte[which] + bit


def _joined_by_labels(
    columns: Sequence[tuple[MatchingColumn, Labels]], people: Codes, first: Codes
) -> Codes:
    """The combination whose texts are those of each of d people; -1 for none."""
    each = [
        Labels(
            labels.known[:, column.value[people]],
            labels.shown[column.cell[first]],
            np.zeros(len(first), dtype=np.bool_),
        )
        for column, labels in columns
    ]
    one = exact_labels_as_one(each)
    place_of = np.full(int(max(one.known.max(initial=-1), one.shown.max(initial=-1))) + 1, -1)
    place_of[one.shown] = np.arange(len(first))
    place: Codes = place_of[one.known[0]]
    return place


def _first_of_each(codes: Codes, distinct: int) -> Codes:
    """The first row of each of the codes from 0, shape (distinct,)."""
    first = np.empty(distinct, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first
