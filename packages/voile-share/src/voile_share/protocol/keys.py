"""The keys of the two parties and of the truck, by who holds them.

A capital letter is a public point, the small letter its secret: the paper calls both sides of the
sender's key by one name.  Secrets do not show in ``repr``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from voile_share.protocol.wire import checked_bytes, checked_number

__all__ = ["MOST_PARCEL_BYTES", "Materials", "PairKeys", "TrackingPublic", "TrackingSecret"]

MOST_PARCEL_BYTES = 64


@dataclass(frozen=True)
class Materials:
    """What a run of key establishment has brought together."""

    sender: bytes
    """Name of Alice."""
    receiver: bytes
    """Name of Bob."""
    sender_nonce: bytes
    receiver_nonce: bytes
    sender_material: bytes = field(repr=False)
    """F_AB."""
    receiver_material: bytes = field(repr=False)
    """F_BA."""


@dataclass(frozen=True)
class PairKeys:
    """What sender and receiver share after key establishment; 32 bytes each."""

    a: bytes = field(repr=False)
    """k_a."""
    b: bytes = field(repr=False)
    """k_b."""

    def __post_init__(self) -> None:
        checked_bytes("k_a", self.a, 32)
        checked_bytes("k_b", self.b, 32)


@dataclass(frozen=True)
class TrackingSecret:
    """What opens the reports about one parcel on one day: for its parties and their links."""

    tracking: bytes = field(repr=False)
    """tk."""
    address: bytes = field(repr=False)
    """K_b, a point."""
    opening: bytes = field(default=b"", repr=False)
    """k_a, for location keys encrypted under K_a: suite ``paper`` alone."""


@dataclass(frozen=True)
class TrackingPublic:
    """What the truck holds of one parcel on one day: enough to address, too little to recognise."""

    tracking: bytes
    """TK."""
    address: bytes
    """K_b."""
    encryption: bytes = b""
    """K_a: suite ``paper`` alone."""


def check_parcel_and_day(parcel: bytes, day: int) -> None:
    """Raise ``InputError`` unless a parcel's number and a day since 1970 can be encoded."""
    checked_bytes("the parcel's number", parcel, 1, MOST_PARCEL_BYTES)
    checked_number("day", day, 32)
