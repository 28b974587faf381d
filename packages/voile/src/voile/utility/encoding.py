"""Columns as numbers for machine learning, and published entries as exact values; private.

What it does: gives each value of a column f numbers, and each published row one of the values that
its entry may stand for.

- Texts and truth values: for each of the commonest, whether it is that one, and last whether it is
  any other.
- Numbers, dates and times: the distance from the mean of the original in standard deviations, 0 if
  missing, and whether it is missing.

Which texts are the commonest, the mean and the deviation are those of the original: private, and
the same for all that is encoded.

Claim: a published row is given a value with the share that its entry has of it (``covering``),
independently in each column and row, by a key; a column in which all rows show the same does not
vary.  Rows of any method then look like exact rows, and a model that learned from them can be asked
about exact rows.  The obvious alternative, expectations (a label that covers four texts is a
quarter of each), has models learn from numbers that no exact row has: of Adult at k = 5, with one
level a column for all rows, a random forest then found nothing but the more frequent class.

Cost: O(d f) for d distinct values; a search and one look-up a row and number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.utility.covering import ColumnCovering
from voile.utility.domain import OriginalDomain
from voile_base.randomness import Key

__all__ = ["Encoding", "Numbers", "TextNumbers", "drawn_values", "encoded"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class TextNumbers:
    """One number for each of some texts, and one for all others."""

    index: Mapping[str | None, int]

    @classmethod
    def commonest(cls, original: OriginalDomain, most: int) -> Self:
        """The commonest texts of a column, ascending; a missing one is a text, too."""
        chosen = np.sort(np.argsort(-original.rows, kind="stable")[:most]).tolist()
        return cls({original.values.texts[index]: number for number, index in enumerate(chosen)})

    def numbers(self, domain: OriginalDomain) -> Floats:
        """Shape (d, texts + 1)."""
        others = len(self.index)
        which = [self.index.get(text, others) for text in domain.values.texts]
        return np.eye(others + 1)[which]


@dataclass(frozen=True)
class Numbers:
    """A number in standard deviations from its mean, and whether it is missing."""

    mean: float
    deviation: float

    @classmethod
    def standard(cls, original: OriginalDomain) -> Self:
        """With mean and deviation of a column that lies on the line."""
        assert original.points is not None
        known = ~np.isnan(original.points)
        points, rows = original.points[known], original.rows[known]
        if not len(points):
            return cls(0.0, 1.0)
        mean = float(np.average(points, weights=rows))
        deviation = float(np.sqrt(np.average((points - mean) ** 2, weights=rows)))
        return cls(mean, deviation or 1.0)

    def numbers(self, domain: OriginalDomain) -> Floats:
        """Shape (d, 2)."""
        points = np.full(len(domain), np.nan) if domain.points is None else domain.points
        missing = np.isnan(points)
        standard = (np.where(missing, self.mean, points) - self.mean) / self.deviation
        return np.column_stack([standard, missing.astype(np.float64)])


Encoding = TextNumbers | Numbers


def encoded(encoding: Encoding, domain: OriginalDomain, values: NDArray[np.integer[Any]]) -> Floats:
    """The numbers of n values, indices among those of the domain, shape (n, f)."""
    found: Floats = encoding.numbers(domain)[values]
    return found


def drawn_values(covering: ColumnCovering, rows: Indices, key: Key) -> Indices:
    """For each of n published rows one of the values that it may stand for, shape (n,).

    Where all of them show the same, they are given the same: the column tells nothing, and one that
    varies at random would have models learn from chance.
    """
    spread, entry = covering.spread, covering.entry[rows]
    if len(entry) and (entry == entry[0]).all():
        return np.full(len(entry), spread.order[spread.start[entry[0]]])
    reached = np.concatenate([[0.0], np.cumsum(spread.weight[spread.order])])
    start, stop = spread.start[entry], spread.stop[entry]
    share = (key.stream(len(rows)) >> np.uint64(11)) / 2**53
    at = reached[start] + share * (reached[stop] - reached[start])
    index = np.searchsorted(reached, at, side="right") - 1
    # Rounding may lead just beyond the ends of a run.
    values: Indices = spread.order[np.clip(index, start, stop - 1)]
    return values
