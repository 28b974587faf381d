"""The carrier of parcels: signs for its trucks, and tells readers where their parcels are.

It is the company, on a machine of its own: its signing key stands in links, and the platform does
not have it.  What a reader believes of trucks is signed by that key alone, so the platform cannot
put a truck of its own in the place of one.

Moving a parcel takes several calls of the platform.  They are in an order in which one that fails
leaves nothing wrong behind, and the same again goes on where it stopped:

    load      waybill, halves (the new truck addresses the parcel); notices; off the old truck
    unload    notices; off the truck

What a carrier keeps on a machine of its own, and the commands that change it.

    carrier.key     the key by which it signs, which links name
    carrier.json    the address of the platform, and the company's token
    trucks.json     the cards of its trucks, as they were when they were first seen
    parcels/        of each parcel what its parties have consigned, its links, and where it is
    lock            held while a command runs

All of it is its owner's alone.  A parcel's file is written before its readers are told, so that a
number of a notice is never used twice; a command that was interrupted is given again.

Times of arrival, fitted by a company whose trucks hold their keys.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx2 as httpx

from voile_base.durable import new_private_folder, replace_private_file, write_text
from voile_base.errors import InputError
from voile_base.operating_system import lock
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_share import protocol
from voile_share.arrival import ArrivalTable, LeftOut
from voile_share.parties import (
    Consignment,
    PlatformClient,
    PlatformClientError,
    TrackingAddress,
    card_in,
)
from voile_share.platform.arrivals import past_of
from voile_share.platform.core import new_key, read_key, secret_text
from voile_share.protocol.primitives import from_base64url, to_base64url, verifying_key

__all__ = ["CarrierFolder", "ParcelJourney", "carrier_folder", "fitted", "new_carrier"]

_OUTCOMES = {protocol.Stage.DELIVERED: "delivered"}


@dataclass(frozen=True)
class _Whereabouts:
    """Where a parcel is, as its carrier says it."""

    stage: protocol.Stage = protocol.Stage.AWAITED
    truck: bytes | None = None
    depot: str = ""
    stops: int | None = None
    since: int = 0
    """When that was said; seconds since 1970."""


@dataclass(frozen=True)
class ParcelJourney:
    """A parcel that the carrier has taken on."""

    consignment: Consignment
    links: Mapping[protocol.Role, str]
    """The identity of each reader's link."""
    at: _Whereabouts = field(default_factory=_Whereabouts)
    said: int = 0
    """The number of the last notice."""
    destination: tuple[float, float] | None = field(default=None, repr=False)
    label: str = ""
    left: tuple[int, int] | None = None
    """Stops that were said to be left on the last truck, and when."""
    aboard: tuple[bytes, ...] = ()
    """Trucks on which it may be, as the platform knows: more than one while a move is under way."""

    def moving(self, to: _Whereabouts) -> Self:
        """Before its readers are told: a number is never used for two notices."""
        trucks = self.aboard
        if to.truck is not None and to.truck not in trucks:
            trucks = (*trucks, to.truck)
        left = self.left if to.truck is None else None
        if to.stops is not None:
            left = to.stops, to.since
        return replace(self, left=left, at=to, said=self.said + 1, aboard=trucks)


@dataclass(frozen=True)
class _Carrier:
    """One company's talk with the platform about its parcels."""

    seed: bytes = field(repr=False)
    """Ed25519."""
    platform: PlatformClient
    """With the company's token."""
    randomness: Randomness = field(default_factory=Randomness.secure, repr=False)
    clock: Callable[[], float] = field(default=time.time, repr=False)

    @property
    def verifying(self) -> bytes:
        """What stands in links."""
        return verifying_key(self.seed)

    def trucks(self) -> dict[bytes, tuple[protocol.TruckCard, bool]]:
        """The company's trucks by their numbers as the platform shows them, which may be lies.

        And whether each holds its keys itself.  Raises ``PlatformClientError``.
        """

        def shown(answer: Any) -> dict[bytes, tuple[protocol.TruckCard, bool]]:
            those = [one for one in answer["trucks"] if one["retired"] is None]
            cards = [(card_in(one["card"]), bool(one["own_keys"])) for one in those]
            return {card.truck: (card, own_keys) for card, own_keys in cards}

        return self.platform.read("GET", "/api/v1/trucks", shown)

    def open_links(self, hours: float, label: str) -> dict[protocol.Role, tuple[str, str]]:
        """A link for each reader of a parcel: its identity, and its address without keys.

        Raises ``PlatformClientError``.
        """
        made = {}
        for role in protocol.Role:
            words = f"{label} ({role.name.lower()})" if label else role.name.lower()
            asked = {"hours": hours, "label": words}
            made[role] = self.platform.read("POST", "/api/v1/links", _opened_link, json=asked)
        return made

    def notices(
        self, parcel: ParcelJourney, card: protocol.TruckCard | None
    ) -> list[tuple[str, bytes]]:
        """What each reader of a parcel is to be told: the identity of its link, and the notice.

        ``card`` is the truck's, as it was pinned, where there is one.  Raises ``InputError`` for
        what cannot be said.
        """
        said = []
        for role, link in parcel.links.items():
            notice = protocol.Notice(
                parcel.consignment.boxes[role],
                parcel.said,
                int(self.clock()),
                parcel.at.stage,
                card,
                parcel.at.depot,
                parcel.at.stops,
                parcel.destination,
            )
            sealed = protocol.SealedNotice.seal(notice, self.seed, self.randomness)
            said.append((link, sealed.encode()))
        return said

    def tell(self, truck: bytes | None, notices: Iterable[tuple[str, bytes]]) -> None:
        """Let links lead to a truck, or to none, and tell their readers.

        Raises ``PlatformClientError``.
        """
        number = None if truck is None else truck.hex()
        for link, notice in notices:
            asked = {"id": link, "truck": number, "notice": to_base64url(notice)}
            self.platform.ask("POST", "/api/v1/links/move", json=asked)

    def put_aboard(
        self, parcel: ParcelJourney, card: protocol.TruckCard, *, own_keys: bool
    ) -> None:
        """Let a truck address a parcel; raises ``PlatformClientError``.

        A truck that holds its keys takes the waybill by itself (``OwnTruck.load``).
        """
        consigned, truck = parcel.consignment, card.truck
        if not own_keys:
            waybill = {
                "sender": to_base64url(consigned.sender),
                "receiver": to_base64url(consigned.receiver),
                "carrier": protocol.carrier_number(consigned.carrier).hex(),
            }
            self.platform.ask(
                "PUT", _place_of(truck, consigned), json={**waybill, **_where(parcel.destination)}
            )
        number = protocol.carrier_number(consigned.carrier)
        today = protocol.day_of(int(self.clock()))
        for half in consigned.halves:
            if half.day < today:
                continue
            drawn = self.randomness.within("halves", truck.hex())
            sealed = protocol.SealedSubmission.seal(half.encode(), card, drawn, number)
            self.platform.ask(
                "POST",
                f"/api/v1/trucks/{truck.hex()}/mail",
                headers={"content-type": "application/octet-stream"},
                content=sealed.encode(),
            )

    def take_off(self, parcel: ParcelJourney, truck: bytes) -> None:
        """Let a truck address a parcel no more; raises ``PlatformClientError``."""
        query = f"outcome={_OUTCOMES.get(parcel.at.stage, 'unloaded')}"
        if parcel.left is not None:
            query += "&stops={}&since={}".format(*parcel.left)
        self.platform.ask("DELETE", f"{_place_of(truck, parcel.consignment)}?{query}")


def _opened_link(answer: Any) -> tuple[str, str]:
    """Its identity, and its address without keys; raises ``InputError``, or as ``read`` catches."""
    TrackingAddress.of(answer["address"])
    return str(answer["id"]), str(answer["address"])


def _place_of(truck: bytes, consigned: Consignment) -> str:
    parcel = consigned.parcel.decode("utf-8", "surrogateescape")
    return f"/api/v1/trucks/{truck.hex()}/parcels/{quote(parcel, safe='')}"


def _where(destination: tuple[float, float] | None) -> Json:
    if destination is None:
        return {}
    return {"destination": {"latitude": destination[0], "longitude": destination[1]}}


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
        lock(stack.enter_context((folder / _LOCK).open("rb")))
        if client is None:
            client = httpx.Client(base_url=terms["platform"], timeout=_SECONDS)
            stack.callback(client.close)
        carrier = _Carrier(read_key(folder / _KEY), PlatformClient(client, terms["token"]))
        yield CarrierFolder(folder, carrier)


@dataclass(frozen=True)
class CarrierFolder:
    """What commands do; all raise ``InputError``, of which ``PlatformClientError`` is one."""

    folder: Path
    carrier: _Carrier

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
        parcel = ParcelJourney(consigned, links, destination=destination, label=label)
        self._tell(parcel.moving(_Whereabouts()))
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
        at = _Whereabouts(protocol.Stage.ABOARD, truck, stops=stops, since=now)
        self._tell(before.moving(at), card)

    def unload(self, parcel: bytes, stage: protocol.Stage, depot: str = "") -> None:
        """The parcel is on no truck any more: in a depot, delivered, returned, or to be loaded."""
        self._tell(self.parcel(parcel).moving(_Whereabouts(stage, depot=depot)))

    def parcels(self) -> list[ParcelJourney]:
        """All that were taken on."""
        files = sorted((self.folder / _PARCELS).glob("*.json"))
        return [_parcel(secret_text(file, "the parcel's file")) for file in files]

    def parcel(self, parcel: bytes) -> ParcelJourney:
        """One of them."""
        file = self._file(parcel)
        if not file.exists():
            msg = "no parcel of this number was taken on: voile share carrier take"
            raise InputError(msg)
        return _parcel(secret_text(file, "the parcel's file"))

    def _tell(self, parcel: ParcelJourney, card: protocol.TruckCard | None = None) -> None:
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

    def _keep(self, parcel: ParcelJourney) -> None:
        text = json.dumps(_document(parcel)) + "\n"
        replace_private_file(self._file(parcel.consignment.parcel), text)


def _other_card(truck: bytes) -> InputError:
    return InputError(
        f"truck {truck.hex()} was pinned here with another card: this one is not that truck's. "
        "Nothing was changed; ask who runs the platform"
    )


def _document(parcel: ParcelJourney) -> Json:
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


def _parcel(text: str) -> ParcelJourney:
    kept = json.loads(text)
    truck = kept["truck"]
    at = _Whereabouts(
        protocol.Stage[kept["stage"].upper()],
        None if truck is None else bytes.fromhex(truck),
        kept["depot"],
        kept["stops"],
        kept["since"],
    )
    place = kept["destination"]
    return ParcelJourney(
        Consignment.decode(json.dumps(kept["consignment"])),
        {role: kept["links"][role.name.lower()] for role in protocol.Role},
        at,
        kept["said"],
        None if place is None else (place[0], place[1]),
        kept["label"],
        None if kept["left"] is None else (kept["left"][0], kept["left"][1]),
        tuple(bytes.fromhex(one) for one in kept["aboard"]),
    )


def fitted(histories: Iterable[str], now: float) -> tuple[ArrivalTable, LeftOut]:
    """A table from what trucks have learnt, in JSON, and how it does on each tour left out.

    It is the same fit as the platform's of trucks whose keys it holds; what stands twice counts
    once, and a history that names no truck is that of one.  Raises ``InputError``.
    """
    drives = {}
    for number, text in enumerate(histories):
        try:
            for one in json.loads(text)["drives"]:
                of_truck = {"truck": f"history {number}", **one}
                drives[json.dumps(of_truck, sort_keys=True)] = of_truck
        except (ValueError, LookupError, TypeError, RecursionError):
            msg = "this is no history of `voile share truck history`"
            raise InputError(msg) from None
    past = past_of(list(drives.values()), now)
    table, tried = ArrivalTable.fit(past, now), LeftOut.of(past)
    if not table.rows:
        msg = (
            f"{table.tours} tours that are over are too few to tell an arrival by: "
            "it takes 3, and a tour is over 16 hours after its first delivery"
        )
        raise InputError(msg)
    return table, tried
