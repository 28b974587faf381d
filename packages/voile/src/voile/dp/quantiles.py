"""Private quantiles of numbers with public bounds, for borders that split rows by given shares.

What it does: for each share a/b draws a border r on a grid such that about that share of the rows
is below r.

Source: Smith, "Privacy-preserving statistical estimation with optimal convergence rates" (STOC
2011), Algorithm 2: the exponential mechanism on ranks.

Guarantee: the borders together are epsilon-differentially private; each of m borders gets
epsilon / m (sequential composition), and sorting them is post-processing.  The utility of r is
-|b C(r) - a N|, C(r) the number of rows below r and N that of all rows.  If one row is replaced,
N stays and C(r) moves by at most 1: the sensitivity is b.  If one row is added, b C(r) - a N
moves by b - a or by -a: the sensitivity is max(a, b - a).  If m rows are replaced or added, all of
them may move C(r) alike: m times as much.  Assumption: bounds and grid are public.

Algorithm: all borders between two neighbouring distinct values have the same utility, so
the mechanism draws a gap with its number of borders as multiplicity, then a border in it
uniformly.  Both draws are exact (``voile.dp.exponential``).

Cost: some 100 ns a distinct value for each border, apart from sorting.

Departure from the source: borders are whole numbers of a grid instead of reals, which makes an
exact draw possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.dp.exact import uniform_below
from voile.dp.exponential import ExponentialMechanism
from voile.schema.budget import Change
from voile_base.errors import PlanError

__all__ = ["PrivateQuantiles"]

_INT64_SAFE = 2**62


@dataclass(frozen=True)
class PrivateQuantiles:
    """Borders that split rows by cumulative shares, drawn with a total budget of ``epsilon``.

    Raises ``PlanError`` unless ``epsilon`` is above 0, shares ascend between 0 and 1, both
    excluded, and ``low`` is below ``high``.
    """

    shares: tuple[Fraction, ...]
    """Of rows below each of m borders, ascending."""
    low: int
    """Public bounds of the values, in steps of the grid, both inclusive."""
    high: int
    epsilon: Decimal
    change: Change = "add-remove"
    """Whether rows come and go between neighbours, or are replaced."""
    rows: int = 1
    """By how many rows neighbours differ; at least 1."""

    def __post_init__(self) -> None:
        edges = (Fraction(0), *self.shares, Fraction(1))
        if any(share >= following for share, following in pairwise(edges)):
            raise PlanError("cumulative shares must ascend between 0 and 1, both excluded")
        if self.low >= self.high:
            raise PlanError("the lower public bound must be below the upper one")
        if not self.epsilon > 0:
            raise PlanError(f"the epsilon of quantiles must be above 0, not {self.epsilon}")
        if self.rows < 1:
            raise PlanError(f"neighbours differ by at least one row, not {self.rows}")

    def sensitivity(self, share: Fraction) -> int:
        """By how much the utility of a border can differ between neighbours."""
        part, whole = share.numerator, share.denominator
        return self.rows * (whole if self.change == "replace" else max(part, whole - part))

    def draw(
        self, values: NDArray[np.int64], rows: NDArray[np.int64], words: Iterator[int]
    ) -> NDArray[np.int64]:
        """Borders in steps of the grid, shape (m,), ascending, from ``low`` + 1 to ``high``.

        A border r splits the rows into those below r and those from r on; two borders may be
        equal.  ``values`` are d values in steps, not descending, shape (d,), and are clamped to
        the bounds; ``rows`` the number of rows of each; ``words`` independent uniform words.
        """
        ends = np.clip(values, self.low, self.high)
        edges = np.concatenate(([self.low], ends, [self.high]))
        below = np.concatenate(([0], np.cumsum(rows)))
        borders = [self._border(share, edges, below, words) for share in self.shares]
        return np.sort(np.array(borders, dtype=np.int64))

    def _border(
        self,
        share: Fraction,
        edges: NDArray[np.int64],
        below: NDArray[np.int64],
        words: Iterator[int],
    ) -> int:
        """One border: gap i has the candidates edges[i] + 1 to edges[i + 1]."""
        part, whole = share.numerator, share.denominator
        total = int(below[-1])
        counts: NDArray[Any] = below if whole * total < _INT64_SAFE else below.astype(object)
        mechanism = ExponentialMechanism(
            Fraction(self.epsilon) / len(self.shares), Fraction(self.sensitivity(share))
        )
        sizes = np.diff(edges)
        gap = mechanism.draw(-abs(whole * counts - part * total), words, sizes)
        return int(edges[gap]) + 1 + uniform_below(int(sizes[gap]), words)
