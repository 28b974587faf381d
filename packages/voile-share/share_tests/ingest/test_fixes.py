"""What of a position is believed, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given

from share_tests.ingest.messages import FIXES, NOW
from voile_share.ingest.fixes import LIVE, REASONS, Fix, IngestError, Region, Rules

GOOD = Fix("truck-7", 51.9, 4.4, NOW - 60, speed=13.0, course=271.0, accuracy=5.0, battery=0.5)
NETHERLANDS = Rules(region=Region(south=50.7, west=3.2, north=53.6, east=7.3))


def refusal(fix: Fix, rules: Rules = LIVE) -> IngestError:
    """Why a fix is refused."""
    with pytest.raises(IngestError) as caught:
        fix.checked(NOW, rules)
    return caught.value


@given(FIXES)
def test_a_good_fix_stays_as_it_is(fix: Fix) -> None:
    """Nothing in range is changed or lost."""
    assert fix.checked(NOW, LIVE) == fix


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"latitude": 90.001, "longitude": 120.0}, "latitude-out-of-range"),
        ({"latitude": -181.0}, "latitude-out-of-range"),
        ({"longitude": 180.001}, "longitude-out-of-range"),
        ({"latitude": 120.5, "longitude": 31.2}, "coordinates-swapped"),
        ({"latitude": 0.0, "longitude": 0.0, "accuracy": None}, "position-at-origin"),
        ({"latitude": math.nan}, "not-a-number"),
        ({"longitude": -math.inf}, "not-a-number"),
        ({"time": math.inf}, "not-a-number"),
        ({"speed": math.nan}, "not-a-number"),
        ({"time": NOW + LIVE.future + 1}, "time-in-the-future"),
        ({"time": NOW - LIVE.past - 1}, "time-too-old"),
        ({"accuracy": -1.0}, "no-fix"),
        ({"speed": 1001.0}, "value-out-of-range"),
        ({"course": 361.0}, "value-out-of-range"),
        ({"altitude": 1e6}, "value-out-of-range"),
        ({"battery": 1.01}, "value-out-of-range"),
    ],
)
def test_a_bad_fix_is_refused_with_its_reason(change: dict[str, float], reason: str) -> None:
    """Each rule has a reason of its own, and a sentence without any number of the fix."""
    fix = replace(GOOD, **change)
    error = refusal(fix)
    assert error.reason == reason
    assert str(error).startswith(REASONS[reason])
    for value in (fix.latitude, fix.longitude, fix.time):
        assert f"{value:g}" not in str(error)


@pytest.mark.parametrize(
    "change",
    [
        {"latitude": 90.0, "longitude": -180.0},
        {"latitude": -90.0, "longitude": 180.0},
        {"latitude": 0.0, "longitude": 0.0, "accuracy": 8.0},
        {"latitude": 0.0, "longitude": 4.0, "accuracy": None},
        {"time": NOW + LIVE.future},
        {"time": NOW - LIVE.past},
    ],
)
def test_what_lies_on_a_border_is_taken(change: dict[str, float]) -> None:
    """Poles, the 180th meridian, the limits of time, and a measured (0, 0)."""
    fix = replace(GOOD, **change)
    assert fix.checked(NOW, LIVE) == fix


def test_what_a_device_does_not_know_is_left_out() -> None:
    """Values below zero say unknown; a course of a full turn is north."""
    told = replace(GOOD, speed=-1.0, course=-1.0, battery=-1.0).checked(NOW, LIVE)
    assert (told.speed, told.course, told.battery) == (None, None, None)
    assert replace(GOOD, course=360.0).checked(NOW, LIVE).course == 0.0


def test_a_region_tells_swapped_coordinates() -> None:
    """Only what lies in the region the other way round is suspicious; a trip abroad is not."""
    swapped = replace(GOOD, latitude=GOOD.longitude, longitude=GOOD.latitude)
    assert refusal(swapped, NETHERLANDS).reason == "coordinates-swapped"
    assert swapped.checked(NOW, LIVE) == swapped
    for fix in (GOOD, replace(GOOD, latitude=48.8, longitude=2.3)):
        assert fix.checked(NOW, NETHERLANDS) == fix


def test_a_fix_does_not_show_where_it_is() -> None:
    """The device is all that repr tells."""
    assert repr(GOOD) == "Fix(device='truck-7')"
