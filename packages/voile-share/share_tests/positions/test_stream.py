"""The positions that a moving truck shows."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_geo.geodesy import metres_between
from voile_geo.planar.costs import gaussian_epsilon, squared_mu
from voile_share.positions import BudgetSpentError, Levels, PositionStream, spent_on

NOON = 20_000 * 86_400 + 43_200
PLACE = (52.01, 4.36)
ANEW = Levels(mechanism="correlated-gaussian")


def key(name: str = "truck", seed: int = 7):
    return Randomness.seeded(seed).key(name)


def followed(stream: PositionStream, count: int, every: int = 300, first: int = NOON):
    """The positions of a truck that stands still."""
    slots = range(first, first + count * every, every)
    return [stream.report(*PLACE, float(slot), slot) for slot in slots]


def spent(stream: PositionStream, slot: int = NOON) -> float:
    """Of the day of a slot."""
    return spent_on(stream.state, slot // 86_400, 1e-5)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_each_level_moves_positions_by_its_displacement(level):
    """Distances at a level follow the Rayleigh law of its epsilon, and not one 15 % wider.

    Kolmogorov-Smirnov on 2,000 positions an hour apart, false alarm 1e-3.
    """
    levels = ANEW
    shown = followed(PositionStream(levels, key()), 2_000, every=3_600)
    moved = [metres_between(*PLACE, p[level].latitude, p[level].longitude) for p in shown]
    scale = levels.displacements[level] / math.sqrt(math.pi / 2)
    assert stats.kstest(moved, stats.rayleigh(scale=scale).cdf).pvalue > 1e-3
    assert stats.kstest(moved, stats.rayleigh(scale=1.15 * scale).cdf).pvalue < 1e-3
    assert shown[0][level].epsilon == pytest.approx(2 / levels.displacements[level])


def test_levels_are_nested():
    """What the middle level adds does not depend on the near noise; another look's would.

    Correlations over 2,000 positions, 4.5 standard errors: a false alarm in 150,000 runs.
    """
    shown = followed(PositionStream(ANEW, key()), 2_000, every=3_600)
    near = np.array([p[0].latitude - PLACE[0] for p in shown])
    middle = np.array([p[1].latitude for p in shown]) - PLACE[0]
    assert abs(np.corrcoef(near, middle - near)[0, 1]) < 4.5 / math.sqrt(len(shown))
    independent = np.random.default_rng(1).permutation(middle)
    assert abs(np.corrcoef(near, independent - near)[0, 1]) > 4.5 / math.sqrt(len(shown))


def test_a_stream_goes_on_from_its_state():
    """A stream resumed from its state shows what the undisturbed one shows."""
    undisturbed = followed(PositionStream(ANEW, key()), 20)
    first = PositionStream(ANEW, key())
    begun = followed(first, 10)
    resumed = PositionStream(ANEW, key(), state=first.state)
    assert begun + followed(resumed, 10, first=NOON + 3_000) == undisturbed
    assert PositionStream(ANEW, key(), state=first.state).state == first.state


def test_what_is_kept_of_a_stream_has_no_noise():
    """It goes on with its accounts, by noise of its own; times still move forward alone."""
    stream = PositionStream(ANEW, key())
    followed(stream, 3)
    assert set(json.loads(stream.kept)) == {"time", "day", "spent"}
    again = PositionStream(ANEW, key("other"), state=stream.kept)
    assert (again.time, spent(again)) == (stream.time, spent(stream))
    with pytest.raises(ValueError, match="not later"):
        again.report(*PLACE, float(NOON + 600), NOON + 900)
    (undisturbed,), (fresh,) = (followed(one, 1, first=NOON + 900) for one in (stream, again))
    assert fresh != undisturbed
    assert spent(again) == spent(stream)


def test_a_stream_that_lost_its_state_draws_other_noise():
    """Noise belongs to the slot: what was drawn for one position is drawn for no other."""
    stream = PositionStream(replace(ANEW, tau=1.0), key())
    old = stream.state
    (published,) = followed(stream, 1)
    late = PositionStream(replace(ANEW, tau=1.0), key(), state=old)
    (other,) = followed(late, 1, first=NOON + 300)
    noises = [p[0].latitude - PLACE[0] for p in (published, other)]
    assert noises[0] != noises[1]
    same_slot = PositionStream(replace(ANEW, tau=1.0), key(), state=old)
    assert followed(same_slot, 1) == [published]


def test_a_stream_that_is_ahead_of_the_log_goes_on():
    """A slot whose report was never stored is drawn again, by noise that nobody has seen."""
    stream = PositionStream(replace(ANEW, tau=1.0), key())
    (lost,) = followed(stream, 1)
    again = [stream.report(*PLACE, NOON + 60.0 * late, NOON) for late in (1, 2)]
    (after,) = followed(stream, 1, first=NOON + 300)
    shown = [p[0].latitude for p in (lost, *again, after)]
    assert len(set(shown)) == 4


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=12))
def test_costs_add_up(gaps):
    """What a stream has spent in a day is the price that whole tables pay at the near level."""
    stream, times = PositionStream(ANEW, key(), distance=50.0), np.cumsum([NOON, *gaps[:-1]])
    for time in times.tolist():
        stream.report(*PLACE, float(time), time)
    mu_squared = squared_mu(np.full(len(times), 2 / 150), times.astype(float), 50.0, 120.0)[-1]
    if json.loads(stream.state)["day"] == NOON // 86_400:
        assert spent(stream) == pytest.approx(gaussian_epsilon(math.sqrt(mu_squared), 1e-5))


def test_a_budget_ends_a_day_and_the_next_one_begins():
    """A truck whose budget is spent publishes no more on that day, and goes on on the next."""
    free = PositionStream(ANEW, key())
    followed(free, 5)
    stream = PositionStream(ANEW, key(), budget=spent(free) * 1.0001)
    followed(stream, 5)
    before = stream.state
    with pytest.raises(BudgetSpentError):
        followed(stream, 1, first=NOON + 1_500)
    assert stream.state == before
    followed(stream, 1, first=NOON + 86_400)
    assert 0 < spent(stream, NOON + 86_400) < spent(free)
    assert spent(stream) == 0


def test_time_only_moves_forward():
    """A position that is not later changes nothing."""
    stream = PositionStream(ANEW, key())
    followed(stream, 2)
    before = stream.state
    for time, slot in ((NOON + 300, NOON + 600), (NOON, NOON + 900)):
        with pytest.raises(ValueError, match=r"before|later"):
            stream.report(*PLACE, float(time), slot)
    assert stream.state == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"displacements": (150, 600)},
        {"displacements": (600, 150, 2400)},
        {"displacements": (0, 150, 600)},
        {"displacements": (150, math.nan, 600)},
        {"displacements": (150, True, 600)},
        {"near": (2000,)},
        {"near": (5000, 2000)},
        {"tau": 0},
        {"tau": math.inf},
        {"mechanism": "gaussian-feld"},
        {"mechanism": 3},
        {"stays": 1},
        {"stays": math.nan},
        {"lengths": (700,)},
        {"lengths": (700, 0, 700)},
        {"period_days": 0},
        {"period_days": True},
    ],
)
def test_levels_that_cannot_be_are_refused(wrong):
    """Parameters that make no levels are named."""
    with pytest.raises(PlanError, match=next(iter(wrong))):
        Levels(**wrong)


def test_who_is_near_sees_more():
    """The level is that of the distance."""
    levels = Levels(near=(2_000, 10_000))
    assert [levels.level(m) for m in (0, 1_999, 2_000, 9_999, 10_000, 1e6)] == [0, 0, 1, 1, 2, 2]
