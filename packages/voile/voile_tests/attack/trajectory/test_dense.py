"""Dense reports: which of them are followed, by which clock, and when figures are lower bounds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from voile.attack.trajectory.adversaries import RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.knowing import StrongestWays, TrackedTrip, _Tried, attempts, doubts
from voile.attack.trajectory.on_release import Limits, TripsOutcome, follow_trips
from voile.attack.trajectory.reports import FollowedReports, Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import GaussianField, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import Ways as ShortestWays
from voile_tests.attack.trajectory.test_on_release import ROADS, release_of

NOISE = GaussianField(Zones([0.01]))


def tracks(count: int = 8, seconds: int = 420) -> list[Floats]:
    """Places each second of trucks on shortest ways at 8 m/s, which wait for a minute."""
    ways, rng = ShortestWays(ROADS), np.random.default_rng(31)
    found: list[Floats] = []
    while len(found) < count:
        way = ways.between(*(int(node) for node in rng.integers(ROADS.nodes, size=2)))
        if not len(way):
            continue
        along = np.concatenate(([0], np.cumsum(np.hypot(*np.diff(ROADS.plane[way], axis=0).T))))
        waits = rng.integers(100, seconds - 100)
        at = 8.0 * np.cumsum([not waits < second < waits + 60 for second in range(seconds)])
        if along[-1] > at[-1]:
            track = [np.interp(at, along, ROADS.plane[way, k]) for k in (0, 1)]
            found.append(np.stack(track, axis=1))
    return found


TRACKS = tracks()


def sighted(track: Floats, trip: int, every: int = 1) -> Sighted:
    """What a release shows of a truck, a report every so many seconds."""
    some = track[::every]
    latitude, longitude = ROADS.to_degrees(some)
    time = np.arange(len(some)) * float(every)
    word = np.array([trip], dtype=np.uint64)
    start = np.array([0, len(some)])
    moved = perturb(
        NOISE,
        Trips(latitude, longitude, time, start, word, None, word),
        Randomness.seeded(4).key("t"),
    )
    shown = ROADS.to_plane(moved.latitude, moved.longitude)
    return Sighted(time, shown, np.full(len(some), 0.01))


def held(track: Floats, trip: int) -> Sighted:
    """A fix every 30 s, shown each second until the next one."""
    fixes = sighted(track, trip, 30)
    number = np.arange(len(track))
    return Sighted(number * 1.0, fixes.shown[number // 30], np.full(len(track), 0.01))


def test_reports_that_are_followed_are_apart_and_all_others_lie_between_them() -> None:
    """At 10 s and more but for stops, the noise's clock as all reports show it, places in order."""
    one = sighted(TRACKS[0], 0)
    some = FollowedReports.of(one, stays=True, every=10)
    assert np.diff(some.sighted.time).min() == 10
    assert some.sighted.driven is not None
    # 8 m/s: moved on by 50 m each seventh second, of which one counts.
    assert some.sighted.driven[-1] == pytest.approx((len(one.time) - 60) / 7, abs=3)
    assert (np.diff(some.place) >= 0).all()
    assert some.place[0] == 0
    assert some.place[-1] == len(some.sighted.time) - 1
    every = FollowedReports.of(one, stays=False)
    assert (every.place == np.arange(len(one.time))).all()


def test_the_odometer_tells_the_way_driven() -> None:
    """To a tenth, whatever the noise, where reports are dense; and not where they are not."""
    for trip, track in enumerate(TRACKS):
        driven = np.hypot(*np.diff(track, axis=0).T).sum()
        choices = FollowedReports.by_odometer(sighted(track, trip))
        assert len(choices) == 2
        for some in choices:
            assert 10 * some.sighted.time[-1] == pytest.approx(driven, rel=0.15)
        assert FollowedReports.by_odometer(sighted(track, trip, 10)) == []
        assert FollowedReports.by_odometer(held(track, trip)) == []


def test_between_two_reports_both_count_by_the_way_with_all_that_they_believe() -> None:
    """A road that both hold possible outdoes the likeliest of either; near one this one counts."""
    some = FollowedReports.of(sighted(TRACKS[0], 0, 30), stays=False)
    two = FollowedReports(some.sighted.chosen(np.array([0, 1])), np.array([0.0, 0.1, 0.5, 1.0]))
    belief = sparse.csr_array(np.array([[0.55, 0.45, 0.0], [0.0, 0.45, 0.55]]))
    found = RoadEstimate(np.zeros((2, 2)), np.array([0, 2]), 0.0, belief=belief)
    assert found.for_all(two).road.tolist() == [0, 0, 1, 2]
    other = sparse.csr_array(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    sure = RoadEstimate(np.ones((2, 2)), np.array([2, 2]), 1.0, belief=other)
    pooled = RoadEstimate.of_several([(found, two), (sure, two)])
    assert pooled.road.tolist() == [2, 2, 2, 2]
    assert pooled.position.tolist() == [[0.5, 0.5]] * 4
    assert pooled.seconds == 1.0


def test_of_positions_that_are_held_the_fixes_are_followed() -> None:
    """Each 30 s, though a report comes each second: the same places and clocks."""
    for trip, track in enumerate(TRACKS):
        fixes = FollowedReports.of(sighted(track, trip, 30), stays=True, every=10)
        some = FollowedReports.of(held(track, trip), stays=True, every=10)
        assert (some.sighted.shown == fixes.sighted.shown).all()
        assert (some.sighted.time == fixes.sighted.time).all()
        assert (some.sighted.driven == fixes.sighted.driven).all()


def seen_of(track: Floats, one: Sighted, judge: RoadAdversary) -> TrackedTrip:
    """A trip with its true roads."""
    return TrackedTrip("A", track, judge.match(one.time, track).road, one, 0.0)


@pytest.fixture(scope="module")
def adversary() -> RoadAdversary:
    """On the map of the trucks."""
    return RoadAdversary(ROADS)


@pytest.mark.slow
def test_denser_reports_find_no_fewer_roads(adversary: RoadAdversary) -> None:
    """Each second, and held: at least what 30 s show less .05; who follows all reports is doubted.

    8 trips of one seed.
    """
    right: dict[str, list[float]] = {"30 s": [], "1 s": [], "held": [], "before": []}
    dense, sparse, before = [], [], []
    for trip, track in enumerate(TRACKS):
        seldom, often = sighted(track, trip, 30), sighted(track, trip)
        steady = held(track, trip)
        dense.append(seen_of(track, often, adversary))
        sparse.append(seen_of(track[::30], seldom, adversary))
        road = dense[-1].road
        found = adversary.informed(steady, NOISE)
        right["held"].append(share_right(found.road[::30], road[::30]))
        before.append(adversary.informed(often, NOISE, every=0.0))
        right["before"].append(share_right(before[-1].road, road))
    for name, seen in (("1 s", dense), ("30 s", sparse)):
        best = StrongestWays.choose(seen, [attempts(adversary, one.sighted, NOISE) for one in seen])
        right[name] += [
            share_right(one.road, trip.road) for one, trip in zip(best.findings, seen, strict=True)
        ]
    mean = {name: np.mean(values) for name, values in right.items()}
    assert mean["1 s"] > mean["30 s"] - 0.05
    assert mean["held"] > mean["30 s"] - 0.05
    assert mean["before"] < mean["1 s"]
    shown = [adversary.as_shown(one.sighted) for one in dense]
    assert list(doubts(dense, before, shown))


def test_ways_are_chosen_by_the_other_half_of_the_trips() -> None:
    """A way that is right by chance on even trips alone does not count for them."""
    track = np.zeros((4, 2))
    one = Sighted(np.arange(4) * 30.0, track, np.ones(4))
    seen = [TrackedTrip(f"{i}", track, np.zeros(4, dtype=np.int64), one, 0.0) for i in range(8)]

    def finding(right: int) -> RoadEstimate:
        road = np.array([0] * right + [9] * (4 - right))
        return RoadEstimate(track, road, 1.0)

    def tried_of(one: int, other: int) -> _Tried:
        found = {"every 10 s": finding(one), "every 30 s": finding(other)}
        return _Tried(found, dict.fromkeys(found, 4), 4)

    tried = [tried_of(4 if i % 2 == 0 else 0, 2) for i in range(8)]
    best = StrongestWays.choose(seen, tried)
    assert list(best.ways) == ["every 30 s", "every 10 s"] * 4
    assert {one.seconds for one in best.findings} == {2.0}
    assert best.reasons == ()
    worse = [tried_of(1 + i % 2, 3) for i in range(8)]
    (reason,) = StrongestWays.choose(seen, worse).reasons
    assert "more roads from reports every 30 s than every 10 s" in reason


def test_who_errs_more_than_he_expects_or_more_than_what_is_shown_is_doubted() -> None:
    """Twice his expected squared error, or .9 of the displacement; below both nothing is said."""
    track = np.zeros((10, 2))
    one = Sighted(np.arange(10.0), track, np.ones(10))
    seen = [TrackedTrip("A", track, np.zeros(10, dtype=np.int64), one, 0.0)]

    def off(metres: float, spread: float | None = None) -> list[RoadEstimate]:
        place = track + np.array([metres, 0.0])
        expects = None if spread is None else np.full(10, spread)
        return [RoadEstimate(place, np.zeros(10, dtype=np.int64), 0.0, expects)]

    shown = off(400.0)
    assert not list(doubts(seen, off(300.0, 230.0), shown))
    (surer,) = doubts(seen, off(300.0, 100.0), shown)
    assert "4.5 times" in surer
    (useless,) = doubts(seen, off(380.0, 400.0), shown)
    assert "380 m off" in useless


def table(every: int) -> pl.DataFrame:
    """The trucks as a table, with a report every so many seconds."""
    frames = []
    for trip, track in enumerate(TRACKS):
        latitude, longitude = ROADS.to_degrees(track[::every])
        time = 1.7e9 + every * np.arange(len(latitude), dtype=np.float64)
        columns = {"trip": f"T{trip}", "time": time, "latitude": latitude, "longitude": longitude}
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames)


def followed(limits: Limits | None = None, every: int = 1) -> TripsOutcome:
    """What the informed adversary makes of a release of dense reports, with a note of it."""
    frame = table(every)
    release = release_of(frame, mechanism="gaussian-field", epsilon=0.01, every=every)
    found = follow_trips(release, frame, ROADS, limits=limits, randomness=Randomness.seeded(1))
    informed = found[-1]
    assert informed.adversary == "informed"
    for reason in informed.reasons:
        assert any(reason in note and "lower bound" in note for note in informed.notes)
    assert informed.document()["lower_bound_reasons"] == list(informed.reasons)
    assert informed.document()["lower_bound"] is bool(informed.reasons)
    return informed


@pytest.mark.slow
def test_trips_are_followed_to_their_end_and_a_limit_is_a_lower_bound() -> None:
    """All 420 reports of each trip without a limit; with 100 of them the figure is marked."""
    assert followed().reports == 8 * 420
    first = followed(Limits(reports=100))
    assert first.reports == 800
    assert any("only the first reports" in reason for reason in first.reasons)


@pytest.mark.slow
def test_sound_figures_are_not_marked() -> None:
    """A report every 30 s, followed to its end: no reason is found against them."""
    assert followed(every=30).reasons == ()
