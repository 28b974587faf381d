"""The informed adversary in several ways, the strongest of which counts; and what bounds he finds.

He follows the reports that are ``APART`` seconds apart at least, each of these in turn, and where
dense reports show how far a truck has driven, he follows it by that.  Which way is strongest is
chosen by the other half of the trips, so that the choice does not flatter the figure: odd trips
choose for even ones, and the reverse.  Of fewer than ``FEWEST`` trips all choose for all.

What he finds is a lower bound of what can be found where one of these holds:

- reports that are all followed find less than fewer of them, beyond the interval of the paired
  difference over trips: more evidence does not hurt who weighs it rightly;
- his squared error is more than ``SURER`` times what he expects himself, over all trips;
- he is off by ``USELESS`` times what the published positions are off by, or more;
- he lost trucks, or looked for them less far than they drove;
- reports were left out: those beyond a limit, or between the ones that he followed.

On 24 drives with a report every second an adversary without these ways found .12 of the roads, was
off by more than what is published, and lost no report: the second and the third condition see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from voile.attack.outcome import Estimate
from voile.attack.trajectory.adversaries import RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.knowing import TrackedTrip
from voile.attack.trajectory.reports import STEP, FollowedReports, Sighted
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise

__all__ = [
    "APART",
    "FEWEST",
    "SURER",
    "USELESS",
    "Strongest",
    "Tried",
    "attempts",
    "doubts",
    "strongest_of",
]

APART = (STEP, 30.0)
"""Seconds; 20 and 60 s besides took twice the time, and were never the strongest on 12 drives."""
FEWEST = 4
SURER, USELESS = 2.0, 0.9
_ODOMETER = "by the way driven"


@dataclass(frozen=True, eq=False)
class Tried:
    """What he finds of a trip in each way."""

    findings: Mapping[str, RoadEstimate]
    """One for several ways where they follow the same reports."""
    followed: Mapping[str, int]
    """How many reports each way weighs."""
    informative: int
    """How many reports tell something: not those at which a truck stands, or is held."""


def attempts(adversary: RoadAdversary, sighted: Sighted, noise: LocationNoise) -> Tried:
    """What he finds of a trip in each way."""
    stays = isinstance(noise, GaussianField)
    # What is drawn afresh for each report tells something with each, however near it is.
    afresh = not isinstance(noise, GaussianField | CorrelatedGaussian)
    found: dict[str, RoadEstimate] = {}
    followed: dict[str, int] = {}
    by_reports: dict[int, RoadEstimate] = {}
    for every in (*((0.0,) if afresh else ()), *APART):
        name = f"every {every:g} s" if every else "all"
        followed[name] = reports = len(FollowedReports.of(sighted, stays, every).sighted.time)
        if reports not in by_reports:
            by_reports[reports] = _lighter(adversary.informed(sighted, noise, every=every))
        found[name] = by_reports[reports]
    informative = len(FollowedReports.of(sighted, stays).sighted.time)
    by_way = adversary.odometer(sighted, noise)
    first = f"every {STEP:g} s"
    found[_ODOMETER] = found[first] if by_way is None else _lighter(by_way)
    # By the way every step of the odometer counts.
    followed[_ODOMETER] = followed[first] if by_way is None else informative
    return Tried(found, followed, informative)


def _lighter(finding: RoadEstimate) -> RoadEstimate:
    """Without what counts for habits alone, and is as large as the map."""
    return replace(finding, held=None, belief=None)


@dataclass(frozen=True, eq=False)
class Strongest:
    """What counts for each of several trips."""

    findings: Sequence[RoadEstimate]
    """With the processor time of all ways."""
    ways: Sequence[str]
    """Of these, which was followed, of each trip."""
    reasons: tuple[str, ...] = ()
    """Why the ways themselves show that a better adversary finds more."""

    @property
    def notes(self) -> Iterator[str]:
        """Which way counts."""
        names = sorted(set(self.ways))
        chosen = "by all trips" if len(self.ways) < FEWEST else "by the other half of the trips"
        yield (
            f"informed followed reports {' or '.join(names)}, the strongest of several ways, "
            f"chosen {chosen}"
        )


def strongest_of(seen: Sequence[TrackedTrip], tried: Sequence[Tried]) -> Strongest:
    """The strongest way for each trip, chosen by the roads that it finds of other trips."""
    names = list(tried[0].findings)
    right = np.array(
        [
            [share_right(made.findings[name].road, one.road) for name in names]
            for one, made in zip(seen, tried, strict=True)
        ]
    )
    half = np.arange(len(seen)) % 2
    ways = []
    for own in half:
        others = right if len(seen) < FEWEST else right[half != own]
        ways.append(names[int(others.mean(axis=0).argmax())])
    findings = [
        replace(made.findings[way], seconds=sum(one.seconds for one in set(made.findings.values())))
        for made, way in zip(tried, ways, strict=True)
    ]
    return Strongest(findings, ways, (*_outdone(names, right), *_left_out(seen, tried, ways)))


def _outdone(names: Sequence[str], right: Floats) -> Iterator[str]:
    """Where reports show more than those that are nearer together."""
    thinned = [i for i, name in enumerate(names) if name != _ODOMETER]
    if len(right) < FEWEST:
        return
    for more, fewer in combinations(thinned, 2):
        gained = right[:, fewer] - right[:, more]
        if gained.any() and Estimate.of_units(gained.tolist()).low > 0:
            yield f"it finds more roads from reports {names[fewer]} than {names[more]}"
            return


def _left_out(
    seen: Sequence[TrackedTrip], tried: Sequence[Tried], ways: Sequence[str]
) -> Iterator[str]:
    """Where most reports that tell something were not weighed."""
    left = sum(
        one.followed[way] < one.informative / 2 for one, way in zip(tried, ways, strict=True)
    )
    if left:
        trips = f"{left:,} of {len(seen):,} trips"
        yield f"of the dense reports of {trips} it followed only some"


def doubts(
    seen: Sequence[TrackedTrip], findings: Sequence[RoadEstimate], shown: Sequence[RoadEstimate]
) -> Iterator[str]:
    """Why findings on the map are of one who errs; ``shown`` takes what is published for true."""
    true = [one.track for one in seen]
    square, expected = 0.0, 0.0
    off, raw = [], []
    for track, finding, plain in zip(true, findings, shown, strict=True):
        away = np.hypot(*(finding.position - track).T)
        off.append(away.mean())
        raw.append(np.hypot(*(plain.position - track).T).mean())
        if finding.spread is not None:
            square += float((away**2).sum())
            expected += float((2 * finding.spread**2).sum())
    if square > SURER * expected:
        yield f"his squared error is {square / expected:.1f} times what he expects"
    if np.mean(off) >= USELESS * np.mean(raw):
        yield (f"he is {np.mean(off):,.0f} m off, and what is published only {np.mean(raw):,.0f} m")
