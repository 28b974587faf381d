"""One truck's positions as they come: perturb, price, remember.

Guarantee, by the mechanism (``levels``), whoever sees whichever levels; times are not protected:

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
from collections.abc import Mapping
from typing import Any

from voile_base.errors import RefusedError
from voile_base.randomness import Key
from voile_geo.planar.costs import gaussian_epsilon
from voile_share.positions.levels import Levels
from voile_share.positions.moving import Moving, moving_of
from voile_share.protocol import Position, day_of

__all__ = ["BudgetSpentError", "PositionStream", "spent_on", "without_time"]


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
        held: Mapping[str, Any] = json.loads(state) if state else {}
        self._levels = levels
        self._distance, self._delta, self._budget = distance, delta, budget
        self._moving: Moving = moving_of(levels, key, held)
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

    def _encoded(self, more: Mapping[str, Any]) -> bytes:
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
