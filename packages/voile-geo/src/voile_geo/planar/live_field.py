"""One vehicle's positions as they come, with noise that stays with the place (``staying``).

The distribution, and the numbers for the same keys, are those that a table gets for one trip of the
vehicle; a stream is one trip, however long.  Who calls says with each position by which keys the
fields of vehicle and fleet are drawn, and so begins and ends periods.

The state (true and shown position of where the vehicle last moved, the fresh noise, the time) is as
secret as the keys.  A stream that goes on without its state draws its fresh noise anew, and shows a
vehicle that stands at another position, by the same field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from voile_base.randomness import Key
from voile_geo.geodesy import displaced, metres_between
from voile_geo.planar.field import STILL, fields_at
from voile_geo.planar.noise import GaussianField
from voile_geo.planar.steps import gaussian_scale, normal_pair
from voile_geo.planar.zones import Position

__all__ = ["LiveField"]


class LiveField:
    """The reports of a vehicle, one at a time.  Not to be shared between threads."""

    def __init__(
        self, noise: GaussianField, identity: int, state: Mapping[str, Any] | None = None
    ) -> None:
        """``identity`` is the trip's word in ``Trips``; ``state`` of a stream to be resumed."""
        state = state or {}
        self._noise = noise
        self._identity = identity
        self._scale = gaussian_scale(float(noise.zones.epsilons()[0, 0]))
        self._place: Position | None = tuple(state["place"]) if "place" in state else None
        self._shown: Position = tuple(state.get("shown", (math.nan, math.nan)))
        self._memory: Position = tuple(state.get("memory", (0.0, 0.0)))
        self._time = float(state.get("time", -math.inf))
        self._count = int(state.get("reports", 0))

    @property
    def state(self) -> dict[str, Any]:
        """What the stream needs to go on elsewhere; secret."""
        if self._place is None:
            return {}
        return {
            "reports": self._count,
            "place": list(self._place),
            "shown": list(self._shown),
            "memory": list(self._memory),
            "time": self._time,
        }

    @property
    def next_number(self) -> int:
        """The lowest number that the next report may have."""
        return self._count

    def stands(self, latitude: float, longitude: float) -> bool:
        """Whether a vehicle there is where it last moved, and is shown there again."""
        if self._place is None:
            return False
        return bool(metres_between(*self._place, latitude, longitude) <= STILL)

    def report(
        self, place: Position, time: float, number: int, fresh: Key, fields: tuple[Key, Key]
    ) -> Position:
        """The position to publish for a true one, in degrees; ``time`` in seconds.

        ``number`` is the report's own and chooses, with the key ``fresh``, the fresh noise;
        ``fields`` are the keys of the fields of the vehicle and of its fleet in the period.

        Raises ``ValueError``, and changes nothing, where time or numbers run backwards, where a
        position is none, and where time stands still.
        """
        self._check(place, time, number)
        if not self.stands(*place):
            kept = 0.0
            if self._place is not None:
                kept = math.exp(-(time - self._time) / self._noise.tau)
            new = math.sqrt(1 - kept * kept)
            words = fresh.block(self._identity, number)
            drawn = normal_pair(np.uint64(words[0]), np.uint64(words[1]))
            memory = [kept * was + new * now for was, now in zip(self._memory, drawn, strict=True)]
            self._memory = memory[0], memory[1]
            self._shown = self._moved(place, fields)
            self._place = place
        self._time, self._count = time, number + 1
        return self._shown

    def _moved(self, place: Position, fields: tuple[Key, Key]) -> Position:
        share, shared, length = self._noise.share, self._noise.shared, self._noise.length
        here = np.array([place[0]]), np.array([place[1]])
        read = fields_at(*here, length, fields if shared else fields[:1])
        stays = math.sqrt(share * (1 - shared)) * read[0, 0]
        if shared:
            stays += math.sqrt(share * shared) * read[1, 0]
        stays += math.sqrt(1 - share) * np.array(self._memory)
        east, north = self._scale * stays
        moved: Position = displaced(*place, float(east), float(north))
        return moved

    def _check(self, place: Position, time: float, number: int) -> None:
        """Refuse what cannot be reported, in words without the position."""
        # Written so that what is not a number fails.
        if not (-90 <= place[0] <= 90 and -180 <= place[1] <= 180):
            msg = "a position needs a latitude within 90 and a longitude within 180 degrees"
            raise ValueError(msg)
        if not (math.isfinite(time) and time > self._time and number >= self._count):
            msg = "a report must be later than the one before it, at a time that is a number"
            raise ValueError(msg)
