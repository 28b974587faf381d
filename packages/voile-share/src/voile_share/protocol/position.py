"""A position as it travels: 16 bytes, the same for every position.

Latitude and longitude in units of 1e-7 degrees (1 cm), the time of the fix in whole seconds since
1970, and the epsilon per metre of the noise in it, a single-precision number.  Which level it is
of stands in what the cipher authenticates.  Positions are perturbed before they come here.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Self

from voile_base.errors import InputError
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.wire import checked_number

__all__ = [
    "LEVELS",
    "POSITION_BYTES",
    "Position",
    "decoded_remaining",
    "encoded_remaining",
]

LEVELS = 3
"""Precision levels in every report, from near the receiver to far away."""
_FORMAT = Struct(">iiIf")
POSITION_BYTES = _FORMAT.size
_UNITS = 10**7
_LEAST_EPSILON, _MOST_EPSILON = 2.0**-30, 2.0**10
_UNKNOWN_REMAINING = 0xFFFFFF


@dataclass(frozen=True)
class Position:
    """Where a truck is said to be; raises ``InputError`` for what no position can be."""

    latitude: float
    """Degrees, -90 to 90."""
    longitude: float
    """Degrees, -180 to 180."""
    time: int
    """Seconds since 1970, below 2**32."""
    epsilon: float
    """Of the planar noise, per metre; 2**-30 to 2**10."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("latitude", self.latitude, -90, 90),
            ("longitude", self.longitude, -180, 180),
            ("epsilon", self.epsilon, _LEAST_EPSILON, _MOST_EPSILON),
        ):
            if not least <= value <= most:
                msg = f"{name} must be from {least:g} to {most:g}"
                raise InputError(msg)
        checked_number("time", self.time, 32)

    def encode(self) -> bytes:
        """16 bytes; latitude and longitude are rounded to 1e-7 degrees."""
        place = (round(self.latitude * _UNITS), round(self.longitude * _UNITS))
        return _FORMAT.pack(*place, self.time, self.epsilon)

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Read 16 bytes; raises ``RejectedError``."""
        if len(encoded) != POSITION_BYTES:
            msg = f"a position has {POSITION_BYTES} bytes, not {len(encoded)}"
            raise RejectedError(Reason.FIELD, msg)
        latitude, longitude, time, epsilon = _FORMAT.unpack(encoded)
        try:
            return cls(latitude / _UNITS, longitude / _UNITS, time, epsilon)
        except InputError:
            msg = "a position holds numbers that no position has"
            raise RejectedError(Reason.FIELD, msg) from None


def encoded_remaining(metres: int | None) -> bytes:
    """The remaining distance in 3 bytes; longer ones than 16,777,214 m are cut to that."""
    if metres is None:
        return _UNKNOWN_REMAINING.to_bytes(3, "big")
    return min(metres, _UNKNOWN_REMAINING - 1).to_bytes(3, "big")


def decoded_remaining(encoded: bytes) -> int | None:
    """The remaining distance in metres; None where none was given."""
    metres = int.from_bytes(encoded, "big")
    return None if metres == _UNKNOWN_REMAINING else metres
