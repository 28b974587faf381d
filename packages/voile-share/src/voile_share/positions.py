"""The positions that a moving truck shows: three levels of noise in one, and what they cost.

The levels are nested: the near position has noise, the next one is the near one with more noise,
the far one has more again.  So all that is published follows from the near position, and nobody
learns more from several levels than from the nearest of them, with whomever he pools them.  Three
independent looks would let colluding parties average the noise away.

Noise is Gaussian, so each level by itself has exactly the distribution that its epsilon says, of
one of two mechanisms (``voile_geo.planar.noise``):

- ``gaussian-field``: most of the noise stays with the place for a period, some of it for a truck
  and more of it for all trucks of a company, so that neither days nor trucks average it away.  A
  truck that stands shows its position again.  What the middle position adds stays with the near
  *position that was shown*, and what the far one adds with the middle one: so levels are nested
  here, too.  Since what a truck has by itself, and what is fresh, moves where the next level looks
  its field up, fields of wider levels are longer.
- ``correlated-gaussian``: all noise is new within minutes, and averages away where a truck stands.

``angle-selection`` is the paper's version, for study alone (``PrintedNoise``): levels are not
nested, and nothing is promised of the reports of a day.

The key by which noise stays with places: of a truck, or a company, and a period; then no more.

It is drawn at the first report of a period from entropy that is kept nowhere, and replaces the one
before it.  So a truck's exists in its state alone and a company's in a row of its own
(``platform.trucks``), which are sealed wherever they are stored, and nobody can compute the
field of a period that is over.  Periods begin at multiples of their length since 1970 (UTC), those
of all trucks and companies at once.

One truck's positions as they come are perturbed, priced and remembered.

One truck's positions as they come: perturb, price, remember.

Guarantee, by the mechanism, whoever sees whichever levels; times are not protected:

- ``correlated-gaussian``: the reports of one day (UTC) together are mu-Gaussian-differentially
  private for any two trajectories of the truck that are nowhere more than ``distance`` metres
  apart, with the mu that the stream adds up.
- ``angle-selection``: nothing; what a day costs is unbounded.
- ``gaussian-field``: those of a period are, for two of which one is the other moved as a whole by
  at most ``distance``, for who follows this truck alone; of several trucks of one company, for all
  of these moved together, and their mu squared add up.  Mu squared of a period is the sum of its
  days', which the stream adds up.
  When a truck stands, and that it is where it was before, is shown.

Fresh noise of a report is a function of the key, the level and the report's slot.  A state that is
lost, or older than the last report, therefore never makes one noise serve two positions; it makes
the noise of later reports more independent, and dearer.  The key may change between reports.

The state is as secret as the key: with it and the published position goes the true one.  What is
``kept`` of it has no position and no noise, but under ``gaussian-field`` the key by which the noise
stays with places until the period ends: store it sealed.  A stream that goes on from it has the
same field and draws fresh noise that knows nothing of what came before, and its reports are
accounted as if it did, which is never less.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal, Protocol, Self

from pydantic import AfterValidator, Field

from voile_base.errors import PlanError, RefusedError
from voile_base.randomness import Key
from voile_base.values import Document, Json
from voile_base.values.value import Real, Says, Several, checked
from voile_geo.planar.costs import gaussian_epsilon, next_squared_mu
from voile_geo.planar.noise import (
    AngleSelection,
    CorrelatedGaussian,
    GaussianField,
    Live,
    LiveField,
    LocationNoise,
)
from voile_geo.planar.steps import MEAN_RADIUS, Zones, turn_deviation
from voile_share.protocol import LEVELS, Position, day_of

__all__ = [
    "BudgetSpentError",
    "Displacements",
    "Lengths",
    "Levels",
    "Mechanism",
    "Near",
    "PeriodDays",
    "PlaceKey",
    "PositionStream",
    "PrintedNoise",
    "Share",
    "Tau",
    "spent_on",
    "without_ended_key",
    "without_time",
]


def _ascending(numbers: tuple[float, ...]) -> tuple[float, ...]:
    if any(after <= before for before, after in pairwise(numbers)):
        msg = "the numbers must ascend, near to far"
        raise ValueError(msg)
    return numbers


Positive = Annotated[Real, Field(gt=0)]
Mechanism = Literal["gaussian-field", "correlated-gaussian", "angle-selection"]
Displacements = Annotated[
    Several[Positive],
    Field(min_length=LEVELS, max_length=LEVELS),
    AfterValidator(_ascending),
    Says(f"{LEVELS} ascending numbers above 0, in metres"),
]
Near = Annotated[
    Several[Positive],
    Field(min_length=LEVELS - 1, max_length=LEVELS - 1),
    AfterValidator(_ascending),
    Says(f"{LEVELS - 1} ascending numbers above 0, in metres"),
]
Lengths = Annotated[
    Several[Positive],
    Field(min_length=LEVELS, max_length=LEVELS),
    Says(f"{LEVELS} numbers above 0, in metres"),
]
Tau = Annotated[
    Real, Field(gt=0, le=30 * 86_400.0), Says("a number of seconds above 0, of 30 days at most")
]
Share = Annotated[Real, Field(ge=0, lt=1), Says("a number from 0 to below 1")]
PeriodDays = Annotated[Real, Field(ge=1, le=366), Says("a number of days from 1 to 366")]
_Centre = Annotated[
    Several[Real],
    Field(min_length=2, max_length=2),
    Says("a latitude and a longitude: radii are chosen by the distance to it"),
]


@checked(PlanError)
@dataclass(frozen=True)
class PrintedNoise:
    """Algorithm 1 of the seed as it prints it, with the levels and radii of its eqs. 4 to 6.

    Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS
    2023), sections 5 and 8; defaults are those of section 8.1, but limits and centre, which it
    leaves to the city.  Each level of each report has noise of its own about the true position, of
    epsilon = level / radius by the zone of the *true* position, in a direction that starts at 0.

    Guarantee: none for a trip or a day.  At the border of two zones the likelihood ratio is
    unbounded, parties of several levels average them, and reports are not composed.
    Raises ``PlanError`` for numbers that cannot be.
    """

    levels: Annotated[
        Several[Positive],
        Field(min_length=LEVELS, max_length=LEVELS),
        Says(f"a list of {LEVELS} levels above 0"),
    ] = (5.0, 3.0, 1.0)
    """The l of eq. 4, for those who see the near, the middle and the far position; above 0."""
    radii: Several[Real] = (400.0, 1000.0, 2000.0)
    """The r of eq. 5 in metres, from near the centre to far away; above 0."""
    radius_limits: Several[Real] = (5_000.0, 10_000.0)
    """Metres from the centre at which the next radius begins; ascending, one fewer than radii."""
    centre: _Centre | None = None
    """Latitude and longitude in degrees; needed where there are several radii."""
    epsilon_angle: Positive = 5.0
    """The epsilon_a of eq. 7; above 0."""
    delta_angle: Annotated[Real, Field(gt=0, lt=1)] = 1e-5
    """Between 0 and 1."""
    spread: Positive = 2 * math.pi
    """The Delta_2 of eq. 7, in radians; above 0."""

    def __post_init__(self) -> None:
        if len(self.radii) > 1 and self.centre is None:
            msg = "needs a centre, latitude and longitude: radii are chosen by the distance to it"
            raise PlanError(msg)
        self.noises()

    def noises(self) -> tuple[AngleSelection, ...]:
        """Of each level, near to far."""
        turn = turn_deviation(self.epsilon_angle, self.delta_angle, self.spread)
        centre = None if self.centre is None else (self.centre[0], self.centre[1])
        return tuple(
            AngleSelection(
                Zones(
                    levels=(level,),
                    radii=self.radii,
                    radius_limits=self.radius_limits,
                    centre=centre if len(self.radii) > 1 else None,
                    by="true",
                ),
                turn,
                "zero",
            )
            for level in self.levels
        )


@checked(PlanError)
@dataclass(frozen=True)
class Levels:
    """Displacements, and the distances at which they are chosen; raises ``PlanError``."""

    displacements: Displacements = (150.0, 600.0, 2400.0)
    """Metres by which the near, the middle and the far position are off on average; ascending."""
    tau: Tau = 120.0
    """Seconds in which the correlation of the noise falls to 1 / e; of driving, for a field."""
    near: Near = (2_000.0, 10_000.0)
    """Metres to the destination, below which a party sees the near and the middle position."""
    mechanism: Mechanism = "gaussian-field"
    """``gaussian-field``, ``correlated-gaussian``, or for study ``angle-selection``."""
    stays: Share = 0.8
    """Of a field: the share of the variance that stays with the place, from 0 to below 1."""
    lengths: Lengths = (700.0, 800.0, 1400.0)
    """Of the field of each level: metres in which its correlation falls to 1 / e."""
    period_days: PeriodDays = 28.0
    """Days for which a field stays."""
    shared: Share = 0.75
    """Of a field: of what stays, the share that all trucks of a company have in common; from 0 to
    below 1."""
    as_printed: PrintedNoise | None = None
    """Of ``angle-selection``, in place of displacements."""

    def __post_init__(self) -> None:
        if (self.mechanism == AngleSelection.name) != (self.as_printed is not None):
            msg = (
                f'mechanism = "{AngleSelection.name}" is the paper\'s version, for study, and goes '
                "with a table [platform.as_printed]; no other mechanism does"
            )
            raise PlanError(msg)

    @cached_property
    def epsilons(self) -> tuple[float, ...]:
        """Of each level, per metre: that of planar Laplace noise of the same displacement."""
        return tuple(MEAN_RADIUS / metres for metres in self.displacements)

    @property
    def stays_with_places(self) -> bool:
        """Whether noise is that of a field."""
        return self.mechanism == GaussianField.name

    def noises(self) -> tuple[CorrelatedGaussian, ...]:
        """Noise by time: what is added to the true position, to the near one, to the middle one."""
        return tuple(CorrelatedGaussian(zones, self.tau) for zones in self._added())

    def fields(self) -> tuple[GaussianField, ...]:
        """Noise that stays: what is added to the true position, to the near, to the middle one."""
        return self._fields

    @cached_property
    def _fields(self) -> tuple[GaussianField, ...]:
        return tuple(
            GaussianField(zones, self.stays, length, self.period_days, self.tau, self.shared)
            for zones, length in zip(self._added(), self.lengths, strict=True)
        )

    def _added(self) -> list[Zones]:
        before = (0.0, *self.displacements)
        added = [math.sqrt(after**2 - here**2) for here, after in pairwise(before)]
        return [Zones(levels=(MEAN_RADIUS / metres,)) for metres in added]

    def level(self, metres: float) -> int:
        """What a party sees whose destination is so far away: 0 (near) to 2 (far)."""
        return sum(metres >= limit for limit in self.near)


_DAY = 86_400.0
_NAME = "field"


@dataclass(frozen=True)
class PlaceKey:
    """The key of the fields of a truck, or of a company, in one period."""

    key: Key
    until: float
    """The end of the period: seconds since 1970."""

    @classmethod
    def draw(cls, entropy: Key, time: float, days: float) -> Self:
        """A new key for the period of ``days`` in which a time lies."""
        return cls(entropy.within(_NAME), cls.end_of(time, days))

    @staticmethod
    def end_of(time: float, days: float) -> float:
        """The end of the period of ``days`` in which a time lies."""
        length = days * _DAY
        return (time // length + 1) * length

    @classmethod
    def read(cls, state: Document) -> Self | None:
        """What ``written`` has put into a state; None where there is no key."""
        held = state.get(_NAME)
        return None if held is None else cls(Key(bytes.fromhex(held["key"])), held["until"])

    def written(self) -> Json:
        """For a state, which is then as secret as the key."""
        return {_NAME: {"key": self.key.secret.hex(), "until": self.until}}

    def serves(self, time: float, days: float) -> bool:
        """Whether a time lies in the period."""
        return self.until - days * _DAY <= time < self.until


def without_ended_key(state: bytes, now: float) -> bytes:
    """A state without the key of a period that is over; itself where there is none."""
    held = json.loads(state)
    key = PlaceKey.read(held)
    if key is None or now < key.until:
        return state
    del held[_NAME]
    return json.dumps(held, separators=(",", ":")).encode()


_Place = tuple[float, float]


class _Moving(Protocol):
    """What a stream asks of a mechanism."""

    def rekey(self, key: Key) -> None:
        """Draw what is fresh by another key."""

    @property
    def state(self) -> Json:
        """All that is needed to go on; secret."""

    @property
    def kept(self) -> Json:
        """What of it may be stored, sealed: no position and no noise."""

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """Mu squared that a report adds, ``before`` being when the last one was.

        That of the near level: all others follow from it.
        """

    def epsilons(self, place: _Place) -> Sequence[float]:
        """Of the next report of each level, per metre."""

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """What all levels show; near to far.

        ``fleet`` is the key of what trucks of a company have in common, where they have anything.
        """


def _moving_of(levels: Levels, key: Key, held: Mapping[str, object]) -> _Moving:
    """How positions are moved by a mechanism, going on from a state."""
    if levels.as_printed is not None:
        return _AsPrinted(levels.as_printed, key, held)
    made = _PlaceNoise if levels.stays_with_places else _Anew
    return made(levels, key, held)


class _ByTime:
    """Noise by time, of levels that each have a stream."""

    def __init__(self, noises: Sequence[LocationNoise], key: Key, held: Document) -> None:
        streams = held.get("levels", ({}, {}, {}))
        self._lives = [
            Live(noise, key, identity, state=kept)
            for identity, (noise, kept) in enumerate(zip(noises, streams, strict=True))
        ]

    def rekey(self, key: Key) -> None:
        """See ``_Moving``."""
        for live in self._lives:
            live.rekey(key)

    @property
    def state(self) -> Json:
        """See ``_Moving``."""
        return {"levels": [live.state for live in self._lives]}

    @property
    def kept(self) -> Json:
        """See ``_Moving``."""
        return {}

    def _number(self, slot: int) -> int:
        """Of the next report: a state may be ahead of the log, by one that was never stored."""
        return max(slot, self._lives[0].next_number)


class _AsPrinted(_ByTime):
    """Noise of the paper's Algorithm 1: each level has its own about the true position."""

    def __init__(self, printed: PrintedNoise, key: Key, held: Mapping[str, object]) -> None:
        super().__init__(printed.noises(), key, held)

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """See ``_Moving``; unbounded, for nothing is promised."""
        return math.inf

    def epsilons(self, place: _Place) -> Sequence[float]:
        """See ``_Moving``; by the zone of the true position."""
        return [live.epsilon(*place) for live in self._lives]

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """See ``_Moving``."""
        number = self._number(slot)
        return [live.report(*place, time, number=number) for live in self._lives]


class _Anew(_ByTime):
    """Noise by time: correlated Gaussian, nested."""

    def __init__(self, levels: Levels, key: Key, held: Mapping[str, object]) -> None:
        super().__init__(levels.noises(), key, held)
        self._levels = levels

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """See ``_Moving``; for neighbours that differ anyhow."""
        seconds = None if before is None else time - before
        return next_squared_mu(self._levels.epsilons[0], seconds, distance, self._levels.tau)

    def epsilons(self, place: _Place) -> Sequence[float]:
        """See ``_Moving``."""
        return self._levels.epsilons

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """See ``_Moving``."""
        number = self._number(slot)
        shown = []
        for live in self._lives:
            place = live.report(*place, time, number=number)
            shown.append(place)
        return shown


class _PlaceNoise:
    """Noise that stays with places, and some that is fresh."""

    def __init__(self, levels: Levels, key: Key, held: Document) -> None:
        streams = held.get("levels", ({}, {}, {}))
        self._levels = levels
        self._fresh = key
        self._lives = [
            LiveField(noise, identity, state=kept)
            for identity, (noise, kept) in enumerate(zip(levels.fields(), streams, strict=True))
        ]
        self._place_key = PlaceKey.read(held)
        self._fields: list[tuple[Key, Key]] = []
        """Of each level the keys of the truck's field and of its company's."""
        self._drawn_by: tuple[PlaceKey, Key | None] | None = None
        """From what these follow."""
        # Another distribution has other fields: of one field in two sizes positions follow.
        self._laws = [
            (f"{level}", *(f"{float(number)!r}" for number in (metres, *_numbers(noise))))
            for level, (metres, noise) in enumerate(
                zip(levels.displacements, levels.fields(), strict=True)
            )
        ]

    def rekey(self, key: Key) -> None:
        """See ``_Moving``."""
        self._fresh = key

    @property
    def state(self) -> Json:
        """See ``_Moving``."""
        return {"levels": [live.state for live in self._lives], **self.kept}

    @property
    def kept(self) -> Json:
        """See ``_Moving``."""
        return {} if self._place_key is None else self._place_key.written()

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """See ``_Moving``; for paths that are moved as a whole.  A truck that stands costs nothing.

        By the fresh part alone: what stays has the same distribution after the move.
        """
        near = self._lives[0]
        if near.stands(*place):
            return 0.0
        seconds = None if before is None or not near.state else time - before
        fresh = distance / math.sqrt(1 - self._levels.stays)
        return next_squared_mu(
            self._levels.epsilons[0], seconds, fresh, self._levels.tau, "shifted"
        )

    def epsilons(self, place: _Place) -> Sequence[float]:
        """See ``_Moving``."""
        return self._levels.epsilons

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """See ``_Moving``."""
        days = self._levels.period_days
        if self._place_key is None or not self._place_key.serves(time, days):
            self._place_key = PlaceKey.draw(self._fresh, time, days)
        if self._drawn_by != (drawn_by := (self._place_key, fleet)):
            own = self._place_key.key
            # A truck of no company is a fleet of one.
            common = own.within("fleet") if fleet is None else fleet
            self._fields = [
                (own.within("level", *law), common.within("level", *law)) for law in self._laws
            ]
            self._drawn_by = drawn_by
        number = max(slot, self._lives[0].next_number)
        shown = []
        for live, fields in zip(self._lives, self._fields, strict=True):
            place = live.report(place, time, number, self._fresh, fields)
            shown.append(place)
        return shown


def _numbers(noise: GaussianField) -> tuple[float, ...]:
    return noise.share, noise.length, noise.period, noise.tau, noise.shared


_encode = json.JSONEncoder(separators=(",", ":")).encode
"""Made once: it takes longer to make than to use."""


class BudgetSpentError(RefusedError):
    """The truck has spent what it may spend on this day; the next day it goes on."""


def spent_on(state: bytes, day: int, delta: float) -> float | None:
    """Epsilon of a day's reports at a delta, by the stream's state after them.

    0 for another day than that of the last report; None where it is unbounded.  It depends
    on times of reports alone, which are public, and not on positions.
    """
    held = json.loads(state)
    if held["day"] != day:
        return 0.0
    spent = float(held["spent"])
    return gaussian_epsilon(math.sqrt(spent), delta) if math.isfinite(spent) else None


def without_time(state: bytes) -> bytes:
    """A state that does not know when it last reported: for a clock that was ahead.

    What its day has cost stays, and the key by which noise stays with places.
    """
    return _encode({**json.loads(state), "time": None}).encode()


class PositionStream:
    """The positions of one truck.  Not to be shared between threads.

    ``budget`` is the epsilon of one day at ``delta`` for trajectories ``distance`` metres apart;
    None: as much as comes, accounted all the same.
    """

    def __init__(
        self,
        levels: Levels,
        key: Key,
        *,
        distance: float = 100.0,
        delta: float = 1e-5,
        budget: float | None = None,
        state: bytes | None = None,
    ) -> None:
        held: Document = json.loads(state) if state else {}
        self._levels = levels
        self._distance, self._delta, self._budget = distance, delta, budget
        self._moving: _Moving = _moving_of(levels, key, held)
        self._time: float | None = held.get("time")
        self._day: int = held.get("day", -1)
        self._spent: float = held.get("spent", 0.0)

    def rekey(self, key: Key) -> None:
        """Draw the noise of later reports by another key."""
        self._moving.rekey(key)

    @property
    def state(self) -> bytes:
        """What the stream needs to go on elsewhere; secret."""
        return self._encoded(self._moving.state)

    @property
    def kept(self) -> bytes:
        """The state without positions and noise: when it last reported, what the day has cost.

        And the key by which noise stays with places, of which the next report of the period needs
        the same: to be stored sealed.
        """
        return self._encoded(self._moving.kept)

    def _encoded(self, more: Mapping[str, object]) -> bytes:
        held = {"time": self._time, "day": self._day, "spent": self._spent, **more}
        return _encode(held).encode()

    @property
    def time(self) -> float | None:
        """The time of the last position; None before the first."""
        return self._time

    def report(
        self, latitude: float, longitude: float, time: float, slot: int, fleet: Key | None = None
    ) -> tuple[Position, ...]:
        """The positions of all levels to publish in a slot, for a true one at ``time``.

        ``fleet`` is the key of what all trucks of a company have in common in the period of
        ``time``; without one the truck is a fleet of its own.

        Raises ``BudgetSpentError``, and ``ValueError`` unless time moves forward.
        """
        if self._time is not None and not time > self._time:
            msg = "the time of a position is not later than that of the one before it"
            raise ValueError(msg)
        added = self._moving.squared_mu((latitude, longitude), time, self._time, self._distance)
        spent = added + (self._spent if self._day == day_of(slot) else 0.0)
        if self._budget is not None and not self._fits(spent):
            msg = "the budget of the truck for this day is spent"
            raise BudgetSpentError(msg)
        epsilons = self._moving.epsilons((latitude, longitude))
        places = self._moving.report((latitude, longitude), time, slot, fleet)
        self._time, self._day, self._spent = time, day_of(slot), spent
        return tuple(
            Position(*place, int(time), epsilon)
            for place, epsilon in zip(places, epsilons, strict=True)
        )

    def _fits(self, spent: float) -> bool:
        assert self._budget is not None
        known = math.isfinite(spent)
        return known and gaussian_epsilon(math.sqrt(spent), self._delta) <= self._budget
