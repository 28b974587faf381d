"""Releases whose noise stays with places: plans, what they show and say, and the secret."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.attack.trajectory.on_release import _noise_of
from voile.disclosure.replaced import Moved, StatedGaussianField
from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.publish.registry import completed, publisher_for
from voile.release.check import check_release
from voile.release.folder import write_release
from voile.release.release import Publication, read_release
from voile.schema.plan import Plan, parse_plan
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import PlanError, TableError
from voile_base.randomness import Randomness
from voile_geo.geodesy import east_north, separation
from voile_geo.planar.field import STILL
from voile_geo.planar.pricing import TripPrice, total_epsilons
from voile_geo.planar.steps import gaussian_scale
from voile_tests.publish.geo_indistinguishability.trucks import PARIS, table_of, trucks

PLAN = Plan(Roles(), trajectory=TrajectoryColumns(vehicle="van"))
FLEETS = Plan(Roles(), trajectory=TrajectoryColumns(vehicle="van", fleet="fleet"))
DAY = 86_400.0


def fleet(days: int = 2, reports: int = 4) -> pl.DataFrame:
    """Two vans that drive the same way every day, each trip with an id of its own."""
    trips = trucks(2 * days, reports, stride=0.01)
    return trips.with_columns(
        van=pl.when(pl.col("trip") % 2 == 0).then(pl.lit("A")).otherwise(pl.lit("B")),
        time=pl.col("time") + (pl.col("trip") // 2) * DAY,
    )


def published(frame: pl.DataFrame | None = None, seed: int = 1, **given: Any) -> Publication:
    """The fleet, with noise that stays."""
    publisher = GeoIndistinguishability(mechanism="gaussian-field", epsilon=0.005, **given)
    table = table_of(fleet() if frame is None else frame, PLAN)
    return publisher.prepare(table, Randomness.seeded(seed))


def shown(publication: Publication) -> np.ndarray:
    """Published positions by trip and report, shape (trips, reports, 2)."""
    frame = publication.release.to_native()
    places = frame.sort("trip", "time").select("latitude", "longitude").to_numpy()
    return places.reshape(frame["trip"].n_unique(), -1, 2)


@pytest.mark.slow
def test_a_release_is_sound_and_says_its_law(tmp_path: Path) -> None:
    """Checked, written and read again; the law is read from it, and the vehicle is not shown."""
    release = published(stays=0.7, length=800, period=14, tau=60).release
    check_release(release)
    write_release(release, tmp_path / "out", "csv")
    again = read_release(tmp_path / "out")
    assert again.guarantee == release.guarantee
    assert "van" not in again.to_native().columns
    moved = again.disclosure.columns["latitude"]
    assert isinstance(moved, Moved)
    assert moved.law == StatedGaussianField(
        share=0.7, length=800, period_days=14, tau=60, shared=0.75, still_metres=STILL
    )
    assert set(moved.law.discloses) == {"standing", "returns", "noise-at-known-places"}
    noise = _noise_of(moved)
    assert (noise.share, noise.length, noise.period, noise.tau) == (0.7, 800, 14, 60)
    for said in ("random field over places", "14 days", "stands", "was before", "NOT promised"):
        assert said in release.guarantee.statement
    json.dumps(release.guarantee.document(), allow_nan=False)


def test_two_days_of_a_van_share_noise_and_two_vans_do_not() -> None:
    """With next to nothing fresh, a van shows the same on both days, and the vans differ."""
    found = shown(published(stays=0.999999, period=3650))
    again = separation(*found[0].T.copy(), *found[2].T.copy())
    others = separation(*found[0].T.copy(), *found[1].T.copy())
    assert again.max() < 5
    assert others.max() > 20


def test_releases_of_one_secret_share_fields_and_others_do_not(tmp_path: Path) -> None:
    """Day by day, with two draws of everything else; the file is its owner's alone."""
    days = [fleet().filter(pl.col("trip") // 2 == day) for day in (0, 1)]
    file = tmp_path / "fields.secret"
    given = {"stays": 0.999999, "period": 3650}
    one, other = (shown(published(day, i, secret=str(file), **given)) for i, day in enumerate(days))
    assert file.stat().st_mode & 0o777 == 0o600
    assert separation(*one[0].T.copy(), *other[0].T.copy()).max() < 5
    file.unlink()
    new = shown(published(days[1], 1, secret=str(file), **given))
    assert separation(*one[0].T.copy(), *new[0].T.copy()).max() > 20


@pytest.mark.parametrize(
    "other",
    [{"epsilon": 0.0025}, {"stays": 0.5}, {"length": 1_400}, {"period": 100}, {"shared": 0.5}],
)
def test_two_laws_of_one_secret_share_no_field(tmp_path: Path, other: dict[str, float]) -> None:
    """Else twice the noise at the same place would give the place: 2 y1 - y2, to the fresh part.

    60 vans at one report each: the noise of both releases is uncorrelated within 6 standard errors.
    """
    frame = trucks(60, 1).with_columns(van=pl.col("trip").cast(pl.String))
    frame = frame.with_columns(fleet=pl.col("van"))
    laws = {"epsilon": 0.005, "stays": 0.9, "length": 700, "period": 50}
    noises = []
    for seed, law in enumerate((laws, {**laws, **other})):
        publisher = GeoIndistinguishability(
            mechanism="gaussian-field", secret=str(tmp_path / "fields.secret"), **law
        )
        made = publisher.prepare(table_of(frame, FLEETS), Randomness.seeded(seed))
        rows = made.release.to_native().sort("trip")
        home = (np.full(60, degrees) for degrees in PARIS)
        moved = east_north(*home, rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
        noises.append(np.concatenate(moved) / gaussian_scale(law["epsilon"]))
    assert abs((noises[0] * noises[1]).mean()) < 6 / math.sqrt(120)


def test_a_trip_is_priced_by_its_fresh_part() -> None:
    """Moved as a whole, by time: an upper bound of what driving time costs."""
    release = published(stays=0.8, distance=50).release
    fresh = TripPrice(50 / math.sqrt(0.2), tau=120.0, differences="shifted")
    cost = fresh.cost(np.full(4, 0.005), np.arange(4) * 30.0)
    expected = total_epsilons(np.array([cost.epsilon]), np.array([cost.squared_mu]), 1e-5)[0]
    parameters = release.guarantee.parameters
    assert parameters["costliest_trip"]["epsilon"] == pytest.approx(expected, rel=1e-5)
    assert parameters["differences"] == "shifted"
    assert parameters["mu_per_metre"] == pytest.approx(1 / gaussian_scale(0.005), rel=1e-5)


def test_the_custodian_is_told() -> None:
    """Of what is shown exactly, and that a release without a secret stands alone."""
    said = " ".join(published().private.notices)
    assert "when a truck stands" in said
    assert "[method] secret" in said


def test_a_plan_names_vehicle_law_and_secret(tmp_path: Path) -> None:
    """As TOML has them; the secret is looked for beside the plan."""
    stated = parse_plan(
        {
            "roles": {"vehicle": "van"},
            "method": {
                "name": "geo-indistinguishability",
                "mechanism": "gaussian-field",
                "epsilon": 0.005,
                "stays": 0.5,
                "secret": "fields.secret",
            },
        },
        tmp_path,
    )
    plan = completed(stated, tmp_path)
    assert plan.trajectory == TrajectoryColumns(vehicle="van")
    assert plan.method is not None
    assert plan.method.parameters["secret"] == str(tmp_path / "fields.secret")


@pytest.mark.parametrize(
    ("vehicle", "given", "mechanism"),
    [
        ("van", {"epsilon": 0.005}, "gaussian-field"),
        ("van", {"epsilon": 0.005, "stays": 0.5}, "gaussian-field"),
        ("van", {"epsilon": 0.005, "differences": "shifted"}, "gaussian-field"),
        ("van", {"epsilon": 0.005, "differences": "any"}, "correlated-gaussian"),
        ("van", {"levels": 2, "radii": 400}, "correlated-gaussian"),
        ("van", {"epsilon": 0.005, "mechanism": "correlated-gaussian"}, "correlated-gaussian"),
        ("van", {"epsilon": 0.005, "mechanism": "planar-laplace"}, "planar-laplace"),
        (None, {"epsilon": 0.005}, "correlated-gaussian"),
    ],
)
def test_a_plan_whose_trips_have_vehicles_takes_noise_that_stays(
    tmp_path: Path, vehicle: str | None, given: dict, mechanism: str
) -> None:
    """Where it names no mechanism, and neither zones nor other neighbours stand against it."""
    roles = {} if vehicle is None else {"vehicle": vehicle}
    document = {"roles": roles, "method": {"name": "geo-indistinguishability", **given}}
    made = publisher_for(completed(parse_plan(document, tmp_path), tmp_path))
    assert made.mechanism == mechanism


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stays": 1}, "below 1"),
        ({"stays": -0.1}, "below 1"),
        ({"differences": "any"}, "comes back"),
        (
            {"epsilon": None, "levels": [2, 1], "level_limits": 5_000, "radii": 400},
            "levels is of use",
        ),
        ({"mechanism": "planar-laplace", "length": 500}, "gaussian-field"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    """With what to do about it."""
    every = {"mechanism": "gaussian-field", "epsilon": 0.005, **given}
    with pytest.raises(PlanError, match=said):
        GeoIndistinguishability(**{name: one for name, one in every.items() if one is not None})


def test_a_vehicle_must_be_named() -> None:
    """Without the role there is nobody whose field it is."""
    publisher = GeoIndistinguishability(mechanism="gaussian-field", epsilon=0.005)
    with pytest.raises(PlanError, match="vehicle"):
        publisher.prepare(table_of(trucks()), Randomness.seeded(1))


@pytest.mark.parametrize("held", ["", "no secret", "00" * 31])
def test_a_file_that_holds_no_secret_is_refused(tmp_path: Path, held: str) -> None:
    """By its name, without its folder or its content."""
    file = tmp_path / "fields.secret"
    file.write_text(held)
    with pytest.raises(PlanError, match=r"fields\.secret") as told:
        Randomness.in_file(str(file), "[method] secret")
    assert str(tmp_path) not in str(told.value)


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """It takes noise off all releases made with it; what was made is its owner's, and is taken."""
    file = tmp_path / "fields.secret"
    drawn = Randomness.in_file(str(file), "[method] secret")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(PlanError, match=rf"fields\.secret .*{mode:04o}.*chmod 600") as told:
            Randomness.in_file(str(file), "[method] secret")
        assert str(tmp_path) not in str(told.value)
    file.chmod(0o600)
    assert Randomness.in_file(str(file), "[method] secret").key("x").secret == drawn.key("x").secret


def at_a_depot(vans: int, fleets: int, **given: Any) -> np.ndarray:
    """Noise of one morning's first reports at one depot, in deviations, shape (fleets, vans, 2)."""
    frame = trucks(vans * fleets, 1).with_columns(van=pl.format("van {}", "trip"))
    frame = frame.with_columns(fleet=pl.format("fleet {}", pl.col("trip") // vans))
    publisher = GeoIndistinguishability(mechanism="gaussian-field", epsilon=0.005, **given)
    made = publisher.prepare(table_of(frame, FLEETS), Randomness.seeded(11))
    rows = made.release.to_native().sort("trip")
    home = (np.full(vans * fleets, degrees) for degrees in PARIS)
    moved = east_north(*home, rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
    return np.stack(moved, axis=1).reshape(fleets, vans, 2) / gaussian_scale(0.005)


def left_of(noise: np.ndarray) -> float:
    """The mean error of the mean over vans, over that of one report."""
    return float(np.hypot(*noise.mean(axis=1).T).mean() / np.hypot(*noise[:, 0].T).mean())


@pytest.mark.slow
def test_the_mean_of_a_fleet_at_a_depot_stays_away() -> None:
    """20 vans of each of 150 fleets: at least .75 of one report's error; each by itself: below .35.

    By the law .79, and .22 without what a fleet shares; a ratio of 150 draws is off by .04.
    """
    assert left_of(at_a_depot(20, 150)) > 0.72
    assert left_of(at_a_depot(20, 150, shared=0)) < 0.35


@pytest.mark.slow
def test_vehicles_without_fleets_are_of_one_and_fleets_share_nothing() -> None:
    """Means of two fleets are uncorrelated; without the column all vans share .6 of the variance.

    3,000 vans of one fleet have one mean, so that the mean of their products is that of one draw.
    """
    fleets = at_a_depot(20, 150).mean(axis=1)
    assert abs((fleets[::2] * fleets[1::2]).mean()) < 6 / math.sqrt(150)
    frame = trucks(40, 2).with_columns(van=pl.format("van {}", "trip"))
    named = frame.with_columns(fleet=pl.lit("all"))
    publisher = GeoIndistinguishability(mechanism="gaussian-field", epsilon=0.005, stays=0.99)
    one = publisher.prepare(table_of(frame, PLAN), Randomness.seeded(2)).release.to_native()
    latitude = one.sort("trip", "time")["latitude"].to_numpy().reshape(40, 2)[:, 0]
    other = publisher.prepare(table_of(named, FLEETS), Randomness.seeded(2)).release.to_native()
    assert "fleet" not in other.columns
    metres = (latitude - PARIS[0]) * 111_000 / gaussian_scale(0.005)
    # .25 of what stays is of each van: the deviation around the fleet's mean.
    assert 0.35 < metres.std() < 0.65


def test_the_unit_of_a_fleet_and_its_price_are_stated(tmp_path: Path) -> None:
    """In words and numbers, for all trips together; with shared = 0 it is the vehicle again."""
    release = published().release
    stated = release.guarantee.parameters
    assert stated["costliest_fleet"]["reports"] == release.table.rows
    assert stated["costliest_fleet"]["epsilon"] > stated["costliest_trip"]["epsilon"]
    assert "costliest_vehicle" not in stated or stated["costliest_vehicle"] is None
    for words in ("The unit is the fleet", "a single vehicle that moves", "0.6 of its variance"):
        assert words in release.guarantee.statement
    check_release(release)
    alone = published(shared=0).release
    assert alone.guarantee.parameters["costliest_vehicle"]["reports"] > 0
    assert "fleet" not in alone.guarantee.statement
    with pytest.raises(PlanError, match="shared = 0"):
        published(fleet="vans", budget=5, budget_days=7)
    assert published(fleet="vans", budget=500, budget_days=7, shared=0)


def test_a_trip_of_two_fleets_is_refused_and_a_van_may_change_fleets() -> None:
    """With the row of the file; between trips it is another fleet, and the van's own part stays."""
    frame = fleet().with_columns(fleet=pl.when(pl.col("trip") < 2).then(1).otherwise(2))
    publisher = GeoIndistinguishability(mechanism="gaussian-field", epsilon=0.005)
    assert publisher.prepare(table_of(frame, FLEETS), Randomness.seeded(1)).release.table.rows == 16
    row = pl.int_range(pl.len())
    mixed = frame.with_columns(fleet=pl.when(row == 2).then(7).otherwise("fleet"))
    with pytest.raises(TableError, match="row 3 names another fleet"):
        publisher.prepare(table_of(mixed, FLEETS), Randomness.seeded(1))
    other = GeoIndistinguishability(mechanism="planar-laplace", epsilon=0.005)
    with pytest.raises(PlanError, match="of use for noise that stays"):
        other.prepare(table_of(frame, FLEETS), Randomness.seeded(1))


def each_second(seconds: int = 200, begins: float = 17.0) -> pl.DataFrame:
    """Two vans with a report every second at 8 m/s, from 17 s past a slot on."""
    frame = trucks(2, seconds, gap=1.0, stride=8 / 111_000)
    return frame.with_columns(van=pl.format("{}", "trip"), time=pl.col("time") + begins)


def test_fields_are_published_by_slots_of_the_clock() -> None:
    """Of each 30 s by the clock the first report; finer ones say that the way driven shows."""
    made = published(each_second())
    times = made.release.to_native().filter(pl.col("trip") == 0)["time"].sort().to_list()
    assert times == [17, 30, 60, 90, 120, 150, 180, 210]
    assert made.release.method["every"] == 30
    assert made.release.method["decision"]["left_out"]["every"] == 400 - 16
    assert "way driven" not in made.release.guarantee.statement
    fine = published(each_second(), every="5 s")
    assert "way driven" in fine.release.guarantee.statement
    assert any("way driven" in notice for notice in fine.private.notices)
    law = fine.release.disclosure.columns["latitude"].law
    assert "way-driven" in law.discloses
    assert fine.release.table.rows == 2 * 41
    check_release(fine.release)


def test_slots_begin_anew_with_each_day() -> None:
    """Where a slot does not divide a day, midnight begins one, for all trips alike."""
    frame = each_second(60, DAY - 30)
    times = published(frame, every=50).release.to_native()["time"].unique().sort().to_list()
    assert times == [DAY - 30, DAY]


def test_slots_longer_than_all_trips_are_refused() -> None:
    """Rather than published with one report each; trips of one report may be."""
    with pytest.raises(TableError, match="one report in 3600 s leaves one of each trip"):
        published(each_second(100, 3_600.0), every="1 h")
    single = each_second(1)
    assert published(single, every="1 h").release.table.rows == 2
