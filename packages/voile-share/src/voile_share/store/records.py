"""What a platform keeps: plain values, none of which holds a position, a token or a plain secret.

Tokens are kept as hashes (``ingest.tokens``), secrets of trucks and destinations sealed by the
platform's vault, reports as they were published.  Times are seconds since 1970 UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from voile_share.ingest.tokens import DeviceToken

__all__ = [
    "AccessToken",
    "ArrivalPast",
    "Company",
    "Device",
    "Entry",
    "Mail",
    "MailBounds",
    "Parcel",
    "TokenRole",
    "TrackingLink",
    "Truck",
]

_IDENTITY_BYTES = 8


class TokenRole(StrEnum):
    """What an access token lets its holder do."""

    COMPANY = "company"
    """Register trucks, devices, parcels and links of one company."""
    TRUCK = "truck"
    """Publish the reports of one truck, and fetch what parties have submitted to it."""
    AUDITOR = "auditor"
    """Read the records of all trucks."""


@dataclass(frozen=True, slots=True)
class Company:
    """A certificate owner: who may register trucks."""

    company: str
    """32 hexadecimal digits, drawn at random."""
    name: str
    created: float
    closed: float | None = None
    """Since when all its tokens and links are refused."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token of a company, a truck or an auditor; it opens nothing."""

    hash: bytes = field(repr=False)
    """``ingest.token_hash`` of the token: 32 bytes."""
    role: TokenRole
    holder: str
    """The company's number, the truck's in hexadecimal, or the auditor's name."""
    created: float
    expires: float | None = None
    revoked: float | None = None

    def is_open(self, now: float) -> bool:
        """Whether it is neither expired nor revoked."""
        ended = self.expires is not None and now >= self.expires
        return not ended and (self.revoked is None or now < self.revoked)


@dataclass(frozen=True, slots=True)
class Truck:
    """A truck, and who writes its reports."""

    truck: bytes
    """16 bytes, drawn at random."""
    company: str
    card: bytes
    """``protocol.TruckCard``, encoded: public."""
    secrets: bytes | None = field(default=None, repr=False)
    """Its secrets, sealed by the vault, where the platform perturbs and encrypts for it; None where
    the truck does so itself, and where it is retired."""
    created: float = 0.0
    retired: float | None = None
    own_keys: bool = False
    """Whether it perturbs and encrypts by itself, and the platform sees ciphertext alone."""


@dataclass(frozen=True, slots=True)
class Device:
    """A tracker on a truck, which may send positions and nothing else."""

    token: DeviceToken
    truck: bytes


@dataclass(frozen=True, slots=True)
class Parcel:
    """A parcel on a truck."""

    parcel: bytes
    """Its number, 1 to 64 bytes; together with the truck it is unique among those not ended."""
    truck: bytes
    sender: bytes
    """The Ed25519 key by which its sender signs."""
    receiver: bytes
    """The Ed25519 key by which its receiver signs."""
    destination: bytes | None = field(default=None, repr=False)
    """Where it goes, sealed by the vault; None where that was not said."""
    created: float = 0.0
    ended: float | None = None
    """Since when it is delivered, or taken off the truck."""
    carrier: bytes | None = None
    """The number of the carrier for whose trucks its parties have signed; None: for this one."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A submission of a party to a truck, sealed for the truck (``SealedSubmission``)."""

    truck: bytes
    message: bytes
    received: float
    number: int = 0
    """Given by the store: ascending in the order of arrival."""


@dataclass(frozen=True, slots=True)
class MailBounds:
    """By how much a link, and all links together, may fill the box of a truck."""

    link: bytes | None = field(repr=False)
    """The hash of the link by which a submission comes; None: its company brings it."""
    most_of_link: int
    """Submissions that it brings in its life."""
    most_of_truck: int
    """Submissions that wait for the truck."""


@dataclass(frozen=True, slots=True)
class TrackingLink:
    """A door to the reports of one truck, or of the truck that carries one parcel.

    The keys that open them are not here.
    """

    hash: bytes = field(repr=False)
    """``ingest.token_hash`` of the link's number."""
    truck: bytes | None
    """None: it follows a parcel that is on no truck now."""
    created: float
    expires: float
    revoked: float | None = None
    company: str = ""
    """The number of the company that has opened it."""
    follows_parcel: bool = False
    label: bytes | None = field(default=None, repr=False)
    """How its company calls it, sealed by the vault."""
    notice: bytes | None = field(default=None, repr=False)
    """The last that the carrier has said to its reader (``protocol.SealedNotice``)."""

    @property
    def identity(self) -> str:
        """By which its company names it where nobody has its number; it opens nothing."""
        return self.hash[:_IDENTITY_BYTES].hex()

    def is_open(self, now: float) -> bool:
        """Whether it is neither expired nor revoked."""
        return now < self.expires and (self.revoked is None or now < self.revoked)


@dataclass(frozen=True, slots=True)
class ArrivalPast:
    """What a company's past drives teach of arrivals; everything is sealed."""

    company: str
    version: int
    """Grows by one with each change, by which concurrent ones are told."""
    secret: bytes = field(repr=False)
    """The key that seals the rest, sealed by the vault."""
    past: bytes = field(repr=False)
    """Drives that are over."""
    fitted: bytes | None = field(default=None, repr=False)
    """The table that was fitted to them, or that the company has published."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One report in the log."""

    truck: bytes
    slot: int
    """Its first second since 1970."""
    message: bytes
    """The whole report (``protocol.Report``), as published."""
    state: bytes | None = field(default=None, repr=False)
    """What the truck's stream needs to go on after this report, sealed by the vault.  It replaces
    the state before it and is never read back with reports."""
