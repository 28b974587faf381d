"""How positions of a truck are moved to those of all levels, by each mechanism, and the price.

One truck's positions as they come: perturb, price, remember.

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
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from voile_base.errors import RefusedError
from voile_base.randomness import Key
from voile_geo.planar.costs import gaussian_epsilon, next_squared_mu
from voile_geo.planar.live_field import LiveField
from voile_geo.planar.noise import GaussianField, Live, LocationNoise
from voile_share.positions.levels import Levels, PlaceKey, PrintedNoise
from voile_share.protocol import Position, day_of

__all__ = ["BudgetSpentError", "PositionStream", "spent_on", "without_time"]


_Place = tuple[float, float]


class _Moving(Protocol):
    """What a stream asks of a mechanism."""

    def rekey(self, key: Key) -> None:
        """Draw what is fresh by another key."""

    @property
    def state(self) -> dict[str, Any]:
        """All that is needed to go on; secret."""

    @property
    def kept(self) -> dict[str, Any]:
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

    def __init__(self, noises: Sequence[LocationNoise], key: Key, held: Mapping[str, Any]) -> None:
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
    def state(self) -> dict[str, Any]:
        """See ``_Moving``."""
        return {"levels": [live.state for live in self._lives]}

    @property
    def kept(self) -> dict[str, Any]:
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

    def __init__(self, levels: Levels, key: Key, held: Mapping[str, Any]) -> None:
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
    def state(self) -> dict[str, Any]:
        """See ``_Moving``."""
        return {"levels": [live.state for live in self._lives], **self.kept}

    @property
    def kept(self) -> dict[str, Any]:
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
        held: Mapping[str, Any] = json.loads(state) if state else {}
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
