"""What columns tell of each other, and what permuting them within clusters hides.

What permuting columns within clusters hides, and what it costs.

Setting: M columns are each permuted uniformly, independently of each other, within every cluster of
rows.  n rows, n_c of them in cluster c, n_cv of those with value v of a column.

- ``log_arrangements``: ln of the number of distinct arrangements of a column, the sum over clusters
  of ln(n_c! / prod_v n_cv!).  All of them are equally likely, so minus this number is the log of
  the chance of guessing the whole column.
- ``chance_per_row``: the expected share of rows that get their own value back, the sum of
  n_cv^2 / (n_c n); K / n for K clusters where all values differ.  It falls with larger clusters.
- ``whole_column_log_probability``: -n ln n, the seed's ln P_column.  It supposes n values to choose
  from in each row, so that it sees neither equal values nor clusters.
- ``expected_divergence``: the Kullback-Leibler divergence of the table as it is published on
  average over all permutations from the original.  With P the original distribution of whole rows,
  the expected one is Q(row) = P(columns that stay) times, for each permuted column, the share of
  its value in the row's cluster.  The cluster follows from columns that stay, so

      KL(P, Q) = sum over permuted columns of H(column | cluster) + H(columns that stay) - H(all).

  Every row of the original has Q > 0: it is finite, there are no zero cells, and it does not depend
  on the draw.  What one draw makes of the table is measured by ``voile.utility.divergence``.

Where persons have several rows, ``log_arrangements`` may be asked of what their rows weigh, so many
parts (``PairCounts.whole``) to a person, with the gamma function in place of factorials: as many
arrangements as of as many persons who have one row each.  That is a measure to choose by: swaps
among a person's own rows, which hide nothing, add nothing to it, and neither does repeating all
rows.  It is no bound on guessing.  It is at least 0 and grows as clusters are joined, because
ln Gamma(x + 1) is convex and 0 at 0.

Source: "Privacy Preserving in Big Data Sets through Multiple Shuffle" (ACSW 2017) for P_column,
P_table and the idea of a table divergence; the exact measures are elementary combinatorics.

Departure: the seed does not say between which distributions of the table its divergence is; here
it is as stated above, in nats.  Its figures normalise that of a single column, always 0, to 1.

Cost: O(p log p) for p distinct pairs of cluster and value.

How spread a column is, and how strongly two columns are tied to each other.

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

What chance alone makes of the information that two columns share.

Permute one of two columns uniformly: the rows in which value i of the first meets value j of the
second are then hypergeometric, X ~ H(n, a_i, b_j).  ``chance_information`` is the exact
expectation of their mutual information; ``chance_shares`` is what each value of the first column
adds to it, which depends on nothing of the first column but the value's own rows.

Source: Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison" (JMLR 11,
2010), Theorem 1 (eq. 24).

Algorithm: values with equally many rows share a distribution, so there are at most sqrt(2n)
distributions for each column.  Each is summed outwards from its mode by the ratio of neighbouring
probabilities, until these are below 1e-18 of that of the mode, and divided by their sum: no
factorial is needed, and no tail is walked.  Cost: O(s t w) for s and t distinct numbers of rows and
distributions of width w.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.ondemand import dataclass

__all__ = [
    "PairCounts",
    "adjusted_information",
    "chance_information",
    "chance_shares",
    "entropy",
    "expected_divergence",
    "log_factorials",
    "whole_column_log_probability",
    "whole_counts",
]


_NEGLIGIBLE = 1e-18


def chance_information(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Expected mutual information, in nats, of two columns of which one is permuted uniformly.

    ``first`` and ``second`` are the rows of each value of either column, all above 0; their sums
    are the same n, below 2**31.
    """
    sizes, times = np.unique(first, return_counts=True)
    return float(times @ chance_shares(sizes, second))


def chance_shares(sizes: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """What values with so many rows, shape (s,), each add to the chance information, in nats.

    ``second`` are the rows of each value of the other column, as for ``chance_information``.
    """
    b, b_times = np.unique(second, return_counts=True)
    return np.asarray(_summed(sizes, b, b_times, int(second.sum())))


@njit(cache=True, nogil=True)
def _summed(
    sizes: NDArray[np.int64], b: NDArray[np.int64], b_times: NDArray[np.int64], rows: int
) -> NDArray[np.float64]:
    shares = np.zeros(len(sizes))
    for i in range(len(sizes)):
        for j in range(len(b)):
            shares[i] += b_times[j] * _information(sizes[i], b[j], rows)
    return shares / rows


@njit(cache=True, nogil=True)
def _information(a: int, b: int, rows: int) -> float:
    """Expectation of X ln(X n / (a b)) for X ~ H(n, a, b)."""
    low, high = max(0, a + b - rows), min(a, b)
    mode = min(max((a + 1) * (b + 1) // (rows + 2), low), high)
    scale = rows / (float(a) * float(b))
    weights = 1.0
    total = mode * math.log(mode * scale) if mode else 0.0
    weight = 1.0
    for x in range(mode, high):
        weight *= float(a - x) * float(b - x) / (float(x + 1) * float(rows - a - b + x + 1))
        if weight < _NEGLIGIBLE:
            break
        weights += weight
        total += weight * (x + 1) * math.log((x + 1) * scale)
    weight = 1.0
    for x in range(mode, low, -1):
        weight *= float(x) * float(rows - a - b + x) / (float(a - x + 1) * float(b - x + 1))
        if weight < _NEGLIGIBLE:
            break
        weights += weight
        if x > 1:
            total += weight * (x - 1) * math.log((x - 1) * scale)
    return total / weights


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

    def log_arrangements(self) -> float:
        """Log of the number of distinct arrangements of a column within clusters; at least 0.

        The pairs are of cluster and value.
        """
        if len(self.rows) == np.count_nonzero(self.first_rows):
            return 0.0  # exactly: every cluster holds one value
        of_clusters = log_factorials(self.first_rows, self.whole)
        return max(0.0, of_clusters - log_factorials(self.rows, self.whole))

    def chance_per_row(self) -> float:
        """Expected share of rows that a uniform permutation within clusters gives their own value.

        The pairs are of cluster and value; between 0 and 1.
        """
        rows = self.rows.astype(np.float64)
        right = (rows * rows / self.first_rows[self.first]).sum()
        return float(right / max(rows.sum(), 1.0))

    def constant_clusters(self) -> int:
        """Clusters in which a column holds one value, so that permuting it changes nothing."""
        values = np.bincount(self.first)
        return int(np.count_nonzero(values == 1))


def _rows_of(codes: Counts, rows: Counts) -> Counts:
    # Sums of whole numbers below 2**53 are exact in doubles.
    return np.bincount(codes, weights=rows).astype(np.int64)


def whole_column_log_probability(rows: int) -> float:
    """Log of the seed's P_column, (1/n)^n; of its P_table, for M columns, M times as much."""
    return -rows * float(np.log(rows)) if rows else 0.0


def expected_divergence(permuted: Iterable[float], kept: float, together: float) -> float:
    """Divergence of the expected permuted table from the original, in nats; at least 0.

    From entropies: of each permuted column where the cluster is known; of all columns that stay
    together, among them those that decide the cluster; of all columns together.
    """
    return max(0.0, sum(permuted) + kept - together)


def log_factorials(counts: NDArray[np.int64], whole: int = 1) -> float:
    """Sum of ln(count!); of counts in parts of ``whole``, of ln Gamma(count / whole + 1)."""
    # Of n rows, at most sqrt(2n) counts differ.
    distinct, times = np.unique(counts, return_counts=True)
    logs = np.array([lgamma(count / whole + 1.0) for count in distinct.tolist()])
    return float(times @ logs)
