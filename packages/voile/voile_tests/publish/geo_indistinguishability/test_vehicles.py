"""What a vehicle spends over days, and how many of its reports that buys."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.release.check import check_release
from voile.release.release import Publication
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_geo.planar.costs import LossDistribution, composed_epsilon, gaussian_epsilon, squared_mu
from voile_tests.publish.geo_indistinguishability.trucks import table_of, trucks

PLAN = Plan(Roles(), trajectory=TrajectoryColumns(vehicle="truck"))
LAW = LossDistribution("planar-laplace", 0.5)


def fleet(reports: int = 20) -> pl.DataFrame:
    """Two trucks; the first drives on the days 0, 1 and 5, the other on day 0, a trip each."""
    frame = trucks(4, reports)
    days = np.repeat([0, 1, 5, 0], reports)
    names = np.repeat(["A", "A", "A", "B"], reports)
    return frame.with_columns(time=pl.col("time") + 86_400.0 * days, truck=pl.Series(names))


def published(frame: pl.DataFrame | None = None, **given) -> Publication:
    given = {"mechanism": "planar-laplace", "epsilon": 0.005, **given}
    table = table_of(fleet() if frame is None else frame, PLAN)
    return GeoIndistinguishability(**given).prepare(table, Randomness.seeded(3))


def epsilon(reports: int) -> float:
    return composed_epsilon(((LAW, reports),), 0.0, 1e-5)


def test_what_a_vehicle_costs_is_stated():
    """All its trips together, or those of any days on end; and it is what is judged."""
    made = published()
    found = made.release.guarantee.parameters["costliest_vehicle"]
    assert found == {"reports": 60, "epsilon": pytest.approx(epsilon(60), rel=1e-5)}
    given = {"fleet": "vans", "budget": 100, "budget_days": 2}
    made = published(**given)
    found = made.release.guarantee.parameters["costliest_vehicle"]
    assert found == {"reports": 40, "epsilon": pytest.approx(epsilon(40), rel=1e-5), "days": 2}
    assert "within any 2 days on end (UTC)" in made.release.guarantee.statement
    assert "truck" not in made.release.to_native().columns
    check_release(made.release)
    many = published(fleet(60), **given)
    assert many.release.guarantee.parameters["costliest_trip"]["epsilon"] < 20
    assert "PROTECTS NOTHING" in many.release.guarantee.statement
    assert any("costliest vehicle has epsilon" in notice for notice in many.private.notices)


def test_correlated_noise_of_a_vehicle_adds_up():
    """The squares of mu of its trips do, for each trip has noise of its own."""
    made = published(mechanism="correlated-gaussian")
    trip = squared_mu(np.full(20, 0.005), np.arange(20) * 30.0, 100.0, 120.0)[-1]
    found = made.release.guarantee.parameters["costliest_vehicle"]["epsilon"]
    assert found == pytest.approx(gaussian_epsilon((3 * trip) ** 0.5, 1e-5), rel=1e-5)


@pytest.mark.slow
def test_reports_are_left_out_and_counted():
    """By time, by what is published, and to what a budget buys: the release says how many."""
    made = published(every="2 min")
    assert made.release.method["decision"]["left_out"] == {"every": 60, "at_least": 0}
    assert made.release.guarantee.parameters["costliest_trip"]["reports"] == 5
    made = published(at_least="0.3 km")
    left_out = made.release.method["decision"]["left_out"]
    assert left_out["every"] == 0 < left_out["at_least"]
    assert made.release.rows == 80 - left_out["at_least"]
    stated = made.release.guarantee.parameters["costliest_trip"]["epsilon"]
    assert stated == pytest.approx(epsilon(20), rel=1e-5)
    assert "all that were left out by at_least are paid for" in made.release.guarantee.statement
    check_release(made.release)
    budget = epsilon(12)
    made = published(fleet="vans", budget=budget, budget_days=2, reports="auto")
    found = made.release.guarantee.parameters["costliest_vehicle"]["epsilon"]
    assert 0.7 * budget < found <= budget
    shown = made.release.to_native().group_by("trip", maintain_order=True).len()["len"].to_list()
    assert shown[0] == shown[1] == shown[2] < shown[3]


@pytest.mark.slow
def test_positions_do_not_move_what_is_left_out_by_time():
    """The times that are published are the same wherever the truck was."""
    elsewhere = fleet().with_columns(pl.col("latitude") + 0.3)
    for given in ({"every": 100}, {"fleet": "v", "budget": 5, "reports": "auto"}):
        one, two = (published(frame, **given).release.to_native() for frame in (None, elsewhere))
        assert one["time"].equals(two["time"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"every": "60 m"}, "every must be a number of seconds above 0, or a text with its unit"),
        ({"every": "minute"}, 'such as "60 s"'),
        ({"at_least": 0}, "at_least must"),
        ({"at_least": "-3 m"}, "at_least must"),
        ({"reports": "auto"}, "reports is of use with budget only"),
        ({"budget_days": 3}, "budget_days is of use with budget only"),
        ({"fleet": "v", "budget": 3, "budget_days": 1.5}, "budget_days must be a whole number"),
        ({"reports": "some", "fleet": "v", "budget": 1}, "reports must be one of"),
        ({"mechanism": "remaining-distance", "at_least": 5}, "at_least is about positions"),
        (
            {"epsilon": None, "levels": [2, 1], "radii": 100, "level_limits": 9, "at_least": 5},
            "take every",
        ),
    ],
)
def test_what_cannot_be(given, message):
    """Units, and keys that mean nothing together."""
    with pytest.raises(PlanError, match=message):
        GeoIndistinguishability(**{"mechanism": "planar-laplace", "epsilon": 0.005, **given})


def test_days_need_a_vehicle():
    """A budget over days is one of a vehicle, which the plan has to name."""
    publisher = GeoIndistinguishability(epsilon=0.005, fleet="v", budget=9, budget_days=2)
    with pytest.raises(PlanError, match=r"\[roles\] vehicle must name the column"):
        publisher.publish(table_of(trucks()))
