"""All days of a vehicle at once, what else an adversary may know, and how trucks move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voile
from voile.attack.trajectory.adversaries import Known, RoadAdversary
from voile.attack.trajectory.fleets import Day, follow_days
from voile.attack.trajectory.inference import Movement
from voile.attack.trajectory.knowing import ENDS, TripKnowledge, read_movement, read_places
from voile.attack.trajectory.on_release import Limits, follow_trips
from voile.attack.trajectory.reports import Sighted
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import DAY, Trips
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import Ways as ShortestWays
from voile_testing.towns import random_network

ROADS = random_network(31, size=26).largest_connected()
EPSILON, GAP, REPORTS = 0.01, 20.0, 12


def ways(count: int, seed: int = 5) -> list[Floats]:
    """Tracks along shortest ways at 8 m/s."""
    found, rng, shortest = [], np.random.default_rng(seed), ShortestWays(ROADS)
    while len(found) < count:
        way = shortest.between(*(int(node) for node in rng.integers(ROADS.nodes, size=2)))
        if not len(way):
            continue
        along = np.concatenate(([0], np.cumsum(np.hypot(*np.diff(ROADS.plane[way], axis=0).T))))
        at = np.arange(REPORTS) * GAP * 8
        if along[-1] > at[-1]:
            sides = [np.interp(at, along, ROADS.plane[way, k]) for k in (0, 1)]
            found.append(np.stack(sides, axis=1))
    return found


def days_of(noise: LocationNoise, tracks: list[Floats], purpose: str = "days") -> list[Day]:
    """One vehicle, a track a day."""
    key, made = Randomness.seeded(9).key(purpose), []
    for day, track in enumerate(tracks):
        time = np.arange(len(track)) * GAP
        trip = Trips(
            *ROADS.to_degrees(track),
            time + day * DAY,
            np.array([0, len(track)]),
            np.array([day], np.uint64),
            vehicle=np.zeros(1, np.uint64),
        )
        shown = perturb(noise, trip, key)
        plane = ROADS.to_plane(shown.latitude, shown.longitude)
        made.append(Day(Sighted(time, plane, shown.epsilon), day * DAY))
    return made


def errors(found: list, tracks: list[Floats]) -> Floats:
    pairs = zip(found, tracks, strict=True)
    return np.array([np.hypot(*(one.position - track).T).mean() for one, track in pairs])


ADVERSARY = RoadAdversary(ROADS, Movement(usual=8, deviation=2))
FIELD = GaussianField(Zones([EPSILON]), share=0.95, period=3_650.0)


@pytest.mark.slow
def test_who_has_seen_a_vehicle_at_known_places_takes_the_noise_off_elsewhere() -> None:
    """Ten tracks; on other days he knew where it was on the same ways: half the error is left."""
    tracks = ways(6)
    days = days_of(FIELD, [*tracks, *tracks])
    told: list[Known] = [{i: (track[i], None) for i in range(REPORTS)} for track in tracks]
    days = [*days[:6], *(replace(day, known=one) for day, one in zip(days[6:], told, strict=True))]
    alone = errors([ADVERSARY.informed(day.sighted, FIELD) for day in days[:6]], tracks)
    learned = errors(follow_days(ADVERSARY, days, FIELD, rounds=1, habit=0.0)[:6], tracks)
    assert learned.mean() < 0.5 * alone.mean()


@pytest.mark.slow
def test_a_truck_that_stands_for_long_is_followed_no_worse() -> None:
    """An hour's stop on the way changes nothing of what is found before, there and after it.

    Its reports show one position: they are told apart from moves for sure, and are no evidence for
    roads that lead nowhere.
    """
    for track, day in zip(ways(3), days_of(FIELD, ways(3)), strict=True):
        stands = np.repeat(6, 120)
        longer = np.insert(track, stands, track[stands], axis=0)
        seen = day.sighted
        time = np.concatenate((seen.time[:7], seen.time[6] + GAP * np.arange(1, 121)))
        time = np.concatenate((time, time[-1] + seen.time[7:] - seen.time[6]))
        shown = np.insert(seen.shown, stands, seen.shown[stands], axis=0)
        stopped = Sighted(time, shown, np.full(len(time), EPSILON))
        once, found = (ADVERSARY.informed(one, FIELD) for one in (seen, stopped))
        expected = np.insert(once.position, stands, once.position[stands], axis=0)
        assert found.position == pytest.approx(expected, abs=1e-6)
        assert len(found.road) == len(longer)
        known = ADVERSARY.informed(stopped, FIELD, {60: (longer[60], None)})
        assert np.hypot(*(known.position[6:127] - track[6]).T).max() < 60


@pytest.mark.slow
def test_a_period_that_is_over_tells_nothing_of_the_next() -> None:
    """The same knowledge of another period leaves him as he was."""
    tracks = ways(3)
    noise = replace(FIELD, period=3.0)
    days = days_of(noise, [*tracks, *tracks])
    told = [{i: (track[i], None) for i in range(REPORTS)} for track in tracks]
    known = [replace(day, known=one) for day, one in zip(days[3:], told, strict=True)]
    alone = [ADVERSARY.informed(day.sighted, noise) for day in days[:3]]
    found = follow_days(ADVERSARY, [*days[:3], *known], noise, rounds=1, habit=0.0)[:3]
    # The days of the first period tell each other what little they know.
    once = follow_days(ADVERSARY, days[:3], noise, rounds=1, habit=0.0)
    for one, other in zip(found, once, strict=True):
        assert np.array_equal(one.position, other.position)
    assert errors(alone, tracks).mean() > 30


@pytest.mark.slow
def test_habits_find_a_route_that_is_driven_every_day() -> None:
    """Eight days of one route under noise that is new each day: fewer metres than day by day."""
    track = ways(1, seed=8)[0]
    noise = CorrelatedGaussian(Zones([EPSILON]))
    days = days_of(noise, [track] * 8)
    alone = errors([ADVERSARY.informed(day.sighted, noise) for day in days], [track] * 8)
    together = errors(follow_days(ADVERSARY, days, noise), [track] * 8)
    assert together.mean() < alone.mean()


def fleet() -> pl.DataFrame:
    """Three ways of one van on two days each, as a table."""
    frames = []
    for day, track in enumerate(ways(3) * 2):
        latitude, longitude = ROADS.to_degrees(track)
        frames.append(
            pl.DataFrame(
                {
                    "trip": f"T{day}",
                    "time": np.arange(REPORTS) * GAP + day * DAY + 1.7e9,
                    "latitude": latitude,
                    "longitude": longitude,
                    "van": "A",
                }
            )
        )
    return pl.concat(frames)


FLEET = fleet()


def release() -> voile.Release:
    method = voile.Method(
        "geo-indistinguishability", {"mechanism": "gaussian-field", "epsilon": EPSILON}
    )
    plan = voile.Plan(
        voile.Roles(), method=method, trajectory=voile.TrajectoryColumns(vehicle="van")
    )
    return voile.make_release(FLEET, plan, seed=3).release


@pytest.mark.slow
def test_a_table_says_what_knowledge_adds() -> None:
    """Ends, places and all days, each by itself and together: the more, the more he finds."""
    knowledge = TripKnowledge(
        ends=("start", "destination"),
        places=FLEET.select("latitude", "longitude").to_numpy()[6:7],
        vehicle="van",
    )
    found = follow_trips(
        release(), FLEET, ROADS, knowledge=knowledge, randomness=Randomness.seeded(1)
    )
    by_name = {one.adversary: one for one in found}
    assert list(by_name)[5:] == [
        "informed, start and destination",
        "informed, known places",
        "informed, all days",
        "informed, all of this",
        "informed, all vehicles",
    ]
    informed, ends = by_name["informed"], by_name["informed, start and destination"]
    assert ends.right.value > informed.right.value
    assert by_name["informed, all of this"].error.value < informed.error.value
    assert any("6 trips of 1 vehicle;" in note for note in found[0].notes)


def test_what_he_cannot_know_is_refused() -> None:
    """Other ends, a column that is not there, and trips of two vehicles."""
    with pytest.raises(InputError, match="start, destination, stops"):
        TripKnowledge(ends=("home",))
    for frame, said in (
        (FLEET.drop("van").with_columns(van=pl.Series(["A", "B"] * 36)), "share ids of trips"),
    ):
        with pytest.raises(InputError, match=said):
            follow_trips(release(), frame, ROADS, knowledge=TripKnowledge(vehicle="van"))
    with pytest.raises(InputError, match="no column 'truck'"):
        follow_trips(release(), FLEET, ROADS, knowledge=TripKnowledge(vehicle="truck"))
    assert ENDS == ("start", "destination", "stops")


@pytest.mark.slow
def test_movement_is_read_from_a_file(tmp_path: Path) -> None:
    """Keys may be left out; what is there is used by those who follow, and the limit is said."""
    file = tmp_path / "movement.toml"
    file.write_text("usual = 20\nfastest = 45\nmemory = 0\n[traffic]\nmotorway = 9\n")
    movement = read_movement(file)
    assert (movement.usual, movement.fastest, movement.memory) == (20, 45, 0)
    assert movement.traffic == {"motorway": 9}
    assert movement.stop == Movement().stop
    limits = Limits(trips=2, movement=movement)
    found = follow_trips(release(), FLEET, ROADS, limits=limits, randomness=Randomness.seeded(1))
    assert any("162 km/h" in note for note in found[0].notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("usuall = 3", "usual"),
        ("usual = -3", "above 0"),
        ("standing = 1", "between 0 and 1"),
        ("traffic = 3", "table"),
        ("usual = ", "TOML"),
    ],
)
def test_a_file_that_says_no_movement_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the file and what is wrong."""
    file = tmp_path / "movement.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_movement(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lat,lon\n1,2\n", "columns latitude"),
        ("latitude,longitude\nx,2\n", "numbers"),
        ("latitude,longitude\n116,39\n", "beyond 90"),
    ],
)
def test_a_table_that_names_no_places_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the file and what is wrong."""
    file = tmp_path / "places.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_places(file)
