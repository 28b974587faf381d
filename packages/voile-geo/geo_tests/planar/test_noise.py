"""The laws of location noise in tables and streams, and that both are one."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import east_north
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import (
    AngleSelection,
    CorrelatedGaussian,
    Live,
    LocationNoise,
    PlanarLaplace,
    noisy_distances,
    perturb,
)
from voile_geo.planar.steps import (
    Zones,
    _normal_quantile,
    gaussian_scale,
    turn_deviation,
    turn_within,
)
from voile_testing.statistics import FALSE_ALARM

EPSILONS = (0.1, 0.05, 0.02, 0.01, 0.008, 0.005, 0.004, 0.002, 0.001, 0.0005)
TRIPS, REPORTS, GAP = 2_000, 50, 30.0
ZONES = Zones((1, 2), (200, 400), (5_000,), (4_000,), (39.9, 116.3))


def key(seed: int = 1) -> Key:
    return Randomness.seeded(seed).key("trips")


def constant(epsilon: float) -> Zones:
    return Zones([epsilon], [1.0])


def trips(count: int = TRIPS, reports: int = REPORTS) -> Trips:
    """Trips on a line to the north-east, each by itself."""
    along = np.tile(np.linspace(0, 0.05, reports), count)
    return Trips(
        latitude=39.88 + along,
        longitude=116.28 + along,
        time=np.tile(np.arange(reports) * GAP, count),
        start=np.arange(0, count * reports + 1, reports),
        identity=np.arange(count, dtype=np.uint64),
        receiver=np.tile([39.93, 116.33], (count, 1)),
    )


def noise_of(noise: LocationNoise, true: Trips | None = None) -> tuple[np.ndarray, np.ndarray]:
    """East and north of the noise of all reports, in metres."""
    true = true or trips()
    shown = perturb(noise, true, key())
    return east_north(true.latitude, true.longitude, shown.latitude, shown.longitude)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_mean_displacement_is_two_over_epsilon(epsilon: float) -> None:
    """100,000 reports: the mean distance times epsilon is 2 within 5 standard errors (6e-7)."""
    radius = np.hypot(*noise_of(PlanarLaplace(constant(epsilon)))) * epsilon
    assert radius.mean() == pytest.approx(2, abs=5 * math.sqrt(2 / len(radius)))


def test_the_radius_is_gamma_and_nothing_near() -> None:
    """Kolmogorov-Smirnov, 100,000 radii: Gamma(2) fits and a scale 30 % off does not; 1e-6."""
    radius = np.hypot(*noise_of(PlanarLaplace(constant(0.005)))) * 0.005
    assert stats.kstest(radius, stats.gamma(2).cdf).pvalue > FALSE_ALARM
    for scale in (0.7, 1.3):
        assert stats.kstest(radius, stats.gamma(2, scale=scale).cdf).pvalue < FALSE_ALARM


def test_radius_and_direction_are_independent_and_the_direction_uniform() -> None:
    """100,000 reports: uniform directions in all, and within each quarter of the radii; 1e-6."""
    east, north = noise_of(PlanarLaplace(constant(0.005)))
    turns = np.arctan2(east, north) / (2 * np.pi) % 1
    quarter = np.digitize(np.hypot(east, north) * 0.005, stats.gamma(2).ppf([0.25, 0.5, 0.75]))
    for chosen in (quarter >= 0, *(quarter == q for q in range(4))):
        assert stats.kstest(turns[chosen], "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(turns**1.02, "uniform").pvalue < FALSE_ALARM


@pytest.mark.parametrize("start", ["uniform", "zero"])
def test_selected_angles_turn_as_figure_10_says(start: Any) -> None:
    """98,000 turns stay within pi/8 as often as the wrapped law has it, to 5 standard errors."""
    deviation = turn_deviation(5, 1e-5, 1)
    noise = AngleSelection(constant(0.005), deviation, start)
    east, north = noise_of(noise)
    angle = np.arctan2(east, north).reshape(TRIPS, REPORTS)
    turn = np.abs((np.diff(angle) + np.pi) % (2 * np.pi) - np.pi)
    law = turn_within(math.pi / 8, deviation)
    assert (turn < math.pi / 8).mean() == pytest.approx(law, abs=5 * (law / turn.size) ** 0.5)
    first = stats.kstest(angle[:, 0] / (2 * np.pi) % 1, "uniform").pvalue
    assert first > FALSE_ALARM if start == "uniform" else first < FALSE_ALARM


def test_the_first_report_of_angle_selection_is_planar_laplace() -> None:
    """With a uniform start, the first report of each trip is that of planar Laplace noise."""
    radius = np.hypot(*noise_of(AngleSelection(constant(0.005), 0.3))) * 0.005
    assert stats.kstest(radius, stats.gamma(2).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("tau", [60.0, 600.0])
def test_correlated_noise_forgets_at_its_rate(tau: float) -> None:
    """2,000 trips: normal noise of the stated deviation, whose correlations are those of tau.

    Each estimate is within 6 standard errors, those of 4,000 independent pairs.
    """
    noise = noise_of(CorrelatedGaussian(constant(0.005), tau))
    axes = np.stack(noise).reshape(2, TRIPS, REPORTS) / gaussian_scale(0.005)
    each = axes.reshape(-1, REPORTS)
    for column in (0, 7, REPORTS - 1):
        assert stats.kstest(each[:, column], "norm").pvalue > FALSE_ALARM
        assert stats.kstest(1.3 * each[:, column], "norm").pvalue < FALSE_ALARM
    for lag in (1, 4, 20):
        found = (each[:, 0] * each[:, lag]).mean()
        assert found == pytest.approx(math.exp(-lag * GAP / tau), abs=6 * (2 / len(each)) ** 0.5)
    assert abs((axes[0, :, 3] * axes[1, :, 3]).mean()) < 6 / TRIPS**0.5


@pytest.mark.slow
def test_mechanisms_move_positions_equally_far() -> None:
    """All three have the mean displacement 2 / epsilon, so that they can be compared."""
    zones = constant(0.004)
    for noise in (PlanarLaplace(zones), AngleSelection(zones, 0.5), CorrelatedGaussian(zones, 30)):
        assert np.hypot(*noise_of(noise)).mean() * 0.004 == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("zones", [constant(0.005), ZONES])
@pytest.mark.parametrize("kind", [PlanarLaplace, AngleSelection, CorrelatedGaussian])
def test_a_stream_shows_what_a_table_shows(kind: Any, zones: Zones) -> None:
    """Reports one by one equal those of the table to the last bit, also over a restart."""
    noise = AngleSelection(zones, 0.5) if kind is AngleSelection else kind(zones)
    true = trips(3)
    shown = perturb(noise, true, key())
    for trip in range(3):
        state: dict[str, Any] = {}
        for i in range(trip * REPORTS, (trip + 1) * REPORTS):
            live = Live(noise, key(), trip, (39.93, 116.33), json.loads(json.dumps(state)))
            place = true.latitude[i], true.longitude[i]
            assert live.epsilon(*place) == shown.epsilon[i]
            assert live.report(*place, true.time[i]) == (shown.latitude[i], shown.longitude[i])
            state = live.state


@pytest.mark.parametrize("zones", [constant(0.005), ZONES])
@pytest.mark.parametrize("kind", [PlanarLaplace, AngleSelection, CorrelatedGaussian])
def test_long_trips_and_many_of_them_are_moved_in_parts(kind: Any, zones: Zones) -> None:
    """Trips of 1 to 40,000 reports, at uneven times: in a stream each shows the same."""
    noise = AngleSelection(zones, 0.5) if kind is AngleSelection else kind(zones)
    reports = np.array([1, 255, 256, 257, 1, 700, 40_000, 3, 600])
    start = np.concatenate(([0], np.cumsum(reports)))
    rng = np.random.default_rng(3)
    # A stream refuses two reports at one time where their noise would be one.
    gaps = [0.5 if kind is CorrelatedGaussian else 0, 10, 10, 31.5]
    true = Trips(
        latitude=39.9 + rng.uniform(-0.05, 0.05, start[-1]),
        longitude=116.3 + rng.uniform(-0.05, 0.05, start[-1]),
        time=np.concatenate([np.cumsum(rng.choice(gaps, n)) for n in reports]),
        start=start,
        identity=np.arange(len(reports), dtype=np.uint64) + 7,
        receiver=np.tile([39.93, 116.33], (len(reports), 1)),
    )
    parts = [rows for rows, _ in true.parts()]
    assert [rows.start for rows in parts[1:]] == [rows.stop for rows in parts[:-1]]
    assert (parts[0].start, parts[-1].stop, len(parts)) == (0, start[-1], 3)
    shown = perturb(noise, true, key())
    for trip in (1, 3, 4, 5, 8):
        live = Live(noise, key(), trip + 7, (39.93, 116.33))
        for i in range(start[trip], start[trip + 1]):
            place = true.latitude[i], true.longitude[i]
            assert live.report(*place, true.time[i]) == (shown.latitude[i], shown.longitude[i])


def test_the_normal_quantile_is_that_of_scipy() -> None:
    """To 15 digits in the middle and 13 in the tails, for all that 53 bits can give."""
    tails = 2.0 ** -np.arange(1, 54, 0.37)
    probability = np.concatenate((np.linspace(0.001, 0.999, 999), tails, 1 - tails[:140]))
    found = np.array([_normal_quantile(float(one)) for one in probability])
    assert found == pytest.approx(stats.norm.ppf(probability), rel=1e-13, abs=1e-15)
    assert _normal_quantile(0.5) == 0
    assert 8 < _normal_quantile(1 - 2.0**-53) < 8.3


def test_a_turn_is_normal() -> None:
    """98,000 turns in deviations fit the normal law, and not one 30 % off; 1e-6."""
    angle = np.arctan2(*noise_of(AngleSelection(constant(0.005), 0.2))).reshape(TRIPS, REPORTS)
    turn = ((np.diff(angle) + np.pi) % (2 * np.pi) - np.pi).ravel() / 0.2
    assert stats.kstest(turn, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(1.3 * turn, "norm").pvalue < FALSE_ALARM


def test_turns_and_radii_are_independent() -> None:
    """98,000 turns are normal within each quarter of the radii at their reports; 1e-6."""
    east, north = noise_of(AngleSelection(constant(0.005), 0.2))
    angle = np.arctan2(east, north).reshape(TRIPS, REPORTS)
    turn = ((np.diff(angle) + np.pi) % (2 * np.pi) - np.pi) / 0.2
    radius = np.hypot(east, north).reshape(TRIPS, REPORTS)[:, 1:] * 0.005
    quarter = np.digitize(radius, stats.gamma(2).ppf([0.25, 0.5, 0.75]))
    for q in range(4):
        assert stats.kstest(turn[quarter == q], "norm").pvalue > FALSE_ALARM


def test_what_a_trip_shows_depends_on_nothing_but_itself() -> None:
    """Trips in another order, or fewer of them, show the same positions."""
    true = trips(4)
    shown = perturb(PlanarLaplace(ZONES), true, key())
    chosen = np.arange(2 * REPORTS, 3 * REPORTS)
    alone = Trips(
        true.latitude[chosen],
        true.longitude[chosen],
        true.time[chosen],
        np.array([0, REPORTS]),
        true.identity[2:3],
        true.receiver[2:3] if true.receiver is not None else None,
    )
    again = perturb(PlanarLaplace(ZONES), alone, key())
    assert (again.latitude == shown.latitude[chosen]).all()
    assert (perturb(PlanarLaplace(ZONES), alone, key(2)).latitude != again.latitude).all()


def test_zones_follow_what_was_published() -> None:
    """Each report's epsilon is that of the zone of the position published before it."""
    shown = perturb(PlanarLaplace(ZONES), trips(20), key())
    at = np.arange(20 * REPORTS)
    before = np.where(at % REPORTS, at - 1, at)
    place = shown.latitude[before], shown.longitude[before]
    near = np.hypot(*east_north(*place, np.full(len(at), 39.93), np.full(len(at), 116.33))) < 5_000
    inside = np.hypot(*east_north(*place, np.full(len(at), 39.9), np.full(len(at), 116.3))) < 4_000
    expected = np.where(near, 1, 2) / np.where(inside, 200, 400)
    expected[at % REPORTS == 0] = 1 / 400
    assert shown.epsilon == pytest.approx(expected)
    assert len(np.unique(shown.epsilon)) == 3  # 2 / 400 and 1 / 200 are one


def test_the_seeds_zones_follow_the_true_position() -> None:
    """With ``by = "true"`` the same report on two sides of a border has two epsilons."""
    zones = Zones((1.0,), (200, 400), (), (4_000,), (39.9, 116.3), by="true")
    true = trips(1)
    shown = perturb(PlanarLaplace(zones), true, key())
    centre = np.full(REPORTS, 39.9), np.full(REPORTS, 116.3)
    inside = np.hypot(*east_north(true.latitude, true.longitude, *centre)) < 4_000
    assert shown.epsilon == pytest.approx(np.where(inside, 1 / 200, 1 / 400))


def test_the_remaining_distance_has_laplace_noise() -> None:
    """100,000 distances far from 0 fit Laplace of scale 1 / epsilon, and not 30 % off; 1e-6."""
    true = trips()
    distance, epsilon = np.full(len(true), 1e7), np.full(len(true), 0.005)
    noise = (noisy_distances(distance, epsilon, true, key()) - distance) * 0.005
    assert stats.kstest(noise, "laplace").pvalue > FALSE_ALARM
    assert stats.kstest(1.3 * noise, "laplace").pvalue < FALSE_ALARM


def test_a_distance_is_never_published_below_zero() -> None:
    """At the door every noisy distance is 0 or more."""
    true = trips(10)
    shown = noisy_distances(np.zeros(len(true)), np.full(len(true), 0.01), true, key())
    assert shown.min() == 0
    assert shown.max() > 0


def test_time_never_runs_backwards_in_a_stream() -> None:
    """A report that lies before the last one is refused, and the stream goes on."""
    live = Live(PlanarLaplace(ZONES), key(), 1, (39.9, 116.3))
    live.report(39.9, 116.3, 100.0)
    with pytest.raises(ValueError, match="before"):
        live.report(39.9, 116.3, 99.0)
    live.report(39.9, 116.3, 100.0)


def test_two_reports_at_one_time_never_share_their_noise() -> None:
    """Correlated noise would tell how far apart they are: refused, and the next goes on as if not.

    Noise drawn afresh tells nothing of it, and what a table shows at one time does.
    """
    live, other = (Live(CorrelatedGaussian(constant(0.005)), key(), 1) for _ in range(2))
    for stream in (live, other):
        stream.report(39.9, 116.3, 100.0)
    for late in (live, Live(CorrelatedGaussian(constant(0.005)), key(), 1, state=live.state)):
        with pytest.raises(ValueError, match="share their correlated noise"):
            late.report(39.91, 116.3, 100.0)
        with pytest.raises(ValueError, match="share their correlated noise"):
            late.report(39.91, 116.3, 100.0, number=9)
    assert live.state == other.state
    assert live.report(39.91, 116.3, 100.5) == other.report(39.91, 116.3, 100.5)
    # What is refused: the true difference, to the bit but for the roundings of a step.
    east = np.array([116.3, 116.4])
    once = np.zeros(2), np.array([0, 2]), np.array([1], dtype=np.uint64)
    both = Trips(np.full(2, 39.9), east, *once)
    shown = perturb(CorrelatedGaussian(constant(0.005)), both, key())
    assert np.diff(shown.longitude) == pytest.approx(0.1, abs=1e-9)
    for noise in (PlanarLaplace(ZONES), AngleSelection(ZONES, 0.5)):
        fresh = Live(noise, key(), 1, (39.9, 116.3))
        assert fresh.report(39.9, 116.3, 100.0) != fresh.report(39.9, 116.3, 100.0)


@pytest.mark.parametrize(
    "report",
    [
        (90.5, 116.3, 101.0),
        (-91.0, 116.3, 101.0),
        (39.9, 180.25, 101.0),
        (39.9, -181.0, 101.0),
        (math.nan, 116.3, 101.0),
        (39.9, math.inf, 101.0),
        (39.9, 116.3, math.inf),
        (39.9, 116.3, math.nan),
    ],
)
def test_what_is_no_report_is_refused_and_changes_nothing(report: tuple[float, ...]) -> None:
    """Neither in a stream that has begun nor before its first report; the value is not told."""
    for begun in (True, False):
        live = Live(CorrelatedGaussian(constant(0.005)), key(), 1)
        if begun:
            live.report(39.9, 116.3, 100.0)
        before = live.state
        with pytest.raises(ValueError, match=r"latitude within|finite number") as told:
            live.report(*report)
        assert not any(f"{value:g}" in str(told.value) for value in report if value not in {90})
        assert live.state == before
    live.report(-90, 180, 102.0)


@pytest.mark.parametrize(
    "zones",
    [
        {"levels": []},
        {"levels": [0.0]},
        {"levels": [1.0, math.nan], "level_limits": [10]},
        {"levels": [1.0, 2.0]},
        {"levels": [1.0, 2.0, 3.0], "level_limits": [10, 5]},
        {"levels": [1.0], "radii": [100, 200], "radius_limits": [1000]},
    ],
)
def test_zones_that_cannot_be_are_refused(zones: dict[str, Any]) -> None:
    """No levels, levels of 0, limits that are missing or do not ascend, radii without a centre."""
    with pytest.raises(PlanError):
        Zones(**zones)


def test_levels_need_the_place_a_trip_is_bound_for() -> None:
    """A table of trips without receivers is refused where levels depend on them."""
    true = trips(1)
    lost = Trips(true.latitude, true.longitude, true.time, true.start, true.identity)
    with pytest.raises(ValueError, match="bound for"):
        perturb(PlanarLaplace(ZONES), lost, key())
