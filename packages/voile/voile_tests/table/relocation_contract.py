"""What moving reports needs of an engine: order, identity, laws of noise, clear refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile.table.decisions import Relocated, Relocation, TripAccounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError, RefusedError, TableError
from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import separation
from voile_geo.planar.noise import CorrelatedGaussian, Live, PlanarLaplace
from voile_geo.planar.pricing import TripPrice
from voile_geo.planar.steps import Zones
from voile_tests.table.engine import Engine

FALSE_ALARM = 1e-6
EPSILON = 0.005
PLAN = Plan(Roles(), trajectory=TrajectoryColumns())
MOVED = Relocation(PlanarLaplace(Zones((EPSILON,))), TripPrice(100.0))
REPORTS = st.lists(
    st.tuples(
        st.sampled_from(["north", "south", "a b"]),
        st.integers(0, 5),
        st.floats(40, 41, allow_nan=False),
        st.floats(2, 3, allow_nan=False),
    ),
    min_size=1,
    max_size=12,
)


def reports_of(rows: list[tuple[Any, ...]], **more: Any) -> pl.DataFrame:
    """A table of trips."""
    frame = pl.DataFrame(rows, schema=["trip", "time", "latitude", "longitude"], orient="row")
    return frame.with_columns(**{name: pl.Series(values) for name, values in more.items()})


def straight(trips: int, reports: int, gap: float = 30.0) -> pl.DataFrame:
    """Trucks that stand still near Paris, with a report every ``gap`` seconds."""
    trip = np.repeat(np.arange(trips), reports)
    time = np.tile(np.arange(reports) * gap, trips)
    return pl.DataFrame({"trip": trip, "time": time}).with_columns(
        latitude=pl.lit(48.85), longitude=pl.lit(2.35)
    )


class RelocationContract(Engine):
    """Promises of ``PrivateTable.relocate``."""

    def trips(self, frame: pl.DataFrame, plan: Plan = PLAN) -> PrivateTable:
        """A table of trips, of this engine."""
        return self.open(frame, plan)

    def moved(
        self,
        frame: pl.DataFrame,
        relocation: Relocation = MOVED,
        *,
        plan: Plan = PLAN,
        seed: int = 0,
    ) -> tuple[pl.DataFrame, Relocated]:
        """The published rows, and what came with them."""
        made = self.trips(frame, plan).relocate(relocation, Randomness.seeded(seed))
        return self.rows_of(made.table), made

    @given(rows=REPORTS, seed=st.integers(0, 3))
    def test_every_report_is_published_by_trip_and_time(
        self, rows: list[tuple[Any, ...]], seed: int
    ) -> None:
        """Trips and times stay as they are, sorted; ties stand by what they show."""
        shown, made = self.moved(reports_of(rows), seed=seed)
        assert shown.select("trip", "time").rows() == sorted(row[:2] for row in rows)
        assert shown.equals(shown.sort("trip", "time", "latitude", "longitude"))
        assert made.left_out == 0
        assert made.trips.reports.sum() == len(rows)

    @given(rows=REPORTS, seed=st.integers(0, 3), data=st.data())
    def test_the_order_of_the_file_does_not_matter(
        self, rows: list[tuple[Any, ...]], seed: int, data: st.DataObject
    ) -> None:
        """Where times differ, a table in another order is moved alike."""
        rows = list({row[:2]: row for row in rows}.values())
        others = data.draw(st.permutations(rows))
        one, other = (self.moved(reports_of(it), seed=seed)[0] for it in (rows, others))
        assert one.equals(other)

    def test_noise_depends_on_the_trip_and_not_on_the_place(self) -> None:
        """Trucks that are elsewhere get the same displacements; other ids get others."""
        here = straight(2, 5)
        there = here.with_columns(latitude=pl.col("latitude") + 0.01)
        one, other = (self.moved(frame)[0] for frame in (here, there))
        lifted = one["latitude"].to_numpy() + 0.01
        # A degree of longitude is shorter there, so only latitudes compare directly.
        assert np.allclose(lifted, other["latitude"].to_numpy(), atol=2e-6)
        renamed = here.with_columns(trip=pl.col("trip") + 7)
        assert not np.allclose(
            self.moved(renamed)[0]["latitude"].to_numpy(), one["latitude"].to_numpy(), atol=1e-5
        )
        first, second = (one.filter(trip=trip)["latitude"] for trip in (0, 1))
        assert not first.equals(second)

    def test_a_table_is_moved_as_a_live_stream_is(self) -> None:
        """Report by report, a stream with the trip's word shows what the table shows."""
        frame = straight(1, 6)
        noise = CorrelatedGaussian(Zones((EPSILON,)))
        shown, _ = self.moved(frame, Relocation(noise, TripPrice(100.0, tau=120.0)))
        randomness = Randomness.seeded(0)
        word = trip_word(0, randomness.key("trip"))
        live = Live(noise, randomness.key("relocate"), word)
        for time, latitude, longitude in shown.drop("trip").rows():
            at = live.report(48.85, 2.35, time)
            assert at == pytest.approx((latitude, longitude), abs=1e-6)

    @pytest.mark.parametrize("wrong", [False, True])
    def test_positions_are_moved_by_the_law(self, wrong: bool) -> None:
        """4,000 displacements fit Gamma(2, 1 / epsilon); 30 % less noise does not (1e-6)."""
        drawn = EPSILON / 0.7 if wrong else EPSILON
        moved = replace(MOVED, noise=PlanarLaplace(Zones((drawn,))))
        shown, _ = self.moved(straight(400, 10), moved)
        latitude, longitude = (shown[name].to_numpy() for name in ("latitude", "longitude"))
        home = np.full(len(latitude), 48.85), np.full(len(latitude), 2.35)
        radius = separation(*home, latitude, longitude)
        fit = stats.kstest(radius, stats.gamma(2, scale=1 / EPSILON).cdf).pvalue
        assert (fit < FALSE_ALARM) == wrong

    def test_positions_lie_on_the_grid(self) -> None:
        """Six decimals, and longitudes from -180 to below 180, also across the date line."""
        frame = straight(50, 4).with_columns(longitude=pl.lit(179.9999))
        shown, _ = self.moved(frame)
        for name in ("latitude", "longitude"):
            degrees = shown[name].to_numpy()
            assert np.array_equal(np.round(degrees, 6), degrees)
        longitude = shown["longitude"].to_numpy()
        assert ((longitude >= -180) & (longitude < 180)).all()
        assert (longitude < 0).any()
        assert (longitude > 0).any()

    def test_longitude_180_is_published_as_minus_180(self) -> None:
        """Rounded to the grid, a place just west of the date line has the name of the line."""
        hardly = replace(MOVED, noise=PlanarLaplace(Zones((1e6,))))
        for longitude in (179.9999999, 180.0, -180.0, -179.9999999):
            frame = straight(4, 5).with_columns(longitude=pl.lit(longitude))
            assert set(self.moved(frame, hardly)[0]["longitude"]) == {-180.0}

    def test_other_columns(self) -> None:
        """What is kept stays with its report; columns without a role are not published."""
        frame = reports_of(
            [("b", 1, 40.0, 2.0), ("a", 2, 40.0, 2.0), ("a", 1, 40.0, 2.0)],
            load=["b1", "a2", "a1"],
            driver=["Ann", "Bob", "Bob"],
        )
        roles = Roles(keep=("load",), keep_unique=("load",))
        plan = Plan(roles, trajectory=TrajectoryColumns())
        shown, _ = self.moved(frame, plan=plan)
        assert shown.columns == ["trip", "time", "latitude", "longitude", "load"]
        assert shown["load"].to_list() == ["a1", "a2", "b1"]

    def test_trips_by_number(self) -> None:
        """Numbers follow the time at which trips begin, and no id is left."""
        frame = reports_of(
            [("zebra", 5, 40.0, 2.0), ("ant", 9, 40.0, 2.0), ("zebra", 10, 40.0, 2.0)]
        )
        shown, _ = self.moved(frame, replace(MOVED, numbered=True))
        assert shown.select("trip", "time").rows() == [(1, 5), (1, 10), (2, 9)]

    def test_numbers_of_trips_that_begin_together_tell_nothing_of_the_file(self) -> None:
        """In whichever order the file has them they get the same numbers, another key others.

        Nor do the numbers follow the ids.
        """
        trips = ["ant", "bee", "cat", "dog", "eel", "fox"]
        rows = [(trip, time, 40.0, 2.0) for trip in trips for time in (0, 30)]
        plan = Plan(Roles(keep=("load",)), trajectory=TrajectoryColumns())
        numbered = replace(MOVED, numbered=True)
        orders = []
        for seed in range(6):
            files = []
            for shuffled in (rows, rows[::-1], rows[6:] + rows[:6]):
                frame = reports_of(shuffled, load=[row[0] for row in shuffled])
                shown, _ = self.moved(frame, numbered, plan=plan, seed=seed)
                assert shown["trip"].to_list() == [n for n in range(1, 7) for _ in range(2)]
                files.append(tuple(shown["load"].to_list()[::2]))
            assert len(set(files)) == 1
            orders.append(files[0])
        assert len(set(orders)) > 1

    def test_reports_at_one_time(self) -> None:
        """Where only one of several reports at a time can stay it is the first of the file."""
        rows = [("a", 1, 40.0, 2.0), ("a", 1, 50.0, 2.0), ("a", 0, 40.0, 2.0), ("b", 1, 60.0, 2.0)]
        shown, made = self.moved(reports_of(rows))
        assert (len(shown), made.left_out) == (4, 0)
        assert any("has already: 1" in notice for notice in made.notices)
        shown, made = self.moved(reports_of(rows), replace(MOVED, one_at_a_time=True))
        assert (len(shown), made.left_out) == (3, 1)
        assert shown.filter(trip="a", time=1)["latitude"][0] < 45
        assert any("left out: 1" in notice for notice in made.notices)

    def test_times_that_run_backwards(self) -> None:
        """Reports are sorted within their trip, and the custodian is told how many were not."""
        rows = [("a", 3, 40.0, 2.0), ("b", 1, 40.0, 2.0), ("a", 1, 40.0, 2.0), ("b", 2, 40.0, 2.0)]
        shown, made = self.moved(reports_of(rows))
        assert shown["time"].to_list() == [1, 3, 1, 2]
        assert any("run backwards once, in 1 trip;" in notice for notice in made.notices)

    @pytest.mark.parametrize(
        "times",
        [
            [1_714_550_400, 1_714_550_430],
            [1_714_550_400.0, 1_714_550_430.0],
            [datetime(2024, 5, 1, 8, tzinfo=UTC) + timedelta(seconds=s) for s in (0, 30)],
            [datetime(2024, 5, 1, 8) + timedelta(seconds=s) for s in (0, 30)],
            ["2024-05-01T08:00:00Z", "2024-05-01T10:00:30+02:00"],
            ["2024-05-01 08:00", "2024-05-01 08:00:30"],
        ],
    )
    def test_all_ways_to_write_times_are_one(self, times: list[Any]) -> None:
        """Seconds, times of the file's type, and ISO 8601: the same noise, the same price."""
        frame = pl.DataFrame({"time": times}).with_columns(
            trip=pl.lit("a"), latitude=pl.lit(40.0), longitude=pl.lit(2.0)
        )
        noise = CorrelatedGaussian(Zones((EPSILON,)))
        shown, made = self.moved(frame, Relocation(noise, TripPrice(100.0, tau=120.0)))
        assert shown["time"].to_list() == times
        kept = math.exp(-30 / 120)
        first = (100 * EPSILON) ** 2 * math.pi / 8
        expected = first * (1 + (1 + kept) / (1 - kept))
        assert made.trips.squared_mu[0] == pytest.approx(expected, rel=1e-9)

    def test_the_remaining_distance(self) -> None:
        """Whole metres of at least 0 take the place of positions, with the law of the noise."""
        frame = straight(500, 4)
        home = Relocation(MOVED.noise, TripPrice(100.0), destination=(48.85, 2.45), remaining=True)
        shown, made = self.moved(frame, home)
        assert shown.columns == ["trip", "time", "remaining"]
        assert shown["remaining"].dtype == pl.Int64
        assert (shown["remaining"] >= 0).all()
        true = separation(*(np.array([x]) for x in (48.85, 2.35, 48.85, 2.45)))[0]
        noise = shown["remaining"].to_numpy() - true
        assert stats.kstest(noise, stats.laplace(scale=1 / EPSILON).cdf).pvalue > FALSE_ALARM
        assert made.trips.epsilon == pytest.approx(np.full(500, 4 * EPSILON * 100))

    def test_destinations_of_trips(self) -> None:
        """Each trip may have a destination of its own, and has one only."""
        named = TrajectoryColumns(destination=("to_latitude", "to_longitude"))
        frame = straight(2, 2).with_columns(
            to_latitude=pl.Series([48.85, 48.85, 49.85, 49.85]), to_longitude=pl.lit(2.35)
        )
        plan = replace(PLAN, trajectory=named)
        relocation = replace(MOVED, remaining=True)
        shown, _ = self.moved(frame, relocation, plan=plan)
        assert shown.columns == ["trip", "time", "remaining"]
        assert (shown.filter(trip=1)["remaining"] > 100_000).all()
        assert (shown.filter(trip=0)["remaining"] < 5_000).all()
        frame = frame.with_columns(to_latitude=pl.Series([48.85, 48.85, 49.85, 49.95]))
        with pytest.raises(TableError, match="row 4 names another destination"):
            self.moved(frame, relocation, plan=plan)
        with pytest.raises(PlanError, match="needs the place that trips are bound for"):
            self.moved(frame, relocation)

    def test_accounts_are_those_of_trips(self) -> None:
        """Costs, first rows and marks: a mark is a function of the key and of the id alone."""
        rows = [("b", 1, 40.0, 2.0), ("a", 2, 40.0, 2.0), ("b", 3, 41.0, 2.0)]
        _, made = self.moved(reports_of(rows))
        assert made.trips.epsilon == pytest.approx([0.5, 1.0])
        assert made.trips.reports.tolist() == [1, 2]
        assert made.trips.first_row.tolist() == [2, 1]
        one = made.trips.marks(bytes(32))
        _, again = self.moved(reports_of([("c", 1, 1.0, 2.0), ("b", 7, 1.0, 2.0)]), seed=9)
        assert again.trips.marks(bytes(32))[0] == one[1]
        assert len({*one, *again.trips.marks(bytes(32))}) == 3
        assert not {*one} & {*made.trips.marks(bytes(31) + b"x")}

    def test_what_trips_cost_is_told_before_a_draw(self) -> None:
        """Where zones differ, at most; where the caller refuses, nothing is moved."""
        by_distance = Zones((2.0, 1.0), (200.0,), (500.0,))
        near = replace(
            MOVED,
            noise=PlanarLaplace(by_distance),
            price=TripPrice(100.0),
            destination=(48.85, 2.35),
        )
        told: list[TripAccounts] = []
        made = self.trips(straight(2, 6), PLAN).relocate(near, Randomness.seeded(0), told.extend)
        (most,) = told
        assert most.epsilon == pytest.approx(
            [0.5 + 5 * 1.0] * 2
        )  # the first report is the cheapest
        assert (made.trips.epsilon <= most.epsilon).all()
        assert made.trips.epsilon.sum() < most.epsilon.sum()
        assert most.marks(bytes(32)).tolist() == made.trips.marks(bytes(32)).tolist()
        alike = self.trips(straight(2, 6), PLAN).relocate(MOVED, Randomness.seeded(0), told.extend)
        assert told[1].epsilon.tolist() == alike.trips.epsilon.tolist()

        def refuse(accounts: TripAccounts) -> None:
            raise RefusedError("nothing is left")

        with pytest.raises(RefusedError):
            self.trips(straight(2, 6), PLAN).relocate(MOVED, Randomness.seeded(0), refuse)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"latitude": [40.0, 95.0, 40.0]}, "swapped: in row 2 the latitude is beyond 90"),
            ({"latitude": [40.0, 195.0, 40.0]}, "'latitude': row 2 is no latitude"),
            ({"longitude": [2.0, 2.0, 181.0]}, "'longitude': row 3 is no longitude"),
            ({"latitude": ["40", "north", "41"]}, "degrees, and row 2 is no number"),
            ({"latitude": [40.0, float("nan"), 41.0]}, "row 2 is NaN"),
            ({"time": ["2024-05-01T08:00:00", "at noon", "x"]}, "'time': row 2 is no time"),
            ({"time": [1_714_550_400_000, 1, 2]}, "row 1 is no time .*milliseconds"),
            ({"time": [True, False, True]}, "holds values of kind boolean"),
            (
                {"latitude": [40.0, 0.0, 40.0], "longitude": [2.0, 0.0, 2.0]},
                "row 2 lies at latitude 0",
            ),
        ],
    )
    def test_what_cannot_be_is_refused(self, changed: dict[str, Any], message: str) -> None:
        """The message names the column and the row, and no value."""
        frame = reports_of([("a", i, 40.0, 2.0) for i in range(3)])
        with pytest.raises(TableError, match=message):
            self.moved(frame.with_columns(**{n: pl.Series(v) for n, v in changed.items()}))

    def test_missing_values(self) -> None:
        """A report needs all of its values; nulls = "drop" leaves others out, and 0, 0 too."""
        frame = reports_of([("a", i, 40.0, 2.0) for i in range(4)]).with_columns(
            latitude=pl.Series([40.0, None, 0.0, 41.0]), longitude=pl.Series([2.0, 2.0, 0.0, 2.0])
        )
        with pytest.raises(TableError, match="misses its value in 1 of 4 rows, first in row 2"):
            self.moved(frame)
        with pytest.raises(TableError, match="misses its value in row 2, and a report needs"):
            self.moved(frame, plan=replace(PLAN, nulls="category"))
        shown, made = self.moved(frame, plan=replace(PLAN, nulls="drop"))
        assert shown["time"].to_list() == [0, 3]
        assert made.left_out == 1
        assert any("without a fix, were left out: 1" in notice for notice in made.notices)

    def test_swapped_columns(self) -> None:
        """Swapped columns are told by range, by name, or by where positions belong."""
        tokyo = reports_of([("a", i, 139.7, 35.7) for i in range(3)])
        with pytest.raises(TableError, match=r"seem to be swapped.*latitude is beyond 90"):
            self.moved(tokyo)
        paris = reports_of([("a", i, 2.35, 48.85) for i in range(3)])
        shown, _ = self.moved(paris)  # nothing tells it
        assert len(shown) == 3
        with pytest.raises(TableError, match=r"seem to be swapped.*near the place that the plan"):
            self.moved(paris, replace(MOVED, destination=(48.9, 2.4)))
        named = TrajectoryColumns(latitude="lon", longitude="lat")
        with pytest.raises(TableError, match=r"seem to be swapped.*their names say so"):
            self.moved(
                paris.rename({"latitude": "lon", "longitude": "lat"}),
                plan=replace(PLAN, trajectory=named),
            )

    def test_reports_are_thinned_by_time(self):
        """The first of a trip stays, and each at least so many seconds after the last that does."""
        frame = straight(2, 10, gap=25.0)
        relocation = replace(MOVED, spacings=(60.0,))
        rows, made = self.moved(frame, relocation)
        assert rows["time"].to_list() == [0.0, 75.0, 150.0, 225.0] * 2
        assert (made.thinned, made.near, made.left_out) == (12, 0, 12)
        assert made.trips.reports.tolist() == [4, 4]
        # What is left out changes no noise: that of report i is that of a table without the others.
        alone, _ = self.moved(frame.filter(pl.col("time") % 75 == 0))
        assert alone.equals(rows)

    def test_reports_are_thinned_by_what_is_published(self):
        """Published positions lie apart, whatever true ones do; all of them are paid for."""
        frame = straight(3, 60)
        relocation = replace(MOVED, at_least=300.0)
        rows, made = self.moved(frame, relocation)
        every, _ = self.moved(frame)
        kept = 0
        for (trip,), shown in every.group_by("trip", maintain_order=True):
            last = None
            for place in shown.rows():
                arrays = [np.array([x]) for x in (*(last or place)[2:4], *place[2:4])]
                if last is None or separation(*arrays)[0] >= 300:
                    assert rows.row(kept) == place
                    last, kept = place, kept + 1
            assert made.trips.reports[trip] == (rows["trip"] == trip).sum()
        assert (kept, made.near) == (rows.height, 180 - rows.height)
        assert made.trips.epsilon == pytest.approx([60 * 0.5] * 3)

    def test_each_trip_has_the_spacing_that_is_chosen(self):
        """Of several spacings a charge takes one for each trip, or leaves the trip out."""
        told: list[list[int]] = []

        def charge(offers):
            told.extend(offer.reports.tolist() for offer in offers)
            return np.array([1, -1, 0])

        relocation = replace(MOVED, spacings=(0.0, 60.0))
        made = self.trips(straight(3, 4)).relocate(relocation, Randomness.seeded(0), charge)
        assert told == [[4, 4, 4], [2, 2, 2]]
        shown = self.rows_of(made.table)
        assert shown["trip"].to_list() == [0, 0, 2, 2, 2, 2]
        assert made.trips.reports.tolist() == [2, 0, 4]
        assert made.trips.epsilon == pytest.approx([1.0, 0.0, 2.0])

    def test_vehicles_have_marks_and_days(self):
        """Trips of a vehicle share its mark, whatever type its ids have; a trip has one vehicle."""
        plan = Plan(Roles(), trajectory=TrajectoryColumns(vehicle="truck"))
        frame = straight(3, 2).with_columns(time=pl.col("time") + 86_400.0 * pl.col("trip"))
        marks = []
        for ids in (["7", "7", "8"], [7, 7, 8], [7.0, 7.0, 8.0]):
            trucks = frame.with_columns(truck=pl.Series(np.repeat(ids, 2)))
            _, made = self.moved(trucks, plan=plan)
            assert made.trips.days.tolist() == [0, 1, 2]
            marks.append(made.trips.vehicle_marks(bytes(32)).tolist())
        assert marks[0] == marks[1] == marks[2]
        assert marks[0][0] == marks[0][1] != marks[0][2]
        mixed = frame.with_columns(truck=pl.Series([1, 2, 1, 1, 1, 1]))
        with pytest.raises(TableError, match="row 2 has a trip that another vehicle has"):
            self.moved(mixed, plan=plan)


def trip_word(trip: int, key: Key) -> int:
    """The word of a trip whose id is a whole number, by hand: one block, a word and a tag."""
    state = np.zeros((1, 2), dtype=np.uint64)
    key.absorb(state, np.array([[trip, 1]], dtype=np.uint64))
    return int(state[0, 0])
