"""Sender and receiver of a parcel as programs: agree on keys, tell the truck, make the address.

What a web shop's or a carrier's program does for both of them (``Parties``), or each party's for
itself (``Party``): keys stay here, the platform sees sealed submissions, and the fragment of the
address that is made goes to nobody but the party.  What they hand to the carrier with a parcel is a
``Consignment``: public keys, and signed halves.  It opens nothing: whoever has it can let trucks
address the parcel, and can recognise it nowhere.  It says who ships with whom as far as their keys
do, and so goes to the carrier alone.

``PlatformClient`` is the platform as they see it, by the number of a link; and as companies do, by
their token.
"""

from __future__ import annotations

import json
import re
import time
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx2 as httpx

from voile_base.durable import new_private_file
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_share import protocol
from voile_share.platform.core import secret_text
from voile_share.protocol.primitives import from_base64url, hkdf, to_base64url, verifying_key
from voile_share.protocol.truck import MOST_DAYS

__all__ = [
    "Consignment",
    "Parties",
    "Party",
    "PlatformClient",
    "PlatformClientError",
    "TrackingAddress",
    "card_in",
]

_PATIENCE = 30.0
_MOST_SAID = 300
_Taken = TypeVar("_Taken")
_NUMBER = re.compile(r"[A-Za-z2-7]{32}")


class PlatformClientError(InputError):
    """The platform does not let one in, or is not there; ``reason`` is that of its problem."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class TrackingAddress:
    """An address as the platform gives it, without the keys behind its dot."""

    platform: str
    """Such as https://share.example.org."""
    number: str = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """Take ``https://HOST/t#NUMBER.`` apart; raises ``InputError``, and repeats nothing."""
        msg = "this is no address of a link: copy the whole of it, https://HOST/t#NUMBER."
        try:
            parts = urlsplit(text.strip())
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise InputError(msg) from None
        number, _, keys = parts.fragment.partition(".")
        is_page = parts.scheme in {"http", "https"} and parts.path == "/t" and not parts.query
        if not (host and is_page and _NUMBER.fullmatch(number)) or "@" in parts.netloc:
            raise InputError(msg)
        if keys:
            msg = "this address has its keys already: it can be opened, or take one without them"
            raise InputError(msg)
        if parts.scheme == "http" and not _is_here(host):
            msg = (
                "a link over http is readable on its way, and browsers decrypt nothing there: the "
                "platform must have an address of https"
            )
            raise InputError(msg)
        return cls(f"{parts.scheme}://{parts.netloc}", number)

    def opening(self, link: protocol.ReaderLink | protocol.ParcelLink) -> str:
        """The whole address, which opens in a browser: whoever has it reads the reports."""
        return f"{self.platform}/t#{self.number}.{link.fragment()}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class PlatformClient:
    """A link to a truck's reports: who has its number may read them and submit keys.

    With a company's token in its place the company's calls are answered.

    Where the platform asks to wait, ``sleep`` does, for at most some seconds altogether.
    """

    client: httpx.Client
    """Its base address is the platform's."""
    number: str = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def card(self) -> protocol.TruckCard:
        """The card that the platform shows of the truck; raises ``PlatformClientError``.

        Who goes by it trusts the platform: whoever names the card opens what is sealed for it, and
        signs what is believed.
        """
        return self.read("GET", "/api/v1/card", lambda answer: card_in(answer["card"]))

    def check_card(self, given: protocol.TruckCard) -> None:
        """Refuse a platform that shows another card than the truck's company gave.

        Raises ``PlatformClientError``.
        """
        if self.card() != given:
            msg = (
                "the platform shows another card for this link than the truck's company gave: make "
                "no link, and ask the company which truck carries the parcel"
            )
            raise PlatformClientError("card-foreign", msg)

    def submit(self, sealed: protocol.SealedSubmission) -> None:
        """Hand a submission to the truck; raises ``PlatformClientError``."""
        kind = {"content-type": "application/octet-stream"}
        self.ask("POST", "/api/v1/mail", headers=kind, content=sealed.encode())

    def read(
        self, method: str, path: str, taken: Callable[[Any], _Taken], **given: object
    ) -> _Taken:
        """What ``taken`` makes of the document that is answered; raises ``PlatformClientError``."""
        answer = self.ask(method, path, **given)
        try:
            return taken(answer.json())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, InputError):
            msg = "what answers is no sharing service of Voile, or not of this version"
            raise PlatformClientError("", msg) from None

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """What is answered where all is well; raises ``PlatformClientError``.

        Where the platform asks to wait, it is asked again.
        """
        headers = {"authorization": f"Bearer {self.number}", **given.pop("headers", {})}
        left = _PATIENCE
        while True:
            try:
                answer = self.client.request(method, path, headers=headers, **given)
            except httpx.RequestError as error:
                msg = f"the platform does not answer ({type(error).__name__})"
                raise PlatformClientError("", msg) from None
            if answer.is_success:
                return answer
            seconds = _seconds_to_wait(answer)
            if seconds is None or seconds > left:
                raise _refusal(answer)
            left -= seconds
            self.sleep(seconds)


def card_in(text: str) -> protocol.TruckCard:
    """A truck's card in base64url; raises ``InputError``."""
    try:
        return protocol.TruckCard.decode(from_base64url(text.strip()))
    except (ValueError, protocol.RejectedError):
        msg = "this is no card of a truck: copy the whole of it"
        raise InputError(msg) from None


def _seconds_to_wait(answer: httpx.Response) -> float | None:
    """After which one may ask again; None: never."""
    wait = answer.headers.get("retry-after", "")
    busy = answer.status_code in {429, 503}
    return float(max(1, int(wait))) if busy and re.fullmatch(r"[0-9]{1,6}", wait) else None


def _refusal(answer: httpx.Response) -> PlatformClientError:
    """A problem (RFC 9457) in its own words, as far as they can be shown."""
    try:
        problem = answer.json()
        reason = str(problem["reason"])
        said = str(problem.get("detail") or problem.get("title") or reason)[:_MOST_SAID]
    except (ValueError, LookupError, TypeError, AttributeError):
        reason, said = "", ""
    if not (said and said.isprintable()):
        said = f"status {answer.status_code}"
    return PlatformClientError(reason, f"the platform refuses: {said}")


_WHAT, _VERSION = "consignment of a parcel", 1


@dataclass(frozen=True)
class Consignment:
    """All of it; ``decode`` has checked its form and its signatures."""

    carrier: bytes
    """The verifying key of the carrier whose trucks may have it."""
    parcel: bytes
    sender: bytes
    """The key by which its sender signs."""
    receiver: bytes
    first_day: int
    days: int
    boxes: Mapping[protocol.Role, bytes]
    """N of each reader."""
    halves: tuple[protocol.Submission, ...] = field(repr=False)

    @property
    def waybill(self) -> protocol.Waybill:
        """By which a truck takes the halves; raises ``InputError``."""
        number = protocol.carrier_number(self.carrier)
        return protocol.Waybill(self.parcel, self.sender, self.receiver, number)

    def document(self) -> Json:
        """For JSON."""
        return {
            "voile": _WHAT,
            "version": _VERSION,
            "carrier": to_base64url(self.carrier),
            "parcel": self.parcel.decode("utf-8", "surrogateescape"),
            "sender": to_base64url(self.sender),
            "receiver": to_base64url(self.receiver),
            "first_day": self.first_day,
            "days": self.days,
            "boxes": {role.name.lower(): to_base64url(box) for role, box in self.boxes.items()},
            "halves": [to_base64url(half.encode()) for half in self.halves],
        }

    @classmethod
    def decode(cls, text: str) -> Self:
        """Raises ``InputError``, and repeats nothing of the text."""
        msg = "this is no consignment of `voile share party consign`, or not the whole of it"
        try:
            document = json.loads(text)
            if document["voile"] == _WHAT and document["version"] > _VERSION:
                newer = "a newer Voile made this consignment; update Voile"
                raise InputError(newer)
            made = cls._read(document)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, Base64Error):
            raise InputError(msg) from None
        made.check()
        return made

    @classmethod
    def _read(cls, document: Any) -> Self:
        if (document["voile"], document["version"]) != (_WHAT, _VERSION):
            raise ValueError
        first_day, days = document["first_day"], document["days"]
        if not (isinstance(first_day, int) and isinstance(days, int) and 1 <= days <= MOST_DAYS):
            raise ValueError
        return cls(
            from_base64url(document["carrier"]),
            document["parcel"].encode("utf-8", "surrogateescape"),
            from_base64url(document["sender"]),
            from_base64url(document["receiver"]),
            first_day,
            days,
            {role: from_base64url(document["boxes"][role.name.lower()]) for role in protocol.Role},
            tuple(protocol.Submission.decode(from_base64url(half)) for half in document["halves"]),
        )

    def check(self) -> None:
        """Raise ``InputError`` unless a truck of the carrier would take every half."""
        machine = protocol.TrackingKeys(bytes(16)).carrying(self.waybill)
        for half in self.halves:
            machine = machine.receive(half.encode(), today=self.first_day)
        days = range(self.first_day, self.first_day + self.days)
        whole = all(len(machine.addressed(day)) == len(protocol.Role) for day in days)
        if not whole or any(len(box) != 32 for box in self.boxes.values()):
            msg = "the consignment lacks a half of a day, or a key of a reader"
            raise InputError(msg)


_FILE, _FORMAT = "keys of a parcel's parties", 1
_SECRETS = ("k_a", "k_b", "sender", "receiver")


@dataclass(frozen=True)
class _Offer:
    """The public halves of one party's own keys of a parcel."""

    role: protocol.Role
    box: bytes
    """N, to which the carrier seals what it says to this party."""
    first_day: int
    keys: tuple[protocol.TrackingPublic, ...]
    """One for each day from the first."""


@dataclass(frozen=True)
class Party:
    """One party of a parcel after Protocol 1."""

    role: protocol.Role
    keys: protocol.PairKeys = field(repr=False)
    """What both parties hold."""
    seed: bytes = field(repr=False)
    """Ed25519, by which this one signs; 32 bytes."""
    randomness: Randomness = field(default_factory=Randomness.secure, repr=False)

    @property
    def signer(self) -> bytes:
        """The key by which others check what it signs: for the parcel's waybill."""
        return verifying_key(self.seed)

    def submit(
        self,
        client: PlatformClient,
        parcel: bytes,
        first_day: int,
        days: int = 1,
        *,
        card: protocol.TruckCard,
    ) -> protocol.ReaderLink:
        """Tell the truck this party's half of the keys of some days; what readers need of them.

        Reports are about the parcel when the truck has both halves of their day.  Days are by UTC,
        since 1970.  ``card`` is that of the truck as its company gave it: a platform that shows
        another one is submitted nothing.  ``client.card()`` in its place trusts the platform.
        Raises ``PlatformClientError``, and ``InputError`` for a parcel or days that cannot be.
        """
        client.check_card(card)
        link = self.link(card, parcel, first_day, days)
        for sealed in self.halves(card, parcel, first_day, days):
            client.submit(sealed)
        return link

    def link(
        self, card: protocol.TruckCard, parcel: bytes, first_day: int, days: int
    ) -> protocol.ReaderLink:
        """What readers need; the other party makes the same."""
        secrets = (secret for _, secret in self._secrets(parcel, first_day, days))
        return protocol.ReaderLink.to(protocol.suite_named(), card, first_day, secrets)

    def halves(
        self, card: protocol.TruckCard, parcel: bytes, first_day: int, days: int
    ) -> list[protocol.SealedSubmission]:
        """What this party submits: one message for each day."""
        sealed = []
        for day, secret in self._secrets(parcel, first_day, days):
            half = protocol.Submission.of(
                protocol.suite_named(), card.truck, self.role, parcel, day, secret
            )
            # For each truck anew: what is alike in two submissions would show one parcel.
            place = (card.truck.hex(), parcel.hex(), f"{day}", self.role.name)
            drawn = self.randomness.within("submission", *place)
            signed = half.signed(self.seed).encode()
            sealed.append(protocol.SealedSubmission.seal(signed, card, drawn))
        return sealed

    def root(self, parcel: bytes) -> protocol.ParcelRoot:
        """From which this party's own keys of a parcel follow, whichever trucks carry it.

        The other party cannot compute it.
        """
        return protocol.ParcelRoot(hkdf(self.seed, 32, "voile 1 parcel root", parcel))

    def offer(self, parcel: bytes, first_day: int, days: int) -> _Offer:
        """The public halves of this party's own keys: for the other party to sign, too."""
        root, suite = self.root(parcel), protocol.suite_named()
        those = (root.day(day) for day in range(first_day, first_day + days))
        return _Offer(self.role, root.box, first_day, tuple(map(suite.tracking_public, those)))

    def signed_offers(
        self, carrier: bytes, parcel: bytes, offers: Iterable[_Offer]
    ) -> list[protocol.Submission]:
        """Signatures of this party under what it and the other one offer, for a carrier's trucks.

        ``carrier`` is the carrier's verifying key.  Look at the other's offer before: a party that
        signs lets the truck address it.
        """
        suite, number = protocol.suite_named(), protocol.carrier_number(carrier)
        return [
            protocol.Submission(suite, number, self.role, parcel, day, keys)
            .of_readers(protocol.Readers(offer.role), keys)
            .signed(self.seed)
            for offer in offers
            for day, keys in enumerate(offer.keys, offer.first_day)
        ]

    def parcel_link(
        self, carrier: bytes, parcel: bytes, first_day: int, days: int
    ) -> protocol.ParcelLink:
        """What opens the parcel for this party, on all trucks of the carrier."""
        return protocol.ParcelLink(carrier, self.root(parcel), first_day, days)

    def _secrets(
        self, parcel: bytes, first_day: int, days: int
    ) -> list[tuple[int, protocol.TrackingSecret]]:
        suite = protocol.suite_named()
        return [
            (day, suite.tracking_secret(self.keys, parcel, day))
            for day in range(first_day, first_day + days)
        ]


@dataclass(frozen=True)
class Parties:
    """Sender and receiver after Protocol 1, where one program speaks for both."""

    keys: protocol.PairKeys = field(repr=False)
    seeds: dict[protocol.Role, bytes] = field(repr=False)
    """Ed25519, by which each signs."""
    randomness: Randomness = field(repr=False)

    @classmethod
    def agree(cls, pair: protocol.Pair, randomness: Randomness) -> Self:
        """Run Protocol 1 between both."""
        receiver = protocol.Receiver.begin(pair, randomness.within("receiver"))
        sender = protocol.Sender(pair, randomness.within("sender")).receive(receiver.challenge)
        established = receiver.receive(sender.response)
        assert established.completion is not None
        assert sender.receive(established.completion).keys == established.keys
        seeds = {role: randomness.key("signing", role.name).secret for role in protocol.Role}
        return cls(established.keys, seeds, randomness)

    @classmethod
    def draw(cls) -> Self:
        """Both, with a long-term key that nobody keeps."""
        drawn = Randomness.secure()
        return cls.agree(protocol.Pair(b"sender", b"receiver", drawn.key("pair").secret), drawn)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Those of a file that ``save`` wrote.

        Raises ``InputError`` where it is another one, or others than its owner may read it.
        """
        text = secret_text(path, "the file of keys")
        try:
            document = json.loads(text)
            what, version = document["voile"], document["version"]
            if what == _FILE and isinstance(version, int) and version > _FORMAT:
                msg = f"{path}: a newer Voile wrote this file; update Voile"
                raise InputError(msg)
            if (what, version) != (_FILE, _FORMAT):
                raise ValueError
            a, b, sender, receiver = (_secret(document[name]) for name in _SECRETS)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            msg = f"{path}: this is no file of `voile share party init`"
            raise InputError(msg) from None
        seeds = {protocol.Role.SENDER: sender, protocol.Role.RECEIVER: receiver}
        return cls(protocol.PairKeys(a, b), seeds, Randomness.secure())

    def save(self, path: Path) -> None:
        """Write everything to a new file for its owner alone; raises ``InputError``.

        Whoever holds it reads the reports about the parcel.
        """
        seeds = (self.seeds[role] for role in (protocol.Role.SENDER, protocol.Role.RECEIVER))
        secrets = map(to_base64url, (self.keys.a, self.keys.b, *seeds))
        kept = {"voile": _FILE, "version": _FORMAT, **dict(zip(_SECRETS, secrets, strict=True))}
        new_private_file(path, json.dumps(kept, indent=2) + "\n")

    def party(self, role: protocol.Role) -> Party:
        """One of the two."""
        return Party(role, self.keys, self.seeds[role], self.randomness)

    @property
    def signers(self) -> tuple[bytes, bytes]:
        """The keys by which sender and receiver sign: what the parcel is registered with."""
        return (
            self.party(protocol.Role.SENDER).signer,
            self.party(protocol.Role.RECEIVER).signer,
        )

    def consign(self, carrier: bytes, parcel: bytes, first_day: int, days: int) -> Consignment:
        """Everything that a carrier needs to carry a parcel by any of its trucks.

        ``carrier`` is its verifying key.  Raises ``InputError`` for what cannot be.
        """
        parties = [self.party(role) for role in protocol.Role]
        offers = [party.offer(parcel, first_day, days) for party in parties]
        halves = [
            half for party in parties for half in party.signed_offers(carrier, parcel, offers)
        ]
        boxes = {offer.role: offer.box for offer in offers}
        return Consignment(carrier, parcel, *self.signers, first_day, days, boxes, tuple(halves))

    def submit(
        self,
        client: PlatformClient,
        parcel: bytes,
        first_day: int,
        days: int = 1,
        *,
        card: protocol.TruckCard,
    ) -> protocol.ReaderLink:
        """``Party.submit`` for both."""
        client.check_card(card)
        parties = [self.party(role) for role in protocol.Role]
        link = parties[0].link(card, parcel, first_day, days)
        halves = [party.halves(card, parcel, first_day, days) for party in parties]
        for both in zip(*halves, strict=True):
            for sealed in both:
                client.submit(sealed)
        return link


def _secret(text: str) -> bytes:
    """32 bytes in base64url; raises ``ValueError``."""
    try:
        octets = from_base64url(text)
    except Base64Error:
        raise ValueError from None
    if len(octets) != 32 or to_base64url(octets) != text:
        raise ValueError
    return octets
