"""What permuting columns within clusters hides, and what it costs.

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
  on the draw.  What one draw makes of the table is measured by ``voile.models.divergence``.

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
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from voile.models.dependence import PairCounts

__all__ = [
    "chance_per_row",
    "constant_clusters",
    "expected_divergence",
    "log_arrangements",
    "log_factorials",
    "whole_column_log_probability",
]


def log_arrangements(pairs: PairCounts) -> float:
    """Log of the number of distinct arrangements of a column within clusters; at least 0.

    ``pairs`` are of cluster and value.
    """
    if len(pairs.rows) == np.count_nonzero(pairs.first_rows):
        return 0.0  # exactly: every cluster holds one value
    of_clusters = log_factorials(pairs.first_rows, pairs.whole)
    return max(0.0, of_clusters - log_factorials(pairs.rows, pairs.whole))


def chance_per_row(pairs: PairCounts) -> float:
    """Expected share of rows that a uniform permutation within clusters gives their own value.

    ``pairs`` are of cluster and value; between 0 and 1.
    """
    rows = pairs.rows.astype(np.float64)
    right = (rows * rows / pairs.first_rows[pairs.first]).sum()
    return float(right / max(rows.sum(), 1.0))


def constant_clusters(pairs: PairCounts) -> int:
    """Clusters in which a column holds one value, so that permuting it changes nothing."""
    values = np.bincount(pairs.first)
    return int(np.count_nonzero(values == 1))


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
