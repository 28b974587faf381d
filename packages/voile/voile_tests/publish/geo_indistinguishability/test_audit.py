"""The guarantees, audited as black boxes: the empirical loss stays below the claim.

Two neighbouring trajectories of a truck are published many times, each time as a trip of its own.
For an event of what is published, exact binomial bounds (Clopper and Pearson) on its probability
under either trajectory bound the privacy loss from below:

    loss >= ln((P_0 - delta) / P_1).

The events are those at which the mechanisms lose most: the likelihood ratio of an adversary who
knows the law, cut at a threshold.  Each audit draws ``TRIPS`` trips for either trajectory and is
wrong with probability ``FALSE_ALARM`` at most; each also catches the same mechanism with 30 %
less noise under the same claim.

What is compared with a claim is a lower bound: passing proves nothing, failing does.  At 20,000
trips the bound on a power lies 0.034 below it in the middle, and 0.049 in one of a thousand audits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.release.release import Publication
from voile.schema.trajectory import TrajectoryColumns
from voile_base.randomness import Randomness
from voile_geo.geodesy import displace, east_north, separation
from voile_geo.planar.costs import _gaussian_delta
from voile_geo.planar.field import _kernel
from voile_geo.planar.steps import Zones, gaussian_scale, wrapped_density
from voile_geo.roads.nearest import RoadRadii
from voile_geo.roads.reading import read_roads
from voile_testing.statistics import FALSE_ALARM, least_loss
from voile_tests.publish.geo_indistinguishability.trucks import PARIS, PLAN, table_of, write_town

TRIPS = 20_000
GAP, TAU = 30.0, 120.0
LESS = 1 / 0.7
"""Epsilon of a mechanism with 30 % less noise, over that which it claims."""

Array = NDArray[np.float64]


def path(east: list[float]) -> pl.DataFrame:
    """``TRIPS`` trips along one trajectory: metres east of Paris, a report every ``GAP``."""
    latitude, longitude = displace(
        np.full(len(east), PARIS[0]),
        np.full(len(east), PARIS[1]),
        np.array(east),
        np.zeros(len(east)),
    )
    return pl.DataFrame(
        {
            "trip": np.repeat(np.arange(TRIPS), len(east)),
            "time": np.tile(np.arange(len(east)) * GAP, TRIPS),
            "latitude": np.tile(latitude, TRIPS),
            "longitude": np.tile(longitude, TRIPS),
        }
    )


def drawn(publisher: GeoIndistinguishability, east: list[float], seed: int) -> Publication:
    """A publication of many trips along one trajectory."""
    return _drawn(publisher, tuple(east), seed)


@lru_cache(maxsize=4)
def _drawn(publisher: GeoIndistinguishability, east: tuple[float, ...], seed: int) -> Publication:
    """The same, once for the tests that follow each other and ask for it."""
    return publisher.prepare(table_of(path(list(east))), Randomness.seeded(seed))


def metres(publication: Publication) -> tuple[Array, Array]:
    """What is published, in metres east and north of Paris, shape (TRIPS, reports)."""
    rows = publication.release.to_native()
    home = np.full(len(rows), PARIS[0]), np.full(len(rows), PARIS[1])
    shown = east_north(*home, rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
    return tuple(axis.reshape(TRIPS, -1) for axis in shown)


def power_bound(zero: NDArray[np.bool_], one: NDArray[np.bool_], mu: float) -> float:
    """By how much an event is too good for mu-Gaussian differential privacy: above 0 is a breach.

    An event of probability alpha under one trajectory has at most Phi(mu - z) under the other, with
    z the normal quantile of 1 - alpha (Dong, Roth and Su 2022).
    """
    hits, misses = int(zero.sum()), int(one.sum())
    low = stats.beta.ppf(FALSE_ALARM / 2, hits, len(zero) - hits + 1)
    high = stats.beta.ppf(1 - FALSE_ALARM / 2, misses + 1, len(one) - misses)
    return float(low - stats.norm.cdf(mu + stats.norm.ppf(high)))


class TestPlanarLaplace:
    """Two reports, 150 m apart each: a loss of at most 2 x 0.005 x 150 = 1.5."""

    EAST = 150.0

    def loss(self, epsilon: float) -> tuple[float, float]:
        """The loss at the best event, and the claim of the publisher for 0.005."""
        publisher = GeoIndistinguishability(mechanism="planar-laplace", epsilon=epsilon)
        claim = 2 * 0.005 * self.EAST
        shown = [drawn(publisher, [at] * 2, seed) for seed, at in enumerate((0.0, self.EAST))]
        events = [self.nearer(*metres(it)) for it in shown]
        return least_loss(events[0], events[1]), claim

    def nearer(self, east: Array, north: Array) -> NDArray[np.bool_]:
        """Whether the first trajectory is nearer by most of what is possible."""
        nearer = np.hypot(east - self.EAST, north) - np.hypot(east, north)
        return np.asarray(nearer.sum(axis=1) > 0.8 * 2 * self.EAST)

    @pytest.mark.slow
    def test_the_loss_stays_below_the_claim(self):
        """And comes near to it: the audit looks where the loss is."""
        loss, claim = self.loss(0.005)
        assert 0.7 * claim < loss <= claim

    @pytest.mark.slow
    def test_less_noise_is_caught(self):
        """With 30 % less noise the same audit finds more than is claimed."""
        loss, claim = self.loss(0.005 * LESS)
        assert loss > claim


class TestCorrelatedGaussian:
    """Four reports: the optimal linear statistic has the power of mu, and no more."""

    STEPS = (100.0, -60.0, 100.0, 20.0)
    """Metres east by which the second trajectory differs."""

    def mu(self) -> float:
        """What is claimed for these two trajectories at 0.005: the sum of the module ``costs``."""
        kept, scale = math.exp(-GAP / TAU), gaussian_scale(0.005)
        fresh = np.diff(self.STEPS, prepend=0.0) + (1 - kept) * np.array((0.0, *self.STEPS[:-1]))
        weight = np.array([1.0, *[1 / (1 - kept**2)] * 3])
        return float(np.sqrt((fresh**2 * weight).sum()) / scale)

    def breach(self, epsilon: float) -> float:
        """By how much the optimal test is better than the claim allows."""
        publisher = GeoIndistinguishability(epsilon=epsilon, tau=TAU)
        kept = math.exp(-GAP / TAU)
        gaps = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        direction = np.linalg.solve(kept**gaps, self.STEPS)
        one, two = (
            metres(drawn(publisher, list(at), seed))[0] @ direction
            for seed, at in enumerate(((0.0,) * 4, self.STEPS))
        )
        middle = (np.array(self.STEPS) @ direction) / 2
        return power_bound(two > middle, one > middle, self.mu())

    @pytest.mark.slow
    def test_the_power_stays_below_the_claim(self):
        """The best test is no better than mu allows, and nearly as good."""
        assert -0.03 < self.breach(0.005) <= 0

    @pytest.mark.slow
    def test_less_noise_is_caught(self):
        """With 30 % less noise the best test is better than mu allows."""
        assert self.breach(0.005 * LESS) > 0

    def test_the_claim_of_a_release_covers_it(self):
        """For any trajectories within 100 m, a release claims at least the mu of these two."""
        made = drawn(GeoIndistinguishability(epsilon=0.005, tau=TAU), [0.0] * 4, 0)
        stated = made.release.guarantee.parameters["costliest_trip"]["epsilon"]
        assert _gaussian_delta(stated, self.mu()) < 1e-5

    def test_epsilon_and_delta_hold(self):
        """The loss at an event, after the delta, stays below the epsilon of mu at that delta."""
        publisher = GeoIndistinguishability(epsilon=0.005, tau=TAU)
        delta = 0.01
        one, two = (
            metres(drawn(publisher, list(at), seed))[0][:, 0]
            for seed, at in enumerate(((0.0,) * 4, self.STEPS))
        )
        mu = self.STEPS[0] / gaussian_scale(0.005)
        for cut in (-200.0, 0.0, 200.0):
            found = least_loss(two > cut, one > cut, delta)
            assert _gaussian_delta(max(found, 0.0), mu) >= 0
            assert found <= 0 or _gaussian_delta(found, mu) >= delta * 0.99


class TestGaussianField:
    """Two reports 400 m apart, and all that a vehicle does moved by 900 m: by exactly mu.

    Vehicles are independent draws here, so that nothing of their noise is shared.
    """

    VEHICLES, EAST, APART, STAYS, LENGTH = 3_000, 900.0, 400.0, 0.8, 700.0

    def covariance(self) -> Array:
        """Of both reports' noise, in deviations."""
        field = _kernel(np.array([0.0, self.APART]), np.zeros(2), *PARIS, self.LENGTH)
        both = self.STAYS * field + (1 - self.STAYS) * np.exp(-np.array([0.0, GAP]) / TAU)
        return np.array([[both[0], both[1]], [both[1], both[0]]])

    def mu(self) -> float:
        """Of the move, with both reports at 0.005."""
        step = np.full(2, self.EAST)
        return float(np.sqrt(step @ np.linalg.solve(self.covariance(), step))) / gaussian_scale(
            0.005
        )

    @classmethod
    @lru_cache(maxsize=4)
    def shown(cls, epsilon: float, east: float, seed: int) -> Publication:
        """Vehicles of one trip each."""
        frame = path([east, east + cls.APART]).head(2 * cls.VEHICLES)
        plan = replace(PLAN, trajectory=TrajectoryColumns(vehicle="vehicle"))
        publisher = GeoIndistinguishability(mechanism="gaussian-field", epsilon=epsilon, shared=0)
        table = table_of(frame.with_columns(vehicle=pl.col("trip")), plan)
        return publisher.prepare(table, Randomness.seeded(seed))

    def breach(self, epsilon: float) -> float:
        """By how much the optimal test is better than mu allows."""
        direction = np.linalg.solve(self.covariance(), np.ones(2))
        tests = []
        for seed, at in enumerate((0.0, self.EAST)):
            rows = self.shown(epsilon, at, seed).release.to_native()
            home = (np.full(len(rows), degrees) for degrees in PARIS)
            east, _ = east_north(*home, rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
            tests.append(east.reshape(-1, 2) @ direction)
        middle = np.array([self.EAST / 2, self.EAST / 2 + self.APART]) @ direction
        return power_bound(tests[1] > middle, tests[0] > middle, self.mu())

    @pytest.mark.slow
    def test_the_power_stays_below_mu(self):
        """The best test of a move is no better than mu allows, and nearly as good."""
        assert -0.1 < self.breach(0.005) <= 0

    @pytest.mark.slow
    def test_less_noise_is_caught(self):
        """With 30 % less noise the best test is better than mu allows."""
        assert self.breach(0.005 * LESS) > 0

    def test_the_claim_of_a_release_covers_it(self):
        """By the fresh part alone a release claims more than the mu of the same move by 100 m."""
        made = self.shown(0.005, 0.0, 0)
        stated = made.release.guarantee.parameters["costliest_trip"]["epsilon"]
        assert _gaussian_delta(stated, self.mu() * 100 / self.EAST) < 1e-5


class TestRemainingDistance:
    """Three reports of how far it is to a door in the west: a loss of at most 1.5."""

    DOOR, EAST = (48.85, 2.25), 100.0

    def loss(self, epsilon: float) -> float:
        """The loss at the event that each distance is short."""
        publisher = GeoIndistinguishability(
            mechanism="remaining-distance", epsilon=epsilon, destination=self.DOOR
        )
        far = float(separation(*(np.array([x]) for x in (*PARIS, *self.DOOR)))[0])
        events = [
            (
                drawn(publisher, [at] * 3, seed)
                .release.to_native()["remaining"]
                .to_numpy()
                .reshape(TRIPS, 3)
                < far
            ).all(axis=1)
            for seed, at in enumerate((0.0, self.EAST))
        ]
        return least_loss(events[0], events[1])

    @pytest.mark.slow
    def test_the_loss_stays_below_the_claim(self):
        """And comes near to it."""
        assert 1.15 < self.loss(0.005) <= 1.5

    @pytest.mark.slow
    def test_less_noise_is_caught(self):
        """With 30 % less noise the same event loses more than is claimed."""
        assert self.loss(0.005 * LESS) > 1.5


class TestAngleSelection:
    """Two reports of trajectories a metre apart: the claim for independent noise is broken."""

    EPSILON, NEAR = 0.005, 20.0

    def loss(self, publisher: GeoIndistinguishability, deviation: float) -> float:
        """The loss at the best event of two reports, the second of which differs."""
        shown = [
            metres(drawn(publisher, east, seed))
            for seed, east in enumerate(([0.0, 0.0], [0.0, self.NEAR]))
        ]

        def likelihood(east: Array, north: Array, second: float) -> Array:
            turn = np.arctan2(east[:, 1] - second, north[:, 1]) - np.arctan2(
                east[:, 0], north[:, 0]
            )
            radius = np.hypot(east[:, 1] - second, north[:, 1])
            return -self.EPSILON * radius + np.log(wrapped_density(turn, deviation) + 1e-300)

        ratio = [likelihood(*it, 0.0) - likelihood(*it, self.NEAR) for it in shown]
        claim = self.EPSILON * self.NEAR
        return max(least_loss(ratio[0] > cut, ratio[1] > cut) - claim for cut in (0.5, 1, 2, 3))

    @pytest.mark.slow
    def test_no_trajectory_is_protected(self):
        """Angles tell the two apart with more than n epsilon d, which planar Laplace never does."""
        angles = GeoIndistinguishability(
            mechanism="angle-selection", epsilon=self.EPSILON, epsilon_angle=300.0
        )
        deviation = 2 * math.pi * math.sqrt(2 * math.log(1.25 / 1e-5)) / 300
        assert self.loss(angles, deviation) > 0.5
        independent = GeoIndistinguishability(mechanism="planar-laplace", epsilon=self.EPSILON)
        assert self.loss(independent, deviation) <= 0

    @pytest.mark.slow
    def test_a_single_report_is(self):
        """One report loses no more than planar Laplace noise does, for its direction is uniform."""
        publisher = GeoIndistinguishability(
            mechanism="angle-selection", epsilon=self.EPSILON, epsilon_angle=300.0
        )
        shown = [metres(drawn(publisher, [at], seed)) for seed, at in enumerate((0.0, 200.0))]
        nearer = [np.hypot(e - 200.0, n) - np.hypot(e, n) for e, n in shown]
        losses = [least_loss(nearer[0] > cut, nearer[1] > cut) for cut in (0, 100, 180)]
        assert 0.7 < max(losses) <= 1.0


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A map with streets every 100 m within 6 km."""
    return write_town(tmp_path_factory.mktemp("town"))


class TestRoadZones:
    """Radii by roads: the first report has 800 m, and the second 200 m where streets are dense."""

    EAST = 150.0
    FAR, DENSE = 1 / 800, 1 / 200
    STEPS = (100.0, -60.0)
    """Metres east by which the second trajectory differs, of correlated noise."""

    def publisher(self, town: Path, level: float = 1.0, **given: Any) -> GeoIndistinguishability:
        """Two streets or more lie within the radius of a zone."""
        return GeoIndistinguishability(
            levels=level, roads=str(town), roads_within=2, radius_bounds=(200, 800), **given
        )

    def laplace_loss(self, town: Path, level: float) -> tuple[float, float]:
        """The loss of planar Laplace noise at the best event in the town, and the claim there."""
        publisher = self.publisher(town, level, mechanism="planar-laplace")
        shown = [drawn(publisher, [at] * 2, seed) for seed, at in enumerate((0.0, self.EAST))]
        claim = self.EAST * (self.FAR + self.DENSE)
        events = [self.nearer_from_the_town(*metres(it), 0.8 * claim) for it in shown]
        return least_loss(events[0], events[1]), claim

    def nearer_from_the_town(self, east: Array, north: Array, cut: float) -> NDArray[np.bool_]:
        """The first report lies in the town, and both are nearer to the first trajectory."""
        nearer = np.hypot(east - self.EAST, north) - np.hypot(east, north)
        inside = np.maximum(np.abs(east[:, 0]), np.abs(north[:, 0])) < 5_500
        return np.asarray(inside & (nearer @ np.array([self.FAR, self.DENSE]) > cut))

    @pytest.mark.slow
    def test_the_loss_of_planar_laplace_noise_stays_below_the_claim(self, town):
        """The epsilons of both zones add up to the loss, and nearly reach it."""
        loss, claim = self.laplace_loss(town, 1.0)
        assert 0.65 * claim < loss <= claim

    @pytest.mark.slow
    def test_less_planar_laplace_noise_is_caught(self, town):
        """With 30 % less noise in all zones the same audit finds more than is claimed."""
        loss, claim = self.laplace_loss(town, LESS)
        assert loss > claim

    def mu(self) -> float:
        """What is claimed of correlated noise whose scale falls from one report to the next."""
        kept = math.exp(-GAP / TAU)
        first, second = (
            step / gaussian_scale(epsilon)
            for step, epsilon in zip(self.STEPS, (self.FAR, self.DENSE), strict=True)
        )
        return math.sqrt(first**2 + (second - kept * first) ** 2 / (1 - kept**2))

    def gaussian_breach(self, town: Path, level: float) -> float:
        """By how much the optimal test of correlated noise is better than the claim allows."""
        publisher = self.publisher(town, level, tau=TAU)
        kept = math.exp(-GAP / TAU)
        scales = np.array([gaussian_scale(self.FAR), gaussian_scale(self.DENSE)])
        covariance = np.array([[1, kept], [kept, 1]]) * np.outer(scales, scales)
        direction = np.linalg.solve(covariance, self.STEPS)
        one, two = (
            metres(drawn(publisher, list(at), seed))[0] @ direction
            for seed, at in enumerate(((0.0, 0.0), self.STEPS))
        )
        middle = np.array(self.STEPS) @ direction / 2
        return power_bound(two > middle, one > middle, self.mu())

    @pytest.mark.slow
    def test_the_power_against_correlated_noise_stays_below_the_claim(self, town):
        """Noise that is scaled anew keeps its correlation in deviations, as mu supposes."""
        assert -0.06 < self.gaussian_breach(town, 1.0) <= 0

    @pytest.mark.slow
    def test_less_correlated_noise_is_caught(self, town):
        """With 30 % less noise in all zones the best test is better than mu allows."""
        assert self.gaussian_breach(town, LESS) > 0

    @pytest.mark.slow
    def test_zones_by_the_true_position_have_no_bound(self, town):
        """60 m across the town's border, a report far off tells more than the largest epsilon."""
        border = self.border(town)
        claim = self.DENSE * 60
        losses = {}
        for by in ("published", "true"):
            publisher = self.publisher(town, mechanism="planar-laplace", zones_by=by)
            ends = [border + 30, border - 30]
            shown = [metres(drawn(publisher, [at], seed)) for seed, at in enumerate(ends)]
            far = [np.hypot(e - border, n)[:, 0] > 1_500 for e, n in shown]
            losses[by] = least_loss(*far)
        assert losses["published"] <= claim
        assert losses["true"] > 5 * claim

    def border(self, town: Path) -> float:
        """Metres east of Paris at which the radius leaps from the smallest to the largest."""
        found = RoadRadii.of(read_roads(town), 2, (200.0, 800.0))
        east = np.arange(5_000.0, 9_000.0, 10.0)
        home = np.full(len(east), PARIS[0]), np.full(len(east), PARIS[1])
        at = np.stack(displace(*home, east, np.zeros(len(east))), axis=1)
        zones = Zones((1.0,), found.radii, grid=found.grid).table(None)
        epsilons = np.array([zones.epsilon((0, 0), (lat, lon)) for lat, lon in at])
        # The radius grows over a few cells; the widest leap is enough.
        return float(east[np.argmin(np.diff(epsilons))] + 5)


def test_the_audit_draws_each_trip_for_itself():
    """Trips of one table are independent: the mean of many is as exact as that of as many draws."""
    publisher = GeoIndistinguishability(mechanism="planar-laplace", epsilon=0.005)
    east, _ = metres(drawn(publisher, [0.0], 5))
    assert abs(east.mean()) < 5 * east.std() / math.sqrt(TRIPS)
    assert np.corrcoef(east[:-1, 0], east[1:, 0])[0, 1] == pytest.approx(
        0, abs=5 / math.sqrt(TRIPS)
    )
