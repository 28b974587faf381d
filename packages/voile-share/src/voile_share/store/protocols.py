"""The interface of stores: a directory of who may do what, and a log of reports.

Both are synchronous and may be shared by threads.  What a method has returned is durable: no crash
of this process, of the database or of the machine takes it back.  A store decides nothing: who may
do what stands in ``platform``.  It keeps the rules that only it can keep against concurrent
callers, and says so by ``ConflictError``; where it cannot do its work now (disk full, database
away) it raises ``StoreError`` and has changed nothing.

A log of reports may be kept elsewhere than the directory, such as on a chain.

What a platform keeps: plain values, none of which holds a position, a token or a plain secret.

Tokens are kept as hashes (``ingest.fixes``), secrets of trucks and destinations sealed by the
platform's vault, reports as they were published.  Times are seconds since 1970 UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from voile_base.errors import InputError, VoileError
from voile_share.ingest.fixes import DeviceToken

__all__ = [
    "AccessToken",
    "Appended",
    "ArrivalPast",
    "Company",
    "ConflictError",
    "Device",
    "Directory",
    "Entry",
    "Mail",
    "MailBounds",
    "Parcel",
    "ReportLog",
    "StoreError",
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


class StoreError(VoileError):
    """The store cannot do its work now; nothing was changed, and one may try again."""


class ConflictError(InputError):
    """Another thing of the same name is there already, or what is referred to is not."""


class Appended(StrEnum):
    """What became of an entry."""

    NEW = "new"
    """It is in the log now."""
    KNOWN = "known"
    """The same message was there already; nothing was changed."""
    LATE = "late"
    """Its slot is not later than the truck's last one, whose message is another; not taken."""
    UNCHAINED = "unchained"
    """It does not continue the truck's chain of records: number or digest before; not taken."""


class ReportLog(Protocol):
    """Reports of trucks, by truck and slot; slots of a truck only move forward.

    Reports are messages of suite ``voile``; their number and the digest of the record before them
    must continue the chain of the truck, the first being number 0 after ``protocol.truck.GENESIS``.
    Signatures were checked before.
    """

    def append(self, entries: Sequence[Entry]) -> Sequence[Appended]:
        """Put entries away, durably, all in one step; what became of each, in their order.

        A batch may hold several reports of one truck, in the order of their slots.  States never
        lag behind reports: after a crash in between, a state may be ahead of the last report.
        """

    def last(self, truck: bytes) -> Entry | None:
        """The last report of a truck (without state)."""

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[Entry]:
        """At most ``limit`` reports of a truck later than ``slot``, ascending by slot."""

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes] | None = None
    ) -> Sequence[Entry]:
        """Reports of all trucks with ``first <= slot <= last``, ascending by (slot, truck).

        At most ``limit``, from the first that is greater than ``after`` on.
        """

    def records(self, truck: bytes, number: int, limit: int) -> Sequence[bytes]:
        """At most ``limit`` records (``protocol.Record``, encoded) of a truck from ``number`` on.

        They are there for reports that were forgotten, too.
        """

    def take_back(self, truck: bytes, slot: int) -> int:
        """Drop reports and records of a truck later than ``slot``, as its chain's end; how many.

        Raises ``InputError`` in a log that takes nothing back, such as a chain.
        """
        msg = (
            "reports on a chain are there for ever: retire the truck (DELETE /api/v1/trucks/TRUCK) "
            "and register another"
        )
        raise InputError(msg)

    def forget(self, before: int) -> int:
        """Drop the bodies of reports of slots before ``before``, keeping records and last reports.

        Returns how many were dropped.  A log that cannot forget, such as a chain, drops none.
        """

    def close(self) -> None:
        """Give back what is held."""


class Directory(Protocol):
    """Companies, tokens, trucks, devices, parcels, submissions, links; and states of streams."""

    def check_writing(self) -> None:
        """Write something that changes nothing; raises ``StoreError`` where that fails."""

    def add_company(self, company: Company, token: AccessToken) -> None:
        """Add a company with its first token."""

    def company(self, company: str) -> Company | None:
        """A company, closed ones too."""

    def companies(self) -> Sequence[Company]:
        """All, in the order of creation."""

    def close_company(self, company: str, now: float) -> None:
        """Set ``closed`` where it is not set."""

    def add_token(self, token: AccessToken) -> None:
        """Add an access token; raises ``ConflictError`` where its hash is there."""

    def token(self, hash_: bytes) -> AccessToken | None:
        """The access token of a hash, open or not."""

    def tokens(self, role: str) -> Sequence[AccessToken]:
        """All of a role, open or not, in the order of creation."""

    def replace_tokens(self, token: AccessToken, until: float | None = None) -> None:
        """Revoke what its holder has open, and add it, all in one step.

        The others are revoked from ``until`` on; None: from when it was created.
        """

    def revoke_tokens(self, role: str, holder: str, now: float) -> int:
        """Set ``revoked`` of all a holder's tokens where not set; how many there were."""

    def add_truck(self, truck: Truck, token: AccessToken | None = None) -> None:
        """Add a truck, with its token if it publishes itself; ``ConflictError``: number taken."""

    def truck(self, truck: bytes) -> Truck | None:
        """A truck, retired ones too."""

    def trucks(self, company: str | None = None) -> Sequence[Truck]:
        """Those of a company or of all, in the order of creation."""

    def retire_truck(self, truck: bytes, now: float) -> None:
        """Set ``retired`` where it is not set; forget its secrets and its state."""

    def add_device(self, device: Device) -> None:
        """Add a device's token; ``ConflictError`` where a token with this hash is there."""

    def device(self, hash_: bytes) -> Device | None:
        """The device of a token's hash, open or not."""

    def devices(self, truck: bytes) -> Sequence[Device]:
        """All tokens of a truck's devices, in the order of issue."""

    def devices_named(self, company: str, device: str) -> Sequence[Device]:
        """All tokens of a company's devices of one name, open or not, in the order of issue."""

    def revoke_device(self, truck: bytes, device: str, now: float) -> int:
        """Revoke all tokens of a truck's device that are not; how many."""

    def add_parcel(self, parcel: Parcel) -> None:
        """Add a parcel; ``ConflictError`` where the truck carries one of this number."""

    def parcels(self, truck: bytes) -> Sequence[Parcel]:
        """Those of a truck that are not ended, in the order of creation."""

    def end_parcel(self, truck: bytes, parcel: bytes, now: float) -> bool:
        """Set ``ended``, and forget destination and keys; False where none was carried."""

    def add_mail(self, mail: Mail, bounds: MailBounds | None = None) -> int | None:
        """Keep a submission; its number, or None where it is beyond the bounds.

        The same message again keeps its number, and does not count.
        """

    def mail(self, truck: bytes, number: int, limit: int) -> Sequence[Mail]:
        """At most ``limit`` submissions to a truck with greater numbers, ascending."""

    def drop_mail(self, before: float) -> int:
        """Drop submissions received before a time; how many."""

    def add_link(self, link: TrackingLink) -> None:
        """Add a link; ``ConflictError`` where its hash is there."""

    def link(self, hash_: bytes) -> TrackingLink | None:
        """The link of a hash, open or not."""

    def links(self, truck: bytes) -> Sequence[TrackingLink]:
        """All of a truck, in the order of creation."""

    def links_of(self, company: str) -> Sequence[TrackingLink]:
        """All of a company, to trucks and to parcels, in the order of creation."""

    def move_link(self, hash_: bytes, truck: bytes | None, notice: bytes) -> bool:
        """Let a link that follows a parcel show another truck, or none, with what its carrier says.

        False where there is no such link.
        """

    def links_beginning(self, start: bytes) -> Sequence[TrackingLink]:
        """Those whose hash begins with some bytes, at least one and fewer than it has."""

    def revoke_link(self, hash_: bytes, now: float) -> bool:
        """Set ``revoked`` where it is not set; False where there is no such link."""

    def save_states(self, states: Sequence[tuple[bytes, bytes]]) -> None:
        """Replace the states of some trucks' streams, durably, in one step."""

    def state(self, truck: bytes) -> bytes | None:
        """The last state of a truck's stream, saved here or appended with a report."""

    def replace_state(self, truck: bytes, before: bytes, after: bytes) -> bool:
        """Put another state in the place of one, durably; False where that is not the last one."""

    def arrival_past(self, company: str) -> ArrivalPast | None:
        """What is kept of a company's past drives, if anything is."""

    def replace_arrival_past(self, past: ArrivalPast) -> bool:
        """Keep it if its version is one more than that of what is kept (0: nothing is), durably.

        False where it is not, or the key is another one or was sealed anew meanwhile; nothing was
        changed then.
        """

    def fleet_key(self, company: str, ends: float) -> bytes | None:
        """The sealed key of a company's shared noise in the period that ends then."""

    def keep_fleet_key(self, company: str, ends: float, sealed: bytes) -> bytes:
        """Keep it durably if there is none; the one that is kept."""

    def drop_fleet_keys(self, now: float) -> int:
        """Drop those of periods that have ended; how many."""

    def forget_arrivals(self, company: str) -> bool:
        """Drop a company's past drives, their key and the fit; False where there was nothing."""

    def retentions(self) -> Mapping[str, int]:
        """For how many days things of companies are kept, where that was said."""

    def set_retention(self, company: str, days: int | None) -> None:
        """Say it, or take it back; ``ConflictError`` where there is no such company."""

    def purge_traffic(self, company: str, before: float) -> int:
        """Forget what a company's trucks sent and were sent before a time; how many things.

        Bodies of reports that this store holds (not the last of a truck), and submissions; no
        records.
        """

    def purge_ended(self, company: str, before: float) -> int:
        """Forget a company's parcels, links and trackers' tokens that have ended before a time."""

    def foreign_writes(self) -> int | None:
        """A number that changes when others than this object have written; None: nobody can tell.

        What was read before it, and that nobody here has changed since, still holds while it is the
        same.
        """

    def close(self) -> None:
        """Give back what is held."""
