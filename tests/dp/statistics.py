"""Tests of laws: how likely counts at least this far from a law are, if the law is right."""

from __future__ import annotations

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
