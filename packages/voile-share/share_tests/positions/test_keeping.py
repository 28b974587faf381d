"""Noise that stays with places, in a live stream: its law, its keys, what it costs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from voile_base.randomness import Randomness
from voile_geo.geodesy import displaced, metres_between
from voile_geo.planar.costs import gaussian_epsilon, squared_mu
from voile_geo.planar.field import DAY, Trips, _field_key
from voile_geo.planar.noise import GaussianField, LiveField, perturb
from voile_geo.planar.steps import Zones
from voile_share.positions import Levels, PositionStream, spent_on, without_ended_key

NOON = 20_000 * 86_400 + 43_200
PERIOD = 28 * 86_400
PLACE = (52.01, 4.36)
LEVELS = Levels()


def key(name: str = "truck"):
    return Randomness.seeded(7).key(name)


def at(metres: float) -> tuple[float, float]:
    """So far east of the place."""
    return displaced(*PLACE, metres, 0.0)


def shown(stream: PositionStream, metres: float, time: int):
    return stream.report(*at(metres), float(time), time)


def level(positions, number: int) -> tuple[float, float]:
    return positions[number].latitude, positions[number].longitude


def restarted(stream: PositionStream, name: str) -> PositionStream:
    """As after a restart: from what is kept, with new entropy."""
    return PositionStream(LEVELS, key(name), state=stream.kept)


def test_a_stream_shows_what_a_table_does():
    """One trip of a vehicle, to the digit: driving, standing, driving back."""
    numbers = (0.8, 700.0, 28.0, 120.0, 0.75)
    noise = GaussianField(Zones([0.005]), *numbers)
    metres = [0.0, 30.0, 400.0, 410.0, 395.0, 900.0, 400.0, 0.0]
    latitude, longitude = (np.array(side) for side in zip(*map(at, metres), strict=True))
    time = NOON + 30.0 * np.arange(len(metres))
    start, one = np.array([0, len(metres)]), np.array([5], np.uint64)
    vehicle, fleet = np.array([9], np.uint64), np.array([3], np.uint64)
    trips = Trips(latitude, longitude, time, start, one, vehicle=vehicle, fleet=fleet)
    table = perturb(noise, trips, key(), key("fields"))
    law = key("fields").within("law", *(f"{number!r}" for number in (0.005, *numbers)))
    period = int(NOON // (28 * DAY))
    fields = _field_key(law, 9, period), _field_key(law.within("fleet"), 3, period)
    live = LiveField(noise, 5)
    for i, place in enumerate(zip(latitude, longitude, strict=True)):
        live = LiveField(noise, 5, state=json.loads(json.dumps(live.state)))
        found = live.report(place, time[i], i, key(), fields)
        assert found == (table.latitude[i], table.longitude[i])


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_each_level_moves_positions_by_its_displacement(number):
    """Distances follow the Rayleigh law of the level's epsilon, and 15 % more noise does not.

    Kolmogorov-Smirnov on 1,500 positions, each of a field of its own, false alarm 1e-3.
    """
    found = [
        level(shown(PositionStream(LEVELS, key(f"{i}")), 0.0, NOON), number) for i in range(1_500)
    ]
    moved = [metres_between(*PLACE, *one) for one in found]
    scale = LEVELS.displacements[number] / math.sqrt(math.pi / 2)
    assert stats.kstest(moved, stats.rayleigh(scale=scale).cdf).pvalue > 1e-3
    assert stats.kstest(moved, stats.rayleigh(scale=1.15 * scale).cdf).pvalue < 1e-3


def test_a_truck_that_stands_shows_one_position():
    """All levels repeat what they showed, for hours and through the errors of a receiver."""
    stream = PositionStream(LEVELS, key())
    begun = shown(stream, 0.0, NOON)
    first = [level(begun, i) for i in range(3)]
    for number in range(1, 97):
        again = shown(stream, 10.0 * math.sin(number), NOON + 300 * number)
        assert [level(again, i) for i in range(3)] == first
    moved = shown(stream, 300.0, NOON + 300 * 97)
    assert all(level(moved, i) != first[i] for i in range(3))


def noise_of_days(streams, number: int) -> np.ndarray:
    """North of the place, in deviations, at noon of each day; (trucks, days)."""
    scale = LEVELS.displacements[number] / math.sqrt(math.pi / 2) / 111_267
    return np.array([[level(p, number)[0] - PLACE[0] for p in days] for days in streams]) / scale


@pytest.mark.slow
def test_noise_stays_on_other_days_and_over_restarts_and_ends_with_its_period():
    """At one place: correlation .8 and less at levels above it, and none in the next period.

    400 trucks that were elsewhere in between; 4.5 standard errors.  Their service restarts before
    every day but the first, so that they go on from what is kept alone.
    """
    first = PERIOD * (NOON // PERIOD + 1) + 3_600
    days = (first, first + 86_400, first + 20 * 86_400, first + PERIOD)
    trucks = []
    for truck in range(400):
        stream, seen = PositionStream(LEVELS, key(f"{truck}")), []
        for day in days:
            seen.append(shown(stream, 0.0, day))
            shown(stream, 5_000.0, day + 3_600)
            stream = restarted(stream, f"{truck} {day}")
        trucks.append(seen)
    for number, stays in enumerate((0.8, 0.7, 0.6)):
        noise = np.corrcoef(noise_of_days(trucks, number).T)
        error = 4.5 / math.sqrt(400)
        assert noise[0, 1] > stays - error * (1 - stays**2)
        assert noise[0, 2] > stays - error * (1 - stays**2)
        assert noise[0, 1] < 0.8 + error * (1 - 0.8**2)
        assert abs(noise[0, 3]) < error


def at_a_depot(trucks: int, fleets: int, levels: Levels, number: int, own: bool) -> np.ndarray:
    """Noise east and north of one place, in deviations: first reports of trucks; (fleets, 2).

    Means over the trucks of each fleet; ``own`` says that they have nothing in common.
    """
    scale = levels.displacements[number] / math.sqrt(math.pi / 2)
    found = np.empty((fleets, trucks, 2))
    for fleet in range(fleets):
        common = None if own else key(f"fleet {fleet}")
        for truck in range(trucks):
            stream = PositionStream(levels, key(f"{fleet} {truck}"))
            made = level(stream.report(*PLACE, float(NOON), NOON, common), number)
            north = (made[0] - PLACE[0]) * 111_267
            east = (made[1] - PLACE[1]) * 111_320 * math.cos(math.radians(PLACE[0]))
            found[fleet, truck] = east / scale, north / scale
    return found.mean(axis=1)


@pytest.mark.slow
def test_ten_trucks_of_a_company_do_not_average_their_noise_away():
    """The mean of their first reports has the law's variance, .6 + .2 / 10 + .2 / 10, near.

    400 fleets, two axes: chi-square with 800 degrees, false alarm 1e-3; and trucks with a field
    each, or all in common, are rejected.
    """

    def plausible(noise: np.ndarray) -> float:
        below = float(stats.chi2(noise.size).cdf((noise**2).sum() / (0.6 + 0.4 / 10)))
        return 2 * min(below, 1 - below)

    assert plausible(at_a_depot(10, 400, LEVELS, 0, own=False)) > 1e-3
    assert plausible(at_a_depot(10, 400, LEVELS, 0, own=True)) < 1e-3
    without_own = replace(LEVELS, shared=0.999)
    assert plausible(at_a_depot(10, 400, without_own, 0, own=False)) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("number", "left"), [(1, 0.65), (2, 0.6)])
def test_farther_levels_of_a_company_keep_most_of_what_the_near_one_does(number, left):
    """Of 20 trucks at one depot at least so much of one report's error, and .3 with own fields.

    Their fields are looked up at positions that were shown, which differ by truck.  100 fleets;
    a root of 200 squares is off by 5 %, so that .6 lies 3 standard errors and more below what was
    measured over 1,500 (.73 and .69).
    """
    mean = at_a_depot(20, 100, LEVELS, number, own=False)
    assert math.sqrt((mean**2).mean()) > left
    alone = at_a_depot(20, 100, LEVELS, number, own=True)
    assert math.sqrt((alone**2).mean()) < 0.3


@pytest.mark.slow
def test_trucks_of_two_companies_have_nothing_in_common():
    """Their noise at one place is uncorrelated: 400 pairs, two axes, 4.5 standard errors."""
    one, other = (
        np.array(
            [
                level(
                    PositionStream(LEVELS, key(f"{who} {i}")).report(
                        *PLACE, float(NOON), NOON, key(f"fleet {who} {i}")
                    ),
                    0,
                )
                for i in range(400)
            ]
        )
        for who in "ab"
    )
    for axis in (0, 1):
        assert abs(np.corrcoef(one[:, axis], other[:, axis])[0, 1]) < 4.5 / math.sqrt(400)


def test_a_key_is_in_the_state_until_its_period_ends_and_then_gone():
    """One key a period, the same after a restart; another one, and the old one nowhere, later."""
    stream = PositionStream(LEVELS, key())
    shown(stream, 0.0, NOON)
    held = json.loads(stream.kept)["field"]
    assert held["until"] == PERIOD * (NOON // PERIOD + 1)
    stream = restarted(stream, "other")
    shown(stream, 400.0, NOON + 300)
    assert json.loads(stream.kept)["field"] == held
    shown(stream, 800.0, int(held["until"]))
    assert held["key"] not in stream.state.decode()
    assert json.loads(stream.kept)["field"]["until"] == held["until"] + PERIOD


def test_an_ended_key_is_taken_out_of_a_state_and_nothing_else():
    """At its end, not before; what a day has cost stays."""
    stream = PositionStream(LEVELS, key())
    shown(stream, 0.0, NOON)
    until = json.loads(stream.kept)["field"]["until"]
    for state in (stream.kept, stream.state):
        assert without_ended_key(state, until - 1) is state
        left = without_ended_key(state, until)
        before = json.loads(state)
        del before["field"]
        assert json.loads(left) == before
        assert without_ended_key(left, until) is left


def test_what_is_kept_tells_no_position():
    """Times, costs and the key of the field: neither places nor noise."""
    stream = PositionStream(LEVELS, key())
    shown(stream, 0.0, NOON)
    assert set(json.loads(stream.kept)) == {"time", "day", "spent", "field"}


def test_other_terms_have_other_fields():
    """Of one field in two sizes positions could be computed."""
    streams = [
        PositionStream(levels, key(), state=state)
        for levels, state in (
            (LEVELS, None),
            (replace(LEVELS, displacements=(200.0, 600.0, 2_400.0)), None),
            (replace(LEVELS, lengths=(500.0, 800.0, 1_400.0)), None),
            (replace(LEVELS, stays=0.7), None),
        )
    ]
    east = [level(shown(one, 0.0, NOON), 0)[1] - PLACE[1] for one in streams]
    metres = np.array(east) / np.array([150, 200, 150, 150])
    assert np.unique(metres.round(12)).size == 4
    spread = np.abs(np.diff(metres))
    assert (spread > 1e-6).all()


def test_costs_are_those_of_a_path_moved_as_a_whole_by_driving_time():
    """Standing costs nothing, driving what the fresh part does, and a restart a first report."""
    stream = PositionStream(LEVELS, key(), distance=50.0)
    times = np.array([0.0, 60.0, 120.0, 180.0]) + NOON
    for i, time in enumerate(times):
        shown(stream, 200.0 * i, int(time))
    epsilons = np.full(4, 2 / 150)
    driven = squared_mu(epsilons, times, 50.0 / math.sqrt(0.2), 120.0, "shifted")
    once = gaussian_epsilon(math.sqrt(driven[-1]), 1e-5)
    assert spent_on(stream.state, NOON // 86_400, 1e-5) == pytest.approx(once)
    shown(stream, 610.0, NOON + 9_000)
    assert spent_on(stream.state, NOON // 86_400, 1e-5) == pytest.approx(once)
    stream = PositionStream(LEVELS, key("other"), distance=50.0, state=stream.kept)
    shown(stream, 610.0, NOON + 9_300)
    again = gaussian_epsilon(math.sqrt(driven[-1] + driven[0]), 1e-5)
    assert spent_on(stream.state, NOON // 86_400, 1e-5) == pytest.approx(again)


@pytest.mark.slow
def test_levels_are_nested():
    """What the middle level adds does not depend on the near noise, over 1,500 fields."""
    found = [shown(PositionStream(LEVELS, key(f"{i}")), 0.0, NOON) for i in range(1_500)]
    near = np.array([level(p, 0)[0] for p in found]) - PLACE[0]
    middle = np.array([level(p, 1)[0] for p in found]) - PLACE[0]
    assert abs(np.corrcoef(near, middle - near)[0, 1]) < 4.5 / math.sqrt(1_500)
    assert np.corrcoef(near, middle)[0, 1] > 0.15


def test_time_only_moves_forward():
    """What cannot be reported changes nothing, and says nothing of where."""
    stream = PositionStream(LEVELS, key())
    shown(stream, 0.0, NOON)
    before = stream.state
    for place, time in ((PLACE, NOON), ((91.0, 0.0), NOON + 300), (PLACE, NOON - 300)):
        with pytest.raises(ValueError, match=r"later|latitude") as caught:
            stream.report(*place, float(time), NOON + 600)
        assert "52" not in str(caught.value)
    assert stream.state == before
