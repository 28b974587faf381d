"""What is planned with: values, intervals and noisy values as whole numbers, and measures."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from voile.schema.numbers import ExactNumbers
from voile_base.errors import InputError
from voile_pack.parcels import (
    Limit,
    ParcelMeasure,
    Use,
    bin_loads,
    feasibility,
    heaviest_overload,
    objective_ratio,
)


def numbers(*values) -> ExactNumbers:
    return ExactNumbers.of([Decimal(str(value)) for value in values])


def test_planning_values():
    """Mean, upper end and quantile of intervals; values as they are; capacity less the margin."""
    interval = ParcelMeasure("w", None, numbers("0.5", 2), numbers("1.5", "2.5"))
    limit = Limit(Decimal(10), Decimal("0.02"))
    for use, expected in (
        ("mean", [1, 2.25]),
        ("upper", [1.5, 2.5]),
        ("quantile:0.9", [1.4, 2.45]),
    ):
        planned = interval.plan(limit, Use.of(use))
        found = [float(planned.number(units)) for units in planned.units]
        assert found == pytest.approx(expected, abs=2e-6)
        assert all(f >= e - 1e-9 for f, e in zip(found, expected, strict=True))
        assert planned.number(planned.capacity) == Decimal("9.8")
    exact = ParcelMeasure("w", numbers("0.1", "0.2", "0.3")).plan(Limit(Decimal("0.3")), Use())
    assert exact.units.tolist() == [1, 2, 3]
    assert exact.capacity == 3


def test_published_values_are_moved_to_possible_ones():
    """Noise may go below zero or beyond a bin; that is planned as zero, or as a bin of its own."""
    measure = ParcelMeasure("w", numbers(-4, 70, 5), numbers(-9, 65, 0), numbers(1, 75, 10))
    planned = measure.plan(Limit(Decimal(50)), Use())
    assert [planned.number(units) for units in planned.units] == [0, 50, 5]
    assert len(planned.notices) == 2
    assert "1 parcel is planned beyond what a bin may hold" in planned.notices[0]
    assert "1 published value is below zero" in planned.notices[1]


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (ParcelMeasure("w", numbers(5, -1)), r"w: 1 parcel is negative .the first in row 2"),
        (ParcelMeasure("w", numbers(5, 60, 70)), "w: 2 parcels are beyond .* row 2"),
        (ParcelMeasure("w", None, numbers(60), numbers(70)), "w: 1 parcel is beyond the capacity"),
        (
            ParcelMeasure("w", numbers(60, 1), rows=np.array([7, 9])),
            "w: 1 parcel is beyond the capacity of a bin .the first in row 7",
        ),
    ],
)
def test_impossible_parcels(measure, words):
    """True parcels that cannot be packed are refused by row, never by value."""
    with pytest.raises(InputError, match=words):
        measure.plan(Limit(Decimal(50)), Use())


def test_unknown_noise_is_refused():
    """A noisy value without its law has no probability of overload."""
    measure = ParcelMeasure("w", numbers(5), numbers(1), numbers(9))
    with pytest.raises(InputError, match="give the release folder"):
        measure.distributions(Limit(Decimal(50)))


@pytest.mark.parametrize("text", ["median", "quantile:", "quantile:1.5", "quantile:0", "0.9"])
def test_unknown_uses(text):
    """Ways to plan that do not exist are refused with those that do."""
    with pytest.raises(InputError, match="give mean, upper, or quantile:Q"):
        Use.of(text)


def test_measures_of_a_packing():
    """Objective ratio, feasibility and the heaviest overload, in one and in two dimensions."""
    bin_of = np.array([0, 0, 1, 2])
    loads = bin_loads(np.array([6, 6, 9, 10]), bin_of)
    assert loads.tolist() == [12, 9, 10]
    assert feasibility(loads, 10) == pytest.approx(2 / 3)
    assert heaviest_overload(loads, 10) == pytest.approx(0.2)
    assert heaviest_overload(loads, 12) == 0.0
    both = bin_loads(np.array([[6, 1], [4, 1], [1, 9], [1, 1]]), bin_of)
    assert feasibility(both, np.array([10, 8])) == pytest.approx(2 / 3)
    assert heaviest_overload(both, np.array([10, 8])) == pytest.approx(1 / 8)
    assert objective_ratio(11, 10) == pytest.approx(1.1)
    assert feasibility(np.empty(0, np.int64), 1) == 1.0
