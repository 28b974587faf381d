"""What is asked of a chain, and the contract that the package brings to it.

Addresses are 20 bytes, hashes and topics 32.

``reports.json`` holds the bytecode, made from ``reports.vy`` by the compiler and the flags that it
names; a test compiles it again and compares.  Nothing else is needed to use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from typing import Any, Protocol

from voile_base.errors import InputError
from voile_base.values import Json
from voile_share.store.protocols import StoreError

__all__ = [
    "Anchored",
    "Block",
    "Chain",
    "ChainError",
    "ChainSigner",
    "Contract",
    "Deployment",
    "Event",
    "Fee",
    "NotTakenError",
    "Receipt",
    "Registration",
    "RevertedError",
    "Sent",
    "TransactionTerms",
    "UnfundedError",
    "address_of",
    "needed",
]


@dataclass(frozen=True, slots=True)
class Block:
    """A block by number and hash."""

    number: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a contract, in a block of the chain as it is now."""

    topics: tuple[bytes, ...]
    data: bytes
    block: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a transaction that is mined."""

    succeeded: bool
    block: int
    gas: int
    """Used."""
    contract: bytes | None = None
    """The address of the contract that it made."""


@dataclass(frozen=True, slots=True)
class Fee:
    """Wei for each unit of gas."""

    most: int
    tip: int | None
    """For whoever mines the block; None on chains without a base fee."""

    def raised(self, before: Fee) -> Fee:
        """At least an eighth above a fee before, without which nodes replace nothing."""
        tip = None if self.tip is None else max(self.tip, (before.tip or 0) * 9 // 8 + 1)
        return Fee(max(self.most, before.most * 9 // 8 + 1), tip)

    def capped(self, most: int | None) -> Fee:
        """Not above a limit."""
        if most is None:
            return self
        return Fee(min(self.most, most), None if self.tip is None else min(self.tip, most))


@dataclass(frozen=True)
class TransactionTerms:
    """How transactions are sent, and when they count as done.  Times in seconds."""

    confirmations: int = 1
    """Blocks on top of one another, the transaction's own included, until it is acknowledged."""
    patience: float = 180.0
    """How long one call waits."""
    poll: float = 1.0
    """At most between two looks at the chain."""
    raise_after: float = 60.0
    """After which a transaction that waits is sent again with a higher fee."""
    most_wei_per_gas: int | None = None
    """Beyond which nothing is paid; what is sent waits then until gas is cheaper."""

    freshness: float = 1.0
    """How long one look at the chain serves readings."""

    def __post_init__(self) -> None:
        if self.confirmations < 1 or min(self.patience, self.poll, self.raise_after) <= 0:
            msg = "confirmations must be 1 or more, and patience, poll and raise_after above 0"
            raise InputError(msg)


class ChainSigner(Protocol):
    """An account that signs, such as ``eth_account``'s; the key stays with the caller."""

    @property
    def address(self) -> Any:
        """``0x`` and 40 hexadecimal digits."""

    def sign_transaction(self, transaction_dict: object) -> Any:
        """A value with ``raw_transaction``."""


def address_of(account: ChainSigner | str | bytes) -> bytes:
    """The 20 bytes of an account or of a written address; raises ``InputError``."""
    text = account if isinstance(account, str | bytes) else str(account.address)
    try:
        address = text if isinstance(text, bytes) else bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        address = b""
    if len(address) != 20:
        msg = "an address is 0x and 40 hexadecimal digits"
        raise InputError(msg)
    return address


class Chain(Protocol):
    """One chain as one node shows it.

    Every method raises ``ChainError`` where the node does not answer, and ``NotTakenError`` where
    it answers with an error.
    """

    def identity(self) -> int:
        """The number of the chain, which every signature holds."""

    def head(self) -> Block:
        """The newest block."""

    def block(self, number: int) -> Block | None:
        """The block of a number, or None beyond the newest."""

    def nonce(self, account: bytes) -> int:
        """How many transactions of an account are mined."""

    def balance(self, account: bytes) -> int:
        """What an account has, in wei."""

    def fee(self) -> Fee:
        """What a transaction should offer now."""

    def estimate(self, sender: bytes, to: bytes | None, data: bytes) -> int:
        """The gas that a transaction needs; raises ``RevertedError``."""

    def call(self, sender: bytes, to: bytes, data: bytes) -> bytes:
        """What a call returns, without a transaction; raises ``RevertedError``."""

    def send(self, raw: bytes) -> bytes:
        """Give a signed transaction to the node; its hash."""

    def knows(self, transaction: bytes) -> bool:
        """Whether the node has a transaction, mined or waiting."""

    def receipt(self, transaction: bytes) -> Receipt | None:
        """None where it is not mined."""

    def events(
        self, address: bytes, first: int, last: int, topics: Sequence[Sequence[bytes] | None]
    ) -> Sequence[Event]:
        """Events of a contract in blocks first to last, in order; a topic is any of those given."""

    def has_code(self, address: bytes) -> bool:
        """Whether there is a contract."""

    def close(self) -> None:
        """Give back what is held."""


def transaction(
    fields: Mapping[str, object], to: bytes | None, data: bytes, fee: Fee, value: int = 0
) -> Json:
    """A transaction as signers take it; ``value`` is the wei that it pays."""
    pays: Json = (
        {"gasPrice": fee.most}
        if fee.tip is None
        else {"maxFeePerGas": fee.most, "maxPriorityFeePerGas": min(fee.tip, fee.most), "type": 2}
    )
    target = {} if to is None else {"to": to}
    return {**fields, **target, **pays, "data": data, "value": value}


class ChainError(StoreError):
    """The chain cannot do this now: the node is away, is behind, or was not in time.

    What was sent may be mined later.  A log keeps it, and sends it again until it is.
    """

    exit_status = 2
    """Of a command that needs the node: it is no fault of Voile."""


class NotTakenError(ChainError):
    """The node answers, and does not take the request or the transaction."""


class UnfundedError(NotTakenError):
    """The account has too little money for the transaction."""


class RevertedError(InputError, StoreError):
    """The contract does not allow it, and nothing was changed.

    One may try again when the truck is registered or the company certified: so to whoever reports
    a position it is a store that cannot take it now.
    """

    def __init__(self, reason: str, whom: str = "") -> None:
        meaning = _MEANING.get(reason, "see its source")
        super().__init__(f"the contract refuses{whom and f' {whom}'}: {reason} ({meaning})")
        self.reason = reason
        """One word of the contract, such as ``unregistered``."""


_MEANING = {
    "unregistered": "no truck is registered with this account: its company registers it",
    "not-certified": "the company is not certified, or no longer: the owner certifies it",
    "foreign-truck": "the truck is another company's",
    "foreign-account": "the account sends for another truck: take a new one",
    "foreign-report": "the report is another truck's than the account's",
    "replayed": "this slot was published, or this number anchored",
    "backward": "slots only move forward",
    "malformed": "it is no report",
    "no-account": "the account is missing",
    "not-owner": "only the contract's owner may do this",
    "not-offered": "the contract was not offered to this account",
}


def needed(module: str, extra: str = "chain") -> Any:
    """A module of an extra; raises ``InputError`` where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        msg = f"a chain needs {module.partition('.')[0]}: pip install 'voile-share[{extra}]'"
        raise InputError(msg) from None


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
def _compiled() -> Json:
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
