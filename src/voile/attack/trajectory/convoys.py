"""Trips that share a route and its timing, of one vehicle or of many: who averages over them.

What he does: finds trips in which all reports at the same time after the first one are about as far
apart as noise alone puts them, takes the mean of what is shown, and follows it (a convoy).

Two trips at the same places differ by the noise of each that they have not in common.  For noise
that stays with places that is the vehicles' own part and the fresh one; for other noise all of it.
Trips are held for one route where the mean squared difference per axis is at most ``LIKELY`` times
what noise alone makes of it on average, over at least ``SHARED`` of the longer trip's reports.
Clusters are grown from the trip with most partners, which each member must resemble.

Claim: none of optimality.  He errs where routes are nearer together than the noise, and does not
find trips that share a part of their way, or drive it at another speed.

Cost: t^2 n for t trips of n reports, and an inference for each convoy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.attack.trajectory.adversaries import FieldKnown, Finding, RoadAdversary
from voile.attack.trajectory.reports import STEP, FollowedReports, Sighted
from voile.dp.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise
from voile.dp.planar.steps import gaussian_scale
from voile.geodesy import Floats
from voile.roads.network import Indices

__all__ = ["LIKELY", "SHARED", "convoys", "follow_convoys"]

LIKELY, SHARED = 1.7, 0.75
_SLOT = 30.0
"""Seconds between the places by which trips are compared."""


def follow_convoys(
    adversary: RoadAdversary,
    trips: Sequence[Sighted],
    vehicles: Sequence[str],
    noise: LocationNoise,
) -> list[Finding]:
    """Follow each trip by the mean of all that share its route; alone where none do.

    ``vehicles`` says which trips are of one vehicle: their noise has more in common.
    """
    found: list[Finding | None] = [None] * len(trips)
    for members in convoys(trips, noise):
        if len(members) == 1:
            continue
        longest = max(members, key=lambda i: len(trips[i].time))
        mean = _mean_of([trips[i] for i in members], trips[longest])
        of_vehicle = list(Counter(vehicles[i] for i in members).values())
        finding = _followed(adversary, mean, noise, of_vehicle)
        for i in members:
            found[i] = _at_times(finding, mean.time, trips[i])
    return [
        adversary.informed(one, noise) if made is None else made
        for one, made in zip(trips, found, strict=True)
    ]


def convoys(trips: Sequence[Sighted], noise: LocationNoise) -> list[list[int]]:
    """Trips by route and timing, each in one group."""
    places = [_each_slot(one) for one in trips]
    alike = np.array([[_alike(one, other, noise) for other in places] for one in places])
    left = np.ones(len(trips), dtype=np.bool_)
    groups = []
    while left.any():
        partners = np.where(left, (alike & left).sum(axis=1), -1)
        group = np.flatnonzero(alike[int(partners.argmax())] & left)
        groups.append(group.tolist())
        left[group] = False
    return groups


def _each_slot(sighted: Sighted) -> Floats:
    """What is shown at whole slots after the first report, (m, 2)."""
    since = sighted.time - sighted.time[0]
    slots = np.arange(0.0, since[-1] + 1e-6, _SLOT)
    return sighted.shown[_last_until(since, slots)]


def _last_until(time: Floats, wanted: Floats) -> Indices:
    """The last of ascending times that is not after each wanted one."""
    found: NDArray[np.int64] = np.searchsorted(time, wanted + 1e-6, side="right") - 1
    return np.maximum(found, 0)


def _alike(one: Floats, other: Floats, noise: LocationNoise) -> bool:
    """Whether two trips are held for one route."""
    common = min(len(one), len(other))
    if common < SHARED * max(len(one), len(other)):
        return False
    apart = ((one[:common] - other[:common]) ** 2).mean()
    return bool(apart <= LIKELY * 2 * _own(noise))


def _own(noise: LocationNoise) -> float:
    """The variance per axis of noise that two vehicles have not in common, in square metres."""
    epsilon = float(noise.zones.epsilons().min())
    if isinstance(noise, GaussianField):
        return (1 - noise.share * noise.shared) * gaussian_scale(epsilon) ** 2
    if isinstance(noise, CorrelatedGaussian):
        return gaussian_scale(epsilon) ** 2
    return 3 / epsilon**2


def _mean_of(trips: Sequence[Sighted], longest: Sighted) -> Sighted:
    """The mean of what is shown at the times of the longest trip, by who still reports."""
    since = longest.time - longest.time[0]
    total, count = np.zeros((len(since), 2)), np.zeros(len(since))
    for one in trips:
        own = one.time - one.time[0]
        there = since <= own[-1] + 1e-6
        total[there] += one.shown[_last_until(own, since[there])]
        count += there
    return Sighted(since, total / count[:, np.newaxis], longest.epsilon)


def _followed(
    adversary: RoadAdversary, mean: Sighted, noise: LocationNoise, of_vehicle: Sequence[int]
) -> Finding:
    """What he finds of the mean of trips, of which each vehicle has so many."""
    count = sum(of_vehicle)
    if not isinstance(noise, GaussianField):
        # The mean of n has the spread of noise of an epsilon that is larger by their root.
        return adversary.informed(replace(mean, epsilon=mean.epsilon * math.sqrt(count)), noise)
    some = FollowedReports.of(mean, stays=True, every=STEP)
    scale = gaussian_scale(float(mean.epsilon[0]))
    own = sum((one / count) ** 2 for one in of_vehicle)
    stays = noise.share * (noise.shared + (1 - noise.shared) * own)
    pieces = len(adversary.states)
    deviation = np.full(pieces, math.sqrt(stays) * scale)
    known = FieldKnown(np.zeros((pieces, 2)), deviation, days=float(count))
    law = adversary.staying(some.sighted, noise, known)
    return adversary.follow(some.sighted.time, law).for_all(some)


def _at_times(finding: Finding, time: Floats, trip: Sighted) -> Finding:
    """What was found at some times, at those of a trip; the time it took falls to no trip."""
    at = _last_until(time, trip.time - trip.time[0])
    spread = None if finding.spread is None else finding.spread[at]
    return replace(finding, position=finding.position[at], road=finding.road[at], spread=spread)
