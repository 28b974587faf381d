"""What a carrier keeps on a machine of its own, and the commands that change it.

    carrier.key     the key by which it signs, which links name
    carrier.json    the address of the platform, and the company's token
    trucks.json     the cards of its trucks, as they were when they were first seen
    parcels/        of each parcel what its parties have consigned, its links, and where it is
    lock            held while a command runs

All of it is its owner's alone.  A parcel's file is written before its readers are told, so that a
number of a notice is never used twice; a command that was interrupted is given again.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2 as httpx

from voile_base.durable import new_private_folder, replace_private_file, write_text
from voile_base.errors import InputError
from voile_share import protocol
from voile_share.parties.carrier import Carrier, Journey, Whereabouts
from voile_share.parties.client import PlatformClient, PlatformClientError
from voile_share.parties.consignment import Consignment
from voile_share.platform.key_file import new_key, read_key, secret_text
from voile_share.protocol.base64url import from_base64url, to_base64url

__all__ = ["CarrierFolder", "carrier_folder", "new_carrier"]

_KEY, _TERMS, _TRUCKS, _PARCELS, _LOCK = (
    "carrier.key",
    "carrier.json",
    "trucks.json",
    "parcels",
    "lock",
)
_SECONDS = 20.0


def new_carrier(folder: Path, platform: str, token: str) -> bytes:
    """Set a carrier up in a new folder; its verifying key.  Raises ``InputError``."""
    with new_private_folder(folder) as unfinished:
        new_key(unfinished / _KEY, "carrier")
        terms = {"platform": platform.rstrip("/"), "token": token}
        write_text(unfinished / _TERMS, json.dumps(terms, indent=2) + "\n", private=True)
        write_text(unfinished / _TRUCKS, "{}\n", private=True)
        (unfinished / _PARCELS).mkdir(mode=0o700)
        write_text(unfinished / _LOCK, "", private=True)
    with carrier_folder(folder) as made:
        return made.carrier.verifying


@contextmanager
def carrier_folder(folder: Path, client: httpx.Client | None = None) -> Iterator[CarrierFolder]:
    """The carrier of a folder, for one command at a time; raises ``InputError``."""
    if not (folder / _TERMS).exists():
        msg = f"{folder}: no carrier was set up here: voile share carrier init {folder}"
        raise InputError(msg)
    terms = json.loads(secret_text(folder / _TERMS, "the carrier's file"))
    with ExitStack() as stack:
        lock = stack.enter_context((folder / _LOCK).open("rb"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        if client is None:
            client = httpx.Client(base_url=terms["platform"], timeout=_SECONDS)
            stack.callback(client.close)
        carrier = Carrier(read_key(folder / _KEY), PlatformClient(client, terms["token"]))
        yield CarrierFolder(folder, carrier)


@dataclass(frozen=True)
class CarrierFolder:
    """What commands do; all raise ``InputError``, of which ``PlatformClientError`` is one."""

    folder: Path
    carrier: Carrier

    def pin(self, card: protocol.TruckCard, *, own_keys: bool) -> None:
        """Believe a truck's card from now on; another one of the same truck is refused.

        ``card`` and ``own_keys`` are what the company knows, and not what the platform shows.
        """
        known = self._cards()
        held = known.get(card.truck)
        if held is not None and held[0] != card:
            raise _other_card(card.truck)
        known[card.truck] = card, own_keys
        kept = {
            truck.hex(): {"card": to_base64url(one.encode()), "own_keys": own}
            for truck, (one, own) in known.items()
        }
        replace_private_file(self.folder / _TRUCKS, json.dumps(kept, indent=2) + "\n")

    def take(
        self,
        consigned: Consignment,
        hours: float,
        label: str = "",
        destination: tuple[float, float] | None = None,
    ) -> dict[protocol.Role, str]:
        """Take a parcel on, and open a link for each of its readers: addresses without keys."""
        if consigned.carrier != self.carrier.verifying:
            msg = "the parcel was consigned to another carrier"
            raise InputError(msg)
        if self._file(consigned.parcel).exists():
            msg = "a parcel of this number was taken on already"
            raise InputError(msg)
        made = self.carrier.open_links(hours, label)
        links = {role: identity for role, (identity, _) in made.items()}
        parcel = Journey(consigned, links, destination=destination, label=label)
        self._tell(parcel.moving(Whereabouts()))
        return {role: address for role, (_, address) in made.items()}

    def load(
        self,
        parcel: bytes,
        truck: bytes,
        stops: int | None = None,
        *,
        trust_platform: bool = False,
    ) -> None:
        """The parcel is on a truck now, whose card was pinned.

        ``trust_platform``: of one whose card was not, pin what the platform shows.
        """
        card, own_keys = self._card(truck, trust_platform=trust_platform)
        before = self.parcel(parcel)
        self.carrier.put_aboard(before, card, own_keys=own_keys)
        now = int(self.carrier.clock())
        at = Whereabouts(protocol.Stage.ABOARD, truck, stops=stops, since=now)
        self._tell(before.moving(at), card)

    def unload(self, parcel: bytes, stage: protocol.Stage, depot: str = "") -> None:
        """The parcel is on no truck any more: in a depot, delivered, returned, or to be loaded."""
        self._tell(self.parcel(parcel).moving(Whereabouts(stage, depot=depot)))

    def parcels(self) -> list[Journey]:
        """All that were taken on."""
        files = sorted((self.folder / _PARCELS).glob("*.json"))
        return [_parcel(secret_text(file, "the parcel's file")) for file in files]

    def parcel(self, parcel: bytes) -> Journey:
        """One of them."""
        file = self._file(parcel)
        if not file.exists():
            msg = "no parcel of this number was taken on: voile share carrier take"
            raise InputError(msg)
        return _parcel(secret_text(file, "the parcel's file"))

    def _tell(self, parcel: Journey, card: protocol.TruckCard | None = None) -> None:
        """Keep where a parcel is, tell its readers, and take it off trucks that it has left.

        ``card`` is that of the truck which it is on.
        """
        notices = self.carrier.notices(parcel, card)
        self._keep(parcel)
        self.carrier.tell(parcel.at.truck, notices)
        pinned = self._cards()
        for truck in parcel.aboard:
            if truck == parcel.at.truck:
                continue
            if not pinned[truck][1]:
                try:
                    self.carrier.take_off(parcel, truck)
                except PlatformClientError as error:
                    if error.reason not in {"parcel-unknown", "truck-unknown", "truck-retired"}:
                        raise
            parcel = replace(parcel, aboard=tuple(one for one in parcel.aboard if one != truck))
            self._keep(parcel)

    def _card(self, truck: bytes, *, trust_platform: bool) -> tuple[protocol.TruckCard, bool]:
        """The pinned card of a truck, of which the platform may show no other."""
        shown, known = self.carrier.trucks().get(truck), self._cards().get(truck)
        number = truck.hex()
        if shown is None and known is None:
            msg = f"the company has no truck {number}"
            raise InputError(msg)
        if known is not None:
            if shown is not None and shown[0] != known[0]:
                raise _other_card(truck)
            if shown is not None and shown[1] is not known[1]:
                whose = ("platform", "truck") if known[1] else ("truck", "platform")
                msg = (
                    f"truck {number}: the platform says that the {whose[0]} holds its keys, and it "
                    f"was pinned as one whose keys the {whose[1]} holds. Nothing was changed; if "
                    "the platform is right, pin it anew: voile share carrier pin"
                )
                raise InputError(msg)
            return known
        assert shown is not None
        if shown[1] or not trust_platform:
            msg = (
                f"truck {number} was not pinned here, and the platform could show a card of its "
                "own: give the one that the company has to `voile share carrier pin`"
            )
            raise InputError(msg if shown[1] else f"{msg}, or say --trust-platform")
        self.pin(shown[0], own_keys=False)
        return shown

    def _cards(self) -> dict[bytes, tuple[protocol.TruckCard, bool]]:
        kept = json.loads(secret_text(self.folder / _TRUCKS, "the file of trucks"))
        cards = {
            bytes.fromhex(truck): protocol.TruckCard.decode(from_base64url(one["card"]))
            for truck, one in kept.items()
        }
        return {truck: (card, kept[truck.hex()]["own_keys"]) for truck, card in cards.items()}

    def _file(self, parcel: bytes) -> Path:
        # Numbers of parcels are private, and no names of files.
        return self.folder / _PARCELS / f"{sha256(b'parcel' + parcel).hexdigest()[:32]}.json"

    def _keep(self, parcel: Journey) -> None:
        text = json.dumps(_document(parcel)) + "\n"
        replace_private_file(self._file(parcel.consignment.parcel), text)


def _other_card(truck: bytes) -> InputError:
    return InputError(
        f"truck {truck.hex()} was pinned here with another card: this one is not that truck's. "
        "Nothing was changed; ask who runs the platform"
    )


def _document(parcel: Journey) -> dict[str, Any]:
    at = parcel.at
    return {
        "consignment": parcel.consignment.document(),
        "links": {role.name.lower(): link for role, link in parcel.links.items()},
        "stage": at.stage.name.lower(),
        "truck": None if at.truck is None else at.truck.hex(),
        "depot": at.depot,
        "stops": at.stops,
        "since": at.since,
        "left": parcel.left,
        "said": parcel.said,
        "destination": parcel.destination,
        "label": parcel.label,
        "aboard": [truck.hex() for truck in parcel.aboard],
    }


def _parcel(text: str) -> Journey:
    kept = json.loads(text)
    truck = kept["truck"]
    at = Whereabouts(
        protocol.Stage[kept["stage"].upper()],
        None if truck is None else bytes.fromhex(truck),
        kept["depot"],
        kept["stops"],
        kept["since"],
    )
    place = kept["destination"]
    return Journey(
        Consignment.decode(json.dumps(kept["consignment"])),
        {role: kept["links"][role.name.lower()] for role in protocol.Role},
        at,
        kept["said"],
        None if place is None else (place[0], place[1]),
        kept["label"],
        None if kept["left"] is None else (kept["left"][0], kept["left"][1]),
        tuple(bytes.fromhex(one) for one in kept["aboard"]),
    )
