"""How noisy each level is, and who may see which.

The levels are nested: the near position has noise, the next one is the near one with more noise,
the far one has more again.  So all that is published follows from the near position, and nobody
learns more from several levels than from the nearest of them, with whomever he pools them.  Three
independent looks would let colluding parties average the noise away.

Noise is Gaussian, so each level by itself has exactly the distribution that its epsilon says, of
one of two mechanisms (``dp.planar.noise``):

- ``gaussian-field``: most of the noise stays with the place for a period, some of it for a truck
  and more of it for all trucks of a company, so that neither days nor trucks average it away.  A
  truck that stands shows its position again.  What the middle position adds stays with the near
  *position that was shown*, and what the far one adds with the middle one: so levels are nested
  here, too.  Since what a truck has by itself, and what is fresh, moves where the next level looks
  its field up, fields of wider
  levels are longer.
- ``correlated-gaussian``: all noise is new within minutes, and averages away where a truck stands.

``angle-selection`` is the paper's version, for study alone (``PrintedNoise``): levels are not
nested, and nothing is promised of the reports of a day.

The key by which noise stays with places: of a truck, or a company, and a period; then no more.

It is drawn at the first report of a period from entropy that is kept nowhere, and replaces the one
before it.  So a truck's exists in its state alone and a company's in a row of its own
(``platform.trucks``), which are sealed wherever they are stored, and nobody can compute the
field of a period that is over.  Periods begin at multiples of their length since 1970 (UTC), those
of all trucks and companies at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from voile_base.errors import PlanError
from voile_base.randomness import Key
from voile_base.values.value import Real, Says, Several, checked
from voile_geo.planar.noise import AngleSelection, CorrelatedGaussian, GaussianField
from voile_geo.planar.steps import MEAN_RADIUS, turn_deviation
from voile_geo.planar.zones import Zones
from voile_share.protocol import LEVELS

__all__ = [
    "Displacements",
    "Lengths",
    "Levels",
    "Mechanism",
    "Near",
    "PeriodDays",
    "PlaceKey",
    "PrintedNoise",
    "Share",
    "Tau",
    "without_ended_key",
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
    def read(cls, state: Mapping[str, Any]) -> Self | None:
        """What ``written`` has put into a state; None where there is no key."""
        held = state.get(_NAME)
        return None if held is None else cls(Key(bytes.fromhex(held["key"])), held["until"])

    def written(self) -> dict[str, Any]:
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
