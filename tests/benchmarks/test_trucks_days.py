"""The benchmark on many days, known ends and stops: joint evidence, intervals, averaging."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.trucks_days import Known, clustered
from benchmarks.trucks_known import (
    EPSILON,
    INTERVAL,
    NOISE,
    Case,
    Found,
    follow_all,
    mean_of_days,
)
from benchmarks.trucks_standing import DAYS, HOURS, in_a_table, through_a_link
from tests.benchmarks.test_trucks import drive, town
from voile.attack.protocol import Estimate
from voile.attack.trajectory.adversaries import RoadAdversary
from voile.attack.trajectory.distributions import Remembering, pair_factor
from voile_geo.geodesy import Floats
from voile_geo.planar.steps import gaussian_scale
from voile_share.platform.core import Settings


def log_likelihood(shown: Floats, track: Floats, epsilon: float) -> float:
    """Of a day's reports given a track, both (n, 2), by the law that the adversary uses."""
    kept = np.full(len(shown), math.exp(-INTERVAL / NOISE.tau))
    scale = np.full(len(shown), gaussian_scale(epsilon))
    # Piece 0 is where the first report is made, piece 1 where the second is, and so on.
    law = Remembering(track, shown, scale, kept)
    factors = [law.factors(report) for report in range(len(shown))]
    noise = shown[0] - track
    total = -0.5 * float((noise[0] ** 2).sum()) / scale[0] ** 2
    for i in range(1, len(shown)):
        before, now = factors[i - 1], factors[i]
        pair = (now.kind, now.memory, now.precision, now.turns, before.noise, now.noise)
        places = np.searchsorted(before.piece, i - 1), np.searchsorted(now.piece, i)
        total += math.log(pair_factor(pair, *places))
    return total


def test_the_mean_of_days_tells_what_all_of_them_do() -> None:
    """Of two tracks, the product of all days' likelihoods prefers one as much as the mean does."""
    rng = np.random.default_rng(7)
    track = np.cumsum(rng.normal(100, 50, (6, 2)), axis=0)
    other = track + rng.normal(0, 60, (6, 2))
    days = [track + rng.normal(0, 300, (6, 2)) for _ in range(4)]
    product = sum(
        log_likelihood(day, track, EPSILON) - log_likelihood(day, other, EPSILON) for day in days
    )
    mean, together = np.mean(days, axis=0), EPSILON * math.sqrt(4)
    by_mean = log_likelihood(mean, track, together) - log_likelihood(mean, other, together)
    assert by_mean == pytest.approx(product, rel=1e-9)
    alone = log_likelihood(mean, track, EPSILON) - log_likelihood(mean, other, EPSILON)
    assert alone != pytest.approx(product, rel=0.1)


@pytest.mark.slow
def test_days_have_fresh_noise_that_averages_out() -> None:
    """The mean of 25 days is off by a fifth of what a day is; 100 tracks, 5 sigma."""
    roads = town()
    track = np.repeat(roads.plane[:1], 11, axis=0)
    deviation = gaussian_scale(EPSILON)
    for days in (1, 25):
        shown = [mean_of_days(roads, track, days, number).shown for number in range(100)]
        # Noise of 300 s later is as good as new.
        off = np.array(shown)[:, ::10] - track[0]
        ratio = float((off**2).mean()) * days / deviation**2
        assert abs(ratio - 1) < 5 * math.sqrt(2 / off.size) < 1 - 0.7**2


@pytest.fixture(scope="module")
def found() -> list[Found]:
    """Four drives of four people in a town, in all cases."""
    roads = town()
    follower = RoadAdversary(roads)
    driven = [drive(roads, user, 6.0) for user in (1, 2, 3, 4)]
    taken = [replace(one, road=follower.nearest_roads(one.track)) for one in driven]
    cases = [Case(days, ends) for days in (1, 20) for ends in (False, True)]
    return list(follow_all(roads, taken, cases))


def of(found: list[Found], case: Case, measure: str) -> float:
    """A mean over drives."""
    return float(np.mean([getattr(one, measure) for one in found if one.case == case]))


def test_who_knows_more_finds_more(found: list[Found]) -> None:
    """20 days more than one, and known ends bring the estimate near, also between them."""
    assert {one.lost for one in found} == {0}
    assert of(found, Case(20), "error") < of(found, Case(1), "error") / 2
    assert of(found, Case(20), "right") > of(found, Case(1), "right")
    assert of(found, Case(1, ends=True), "error_between") < of(found, Case(1), "error_between")


def test_what_is_known_of_the_ends_is_found_there(found: list[Found]) -> None:
    """At the first and the last report the road is right; shares between leave these two out."""
    for one in found:
        if one.case.ends:
            reports = 10
            assert one.right * reports == pytest.approx(one.right_between * (reports - 2) + 2)


def test_intervals_add_up_what_is_of_one_person() -> None:
    """Two people who always agree with themselves are two observations; else it is Student's."""
    mean, width = clustered([0, 0, 2, 2], np.array([5, 5, 9, 9]))
    assert (mean, width) == (1, pytest.approx(12.706, rel=1e-4))
    values = [1.0, 4.0, 2.0, 8.0, 3.0]
    mean, width = clustered(values, np.arange(5))
    student = Estimate.of_units(values)
    assert (mean, mean + width) == pytest.approx((student.value, student.high))


def test_a_ratio_of_means_has_an_interval() -> None:
    """Twice as much on every drive is 2 without doubt; else the interval is that of the residue."""

    def case(days: int, rights: tuple[float, ...]) -> list[Found]:
        return [
            Found(Case(days), number, 0.0, right, 0.0, right, 0.0, 0)
            for number, right in enumerate(rights)
        ]

    once = case(1, (0.2, 0.4))
    twice = Known(once + case(20, (0.4, 0.8)), [3, 4])
    assert twice.times(Case(20), Case(1), "right") == pytest.approx((2, 0))
    other = Known(once + case(20, (0.4, 0.5)), [3, 4])
    ratio, width = other.times(Case(20), Case(1), "right")
    assert ratio == pytest.approx(1.5)
    assert width == pytest.approx(12.706 * 0.1 / 0.3, rel=1e-4)


@pytest.mark.slow
def test_averaging_finds_who_stands() -> None:
    """Through a link, and from a table: what the law of the mean of correlated noise says.

    60 trucks; distances from home are Rayleigh, so a mean of 60 has a standard error of 6.8 %.
    """
    settings = Settings(mechanism="correlated-gaussian")
    for seen in (*through_a_link(settings, trucks=60), in_a_table(NOISE, 60, trucks=60)):
        count = round(HOURS * 3_600 / seen.gap)
        kept = np.exp(-seen.gap / settings.tau * np.arange(1, count))
        left = math.sqrt((1 + 2 * ((1 - np.arange(1, count) / count) * kept).sum()) / count)
        one = seen.one.mean()
        assert abs(seen.stop.mean() / one / left - 1) < 5 * 0.07
        assert abs(seen.mornings.mean() / one * math.sqrt(DAYS) - 1) < 5 * 0.07
    near, middle, far = (seen.one.mean() for seen in through_a_link(settings, trucks=60))
    assert (near, middle, far) == pytest.approx(settings.displacements, rel=0.05)
