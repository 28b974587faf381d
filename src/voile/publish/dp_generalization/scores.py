"""The score of a group in the choice of a node: how many of its rows will be published.

``"expected"`` (the default).  The node is chosen on all rows, before any is sampled.  A group of
n rows scores h(n) = E[J; J >= k] with J ~ Binomial(n, beta): the rows that sampling and
suppression will leave of it, on average.  Adding a row to a group never lowers h, and raises it by
at most max_n h(n + 1) - h(n), which is far below k: 3.6 for k = 40 and beta = 0.7.  So the same
budget draws a node about ten times more sharply than with the seed's utility.

``"sampled"`` (the seed's eqs. 19 and 20).  The node is chosen on the sample that is published: a
group of n rows scores n if n >= k, else nothing, and one row can matter by k.

Either way the score of a group is a whole number of 2**-20 rows: a table for small groups that
goes on as a straight line.  Its sensitivity is read off the very table that is used, so rounding
cannot break the guarantee.

Cost: O(k / beta) for the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNITS", "GroupScore", "expected_score", "sampled_score"]

UNITS = 1 << 20
"""Units of a score in one published row."""

_TAIL = 12.0
"""Standard deviations beyond which a large group is sure to be published."""


@dataclass(frozen=True, eq=False)
class GroupScore:
    """The score by size of a group: ``table[n]``, and ``slope`` for each row beyond the table."""

    table: NDArray[np.int64]
    """For groups of 0, 1, ... rows, in units; never falls."""
    slope: int

    @property
    def sensitivity(self) -> int:
        """By how much one row more or less in a group can change its score."""
        return max(int(np.diff(self.table).max()), self.slope)


def expected_score(k: int, beta: Decimal) -> GroupScore:
    """Rows that are left of a group by sampling and suppression, on average."""
    chance = float(beta)
    largest = math.ceil((k + _TAIL * (math.sqrt(k) + _TAIL)) / chance) + k
    sizes = np.arange(largest + 1)
    expected = sizes * chance * _chance_of_at_least(k - 1, largest, chance)
    table = np.rint(np.maximum.accumulate(expected) * UNITS).astype(np.int64)
    return GroupScore(table, round(chance * UNITS))


def sampled_score(k: int) -> GroupScore:
    """All rows of a group that is large enough, and none of a smaller one."""
    table = np.zeros(k + 1, dtype=np.int64)
    table[k] = k * UNITS
    return GroupScore(table, UNITS)


def _chance_of_at_least(successes: int, largest: int, chance: float) -> NDArray[np.float64]:
    """P[Binomial(n - 1, chance) >= successes] for n = 0, ..., largest (0 for n = 0).

    Grows with every trial by the probability that exactly that trial is the last success needed.
    """
    trials = np.arange(largest)
    if successes == 0:
        return np.concatenate(([0.0], np.ones(largest)))
    last = np.zeros(largest)
    counted = trials[trials >= successes]
    # the trial with number m brings the last success: C(m - 1, s - 1) p^s q^(m - s)
    logs = (
        _log_binomials(counted - 1, successes - 1)
        + successes * math.log(chance)
        + (counted - successes) * math.log1p(-chance)
    )
    last[counted] = np.exp(logs)
    return np.concatenate(([0.0], np.minimum(np.cumsum(last), 1.0)))


def _log_binomials(n: NDArray[np.int64], r: int) -> NDArray[np.float64]:
    return np.array(
        [math.lgamma(m + 1) - math.lgamma(r + 1) - math.lgamma(m - r + 1) for m in n.tolist()]
    )
