"""Vehicles of one fleet that share a road, and what one of them tells of the others.

All noise is drawn as the package draws it: of each drive ten vans on twenty days, with one timing,
today's law beside the one without what a fleet has in common.  The adversary is told who drives
together and averages, which is an upper bound of what other timings give; by himself he has to
find who does (``--vehicle``), among the vans of all drives in one release.

- **A known van** drove the same road on one day, and its true places are known: a driver who sells
  his log, or a parcel with its own tracker.
- **Known places**, four to a square kilometre around the drive, where a van was seen 20 times.

In both the noise of another van is conditioned on what is known (Gaussian, exactly), then followed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np
from scipy import linalg

from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks_data import Drive, beijing, drives
from voile.attack.trajectory.adversaries import FieldKnown, RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.fleets import follow_convoys
from voile.attack.trajectory.on_release import fastest_of
from voile.attack.trajectory.reports import FollowedReports, Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import DAY, Trips
from voile_geo.planar.noise import GaussianField, perturb
from voile_geo.planar.steps import Zones, gaussian_scale
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["LAWS", "Figures", "Fleets", "Given", "run"]

SEED, EPSILON, INTERVAL = 2034, 0.005, 30.0
FIRST, EVERY = 2, 5
"""Of the drives of ``trucks`` each fifth from the third on, none of which chose a parameter."""
MOST = int(os.environ.get("VOILE_BENCHMARK_DRIVES", "24"))
DRAWS = int(os.environ.get("VOILE_BENCHMARK_DRAWS", "2"))
VANS, DAYS = 10, 20
SOME = 4
"""Vans of a drive that are looked at one by one where ten of them cost too much."""
LAWS = {
    "shared": GaussianField(Zones([EPSILON]), period=3_650.0, shared=0.75),
    "own": GaussianField(Zones([EPSILON]), period=3_650.0),
}
"""Noise of which vans have .6 of the variance in common, and noise of each van's own.  Their period
is one that none of the days here leaves."""
DENSITY, VISITS, AROUND = 4e-6, 20, 1_500.0
"""Known places to a square metre, visits of each, and metres around the drive."""
DEPOT_VANS, DEPOTS = 20, 300
_DEPOT = (39.9, 116.4)
_RESAMPLED = 4_000


@dataclass(frozen=True, eq=False)
class Given:
    """True places of one van, and the noise that was seen there, averaged over visits."""

    place: Floats
    """Shape (k, 2), metres of the plane."""
    noise: Floats
    """Shape (k, 2), metres."""
    fresh: Floats
    """Shape (k, k): the covariance of what is fresh in it, in deviations."""

    def at(self, middle: Floats, noise: GaussianField) -> FieldKnown:
        """What it tells of the noise of another van of the fleet at s places, (s, 2)."""
        scale = gaussian_scale(EPSILON)
        own = noise.share * _kernel(self.place, self.place, noise.length) + self.fresh
        root = linalg.cholesky(own + 1e-6 * np.eye(len(own)), lower=True)
        common = noise.share * noise.shared * _kernel(self.place, middle, noise.length)
        half = linalg.solve_triangular(root, common, lower=True)
        mean = half.T @ linalg.solve_triangular(root, self.noise, lower=True)
        left = np.maximum(noise.share - (half * half).sum(axis=0), 0.0)
        return FieldKnown(mean, scale * np.sqrt(left))


def _kernel(one: Floats, other: Floats, length: float) -> Floats:
    far = np.hypot(one[:, :1] - other[:, 0], one[:, 1:] - other[:, 1])
    return np.asarray(np.exp(-far / length))


class Fleets:
    """Draws what fleets show, and follows it."""

    def __init__(self, roads: RoadNetwork, taken: Sequence[Drive]) -> None:
        self.roads, self.drives = roads, taken
        usual = RoadAdversary(roads)
        tracks = [(self._time(n), self.track(n)) for n in range(len(taken))]
        fastest = fastest_of(roads, usual.nearby, tracks, usual.movement.fastest)
        self.adversary = usual.supposing(replace(usual.movement, fastest=fastest))

    def track(self, number: int) -> Floats:
        """Where the vans of a drive report, (n, 2)."""
        drive = self.drives[number]
        return drive.track[drive.every(INTERVAL)]

    def road(self, number: int) -> Indices:
        """The true roads there."""
        drive = self.drives[number]
        return drive.road[drive.every(INTERVAL)]

    def _time(self, number: int) -> Floats:
        return np.arange(len(self.track(number))) * INTERVAL

    def shown(
        self, number: int, draw: int, noise: GaussianField, vans: Indices, days: int = DAYS
    ) -> Floats:
        """What vans of a drive show on each day, (vans, days, n, 2); the same for the same van."""
        track, time = self.track(number), self._time(number)
        day = np.tile(np.arange(days), len(vans))
        van = np.repeat(vans, days)
        reports = len(time)
        trips = Trips(
            *self.roads.to_degrees(np.tile(track, (len(van), 1))),
            (day[:, None] * DAY + time).ravel(),
            np.arange(len(van) + 1) * reports,
            ((number * 100 + van) * 100 + day).astype(np.uint64),
            vehicle=(number * 100 + van).astype(np.uint64),
            fleet=np.full(len(van), number, dtype=np.uint64),
        )
        moved = perturb(noise, trips, Randomness.seeded(SEED).key(f"fleets {draw}"))
        plane = self.roads.to_plane(moved.latitude, moved.longitude)
        return plane.reshape(len(vans), days, reports, 2)

    def sighted(self, number: int, shown: Floats) -> Sighted:
        """A trip of a drive, or the mean of several."""
        time = self._time(number)
        return Sighted(time, shown, np.full(len(time), EPSILON))

    def followed(
        self, number: int, shown: Floats, noise: GaussianField, known: FieldKnown | None = None
    ) -> RoadEstimate:
        """What he finds of a trip, or of a mean whose noise is ``known`` to be smaller."""
        moves = FollowedReports.of(self.sighted(number, shown), stays=True)
        law = self.adversary.staying(moves.sighted, noise, known)
        return self.adversary.follow(moves.sighted.time, law).for_all(moves)

    def averaged(self, number: int, shown: Floats, noise: GaussianField) -> RoadEstimate:
        """What he finds of the mean over vans and days, (vans, days, n, 2)."""
        vans, days = shown.shape[:2]
        stays = noise.share * (noise.shared + (1 - noise.shared) / vans)
        pieces = len(self.adversary.states)
        deviation = np.full(pieces, math.sqrt(stays) * gaussian_scale(EPSILON))
        known = FieldKnown(np.zeros((pieces, 2)), deviation, days=float(vans * days))
        return self.followed(number, shown.mean(axis=(0, 1)), noise, known)

    def log(self, number: int, shown: Floats, noise: GaussianField) -> Given:
        """What one van's trip (n, 2) tells whose true places are known."""
        track, time = self.track(number), self._time(number)
        moves = FollowedReports.of(self.sighted(number, shown), stays=True)
        at = np.flatnonzero(np.append(True, (np.diff(shown, axis=0) != 0).any(axis=1)))
        clock = time[at] if moves.sighted.driven is None else moves.sighted.driven
        fresh = (1 - noise.share) * np.exp(-np.abs(clock[:, None] - clock) / noise.tau)
        return Given(track[at], shown[at] - track[at], fresh)

    def places(self, number: int, draw: int, noise: GaussianField, van: int) -> Given:
        """What a van tells that was seen at places around a drive."""
        track = self.track(number)
        low, high = track.min(axis=0) - AROUND, track.max(axis=0) + AROUND
        chance = np.random.default_rng([SEED, number, draw])
        count = round(DENSITY * float(np.prod(high - low)))
        place = chance.uniform(low, high, (count, 2))
        visits = VISITS * count
        word = np.full(visits, number * 100 + van, dtype=np.uint64)
        trips = Trips(
            *self.roads.to_degrees(np.tile(place, (VISITS, 1))),
            np.arange(visits) * 600.0,
            np.arange(visits + 1),
            (10_000_000 + number * 100_000 + np.arange(visits)).astype(np.uint64),
            vehicle=word,
            fleet=np.full(visits, number, dtype=np.uint64),
        )
        moved = perturb(noise, trips, Randomness.seeded(SEED).key(f"fleets {draw}"))
        shown = self.roads.to_plane(moved.latitude, moved.longitude).reshape(VISITS, count, 2)
        fresh = (1 - noise.share) / VISITS * np.eye(count)
        return Given(place, shown.mean(axis=0) - place, fresh)


@dataclass(frozen=True, eq=False)
class Figures:
    """Of each drive, the mean over draws and vans, by law and case; (drives,)."""

    right: Mapping[tuple[str, str], Floats]
    error: Mapping[tuple[str, str], Floats]

    def mean(self, law: str, case: str, digits: int = 3) -> str:
        """Roads of a case, with the interval over drives."""
        return _interval(self.right[law, case], None, digits)[0]

    def metres(self, law: str, case: str) -> str:
        """The error of a case, in metres."""
        return _interval(self.error[law, case], None, 0)[0]

    def times(self, law: str, case: str) -> tuple[str, float, float]:
        """Roads of a case over those of one van on one day: text, value and upper end."""
        return _interval(self.right[law, case], self.right[law, "one van"], 2)

    def error_times(self, law: str, case: str) -> tuple[str, float, float]:
        """The error of a case over that of one van on one day."""
        return _interval(self.error[law, case], self.error[law, "one van"], 2)


def _interval(over: Floats, under: Floats | None, digits: int) -> tuple[str, float, float]:
    """A mean, or a ratio of means, with its bootstrap interval over drives, and the upper end."""
    under = np.ones(len(over)) if under is None else under
    chance = np.random.default_rng(SEED)
    which = chance.integers(0, len(over), (_RESAMPLED, len(over)))
    ratios = over[which].mean(axis=1) / under[which].mean(axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    value = float(over.mean() / under.mean())
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]", value, float(high)


def figures(fleets: Fleets, laws: Mapping[str, GaussianField], draws: int) -> Figures:
    """All cases that are told who drives together."""
    found: dict[tuple[str, str], list[list[tuple[float, float]]]] = {}
    for number in range(len(fleets.drives)):
        for law, noise in laws.items():
            of_drive: dict[str, list[tuple[float, float]]] = {}
            for draw in range(draws):
                for case, finding in _cases(fleets, number, draw, noise):
                    of_drive.setdefault(case, []).append(_judged(fleets, number, finding))
            for case, some in of_drive.items():
                found.setdefault((law, case), []).append(some)
    means = {of: np.array([np.mean(one, axis=0) for one in some]) for of, some in found.items()}
    return Figures(
        {of: one[:, 0] for of, one in means.items()}, {of: one[:, 1] for of, one in means.items()}
    )


def _judged(fleets: Fleets, number: int, finding: RoadEstimate) -> tuple[float, float]:
    away = np.hypot(*(finding.position - fleets.track(number)).T)
    return share_right(finding.road, fleets.road(number)), float(away.mean())


def _cases(
    fleets: Fleets, number: int, draw: int, noise: GaussianField
) -> Iterator[tuple[str, RoadEstimate]]:
    """Each finding of a drive, and the case that it is of."""
    shown = fleets.shown(number, draw, noise, np.arange(VANS))
    for van in range(VANS):
        yield "one van", fleets.followed(number, shown[van, 0], noise)
    for van in range(SOME):
        yield "one van, 20 days", fleets.averaged(number, shown[van : van + 1], noise)
    yield "ten vans", fleets.averaged(number, shown[:, :1], noise)
    yield "ten vans, 20 days", fleets.averaged(number, shown, noise)
    if not noise.shared:
        return
    middle = fleets.adversary.states.middle
    logged = fleets.log(number, shown[-1, 0], noise).at(middle, noise)
    seen = fleets.places(number, draw, noise, VANS).at(middle, noise)
    for van in range(SOME):
        yield "a known van on the road", fleets.followed(number, shown[van, 0], noise, logged)
        yield "known places", fleets.followed(number, shown[van, 0], noise, seen)


def by_himself(fleets: Fleets, noise: GaussianField, draws: int) -> tuple[Floats, Floats]:
    """Roads and error of ``--vehicle`` for each drive, of one release with the vans of all."""
    found = np.zeros((draws, len(fleets.drives), 2))
    for draw in range(draws):
        trips, vehicles = [], []
        for number in range(len(fleets.drives)):
            shown = fleets.shown(number, draw, noise, np.arange(VANS), 1)[:, 0]
            trips += [fleets.sighted(number, one) for one in shown]
            vehicles += [f"{number} {van}" for van in range(VANS)]
        made = follow_convoys(fleets.adversary, trips, vehicles, noise)
        for number in range(len(fleets.drives)):
            own = made[number * VANS : (number + 1) * VANS]
            judged = [_judged(fleets, number, one) for one in own]
            found[draw, number] = np.mean(judged, axis=0)
    return found.mean(axis=0)[:, 0], found.mean(axis=0)[:, 1]


def depot(noise: GaussianField) -> tuple[str, float, float]:
    """Error of the mean of the first reports of vans at one place, over that of one report."""
    count = DEPOTS * DEPOT_VANS
    each = np.arange(count, dtype=np.uint64)
    home = Trips(
        np.full(count, _DEPOT[0]),
        np.full(count, _DEPOT[1]),
        np.zeros(count),
        np.arange(count + 1),
        each,
        vehicle=each,
        fleet=each // np.uint64(DEPOT_VANS),
    )
    moved = perturb(noise, home, Randomness.seeded(SEED).key("depot"))
    metres = 111_195.0
    off = np.stack(
        ((moved.latitude - _DEPOT[0]) * metres,
         (moved.longitude - _DEPOT[1]) * metres * math.cos(math.radians(_DEPOT[0]))), axis=-1
    ).reshape(DEPOTS, DEPOT_VANS, 2)  # fmt: skip
    mean = np.hypot(*off.mean(axis=1).T)
    one = np.hypot(*off.transpose(2, 0, 1)).mean(axis=1)
    return _interval(mean, one, 2)


def per_place(noise: GaussianField, places: int = 4_000) -> float:
    """Processor microseconds that a table takes for a place."""
    chance = np.random.default_rng(SEED)
    latitude, longitude = (chance.uniform(at, at + 0.3, places) for at in _DEPOT)
    word = np.zeros(1, dtype=np.uint64)
    trips = Trips(
        latitude, longitude, np.arange(places) * 30.0, np.array([0, places]), word, vehicle=word
    )
    key = Randomness.seeded(SEED).key("speed")
    perturb(noise, trips, key)
    return min(_timed(lambda: perturb(noise, trips, key)) for _ in range(5)) / places * 1e6


def _timed(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def run() -> Measurement:
    """Follow the vans of the held-out drives, told and by himself, and look at a depot."""
    roads = beijing()
    taken = drives(roads)[FIRST::EVERY][:MOST]
    fleets = Fleets(roads, taken)
    found = figures(fleets, LAWS, DRAWS)
    alone = {law: by_himself(fleets, noise, DRAWS) for law, noise in LAWS.items()}
    right = {**found.right, **{(law, "--vehicle"): one[0] for law, one in alone.items()}}
    error = {**found.error, **{(law, "--vehicle"): one[1] for law, one in alone.items()}}
    people = len({one.user for one in taken})
    return _measurement(
        Figures(right, error),
        {law: depot(noise) for law, noise in LAWS.items()},
        {law: per_place(noise) for law, noise in LAWS.items()},
        f"{len(taken)} drives of {people} people (GeoLife, one of five of those of trucks) on "
        f"Beijing's roads for cars, {DRAWS} draws of each",
    )


_BARS = (
    ("ten vans", 1.20, 1.27),
    ("ten vans, 20 days", 1.25, math.inf),
    ("one van, 20 days", 1.15, math.inf),
    ("a known van on the road", 1.40, math.inf),
)


def _measurement(
    found: Figures,
    depots: Mapping[str, tuple[str, float, float]],
    speeds: Mapping[str, float],
    data: str,
) -> Measurement:
    targets = []
    for case, most, upper in _BARS:
        text, value, high = found.times("shared", case)
        must = f"at most {most:.2f}" + ("" if upper == math.inf else f", upper end {upper:.2f}")
        reached = value <= most and high <= upper
        targets.append(Target(f"right roads, {case}, over those of one van", must, text, reached))
    for case, least in (("a known van on the road", 0.5), ("known places", 0.7)):
        text, value, _ = found.error_times("shared", case)
        what = f"error, {case}, over that of one van"
        targets.append(Target(what, f"at least {least}", text, value >= least))
    text, value, _ = depots["shared"]
    what = f"error of the mean of {DEPOT_VANS} vans at a depot, over that of one report"
    targets.append(Target(what, "at least 0.75", text, value >= 0.75))
    by_self = found.right["own", "--vehicle"]
    what = "right roads that --vehicle finds of ten vans, each with noise of its own"
    got = found.mean("own", "--vehicle")
    targets.append(Target(what, "at least 0.65", got, bool(by_self.mean() >= 0.65)))
    got = f"{speeds['shared']:.0f}"
    what = "processor microseconds a place, two layers"
    targets.append(Target(what, "at most 130", got, speeds["shared"] <= 130))
    return Measurement(
        question="What do vans of one fleet tell of each other that share a road, a depot or many "
        "days, and what does one of them tell whose places are known?",
        data=data,
        seeds=f"{SEED}",
        protocol=f"gaussian-field, epsilon = {EPSILON:g}, a report every {INTERVAL:g} s; of the "
        "variance .8 stays with places, under 'shared' .6 for all vans of the drive and .2 for "
        "each, under 'own' all .8 for each.  Vans and days have one timing, and the adversary is "
        "told so; --vehicle is told nothing, and has the ten vans of all drives in one release. "
        f"Known places: {DENSITY * 1e6:g} to a square kilometre, {VISITS} visits each; the known "
        "van drove on one day. Figures for one van are means over ten vans of each drive, those "
        f"for one van on days and of who knows over {SOME}. Brackets: bootstrap over drives, 95 %",
        answer="Right roads: one van "
        + "; ten vans ".join(
            (found.mean("shared", "one van"), found.mean("shared", "ten vans"))
        )
        + f", {found.times('shared', 'ten vans')[0]} times; with noise of each van's own "
        f"{found.times('own', 'ten vans')[0]} times.",
        targets=targets,
        tables=[
            Table("What is found",
                  ("noise", "who", "right roads", "over one van", "error, m", "over one van"),
                  [[law, case, found.mean(law, case), found.times(law, case)[0],
                    found.metres(law, case), found.error_times(law, case)[0]]
                   for law, case in found.right]),
            Table("Vans at a depot, and time",
                  ("noise", f"error of the mean of {DEPOT_VANS} over one report",
                   "microseconds a place"),
                  [[law, depots[law][0], f"{speeds[law]:.0f}"] for law in depots]),
        ],
    )  # fmt: skip
