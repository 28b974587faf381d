"""Reports in the layouts of the paper and of DECOUPLES, in words of 32 bytes as contracts pay.

Nominal sizes.  From the paper: addresses of 512 bits (R and P, 32 bytes each), an encrypted key of
16 bytes, a location under AES 28 bytes longer than in the clear.  Where its text as we have it is
silent: three locations, one for each level of privacy; a key's word has room for which location it
opens; a location in the clear has 64 bytes, the whole of two words.  Any size from 37 to 64 bytes
gives the same words, and so the same gas within a percent.
"""

from __future__ import annotations

from voile_base.randomness import Randomness
from voile_share.protocol import TruckSlot
from voile_share.protocol.primitives import Kind, number

__all__ = ["DECOUPLES_FIGURE", "PAPER_FIGURE", "decouples_layout", "paper_layout"]

PAPER_FIGURE = 2.398e6
DECOUPLES_FIGURE = 2.864e6
WORD = 32
LOCATIONS = 3
LOCATION_BYTES = 64
CIPHER_BYTES = 28
KEY_BYTES = 16
_PAPER_SUITE = 2


def paper_layout(place: TruckSlot, items: int, randomness: Randomness) -> bytes:
    """Locations once, and for each item R, P and the encrypted key of its location."""
    drawn = randomness.within("paper", f"{place.slot}")
    locations = [
        _padded(drawn, f"location {level}", LOCATION_BYTES + CIPHER_BYTES)
        for level in range(LOCATIONS)
    ]
    keys = [
        _padded(drawn, f"R {item}", WORD)
        + _padded(drawn, f"P {item}", WORD)
        + _padded(drawn, f"key {item}", KEY_BYTES)[: WORD - 1]
        + number(item % LOCATIONS, 1)
        for item in range(items)
    ]
    return _message(place, b"".join(locations + keys))


def decouples_layout(place: TruckSlot, items: int, randomness: Randomness) -> bytes:
    """For each item R, P and its location, encrypted for its recipient."""
    drawn = randomness.within("decouples", f"{place.slot}")
    parts = [
        _padded(drawn, f"{name} {item}", size)
        for item in range(items)
        for name, size in (("R", WORD), ("P", WORD), ("location", LOCATION_BYTES))
    ]
    return _message(place, b"".join(parts))


def _message(place: TruckSlot, body: bytes) -> bytes:
    """With the head by which the contract knows truck and slot."""
    return Kind.REPORT.header(_PAPER_SUITE) + place.encode() + number(len(body), 3) + body


def _padded(drawn: Randomness, name: str, size: int) -> bytes:
    """Random bytes, with zeros up to whole words."""
    stream = drawn.key(name).stream(-(-size // 8)).tobytes()[:size]
    return stream + bytes(-size % WORD)
