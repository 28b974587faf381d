"""Intervals of arrival hold as many arrivals as they say, and are none where nobody can say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from voile.errors import InputError
from voile.sharing.arrival import Calibration, Interval, Past

DRIVES, TRIALS = 120, 500
WANTED = 0.9
SIZE = 1e-4
"""Of a test: how often it fails where the promise holds."""


def drives(number: int, generator: np.random.Generator, spread: float = 0.5) -> list[Past]:
    """Drives at speeds of their own, each with positions that depend on each other."""
    made = []
    for _ in range(number):
        speed = 8 * np.exp(spread * generator.standard_normal())
        true = np.sort(generator.uniform(500, 20_000, generator.integers(3, 30)))[::-1]
        shown = np.abs(true + 300 * generator.standard_normal(len(true)))
        made.append(Past(shown.tolist(), (true / speed).tolist()))
    return made


@cache
def past_of(trial: int) -> Calibration:
    """A past of its own for each trial, the same for every kind of next drive."""
    return Calibration.fit(drives(DRIVES, np.random.default_rng([2023, trial])))


def held(spread_of_next: float) -> tuple[int, int]:
    """Of next drives, each after a past of its own: arrivals that are held, and that are told."""
    count = told = 0
    for trial in range(TRIALS):
        past = past_of(trial)
        generator = np.random.default_rng([2024, trial])
        (after,) = drives(1, generator, spread_of_next)
        at = generator.integers(len(after.metres))
        interval = past.interval(after.metres[at], WANTED)
        if interval is not None:
            told += 1
            count += interval.low <= after.seconds[at] <= interval.high
    assert told > 0.9 * TRIALS
    return count, told


def test_the_next_drive_arrives_within_its_interval_as_often_as_is_said():
    """After 120 drives as many are held as of a coin of 90 %, or more; too many are not."""
    count, told = held(0.5)
    assert count >= binom.ppf(SIZE, told, WANTED)
    assert count <= binom.ppf(1 - SIZE, told, 0.96)


def test_a_drive_that_is_not_like_the_past_is_found_out_by_the_same_test():
    """The promise rests on drives that are exchangeable: of others fewer are held."""
    count, told = held(1.5)
    assert count < binom.ppf(SIZE, told, WANTED)


def test_many_positions_of_one_drive_are_one_drive():
    """However many positions a drive has shown, it is one piece of evidence."""
    alone = Past([1_000.0] * 10_000, [100.0] * 10_000)
    assert Calibration.fit([alone]).interval(1_000.0) is None
    past = [Past([1_000.0], [float(100 + one)]) for one in range(19)]
    assert Calibration.fit(past).interval(1_000.0) == Interval(100.0, 118.0, 19)


def test_there_is_no_figure_where_there_is_none_to_give():
    """With fewer drives than the coverage asks for, or at distances never seen: nothing."""
    past = [Past([1_000.0], [float(100 + one)]) for one in range(18)]
    assert Calibration.fit(past).interval(1_000.0) is None
    assert Calibration.fit([]).interval(1_000.0) is None
    plenty = Calibration.fit(drives(DRIVES, np.random.default_rng(1)))
    assert plenty.interval(5_000.0) is not None
    assert plenty.interval(500_000.0) is None


def test_intervals_widen_where_drives_differ_and_where_they_are_few():
    """A wider spread of speeds, and less of a past, make an interval wider."""

    def width(number: int, spread: float) -> float:
        widths = []
        for seed in range(20):
            past = drives(number, np.random.default_rng([7, seed]), spread)
            found = Calibration.fit(past).interval(5_000.0)
            assert found is not None
            widths.append(found.high - found.low)
        return float(np.median(widths))

    assert width(200, 0.2) < width(200, 0.6)
    assert width(200, 0.5) < width(40, 0.5)


def test_what_is_no_distance_is_refused():
    """Neither infinite nor negative numbers are distances, nor is 1 a coverage."""
    some = Calibration.fit(drives(30, np.random.default_rng(1)))
    for metres, coverage in ((-1.0, 0.9), (float("nan"), 0.9), (1.0, 1.0), (1.0, 0.0)):
        with pytest.raises(InputError):
            some.interval(metres, coverage)
    for metres, seconds in (([1.0], []), ([float("inf")], [1.0]), ([1.0], [-1.0])):
        with pytest.raises(InputError):
            Past(metres, seconds)
