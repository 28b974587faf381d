"""How spread a column is, and how strongly two columns are tied to each other.

Measures, in nats, of counts:

- entropy of a column: how spread it is.  It says nothing about any other column;
- mutual information: what knowing one column tells about the other;
- normalized: divided by the mean of both entropies, from 0 (independent) to 1 (each gives the
  other).  A column of many values scores high by chance alone: with as many values as rows, it
  gives away every other column in this table, and nothing beyond it;
- adjusted for chance: so that its expectation is 0 where one of the columns is permuted uniformly.

Sources: Shannon, "A mathematical theory of communication" (1948); Vinh, Epps and Bailey,
"Information theoretic measures for clusterings comparison" (JMLR 11, 2010), the variants
NMI_sum and AMI_sum of Tables 2 and 3.

Cost: O(p) for p distinct pairs; the adjustment as ``hypergeometric`` says.

Departures: where both columns hold one value only, or one value a row, nothing could be tied: 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.models.hypergeometric import chance_information

__all__ = ["PairCounts", "adjusted_information", "entropy"]

Counts = NDArray[np.int64]
_NOTHING = 1e-12
"""Nats; far below what one row of a table can add, far above what rounding can."""


def entropy(rows: Counts) -> float:
    """Entropy in nats of a column with so many rows of each value, shape (v,)."""
    present = rows[rows > 0].astype(np.float64)
    total = present.sum()
    if len(present) < 2:
        return 0.0
    return max(0.0, float(np.log(total) - present @ np.log(present) / total))


def adjusted_information(entropies: tuple[float, float], joint: float, chance: float) -> float:
    """Normalized mutual information less what chance makes of it; at most 1, and 0 by chance.

    From the entropies of two columns, that of both together, and the mutual information that is
    expected by chance.
    """
    if min(entropies) <= _NOTHING:
        return 0.0
    room = sum(entropies) / 2 - chance
    if room <= _NOTHING:
        return 0.0
    return min((max(0.0, sum(entropies) - joint) - chance) / room, 1.0)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often values of two columns stand in one row: parallel arrays over distinct pairs."""

    first: Counts
    """Shape (p,): a value of the first column, from 0."""
    second: Counts
    rows: Counts
    """Shape (p,): rows of each pair, at least 1."""

    @cached_property
    def first_rows(self) -> Counts:
        """Rows of each value of the first column."""
        return _rows_of(self.first, self.rows)

    @cached_property
    def second_rows(self) -> Counts:
        """Rows of each value of the second column."""
        return _rows_of(self.second, self.rows)

    @cached_property
    def first_entropy(self) -> float:
        """Entropy of the first column, in nats."""
        return entropy(self.first_rows)

    @cached_property
    def second_entropy(self) -> float:
        """Entropy of the second column, in nats."""
        return entropy(self.second_rows)

    @cached_property
    def joint_entropy(self) -> float:
        """Entropy of both columns together, in nats."""
        return entropy(self.rows)

    @property
    def mutual_information(self) -> float:
        """In nats; at least 0."""
        return max(0.0, self.first_entropy + self.second_entropy - self.joint_entropy)

    @property
    def conditional_entropy(self) -> float:
        """Entropy of the second column where the first is known, in nats."""
        return max(0.0, self.joint_entropy - self.first_entropy)

    @property
    def normalized_information(self) -> float:
        """Mutual information over the mean of both entropies, from 0 to 1."""
        mean = (self.first_entropy + self.second_entropy) / 2
        return min(self.mutual_information / mean, 1.0) if mean > _NOTHING else 0.0

    @property
    def adjusted_information(self) -> float:
        """Normalized mutual information less what chance makes of it; at most 1, and 0 by chance.

        Slightly below 0 where two columns tell less about each other than chance would.
        """
        present = (rows[rows > 0] for rows in (self.first_rows, self.second_rows))
        entropies = self.first_entropy, self.second_entropy
        return adjusted_information(entropies, self.joint_entropy, chance_information(*present))


def _rows_of(codes: Counts, rows: Counts) -> Counts:
    # Sums of whole numbers below 2**53 are exact in doubles.
    return np.bincount(codes, weights=rows).astype(np.int64)
