"""What a single trip tells, at the same error of arrival for who filters what is published.

Who waits for a truck need not take each position as it stands: he may take a Kalman filter of the
reports so far.  So noise is compared at equal error after the best of some filters: epsilon of
noise that stays with places is chosen so that who waits is off as long as under the default, and
the informed adversary follows both.  The filters take noise for independent from report to report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.record import Measurement, Table, Target
from benchmarks.trucks_attacks import USUAL, learned_elsewhere, trip_of
from benchmarks.trucks_data import Drive, beijing, drives
from benchmarks.trucks_days import clustered
from benchmarks.trucks_staying import DEFAULT, EPSILON, INTERVAL, STAYING
from voile.attack.trajectory.adversaries import RoadAdversary, share_right, smoother
from voile.attack.trajectory.reports import Sighted
from voile.utility.trips import ConstantSpeed, arrival_errors
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import LocationNoise, perturb
from voile_geo.planar.steps import gaussian_scale
from voile_geo.planar.zones import Zones
from voile_geo.roads.network import RoadNetwork

__all__ = ["Published", "filtered", "run"]

SEED, EVERY, DRAWS = 2034, 3, 3
"""One drive of so many is followed; and how often noise is drawn for errors of arrival."""
ACCELERATIONS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""m/s^1.5: filters that are tried, beside none."""


@dataclass(frozen=True)
class Published:
    """Drives under one noise."""

    roads: RoadNetwork
    noise: LocationNoise
    epsilon: float

    @classmethod
    def of(cls, roads: RoadNetwork, noise: LocationNoise, epsilon: float) -> Published:
        """Noise of the same kind at another epsilon."""
        return cls(roads, replace(noise, zones=Zones([epsilon])), epsilon)

    def shown(self, drive: Drive, number: int, draw: int = 0) -> Floats:
        """What is published of a drive, in the plane."""
        key = Randomness.seeded(SEED + draw).key(f"drive {number}")
        trip = trip_of(self.roads, drive.track[drive.every(INTERVAL)], INTERVAL, number)
        moved = perturb(self.noise, trip, key)
        return self.roads.to_plane(moved.latitude, moved.longitude)

    def minutes(self, taken: Sequence[Drive]) -> dict[float, float]:
        """Mean error of arrival by the filter's acceleration; infinite for none."""
        errors: dict[float, list[float]] = {}
        for number, drive in enumerate(taken):
            track = drive.track[drive.every(INTERVAL)]
            true = self.roads.to_degrees(track)
            end = ConstantSpeed((float(true[0][-1]), float(true[1][-1])))
            for draw in range(DRAWS):
                shown = self.shown(drive, number, draw)
                for acceleration in (*ACCELERATIONS, np.inf):
                    seen = filtered(shown, gaussian_scale(self.epsilon), acceleration)
                    off = arrival_errors(end, true, self.roads.to_degrees(seen))
                    errors.setdefault(acceleration, []).append(float(np.abs(off).mean() / 60))
        return {acceleration: float(np.mean(each)) for acceleration, each in errors.items()}

    def right(self, adversary: RoadAdversary, drive: Drive, number: int) -> float:
        """The share of right roads that the informed adversary finds."""
        shown = self.shown(drive, number)
        seen = Sighted(np.arange(len(shown)) * INTERVAL, shown, np.full(len(shown), self.epsilon))
        found = adversary.informed(seen, self.noise)
        return share_right(found.road, drive.road[drive.every(INTERVAL)])


def filtered(shown: Floats, deviation: float, acceleration: float) -> Floats:
    """Where a truck is at each report (n, 2), by the reports so far: the last smoothed position."""
    if acceleration == np.inf:
        return shown
    time, deviations = np.arange(len(shown)) * INTERVAL, np.full(len(shown), deviation)
    return np.array([
        smoother(time[:i], shown[:i], deviations[:i], acceleration)[-1]
        for i in range(1, len(shown) + 1)
    ])  # fmt: skip


def run() -> Measurement:
    """Match noise that stays to the default by the error of arrival, and follow both."""
    roads = beijing()
    taken = drives(roads)
    half, halves = learned_elsewhere(roads, taken)
    anybody = RoadAdversary(roads, piece=USUAL)
    adversaries = [anybody.supposing(movement) for movement in halves]
    numbers = range(0, len(taken), EVERY)
    some = [taken[n] for n in numbers]
    before, same = (Published.of(roads, noise, EPSILON) for noise in (DEFAULT, STAYING))
    minutes = {"default": before.minutes(some), "stays": same.minutes(some)}
    best = {name: min(each.values()) for name, each in minutes.items()}
    # Errors grow as 1 / epsilon where noise is large beside what a filter gets wrong of driving.
    equal = Published.of(roads, STAYING, EPSILON * best["stays"] / best["default"])
    minutes["stays, matched"] = equal.minutes(some)
    sides = {"default": before, "stays": same, "stays, matched": equal}
    right = {
        name: np.array([side.right(adversaries[half[taken[n].user]], taken[n], n) for n in numbers])
        for name, side in sides.items()
    }
    return _measurement(sides, minutes, right, np.array([drive.user for drive in some]))


def _measurement(
    sides: dict[str, Published],
    minutes: dict[str, dict[float, float]],
    right: dict[str, Floats],
    people: np.ndarray,
) -> Measurement:
    more, width = clustered(right["stays, matched"] - right["default"], people)
    best = {name: min(each.values()) for name, each in minutes.items()}
    names = {"default": "default", "stays": "stays", "stays, matched": "stays, equal error"}
    return Measurement(
        question="Does noise that stays with places show more of a single trip than the default, "
        "where both cost who waits the same error of arrival after the best filter?",
        data=f"{len(people)} drives of {len(set(people.tolist()))} people (GeoLife, one of "
        f"{EVERY} of those of trucks) on Beijing's roads for cars",
        seeds=f"{SEED}",
        protocol=f"a report every {INTERVAL:g} s; the default is correlated Gaussian noise with "
        "tau = 120 s, the other has .8 of its noise in a field with a length of 700 m. Arrival on "
        "the line at 50 km/h, from the Kalman filter of the reports so far with the best of "
        f"{len(ACCELERATIONS)} accelerations or from the reports as they stand, {DRAWS} draws a "
        "drive. Right roads of the informed adversary; 95 % intervals that add up the deviations "
        "of each person's drives (Student), of paired differences",
        answer=f"At {best['default']:.2f} and {best['stays, matched']:.2f} minutes it shows "
        f"{more:+.3f} ± {width:.3f} of the roads.",
        targets=[
            Target("errors of arrival that are compared", "within 3 %",
                   f"{best['stays, matched'] / best['default']:.3f}",
                   abs(best["stays, matched"] / best["default"] - 1) <= 0.03),
            Target("right roads of a single trip, more than under the default",
                   "not beyond the interval", f"{more:.3f} ± {width:.3f}", more <= width),
        ],
        tables=[
            Table("By noise",
                  ("noise", "epsilon", "error of arrival, as it stands, min", "filtered, min",
                   "right roads"),
                  [[names[name], f"{side.epsilon:.5f}", f"{minutes[name][np.inf]:.3f}",
                    f"{best[name]:.3f}", "{:.3f} ± {:.3f}".format(*clustered(right[name], people))]
                   for name, side in sides.items()]),
        ],
    )  # fmt: skip
