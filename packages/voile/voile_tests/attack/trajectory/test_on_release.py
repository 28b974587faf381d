"""Following the trips of a real release on a map."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import voile
from voile.attack.trajectory.on_release import Limits, _noise_of, follow_trips
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.planar.noise import AngleSelection, CorrelatedGaussian, GaussianField, PlanarLaplace
from voile_geo.roads.nearest import Ways as ShortestWays
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import NetworkBuilder, RoadChain, Ways, read_roads
from voile_testing.towns import network_of, random_network, split

ROADS = random_network(21, size=20).largest_connected()


def trips(count: int = 6, reports: int = 12) -> pl.DataFrame:
    """Trucks that drive shortest ways at 8 m/s and report every 20 s."""
    ways, rng = ShortestWays(ROADS), np.random.default_rng(22)
    frames: list[pl.DataFrame] = []
    while len(frames) < count:
        way = ways.between(*(int(node) for node in rng.integers(ROADS.nodes, size=2)))
        if not len(way):
            continue
        along = np.concatenate(([0], np.cumsum(np.hypot(*np.diff(ROADS.plane[way], axis=0).T))))
        at = np.arange(reports) * 20.0 * 8
        if along[-1] > at[-1]:
            track = np.stack([np.interp(at, along, ROADS.plane[way, k]) for k in (0, 1)], axis=1)
            latitude, longitude = ROADS.to_degrees(track)
            columns = {
                "trip": f"T{len(frames)}",
                "time": np.arange(reports) * 20.0 + 1.7e9,
                "latitude": latitude,
                "longitude": longitude,
            }
            frames.append(pl.DataFrame(columns))
    return pl.concat(frames)


def release_of(frame: pl.DataFrame, **parameters):
    method = voile.Method("geo-indistinguishability", parameters)
    vehicle = "van" if parameters.get("mechanism") == "gaussian-field" else None
    named = voile.TrajectoryColumns(vehicle=vehicle)
    frame = frame.with_columns(van=pl.lit("A")) if vehicle else frame
    made = voile.make_release(
        frame, voile.Plan(voile.Roles(), method=method, trajectory=named), seed=3
    )
    return made.release


TRIPS = trips()


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({"mechanism": "planar-laplace", "epsilon": 0.02}, PlanarLaplace),
        ({"mechanism": "correlated-gaussian", "epsilon": 0.02}, CorrelatedGaussian),
        ({"mechanism": "gaussian-field", "epsilon": 0.02}, GaussianField),
        (
            {"mechanism": "angle-selection", "epsilon": 0.02, "epsilon_angle": 5},
            AngleSelection,
        ),
    ],
)
def test_every_adversary_follows_every_mechanism(parameters, kind):
    """All trips are followed; the noise is read from the release; errors are about its size."""
    release = release_of(TRIPS, **parameters)
    assert isinstance(_noise_of(release.disclosure.columns["latitude"]), kind)
    found = follow_trips(release, TRIPS, ROADS, randomness=Randomness.seeded(1))
    names = ["none", "median", "smoother", "map-matching", "informed"]
    assert [one.adversary for one in found] == names
    shown = len(release.to_native())
    assert shown == 72 or kind is GaussianField  # of which a report a slot is published
    assert {(one.trips, one.reports) for one in found} == {(6, shown)}
    assert 30 < found[0].error.value < 250  # 2 / epsilon is 100 m
    for one in found:
        assert one.error.low <= one.error.value <= one.error.high
        assert 0 <= one.right.low <= one.right.value <= one.right.high <= 1


@pytest.mark.slow
def test_hardly_any_noise_is_seen_through():
    """With a mean noise of 2 m the informed adversary is within 40 m, and right on most roads."""
    release = release_of(TRIPS, mechanism="planar-laplace", epsilon=1.0)
    informed = follow_trips(release, TRIPS, ROADS, randomness=Randomness.seeded(1))[-1]
    assert informed.error.value < 40
    assert informed.right.value > 0.8


def test_reports_and_trips_are_limited():
    """Only so many trips and so many reports of each are followed."""
    release = release_of(TRIPS, mechanism="planar-laplace", epsilon=0.02)
    found = follow_trips(
        release, TRIPS, ROADS, limits=Limits(trips=2, reports=5), randomness=Randomness.seeded(1)
    )
    assert (found[0].trips, found[0].reports) == (2, 10)


@pytest.mark.slow
def test_what_cannot_be_followed_says_so():
    """Distances instead of positions, other trips, and trips off the map are refused."""
    release = release_of(TRIPS, mechanism="planar-laplace", epsilon=0.02)
    away = TRIPS.with_columns(pl.col("latitude") + 3)
    with pytest.raises(InputError, match="map"):
        follow_trips(release_of(away, mechanism="planar-laplace", epsilon=0.02), away, ROADS)
    with pytest.raises(InputError, match="other trips"):
        follow_trips(release, TRIPS.with_columns(trip=pl.lit("X")), ROADS)
    single = TRIPS.group_by("trip").first()
    with pytest.raises(InputError, match="two reports"):
        follow_trips(release_of(single, mechanism="planar-laplace", epsilon=0.02), single, ROADS)
    distances = release_of(
        TRIPS, mechanism="remaining-distance", epsilon=0.02, destination=[39.92, 116.32]
    )
    with pytest.raises(InputError, match="no positions"):
        follow_trips(distances, TRIPS, ROADS)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["correlated-gaussian", "gaussian-field"])
def test_how_many_edges_draw_a_road_does_not_matter(mechanism):
    """A map with each edge in five changes no share by more than .02, and no error by a metre."""
    release = release_of(TRIPS, mechanism=mechanism, epsilon=0.02)
    one, other = (
        follow_trips(release, TRIPS, roads, randomness=Randomness.seeded(1))
        for roads in (ROADS, split(ROADS, 5))
    )
    assert one[-1].right.value > 0.5
    for coarse, fine in zip(one, other, strict=True):
        assert fine.right.value == pytest.approx(coarse.right.value, abs=0.02)
        assert fine.error.value == pytest.approx(coarse.error.value, abs=1)


def motorway(sign: str | None = None) -> RoadNetwork:
    """40 km eastward, one-way, a crossing each 2 km, and streets beside it each 200 m."""
    builder = NetworkBuilder()
    line = [(48.0, 2.0 + 0.0269 * k) for k in range(21)]
    builder.add(_chain(line, "forward", sign))
    for k in range(20):
        ramp = [line[k], (48.004, line[k][1]), (48.004, line[k + 1][1]), line[k + 1]]
        builder.add(_chain(ramp, "both", None))
        for m in range(1, 10):
            at = line[k][1] + 0.00269 * m
            builder.add(_chain([(48.004, at), (48.02, at)], "both", None))
    return builder.build("a motorway")


def _chain(line: list[tuple[float, float]], ways: Ways, sign: str | None) -> RoadChain:
    latitude, longitude = zip(*line, strict=True)
    return RoadChain(tuple(line), latitude, longitude, ways, None, sign)


def on_motorway(speed: float = 36.0, trips: int = 4, reports: int = 20) -> pl.DataFrame:
    """Trucks on it at so many m/s, with a report every 30 s."""
    number = np.tile(np.arange(reports), trips)
    along = 30.0 * number * speed + np.repeat(np.arange(trips) * 700.0, reports)
    columns = {
        "trip": np.repeat([f"M{trip}" for trip in range(trips)], reports),
        "time": 1.7e9 + 30.0 * number,
        "latitude": np.full(len(number), 48.0),
        "longitude": 2.0 + along * (0.0269 * 20 / 40_080),
    }
    return pl.DataFrame(columns)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [None, "120"])
@pytest.mark.parametrize("mechanism", ["planar-laplace", "correlated-gaussian"])
def test_a_truck_on_a_motorway_is_followed(mechanism, sign):
    """At 130 km/h, signed or not: nearer than what is published, most roads right, never lost."""
    trucks = on_motorway()
    release = release_of(trucks, mechanism=mechanism, epsilon=0.005)
    found = follow_trips(release, trucks, motorway(sign), randomness=Randomness.seeded(1))
    for one in found[-2:]:
        assert (one.lost, one.beyond, one.lower_bound) == (0, 0, False)
        assert one.error.value < found[0].error.value
        assert one.right.value > 0.6


@pytest.mark.slow
def test_who_supposes_that_trucks_are_slow_finds_a_lower_bound():
    """With a limit of 100 km/h every report is farther than he looks, and his figures say so."""
    trucks = on_motorway()
    release = release_of(trucks, mechanism="planar-laplace", epsilon=0.005)
    limits = Limits(fastest=100 / 3.6)
    none, *_, informed = follow_trips(
        release, trucks, motorway(), limits=limits, randomness=Randomness.seeded(1)
    )
    assert (informed.beyond, informed.lower_bound) == (4 * 19, True)
    assert (none.beyond, none.lower_bound) == (0, False)
    assert informed.document()["reports_beyond"] == 76
    assert any("76 reports lie farther from the one" in note for note in informed.notes)
    assert any("faster than 100 km/h" in note for note in informed.notes)
    for speed in (0.0, -3.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="fastest"):
            Limits(fastest=speed)


def test_where_no_way_leads_on_the_truck_is_lost_and_that_is_counted():
    """Over a river without a bridge: once a trip for both who need a way, and for the truth."""
    west, east = ([(48.0, 2.0 + at + 0.003 * k) for k in range(12)] for at in (0.0, 0.05))
    roads = network_of(west, east)
    along = np.concatenate((np.arange(8) * 0.004, 0.05 + np.arange(8) * 0.004))
    ferries = pl.DataFrame(
        {
            "trip": np.repeat(["A", "B"], 16),
            "time": np.tile(np.arange(16) * 30.0, 2),
            "latitude": np.full(32, 48.0),
            "longitude": np.tile(2.0 + along, 2),
        }
    )
    release = release_of(ferries, mechanism="planar-laplace", epsilon=0.1)
    found = follow_trips(release, ferries, roads, randomness=Randomness.seeded(1))
    assert [one.lost for one in found] == [0, 0, 0, 2, 2]
    assert [one.lower_bound for one in found] == [False, False, False, True, True]
    assert found[-1].document()["lost_reports"] == 2
    notes = found[-1].notes
    (unsure,) = (note for note in notes if note.startswith("no way led on at 2 reports"))
    for cause in ("ferry", "clock", "share ids of trips"):
        assert cause in unsure
    assert any(note.startswith("informed: it lost the truck at 2 reports") for note in notes)
    assert any("lower bound" in note for note in notes)


def beyond(frame: pl.DataFrame, trip: str, reports: list[int]) -> pl.DataFrame:
    """Some reports of a trip, a degree north of the map."""
    row = pl.int_range(pl.len()).over("trip")
    moved = (pl.col("trip") == trip) & row.is_in(reports)
    return frame.with_columns(latitude=pl.col("latitude") + moved.cast(pl.Float64))


@pytest.mark.slow
def test_reports_beyond_the_map_are_left_out_and_trips_are_kept():
    """A trip with some fixes off the map is followed without them; one with one left is not."""
    frame = beyond(beyond(TRIPS, "T1", [0, 5]), "T2", list(range(1, 12)))
    release = release_of(frame, mechanism="angle-selection", epsilon=0.02, epsilon_angle=5)
    found = follow_trips(release, frame, ROADS, randomness=Randomness.seeded(1))
    assert {(one.trips, one.reports) for one in found} == {(5, 58)}
    assert found[0].error.value < 250
    assert {one.notes for one in found} == {found[0].notes}
    assert found[0].notes[:3] == (
        "13 of 72 reports (18%) lie off the map",
        "1 trip with fewer than two reports on the map: not followed",
        "2 reports of 1 trip were left out, because the true position lies off the map",
    )


def test_a_map_of_another_city_is_refused_with_what_it_lacks():
    """The share of reports off the map says that it is the map, and not the trips."""
    frame = TRIPS.with_columns(latitude=pl.col("latitude") + 1.0)
    release = release_of(frame, mechanism="planar-laplace", epsilon=0.02)
    with pytest.raises(InputError, match=r"72 of 72 reports \(100%\) lie off the map"):
        follow_trips(release, frame, ROADS, randomness=Randomness.seeded(1))


@pytest.mark.slow
def test_whatever_is_left_out_is_counted():
    """Trips and reports that the original lacks, single ones, undrawn ones, and trips cut short."""
    release = release_of(TRIPS, mechanism="planar-laplace", epsilon=0.02)
    row = pl.int_range(pl.len()).over("trip")
    lacking = TRIPS.filter(
        (pl.col("trip") != "T0")
        & ((pl.col("trip") != "T1") | (row < 1))
        & ((pl.col("trip") != "T2") | (row != 3))
    )
    limits = Limits(trips=3, reports=8)
    found = follow_trips(release, lacking, ROADS, limits=limits, randomness=Randomness.seeded(1))
    assert (found[0].trips, found[0].reports) == (3, 24)
    assert found[0].notes[:5] == (
        "1 trip of the release that the original does not hold: not followed",
        "12 reports were left out: the original has the trip and no report of it at that time, or "
        "the release has several",
        "1 trip with one report only: not followed",
        "1 trip that was not drawn: not followed",
        "3 trips have more reports: their first 8 are followed",
    )
    assert "looking up" in found[0].notes[-1]
    whole = follow_trips(release, TRIPS, ROADS, randomness=Randomness.seeded(1))
    assert len(whole[0].notes) == 3
    assert not any(one.lost or one.beyond or one.lower_bound for one in whole)


def test_where_directions_start_is_read_from_the_release():
    """The informed adversary knows that angle selection began at north, where it did."""
    angles = {"mechanism": "angle-selection", "epsilon": 0.02, "epsilon_angle": 5}
    for given, start in (({}, "uniform"), ({"start": "zero"}, "zero")):
        moved = release_of(TRIPS, **angles, **given).disclosure.columns["latitude"]
        noise = _noise_of(moved)
        assert isinstance(noise, AngleSelection)
        assert noise.start == start


@pytest.mark.slow
def test_zones_of_a_map_are_found_anew(tmp_path):
    """With the same map the noise is that of the publisher; with another one it is refused."""
    path = tmp_path / "town.csv"
    ends = zip(ROADS.source.tolist(), ROADS.target.tolist(), strict=True)
    lines = [
        f'{a},{b},"LINESTRING ({float(ROADS.longitude[a])} {float(ROADS.latitude[a])}, '
        f'{float(ROADS.longitude[b])} {float(ROADS.latitude[b])})"'
        for a, b in ends
    ]
    path.write_text("\n".join(["source,target,wkt", *lines]))
    release = release_of(TRIPS, levels=2.0, roads=str(path), roads_within=3)
    assert read_roads(path).digest == ROADS.digest
    moved = release.disclosure.columns["latitude"]
    zones = _noise_of(moved, ROADS).zones
    assert zones.grid is not None
    assert len(np.unique(zones.grid.cells)) > 3
    found = follow_trips(release, TRIPS, ROADS, randomness=Randomness.seeded(1))
    assert (found[-1].adversary, found[-1].trips) == ("informed", 6)
    for other in (random_network(22, size=20), None):
        with pytest.raises(InputError, match=r"by the roads of the map town\.csv"):
            _noise_of(moved, other)
