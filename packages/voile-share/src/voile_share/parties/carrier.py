"""The carrier of parcels: signs for its trucks, and tells readers where their parcels are.

It is the company, on a machine of its own: its signing key stands in links, and the platform does
not have it.  What a reader believes of trucks is signed by that key alone, so the platform cannot
put a truck of its own in the place of one.

Moving a parcel takes several calls of the platform.  They are in an order in which one that fails
leaves nothing wrong behind, and the same again goes on where it stopped:

    load      waybill, halves (the new truck addresses the parcel); notices; off the old truck
    unload    notices; off the truck
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import quote

from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.parties.client import PlatformClient, TrackingAddress, card_in
from voile_share.parties.consignment import Consignment
from voile_share.protocol.base64url import to_base64url
from voile_share.protocol.signing import verifying_key

__all__ = ["Carrier", "Journey", "Whereabouts"]

_OUTCOMES = {protocol.Stage.DELIVERED: "delivered"}


@dataclass(frozen=True)
class Whereabouts:
    """Where a parcel is, as its carrier says it."""

    stage: protocol.Stage = protocol.Stage.AWAITED
    truck: bytes | None = None
    depot: str = ""
    stops: int | None = None
    since: int = 0
    """When that was said; seconds since 1970."""


@dataclass(frozen=True)
class Journey:
    """A parcel that the carrier has taken on."""

    consignment: Consignment
    links: Mapping[protocol.Role, str]
    """The identity of each reader's link."""
    at: Whereabouts = field(default_factory=Whereabouts)
    said: int = 0
    """The number of the last notice."""
    destination: tuple[float, float] | None = field(default=None, repr=False)
    label: str = ""
    left: tuple[int, int] | None = None
    """Stops that were said to be left on the last truck, and when."""
    aboard: tuple[bytes, ...] = ()
    """Trucks on which it may be, as the platform knows: more than one while a move is under way."""

    def moving(self, to: Whereabouts) -> Self:
        """Before its readers are told: a number is never used for two notices."""
        trucks = self.aboard
        if to.truck is not None and to.truck not in trucks:
            trucks = (*trucks, to.truck)
        left = self.left if to.truck is None else None
        if to.stops is not None:
            left = to.stops, to.since
        return replace(self, left=left, at=to, said=self.said + 1, aboard=trucks)


@dataclass(frozen=True)
class Carrier:
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

    def notices(self, parcel: Journey, card: protocol.TruckCard | None) -> list[tuple[str, bytes]]:
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

    def put_aboard(self, parcel: Journey, card: protocol.TruckCard, *, own_keys: bool) -> None:
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

    def take_off(self, parcel: Journey, truck: bytes) -> None:
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


def _where(destination: tuple[float, float] | None) -> dict[str, Any]:
    if destination is None:
        return {}
    return {"destination": {"latitude": destination[0], "longitude": destination[1]}}
