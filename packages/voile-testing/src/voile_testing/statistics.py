"""Tests of laws and of losses.

How likely counts at least this far from a law are, if the law is right; and how large the privacy
loss at an event must be, if a mechanism was seen to show it so often for two neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-6
"""A right law is rejected with this probability, for a fresh seed; seeds here are fixed."""

_LEAST_EXPECTED = 20.0


def p_value(counts: Sequence[int] | NDArray[np.int64], law: Sequence[float]) -> float:
    """Chi-square test of counts of c outcomes against their probabilities, which sum to 1.

    Outcomes that are expected less than 20 times count as one.
    """
    observed = np.asarray(counts, dtype=np.float64)
    expected = np.asarray(law, dtype=np.float64) * observed.sum()
    often = expected >= _LEAST_EXPECTED
    if not often.all() and expected[~often].sum() < _LEAST_EXPECTED:
        often[np.argmin(np.where(often, expected, np.inf))] = False
    cells = [np.append(kind[often], kind[~often].sum()) for kind in (observed, expected)]
    if cells[1][-1] == 0:
        cells = [kind[:-1] for kind in cells]
    return float(stats.chisquare(*cells).pvalue)


def least_loss(
    zero: NDArray[np.bool_],
    one: NDArray[np.bool_],
    delta: float = 0.0,
    false_alarm: float = FALSE_ALARM,
) -> float:
    """A lower bound of the privacy loss at an event, ln((P_0 - delta) / P_1).

    ``zero`` and ``one`` say which of independent draws for two neighbours show the event.  Exact
    binomial bounds (Clopper and Pearson) on either probability are wrong with probability
    ``false_alarm`` at most, for an event that was chosen beforehand.
    """
    hits, misses = int(zero.sum()), int(one.sum())
    low = stats.beta.ppf(false_alarm / 2, hits, len(zero) - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - false_alarm / 2, misses + 1, len(one) - misses)
    high = 1.0 if math.isnan(high) else high
    return math.log((low - delta) / high) if low > delta else -math.inf
