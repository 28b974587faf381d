"""Drives elsewhere, motorways included: whoever follows a truck must not be worse off for it.

Ten GPS traces of cars with the roads around them and the route that people found right on the map
(Kubicka, Cela, Moulin, Mounier and Niculescu 2015).  The maps name neither classes nor speeds.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks import with_interval
from benchmarks.trucks_attacks import MECHANISMS
from voile.attack.trajectory.adversaries import RoadAdversary, share_right
from voile.attack.trajectory.inference import Movement
from voile.attack.trajectory.on_release import fastest_of
from voile.attack.trajectory.reports import Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import GaussianField, LocationNoise, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["TRACES", "Followed", "Trace", "follow", "run"]

TRACES = (5, 10, 26, 39, 50, 52, 61, 68, 70, 75)
SEED, EPSILON, DRAWS, MOST_REPORTS = 2027, 0.005, 20, 100
NOISES: dict[str, Callable[[Zones], LocationNoise]] = {
    "planar Laplace": MECHANISMS["planar Laplace"],
    "correlated Gaussian, tau 120 s": MECHANISMS["correlated Gaussian, tau 120 s"],
    "field of 700 m": lambda zones: GaussianField(zones, period=3_650.0),
}
"""The last is that of plans with vehicles; no draw leaves its period."""
INTERVALS = (30.0, 300.0)
UNKNOWN = 40.0
"""km/h: the speed of all roads, as ``read_roads`` has it where a map says none."""
MOST_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class Trace:
    """A drive, the roads around it, and which of these it took."""

    name: str
    roads: RoadNetwork
    time: Floats
    """Shape (n,): seconds."""
    track: Floats
    """Shape (n, 2): metres of the map's plane."""
    route: Indices
    """Edges that were driven."""

    @classmethod
    def read(cls, number: int) -> Trace:
        """A trace by its number; raises ``AbsentDataError``."""
        name = f"{number:08d}"
        nodes, arcs, track, route = (
            np.loadtxt(shared_file(f"trajectories/worldwide-matched/{name}/{part}.tsv"))
            for part in ("nodes", "arcs", "track", "route")
        )
        source, target = arcs.astype(np.int64).T
        speed = np.full(len(arcs), UNKNOWN)
        east, north = nodes.T.copy()
        roads = RoadNetwork(north, east, source, target, np.arange(len(arcs)), speed)
        plane = roads.to_plane(track[:, 1].copy(), track[:, 0].copy())
        return cls(name, roads, track[:, 2] - track[0, 2], plane, route.astype(np.int64))

    def every(self, interval: float) -> tuple[Floats, Floats]:
        """Times and positions of its first reports, one every ``interval`` seconds."""
        time = np.arange(0.0, self.time[-1], interval)[:MOST_REPORTS]
        sides = [np.interp(time, self.time, self.track[:, axis]) for axis in (0, 1)]
        return time, np.stack(sides, axis=1)


@dataclass(frozen=True, eq=False)
class Followed:
    """A trace under one kind of noise, drawn several times."""

    trace: str
    noise: str
    interval: float
    reports: int
    limit: float
    """km/h: what the adversary supposes that no truck exceeds."""
    matched: float
    """Share of reports at which the true road, as matched, is on the checked route."""
    face: Floats
    """Mean metres between the published and the true positions, shape (draws,)."""
    error: Floats
    """The same for the informed adversary."""
    right: Floats
    """Share of reports at which he names the true road."""
    lost: int
    """Reports at which he lost the truck, in all draws."""
    seconds: float
    """Of processor time, the slowest draw."""

    @property
    def gain(self) -> tuple[float, float]:
        """By how many metres he is nearer than what is published: mean, 95 % half-width."""
        nearer = self.face - self.error
        return float(nearer.mean()), 1.96 * float(nearer.std(ddof=1)) / len(nearer) ** 0.5

    @property
    def worse(self) -> bool:
        """Whether he is further off than what is published, beyond the interval."""
        mean, width = self.gain
        return mean + width < 0


def follow(trace: Trace, noise_name: str, interval: float, draws: int = DRAWS) -> Followed:
    """Let the informed adversary follow a trace as ``voile attack`` does."""
    time, track = trace.every(interval)
    adversary = RoadAdversary(trace.roads)
    usual = Movement()
    limit = fastest_of(trace.roads, adversary.nearby, [(time, track)], usual.fastest)
    adversary = adversary.supposing(replace(usual, fastest=limit))
    true = adversary.true_roads(time, track)
    noise = NOISES[noise_name](Zones([EPSILON]))
    found = []
    for draw in range(draws):
        identity = np.array([draw], dtype=np.uint64)
        start = np.array([0, len(time)])
        trip = Trips(*trace.roads.to_degrees(track), time, start, identity, vehicle=identity)
        shown = perturb(noise, trip, Randomness.seeded(SEED).key(trace.name))
        place = trace.roads.to_plane(shown.latitude, shown.longitude)
        finding = adversary.informed(Sighted(time, place, shown.epsilon), noise)
        found.append(
            (
                np.hypot(*(place - track).T).mean(),
                np.hypot(*(finding.position - track).T).mean(),
                share_right(finding.road, true),
                finding.lost,
                finding.seconds,
            )
        )
    face, error, right, lost, seconds = np.array(found).T
    route = adversary.states.stretch[trace.route]
    matched = float(np.isin(true, route).mean())
    return Followed(
        trace.name, noise_name, interval, len(time), limit * 3.6, matched,
        face, error, right, int(lost.sum()), float(seconds[1:].max()),
    )  # fmt: skip


def run() -> Measurement:
    """Follow all traces, under all kinds of noise."""
    return _measurement(list(_all([Trace.read(number) for number in TRACES])))


def _all(traces: Sequence[Trace], processes: int = 2) -> Iterator[Followed]:
    tasks = list(product(traces, NOISES, INTERVALS))
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.starmap(follow, tasks, chunksize=1)


def _measurement(found: Sequence[Followed]) -> Measurement:
    worse = [one for one in found if one.worse]
    slowest = max(one.seconds for one in found if one.interval == INTERVALS[0])
    motorway = max(found, key=lambda one: one.limit)
    return Measurement(
        question="Is the informed adversary anywhere worse off than one who takes published "
        "positions for true, on motorways for example?",
        data=f"{len(TRACES)} traces of cars in several countries with their local roads (Kubicka "
        "et al. 2015), the first 100 reports of each",
        seeds=f"{SEED}",
        protocol=f"epsilon = {EPSILON:g}; {DRAWS} draws of noise for each trace, and normal 95 % "
        "intervals over draws. Movement is that of `voile attack`: nothing is learned but the "
        "limit of speed, by the trace's own speeds. A road goes from crossing to crossing. The "
        "checked route is the one that people found right",
        answer=f"He is worse beyond the interval in {len(worse)} of {len(found)} cases. On the "
        f"motorway ({motorway.limit:.0f} km/h supposed) he is "
        f"{with_interval([*motorway.error], 0)} m off, the published positions "
        f"{with_interval([*motorway.face], 0)} m, under {motorway.noise} noise every "
        f"{motorway.interval:g} s.",
        targets=[
            Target("traces and noises where he is worse in metres than published positions, "
                   "beyond the interval", "0", f"{len(worse)} of {len(found)}", not worse),
            Target(f"processor time of the slowest trip every {INTERVALS[0]:g} s",
                   f"under {MOST_SECONDS:g} s", f"{slowest:.1f} s", slowest < MOST_SECONDS),
        ],
        tables=[
            Table(f"{noise}, a report every {interval:g} s",
                  ("trace", "reports", "limit, km/h", "published, m", "informed, m",
                   "nearer by, m", "right roads", "matched on the checked route", "lost",
                   "slowest, s"),
                  [_line(one) for one in found
                   if (one.noise, one.interval) == (noise, interval)])
            for interval in INTERVALS for noise in NOISES
        ],
    )  # fmt: skip


def _line(one: Followed) -> list[str]:
    mean, width = one.gain
    return [
        one.trace,
        f"{one.reports}",
        f"{one.limit:.0f}",
        with_interval([*one.face], 0),
        with_interval([*one.error], 0),
        f"{mean:.0f} \u00b1 {width:.0f}",
        with_interval([*one.right], 3),
        f"{one.matched:.2f}",
        f"{one.lost}",
        f"{one.seconds:.2f}",
    ]
