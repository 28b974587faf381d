"""Attacks on noisy positions of real drives, one drive at a time, on two processor cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.trucks_data import TRACKED, Drive
from voile.attack.trajectory.adversaries import RoadAdversary, RoadEstimate
from voile.attack.trajectory.inference import Movement
from voile.attack.trajectory.on_release import fastest_of
from voile.attack.trajectory.reports import Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import (
    AngleSelection,
    CorrelatedGaussian,
    LocationNoise,
    PlanarLaplace,
    noisy_distances,
    perturb,
)
from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import NearbyRoads, stretches
from voile_geo.roads.network import RoadNetwork

__all__ = [
    "ATTACKS",
    "MECHANISMS",
    "RECIPIENTS",
    "SEED",
    "Case",
    "Found",
    "attack_all",
    "learned_elsewhere",
    "movement_of",
    "recipients_of",
    "trip_of",
]

SEED = 2023
ATTACKS = ("none", "median", "smoother", "map matching", "informed")
MECHANISMS: dict[str, Callable[[Zones], LocationNoise]] = {
    "planar Laplace": PlanarLaplace,
    **{
        f"angle selection, sigma {sigma:g}": lambda zones, sigma=sigma: AngleSelection(zones, sigma)
        for sigma in (0.1, 0.25, 0.5, 0.97, 3.0)
    },
    **{
        f"correlated Gaussian, tau {tau:g} s": lambda zones, tau=tau: CorrelatedGaussian(zones, tau)
        for tau in (60.0, 120.0, 240.0, 600.0)
    },
}
RECIPIENTS = {"remaining distance, 1 recipient": 1, "remaining distance, 3 collude": 3}
APART = (2_000.0, 8_000.0)
"""Metres from the destination at which colluding recipients are."""
FINE, USUAL, COARSE = 60.0, 100.0, 150.0
"""Metres: pieces of roads where noise tells more of the position than its size, usually, and where
noise or the way between reports is long.  Finer ones cost more and find no more."""
SHARP = ("angle selection, sigma 0.1", "angle selection, sigma 0.25")


@dataclass(frozen=True)
class Case:
    """What is published, and who looks at it."""

    mechanism: str
    epsilon: float
    interval: float
    attack: str


@dataclass(frozen=True)
class Found:
    """What came out for one drive."""

    case: Case
    drive: int
    error: float
    """Mean metres between the estimate and the truth."""
    right: float
    """Share of reports at which the road is the true one."""
    seconds: float
    """Of processor time."""
    lost: int


def movement_of(roads: RoadNetwork, drives: Sequence[Drive]) -> Movement:
    """How cars move, estimated from some drives: speeds in 30 s, and time spent on each class.

    Time on a road counts for its classes by their lengths.
    """
    before, after = [], []
    for drive in drives:
        speed = np.hypot(*np.diff(drive.track[::3], axis=0).T) / (3 * TRACKED)
        before.append(speed[:-1])
        after.append(speed[1:])
    now, then = np.concatenate(before), np.concatenate(after)
    moves = (now > 0.7) & (then > 0.7)
    correlation = np.corrcoef(now[moves], then[moves])[0, 1]
    assert roads.class_of is not None
    count, road = len(roads.classes), stretches(roads)
    seen = np.bincount(np.concatenate([drive.road for drive in drives]), minlength=road.max() + 1)
    each = (seen / np.bincount(road, roads.length))[road] * roads.length
    metres = np.bincount(roads.class_of, roads.length, count)
    # Ten positions more, spread like roads, so that no class is impossible.
    traffic = np.bincount(roads.class_of, each, count) / metres + 10 / metres.sum()
    reported = [(np.arange(len(one.track[::3])) * 3 * TRACKED, one.track[::3]) for one in drives]
    return Movement(
        usual=float(now[moves].mean()),
        deviation=float(now[moves].std()),
        memory=float(-3 * TRACKED / np.log(max(correlation, 0.01))),
        fastest=fastest_of(roads, NearbyRoads(roads), reported, Movement().fastest),
        standing=float((now <= 0.7).mean()),
        traffic=dict(zip(roads.classes, traffic / traffic.mean(), strict=True)),
    )


def learned_elsewhere(
    roads: RoadNetwork, drives: Sequence[Drive]
) -> tuple[dict[int, int], list[Movement]]:
    """Which half each person is in, and for each half how cars move, learned from the other one."""
    half = {user: i % 2 for i, user in enumerate(sorted({drive.user for drive in drives}))}
    others = ([drive for drive in drives if half[drive.user] != which] for which in (0, 1))
    return half, [movement_of(roads, some) for some in others]


class _Attacker:
    """Adversaries who learned how cars move from the drives of other people."""

    def __init__(self, roads: RoadNetwork, drives: Sequence[Drive]) -> None:
        self._roads, self._drives = roads, drives
        self._half, halves = learned_elsewhere(roads, drives)
        self._adversaries = {}
        for piece in (FINE, USUAL, COARSE):
            adversary = RoadAdversary(roads, piece=piece)
            self._adversaries[piece] = [adversary.supposing(movement) for movement in halves]

    def __call__(self, task: tuple[Case, int]) -> Found:
        case, number = task
        drive = self._drives[number]
        adversary = self._adversaries[_piece(case)][self._half[drive.user]]
        track, road = (
            drive.track[drive.every(case.interval)],
            drive.road[drive.every(case.interval)],
        )
        if case.mechanism in RECIPIENTS:
            finding = self._by_distances(adversary, case, number, track)
        else:
            finding = self._by_positions(adversary, case, number, track)
        error = float(np.hypot(*(finding.position - track).T).mean())
        right = float((finding.road == road).mean())
        return Found(case, number, error, right, finding.seconds, finding.lost)

    def _by_positions(
        self, adversary: RoadAdversary, case: Case, number: int, track: Floats
    ) -> RoadEstimate:
        noise = MECHANISMS[case.mechanism](Zones([case.epsilon], [1.0]))
        trip = trip_of(self._roads, track, case.interval, number)
        shown = perturb(noise, trip, Randomness.seeded(SEED).key("trips"))
        seen = Sighted(
            trip.time, self._roads.to_plane(shown.latitude, shown.longitude), shown.epsilon
        )
        if case.attack == "informed":
            return adversary.informed(seen, noise)
        ways = {
            "none": adversary.as_shown,
            "median": adversary.median,
            "smoother": adversary.smoother,
            "map matching": adversary.matching,
        }
        return ways[case.attack](seen)

    def _by_distances(
        self, adversary: RoadAdversary, case: Case, number: int, track: Floats
    ) -> RoadEstimate:
        end = self._drives[number].track[-1]
        places = recipients_of(self._roads, end, RECIPIENTS[case.mechanism], number)
        epsilon = np.full(len(track), case.epsilon)
        shown = []
        for i, place in enumerate(places):
            trip = trip_of(self._roads, track, case.interval, number * 10 + i)
            key = Randomness.seeded(SEED).key("distances")
            shown.append(noisy_distances(np.hypot(*(track - place).T), epsilon, trip, key))
        return adversary.colluding(trip.time, places, np.stack(shown, axis=1), epsilon)


def recipients_of(roads: RoadNetwork, end: Floats, count: int, number: int) -> Floats:
    """Where recipients wait: at the end of a drive, and others at crossings around it."""
    far = np.hypot(*(roads.plane - end).T)
    others = np.flatnonzero((far > APART[0]) & (far < APART[1]))
    chosen = np.random.default_rng([SEED, number]).choice(others, count - 1, replace=False)
    return np.concatenate((end[np.newaxis], roads.plane[chosen]))


def trip_of(roads: RoadNetwork, track: Floats, interval: float, identity: int) -> Trips:
    """A trip of positions in the plane (n, 2), one every ``interval`` seconds, of its own truck."""
    time, start = np.arange(len(track)) * interval, np.array([0, len(track)])
    word = np.array([identity], dtype=np.uint64)
    return Trips(*roads.to_degrees(track), time, start, word, vehicle=word)


def _piece(case: Case) -> float:
    if case.epsilon < 0.002 or case.interval > 60:
        return COARSE
    return FINE if case.attack == "informed" and case.mechanism in SHARP else USUAL


_attacker: _Attacker | None = None


def _attack(task: tuple[Case, int]) -> Found:
    assert _attacker is not None
    return _attacker(task)


def attack_all(
    roads: RoadNetwork, drives: Sequence[Drive], cases: Iterable[Case], processes: int = 2
) -> Iterator[Found]:
    """Every case on every drive."""
    global _attacker  # noqa: PLW0603 - what is forked need not be sent
    _attacker = _Attacker(roads, drives)
    tasks = [(case, number) for case in cases for number in range(len(drives))]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap_unordered(_attack, tasks, chunksize=4)
