"""How spread a column is, and how strongly two columns are tied to each other.

Measures, in nats, of counts:

- entropy of a column: how spread it is.  It says nothing about any other column;
- mutual information: what knowing one column tells about the other;
- normalized: divided by the mean of both entropies, from 0 (independent) to 1 (each gives the
  other).  A column of many values scores high by chance alone: with as many values as rows, it
  gives away every other column in this table, and nothing beyond it;
- adjusted for chance: the share of the second column's entropy that the first explains, beyond what
  it would by chance; its expectation is 0 where one of the columns is permuted uniformly.  It is
  divided by the entropy of the second column alone: where the first is divided further and tells
  nothing more of the second, it stays.  Divided by the mean of both entropies it would fall.

Sources: Shannon, "A mathematical theory of communication" (1948); Vinh, Epps and Bailey,
"Information theoretic measures for clusterings comparison" (JMLR 11, 2010), the variants
NMI_sum of Table 2, and the adjustment of Table 3; Theil, "Statistical decomposition analysis"
(1972), the uncertainty coefficient, for what it is divided by.

Where persons have several rows, counts are what their rows weigh, so many parts (``whole``) to a
person (``schema.persons``): all measures are then of persons.  What chance makes of a tie depends
on how many there are, and is that of whole persons: the weights of the values, rounded so that they
keep their sum.

Cost: O(p) for p distinct pairs; the adjustment as ``hypergeometric`` says.

Departures: where both columns hold one value only, or one value a row, nothing could be tied: 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.models.hypergeometric import chance_information

__all__ = ["PairCounts", "adjusted_information", "entropy", "whole_counts"]

Counts = NDArray[np.int64]
_NOTHING = 1e-12
"""Nats; far below what one row of a table can add, far above what rounding can."""


def entropy(rows: Counts, whole: int = 1) -> float:
    """Entropy in nats of a column with so many rows of each value, shape (v,)."""
    present = rows[rows > 0] / whole
    total = present.sum()
    if len(present) < 2:
        return 0.0
    return max(0.0, float(np.log(total) - present @ np.log(present) / total))


def whole_counts(rows: Counts, whole: int) -> Counts:
    """Weights, ``whole`` parts to one, as whole numbers of the same sum.

    The largest remainders are rounded up, of equal ones the first.
    """
    if whole == 1:
        return rows
    found = rows // whole
    left = round(int(rows.sum()) / whole) - int(found.sum())
    found[np.argsort(-(rows % whole), kind="stable")[:left]] += 1
    return found


def adjusted_information(entropies: tuple[float, float], joint: float, chance: float) -> float:
    """What one column explains of another one's entropy, less what chance makes of it; at most 1.

    From the entropies of both columns, that of the one explained last, that of both together, and
    the mutual information that is expected by chance.
    """
    if min(entropies) <= _NOTHING:
        return 0.0
    room = entropies[1] - chance
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
    """Shape (p,): rows of each pair, at least 1; or what they weigh."""
    whole: int = 1
    """What one weighs: 1 where rows are counted."""

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
        return entropy(self.first_rows, self.whole)

    @cached_property
    def second_entropy(self) -> float:
        """Entropy of the second column, in nats."""
        return entropy(self.second_rows, self.whole)

    @cached_property
    def joint_entropy(self) -> float:
        """Entropy of both columns together, in nats."""
        return entropy(self.rows, self.whole)

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
        """What the first column explains of the second's entropy, less what chance makes of it.

        At most 1, and 0 by chance; slightly below 0 where two columns tell less about each other
        than chance would.
        """
        present = (whole_counts(rows, self.whole) for rows in (self.first_rows, self.second_rows))
        entropies = self.first_entropy, self.second_entropy
        chance = chance_information(*(rows[rows > 0] for rows in present))
        return adjusted_information(entropies, self.joint_entropy, chance)


def _rows_of(codes: Counts, rows: Counts) -> Counts:
    # Sums of whole numbers below 2**53 are exact in doubles.
    return np.bincount(codes, weights=rows).astype(np.int64)
