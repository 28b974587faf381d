"""The contract that the package brings: what it was compiled from and by, its calls and events.

``reports.json`` holds the bytecode, made from ``reports.vy`` by the compiler and the flags that it
names; a test compiles it again and compares.  Nothing else is needed to use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from voile_base.errors import InputError
from voile_share.chain.interface import Chain, Event, address_of, needed

__all__ = ["Anchored", "Contract", "Deployment", "Registration", "Sent"]

_NOBODY = bytes(20)
_PUBLISHED = "Published(bytes16,uint32,bytes)"
_STORED = "Stored(bytes16,uint32)"
_ANCHORED = "Anchored(address,uint64,uint32,bytes32)"


@dataclass(frozen=True)
class Deployment:
    """Where the contract is."""

    chain: int
    """The number of the chain."""
    address: bytes
    """20 bytes."""
    block: int
    """In which it was made: nothing is looked for before."""

    def __post_init__(self) -> None:
        address_of(self.address)
        if min(self.chain, self.block) < 0:
            msg = "numbers of chains and blocks are 0 or more"
            raise InputError(msg)


@dataclass(frozen=True)
class Registration:
    """A truck in the contract."""

    company: bytes
    account: bytes
    card: bytes
    """SHA-256 of its card."""

    @staticmethod
    def digest(card: bytes) -> bytes:
        """What the contract keeps of a card (``protocol.TruckCard``, encoded)."""
        return sha256(card).digest()


@dataclass(frozen=True)
class Sent:
    """What an event tells of a report."""

    truck: bytes
    slot: int
    message: bytes | None
    """None where it is in the contract's storage."""
    block: int


@dataclass(frozen=True)
class Anchored:
    """A root."""

    company: bytes
    number: int
    slot: int
    """The last one whose reports are in it."""
    root: bytes
    block: int


@cache
def _compiled() -> dict[str, Any]:
    """``reports.json``: ``compiler``, ``flags``, ``abi``, ``bytecode`` (``0x`` and hexadecimal)."""
    text = files(__package__).joinpath("reports.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


class Contract:
    """Calls to write, questions to ask and events to look for; raises what its chain raises."""

    def __init__(self, chain: Chain, deployment: Deployment) -> None:
        self.chain = chain
        self.deployment = deployment

    # Calls: the data of transactions

    @staticmethod
    def creation() -> bytes:
        """Data of the transaction that makes the contract."""
        return bytes.fromhex(_compiled()["bytecode"].removeprefix("0x"))

    @staticmethod
    def publish(message: bytes) -> bytes:
        """A truck publishes a report as an event."""
        return _data("publish(bytes)", message)

    @staticmethod
    def store(message: bytes) -> bytes:
        """A truck publishes a report into storage."""
        return _data("store(bytes)", message)

    @staticmethod
    def anchor(number: int, slot: int, root: bytes) -> bytes:
        """A company anchors a root."""
        return _data("anchor(uint64,uint32,bytes32)", number, slot, root)

    @staticmethod
    def register(truck: bytes, registration: Registration) -> bytes:
        """A company registers a truck."""
        fields = truck, registration.account, registration.card
        return _data("register(bytes16,address,bytes32)", *fields)

    @staticmethod
    def retire(truck: bytes) -> bytes:
        """A company takes a truck's account from it."""
        return _data("retire(bytes16)", truck)

    @staticmethod
    def certify(company: bytes) -> bytes:
        """The owner certifies a company."""
        return _data("certify(address)", company)

    @staticmethod
    def withdraw(company: bytes) -> bytes:
        """The owner takes that back."""
        return _data("withdraw(address)", company)

    @staticmethod
    def offer(owner: bytes) -> bytes:
        """The owner offers the contract to another."""
        return _data("offer(address)", owner)

    @staticmethod
    def accept() -> bytes:
        """The other takes it."""
        return _data("accept()")

    # Questions

    def owner(self) -> bytes:
        """The account that certifies companies."""
        return _address(self._ask("owner()", ("address",))[0])

    def offered(self) -> bytes:
        """The account to which the contract is offered."""
        return _address(self._ask("offered()", ("address",))[0])

    def is_certified(self, company: bytes) -> bool:
        """Whether a company may register trucks."""
        return bool(self._ask("certified(address)", ("bool",), company)[0])

    def registration(self, truck: bytes) -> Registration | None:
        """A truck, retired ones too."""
        fields = ("(address,address,bytes32)",)
        company, account, card = self._ask("registrations(bytes16)", fields, truck)[0]
        found = Registration(_address(company), _address(account), bytes(card))
        return None if found.company == _NOBODY else found

    def is_open(self, truck: bytes) -> bool:
        """Whether a truck may publish."""
        return bool(self._ask("is_open(bytes16)", ("bool",), truck)[0])

    def is_registered(self, truck: bytes) -> bool:
        """Whether a truck has an account, its company certified or not."""
        return bool(self._ask("is_registered(bytes16)", ("bool",), truck)[0])

    def least(self, truck: bytes) -> int:
        """The least slot that it may publish."""
        return int(self._ask("least(bytes16)", ("uint256",), truck)[0])

    def stored(self, truck: bytes, slot: int) -> bytes:
        """A report in storage; empty where there is none."""
        return bytes(self._ask("stored(bytes16,uint32)", ("bytes",), truck, slot)[0])

    def anchored(self, company: bytes) -> tuple[int, int]:
        """How many roots a company has anchored, and the last one's slot."""
        number, slot = self._ask("anchored(address)", ("uint64", "uint32"), company)
        return int(number), int(slot)

    # Events

    def sent(self, first: int, last: int, truck: bytes | None = None) -> Sequence[Sent]:
        """Reports, of one truck or of all, in blocks first to last."""
        kinds = [_topic(_PUBLISHED), _topic(_STORED)]
        place = None if truck is None else [truck.ljust(32, b"\0")]
        return [self._sent(event) for event in self._events(first, last, [kinds, place])]

    def roots(
        self, first: int, last: int, company: bytes, number: int | None = None
    ) -> Sequence[Anchored]:
        """Roots of a company in blocks first to last, or the one of a number."""
        numbered = None if number is None else [number.to_bytes(32, "big")]
        topics = [[_topic(_ANCHORED)], [company.rjust(32, b"\0")], numbered]
        return [_anchored(event) for event in self._events(first, last, topics)]

    def _ask(self, signature: str, returns: Iterable[str], *values: object) -> tuple[Any, ...]:
        data = _data(signature, *values)
        answer = self.chain.call(_NOBODY, self.deployment.address, data)
        return tuple(needed("eth_abi").decode(list(returns), answer))

    def _events(
        self, first: int, last: int, topics: Sequence[Sequence[bytes] | None]
    ) -> Sequence[Event]:
        return self.chain.events(self.deployment.address, first, last, topics)

    @staticmethod
    def _sent(event: Event) -> Sent:
        kind, truck, slot = event.topics
        message = None
        if kind == _topic(_PUBLISHED):
            message = bytes(needed("eth_abi").decode(["bytes"], event.data)[0])
        return Sent(truck[:16], int.from_bytes(slot, "big"), message, event.block)


def _anchored(event: Event) -> Anchored:
    _, company, number = event.topics
    slot, root = needed("eth_abi").decode(["uint32", "bytes32"], event.data)
    return Anchored(company[12:], int.from_bytes(number, "big"), slot, bytes(root), event.block)


def _address(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


@cache
def _topic(signature: str) -> bytes:
    return bytes(needed("eth_utils").keccak(text=signature))


def _data(signature: str, *values: object) -> bytes:
    types = signature.partition("(")[2].removesuffix(")")
    encoded = needed("eth_abi").encode(types.split(",") if types else [], values)
    return _topic(signature)[:4] + bytes(encoded)
