"""What is asked of a chain.  Addresses are 20 bytes, hashes and topics 32.

What goes wrong with a chain, and what to install.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from voile_base.errors import InputError
from voile_share.store.protocols import StoreError

__all__ = [
    "Block",
    "Chain",
    "ChainError",
    "ChainSigner",
    "Event",
    "Fee",
    "NotTakenError",
    "Receipt",
    "RevertedError",
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
) -> dict[str, Any]:
    """A transaction as signers take it; ``value`` is the wei that it pays."""
    pays: dict[str, Any] = (
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
