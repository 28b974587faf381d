"""The law of the radius, its two inverses, and the correction for finite precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from voile.dp.planar.radius import (
    corrected_epsilon,
    radius_by_lambert_w,
    radius_distribution,
    radius_quantile,
)
from voile.errors import InfeasibleError

PROBABILITIES = np.array([0.05, 0.25, 0.5, 0.75, 0.95, 0.999])
QUANTILES = np.array([0.3553615, 0.9612788, 1.6783470, 2.6926345, 4.7438645, 9.2334135])
SINGLE_PRECISION = 2 * math.pi * 2.0**-24


def test_quantiles_are_those_of_the_law() -> None:
    """Worked quantiles of epsilon times the radius, by both inverses and by the gamma law."""
    assert radius_quantile(PROBABILITIES) == pytest.approx(QUANTILES, abs=5e-8)
    assert radius_by_lambert_w(PROBABILITIES) == pytest.approx(QUANTILES, abs=5e-8)
    assert stats.gamma(2).ppf(PROBABILITIES) == pytest.approx(QUANTILES, abs=5e-8)


def test_the_two_inverses_agree_where_lambert_w_has_digits() -> None:
    """Between 1e-6 and 1 - 1e-9 both inverses give the same radius, and undo the law."""
    probability = np.concatenate([np.logspace(-6, -0.001, 500), 1 - np.logspace(-9, -1, 100)])
    radius = radius_quantile(probability)
    assert radius_by_lambert_w(probability) == pytest.approx(radius, rel=1e-4)
    assert radius_distribution(radius) == pytest.approx(probability, rel=1e-9)


def test_lambert_w_loses_small_radii() -> None:
    """At p = 1e-14 Lambert's W is off by more than a tenth; the quantile keeps its digits."""
    small = np.array([1e-14])
    exact = math.sqrt(2e-14)  # (1 + x) e^(-x) = 1 - x^2 / 2 + ...
    assert radius_quantile(small) == pytest.approx(exact, rel=1e-6)
    assert abs(radius_by_lambert_w(small)[0] - exact) > 0.1 * exact


@pytest.mark.parametrize(
    ("epsilon", "step", "reach", "angle_step", "corrected"),
    [
        (1e-4, 0.1, 1e5, 2 * math.pi * 2.0**-53, 9.99721e-5),
        (0.001, 10.0, 2e4, SINGLE_PRECISION, 0.000698295),
        (0.01, 10.0, 2e4, SINGLE_PRECISION, 0.00966998),
    ],
)
def test_the_correction_of_eq_3_has_its_worked_values(
    epsilon: float, step: float, reach: float, angle_step: float, corrected: float
) -> None:
    """Worked corrections, and each just satisfies the inequality of eq. 3."""
    found = corrected_epsilon(epsilon, step, reach, angle_step)
    assert found == pytest.approx(corrected, rel=1e-5)
    fineness = step / (reach * angle_step)
    growth = 2 * math.exp(found * step)
    price = found + math.log((fineness + growth) / (fineness - growth)) / step
    assert price <= epsilon
    assert price == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "reach"), [(1e-4, 2e4), (1.0, 1e8)])
def test_precision_that_cannot_do_is_refused(epsilon: float, reach: float) -> None:
    """Too small an epsilon, and too coarse directions (q <= 2), name what would help."""
    with pytest.raises(InfeasibleError, match="coarser grid"):
        corrected_epsilon(epsilon, 10.0, reach, SINGLE_PRECISION)
