"""All trips of one vehicle at once: who learns its noise from everything that it showed.

What he does: follows each trip by itself (``RoadAdversary.informed``), then again given
what the other trips of the period tell, ``ROUNDS`` times.  Two things tell:

- **The field.**  Where noise stays with places, what a trip's reports say of the noise at their
  places is a Gaussian site for each report, its posterior over the prior that it was found with
  (expectation propagation).  The field given the sites of all other trips is a Gaussian process
  posterior; its mean and its deviation at each piece of road enter the distribution of the trip
  (``distributions.FieldBelief``).  True places that he knows are sites, too, with a receiver's
  error, and the trip's own ones count for it as well.
- **Habits.**  Roads on which the vehicle is believed to have been on other days are likelier for
  it: their traffic counts ``HABIT`` times more for each trip that is believed to be there.

Claim: none of optimality.  Sites are taken at the middle of what is believed, and errors of one
trip's reports are supposed to hang together over ``LASTING`` seconds; the field's correlation given
all sites is taken for its prior one.  So his figures are lower bounds of what can be found.  From
known places he learns a field well; from trips alone hardly: without ``DOUBT`` and with more rounds
he confirms his own errors, and finds less than trip by trip (7 drives of one person).

Cost: in each round an inference for each trip, and for r sites of other trips O(r^3) and O(r^2) for
each cell of a grid around the trip, a tenth of the length wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg, ndimage

from voile.attack.trajectory.adversaries import (
    FieldKnown,
    Known,
    RoadAdversary,
    RoadEstimate,
)
from voile.attack.trajectory.reports import STEP, FollowedReports, Sighted
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import GaussianField, LocationNoise
from voile_geo.planar.staying import DAY
from voile_geo.planar.steps import gaussian_scale
from voile_geo.roads.network import Indices

__all__ = ["HABIT", "ROUNDS", "Day", "follow_days"]

ROUNDS = 1
HABIT = 4.0
LASTING = 1_200.0
"""Seconds over which errors of what is believed of a trip's places hang together."""
DOUBT = 10.0
"""How many times the variance of a site is taken for what it comes out as: a path that is matched
to the wrong streets is surer of itself than it should be.  Known places are not doubted."""
_RECEIVER = 15.0
"""Metres: by what a known true place is off, per axis."""
_AROUND = 2_500.0
"""Metres around what is shown within which the field is looked up."""
_CELLS_TO_A_LENGTH = 10
_LEAST, _MOST = 1.0, 0.9
"""Square metres, and the share of the prior variance above which a report tells nothing."""
_MOST_SITES = 1_500
"""More of them are thinned; each costs."""


@dataclass(frozen=True, eq=False)
class Day:
    """One trip of the vehicle, and what he knows of it beforehand."""

    sighted: Sighted
    began: float = 0.0
    """Seconds since 1970."""
    known: Known = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Sites:
    """What r reports tell of the field, each at a place."""

    place: Floats
    """Shape (r, 2), metres of the plane."""
    value: Floats
    """Shape (r, 2), metres."""
    variance: Floats
    """Shape (r,): of the value around all noise there, per axis; the fresh part comes on top."""
    time: Floats
    """Shape (r,): seconds since 1970."""
    day: Indices
    """Shape (r,): of which trip."""
    period: Indices
    sure: Floats
    """Shape (r,): 1 where the place is known, and errors do not last."""

    @classmethod
    def joined(cls, some: Sequence[_Sites]) -> _Sites:
        """All of them in a row."""
        names = ("place", "value", "variance", "time", "day", "period", "sure")
        return cls(*(np.concatenate([getattr(one, name) for one in some]) for name in names))

    def chosen(self, which: Indices) -> _Sites:
        """Some of them."""
        names = ("place", "value", "variance", "time", "day", "period", "sure")
        return _Sites(*(getattr(self, name)[which] for name in names))


def follow_days(
    adversary: RoadAdversary,
    days: Sequence[Day],
    noise: LocationNoise,
    *,
    rounds: int = ROUNDS,
    habit: float = HABIT,
) -> list[RoadEstimate]:
    """Follow all trips of one vehicle together; a finding for each."""
    stays = isinstance(noise, GaussianField)
    moves = [FollowedReports.of(day.sighted, stays, STEP) for day in days]
    some = [
        Day(one.sighted, day.began, one.known(day.known))
        for one, day in zip(moves, days, strict=True)
    ]
    found = _together(adversary, some, noise, rounds, habit)
    return [finding.for_all(one) for one, finding in zip(moves, found, strict=True)]


def _together(
    adversary: RoadAdversary, days: Sequence[Day], noise: LocationNoise, rounds: int, habit: float
) -> list[RoadEstimate]:
    """The same of reports that are all followed, and at which trucks never stand."""
    found = [
        adversary.follow(day.sighted.time, adversary.distribution(day.sighted, noise), day.known)
        for day in days
    ]
    learner = _Learner(adversary, days, noise) if isinstance(noise, GaussianField) else None
    sites = [learner.sites(i, one, None) for i, one in enumerate(found)] if learner else []
    for _ in range(rounds):
        held = np.sum([_share(one) for one in found], axis=0)
        for i, day in enumerate(days):
            he = adversary
            if habit and len(days) > 1:
                he = adversary.more_on(1 + habit * (held - _share(found[i])))
            known = learner.known(i, sites) if learner else None
            distribution = he.distribution(day.sighted, noise) if known is None else None
            if known is not None:
                assert isinstance(noise, GaussianField)
                distribution = he.staying(day.sighted, noise, known)
            assert distribution is not None
            again = he.follow(day.sighted.time, distribution, day.known)
            held += _share(again) - _share(found[i])
            found[i] = replace(again, seconds=found[i].seconds + again.seconds)
            if learner is not None:
                sites[i] = learner.sites(i, again, known)
    return found


def _share(finding: RoadEstimate) -> Floats:
    """How surely a trip passed each piece of road, at most 1."""
    assert finding.held is not None
    return np.minimum(finding.held, 1.0)


class _Learner:
    """Learns the field of one vehicle."""

    def __init__(self, adversary: RoadAdversary, days: Sequence[Day], noise: GaussianField) -> None:
        self._adversary, self._days, self._noise = adversary, days, noise
        self._scale = gaussian_scale(float(noise.zones.epsilons()[0, 0]))
        self._prior = noise.share * self._scale**2
        self._fresh = (1 - noise.share) * self._scale**2
        self._told = [self._known_sites(i) for i in range(len(days))]

    def sites(self, day: int, finding: RoadEstimate, known: FieldKnown | None) -> _Sites:
        """What a trip tells: its posterior, over the prior with which it was found."""
        seen, spread = self._days[day].sighted, finding.spread
        assert spread is not None
        noise = seen.shown - finding.position
        mean, variance = np.zeros_like(noise), np.full(len(noise), self._prior)
        if known is not None:
            piece = self._nearest(finding.position)
            mean, variance = known.mean[piece], known.deviation[piece] ** 2
        variance = variance + self._fresh
        own = np.maximum(spread**2 + self._adversary.blur**2, _LEAST)
        tells = np.flatnonzero(own < _MOST * variance)
        own, mean, variance = own[tells], mean[tells], variance[tells]
        precision = 1 / own - 1 / variance
        value = (noise[tells] / own[:, None] - mean / variance[:, None]) / precision[:, None]
        unknown = ~np.isin(tells, list(self._days[day].known))
        tells, value, precision = tells[unknown], value[unknown], precision[unknown]
        return self._of(day, tells, finding.position[tells], value, DOUBT / precision, 0.0)

    def known(self, day: int, sites: Sequence[_Sites]) -> FieldKnown:
        """The field at each piece, given what all other trips tell and what he knows."""
        others = [*(one for i, one in enumerate(sites) if i != day), *self._told]
        seen = _Sites.joined(others)
        nothing = FieldKnown.nothing(len(self._adversary.states), self._noise, self._scale)
        period = self._period(self._days[day].began)
        which = np.flatnonzero(seen.period == period)
        shown = self._days[day].sighted.shown
        low, high = shown.min(axis=0) - _AROUND, shown.max(axis=0) + _AROUND
        near = 3 * self._noise.length
        inside = (seen.place[which] > low - near) & (seen.place[which] < high + near)
        which = which[inside.all(axis=1)]
        if not len(which):
            return nothing
        which = which[:: math.ceil(len(which) / _MOST_SITES)]
        return self._given(seen.chosen(which), low, high, nothing)

    def _given(self, seen: _Sites, low: Floats, high: Floats, nothing: FieldKnown) -> FieldKnown:
        """The posterior of a Gaussian process on a grid, looked up at each piece."""
        step = self._noise.length / _CELLS_TO_A_LENGTH
        count = np.ceil((high - low) / step).astype(np.int64) + 1
        sides = [low[axis] + np.arange(count[axis]) * step for axis in (0, 1)]
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
        root = linalg.cholesky(self._covariance(seen), lower=True)
        across = self._kernel(seen.place, grid)
        half = linalg.solve_triangular(root, across, lower=True)
        mean = half.T @ linalg.solve_triangular(root, seen.value, lower=True)
        variance = np.maximum(self._prior - (half * half).sum(axis=0), 0.0)
        middle = self._adversary.states.middle
        place = ((middle - low) / step).T
        inside = ((middle > low) & (middle < high)).all(axis=1)
        told = [*mean.T, variance]
        at = [
            ndimage.map_coordinates(one.reshape(count), place[:, inside], order=1) for one in told
        ]
        found, deviation = nothing.mean.copy(), nothing.deviation.copy()
        found[inside] = np.stack(at[:2], axis=1)
        deviation[inside] = np.sqrt(np.maximum(at[2], 0.0))
        return FieldKnown(found, deviation)

    def _covariance(self, seen: _Sites) -> Floats:
        """Of what sites tell: the field, and their errors, which last within a trip."""
        apart = np.abs(seen.time[:, None] - seen.time)
        same = seen.day[:, None] == seen.day
        fresh = self._fresh * np.exp(-apart / self._noise.tau) * same
        error = np.maximum(seen.variance, 0.0)
        unsure = np.sqrt(np.outer(error, error) * np.outer(1 - seen.sure, 1 - seen.sure))
        lasting = unsure * np.exp(-apart / LASTING) * same
        np.fill_diagonal(lasting, error + _LEAST)
        return np.asarray(self._kernel(seen.place, seen.place) + fresh + lasting)

    def _kernel(self, one: Floats, other: Floats) -> Floats:
        far = np.hypot(one[:, 0][:, None] - other[:, 0], one[:, 1][:, None] - other[:, 1])
        return np.asarray(self._prior * np.exp(-far / self._noise.length))

    def _known_sites(self, day: int) -> _Sites:
        known = self._days[day].known
        reports = np.array(sorted(known), dtype=np.int64)
        place = np.array([known[int(i)][0] for i in reports]).reshape(-1, 2)
        value = self._days[day].sighted.shown[reports] - place
        return self._of(day, reports, place, value, np.full(len(reports), _RECEIVER**2), 1.0)

    def _of(
        self,
        day: int,
        reports: Indices,
        place: Floats,
        value: Floats,
        variance: Floats,
        sure: float,
    ) -> _Sites:
        began, count = self._days[day].began, len(reports)
        time = began + self._days[day].sighted.time[reports]
        return _Sites(
            place,
            value,
            variance,
            time,
            np.full(count, day),
            np.full(count, self._period(began)),
            np.full(count, sure),
        )

    def _period(self, began: float) -> int:
        return math.floor(began / (self._noise.period * DAY))

    def _nearest(self, places: Floats) -> Indices:
        return self._adversary.states.nearest(places)
