"""What the operator chooses: slots, noise, budgets, sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field

from voile_base.errors import PlanError
from voile_base.values.value import Real, Says, Several, checked
from voile_share.ingest import LIVE, Region, Rules
from voile_share.positions import (
    Displacements,
    Lengths,
    Levels,
    Mechanism,
    Near,
    PeriodDays,
    PrintedNoise,
    Share,
    Tau,
)

__all__ = ["MOST_DAYS", "Settings"]

_DAY = 86_400
MOST_DAYS = 3_660
"""For which anything is kept."""
_Seen = Literal["near", "middle", "far", "nothing"]


@checked(PlanError)
@dataclass(frozen=True)
class Settings:
    """The terms of a platform; raises ``PlanError`` where they cannot be."""

    slot_seconds: Annotated[
        int,
        Field(ge=1, le=_DAY),
        Says("a whole number that divides a day, such as 300"),
    ] = 300
    """A truck publishes once in each slot of so many seconds; it divides the day."""
    displacements: Displacements = (150.0, 600.0, 2400.0)
    """``Levels.displacements``: metres, near to far."""
    mechanism: Mechanism = "gaussian-field"
    """``Levels.mechanism``: ``gaussian-field``, ``correlated-gaussian``, or ``angle-selection``."""
    as_printed: PrintedNoise | None = None
    """``Levels.as_printed``, of ``angle-selection``: the paper's version, for study."""
    tau: Tau = 120.0
    """``Levels.tau``: seconds."""
    stays: Share = 0.8
    """``Levels.stays``, of a field: the share of the noise that stays with the place."""
    lengths: Lengths = (700.0, 800.0, 1400.0)
    """``Levels.lengths``, of a field: metres, near to far."""
    period_days: PeriodDays = 28.0
    """``Levels.period_days``, of a field."""
    shared: Share = 0.75
    """``Levels.shared``, of a field: what of that all trucks of a company have in common."""
    near: Near = (2_000.0, 10_000.0)
    """``Levels.near``: metres to the destination."""
    distance: Annotated[Real, Field(gt=0)] = 100.0
    """Metres between the trajectories that the budget is about."""
    delta: Annotated[Real, Field(gt=0, lt=1)] = 1e-5
    """At which the budget is priced."""
    budget: Annotated[Real, Field(gt=0)] | None = None
    """Epsilon that a truck may spend in a day (UTC); None: accounted, and not bounded."""
    room: Annotated[int, Field(ge=0, le=1000)] = 30
    """Reports are padded as if a truck had at least so many parcels."""
    keep_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = 31
    """Days for which reports and submissions are kept, of companies that have no other number."""
    operator_sees: _Seen = "far"
    """The published position that people who run the service, and companies, see of trucks whose
    keys it holds: ``near``, ``middle``, ``far`` or ``nothing``."""
    region: (
        Annotated[
            Several[Real],
            Field(min_length=4, max_length=4),
            Says("south, west, north and east, in degrees"),
        ]
        | None
    ) = None
    """South, west, north, east of where trucks are: finds coordinates that were swapped."""

    def __post_init__(self) -> None:
        if _DAY % self.slot_seconds:
            msg = "slot_seconds must be a whole number that divides a day, such as 300"
            raise PlanError(msg)
        if self.budget is not None and self.as_printed is not None:
            msg = (
                "budget bounds nothing where as_printed is set: reports of angle-selection have no "
                "price; leave budget out, or choose another mechanism"
            )
            raise PlanError(msg)
        if self.region is not None:
            south, west, north, east = self.region
            if not (-90 <= south < north <= 90 and -180 <= west < east <= 180):
                msg = "region must be south, west, north and east, in degrees"
                raise PlanError(msg)
        self.levels  # noqa: B018 - what goes with a mechanism is checked

    @cached_property
    def levels(self) -> Levels:
        """How noisy each level is."""
        return Levels(
            self.displacements,
            self.tau,
            self.near,
            self.mechanism,
            self.stays,
            self.lengths,
            self.period_days,
            self.shared,
            self.as_printed,
        )

    @property
    def operator_level(self) -> int | None:
        """The level of ``operator_sees``: 0 (near) to 2 (far); None: nothing."""
        level = get_args(_Seen).index(self.operator_sees)
        return level if level < len(self.displacements) else None

    @cached_property
    def rules(self) -> Rules:
        """What is taken from a device under way."""
        return LIVE if self.region is None else Rules(region=Region(*self.region))

    def slot(self, now: float) -> int:
        """The slot of a time: its first second since 1970."""
        return int(now) // self.slot_seconds * self.slot_seconds
