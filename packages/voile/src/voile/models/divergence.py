"""How far two tables are apart as distributions of whole rows, from paired counts of cells.

What it does: a cell is one combination of values of the compared columns; l and r are its rows in
the left table (the original) and in the right one (what was published).  Cells that stand in
neither table do not count, so that the space of all combinations is never built.

Sources: Kullback and Leibler, "On information and sufficiency" (1951); Lin, "Divergence measures
based on the Shannon entropy" (1991), eq. 4.1 with weights 1/2; the smoothing by alpha = 1/2 is that
of Krichevsky and Trofimov, "The performance of universal encoding" (1981).

Claim, with L and R the rows of both tables and U the cells that stand in either:

- Kullback-Leibler: sum of p ln(p / q) with p = (l + alpha) / (L + alpha U) and q likewise.  Without
  smoothing it is infinite as soon as one row of the original is not found in the release.
  Smoothing keeps it finite, 0 exactly where the distributions agree, and makes it depend on alpha:
  compare only values of one alpha.
- Jensen-Shannon: half the sum of p ln(p / m) and q ln(q / m) with p = l / L, q = r / R and m their
  mean.  Zero cells need no convention but 0 ln 0 = 0; it lies between 0 and ln 2.
- Total variation: half the sum of |p - q|, between 0 and 1: the share of rows that would have to
  become others.

All in nats.  Counts may be fractional, such as expected ones.

Algorithm: sums over the cells.  Parts of a table that have no cell in common add up, so that data
that does not fit in memory is read in parts, in any order.  Cost: O(c) for c cells.

Departures: none from the definitions; logarithms of the smoothed totals are taken out of the sum,
because U is only known behind the last part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["SMOOTHING", "DivergenceSums", "jensen_shannon", "kl_smoothed", "total_variation"]

SMOOTHING = 0.5
"""The alpha of Krichevsky and Trofimov: half a row in each cell."""

Counts = NDArray[Any]


@dataclass(frozen=True)
class DivergenceSums:
    """What some of the cells of two tables add to their divergences; sums of parts add up."""

    left_cells: int
    """Cells with a row in the left table."""
    right_cells: int
    shared_cells: int
    """Cells with a row in both."""
    left: float
    """Rows of the left table in these cells."""
    right: float
    entropic: float
    """Sum of (l + alpha) ln((l + alpha) / (r + alpha))."""
    disjoint: float
    """The same if no cell of one table was one of the other."""
    mixed: float
    """Sum of p ln(p / m) + q ln(q / m)."""
    differing: float
    """Sum of |p - q|."""
    alpha: float = SMOOTHING

    @classmethod
    def of(
        cls,
        left: Counts,
        right: Counts,
        rows: tuple[float, float] | None = None,
        alpha: float = SMOOTHING,
    ) -> Self:
        """Sums over cells with these rows in both tables, shape (c,) each, none negative.

        ``rows`` are the rows of the whole tables; None where these cells are all there are.
        Raises ``ValueError`` unless alpha is above 0.
        """
        if not alpha > 0:
            msg = "smoothing adds more than 0 rows to each cell"
            raise ValueError(msg)
        seen = (left > 0) | (right > 0)
        shared = int(((left > 0) & (right > 0)).sum())
        left, right = left[seen].astype(np.float64), right[seen].astype(np.float64)
        total = rows or (float(left.sum()), float(right.sum()))
        p, q = left / max(total[0], 1e-300), right / max(total[1], 1e-300)
        smooth = left + alpha, right + alpha
        some = smooth[0][left > 0], smooth[1][right > 0]
        return cls(
            left_cells=len(some[0]),
            right_cells=len(some[1]),
            shared_cells=shared,
            left=float(left.sum()),
            right=float(right.sum()),
            entropic=float(smooth[0] @ np.log(smooth[0] / smooth[1])),
            disjoint=float(
                some[0] @ np.log(some[0] / alpha) - alpha * np.log(some[1] / alpha).sum()
            ),
            mixed=_terms(p, (p + q) / 2) + _terms(q, (p + q) / 2),
            differing=float(np.abs(p - q).sum()),
            alpha=alpha,
        )

    @classmethod
    def over(
        cls,
        parts: Iterable[tuple[Counts, Counts]],
        rows: tuple[float, float],
        alpha: float = SMOOTHING,
    ) -> Self:
        """Sums over all parts of two tables of so many rows; no cell stands in two parts."""
        nothing = np.zeros(0)
        total = cls.of(nothing, nothing, rows, alpha)
        for left, right in parts:
            total += cls.of(left, right, rows, alpha)
        return total

    def __add__(self, other: Self) -> Self:
        """The sums over the cells of both."""
        if self.alpha != other.alpha:
            msg = "sums with different smoothing cannot be added"
            raise ValueError(msg)
        names = [field.name for field in fields(self) if field.name != "alpha"]
        added = {name: getattr(self, name) + getattr(other, name) for name in names}
        return type(self)(**added, alpha=self.alpha)

    @property
    def cells(self) -> int:
        """Cells with a row in either table."""
        return self.left_cells + self.right_cells - self.shared_cells

    @property
    def kullback_leibler(self) -> float:
        """Smoothed divergence of the right table from the left one, in nats; at least 0."""
        return self._smoothed(self.entropic, self.cells)

    @property
    def kullback_leibler_of_disjoint(self) -> float:
        """What it would be if the tables had no cell in common, and the same rows in their own."""
        return self._smoothed(self.disjoint, self.left_cells + self.right_cells)

    @property
    def jensen_shannon(self) -> float:
        """Between 0 and ln 2, in nats."""
        return min(max(0.0, self.mixed / 2), float(np.log(2)))

    @property
    def total_variation(self) -> float:
        """Between 0 and 1."""
        return min(self.differing / 2, 1.0)

    def _smoothed(self, entropic: float, cells: int) -> float:
        left, right = (rows + self.alpha * cells for rows in (self.left, self.right))
        if not cells:
            return 0.0
        return max(0.0, entropic / left + float(np.log(right / left)))


def kl_smoothed(left: Counts, right: Counts, alpha: float = SMOOTHING) -> float:
    """Kullback-Leibler divergence of ``right`` from ``left`` over all their cells, in nats.

    Rows of each cell in both tables, shape (c,) each; ``alpha`` rows, more than 0, are added to
    each cell.
    """
    return DivergenceSums.of(left, right, alpha=alpha).kullback_leibler


def jensen_shannon(left: Counts, right: Counts) -> float:
    """Jensen-Shannon divergence over all cells, shape (c,) each, in nats: between 0 and ln 2."""
    return DivergenceSums.of(left, right).jensen_shannon


def total_variation(left: Counts, right: Counts) -> float:
    """Total variation distance over all cells, shape (c,) each: between 0 and 1."""
    return DivergenceSums.of(left, right).total_variation


def _terms(p: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    """Sum of p ln(p / m), where 0 ln 0 is 0."""
    some = p > 0
    return float(p[some] @ np.log(p[some] / m[some]))
