"""How positions of a truck are moved to those of all levels, by each mechanism, and the price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from voile_base.randomness import Key
from voile_geo.planar.costs import next_squared_mu
from voile_geo.planar.live_field import LiveField
from voile_geo.planar.noise import GaussianField, Live, LocationNoise
from voile_share.positions.keeping import PlaceKey
from voile_share.positions.levels import Levels, PrintedNoise

__all__ = ["Anew", "AsPrinted", "Moving", "PlaceNoise", "moving_of"]

_Place = tuple[float, float]


class Moving(Protocol):
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


def moving_of(levels: Levels, key: Key, held: Mapping[str, Any]) -> Moving:
    """How positions are moved by a mechanism, going on from a state."""
    if levels.as_printed is not None:
        return AsPrinted(levels.as_printed, key, held)
    made = PlaceNoise if levels.stays_with_places else Anew
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
        """See ``Moving``."""
        for live in self._lives:
            live.rekey(key)

    @property
    def state(self) -> dict[str, Any]:
        """See ``Moving``."""
        return {"levels": [live.state for live in self._lives]}

    @property
    def kept(self) -> dict[str, Any]:
        """See ``Moving``."""
        return {}

    def _number(self, slot: int) -> int:
        """Of the next report: a state may be ahead of the log, by one that was never stored."""
        return max(slot, self._lives[0].next_number)


class AsPrinted(_ByTime):
    """Noise of the paper's Algorithm 1: each level has its own about the true position."""

    def __init__(self, printed: PrintedNoise, key: Key, held: Mapping[str, Any]) -> None:
        super().__init__(printed.noises(), key, held)

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """See ``Moving``; unbounded, for nothing is promised."""
        return math.inf

    def epsilons(self, place: _Place) -> Sequence[float]:
        """See ``Moving``; by the zone of the true position."""
        return [live.epsilon(*place) for live in self._lives]

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """See ``Moving``."""
        number = self._number(slot)
        return [live.report(*place, time, number=number) for live in self._lives]


class Anew(_ByTime):
    """Noise by time: correlated Gaussian, nested."""

    def __init__(self, levels: Levels, key: Key, held: Mapping[str, Any]) -> None:
        super().__init__(levels.noises(), key, held)
        self._levels = levels

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """See ``Moving``; for neighbours that differ anyhow."""
        seconds = None if before is None else time - before
        return next_squared_mu(self._levels.epsilons[0], seconds, distance, self._levels.tau)

    def epsilons(self, place: _Place) -> Sequence[float]:
        """See ``Moving``."""
        return self._levels.epsilons

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """See ``Moving``."""
        number = self._number(slot)
        shown = []
        for live in self._lives:
            place = live.report(*place, time, number=number)
            shown.append(place)
        return shown


class PlaceNoise:
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
        """See ``Moving``."""
        self._fresh = key

    @property
    def state(self) -> dict[str, Any]:
        """See ``Moving``."""
        return {"levels": [live.state for live in self._lives], **self.kept}

    @property
    def kept(self) -> dict[str, Any]:
        """See ``Moving``."""
        return {} if self._place_key is None else self._place_key.written()

    def squared_mu(
        self, place: _Place, time: float, before: float | None, distance: float
    ) -> float:
        """See ``Moving``; for paths that are moved as a whole.  A truck that stands costs nothing.

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
        """See ``Moving``."""
        return self._levels.epsilons

    def report(
        self, place: _Place, time: float, slot: int, fleet: Key | None = None
    ) -> Sequence[_Place]:
        """See ``Moving``."""
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
