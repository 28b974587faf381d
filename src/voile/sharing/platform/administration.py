"""Companies, trucks, devices, parcels and links: who may set up what.

A company sees and changes what is its own; what is another's is unknown to it.  Tokens and numbers
of links are returned once and kept as hashes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from voile.errors import InputError
from voile.sharing.ingest import issue, token_hash
from voile.sharing.platform.access import AccessError
from voile.sharing.platform.ground import Ground
from voile.sharing.platform.registrar import NoRegistrar, Registrar
from voile.sharing.protocol import RejectedError, TruckCard, TruckSecrets, Waybill
from voile.sharing.protocol.wire import TRUCK_BYTES
from voile.sharing.store import (
    AccessToken,
    Company,
    ConflictError,
    Device,
    Parcel,
    Role,
    TrackingLink,
    Truck,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Administration", "unsealed_destination", "unsealed_secrets"]

_DAY, _HOUR = 86_400.0, 3_600.0
_MOST_DAYS, _MOST_HOURS = 3_660.0, 31 * 24.0
_MOST_NAME, _MOST_DEVICE = 200, 128
_SECRETS = b"truck secrets"
_DESTINATION = b"destination"


class Administration:
    """Everything that changes who may do what; nothing of it touches positions.

    Numbers of trucks are 16 bytes, those of parcels 1 to 64.
    """

    def __init__(
        self,
        ground: Ground,
        changed: Callable[[bytes], None],
        registrar: Registrar | None = None,
    ) -> None:
        """``changed`` is told which truck carries other parcels, or lets others in."""
        self._ground = ground
        self._changed = changed
        self._registrar = registrar or NoRegistrar()

    def open_company(self, name: str) -> tuple[Company, str]:
        """A new company and its token; raises ``AccessError`` for a name that is none."""
        now, token = self._ground.clock(), self._ground.new_token()
        number = self._ground.fresh("company").token("company")
        company = Company(number, _printable(name, _MOST_NAME, "name-unfit"), now)
        self._ground.directory.add_company(
            company, AccessToken(token_hash(token), Role.COMPANY, number, now)
        )
        return company, token

    def close_company(self, number: str) -> None:
        """Refuse all that is a company's from now on; raises ``AccessError``."""
        company = self._ground.directory.company(number)
        if company is None:
            raise AccessError("token-refused", "there is no such company")
        now = self._ground.clock()
        self._ground.directory.close_company(number, now)
        self._ground.directory.revoke_tokens(Role.COMPANY, number, now)
        for truck in self._ground.directory.trucks(number):
            self._changed(truck.truck)

    def open_auditor(self, name: str) -> str:
        """The token of a new auditor; raises ``AccessError``."""
        token, now = self._ground.new_token(), self._ground.clock()
        holder = _printable(name, _MOST_NAME, "name-unfit")
        self._ground.directory.add_token(AccessToken(token_hash(token), Role.AUDITOR, holder, now))
        return token

    def add_truck(self, company: Company, card: bytes | None = None) -> tuple[Truck, str | None]:
        """A truck; with a card it holds its keys itself and gets a token to publish with.

        Raises ``AccessError``.
        """
        self._registrar.check(own_keys=card is not None)
        truck, token = self._added(company, card)
        self._registrar.changed()
        return truck, token

    def _added(self, company: Company, card: bytes | None) -> tuple[Truck, str | None]:
        now = self._ground.clock()
        if card is None:
            drawn = self._ground.fresh("truck")
            number = bytes.fromhex(drawn.token("truck"))
            secrets = TruckSecrets.draw(number, drawn)
            sealed = self._ground.vault.seal(_SECRETS + number, secrets.signing + secrets.sealing)
            truck = Truck(number, company.company, secrets.card().encode(), sealed, now)
            self._ground.directory.add_truck(truck)
            return truck, None
        truck = Truck(_card(card).truck, company.company, card, None, now)
        token = self._ground.new_token()
        kept = AccessToken(token_hash(token), Role.TRUCK, truck.truck.hex(), now)
        try:
            self._ground.directory.add_truck(truck, kept)
        except ConflictError:
            raise AccessError("card-taken", "draw another number for the truck") from None
        return truck, token

    def trucks(self, company: Company | None = None) -> Sequence[Truck]:
        """Those of a company, or of all."""
        return self._ground.directory.trucks(company.company if company else None)

    def retire_truck(self, company: Company, truck: bytes) -> None:
        """End a truck: its links expire, its tokens are refused; raises ``AccessError``."""
        self._ground.own_truck(company, truck)
        now = self._ground.clock()
        self._ground.directory.retire_truck(truck, now)
        self._ground.directory.revoke_tokens(Role.TRUCK, truck.hex(), now)
        for device in self._ground.directory.devices(truck):
            self._ground.directory.revoke_device(truck, device.token.device, now)
        self._changed(truck)
        self._registrar.changed()

    def add_device(
        self, company: Company, truck: bytes, device: str, days: float | None = None
    ) -> str:
        """The token of a tracker on a truck whose keys the platform holds.

        Raises ``AccessError``.
        """
        if self._ground.own_truck(company, truck).secrets is None:
            raise AccessError("own-keys", "its tracker sends to the truck's own program")
        name = _printable(device, _MOST_DEVICE, "device-unfit")
        if days is not None and not 0 < days <= _MOST_DAYS:
            raise AccessError("days-out-of-range", f"at most {_MOST_DAYS:.0f}")
        lifetime = None if days is None else days * _DAY
        token, kept = issue(name, self._ground.clock(), lifetime, self._ground.fresh("device"))
        self._ground.directory.add_device(Device(kept, truck))
        return token

    def devices(self, company: Company, truck: bytes) -> Sequence[Device]:
        """Tokens of a truck's devices; raises ``AccessError``."""
        self._ground.own_truck(company, truck)
        return self._ground.directory.devices(truck)

    def revoke_device(self, company: Company, truck: bytes, device: str) -> None:
        """Refuse a device from now on; raises ``AccessError``."""
        self._ground.own_truck(company, truck)
        if all(kept.token.device != device for kept in self._ground.directory.devices(truck)):
            raise AccessError("device-unknown")
        self._ground.directory.revoke_device(truck, device, self._ground.clock())
        self._changed(truck)

    def add_parcel(
        self,
        company: Company,
        truck: bytes,
        parcel: bytes,
        sender: bytes,
        receiver: bytes,
        destination: tuple[float, float] | None = None,
    ) -> Parcel:
        """Put a parcel on a truck; the same again changes nothing.

        ``sender`` and ``receiver`` are the Ed25519 keys by which the parties sign; ``destination``
        is (latitude, longitude) in degrees, without which they see the far position alone.

        Raises ``AccessError``.
        """
        self._ground.own_truck(company, truck)
        try:
            waybill = Waybill(parcel, sender, receiver)
        except InputError as error:
            unfit = isinstance(parcel, bytes) and 1 <= len(parcel) <= 64
            raise AccessError("key-unfit" if unfit else "parcel-unfit", str(error)) from None
        sealed = None
        if destination is not None:
            latitude, longitude = destination
            if not (abs(latitude) <= 90 and abs(longitude) <= 180):
                raise AccessError("place-unfit", "latitude and longitude, in degrees")
            place = json.dumps([float(latitude), float(longitude)]).encode()
            sealed = self._ground.vault.seal(_DESTINATION + truck + parcel, place)
        now = self._ground.clock()
        kept = Parcel(parcel, truck, waybill.sender, waybill.receiver, sealed, now)
        try:
            self._ground.directory.add_parcel(kept)
        except ConflictError:
            return self._same_parcel(kept)
        self._changed(truck)
        return kept

    def _same_parcel(self, asked: Parcel) -> Parcel:
        """The parcel that is carried already, if it is the one that is asked for."""
        for held in self._ground.directory.parcels(asked.truck):
            if held.parcel == asked.parcel:
                same = replace(asked, destination=held.destination, created=held.created) == held
                places = [unsealed_destination(self._ground, one) for one in (held, asked)]
                if same and places[0] == places[1]:
                    return held
        raise AccessError("parcel-carried", "end it first, or give the other one another number")

    def parcels(self, company: Company, truck: bytes) -> Sequence[Parcel]:
        """What a truck carries; raises ``AccessError``."""
        self._ground.own_truck(company, truck)
        return self._ground.directory.parcels(truck)

    def end_parcel(self, company: Company, truck: bytes, parcel: bytes) -> None:
        """Deliver a parcel, or take it off; its keys are forgotten.  Raises ``AccessError``."""
        self._ground.own_truck(company, truck)
        if not self._ground.directory.end_parcel(truck, parcel, self._ground.clock()):
            raise AccessError("parcel-unknown")
        self._changed(truck)

    def add_link(self, company: Company, truck: bytes, hours: float) -> tuple[str, TrackingLink]:
        """The number of a new link to the reports of a truck; raises ``AccessError``."""
        self._ground.own_truck(company, truck)
        if not (math.isfinite(hours) and 0 < hours <= _MOST_HOURS):
            raise AccessError("hours-out-of-range", f"from 0 to {_MOST_HOURS:.0f}")
        number, now = self._ground.new_token(), self._ground.clock()
        link = TrackingLink(token_hash(number), truck, now, now + hours * _HOUR)
        self._ground.directory.add_link(link)
        return number, link

    def revoke_link(self, company: Company, number: str) -> None:
        """Close a link from now on; raises ``AccessError``."""
        link = self._ground.directory.link(token_hash(number))
        if link is None:
            raise AccessError("link-unknown")
        truck = self._ground.directory.truck(link.truck)
        if truck is None or truck.company != company.company:
            raise AccessError("link-unknown")
        self._ground.directory.revoke_link(link.hash, self._ground.clock())


def unsealed_secrets(ground: Ground, truck: Truck) -> TruckSecrets:
    """The secrets of a truck whose keys the platform holds; raises ``AccessError``."""
    if truck.secrets is None:
        raise AccessError("own-keys")
    both = ground.vault.unseal(_SECRETS + truck.truck, truck.secrets)
    return TruckSecrets(truck.truck, both[:32], both[32:])


def unsealed_destination(ground: Ground, parcel: Parcel) -> tuple[float, float] | None:
    """Latitude and longitude of where a parcel goes; private."""
    if parcel.destination is None:
        return None
    context = _DESTINATION + parcel.truck + parcel.parcel
    latitude, longitude = json.loads(ground.vault.unseal(context, parcel.destination))
    return latitude, longitude


def _card(encoded: bytes) -> TruckCard:
    try:
        card = TruckCard.decode(encoded)
    except RejectedError as error:
        raise AccessError("card-unfit", str(error)) from None
    assert len(card.truck) == TRUCK_BYTES
    return card


def _printable(text: str, most: int, reason: str) -> str:
    name = text.strip()
    if not 1 <= len(name) <= most or not name.isprintable():
        raise AccessError(reason, f"1 to {most} printable characters")
    return name
