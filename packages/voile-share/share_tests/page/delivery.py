"""A truck with a parcel on it, whose reports are made by the protocol and are of today."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from voile_base.randomness import Randomness
from voile_share.protocol import (
    Carried,
    Content,
    PairKeys,
    Position,
    ReaderLink,
    ReportPublisher,
    TrackingSecret,
    TruckSecrets,
    day_of,
    suite_named,
)

SLOT = 300
NUMBER = "mfrggzdfmztwq2lknnwg23tpobyxe43u"
"""Of a link: 160 bits as tokens are written."""
DELFT = (52.0116, 4.3571)
"""Where the truck is at first."""
ROADS = {
    "format": "voile-road-map",
    "version": 1,
    "attribution": "\N{COPYRIGHT SIGN} Cartographers of Delft",
    "middle": [5_201_160, 435_710],
    "reach": [-2000, -3000, 2000, 3000],
    "layers": [
        {"rank": "motorway", "counts": [2], "steps": [0, -3000, 0, 6000]},
        {"rank": "street", "counts": [3, 2], "steps": [-2000, 0, 4000, 0, 0, 100, -10, 5, 500, 9]},
    ],
}
"""A map of two layers."""
_VOILE = suite_named("voile")


def keys_of(parcel: bytes, day: int) -> TrackingSecret:
    """The secrets of a parcel on a day, of parties who are always the same."""
    return _VOILE.tracking_secret(PairKeys(b"a" * 31 + b"\1", b"b" * 31 + b"\1"), parcel, day)


@dataclass
class Delivery:
    """Reports slot by slot, from ``first``: three of them are of the past."""

    first: int = field(default_factory=lambda: int(time.time()) - 2 * SLOT - 30)
    parcel: bytes = b"3SABCD0123456"
    name: bytes = b"truck 1 of Delft"
    randomness: Randomness = field(default_factory=lambda: Randomness.seeded(7))

    def __post_init__(self) -> None:
        self.slot = self.first - SLOT
        self.truck = TruckSecrets.draw(self.name, self.randomness)
        self.publisher = ReportPublisher.new(self.truck)

    def link(self, parcel: bytes | None = None, shift: int = 0) -> ReaderLink:
        """A link for yesterday, today and tomorrow, or for as many days later."""
        first = day_of(self.first) - 1 + shift
        days = [keys_of(parcel or self.parcel, first + day) for day in range(3)]
        return ReaderLink.to(_VOILE, self.truck.card(), first, days)

    def report(
        self,
        place: tuple[float, float] = DELFT,
        remaining: int | None = 12_000,
        displacement: float = 600.0,
        parcel: bytes | None = None,
        age: int = 0,
        slot: int | None = None,
    ) -> tuple[int, bytes]:
        """The report of the next slot: mean displacement in metres, age of the fix in seconds."""
        self.slot = slot or self.slot + SLOT
        seen = Position(*place, self.slot - age, 2 / displacement)
        keys = keys_of(parcel or self.parcel, day_of(self.slot))
        carried = Carried(_VOILE.tracking_public(keys), 1, remaining)
        content = Content((seen, seen, seen), [carried], 10)
        self.publisher, message = self.publisher.publish(self.slot, content, self.randomness)
        return self.slot, message
