"""What an adversary knows beside the reports of a trip, and what that adds to what he finds.

    ends      where each trip starts, or ends, or where it stops: the place and the road
    places    public depots, and the doors of recipients who collude: he knows when a truck is there
    vehicle   which trips are of one vehicle: all of its days at once (``fleets``), and trips of any
              vehicle that share a route, by their mean (``convoys``)

Each is tried by itself, and all of them together, so that a table shows what each adds.

The informed adversary in several ways, the strongest of which counts; and what bounds he finds.

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

How trucks move, as a file says it: the adversary's model of movement for other vehicles.

# movement.toml; every key may be left out
usual     = 10.0     # m/s, of a truck that moves
deviation = 6.0      # m/s
memory    = 120.0    # seconds in which the correlation of speeds falls to 1 / e
fastest   = 28.0     # m/s: no truck is faster
standing  = 0.08     # the probability of standing still from one report to the next
stop      = 35.0     # seconds in which the correlation of standing falls to 1 / e

[traffic]            # how much is driven on a metre of road of each class; others count 1
motorway = 4.0
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from voile.attack.protocol import Estimate
from voile.attack.trajectory.adversaries import RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.inference import TRAFFIC, Movement
from voile.attack.trajectory.reports import STEP, FollowedReports, Sighted
from voile.table.reading import read_frame
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.values.value import Real, Value, read
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise
from voile_geo.roads.network import Indices

__all__ = [
    "APART",
    "ENDS",
    "FEWEST",
    "SURER",
    "USELESS",
    "StrongestWays",
    "TrackedTrip",
    "TripKnowledge",
    "attempts",
    "doubts",
    "read_movement",
    "read_places",
]


ENDS = ("start", "destination", "stops")


@dataclass(frozen=True, eq=False)
class TripKnowledge:
    """What he knows; raises ``InputError`` for ends that there are not."""

    ends: tuple[str, ...] = ()
    """Of each trip, which of ``ENDS``."""
    places: Floats | None = None
    """Shape (k, 2): latitude and longitude of places at which he sees trucks."""
    vehicle: str | None = None
    """The column of the original that tells vehicles apart."""

    def __post_init__(self) -> None:
        for end in self.ends:
            if end not in ENDS:
                msg = f"an adversary may know {', '.join(ENDS)} of a trip, not {end!r}"
                raise InputError(msg)

    @property
    def cases(self) -> Sequence[tuple[str, bool, bool, bool]]:
        """What is tried: a name, and whether ends, places and vehicles are known."""
        known = bool(self.ends), self.places is not None, self.vehicle is not None
        names = " and ".join(self.ends), "known places", "all days"
        alone = [
            (name, i == 0, i == 1, i == 2)
            for i, (name, one) in enumerate(zip(names, known, strict=True))
            if one
        ]
        return [*alone, *([("all of this", *known)] if sum(known) > 1 else [])]


@dataclass(frozen=True, eq=False)
class TrackedTrip:
    """A trip that is followed; private but for what is sighted of it."""

    trip: str
    track: Floats
    """Shape (n, 2): true positions, metres of the plane."""
    road: Indices
    """Shape (n,): the true roads."""
    sighted: Sighted
    began: float
    """Seconds since 1970."""


def read_places(path: Path) -> Floats:
    """Latitude and longitude of each row of a table, (k, 2); raises ``InputError``."""
    frame = read_frame(path).frame
    names = ("latitude", "longitude")
    if not set(names) <= set(frame.columns):
        msg = f"{path}: a table of places needs the columns latitude and longitude"
        raise InputError(msg)
    try:
        found = frame.select(pl.col(name).cast(pl.Float64) for name in names).drop_nulls()
    except pl.exceptions.PolarsError:
        msg = f"{path}: latitude and longitude must be numbers, in degrees"
        raise InputError(msg) from None
    places = found.to_numpy()
    if not len(places) or not (np.abs(places) <= (90, 180)).all():
        msg = f"{path}: no places, or latitudes beyond 90 or longitudes beyond 180 degrees"
        raise InputError(msg)
    return places


APART = (STEP, 30.0)
"""Seconds; 20 and 60 s besides took twice the time, and were never the strongest on 12 drives."""
FEWEST = 4
SURER, USELESS = 2.0, 0.9
_ODOMETER = "by the way driven"


@dataclass(frozen=True, eq=False)
class _Tried:
    """What he finds of a trip in each way."""

    findings: Mapping[str, RoadEstimate]
    """One for several ways where they follow the same reports."""
    followed: Mapping[str, int]
    """How many reports each way weighs."""
    informative: int
    """How many reports tell something: not those at which a truck stands, or is held."""


def attempts(adversary: RoadAdversary, sighted: Sighted, noise: LocationNoise) -> _Tried:
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
    return _Tried(found, followed, informative)


def _lighter(finding: RoadEstimate) -> RoadEstimate:
    """Without what counts for habits alone, and is as large as the map."""
    return replace(finding, held=None, belief=None)


@dataclass(frozen=True, eq=False)
class StrongestWays:
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

    @staticmethod
    def choose(seen: Sequence[TrackedTrip], tried: Sequence[_Tried]) -> StrongestWays:
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
            replace(
                made.findings[way], seconds=sum(one.seconds for one in set(made.findings.values()))
            )
            for made, way in zip(tried, ways, strict=True)
        ]
        return StrongestWays(
            findings, ways, (*_outdone(names, right), *_left_out(seen, tried, ways))
        )


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
    seen: Sequence[TrackedTrip], tried: Sequence[_Tried], ways: Sequence[str]
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


Speed = Annotated[Real, Field(gt=0)]


class _StatedMovement(Value):
    """What the file may hold: the fields of ``Movement``."""

    usual: Speed = Movement.usual
    deviation: Speed = Movement.deviation
    memory: Annotated[Real, Field(ge=0)] = Movement.memory
    fastest: Speed = Movement.fastest
    standing: Annotated[Real, Field(gt=0, lt=1)] = Movement.standing
    stop: Speed = Movement.stop
    traffic: dict[str, Speed] = Field(default_factory=lambda: dict(TRAFFIC))


def read_movement(path: str | Path) -> Movement:
    """The movement that a TOML file describes; raises ``InputError`` with what is wrong in it."""
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{file}: the file cannot be read: {error.strerror}"
        raise InputError(msg) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file}: the file is not valid TOML: {error}"
        raise InputError(msg) from None
    stated: _StatedMovement = read(_StatedMovement, document, str(file), public=True, tables=True)
    return Movement(**dict(stated))
