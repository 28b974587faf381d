"""The figure of a risk where a control leaves nothing open: of what guessing leaves open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from voile.policy.criteria.risks import _of_guessing
from voile.study.record import EstimateDocument


def rate(low: float, value: float, high: float) -> EstimateDocument:
    """A rate between two ends."""
    return EstimateDocument(value=value, low=low, high=high)


ALL = rate(0.9, 1.0, 1.0)


def test_the_figure_and_its_ends_are_those_worked_out_by_hand() -> None:
    """(.9 - 1) / (1 - .5), and the ends with the least that guessing may leave open."""
    found = _of_guessing(rate(0.8, 0.9, 0.95), ALL, rate(0.4, 0.5, 0.6))
    assert found["value"] == pytest.approx(-0.2)
    assert found["low"] == pytest.approx(-0.5)
    assert found["high"] == pytest.approx(0.125)
    below = _of_guessing(rate(0.3, 0.4, 0.5), ALL, rate(0.4, 0.5, 0.6))
    assert below["high"] == pytest.approx((0.5 - 0.9) / (1 - 0.4))


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_holds_whatever_rates_within_theirs_give(seed: int) -> None:
    """Brute force over the rates of all three intervals, as far as a share can be."""
    draw = np.random.default_rng(seed)
    main, guess = (rate(*sorted(draw.uniform(0.05, 0.95, 3))) for _ in range(2))
    control = rate(float(draw.uniform(0.5, 1)), 1.0, 1.0)
    found = _of_guessing(main, control, guess)
    ends = [np.linspace(one["low"], one["high"], 9) for one in (main, control, guess)]
    for m, c, g in itertools.product(*ends):
        assert found["low"] - 1e-9 <= np.clip((m - c) / (1 - g), -1, 1) <= found["high"] + 1e-9
    assert -1 <= found["low"] <= found["value"] <= 1


def test_where_guessing_may_leave_nothing_open_nothing_is_told_or_nothing_is_found() -> None:
    """Surely nothing: no excess; perhaps nothing: any."""
    main = rate(0.8, 0.9, 1.0)
    surely = _of_guessing(main, ALL, rate(1.0, 1.0, 1.0))
    assert (surely["value"], surely["low"], surely["high"]) == (0.0, 0.0, 0.0)
    perhaps = _of_guessing(main, ALL, rate(0.5, 0.9, 1.0))
    assert (perhaps["value"], perhaps["low"], perhaps["high"]) == (0.0, -1.0, 1.0)
