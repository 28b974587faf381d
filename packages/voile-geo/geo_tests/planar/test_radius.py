"""The correction of epsilon for finite precision."""

from __future__ import annotations

import math

import pytest

from voile_base.errors import InfeasibleError
from voile_geo.planar.steps import corrected_epsilon

SINGLE_PRECISION = 2 * math.pi * 2.0**-24


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
