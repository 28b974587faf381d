"""What belongs to a parcel and not to a truck: a root of keys, and the link made of it.

A link of ``reader.ReaderLink`` holds the verifying key of one truck, and ends with it.  A parcel
link holds the verifying key of the *carrier* and a root.  From the root follow, for each day, the
keys by which reports are opened, whichever truck publishes them, and one key that opens the
carrier's notices (``notice``), which say which truck that is.  So a link that was given on the
first day opens all the way.

Each party has a root of its own: sender and receiver read by different keys, and nobody who has the
one's link can open what the other's does.

Claim: who has neither root nor link learns from the public halves (TK, K_b of each day, N) which
trucks hold no more than from those of ``voile_suite``: HKDF is a pseudorandom function, so keys of
a day tell nothing of other days' or of the notices'.  A former truck has public halves alone: it
can address the parcel, which the carrier's cards keep readers from believing, and recognises
nothing of what the next truck publishes.

Algorithm: tk = HKDF(root; day), K_b = the Ed25519 key of HKDF(root; day), which is a point of the
group of prime order and which browsers compute, n = HKDF(root), N = n G by X25519.

Departure from ``reader.ReaderLink``: the days of a link are no longer bounded by its keys, as one
root gives them all; they are bounded by the days for which both parties have signed public halves,
for no truck addresses a parcel without them.  A link of 31 days has 72 bytes so, and not 2,040.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from voile_base.errors import InputError
from voile_share.protocol import group
from voile_share.protocol.derivation import hkdf
from voile_share.protocol.fragment import Fragment
from voile_share.protocol.keys import TrackingSecret
from voile_share.protocol.notice import Notice, SealedNotice
from voile_share.protocol.reader import MOST_DAYS, Reader, ReaderLink
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.signing import verifying_key
from voile_share.protocol.suites import suite_named, suite_of_code
from voile_share.protocol.wire import (
    TRUCK_BYTES,
    Kind,
    checked_bytes,
    checked_number,
    framed,
    header,
    number,
    opened,
)

if TYPE_CHECKING:
    from voile_share.protocol.suite import Sighting, Suite

__all__ = ["ParcelLink", "ParcelReader", "ParcelRoot", "carrier_number"]


def carrier_number(verifying: bytes) -> bytes:
    """The 16 bytes by which submissions and waybills name the carrier of a key."""
    return sha256(framed(b"voile 1 carrier", verifying)).digest()[:TRUCK_BYTES]


@dataclass(frozen=True)
class ParcelRoot:
    """From which all keys of one reader of one parcel follow; 32 bytes."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        checked_bytes("the root of a parcel's keys", self.secret, 32)

    def day(self, day: int) -> TrackingSecret:
        """What opens the reports of a day (since 1970), of any truck."""
        checked_number("day", day, 32)
        tracking = hkdf(self.secret, 32, "voile 1 parcel tracking", number(day, 4))
        address = hkdf(self.secret, 32, "voile 1 parcel address", number(day, 4))
        return TrackingSecret(tracking, verifying_key(address))

    @property
    def notices(self) -> bytes:
        """n, which opens what the carrier says."""
        return hkdf(self.secret, 32, "voile 1 parcel notices")

    @property
    def box(self) -> bytes:
        """N, to which the carrier seals."""
        return group.x25519_public(self.notices)


@dataclass(frozen=True)
class ParcelLink(Fragment):
    """Everything that one reader of a parcel needs; raises ``InputError``."""

    carrier: bytes
    """The Ed25519 key of who carries the parcel and vouches for trucks."""
    root: ParcelRoot
    first_day: int
    days: int

    def __post_init__(self) -> None:
        checked_bytes("the carrier's verifying key", self.carrier, 32)
        checked_number("the first day", self.first_day, 32)
        if not 1 <= self.days <= MOST_DAYS:
            msg = f"a link is for 1 to {MOST_DAYS} days"
            raise InputError(msg)

    @property
    def suite(self) -> Suite:
        """Always ``voile``."""
        return suite_named()

    def on(self, truck: bytes, verifying: bytes) -> ReaderLink:
        """The link to the reports of one truck."""
        days = range(self.first_day, self.first_day + self.days)
        return ReaderLink(
            self.suite, truck, verifying, self.first_day, tuple(map(self.root.day, days))
        )

    def encode(self) -> bytes:
        """72 bytes."""
        head = header(Kind.PARCEL_LINK, self.suite.code) + self.carrier + self.root.secret
        return head + number(self.first_day, 4) + number(self.days, 1)

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.PARCEL_LINK)
        if suite_of_code(code).code != suite_named().code:
            fields.reject(Reason.SUITE, "is of a suite that has no links of parcels")
        carrier, root = fields.take(32), fields.take(32)
        first_day, days = fields.number(4), fields.number(1)
        fields.finish()
        group.check_point(carrier)
        if not 1 <= days <= MOST_DAYS:
            fields.reject(Reason.FIELD, f"is for {days} days, not for 1 to {MOST_DAYS}")
        return cls(carrier, ParcelRoot(root), first_day, days)


@dataclass(frozen=True)
class ParcelReader:
    """One who follows a parcel from truck to truck.

    Which truck, the carrier's last notice says, and nobody else: a report of another truck is
    ``FOREIGN``, whoever sends it.
    """

    link: ParcelLink
    notice: Notice | None = None
    """The last one that was accepted."""
    _lasts: Mapping[bytes, int] = field(default_factory=lambda: MappingProxyType({}))
    """The last slot that was read of each truck."""

    def receive(self, message: bytes) -> Self:
        """The next state, after a sealed notice; the same again changes nothing.

        Raises ``RejectedError``.
        """
        notice = SealedNotice.decode(message).open(self.link.root.notices, self.link.carrier)
        if self.notice is not None:
            if notice == self.notice:
                return self
            if notice.number <= self.notice.number:
                msg = "the notice is not later than the one before it"
                raise RejectedError(Reason.REPLAYED, msg)
        return replace(self, notice=notice)

    def read(self, message: bytes, now: int) -> tuple[Self, Sighting | None]:
        """As ``Reader.read``, of the truck that the last notice names; raises ``RejectedError``."""
        card = None if self.notice is None else self.notice.card
        if card is None:
            msg = "the carrier does not say that the parcel is on a truck"
            raise RejectedError(Reason.FOREIGN, msg)
        before = Reader(self.link.on(card.truck, card.verifying), self._lasts.get(card.truck, -1))
        after, sighting = before.read(message, now)
        return replace(self, _lasts={**self._lasts, card.truck: after.last}), sighting
