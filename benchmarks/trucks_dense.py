"""Dense reports of noise that stays with places: what the package's own adversary finds of them.

The true tracks have a position every second, between fixes on the straight line.  Roads are judged
at those reports that a release of every 30 s has, too, by the roads of the benchmark ``trucks``;
no option of the attack is set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks_data import TRACKED, Drive, beijing, drives
from benchmarks.trucks_days import clustered
from voile.attack.trajectory.adversaries import RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.knowing import StrongestWays, TrackedTrip, attempts, doubts
from voile.attack.trajectory.on_release import fastest_of
from voile.attack.trajectory.reports import FollowedReports, Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import GaussianField, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.network import RoadNetwork

__all__ = ["run"]

SEED, EPSILON, SLOT = 2032, 0.005, 30
NOISE = GaussianField(Zones([EPSILON]))
FIRST, EVERY = 2, 5
"""Of the drives of ``trucks``, each fifth from the third on: others than ``trucks_fields`` has."""
MOST = int(os.environ.get("VOILE_BENCHMARK_DRIVES", "24"))


@dataclass(frozen=True, eq=False)
class Followed:
    """What came of all drives in one case."""

    right: Floats
    """Shape (drives,): of the reports every 30 s, on how many the road is right."""
    error: Floats
    """Shape (drives,): mean metres off, over all reports."""
    seconds: float
    """Of a processor, for a drive."""
    reasons: tuple[str, ...]
    """Why the figure is a lower bound."""


class _Judge:
    """Follows drives, and judges by their true roads."""

    def __init__(self, roads: RoadNetwork, taken: Sequence[Drive]) -> None:
        self._roads, self._drives = roads, taken
        usual = RoadAdversary(roads)
        tracks = [(np.arange(len(one.fine)) * 1.0, one.fine) for one in taken]
        fastest = fastest_of(roads, usual.nearby, tracks, usual.movement.fastest)
        self.adversary = usual.supposing(replace(usual.movement, fastest=fastest))
        self.people = np.array([one.user for one in taken])

    def sighted(self, number: int, every: int, held: bool = False) -> TrackedTrip:
        """What a release shows of a drive, each of its reports with the road that is true there."""
        drive = self._drives[number]
        fine = drive.fine[::every]
        word = np.array([number], dtype=np.uint64)
        time = np.arange(len(fine)) * float(every)
        latitude, longitude = self._roads.to_degrees(fine)
        trips = Trips(latitude, longitude, time, np.array([0, len(fine)]), word, vehicle=word)
        moved = perturb(NOISE, trips, Randomness.seeded(SEED).key("dense"))
        shown = self._roads.to_plane(moved.latitude, moved.longitude)
        if held:
            fine, at = drive.fine, np.arange(len(drive.fine)) // every
            time, shown = np.arange(len(fine)) * 1.0, shown[at]
        road = drive.road[np.minimum(np.rint(time / TRACKED).astype(int), len(drive.road) - 1)]
        epsilon = np.full(len(fine), EPSILON)
        return TrackedTrip(f"{number}", fine, road, Sighted(time, shown, epsilon), 0.0)

    def strongest(self, seen: Sequence[TrackedTrip]) -> Followed:
        """The adversary of the package."""
        started = process_time()
        best: StrongestWays = StrongestWays.choose(
            seen, [attempts(self.adversary, one.sighted, NOISE) for one in seen]
        )
        return self._judged(seen, best.findings, process_time() - started, best.reasons)

    def as_before(self, seen: Sequence[TrackedTrip]) -> Followed:
        """One who follows each report that moved, by the clock of the noise."""
        started, found = process_time(), []
        for one in seen:
            sighted = one.sighted
            moved = np.append(True, (np.diff(sighted.shown, axis=0) != 0).any(axis=1))
            steps = np.where(moved, np.diff(sighted.time, prepend=0.0), 0.0)
            some = replace(sighted.chosen(np.flatnonzero(moved)), time=np.cumsum(steps)[moved])
            law = self.adversary.staying(some, NOISE)
            place = np.cumsum(moved) - 1.0
            finding = self.adversary.follow(some.time, law)
            found.append(finding.for_all(FollowedReports(some, place)))
        return self._judged(seen, found, process_time() - started, ())

    def one_way(self, seen: Sequence[TrackedTrip], every: float) -> Followed:
        """One who follows reports so many seconds apart."""
        started = process_time()
        found = [self.adversary.informed(one.sighted, NOISE, every=every) for one in seen]
        return self._judged(seen, found, process_time() - started, ())

    def by_way(self, seen: Sequence[TrackedTrip]) -> Followed:
        """One who counts the steps of the odometer; of who shows none, by time."""
        started = process_time()
        found = [
            self.adversary.odometer(one.sighted, NOISE)
            or self.adversary.informed(one.sighted, NOISE)
            for one in seen
        ]
        return self._judged(seen, found, process_time() - started, ())

    def _judged(
        self,
        seen: Sequence[TrackedTrip],
        found: Sequence[RoadEstimate],
        seconds: float,
        more: Sequence[str],
    ) -> Followed:
        shown = [self.adversary.as_shown(one.sighted) for one in seen]
        right, error = [], []
        for one, finding in zip(seen, found, strict=True):
            slots = np.flatnonzero(one.sighted.time % SLOT == 0)
            right.append(share_right(finding.road[slots], one.road[slots]))
            error.append(float(np.hypot(*(finding.position - one.track).T).mean()))
        reasons = (*more, *doubts(seen, found, shown))
        return Followed(np.array(right), np.array(error), seconds / len(seen), reasons)


def run() -> Measurement:
    """Follow drives with reports every second, every other second, every 30 s, and held."""
    roads = beijing()
    taken = drives(roads)[FIRST::EVERY][:MOST]
    judge = _Judge(roads, taken)
    numbers = range(len(taken))
    seen = {
        "30 s": [judge.sighted(n, SLOT) for n in numbers],
        "1 s": [judge.sighted(n, 1) for n in numbers],
        "2 s": [judge.sighted(n, 2) for n in numbers],
        "30 s, held each second": [judge.sighted(n, SLOT, held=True) for n in numbers],
    }
    for one in seen.values():  # what is looked up of the map is looked up before it is timed
        judge.one_way(one, 10.0)
    found: dict[tuple[str, str], Followed] = {}
    for name, some in seen.items():
        found[name, "all reports, as before"] = judge.as_before(some)
        if name in {"1 s", "2 s"}:
            for every in (10.0, 30.0):
                found[name, f"every {every:g} s"] = judge.one_way(some, every)
            found[name, "by the way driven"] = judge.by_way(some)
        found[name, "the package"] = judge.strongest(some)
    people = len(np.unique(judge.people))
    return _measurement(found, judge, f"{len(taken)} drives of {people} people")


def _measurement(
    found: Mapping[tuple[str, str], Followed], judge: _Judge, data: str
) -> Measurement:
    people = judge.people
    base = found["30 s", "the package"]

    def mean(values: Floats, digits: int) -> str:
        value, width = clustered(values, people)
        return f"{value:.{digits}f} \u00b1 {width:.{digits}f}"

    ours = {name: one for (name, who), one in found.items() if who == "the package"}
    least = [
        Target(f"right roads, a report every {name}", "at least 0.5",
               mean(ours[name].right, 3), bool(ours[name].right.mean() >= 0.5))
        for name in ("1 s", "2 s")
    ]  # fmt: skip
    paired = [
        Target(f"right roads, {name}, less those of a report every 30 s", "at least -0.03",
               mean(ours[name].right - base.right, 3),
               bool((ours[name].right - base.right).mean() >= -0.03))
        for name in ours if name != "30 s"
    ]  # fmt: skip
    marks = [
        Target("a lower bound at 30 s", "not marked", "; ".join(base.reasons) or "not marked",
               not base.reasons),
        *(Target(f"a lower bound, {name}, all reports as before", "marked",
                 "; ".join(found[name, "all reports, as before"].reasons) or "not marked",
                 bool(found[name, "all reports, as before"].reasons))
          for name in ("1 s", "30 s, held each second")),
    ]  # fmt: skip
    times = [
        Target(f"processor time, {name}, over that of before", "at most 3",
               f"{ours[name].seconds / _before(found, name):.1f}",
               ours[name].seconds <= 3 * _before(found, name))
        for name in ours
    ]  # fmt: skip
    return Measurement(
        question="What does the informed adversary of the package find where reports are dense, "
        "beside a report every 30 s of the same drives, and is a figure marked that is too small?",
        data=f"{data} (GeoLife, one of five of those of trucks, others than in trucks_fields) on "
        "Beijing's roads for cars",
        seeds=f"{SEED}",
        protocol=f"gaussian-field as in voile_geo.planar.noise, epsilon = {EPSILON:g}, each "
        "drive a vehicle of its own. Roads at the reports that lie on whole 30 s; error over all "
        "reports. 95 % intervals add up the deviations of each person's drives (Student)",
        answer="; ".join(f"{name}: {mean(one.right, 3)} of the roads" for name, one in ours.items())
        + ".",
        targets=[*least, *paired, *marks, *times],
        tables=[
            Table("Who follows which reports",
                  ("release", "adversary", "right roads", "less 30 s", "error, m",
                   "seconds a drive", "a lower bound, because"),
                  [[name, who, mean(one.right, 3), mean(one.right - base.right, 3),
                    mean(one.error, 0), f"{one.seconds:.2f}", "; ".join(one.reasons)]
                   for (name, who), one in found.items()]),
        ],
    )  # fmt: skip


def _before(found: Mapping[tuple[str, str], Followed], name: str) -> float:
    """Processor seconds a drive of the adversary who follows all reports as they come."""
    return found[name, "all reports, as before"].seconds
