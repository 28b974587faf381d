"""The law of noise that stays with the place: a random field of a key, and what is fresh."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import cartesian, displace, east_north, separation
from voile_geo.planar import field
from voile_geo.planar.field import DAY, STILL, Trips, _field_key
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, Live, perturb
from voile_geo.planar.steps import Zones, gaussian_scale, normal_pair
from voile_testing.statistics import FALSE_ALARM

LENGTH, HOME = 1_000.0, (39.9, 116.4)
ZONES = Zones([0.005])
SCALE = gaussian_scale(0.005)
AROUND = np.array(
    [(0, 0), (30, 0), (0, -200), (500, 0), (700, 900), (-2_500, 0), (0, 6_000)], float
)


def key(purpose: str = "places") -> Key:
    return Randomness.seeded(7).key(purpose)


def places(metres: np.ndarray = AROUND) -> tuple[np.ndarray, np.ndarray]:
    """Positions some metres east and north of home."""
    home = (np.full(len(metres), side) for side in HOME)
    return displace(*home, metres[:, 0].copy(), metres[:, 1].copy())


def covariance() -> np.ndarray:
    """Of the places around home, as the lines have it."""
    apart = AROUND[:, np.newaxis] - AROUND
    flat = field._kernel(apart[..., 0].ravel(), apart[..., 1].ravel(), *HOME, LENGTH)
    return flat.reshape(len(AROUND), len(AROUND))


def fields(count: int) -> np.ndarray:
    """The field at the places around home under many keys, both axes; shape (2 count, places)."""
    drawn = [field._field_at(*places(), LENGTH, key(f"{i}")) for i in range(count)]
    return np.swapaxes(np.array(drawn), 1, 2).reshape(-1, len(AROUND))


def journey(metres: np.ndarray, days: int = 1, vehicles: int = 1, gap: float = 60.0) -> Trips:
    """The same way of every vehicle on every day: trips by vehicle, then by day."""
    latitude, longitude = places(metres)
    count = days * vehicles
    one = np.arange(len(metres)) * gap
    return Trips(
        np.tile(latitude, count),
        np.tile(longitude, count),
        np.concatenate([one + DAY * (i % days) for i in range(count)]),
        np.arange(count + 1) * len(metres),
        np.arange(count, dtype=np.uint64),
        vehicle=np.repeat(np.arange(vehicles, dtype=np.uint64), days),
    )


def noise_of(noise: GaussianField, trips: Trips, purpose: str = "trips") -> np.ndarray:
    """Noise in deviations, shape (trips, reports, 2)."""
    shown = perturb(noise, trips, key(purpose))
    moved = east_north(trips.latitude, trips.longitude, shown.latitude, shown.longitude)
    return np.stack(moved, axis=1).reshape(len(trips.start) - 1, -1, 2) / SCALE


def asked_for(node: int) -> list[tuple[int, int]]:
    """Level and node of what is drawn for a node of a line: both ends, then each middle."""
    ends = [(0, node >> 13), (0, (node >> 13) + 1)]
    return ends + [(level, 2 * (node >> (14 - level)) + 1) for level in range(1, 14)]


def velocity(node: int, drawn: np.ndarray) -> float:
    """That of a line at a node, by halving it by itself; normal pairs of shape (15, 2)."""
    (x, u), (y, v) = drawn[:2]
    for level, (a, b, c) in enumerate(zip(*field._bridges(), strict=True)):
        p, q = drawn[level + 2]
        place = a[0, 0] * x + a[0, 1] * u + b[0, 0] * y + b[0, 1] * v + c[0, 0] * p
        speed = a[1, 0] * x + a[1, 1] * u + b[1, 0] * y + b[1, 1] * v + c[1, 0] * p + c[1, 1] * q
        if node >> (12 - level) & 1:
            x, u = place, speed
        else:
            y, v = place, speed
    return float(u)


@pytest.mark.parametrize("latitude", [0.0, 39.9, 60.0, 80.0])
def test_the_kernel_is_exponential_but_for_the_error_that_is_stated(latitude: float) -> None:
    """Within .005 up to one length and .025 beyond, in 24 directions, on three meridians."""
    far = np.concatenate((np.arange(0, 1.001, 0.05), np.arange(1.2, 25, 0.4))) * LENGTH
    for longitude in (0.0, 50.0, 116.4):
        for turn in np.arange(24) * math.pi / 24:
            step = far * math.cos(turn), far * math.sin(turn)
            found = field._kernel(*step, latitude, longitude, LENGTH)
            error = np.abs(found - np.exp(-far / LENGTH))
            assert error[far <= LENGTH].max() < 0.005
            assert error.max() < 0.025


def test_a_line_has_exactly_the_covariance_that_bands_need() -> None:
    """What nodes draw enters by known weights: their products are (1 - t) e^-t, to 1e-6."""
    base = 5 << 13
    nodes = base + np.array([0, 1, 7, 256, 300, 1_500, 4_096, 8_191, 8_192, 9_000])
    weights: list[dict[tuple[int, int, int], float]] = []
    for node in nodes:
        found = [velocity(node, one) for one in np.eye(30).reshape(30, 15, 2)]
        names = [(*which, axis) for which in asked_for(node) for axis in (0, 1)]
        weights.append(dict(zip(names, found, strict=True)))
    for i, one in enumerate(weights):
        for j, other in enumerate(weights):
            apart = abs(nodes[i] - nodes[j]) / field.RESOLUTION
            product = sum(one[name] * other[name] for name in one.keys() & other.keys())
            assert product == pytest.approx((1 - apart) * math.exp(-apart), abs=1e-6)


@pytest.mark.slow
def test_values_at_several_places_are_gaussian_with_the_kernel_as_covariance() -> None:
    """400 keys, 7 places, both axes: whitened values are standard normal; 30 % less is caught.

    Kolmogorov-Smirnov over all, the sum of their squares, and every correlation within 6 standard
    errors; false alarms below 1e-5 in all.
    """
    drawn = fields(400)
    white = np.linalg.solve(np.linalg.cholesky(covariance()), drawn.T).ravel()
    for values, right in ((white, True), (0.7 * white, False), (1.3 * white, False)):
        assert bool(stats.kstest(values, "norm").pvalue > FALSE_ALARM) is right
        tail = stats.chi2(len(values)).cdf((values**2).sum())
        assert bool(FALSE_ALARM < tail < 1 - FALSE_ALARM) is right
    apart = np.abs(drawn.T @ drawn / len(drawn) - covariance())
    assert apart.max() < 6 * (2 / len(drawn)) ** 0.5


def test_a_place_has_one_value_in_any_order_and_in_any_table() -> None:
    """One by one, backwards and in one call: equal to the last bit; and other keys have others."""
    metres = np.random.default_rng(3).uniform(-9e3, 9e3, (150, 2))
    latitude, longitude = places(metres)
    found = field._field_at(latitude, longitude, LENGTH, key())
    back = field._field_at(latitude[::-1].copy(), longitude[::-1].copy(), LENGTH, key())
    assert np.array_equal(found, back[::-1])
    one = field._field_at(latitude[70:71], longitude[70:71], LENGTH, key())
    assert np.array_equal(found[70:71], one)
    assert not np.isclose(found, field._field_at(latitude, longitude, LENGTH, key("other"))).any()


@pytest.mark.slow
def test_the_field_is_the_one_that_halving_each_line_by_itself_gives() -> None:
    """To the last bit, at places all over the earth: what a key publishes does not change."""
    latitude, longitude = np.array([39.9, -33.9, 89.9]), np.array([116.4, -179.99, 0.0])
    found = field._field_at(latitude, longitude, 700.0, key())
    along = cartesian(latitude, longitude) @ field._bands().T * (field.RESOLUTION / 700.0)
    for place, nodes in enumerate(np.rint(along).astype(int).tolist()):
        for axis in range(2):
            total = 0.0
            for band, node in enumerate(nodes):
                tag = (axis << 16) + (band << 8)
                words = [key().block(tag + level, at % 2**64) for level, at in asked_for(node)]
                pairs = [normal_pair(*np.array(both, dtype=np.uint64)) for both in words]
                total += velocity(node, np.array(pairs))
            assert found[place, axis] == total / math.sqrt(field.BANDS)


def test_a_key_has_the_field_that_it_had() -> None:
    """Values that were computed when fields were first drawn by halving."""
    latitude, longitude = np.array([39.9, 52.01, -33.9, 89.9]), np.array([116.4, 4.36, -179.99, 0])
    formerly = [
        (1.8672076304084322, -0.13687871980652905),
        (-0.05840658220530555, -1.7174372115115744),
        (0.3709743221159357, -0.24274470241500687),
        (-1.5193453973721724, 1.4977477271160677),
    ]
    found = field._field_at(latitude, longitude, 700.0, key())
    assert found == pytest.approx(np.array(formerly), abs=1e-9)


def test_a_truck_that_stands_says_nothing_new() -> None:
    """480 reports with a receiver's errors of some metres show one position, digit by digit."""
    jitter = np.random.default_rng(1).normal(0, 8, (480, 2))
    jitter[0] = 0
    assert np.hypot(*jitter.T).max() < STILL
    shown = perturb(GaussianField(ZONES), journey(jitter), key())
    assert len(np.unique(shown.latitude)) == len(np.unique(shown.longitude)) == 1


@pytest.mark.slow
def test_driving_on_and_coming_back_shows_the_fresh_part_alone() -> None:
    """A stop after a long way and back differs by the fresh noise, and by nothing if all stays."""
    metres = np.array([(0.0, 0.0), (5_000.0, 0.0), (10_000.0, 0.0), (0.0, 0.0), (10.0, 0.0)])
    trips = journey(metres, vehicles=300, gap=3_600.0)
    for share in (0.8, 1.0):
        noise = GaussianField(ZONES, share)
        shown = perturb(noise, trips, key())
        seen = np.stack((shown.latitude, shown.longitude), axis=1).reshape(300, 5, 2)
        assert np.array_equal(seen[:, 3], seen[:, 4])
        assert np.array_equal(seen[:, 0], seen[:, 3]) is (share == 1)
    fresh = noise_of(GaussianField(ZONES, 0.8), trips)
    apart = ((fresh[:, 3] - fresh[:, 0]) ** 2).sum() / 0.4
    assert FALSE_ALARM < stats.chi2(600).cdf(apart) < 1 - FALSE_ALARM


def test_days_of_one_period_share_the_field_and_periods_do_not() -> None:
    """300 vehicles, 5 days at one place: noise correlates as share in a period, and not beyond."""
    trips = journey(np.zeros((1, 2)), days=5, vehicles=300)
    found = noise_of(GaussianField(ZONES, 0.8, period=3), trips).reshape(300, 5, 2)
    each = np.swapaxes(found, 1, 2).reshape(-1, 5)
    assert stats.kstest(each[:, 0], "norm").pvalue > FALSE_ALARM
    law = np.where(np.arange(5)[:, np.newaxis] // 3 == np.arange(5) // 3, 0.8, 0.0)
    np.fill_diagonal(law, 1)
    apart = each.T @ each / len(each) - law
    assert np.abs(apart).max() < 6 * (2 / len(each)) ** 0.5


@pytest.mark.slow
def test_vehicles_are_independent_and_keys_too() -> None:
    """600 pairs of vehicles at one place, and one vehicle under two keys: no correlation."""
    trips = journey(np.zeros((1, 2)), vehicles=600)
    one, other = (noise_of(GaussianField(ZONES), trips, purpose)[:, 0] for purpose in "ab")
    limit = 6 / math.sqrt(one.size)
    assert abs((one * other).mean()) < limit
    assert abs((one[1:] * one[:-1]).mean()) < limit
    fields = [_field_key(key(), vehicle, 3).secret for vehicle in range(4)]
    assert len({*fields, _field_key(key(), 0, 4).secret}) == 5


def test_without_what_stays_noise_is_that_of_correlated_noise_while_trucks_drive() -> None:
    """Share 0, reports 60 s and 900 m apart: to the last bit what correlated noise shows."""
    metres = np.stack((np.arange(40) * 900.0, np.zeros(40)), axis=1)
    trips = journey(metres, vehicles=3)
    stays = perturb(GaussianField(ZONES, 0.0), trips, key())
    time = perturb(CorrelatedGaussian(ZONES), trips, key())
    assert separation(stays.latitude, stays.longitude, time.latitude, time.longitude).max() < 1e-6


@pytest.mark.slow
def test_the_clock_of_fresh_noise_stops_with_the_truck() -> None:
    """An hour's stop does not renew it: after it noise is as near as a minute of driving leaves."""
    metres = np.array([(0.0, 0.0), *[(1.0, 0.0)] * 60, (900.0, 0.0)])
    found = noise_of(GaussianField(ZONES, 0.0), journey(metres, vehicles=1_500))
    product = (found[:, 0] * found[:, -1]).mean()
    assert product == pytest.approx(math.exp(-0.5), abs=6 * (2 / 3_000) ** 0.5)


@pytest.mark.slow
def test_noise_has_the_mean_displacement_of_all_other_mechanisms() -> None:
    """2 / epsilon, whatever stays: 600 vehicles within 6 standard errors; 30 % less is caught."""
    trips = journey(np.zeros((1, 2)), vehicles=600)
    for share in (0.0, 0.5, 1.0):
        far = np.hypot(*noise_of(GaussianField(ZONES, share), trips)[:, 0].T) * SCALE * 0.005 / 2
        error = math.sqrt((4 / math.pi - 1) / 600)
        assert abs(far.mean() - 1) < 6 * error < abs(0.7 * far.mean() - 1)


def test_what_cannot_be_is_refused() -> None:
    """Noise of two sizes, a share beyond 1, trips of nobody, and a stream of one trip."""
    for wrong in ({"zones": Zones((1, 2), (400,), (5_000,))}, {"share": 1.2}, {"share": -0.1}):
        with pytest.raises(PlanError):
            GaussianField(**{"zones": ZONES, **wrong})
    nobody = replace(journey(np.zeros((1, 2))), vehicle=None)
    with pytest.raises(ValueError, match="vehicle"):
        perturb(GaussianField(ZONES), nobody, key())
    with pytest.raises(ValueError, match="tables"):
        Live(GaussianField(ZONES), key(), 1)
