"""The paper's noise in the service: eqs. 4 to 6 and Algorithm 1 as printed, for study alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_base.values.value import read
from voile_geo.geodesy import metres_between
from voile_share.platform.core import Settings
from voile_share.positions import BudgetSpentError, PositionStream, spent_on

NOON = 20_000 * 86_400 + 43_200
CENTRE = (52.0, 4.36)
NEAR, MIDDLE, FAR = CENTRE, (52.06, 4.36), (52.2, 4.36)
"""At the centre, some 6.7 km and some 22 km north of it."""
TABLE = {"centre": list(CENTRE), "radius_limits": [5000, 10000]}


def settings(**table: object) -> Settings:
    """Those of a configuration file with the paper's noise."""
    return stated({"mechanism": "angle-selection", "as_printed": {**TABLE, **table}})


def stated(document: dict[str, object]) -> Settings:
    """Settings of a table [platform]."""
    settings: Settings = read(Settings, document, "[platform]", PlanError)
    return settings


def stream(given: Settings, budget: float | None = None) -> PositionStream:
    return PositionStream(given.levels, Randomness.seeded(3).key("truck"), budget=budget)


@pytest.mark.parametrize(("place", "radius"), [(NEAR, 400), (MIDDLE, 1000), (FAR, 2000)])
def test_epsilon_is_the_level_over_the_radius_where_the_truck_truly_is(
    place: tuple[float, float], radius: float
) -> None:
    """Eqs. 4 to 6 with the values of section 8.1: levels 5, 3 and 1, radii by the true position."""
    shown = stream(settings()).report(*place, float(NOON), NOON)
    assert [position.epsilon for position in shown] == pytest.approx(np.array([5, 3, 1]) / radius)


@pytest.mark.slow
def test_distances_are_planar_laplace_and_directions_turn_from_zero() -> None:
    """Algorithm 1: radii are Gamma(2, 1 / epsilon), and the first directions are normal about 0.

    Kolmogorov-Smirnov on 1,500 trucks, false alarm 1e-3; a law 15 % wider is rejected.
    """
    given = settings(epsilon_angle=20)
    noise = given.levels.as_printed
    assert noise is not None
    keys = [Randomness.seeded(seed).key("truck") for seed in range(1_500)]
    shown = [PositionStream(given.levels, key).report(*NEAR, float(NOON), NOON)[0] for key in keys]
    moved = [metres_between(*NEAR, p.latitude, p.longitude) for p in shown]
    scale = 400 / 5
    assert stats.kstest(moved, stats.gamma(2, scale=scale).cdf).pvalue > 1e-3
    assert stats.kstest(moved, stats.gamma(2, scale=1.15 * scale).cdf).pvalue < 1e-3
    east = np.array([p.longitude - NEAR[1] for p in shown]) * math.cos(math.radians(NEAR[0]))
    north = np.array([p.latitude - NEAR[0] for p in shown])
    turns = np.arctan2(east, north)  # from north
    deviation = noise.noises()[0].deviation
    wrapped = np.angle(np.exp(1j * np.random.default_rng(1).normal(0, deviation, 20_000)))
    assert stats.ks_2samp(turns, wrapped).pvalue > 1e-3


@pytest.mark.slow
def test_the_levels_of_a_report_are_independent_looks() -> None:
    """As printed each output has its own noise: those who pool levels average them.

    Correlation over 2,000 trucks, 4.5 standard errors: a false alarm in 150,000 runs.
    """
    given = settings(spread=2 * math.pi, epsilon_angle=0.5)
    keys = [Randomness.seeded(seed).key("truck") for seed in range(2_000)]
    norths = np.array(
        [
            [p.latitude for p in PositionStream(given.levels, key).report(*NEAR, float(NOON), NOON)]
            for key in keys
        ]
    )
    assert abs(np.corrcoef(norths[:, 0], norths[:, 1])[0, 1]) < 4.5 / math.sqrt(2_000)


def test_nothing_is_promised_so_a_day_has_no_price_and_no_budget() -> None:
    """What a day costs is said to be unbounded; a budget is refused where it is set."""
    followed = stream(settings())
    followed.report(*NEAR, float(NOON), NOON)
    assert spent_on(followed.state, NOON // 86_400, 1e-5) is None
    resumed = PositionStream(settings().levels, Randomness.seeded(3).key("x"), state=followed.state)
    assert resumed.report(*NEAR, NOON + 300.0, NOON + 300)
    with pytest.raises(PlanError, match="budget bounds nothing"):
        stated({"mechanism": "angle-selection", "as_printed": TABLE, "budget": 10})
    with pytest.raises(BudgetSpentError):
        stream(settings(), budget=1e9).report(*NEAR, float(NOON), NOON)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"mechanism": "angle-selection"}, "goes with a table"),
        ({"as_printed": TABLE}, "goes with a table"),
        ({"mechanism": "angle-selection", "as_printed": {}}, "needs a centre"),
        ({"mechanism": "angle-selection", "as_printed": 5}, "must be a table"),
        ({"mechanism": "angle-selection", "as_printed": {**TABLE, "radius": 5}}, "did you mean"),
        (
            {"mechanism": "angle-selection", "as_printed": {**TABLE, "levels": 5}},
            "must be a list",
        ),
        ({"mechanism": "angle-selection", "as_printed": {**TABLE, "levels": [5, 3]}}, "3 levels"),
        ({"mechanism": "angle-selection", "as_printed": {**TABLE, "radii": [1, 2]}}, "one fewer"),
        (
            {"mechanism": "angle-selection", "as_printed": {**TABLE, "delta_angle": 2}},
            "between 0",
        ),
        ({"mechanism": "angle-selection", "as_printed": {**TABLE, "spread": "pi"}}, "above 0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_table(
    document: dict[str, object], message: str
) -> None:
    """Each message names the table and what it takes."""
    with pytest.raises(PlanError, match=message):
        stated(document)
