"""Releases of moved trajectories: what they show, promise and charge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voile.attack.trajectory.on_release import _noise_of
from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.publish.geo_indistinguishability.parameters import GRID
from voile.release.check import GuaranteeBrokenError, check_release
from voile.release.folder import write_release
from voile.release.release import Publication, read_release
from voile.schema.budget import BudgetPlan
from voile.schema.roles import Roles
from voile.table.opening import published_rows
from voile_base.errors import PlanError, TableError
from voile_base.randomness import Randomness
from voile_geo.geodesy import separation
from voile_geo.planar.costs import (
    LossDistribution,
    angle_selection_cost,
    composed_epsilon,
    gaussian_epsilon,
    squared_mu,
)
from voile_geo.planar.pricing import TripPrice, total_epsilons
from voile_geo.planar.steps import corrected_epsilon, turn_constant, turn_deviation
from voile_geo.roads.reading import read_roads
from voile_testing.plugin import some_slow
from voile_tests.publish.geo_indistinguishability.trucks import (
    PARIS,
    PLAN,
    table_of,
    trucks,
    write_town,
)

EVERY = {
    "correlated-gaussian": {},
    "planar-laplace": {},
    "angle-selection": {"epsilon_angle": 31.38},
    "remaining-distance": {"destination": (48.9, 2.4)},
}


def published(
    mechanism: str = "planar-laplace", frame: pl.DataFrame | None = None, **given
) -> Publication:
    """A publication of small trucks."""
    given = {"epsilon": 0.005, **EVERY[mechanism], **given}
    given = {name: value for name, value in given.items() if value is not None}
    table = table_of(trucks() if frame is None else frame)
    return GeoIndistinguishability(mechanism=mechanism, **given).prepare(
        table, Randomness.seeded(1)
    )


@pytest.mark.parametrize("mechanism", EVERY)
def test_every_mechanism_makes_a_sound_release(mechanism, tmp_path):
    """Checked, written and read again, its guarantee in words and numbers."""
    release = published(mechanism).release
    check_release(release)
    write_release(release, tmp_path / "out", "csv")
    again = read_release(tmp_path / "out")
    assert again.guarantee == release.guarantee
    assert again.guarantee.kind == "geo-indistinguishability"
    assert again.guarantee.parameters["trajectory"] == (mechanism != "angle-selection")
    assert again.method["mechanism"] == mechanism
    shows = "remaining" if mechanism == "remaining-distance" else "latitude"
    assert again.roles[shows] == (shows,)
    json.dumps(release.guarantee.document(), allow_nan=False)


def test_what_a_trip_costs_is_stated():
    """The costliest trip's epsilon is that of its reports, under each mechanism."""
    frame = pl.concat([trucks(1, 5), trucks(1, 2).with_columns(trip=pl.lit(7, pl.Int64))])
    times, epsilons = np.arange(5) * 30.0, np.full(5, 0.005)

    def stated(mechanism: str, **given) -> dict[str, float]:
        return published(mechanism, frame, **given).release.guarantee.parameters["costliest_trip"]

    for mechanism, noise in (
        ("planar-laplace", "planar-laplace"),
        ("remaining-distance", "laplace"),
    ):
        for distance in (100, 10):
            law = LossDistribution(noise, 0.005 * distance)
            epsilon = composed_epsilon(((law, 5),), 0.0, 1e-5)
            assert epsilon < 0.025 * distance
            found = stated(mechanism, distance=distance)
            assert found == {"reports": 5, "epsilon": pytest.approx(epsilon, rel=1e-5)}
    deviation = published("angle-selection").release.method["decision"]["deviation"]
    assert deviation == pytest.approx(0.97, abs=1e-3)
    turned = angle_selection_cost(epsilons, 100, deviation)[-1]
    assert stated("angle-selection")["epsilon"] == pytest.approx(turned, rel=1e-5)
    for differences in ("any", "shifted"):
        mu = squared_mu(epsilons, times, 100, 120, differences)[-1] ** 0.5
        found = stated("correlated-gaussian", differences=differences)["epsilon"]
        assert found == pytest.approx(gaussian_epsilon(mu, 1e-5), rel=1e-5)


def test_what_is_said_of_angle_selection():
    """No trajectory is promised anything, in words, in numbers and in a notice."""
    made = published("angle-selection")
    guarantee = made.release.guarantee
    assert "A TRAJECTORY IS NOT PROTECTED" in guarantee.statement
    kappa = turn_constant(made.release.method["decision"]["deviation"])
    assert guarantee.parameters["kappa"] == pytest.approx(kappa, rel=1e-5)
    assert any("not trajectories" in notice for notice in made.private.notices)


@pytest.mark.parametrize("mechanism", EVERY)
def test_an_epsilon_that_protects_nothing_is_called_that(mechanism):
    """Above 20 for a trip, in the statement and in a notice; neither is said at 20 or below."""
    for distance in (100, 1000):
        made = published(mechanism, trucks(2, 40), distance=distance)
        spent = made.release.guarantee.parameters["costliest_trip"]["epsilon"]
        none = spent > 20
        assert none == (distance == 1000 or mechanism in {"correlated-gaussian", "angle-selection"})
        assert mechanism != "planar-laplace" or distance == 1000 or spent < 11
        assert ("PROTECTS NOTHING" in made.release.guarantee.statement) == none
        notices = [it for it in made.private.notices if "protects nothing" in it]
        assert len(notices) == none
        assert all(f"{spent:,.4g}" in notice for notice in notices)


def test_what_is_judged_is_what_is_stated():
    """40 reports of .5 are stated as 20, however their sum is rounded, and are not above 20."""
    zones = {"levels": [1, 1], "level_limits": [500.0], "destination": PARIS}
    made = published("planar-laplace", trucks(2, 40), epsilon=None, radii=200, **zones)
    assert made.release.guarantee.parameters["costliest_trip"]["epsilon"] == 20
    assert "PROTECTS NOTHING" not in made.release.guarantee.statement
    near = GeoIndistinguishability(mechanism="planar-laplace", radii=199.9998, **zones)
    above = near.publish(table_of(trucks(2, 40)), Randomness.seeded(1))
    assert above.guarantee.parameters["costliest_trip"]["epsilon"] == 20
    assert "PROTECTS NOTHING" not in above.guarantee.statement


def test_epsilon_per_metre_is_not_judged():
    """One report of 2 m of noise costs 100 at 100 m, and nothing of note at 1 m."""
    for distance, none in ((100, True), (1, False)):
        made = published("planar-laplace", trucks(2, 1), epsilon=1, distance=distance)
        assert ("PROTECTS NOTHING" in made.release.guarantee.statement) == none


def test_radii_pay_for_the_grid():
    """Planar Laplace noise is drawn with eq. 3's epsilon; trips are charged what is promised."""
    made = published("planar-laplace", epsilon=0.0002)
    factor = made.release.method["decision"]["epsilon_factor"]
    assert factor == pytest.approx(
        corrected_epsilon(0.0002, GRID, 1.2 * 52 / 0.0002) / 0.0002, rel=1e-12
    )
    assert 0.9 < factor < 1
    law = LossDistribution("planar-laplace", 0.02)
    expected = composed_epsilon(((law, 4),), 0.0, 1e-5)
    found = made.release.guarantee.parameters["costliest_trip"]["epsilon"]
    assert found == pytest.approx(expected, rel=1e-5)
    assert published("correlated-gaussian").release.method["decision"]["epsilon_factor"] == 1


def test_zones_by_published_positions_are_promised():
    """Epsilons of zones are stated, and a later report is charged that of its zone."""
    zones = {"epsilon": None, "levels": [2, 1], "radii": [200], "level_limits": [3000.0]}
    far = published("planar-laplace", destination=(60.0, 2.35), **zones)
    parameters = far.release.guarantee.parameters
    assert parameters["zones"] == {"epsilons": [[0.01], [0.005]], "by": "published"}
    assert parameters["costliest_trip"]["epsilon"] == 2.0
    near = published("planar-laplace", destination=PARIS, **zones)
    # The first report has the smallest epsilon, each later one that near the destination.
    assert near.release.guarantee.parameters["costliest_trip"]["epsilon"] == 3.5


def test_zones_by_true_positions_are_not():
    """The seed's choice of zones is marked in the kind, the statement and a notice."""
    zones = {"epsilon": None, "levels": [2, 1], "radii": [200], "level_limits": [3000.0]}
    made = published("planar-laplace", destination=PARIS, zones_by="true", **zones)
    guarantee = made.release.guarantee
    assert guarantee.kind == "geo-indistinguishability-within-zones"
    assert "This is NOT geo-indistinguishability" in guarantee.statement
    assert "costliest_trip" not in guarantee.parameters
    assert any("nothing is promised at the borders" in it for it in made.private.notices)
    check_release(made.release)


@pytest.mark.parametrize(
    ("mechanism", "latitude", "mean"),
    [
        ("planar-laplace", 0.0, 2),
        ("planar-laplace", 60.0, 2),
        pytest.param("correlated-gaussian", -45.0, 2, marks=pytest.mark.slow),
        ("angle-selection", 60.0, 2),
    ],
)
def test_the_mean_displacement_is_two_over_epsilon(mechanism, latitude, mean):
    """In metres, at every latitude and in both directions; 20,000 trips of one report, 5 sigma."""
    frame = trucks(20_000, 1).with_columns(latitude=pl.lit(latitude))
    rows = published(mechanism, frame).release.to_native()
    shown = rows["latitude"].to_numpy(), rows["longitude"].to_numpy()
    home = np.full(len(rows), latitude), np.full(len(rows), PARIS[1])
    moved = separation(*home, *shown) * 0.005
    assert abs(moved.mean() - mean) < 5 * moved.std() / len(rows) ** 0.5
    # A toolkit that adds noise on earth-centred axes shrinks the north by sin(latitude).
    north = separation(*home, shown[0], home[1]) * 0.005
    east = separation(*home, home[0], shown[1]) * 0.005
    assert north.mean() == pytest.approx(east.mean(), rel=0.05)


def test_the_first_direction_of_the_seed():
    """With start = "zero" the first report is moved due north or hardly aside, as in the source."""
    frame = trucks(400, 1)
    shown = published("angle-selection", frame, start="zero", epsilon_angle=300.0)
    rows = shown.release.to_native()
    north = rows["latitude"].to_numpy() - PARIS[0]
    east = (rows["longitude"].to_numpy() - PARIS[1]) * np.cos(np.radians(PARIS[0]))
    turned = np.arctan2(east, north)
    assert np.abs(turned).mean() < 0.2
    assert "not even a single report" in shown.release.guarantee.statement
    kappa = turn_constant(shown.release.method["decision"]["deviation"])
    stated = shown.release.guarantee.parameters["costliest_trip"]["epsilon"]
    assert stated == pytest.approx(0.5 + kappa, rel=1e-5)


def test_charges_need_a_fleet():
    """Without one nothing is charged, which a notice says; with one each trip has its cost."""
    made = published()
    assert made.trip_costs is None
    assert any("names no fleet" in notice for notice in made.private.notices)
    made = published(fleet="vans", budget=3)
    assert made.trip_costs.fleet.name == "vans"
    assert made.trip_costs.distribution == LossDistribution("planar-laplace", 0.5)
    assert made.trip_costs.accounts.alike.tolist() == [4, 4, 4]
    assert made.trip_costs.accounts.epsilon.tolist() == [0, 0, 0]
    assert not any("names no fleet" in notice for notice in made.private.notices)


def test_roles_that_do_not_fit():
    """A table without trajectories, ranking columns, and budgets of rows are refused."""
    publisher = GeoIndistinguishability(epsilon=0.005)
    with pytest.raises(PlanError, match="names no trajectories"):
        publisher.publish(
            table_of(trucks(), replace(PLAN, roles=Roles(keep=("trip",)), trajectory=None))
        )
    budget = replace(PLAN, budget=BudgetPlan("vans", 3))
    with pytest.raises(PlanError, match="name a fleet and a budget"):
        publisher.publish(table_of(trucks(), budget))
    with pytest.raises(PlanError, match="ranking is of use"):
        publisher.publish(
            table_of(trucks().with_columns(x=1), replace(PLAN, roles=Roles(ranking=("x",))))
        )


@pytest.mark.parametrize(
    ("mechanism", "change"),
    [
        ("planar-laplace", lambda rows: rows.with_columns(pl.col("latitude") + 1e-8)),
        ("planar-laplace", lambda rows: rows.with_columns(latitude=pl.lit(99.0))),
        ("planar-laplace", lambda rows: rows.filter(pl.col("time") > 0)),
        ("remaining-distance", lambda rows: rows.with_columns(remaining=pl.lit(-1))),
        ("remaining-distance", lambda rows: rows.with_columns(remaining=pl.lit(1.5))),
    ],
)
def test_a_release_that_breaks_its_promise_is_found(mechanism, change):
    """A finer grid, what is no position or distance, and missing reports of the costliest trip."""
    release = published(mechanism).release
    check_release(release)
    broken = published_rows(change(release.table.to_native()))
    with pytest.raises(GuaranteeBrokenError):
        check_release(replace(release, table=broken))


def test_too_much_is_not_promised():
    """A release of selected angles that promises something for trajectories is found."""
    release = published("angle-selection").release
    (claim,) = release.guarantee.claims
    claimed = replace(release.guarantee, claims=(claim.model_copy(update={"trajectory": True}),))
    with pytest.raises(GuaranteeBrokenError, match="for trajectories"):
        check_release(replace(release, guarantee=claimed))


def by_roads(folder: Path, frame: pl.DataFrame | None = None, **given) -> Publication:
    """Trucks with radii by the streets of a town."""
    given = {"levels": 1, "roads_within": 2, "radius_bounds": (200, 800), **given}
    return published(frame=frame, epsilon=None, roads=str(write_town(folder)), **given)


@pytest.mark.parametrize(
    "mechanism",
    some_slow(
        ["correlated-gaussian", "planar-laplace", "angle-selection"],
        {"correlated-gaussian", "planar-laplace"},
    ),
)
def test_radii_by_roads(mechanism, tmp_path):
    """Each report has the zone of the position published before it, by the map; all is stated."""
    given = EVERY[mechanism]
    made = by_roads(tmp_path, trucks(30, 20, stride=0.005), mechanism=mechanism, **given)
    release = made.release
    check_release(release)
    method = release.method
    assert (method["roads"], method["roads_within"]) == ("town.csv", 2)
    assert method["radius_bounds"] == [200, 800]
    roads = read_roads(tmp_path / "town.csv")
    assert method["decision"]["map"]["digest"] == roads.digest
    zones = _noise_of(release.disclosure.columns["latitude"], roads).zones
    price = {"correlated-gaussian": {"tau": 120.0}, "planar-laplace": {}}.get(
        mechanism, {"deviation": turn_deviation(31.38, 1e-5)}
    )
    rows = release.to_native()
    costs = []
    for _, trip in rows.group_by("trip", maintain_order=True):
        places = trip.select("latitude", "longitude").rows()
        table = zones.table(None)
        epsilons = [table.epsilon((0, 0), last) for last in (None, *places[:-1])]
        assert epsilons[0] == min(zones.epsilons().ravel())
        factor = method["decision"]["epsilon_factor"]
        cost = TripPrice(100.0 / factor, **price).cost(np.array(epsilons), trip["time"].to_numpy())
        costs.append(float(total_epsilons(*(np.array([part]) for part in cost[:2]), 1e-5)[0]))
    assert len(set(costs)) > 10
    stated = release.guarantee.parameters["costliest_trip"]["epsilon"]
    assert stated == pytest.approx(max(costs), rel=1e-5)
    assert release.guarantee.parameters["trajectory"] == (mechanism != "angle-selection")
    assert str(tmp_path) not in json.dumps(method)


def test_radii_by_roads_at_the_true_position_promise_nothing(tmp_path):
    """The seed's way is marked, in the guarantee and in a notice."""
    made = by_roads(tmp_path, zones_by="true")
    assert made.release.guarantee.kind == "geo-indistinguishability-within-zones"
    assert made.release.guarantee.parameters["trajectory"] is False
    assert any("nothing is promised at the borders" in notice for notice in made.private.notices)


def test_reports_beyond_the_map_are_told(tmp_path):
    """They have the largest radius, and the custodian hears how many there are."""
    made = by_roads(tmp_path, trucks(2, 4, stride=0.1))
    assert any(
        notice.startswith("reports beyond the map: 4 of 8") for notice in made.private.notices
    )
    assert not any("beyond the map" in notice for notice in by_roads(tmp_path).private.notices)
    away = trucks().with_columns(pl.col("latitude") - 10)
    with pytest.raises(TableError, match="no report lies on the map"):
        by_roads(tmp_path, away)


def test_swapped_columns_show_by_the_map(tmp_path):
    """Positions that lie on the map only once latitude and longitude are exchanged are refused."""
    swapped = trucks().rename({"latitude": "longitude", "longitude": "latitude"})
    with pytest.raises(TableError, match="seem to be swapped"):
        by_roads(tmp_path, swapped)


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        (None, {}, "there is no such map"),
        ('source,target,highway,wkt\n1,2,footway,"LINESTRING (2 48, 2 49)"\n', {}, "no road"),
        ("a,b\n1,2\n", {}, "source and target, or u and v"),
        ("source,target\n1,2\n", {}, "roads_nodes"),
        ('source,target,wkt\n1,2,"LINESTRING (2 48, 2 48.1)"\n', {}, "nowhere on the map m.csv"),
    ],
)
def test_maps_that_are_none(tmp_path, content, given, message):
    """A map that is missing, has no road for cars, or too few anywhere is told with what to do."""
    if content:
        (tmp_path / "m.csv").write_text(content)
    publisher = GeoIndistinguishability(levels=1, roads=str(tmp_path / "m.csv"), **given)
    with pytest.raises((PlanError, TableError), match=message):
        publisher.prepare(table_of(trucks()), Randomness.seeded(1))
