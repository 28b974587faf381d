"""Drives at equal error of arrival: filters see no more than who waits does."""

from __future__ import annotations

import numpy as np

from benchmarks.trucks_filtered import filtered


def test_a_filter_sees_the_reports_so_far_and_takes_noise_off_a_truck_that_stands() -> None:
    """What comes later changes nothing before; after 30 reports errors have fallen by half."""
    shown = np.random.default_rng(31).normal(0, 100, (30, 2))
    seen = filtered(shown, 100.0, 0.03)
    assert (filtered(shown[:12], 100.0, 0.03) == seen[:12]).all()
    assert np.hypot(*seen[15:].T).mean() < 0.5 * np.hypot(*shown[15:].T).mean()
    assert filtered(shown, 100.0, np.inf) is shown
