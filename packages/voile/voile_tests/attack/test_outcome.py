"""Means over few units, with intervals that say how few they are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from voile.attack.protocol import Estimate


@pytest.mark.parametrize("units", [2, 3, 10, 100])
def test_intervals_over_units_are_students(units: int) -> None:
    """The interval is that of a t-test, cut off at 0 and at the most that is possible."""
    values = np.random.default_rng(units).normal(100, 3, units)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = Estimate.of_units(values.tolist())
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    shares = Estimate.of_units([0.2, 0.9], most=1.0)
    assert (shares.low, shares.high) == (0.0, 1.0)


@pytest.mark.slow
def test_intervals_of_three_units_hold_as_often_as_they_say() -> None:
    """95 % of 4,000 intervals hold the mean, within 5 deviations (false alarms: 1 in 10^6).

    By the normal law some 82 % would, which the same bounds reject.
    """
    draws = np.random.default_rng(5).normal(50, 2, (4_000, 3))
    found = [Estimate.of_units(row.tolist()) for row in draws]
    held = np.mean([one.low <= 50 <= one.high for one in found])
    assert abs(held - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 4_000)
    reach = 1.96 * draws.std(axis=1, ddof=1) / math.sqrt(3)
    normal = np.mean(np.abs(draws.mean(axis=1) - 50) <= reach)
    assert abs(normal - 0.95) > 5 * math.sqrt(0.95 * 0.05 / 4_000)


def test_one_unit_tells_nothing_of_others() -> None:
    """Anything is possible, and JSON can say so."""
    alone = Estimate.of_units([12.0])
    assert (alone.value, alone.low, alone.high) == (12.0, 0.0, math.inf)
    assert json.dumps(alone.document(), allow_nan=False)
    assert alone.document()["high"] is None
