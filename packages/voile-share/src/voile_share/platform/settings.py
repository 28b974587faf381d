"""What the operator chooses: slots, noise, budgets, sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

from voile_base.errors import PlanError, nearest
from voile_share.ingest import LIVE, Region, Rules
from voile_share.positions import Levels, PrintedNoise

__all__ = ["MOST_DAYS", "Settings"]

_DAY = 86_400
_MOST_ROOM = 1000
MOST_DAYS = 3_660
"""For which anything is kept."""


@dataclass(frozen=True)
class Settings:
    """The terms of a platform; raises ``PlanError`` where they cannot be."""

    slot_seconds: int = 300
    """A truck publishes once in each slot of so many seconds; it divides the day."""
    displacements: Sequence[float] = (150.0, 600.0, 2400.0)
    """``Levels.displacements``: metres, near to far."""
    mechanism: str = "gaussian-field"
    """``Levels.mechanism``: ``gaussian-field``, ``correlated-gaussian``, or ``angle-selection``."""
    as_printed: PrintedNoise | None = None
    """``Levels.as_printed``, of ``angle-selection``: the paper's version, for study."""
    tau: float = 120.0
    """``Levels.tau``: seconds."""
    stays: float = 0.8
    """``Levels.stays``, of a field: the share of the noise that stays with the place."""
    lengths: Sequence[float] = (700.0, 800.0, 1400.0)
    """``Levels.lengths``, of a field: metres, near to far."""
    period_days: float = 28
    """``Levels.period_days``, of a field."""
    shared: float = 0.75
    """``Levels.shared``, of a field: what of that all trucks of a company have in common."""
    near: Sequence[float] = (2_000.0, 10_000.0)
    """``Levels.near``: metres to the destination."""
    distance: float = 100.0
    """Metres between the trajectories that the budget is about."""
    delta: float = 1e-5
    """At which the budget is priced."""
    budget: float | None = None
    """Epsilon that a truck may spend in a day (UTC); None: accounted, and not bounded."""
    room: int = 30
    """Reports are padded as if a truck had at least so many parcels."""
    keep_days: int = 31
    """Days for which reports and submissions are kept, of companies that have no other number."""
    operator_sees: str = "far"
    """The published position that people who run the service, and companies, see of trucks whose
    keys it holds: ``near``, ``middle``, ``far`` or ``nothing``."""
    region: Sequence[float] | None = None
    """South, west, north, east of where trucks are: finds coordinates that were swapped."""

    def __post_init__(self) -> None:
        if not _whole(self.slot_seconds) or self.slot_seconds < 1 or _DAY % self.slot_seconds:
            msg = "slot_seconds must be a whole number that divides a day, such as 300"
            raise PlanError(msg)
        if not _whole(self.room) or not 0 <= self.room <= _MOST_ROOM:
            msg = f"room must be a whole number from 0 to {_MOST_ROOM}"
            raise PlanError(msg)
        if not _whole(self.keep_days) or not 1 <= self.keep_days <= MOST_DAYS:
            msg = f"keep_days must be a whole number from 1 to {MOST_DAYS}"
            raise PlanError(msg)
        if self.operator_sees not in _SEEN:
            msg = f"operator_sees must be one of: {', '.join(_SEEN)}"
            raise PlanError(msg)
        _positive("distance", self.distance)
        if self.budget is not None:
            _positive("budget", self.budget)
        _positive("delta", self.delta)
        if self.delta >= 1:
            msg = "delta must be below 1"
            raise PlanError(msg)
        if self.budget is not None and self.as_printed is not None:
            msg = (
                "budget bounds nothing where as_printed is set: reports of angle-selection have no "
                "price; leave budget out, or choose another mechanism"
            )
            raise PlanError(msg)
        self._check_region()
        self.levels  # noqa: B018 - what the noise is made of is checked

    def _check_region(self) -> None:
        if self.region is None:
            return
        south, west, north, east = self.region if len(self.region) == 4 else (1.0, 0.0, 0.0, 0.0)
        if not (-90 <= south < north <= 90 and -180 <= west < east <= 180):
            msg = "region must be south, west, north and east, in degrees"
            raise PlanError(msg)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Settings from the keys of a configuration file; raises ``PlanError``."""
        known = [field.name for field in fields(cls)]
        document = {name: value for name, value in document.items() if name not in _FORMER}
        for name, value in document.items():
            if name not in known:
                msg = f"there is no setting {name!r}{nearest(name, known)}"
                raise PlanError(msg)
            if name in _LISTS and not isinstance(value, list | tuple):
                msg = f"{name} must be a list of numbers"
                raise PlanError(msg)
        given: dict[str, Any] = {
            name: tuple(value) if name in _LISTS else value for name, value in document.items()
        }
        if "as_printed" in given:
            given["as_printed"] = _printed(given["as_printed"])
        return cls(**given)

    @cached_property
    def levels(self) -> Levels:
        """How noisy each level is."""
        return Levels(
            tuple(self.displacements),
            self.tau,
            tuple(self.near),
            self.mechanism,
            self.stays,
            tuple(self.lengths),
            self.period_days,
            self.shared,
            self.as_printed,
        )

    @property
    def operator_level(self) -> int | None:
        """The level of ``operator_sees``: 0 (near) to 2 (far); None: nothing."""
        level = _SEEN.index(self.operator_sees)
        return level if level < len(self.displacements) else None

    @cached_property
    def rules(self) -> Rules:
        """What is taken from a device under way."""
        return LIVE if self.region is None else Rules(region=Region(*self.region))

    def slot(self, now: float) -> int:
        """The slot of a time: its first second since 1970."""
        return int(now) // self.slot_seconds * self.slot_seconds


_SEEN = ("near", "middle", "far", "nothing")
_LISTS = ("displacements", "near", "lengths", "region")
_FORMER = frozenset({"speeds_kmh"})
"""Settings of earlier versions, that do nothing now."""


def _printed(table: object) -> PrintedNoise:
    """The paper's noise from its table of a configuration file."""
    known = [field.name for field in fields(PrintedNoise)]
    if not isinstance(table, Mapping):
        msg = "as_printed must be a table, [platform.as_printed]"
        raise PlanError(msg)
    for name, value in table.items():
        if name not in known:
            msg = f"[platform.as_printed] has no setting {name!r}{nearest(name, known)}"
            raise PlanError(msg)
        if isinstance(value, list) != isinstance(getattr(PrintedNoise, name), tuple):
            msg = f"[platform.as_printed] {name} must be a number, or numbers in a list"
            raise PlanError(msg)
    return PrintedNoise(**table)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _positive(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and value > 0):  # type: ignore[arg-type, operator]
        msg = f"{name} must be a number above 0"
        raise PlanError(msg)
