"""The worked numbers of the bin packing paper, by what a plan says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from voile.publish.dp_generalization import DPGeneralization
from voile.publish.dp_generalization.decision import Sampling


def test_eq_33_is_1_803972805_in_the_example_of_the_paper() -> None:
    """K = 4, |D| = 40, beta = .7 and epsilon' = 3: the paper's 1.8, with epsilon_choice = .6."""
    choice = 2 * Decimal(3) * 4 / 40
    split = Sampling(4, Decimal("0.7")).split_budget(None, choice, None)
    assert split.choice == Decimal("0.6")
    assert float(split.epsilon) == pytest.approx(1.803972805, abs=1e-9)
    DPGeneralization(k=4, epsilon_choice=choice, choice="sampled")


def test_the_delta_of_section_vi_is_below_one_in_a_thousand() -> None:
    """|D| = 1000, beta = .7, k = 40, epsilon_1 = 1: delta is 6.790237e-4."""
    split = Sampling(40, Decimal("0.7")).split_budget(None, Decimal(1), None)
    assert float(split.delta) == pytest.approx(6.790237e-4, rel=1e-6)
    assert split.delta < Decimal(1) / 1000
