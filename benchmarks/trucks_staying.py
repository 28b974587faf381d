"""What adversaries find of drives whose noise stays with places: days, known places, standing.

All noise here is drawn as the package draws it, and followed as ``voile attack`` does; drives, map
and what he learned of movements are those of ``trucks``.

- **Days, the same timing**: the same true drive on m days.  Given the positions, the mean of the
  reports of all days has the law of one day with an m-th of the fresh variance, so he follows the
  mean; he is told how days correspond.
- **Days, shifted**: the drive begins 0, 10 or 20 s later, by turns.  He is told by how much, and
  follows the reports of all days in one row, every 10 s: those of one shift as their mean, and
  neighbours in the row as having nothing fresh in common.
- **Known places**: on other days he saw the truck at places of its way, and knows where they are:
  a recipient's door, or those of five who collude.  What he finds then is compared with what he
  finds without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.trucks_attacks import trip_of
from benchmarks.trucks_data import TRACKED, Drive
from voile.attack.trajectory.adversaries import FieldKnown, RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.fleets import Day, follow_days
from voile.attack.trajectory.reports import FollowedReports, Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.field import DAY
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise, perturb
from voile_geo.planar.steps import Zones, gaussian_scale
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = [
    "DAYS",
    "DEFAULT",
    "EPSILON",
    "INTERVAL",
    "LONGER",
    "NEAR",
    "SEED",
    "STAYING",
    "Case",
    "Found",
    "look",
]

SEED, EPSILON, INTERVAL, DAYS = 2028, 0.005, 30.0, 20
DEFAULT = CorrelatedGaussian(Zones([EPSILON]))
STAYING = GaussianField(Zones([EPSILON]), period=3_650.0)
"""A period that none of the days here leaves."""
LONGER = replace(STAYING, length=1_000.0)
SHIFTS = 3
"""Of 10 s each."""
NEAR = 1_000.0
"""Metres around a known place."""


@dataclass(frozen=True)
class Case:
    """What is published, and what he has of it."""

    noise: str
    days: int = 1
    shifted: bool = False
    places: int = 0
    """Of how many places on the way he knows the noise, from other days."""
    visits: int = 1
    """On how many days he saw it there."""
    stop: int = 0
    """How many reports more it stands in the middle of the drive."""


@dataclass(frozen=True)
class Found:
    """What came out for one drive."""

    case: Case
    drive: int
    error: float
    """Mean metres between the estimate and the truth."""
    right: float
    near: float
    """The mean error within ``NEAR`` of the middle of the drive, that itself left out."""
    middle: float
    """The error in the middle, over all reports there."""


def look(
    adversary: RoadAdversary, roads: RoadNetwork, drive: Drive, number: int, case: Case,
    noises: dict[str, LocationNoise],
) -> Found:  # fmt: skip
    """One drive in one case."""
    noise, key = noises[case.noise], Randomness.seeded(SEED).key(f"drive {number}")
    every = drive.every(TRACKED if case.shifted else INTERVAL)
    track, road = drive.track[every], drive.road[every]
    if case.stop:
        stands = np.full(case.stop, known_spots(len(track), 1)[0])
        track, road = (np.insert(one, stands, one[stands], axis=0) for one in (track, road))
    spots = known_spots(len(drive.track[drive.every(INTERVAL)]), case.places)
    if case.shifted:
        finding = _shifted(adversary, roads, track, noise, key, case.days)
        finding = _thinned(finding, SHIFTS)
        track, road = track[::SHIFTS], road[::SHIFTS]
    elif case.places:
        finding = _with_places(adversary, roads, track, noise, key, spots, case.visits)
    else:
        finding = _same_timing(adversary, roads, track, noise, key, case.days)
    away = np.hypot(*(finding.position - track).T)
    middle = known_spots(len(track), 1)[0]
    near = np.hypot(*(track - track[middle]).T) < NEAR
    here = (track == track[middle]).all(axis=1)
    near &= ~here
    return Found(
        case,
        number,
        float(away.mean()),
        share_right(finding.road, road),
        float(away[near].mean()) if near.any() else float("nan"),
        float(away[here].mean()),
    )


def known_spots(reports: int, count: int) -> Indices:
    """Which reports of a drive are at known places: the middle, or evenly spread."""
    return np.rint((np.arange(count) + 0.5) / max(count, 1) * (reports - 1)).astype(np.int64)


def _shown(
    roads: RoadNetwork, track: Floats, noise: LocationNoise, key, day: int, interval: float
) -> Floats:  # fmt: skip
    """What one day shows of a way, in the plane."""
    trip = trip_of(roads, track, interval, day)
    trip = replace(trip, time=trip.time + day * DAY, vehicle=np.zeros(1, np.uint64))
    moved = perturb(noise, trip, key)
    return roads.to_plane(moved.latitude, moved.longitude)


def _same_timing(adversary, roads, track, noise, key, days: int) -> RoadEstimate:
    shown = [_shown(roads, track, noise, key, day, INTERVAL) for day in range(days)]
    time = np.arange(len(track)) * INTERVAL
    seen = Sighted(time, np.mean(shown, axis=0), np.full(len(track), EPSILON))
    if isinstance(noise, GaussianField):
        moves, known = FollowedReports.of(seen, stays=True), _nothing(adversary, noise, days)
        law = adversary.staying(moves.sighted, noise, known)
        return adversary.follow(moves.sighted.time, law).for_all(moves)
    return adversary.informed(replace(seen, epsilon=seen.epsilon * days**0.5), noise)


def _nothing(adversary: RoadAdversary, noise: GaussianField, days: float) -> FieldKnown:
    nothing = FieldKnown.nothing(len(adversary.states), noise, gaussian_scale(EPSILON))
    return replace(nothing, days=days)


def _shifted(adversary, roads, track, noise, key, days: int) -> RoadEstimate:
    """Reports of days that begin later by turns, in one row of the finest time."""
    shown = np.empty_like(track)
    for shift in range(SHIFTS):
        some = [
            _shown(roads, track[shift::SHIFTS], noise, key, day, INTERVAL)
            for day in range(days)
            if day % SHIFTS == shift
        ]
        shown[shift::SHIFTS] = np.mean(some, axis=0)
    time, each = np.arange(len(track)) * TRACKED, days / SHIFTS
    seen = Sighted(time, shown, np.full(len(track), EPSILON))
    if isinstance(noise, GaussianField):
        law = adversary.staying(seen, noise, _nothing(adversary, noise, each))
        law = replace(law, kept=np.zeros(len(track)))
        return adversary.follow(time, law)
    seen = replace(seen, epsilon=seen.epsilon * each**0.5)
    law = replace(adversary.distribution(seen, noise), kept=np.zeros(len(track)))
    return adversary.follow(time, law)


def _thinned(finding: RoadEstimate, step: int) -> RoadEstimate:
    return replace(finding, position=finding.position[::step], road=finding.road[::step])


def _with_places(adversary, roads, track, noise, key, spots: Indices, visits: int) -> RoadEstimate:
    """One day's trip, and visits of places on other days, at which he knows the truck to be."""
    time = np.arange(len(track)) * INTERVAL
    seen = Sighted(
        time, _shown(roads, track, noise, key, 0, INTERVAL), np.full(len(track), EPSILON)
    )
    days = [Day(seen)]
    for visit in range(visits):
        for spot in spots:
            day = 1 + visit * len(spots) + len(days)
            at = _shown(roads, track[spot : spot + 1], noise, key, day, INTERVAL)
            one = Sighted(np.zeros(1), at, np.full(1, EPSILON))
            days.append(Day(one, day * DAY, {0: (track[spot], None)}))
    return follow_days(adversary, days, noise, rounds=1, habit=0.0)[0]
