"""The benchmark of noise that stays with places: every case runs, and what it measures is meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.trucks_fields import CASES, NOISES, Compared, _measurement
from benchmarks.trucks_standing import in_a_table
from benchmarks.trucks_staying import DEFAULT, STAYING, Case, Found, known_spots, look
from tests.benchmarks.test_trucks import drive, town
from voile.attack.trajectory.adversaries import RoadAdversary


@pytest.fixture(scope="module")
def found() -> list[Found]:
    """Two drives of two people in a town, in all cases."""
    roads = town()
    adversary = RoadAdversary(roads)
    driven = [drive(roads, user, 6.0) for user in (1, 2)]
    taken = [replace(one, road=adversary.nearest_roads(one.track)) for one in driven]
    return [
        look(adversary, roads, one, number, case, NOISES)
        for number, one in enumerate(taken)
        for case in CASES
    ]


@pytest.mark.slow
def test_every_case_is_run_and_told(found: list[Found]) -> None:
    """On each drive; what comes of it has all targets for both lengths, and their tables."""
    assert {(one.case, one.drive) for one in found} == {(c, n) for c in CASES for n in (0, 1)}
    assert all(0 <= one.right <= 1 and 0 < one.error < 3_000 for one in found)
    standing = {name: in_a_table(noise, 3_600, 20) for name, noise in NOISES.items()}
    told = _measurement(Compared(found, {0: 1, 1: 2}), standing, "two drives")
    assert len(told.targets) == 18
    assert [len(table.rows) for table in told.tables] == [3, 4, 3]


@pytest.mark.slow
def test_days_find_the_default_and_not_what_stays(found: list[Found]) -> None:
    """20 days take most metres of the default, and not of noise that stays."""
    compared = Compared(found, {0: 1, 1: 2})
    assert compared.times(Case("default", 20), Case("default"), "error")[0] < 0.5
    assert compared.times(Case("1000 m", 20), Case("1000 m"), "error")[0] > 0.5


@pytest.mark.slow
def test_a_truck_that_stands_is_averaged_away_by_the_default_alone() -> None:
    """Eight hours and twenty mornings, 100 trucks, with a receiver's errors of 8 m."""
    new, stays = (in_a_table(noise, 600, 100, receiver=8.0) for noise in (DEFAULT, STAYING))
    assert new.stop.mean() < 0.3 * new.one.mean()
    assert new.mornings.mean() < 0.4 * new.one.mean()
    assert stays.stop.mean() > 0.9 * stays.one.mean()
    assert stays.mornings.mean() > 0.7 * stays.one.mean()


def test_known_places_are_spread_along_the_way() -> None:
    """The middle, or the middles of five parts."""
    assert known_spots(41, 1).tolist() == [20]
    assert known_spots(41, 5).tolist() == [4, 12, 20, 28, 36]
    assert len(known_spots(41, 0)) == 0


def test_ratios_are_of_means_over_the_same_drives() -> None:
    """A drive that lacks a measure counts on neither side."""
    cases = Case("default"), Case("1000 m")
    values = ((10.0, 20.0), (20.0, 30.0), (5.0, np.nan))
    found = [
        Found(case, number, value, 0.5, value, value)
        for number, pair in enumerate(values)
        for case, value in zip(cases, pair, strict=True)
    ]
    ratio, width = Compared(found, {0: 1, 1: 2, 2: 3}).times(cases[1], cases[0], "near")
    assert ratio == pytest.approx(50 / 30)
    assert width > 0
