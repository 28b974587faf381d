"""The key by which noise stays with places: of a truck, or a company, and a period; then no more.

It is drawn at the first report of a period from entropy that is kept nowhere, and replaces the one
before it.  So a truck's exists in its state alone and a company's in a row of its own
(``platform.fleet_keys``), which are sealed wherever they are stored, and nobody can compute the
field of a period that is over.  Periods begin at multiples of their length since 1970 (UTC), those
of all trucks and companies at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from voile_base.randomness import Key

__all__ = ["PlaceKey", "without_ended_key"]

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
