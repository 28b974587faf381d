"""The benchmark on drives elsewhere: what a gain is, and that motorways are no blind spot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.trucks_worldwide import INTERVALS, NOISES, Followed, Trace, follow

ONE = Followed(
    "a trace", next(iter(NOISES)), 30.0, 2, 100.0, 1.0,
    np.array([400.0, 420.0, 410.0]), np.array([300.0, 330.0, 305.0]), np.ones(3), 0, 0.1,
)  # fmt: skip


def test_worse_is_further_off_beyond_the_interval() -> None:
    """Of 100, 90 and 105 m nearer: 98.3 m, give or take 1.96 standard errors."""
    assert ONE.gain == pytest.approx((98.333, 1.96 * 7.6376 / 3**0.5), rel=1e-4)
    assert not ONE.worse
    assert replace(ONE, error=ONE.face + np.array([5.0, 6.0, 7.0])).worse
    assert not replace(ONE, error=ONE.face + np.array([-30.0, 1.0, 40.0])).worse


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("noise", NOISES)
def test_on_a_motorway_he_is_nearer_than_what_is_published(shared_data, noise, interval) -> None:
    """The trace at 125 km/h: never lost, most roads right, and matched to the route it took."""
    assert shared_data.is_dir()
    found = follow(Trace.read(5), noise, interval, draws=8)
    mean, width = found.gain
    assert found.lost == 0
    assert found.limit > 130
    assert mean - width > 0
    assert found.right.mean() > 0.75
    assert found.matched > 0.9
