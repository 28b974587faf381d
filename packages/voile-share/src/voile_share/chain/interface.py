"""What is asked of a chain.  Addresses are 20 bytes, hashes and topics 32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from voile_base.errors import InputError

__all__ = [
    "Block",
    "Chain",
    "ChainSigner",
    "Event",
    "Fee",
    "Receipt",
    "TransactionTerms",
    "address_of",
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

    def sign_transaction(self, transaction_dict: Any) -> Any:
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
    fields: Mapping[str, Any], to: bytes | None, data: bytes, fee: Fee, value: int = 0
) -> dict[str, Any]:
    """A transaction as signers take it; ``value`` is the wei that it pays."""
    pays: dict[str, Any] = (
        {"gasPrice": fee.most}
        if fee.tip is None
        else {"maxFeePerGas": fee.most, "maxPriorityFeePerGas": min(fee.tip, fee.most), "type": 2}
    )
    target = {} if to is None else {"to": to}
    return {**fields, **target, **pays, "data": data, "value": value}
