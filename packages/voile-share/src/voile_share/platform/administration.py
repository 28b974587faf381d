"""What a company may set up: trucks, devices, parcels, and the links by which it lets readers in.

A company sees and changes what is its own; what is another's is unknown to it.  Tokens and numbers
of links are returned once and kept as hashes.

What the operator does, and no company may: who is let in at all, and who no longer.

Tokens are returned once and kept as hashes; a lost one is replaced, never shown again.

Where trucks must be known before their reports are taken, other than in the directory.

Such as a contract on a chain, which takes reports of registered accounts alone.

A link to a truck ends with the truck.  One to a parcel follows it: the company says on which truck
the parcel is now, and hands over what it has to say to the reader, sealed
(``protocol.parcel_link``).  The platform sees which truck the reports are to come from, as it must
to send them, and when that changes; whether a parcel that is on no truck waits, lies in a depot or
was delivered it does not.

A label is how operators know whose link it is.  It is kept sealed, as it may hold a name; to search
is to unseal those of one company.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from voile_base.errors import InputError
from voile_share.ingest import issue, token_hash
from voile_share.platform.core import AccessError, PlatformCore, printable
from voile_share.platform.writers import stream_context
from voile_share.positions import spent_on, without_time
from voile_share.protocol import (
    RejectedError,
    SealedNotice,
    TruckCard,
    TruckSecrets,
    Waybill,
    day_of,
)
from voile_share.protocol.primitives import TRUCK_BYTES
from voile_share.store import (
    AccessToken,
    Company,
    ConflictError,
    Device,
    Parcel,
    TokenRole,
    TrackingLink,
    Truck,
)

__all__ = [
    "Administration",
    "LabelledLink",
    "Linking",
    "Operating",
    "Registrar",
    "destination_context",
    "label_context",
    "secrets_context",
    "unsealed_destination",
    "unsealed_secrets",
]


class Registrar(Protocol):
    """Makes trucks known elsewhere, some time after they were added here."""

    def check(self, *, own_keys: bool) -> None:
        """Raise ``AccessError`` where such a truck could not publish."""

    def changed(self) -> None:
        """A truck was added or retired, or a company closed; returns at once."""

    def settle(self) -> None:
        """Do what is left to be done, reports that wait included; raises ``StoreError``."""

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Call back, in any thread, when there is something to settle."""

    def proof(self, truck: bytes, slot: int) -> bytes | None:
        """What proves to strangers that a report was taken, where that is not the log itself."""


_DAY = 86_400.0
_MOST_DAYS = 3_660.0
_MOST_DEVICE = 128


class Administration:
    """All that companies set up; nothing of it touches positions.

    Numbers of trucks are 16 bytes, those of parcels 1 to 64.
    """

    def __init__(
        self,
        core: PlatformCore,
        changed: Callable[[bytes], None],
        registrar: Registrar,
        arrived: Callable[[Company, Parcel, tuple[float, float], tuple[int, float] | None], None],
        delivered: Callable[[Truck, bytes], None] = lambda truck, parcel: None,
    ) -> None:
        """``changed`` is told which truck carries other parcels, or lets others in.

        ``arrived`` is told of a parcel that was delivered, before it is forgotten, and where;
        ``delivered`` of any that was, before it is ended as that.
        """
        self._core = core
        self._arrived = arrived
        self._delivered = delivered
        self._changed = changed
        self._registrar = registrar

    def add_truck(self, company: Company, card: bytes | None = None) -> tuple[Truck, str | None]:
        """A truck; with a card it holds its keys itself and gets a token to publish with.

        Raises ``AccessError``.
        """
        self._registrar.check(own_keys=card is not None)
        truck, token = self._added(company, card)
        self._registrar.changed()
        return truck, token

    def _added(self, company: Company, card: bytes | None) -> tuple[Truck, str | None]:
        now = self._core.clock()
        if card is None:
            drawn = self._core.fresh("truck")
            number = bytes.fromhex(drawn.token("truck"))
            secrets = TruckSecrets.draw(number, drawn)
            sealed = self._core.vault.seal(
                secrets_context(number), secrets.signing + secrets.sealing
            )
            truck = Truck(number, company.company, secrets.card().encode(), sealed, now)
            self._core.directory.add_truck(truck)
            return truck, None
        truck = Truck(_card(card).truck, company.company, card, None, now, own_keys=True)
        token = self._core.new_token()
        kept = AccessToken(token_hash(token), TokenRole.TRUCK, truck.truck.hex(), now)
        try:
            self._core.directory.add_truck(truck, kept)
        except ConflictError:
            raise AccessError("card-taken", "draw another number for the truck") from None
        return truck, token

    def trucks(self, company: Company | None = None) -> Sequence[Truck]:
        """Those of a company, or of all."""
        return self._core.directory.trucks(company.company if company else None)

    def retire_truck(self, company: Company, truck: bytes) -> None:
        """End a truck: its links expire, its tokens are refused; raises ``AccessError``."""
        self._core.own_truck(company, truck)
        now = self._core.clock()
        self._core.directory.retire_truck(truck, now)
        self._core.directory.revoke_tokens(TokenRole.TRUCK, truck.hex(), now)
        for device in self._core.directory.devices(truck):
            self._core.directory.revoke_device(truck, device.token.device, now)
        self._changed(truck)
        self._registrar.changed()

    def spent(self, company: Company, truck: bytes) -> float | None:
        """Epsilon of a truck's reports of this day (UTC), at the platform's delta.

        It follows from when they were published, which is public.  Raises ``AccessError``, also for
        a truck that holds its keys itself.
        """
        held, now = self._core.own_truck(company, truck), self._core.clock()
        if held.own_keys:
            raise AccessError("own-keys")
        sealed = self._core.directory.state(truck)
        if sealed is None:
            return 0.0
        state = self._core.vault.unseal(stream_context(truck), sealed)
        return spent_on(state, day_of(int(now)), self._core.settings.delta)

    def add_device(
        self, company: Company, truck: bytes, device: str, days: float | None = None
    ) -> str:
        """The token of a tracker on a truck whose keys the platform holds.

        Raises ``AccessError``.
        """
        if self._core.own_truck(company, truck).own_keys:
            raise AccessError("own-keys", "its tracker sends to the truck's own program")
        name = printable(device, _MOST_DEVICE, "device-unfit")
        if days is not None and not 0 < days <= _MOST_DAYS:
            raise AccessError("days-out-of-range", f"at most {_MOST_DAYS:.0f}")
        lifetime = None if days is None else days * _DAY
        token, kept = issue(name, self._core.clock(), lifetime, self._core.fresh("device"))
        self._core.directory.add_device(Device(kept, truck))
        # Whoever goes by names must look again: this one may be on two trucks now.
        for same in self._core.directory.devices_named(company.company, name):
            self._changed(same.truck)
        return token

    def devices(self, company: Company, truck: bytes) -> Sequence[Device]:
        """Tokens of a truck's devices; raises ``AccessError``."""
        self._core.own_truck(company, truck)
        return self._core.directory.devices(truck)

    def revoke_device(self, company: Company, truck: bytes, device: str) -> None:
        """Refuse a device from now on; raises ``AccessError``."""
        self._core.own_truck(company, truck)
        if all(kept.token.device != device for kept in self._core.directory.devices(truck)):
            raise AccessError("device-unknown")
        self._core.directory.revoke_device(truck, device, self._core.clock())
        self._changed(truck)

    def add_parcel(
        self,
        company: Company,
        truck: bytes,
        parcel: bytes,
        sender: bytes,
        receiver: bytes,
        destination: tuple[float, float] | None = None,
        carrier: bytes | None = None,
    ) -> Parcel:
        """Put a parcel on a truck; the same again changes nothing.

        ``sender`` and ``receiver`` are the Ed25519 keys by which the parties sign; ``destination``
        is (latitude, longitude) in degrees, without which they see the far position alone;
        ``carrier`` the number of the carrier for whose trucks they have signed, if they have.

        Raises ``AccessError``.
        """
        self._core.own_truck(company, truck)
        try:
            waybill = Waybill(parcel, sender, receiver, carrier)
        except InputError as error:
            unfit = isinstance(parcel, bytes) and 1 <= len(parcel) <= 64
            raise AccessError("key-unfit" if unfit else "parcel-unfit", str(error)) from None
        sealed = None
        if destination is not None:
            latitude, longitude = destination
            if not (abs(latitude) <= 90 and abs(longitude) <= 180):
                raise AccessError("place-unfit", "latitude and longitude, in degrees")
            place = json.dumps([float(latitude), float(longitude)]).encode()
            sealed = self._core.vault.seal(destination_context(truck, parcel), place)
        now = self._core.clock()
        parties = waybill.sender, waybill.receiver
        kept = Parcel(parcel, truck, *parties, sealed, now, carrier=carrier)
        try:
            self._core.directory.add_parcel(kept)
        except ConflictError:
            return self._same_parcel(kept)
        self._changed(truck)
        return kept

    def _same_parcel(self, asked: Parcel) -> Parcel:
        """The parcel that is carried already, if it is the one that is asked for."""
        for held in self._core.directory.parcels(asked.truck):
            if held.parcel == asked.parcel:
                same = replace(asked, destination=held.destination, created=held.created) == held
                places = [unsealed_destination(self._core, one) for one in (held, asked)]
                if same and places[0] == places[1]:
                    return held
        raise AccessError("parcel-carried", "end it first, or give the other one another number")

    def parcels(self, company: Company, truck: bytes) -> Sequence[Parcel]:
        """What a truck carries; raises ``AccessError``."""
        self._core.own_truck(company, truck)
        return self._core.directory.parcels(truck)

    def end_parcel(
        self,
        company: Company,
        truck: bytes,
        parcel: bytes,
        *,
        delivered: bool = False,
        stops: tuple[int, float] | None = None,
    ) -> None:
        """Deliver a parcel, or take it off; its keys are forgotten.  Raises ``AccessError``.

        Of one that was ``delivered`` now hooks are told, and from it is learnt how long arrivals
        take; ``stops`` is how many were said to be left before it, and since when.
        """
        carrying = self._core.own_truck(company, truck)
        if delivered:
            self._delivered(carrying, parcel)
        held = [one for one in self._core.directory.parcels(truck) if one.parcel == parcel]
        place = unsealed_destination(self._core, held[0]) if held and delivered else None
        if place is not None:
            self._arrived(company, held[0], place, stops)
        if not self._core.directory.end_parcel(truck, parcel, self._core.clock()):
            raise AccessError("parcel-unknown")
        self._changed(truck)


def secrets_context(truck: bytes) -> bytes:
    """What the sealed secrets of a truck are bound to."""
    return b"truck secrets" + truck


def destination_context(truck: bytes, parcel: bytes) -> bytes:
    """What the sealed destination of a parcel is bound to."""
    return b"destination" + truck + parcel


def unsealed_secrets(core: PlatformCore, truck: Truck) -> TruckSecrets:
    """The secrets of a truck whose keys the platform holds; raises ``AccessError``."""
    if truck.secrets is None:
        raise AccessError("own-keys")
    both = core.vault.unseal(secrets_context(truck.truck), truck.secrets)
    return TruckSecrets(truck.truck, both[:32], both[32:])


def unsealed_destination(core: PlatformCore, parcel: Parcel) -> tuple[float, float] | None:
    """Latitude and longitude of where a parcel goes; private."""
    if parcel.destination is None:
        return None
    context = destination_context(parcel.truck, parcel.parcel)
    latitude, longitude = json.loads(core.vault.unseal(context, parcel.destination))
    return latitude, longitude


def _card(encoded: bytes) -> TruckCard:
    try:
        card = TruckCard.decode(encoded)
    except RejectedError as error:
        raise AccessError("card-unfit", str(error)) from None
    assert len(card.truck) == TRUCK_BYTES
    return card


_MOST_NAME = 200


@dataclass(frozen=True)
class _KnownCompany:
    """A company, and how much of the service it uses."""

    company: Company
    trucks: int
    """That are not retired."""


@dataclass(frozen=True)
class _KnownAuditor:
    """Whoever was admitted under one name."""

    name: str
    since: float
    """When the first token was given."""
    tokens: int
    """That are open; none: revoked."""


class Operating:
    """Companies and auditors, as their operator sees them."""

    def __init__(
        self, core: PlatformCore, changed: Callable[[bytes], None], registrar: Registrar
    ) -> None:
        """``changed`` is told which truck lets others in."""
        self._core = core
        self._changed = changed
        self._registrar = registrar

    def open_company(self, name: str) -> tuple[Company, str]:
        """A new company and its token; raises ``AccessError`` for a name that is none.

        Companies may have one name: their numbers tell them apart.
        """
        now, token = self._core.clock(), self._core.new_token()
        number = self._core.fresh("company").token("company")
        company = Company(number, printable(name, _MOST_NAME, "name-unfit"), now)
        self._core.directory.add_company(
            company, AccessToken(token_hash(token), TokenRole.COMPANY, number, now)
        )
        return company, token

    def renew_company(self, number: str, overlap: float = 0.0) -> tuple[Company, str]:
        """A new token for an open company, whose others are refused ``overlap`` hours from now on.

        Raises ``InputError``.
        """
        company = self._company(number)
        if company.closed is not None:
            msg = f"company {number} was closed, and closed companies are not opened again"
            raise InputError(msg)
        now, token = self._core.clock(), self._core.new_token()
        self._core.directory.replace_tokens(
            AccessToken(token_hash(token), TokenRole.COMPANY, number, now), now + overlap * 3_600
        )
        return company, token

    def close_company(self, number: str) -> None:
        """Refuse all that is a company's from now on; raises ``InputError``."""
        self._company(number)
        now = self._core.clock()
        self._core.directory.close_company(number, now)
        self._core.directory.revoke_tokens(TokenRole.COMPANY, number, now)
        for truck in self._core.directory.trucks(number):
            self._changed(truck.truck)
        self._registrar.changed()

    def set_back(self, truck: bytes) -> int:
        """Take back what a truck has published of times that have not come; how many reports.

        It then goes on with its next position.  Where its reports were read already, its chain of
        records has another end than auditors know.  Raises ``InputError``, and ``StoreError``.
        """
        directory, log, now = self._core.directory, self._core.log, self._core.clock()
        if directory.truck(truck) is None:
            msg = f"there is no truck {truck.hex()}"
            raise InputError(msg)
        last = log.last(truck)
        if last is None or last.slot <= now:
            msg = (
                f"the last report of truck {truck.hex()} is not ahead of this machine's clock, so "
                "there is nothing to take back"
            )
            raise InputError(msg)
        context, sealed = stream_context(truck), directory.state(truck)
        if sealed is not None:
            state = without_time(self._core.vault.unseal(context, sealed))
            directory.replace_state(truck, sealed, self._core.vault.seal(context, state))
        taken = log.take_back(truck, int(now))
        self._changed(truck)
        return taken

    def set_retention(self, number: str, days: int | None) -> None:
        """For how many days a company's data are kept; None: as the settings say.

        Raises ``InputError``.
        """
        self._company(number)
        self._core.directory.set_retention(number, days)

    def retentions(self) -> Sequence[tuple[str, str, int]]:
        """Number, name and days of each open company."""
        own = self._core.directory.retentions()
        return [
            (one.company, one.name, own.get(one.company, self._core.settings.keep_days))
            for one in self._core.directory.companies()
            if one.closed is None
        ]

    def companies(self) -> Sequence[_KnownCompany]:
        """All, closed ones too, in the order in which they were opened."""
        trucks = Counter(
            truck.company for truck in self._core.directory.trucks() if truck.retired is None
        )
        return [
            _KnownCompany(company, trucks[company.company])
            for company in self._core.directory.companies()
        ]

    def open_auditor(self, name: str) -> str:
        """The token of a new auditor; raises ``AccessError``."""
        token, now = self._core.new_token(), self._core.clock()
        holder = printable(name, _MOST_NAME, "name-unfit")
        self._core.directory.add_token(
            AccessToken(token_hash(token), TokenRole.AUDITOR, holder, now)
        )
        return token

    def revoke_auditor(self, name: str) -> int:
        """Refuse all tokens of an auditor from now on; how many were open.

        Raises ``InputError``.
        """
        revoked = self._core.directory.revoke_tokens(
            TokenRole.AUDITOR, name.strip(), self._core.clock()
        )
        if not revoked:
            msg = f"no auditor called {name.strip()!r} has an open token"
            raise InputError(msg)
        return revoked

    def auditors(self) -> Sequence[_KnownAuditor]:
        """All, revoked ones too, in the order in which they were first admitted."""
        now, since, tokens = self._core.clock(), dict[str, float](), Counter[str]()
        for token in self._core.directory.tokens(TokenRole.AUDITOR):
            since.setdefault(token.holder, token.created)
            tokens[token.holder] += token.is_open(now)
        return [_KnownAuditor(name, first, tokens[name]) for name, first in since.items()]

    def _company(self, number: str) -> Company:
        company = self._core.directory.company(number)
        if company is None:
            msg = f"there is no company {number}"
            raise InputError(msg)
        return company


_HOUR = 3_600.0
_LEAST_HOURS, _MOST_HOURS = 1 / 60, 31 * 24.0
_MOST_LABEL = 200


def label_context(hash_: bytes) -> bytes:
    """What the sealed label of a link is bound to."""
    return b"label of a link" + hash_


@dataclass(frozen=True, slots=True)
class LabelledLink:
    """A link, and how its company calls it."""

    link: TrackingLink
    label: str


class Linking:
    """The links of companies."""

    def __init__(self, core: PlatformCore, moved: Callable[[bytes], None]) -> None:
        """``moved`` is told the hash of a link that shows another truck now."""
        self._core = core
        self._moved = moved

    def add_link(
        self, company: Company, truck: bytes | None, hours: float, label: str = ""
    ) -> tuple[str, TrackingLink]:
        """The number of a new link; raises ``AccessError``.

        To the reports of a truck, or, where that is None, to a parcel that is on no truck yet.
        """
        if truck is not None:
            self._core.own_truck(company, truck)
        number, now = self._core.new_token(), self._core.clock()
        hash_ = token_hash(number)
        link = TrackingLink(
            hash_,
            truck,
            now,
            now + _checked(hours) * _HOUR,
            company=company.company,
            follows_parcel=truck is None,
            label=self._sealed(hash_, label),
        )
        self._core.directory.add_link(link)
        return number, link

    def links(self, company: Company, truck: bytes) -> Sequence[TrackingLink]:
        """Links to a truck that have not expired, revoked ones too; raises ``AccessError``."""
        self._core.own_truck(company, truck)
        now = self._core.clock()
        return [
            link
            for link in self._core.directory.links(truck)
            if now < link.expires and not link.follows_parcel
        ]

    def links_of(self, company: Company, search: str = "") -> Sequence[LabelledLink]:
        """All links of a company that have not expired and whose label holds some words.

        Capital letters are as good as small ones.
        """
        now, wanted = self._core.clock(), search.strip().casefold()
        those = [
            LabelledLink(link, self.label(link))
            for link in self._core.directory.links_of(company.company)
            if now < link.expires
        ]
        return [one for one in those if wanted in one.label.casefold()]

    def label(self, link: TrackingLink) -> str:
        """How its company calls a link; empty where it has none."""
        if link.label is None:
            return ""
        return self._core.vault.unseal(label_context(link.hash), link.label).decode()

    def move_link(
        self, company: Company, identity: str, truck: bytes | None, notice: bytes
    ) -> None:
        """Let a link that follows a parcel show another truck, or none; raises ``AccessError``.

        ``notice`` is what its reader is told (``SealedNotice``); raises ``RejectedError`` where it
        is none.
        """
        SealedNotice.decode(notice)
        if truck is not None:
            self._core.own_truck(company, truck)
        links = [
            link
            for link in self._core.directory.links_beginning(bytes.fromhex(identity))
            if link.follows_parcel and self._is_of(company, link)
        ]
        if not links:
            raise AccessError("link-unknown")
        for link in links:
            self._core.directory.move_link(link.hash, truck, notice)
            self._moved(link.hash)

    def revoke_link(self, company: Company, number: str) -> None:
        """Close a link from now on; raises ``AccessError``."""
        link = self._core.directory.link(token_hash(number))
        self._revoke(company, [] if link is None else [link])

    def revoke_link_of(self, company: Company, identity: str) -> None:
        """The same for the link of an ``identity``, where nobody knows its number any more.

        Raises ``AccessError``.
        """
        self._revoke(company, self._core.directory.links_beginning(bytes.fromhex(identity)))

    def _revoke(self, company: Company, links: Sequence[TrackingLink]) -> None:
        own = [link for link in links if self._is_of(company, link)]
        if not own:
            raise AccessError("link-unknown")
        for link in own:
            self._core.directory.revoke_link(link.hash, self._core.clock())
            self._moved(link.hash)

    def _is_of(self, company: Company, link: TrackingLink) -> bool:
        return self._core.company_behind(link) == company.company

    def _sealed(self, hash_: bytes, label: str) -> bytes | None:
        if not label.strip():
            return None
        name = printable(label, _MOST_LABEL, "label-unfit")
        return self._core.vault.seal(label_context(hash_), name.encode())


def _checked(hours: float) -> float:
    if not (math.isfinite(hours) and _LEAST_HOURS <= hours <= _MOST_HOURS):
        raise AccessError("hours-out-of-range", f"from a minute to {_MOST_HOURS:.0f} hours")
    return hours
