"""Inference on roads against enumeration of all paths, and filters against their definitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import networkx
import numpy as np
import pytest
import shapely
from scipy import stats

import voile.attack.trajectory.inference
import voile.attack.trajectory.reach
from voile.attack.trajectory.adversaries import RoadAdversary, median_filter, share_right, smoother
from voile.attack.trajectory.distributions import (
    Distances,
    FieldBelief,
    LaplaceNoise,
    ReceiverError,
    Remembering,
    Turning,
    _exponentials,
    pair_factor,
    times_pair_factors,
)
from voile.attack.trajectory.inference import Driven, Movement, infer
from voile.attack.trajectory.reach import U_TURN, RoadStates
from voile.attack.trajectory.reports import Sighted
from voile_base.randomness import Randomness
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import AngleSelection, PlanarLaplace, perturb
from voile_geo.planar.steps import Zones, wrapped_density
from voile_testing.towns import network_of, random_network, split

REPORTS, GAP, EPSILON = 4, 30.0, 0.01


def small_states(parts: int = 1) -> RoadStates:
    return RoadStates.of(split(random_network(11, size=3), parts), 150.0)


def distances(states: RoadStates) -> np.ndarray:
    """Metres from middle to middle of all pieces, by networkx along the directed edges.

    Who leaves an edge by its reverse turns round; that is for crossings and dead ends.
    """
    roads = states.roads
    others = [set[int]() for _ in range(roads.nodes)]
    reached, left = (
        np.bincount(ends, minlength=roads.nodes) for ends in (roads.target, roads.source)
    )
    for a, b in zip(roads.source.tolist(), roads.target.tolist(), strict=True):
        others[a].add(b)
        others[b].add(a)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(roads.edges))
    for i in range(roads.edges):
        at = roads.target[i]
        bend = len(others[at]) == 2 and reached[at] == left[at]
        for j in np.flatnonzero(roads.source == at):
            back = roads.target[j] == roads.source[i]
            if not (back and bend):
                graph.add_edge(i, int(j), weight=roads.length[i] + (U_TURN if back else 0.0))
    between = np.full((roads.edges, roads.edges), np.inf)
    for i, found in networkx.all_pairs_dijkstra_path_length(graph):
        for j, metres in found.items():
            between[i, j] = metres
    around = [
        min((step["weight"] + between[k, i] for k, step in graph[i].items()), default=np.inf)
        for i in range(roads.edges)
    ]
    edge = states.edge
    offset = np.hypot(*(states.middle - roads.plane[roads.source[edge]]).T)
    onward = offset - offset[:, np.newaxis]
    back = (edge == edge[:, np.newaxis]) & (onward < 0)
    return onward + np.where(back, np.array(around)[edge], between[np.ix_(edge, edge)])


@pytest.mark.parametrize(("limit", "parts"), [(120.0, 1), (400.0, 1), (400.0, 3), (4_900.0, 1)])
def test_what_is_reached_is_what_a_graph_search_reaches(limit: float, parts: int) -> None:
    """From each piece, all pieces within the limit with their distances, itself first."""
    states = small_states(parts)
    far, reach = distances(states), states.reach(limit)
    for i in range(len(states)):
        pieces, metres = reach.reached(i)
        assert pieces[0] == i
        assert sorted(pieces) == sorted(np.flatnonzero(far[i] <= limit))
        assert metres == pytest.approx(far[i, pieces], rel=1e-5)


def test_pieces_are_the_same_however_many_edges_draw_a_road() -> None:
    """Each edge in five: the same middles to a centimetre, the same lengths, as many roads."""
    roads = random_network(11)
    one, other = RoadStates.of(roads, 60.0), RoadStates.of(split(roads, 5), 60.0)
    assert len(one) == len(other)
    near = np.hypot(*(one.middle[:, np.newaxis] - other.middle).transpose(2, 0, 1))
    assert near.min(axis=0).max() < 0.01
    assert near.min(axis=1).max() < 0.01
    assert np.sort(one.length) == pytest.approx(np.sort(other.length), abs=1e-4)
    assert len(np.unique(one.road)) == len(np.unique(other.road)) == one.stretch.max() + 1


def test_far_away_a_truck_is_looked_for_where_roads_are_few() -> None:
    """Beyond 5 km the search ends at 10,000 pieces in a city, and goes on in the country."""
    city = random_network(17, size=60)
    for piece, farthest in ((20.0, 5_000.0), (500.0, 7_900.0)):
        states = RoadStates.of(city, piece)
        pieces, metres = states.reach(8_000.0).reached(int(np.hypot(*states.middle.T).argmin()))
        assert (len(pieces) > 10_000) == (farthest == 5_000)
        assert farthest - 300 < metres.max() <= farthest + 500


def test_what_is_forgotten_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory is short, rows are searched for anew, and are the same."""
    reach = small_states().reach(400.0)
    first = reach.reached(3)
    monkeypatch.setattr(voile.attack.trajectory.reach, "KEPT", 0)
    reach.reached(5)
    assert reach.searched == 1
    for again, before in zip(reach.reached(3), first, strict=True):
        assert (again == before).all()


@pytest.mark.slow
def test_what_is_driven_is_summed_once_for_all_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near, far, near again, and after memory ran short: each the sum over all that is reached."""
    states = small_states()
    rng = np.random.default_rng(5)
    driven, pieces = Driven(rng.uniform(0.2, 3, len(states))), np.arange(0, len(states), 2)
    for limit, kept in ((200.0, 1 << 20), (750.0, 0), (300.0, 1 << 20)):
        monkeypatch.setattr(voile.attack.trajectory.inference, "KEPT", kept)
        reach, weights = states.reach(limit), np.zeros((80, 3))
        weights[: int(limit / 10)] = rng.uniform(size=(int(limit / 10), 3))
        expected = []
        for i in pieces:
            to, metres = reach.reached(int(i))
            expected.append(driven.traffic[to] @ weights[(metres / 10).astype(int)])
        assert driven.sums(pieces, reach, weights) == pytest.approx(np.array(expected), rel=1e-9)


def shown_near(states: RoadStates) -> np.ndarray:
    rng = np.random.default_rng(12)
    return states.middle[rng.integers(len(states), size=REPORTS)] + rng.normal(0, 150, (REPORTS, 2))


def laws(states: RoadStates) -> dict[str, tuple[Any, Any]]:
    """Each law, and the logarithm of its density of all reports for a path, written out."""
    shown, epsilon = shown_near(states), np.full(REPORTS, EPSILON)
    scale, kept = np.array([150.0, 180.0, 160.0, 170.0]), np.array([0.0, 0.7, 0.3, 0.9])
    places = states.middle[[0, -1]] + 700.0
    ways = np.abs(np.random.default_rng(1).normal(900, 200, (REPORTS, 2)))
    ways[2, 1] = 0.0
    bins = 1024
    middles = (np.arange(bins) + 0.5) / bins * 2 * math.pi
    number = np.array([1, 2, 5, 6])

    def laplace(path: np.ndarray) -> float:
        return float(-EPSILON * np.hypot(*(shown - states.middle[path]).T).sum())

    def receiver(path: np.ndarray) -> float:
        parts = [states.line.ends[states.line.piece == piece].reshape(-1, 2, 2) for piece in path]
        far = [
            shapely.MultiLineString(list(part)).distance(shapely.Point(place))
            for part, place in zip(parts, shown, strict=True)
        ]
        return float(-0.5 * ((far / scale) ** 2).sum())

    def turns(steps: list[int]) -> Any:
        """By how many turns there were before each report; 0 for any direction."""
        turned = [wrapped_density(middles, 0.6 * math.sqrt(s)) if s else None for s in steps]

        def turning(path: np.ndarray) -> float:
            noise = shown - states.middle[path]
            turn = np.diff(np.arctan2(noise[:, 0], noise[:, 1]), prepend=0.0) / (2 * math.pi) % 1
            place = np.minimum((turn * bins).astype(int), bins - 1)
            each = [np.log(t[p]) for t, p in zip(turned, place, strict=True) if t is not None]
            return laplace(path) + float(sum(each))

        return turning

    def remembering(path: np.ndarray) -> float:
        unit = (shown - states.middle[path]) / scale[:, np.newaxis]
        fresh = (unit[1:] - kept[1:, np.newaxis] * unit[:-1]) / np.sqrt(
            1 - kept[1:, np.newaxis] ** 2
        )
        return float(-0.5 * (unit[0] @ unit[0] + (fresh**2).sum()))

    field = np.random.default_rng(5)
    mean, deviation = field.normal(0, 60, (len(states), 2)), field.uniform(20, 150, len(states))
    fresh, blur = np.array([60.0, 50.0, 70.0, 40.0]) ** 2, 20.0

    def staying(path: np.ndarray) -> float:
        """Both noises of a pair of reports are normal; given the first, by the quotient."""
        rest, own = shown - states.middle[path] - mean[path], deviation[path]
        each = own**2 + fresh + blur**2 + 1
        total = stats.norm(0, np.sqrt(each[0])).logpdf(rest[0]).sum()
        for i in range(1, REPORTS):
            far = np.hypot(*(states.middle[path[i]] - states.middle[path[i - 1]]))
            common = own[i] * own[i - 1] * math.exp(-far / 800)
            common += kept[i] * math.sqrt(fresh[i] * fresh[i - 1])
            both = stats.multivariate_normal(
                cov=[[each[i - 1], common], [common, each[i]]], allow_singular=False
            )
            total += both.logpdf(rest[i - 1 : i + 1].T).sum()
            total -= stats.norm(0, np.sqrt(each[i - 1])).logpdf(rest[i - 1]).sum()
        return float(total)

    def pooled(path: np.ndarray) -> float:
        far = np.hypot(*(states.middle[path][:, np.newaxis] - places).transpose(2, 0, 1))
        above = -EPSILON * np.abs(ways - far)
        return float(np.where(ways > 0, above, math.log(0.5) - EPSILON * far).sum())

    middle = states.middle
    return {
        "laplace": (LaplaceNoise(middle, shown, epsilon), laplace),
        "receiver": (ReceiverError(states.line, len(states), shown, scale), receiver),
        "turning": (Turning(middle, shown, epsilon, 0.6), turns([0, 1, 1, 1])),
        "turning-from-north": (
            Turning(middle, shown, epsilon, 0.6, start="zero"),
            turns([1, 1, 1, 1]),
        ),
        "turning-with-some-left-out": (
            Turning(middle, shown, epsilon, 0.6, start="zero", number=number),
            turns([2, 1, 3, 1]),
        ),
        "remembering": (Remembering(middle, shown, scale, kept), remembering),
        "staying": (
            FieldBelief(middle, shown, mean, deviation, fresh, kept, 800.0, blur),
            staying,
        ),
        "distances": (Distances(middle, places, ways, epsilon), pooled),
    }


LAWS = [
    "laplace",
    "receiver",
    "turning",
    "turning-from-north",
    "turning-with-some-left-out",
    "remembering",
    "staying",
    "distances",
]


@pytest.mark.parametrize("name", LAWS)
def test_the_posterior_is_that_of_all_paths(name: str) -> None:
    """Marginals equal the sum over every path of pieces of its probability times its density."""
    states = RoadStates.of(random_network(13, size=2, spacing=0.003), 300.0)
    law, log_density = laws(states)[name]
    movement = Movement()
    reach = states.reach(750.0)
    traffic = np.random.default_rng(3).uniform(0.2, 3, len(states))
    found = infer(np.arange(REPORTS) * GAP, law, lambda _: reach, movement, Driven(traffic))
    start, moves = movement.first(), movement.moves(GAP, reach)
    # step[v, i, j, w]: from piece i in band v to piece j in band w.
    step = np.zeros((len(start), len(states), len(states), len(start)))
    for i in range(len(states)):
        to, metres = reach.reached(i)
        place = (metres / 10).astype(int)
        for v in range(len(start)):
            weight = moves.weights[v, place] * traffic[to]
            step[v, i, to, moves.band[place]] = (1 - moves.standing[v]) * weight / weight.sum()
            step[v, i, i, 0] += moves.standing[v]
    marginal = np.zeros((REPORTS, len(states)))
    paths = [np.array(p) for p in itertools.product(range(len(states)), repeat=REPORTS)]
    logs = np.array([log_density(p) for p in paths])
    likely = np.exp(logs - logs.max())
    for p, weight in zip(paths, likely, strict=True):
        band = start * traffic[p[0]]
        for i, j in itertools.pairwise(p):
            band = band @ step[:, i, j]
        marginal[np.arange(REPORTS), p] += band.sum() * weight
    marginal /= marginal.sum(axis=1, keepdims=True)
    for i in range(REPORTS):
        dense = np.zeros(len(states))
        dense[found.piece[i]] = found.probability[i]
        assert dense == pytest.approx(marginal[i], abs=1e-6)
    assert found.lost == 0


@pytest.mark.parametrize("name", ["turning", "remembering", "staying"])
def test_many_pairs_at_once_have_the_factors_of_each_by_itself(name: str) -> None:
    """Products with the factors of all pieces at a report, from some pieces at the one before."""
    states = small_states()
    law = laws(states)[name][0]
    before, now = law.factors(1), law.factors(2)
    pair, count = before.pair(now), len(now.piece)
    room, noise = (np.empty(count), np.empty(count, dtype=np.int64)), now.noise.T.copy()
    for i in range(0, len(before.piece), 29):
        product = np.linspace(0, 2, count)
        times_pair_factors(pair, i, noise, room, count, product)
        each = [pair_factor(pair, i, j) for j in range(count)]
        assert product == pytest.approx(np.linspace(0, 2, count) * each, rel=1e-9, abs=1e-300)


def test_powers_of_e_are_those_of_the_library() -> None:
    """Within 1e-13 from -700 to 700, and 0 for what is less than can be written."""
    powers = np.concatenate((np.linspace(-700, 700, 5_001), np.linspace(-1e-9, 1e-9, 11)))
    found = powers.copy()
    _exponentials(found, np.empty(len(found), dtype=np.int64), len(found))
    assert found == pytest.approx(np.exp(powers), rel=1e-13)
    faint = np.array([-709.5, -1e9, -np.inf])
    _exponentials(faint, np.empty(3, dtype=np.int64), 3)
    assert not faint.any()


@pytest.mark.parametrize("name", LAWS)
def test_no_pair_of_pieces_is_likelier_than_the_bound_by_which_pieces_are_left_untried(
    name: str,
) -> None:
    """The density of each piece times its factor with any piece before is at most the bound."""
    states = small_states()
    law = laws(states)[name][0]
    for report in range(1, REPORTS):
        before, now = law.factors(report - 1), law.factors(report)
        pair = before.pair(now)
        for former in (np.arange(len(before.piece)), np.arange(0, len(before.piece), 37)):
            most = before.most_of_pairs(now, former)
            each = [
                now.density[j] * max(pair_factor(pair, int(i), j) for i in former)
                for j in range(0, len(now.piece), 5)
            ]
            assert (np.array(each) <= most[::5] * (1 + 1e-9)).all()


def test_what_is_driven_near_by_is_no_more_than_a_beginning() -> None:
    """Searched far, summed near, then far: each the sum over all that is reached."""
    states = small_states()
    driven, pieces = Driven(np.ones(len(states))), np.arange(0, len(states), 3)
    states.reach(900.0).rows(pieces)
    for limit in (150.0, 250.0, 900.0):
        reach, weights = states.reach(limit), np.zeros((92, 1))
        weights[: int(limit / 10)] = 1.0
        expected = [(states.reach(limit).reached(int(i))[1] < limit).sum() for i in pieces]
        assert driven.sums(pieces, reach, weights)[:, 0].tolist() == expected


def test_noise_that_stays_finds_a_truck_that_stood_where_the_next_report_cannot_be_from() -> None:
    """On one road without crossings, whose middle piece alone cannot explain the second report.

    Noise that stays is known exactly at that piece and unknown at the others: the posterior is all
    of numbers, without that piece at the second report and with it at the first.
    """
    states = RoadStates.of(network_of([(48.0, 2.0), (48.0, 2.00669)], ways="forward"), 100.0)
    assert len(states) == 5
    assert len(np.unique(states.layout.run)) == 1
    deviation = np.full(5, 300.0)
    deviation[2] = 0.0
    shown = states.middle[[2, 2]] + np.array([[0.0, 0.0], [0.0, 400.0]])
    law = FieldBelief(
        states.middle, shown, np.zeros((5, 2)), deviation, np.full(2, 30.0**2), np.zeros(2), 800.0
    )
    reach = states.reach(200.0)
    found = infer(np.array([0.0, 10.0]), law, lambda _: reach, Movement())
    assert found.lost == 0
    assert all(
        np.isfinite(each).all() and each.sum() == pytest.approx(1) for each in found.probability
    )
    assert 2 in found.piece[0]
    assert set(found.piece[1].tolist()) >= {1, 3}
    assert 2 not in found.piece[1]


def test_reports_that_no_path_explains_begin_anew() -> None:
    """A truck that jumps across the map is found again, and the jump is counted."""
    states = RoadStates.of(random_network(14, size=8), 150.0)
    ends = states.middle[[states.middle.sum(axis=1).argmin(), states.middle.sum(axis=1).argmax()]]
    law = ReceiverError(states.line, len(states), ends[[0, 0, 1, 1]], np.full(4, 5.0))
    reach = states.reach(250.0)
    found = infer(np.arange(4) * 10.0, law, lambda _: reach, Movement())
    assert found.lost == 1
    assert all(math.isclose(p.sum(), 1) for p in found.probability)
    assert np.hypot(*(states.middle[found.piece[3][found.probability[3].argmax()]] - ends[1])) < 100


def tracks(count: int, reports: int) -> tuple[RoadAdversary, list[np.ndarray]]:
    """Trips at 8 m/s along shortest ways of a larger grid, positions every 30 s."""
    roads = random_network(15, size=24).largest_connected()
    adversary = RoadAdversary(roads, piece=60.0)
    rng = np.random.default_rng(16)
    graph = networkx.DiGraph()
    for a, b, metres in zip(roads.source, roads.target, roads.length, strict=True):
        graph.add_edge(int(a), int(b), weight=float(metres))
    found: list[np.ndarray] = []
    while len(found) < count:
        start, end = rng.integers(roads.nodes, size=2)
        way = roads.plane[networkx.dijkstra_path(graph, int(start), int(end))]
        along = np.concatenate(([0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))))
        at = np.arange(reports) * GAP * 8
        if along[-1] > at[-1]:
            found.append(np.stack([np.interp(at, along, way[:, k]) for k in (0, 1)], axis=1))
    return adversary, found


@pytest.mark.slow
def test_the_order_of_adversaries_and_mechanisms_is_as_measured() -> None:
    """On 12 simulated trips with a mean noise of 100 m: knowing more finds more.

    Maps find more roads than filters under planar Laplace noise, and angles that hardly turn give
    the informed adversary more of them than fresh directions do.
    """
    adversary, true = tracks(12, 16)
    roads, zones = adversary.states.roads, Zones([0.02], [1.0])
    key = Randomness.seeded(17).key("trips")
    time, epsilon = np.arange(16) * GAP, np.full(16, 0.02)
    start = np.array([0, 16])

    def rates(noise: Any, attack: str) -> tuple[float, float]:
        errors, shares = [], []
        for trip, track in enumerate(true):
            place = roads.to_degrees(track)
            trips = Trips(*place, time, start, np.array([trip], dtype=np.uint64))
            shown = perturb(noise, trips, key)
            seen = Sighted(time, roads.to_plane(shown.latitude, shown.longitude), epsilon)
            found = (
                adversary.informed(seen, noise)
                if attack == "informed"
                else getattr(adversary, attack)(seen)
            )
            errors.append(np.hypot(*(found.position - track).T).mean())
            shares.append(share_right(found.road, adversary.true_roads(time, track)))
        return float(np.mean(errors)), float(np.mean(shares))

    laplace = PlanarLaplace(zones)
    none, median, smooth, informed = (
        rates(laplace, attack) for attack in ("as_shown", "median", "smoother", "informed")
    )
    assert max(informed[0], smooth[0]) < none[0]
    assert informed[1] > max(none[1], median[1], smooth[1])
    assert informed == rates(laplace, "matching")
    turning = rates(AngleSelection(zones, 0.03), "informed")
    assert turning[0] < informed[0]
    assert turning[1] > informed[1] + 0.05


def test_who_knows_that_directions_start_at_north_is_nearer_to_the_first_report() -> None:
    """Single reports of 40 trips, 400 m off on average, nearly due north: by a quarter at least."""
    adversary, true = tracks(40, 1)
    roads, zones = adversary.states.roads, Zones([0.005], [1.0])
    key, one = Randomness.seeded(23).key("trips"), np.zeros(1)
    north = AngleSelection(zones, 0.05, "zero")
    errors: dict[str, list[float]] = {"zero": [], "uniform": []}
    for trip, track in enumerate(true):
        number = np.array([trip], dtype=np.uint64)
        shown = perturb(north, Trips(*roads.to_degrees(track), one, np.array([0, 1]), number), key)
        place = roads.to_plane(shown.latitude, shown.longitude)
        seen = Sighted(one, place, np.array([0.005]))
        for start, found in errors.items():
            guess = adversary.informed(seen, AngleSelection(zones, 0.05, start)).position
            found.append(float(np.hypot(*(guess - track)[0])))
    assert np.mean(errors["zero"]) < 0.75 * np.mean(errors["uniform"])


def test_what_is_forgotten_meanwhile_changes_no_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory runs short between any two searches, all is found as where it never does."""
    adversary, (track, *_) = tracks(1, 6)
    law = LaplaceNoise(adversary.states.middle, track, np.full(6, 0.02))
    found = []
    for kept in (1 << 20, 0):
        monkeypatch.setattr(voile.attack.trajectory.reach, "KEPT", kept)
        reach = RoadStates.of(adversary.roads, 60.0).reach(750.0)
        found.append(infer(np.arange(6) * GAP, law, lambda _, reach=reach: reach, Movement()))
    one, other = found
    for i in range(6):
        assert one.piece[i].tolist() == other.piece[i].tolist()
        assert one.probability[i] == pytest.approx(other.probability[i], rel=1e-9)


@pytest.mark.parametrize("longest", [GAP, 170.0])
def test_the_reach_of_each_step_finds_what_that_of_the_longest_gap_finds(longest: float) -> None:
    """Trips with and without a long gap: the same pieces with the same probabilities."""
    adversary, (track, *_) = tracks(1, 10)
    states = adversary.states
    time = np.cumsum([0.0, *[GAP] * 4, longest, *[GAP] * 4])
    shown = track + np.random.default_rng(24).normal(0, 80, track.shape)
    law = LaplaceNoise(states.middle, shown, np.full(10, 0.02))
    widest = adversary.reach(longest)
    quick = infer(time, law, adversary.reach, Movement())
    slow = infer(time, law, lambda _: widest, Movement())
    assert (adversary.reach(GAP) is widest) == (longest == GAP)
    for i in range(10):
        assert (quick.piece[i] == slow.piece[i]).all()
        assert quick.probability[i] == pytest.approx(slow.probability[i], rel=1e-9)


def test_a_long_gap_widens_its_own_step_alone() -> None:
    """The wide look-up is made from the pieces before the gap, and from no others."""
    adversary, (track, *_) = tracks(1, 10)
    time = np.cumsum([0.0, *[GAP] * 4, 170.0, *[GAP] * 4])
    adversary.match(time, track)
    wide, usual = (adversary.reach(gap).searched for gap in (170.0, GAP))
    assert 0 < wide < usual / 3


def test_looking_up_what_can_be_reached_is_counted_once() -> None:
    """Who follows the same trip again finds it looked up, and no more time is spent on that."""
    adversary, (track, *_) = tracks(1, 10)
    assert adversary.looking == 0
    adversary.match(np.arange(10) * GAP, track)
    spent = adversary.looking
    assert spent > 0
    adversary.match(np.arange(10) * GAP, track)
    assert adversary.looking == spent


def test_a_truck_that_reports_every_second_leaves_its_piece() -> None:
    """Straight on at 14 m/s for a minute: hardly any noise, and never lost."""
    road = network_of([(48.0, 2.0 + 0.003 * k) for k in range(12)])
    adversary = RoadAdversary(road)
    west = road.plane[:, 0].min()
    track = np.stack((west + 300 + 14.0 * np.arange(60), np.zeros(60)), axis=1)
    sighted = Sighted(np.arange(60.0), track, np.full(60, 0.1))
    found = adversary.matching(sighted)
    assert found.lost == 0
    assert np.hypot(*(found.position - track).T).max() < 100


def test_the_median_filter_is_the_median_of_its_window() -> None:
    """Each coordinate is the median of the reports at most two places away."""
    shown = np.random.default_rng(18).normal(size=(9, 2))
    for i, found in enumerate(median_filter(shown, 5)):
        assert found == pytest.approx(np.median(shown[max(0, i - 2) : i + 3], axis=0))


def test_the_smoother_is_the_least_squares_estimate_of_its_model() -> None:
    """Its positions are those of the joint normal law of all states given all reports."""
    rng = np.random.default_rng(19)
    time, shown = np.cumsum(rng.uniform(5, 60, 7)), rng.normal(0, 500, (7, 2))
    deviation, acceleration = rng.uniform(50, 300, 7), 0.7
    covariance = [np.diag([1e12, 900.0])]
    blocks = {(0, 0): covariance[0]}
    for i in range(1, 7):
        gap = time[i] - time[i - 1]
        move = np.array([[1, gap], [0, 1]])
        drift = acceleration**2 * np.array([[gap**3 / 3, gap**2 / 2], [gap**2 / 2, gap]])
        for j in range(i):
            blocks[i, j] = move @ blocks[i - 1, j]
            blocks[j, i] = blocks[i, j].T
        blocks[i, i] = move @ blocks[i - 1, i - 1] @ move.T + drift
    positions = np.array([[blocks[i, j][0, 0] for j in range(7)] for i in range(7)])
    expected = positions @ np.linalg.solve(positions + np.diag(deviation**2), shown)
    assert smoother(time, shown, deviation, acceleration) == pytest.approx(expected, abs=0.5)
