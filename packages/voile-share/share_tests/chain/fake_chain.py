"""A chain of plain lists with everything that goes wrong on real ones, and a clock to match."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

from voile_share.chain.contract import (
    Block,
    ChainError,
    Event,
    Fee,
    NotTakenError,
    Receipt,
    RevertedError,
)

CONTRACT = b"c" * 20


@dataclass(frozen=True)
class FakeSigner:
    """Signs by writing down."""

    name: int

    @property
    def address(self) -> str:
        return "0x" + self.name.to_bytes(20, "big").hex()

    def sign_transaction(self, transaction_dict: dict[str, Any]) -> SimpleNamespace:
        texts = {
            key: value.hex() if isinstance(value, bytes) else value
            for key, value in transaction_dict.items()
        }
        return SimpleNamespace(raw_transaction=json.dumps({**texts, "from": self.name}).encode())


@dataclass(frozen=True)
class Transaction:
    sender: int
    nonce: int
    data: bytes
    most: int
    hash: bytes

    @classmethod
    def read(cls, raw: bytes) -> Transaction:
        its = json.loads(raw)
        most = its.get("maxFeePerGas", its.get("gasPrice"))
        data = bytes.fromhex(its["data"])
        return cls(its["from"], its["nonce"], data, most, sha256(raw).digest())


@dataclass
class FakeChain:
    """Its contract takes each data once."""

    blocks: list[list[tuple[Transaction, bool]]] = field(default_factory=lambda: [[]])
    """Transactions, and whether they succeeded."""
    waiting: dict[tuple[int, int], Transaction] = field(default_factory=dict)
    base: int = 100
    silent: int = 0
    """So many questions are not answered."""
    forks: int = 0
    now: float = 0.0
    sent: int = 0
    highest: int = 0
    """The highest fee offered."""

    # What goes on

    def mine(self, most: int = 100) -> None:
        """A block of so many transactions, at most."""
        block: list[tuple[Transaction, bool]] = []
        self.blocks.append(block)
        while len(block) < most:
            ready = [
                one
                for one in self.waiting.values()
                if one.nonce == self._mined(one.sender) and one.most >= self.base
            ]
            if not ready:
                return
            one = ready[0]
            del self.waiting[one.sender, one.nonce]
            block.append((one, one.data not in self.done()))

    def reorganise(self, depth: int, *, lost: bool) -> None:
        """The last blocks are replaced by empty ones; their transactions wait again, or do not."""
        depth = min(depth, len(self.blocks) - 1)
        gone = self.blocks[len(self.blocks) - depth :]
        self.forks += 1
        self.blocks = self.blocks[: len(self.blocks) - depth] + [[] for _ in gone]
        if not lost:
            self.waiting |= {(one.sender, one.nonce): one for block in gone for one, _ in block}

    def done(self) -> dict[bytes, int]:
        """Data that the contract has taken, and the blocks."""
        return {
            one.data: number
            for number, block in enumerate(self.blocks)
            for one, succeeded in block
            if succeeded
        }

    def failed(self) -> int:
        return sum(not succeeded for block in self.blocks for _, succeeded in block)

    def _mined(self, sender: int) -> int:
        return sum(one.sender == sender for block in self.blocks for one, _ in block)

    def _answer(self) -> None:
        if self.silent:
            self.silent -= 1
            raise ChainError("the node does not answer")

    # What is asked

    def identity(self) -> int:
        return 1

    def head(self) -> Block:
        self._answer()
        return self.block(len(self.blocks) - 1)

    def block(self, number: int) -> Block | None:
        if number >= len(self.blocks):
            return None
        return Block(number, sha256(b"%d %d" % (number, self.forks)).digest())

    def nonce(self, account: bytes) -> int:
        self._answer()
        return self._mined(int.from_bytes(account, "big"))

    def balance(self, account: bytes) -> int:
        self._answer()
        return 10**18

    def fee(self) -> Fee:
        self._answer()
        return Fee(self.base, None)

    def estimate(self, sender: bytes, to: bytes | None, data: bytes) -> int:
        self.call(sender, to or b"", data)
        return 1000

    def call(self, sender: bytes, to: bytes, data: bytes) -> bytes:
        self._answer()
        if data in self.done():
            raise RevertedError("replayed")
        return b""

    def send(self, raw: bytes) -> bytes:
        self._answer()
        one = Transaction.read(raw)
        self.highest = max(self.highest, one.most)
        before = self.waiting.get((one.sender, one.nonce))
        if one.nonce < self._mined(one.sender):
            raise NotTakenError("nonce too low")
        if before == one:
            raise NotTakenError("already known")
        if before is not None and one.most < before.most * 1.125:
            raise NotTakenError("replacement transaction underpriced")
        self.waiting[one.sender, one.nonce] = one
        self.sent += 1
        return one.hash

    def knows(self, transaction: bytes) -> bool:
        self._answer()
        mined = (one for block in self.blocks for one, _ in block)
        return any(one.hash == transaction for one in (*self.waiting.values(), *mined))

    def receipt(self, transaction: bytes) -> Receipt | None:
        self._answer()
        for number, block in enumerate(self.blocks):
            for one, succeeded in block:
                if one.hash == transaction:
                    return Receipt(succeeded, number, 1000)
        return None

    def events(
        self, address: bytes, first: int, last: int, topics: Sequence[Sequence[bytes] | None]
    ) -> Sequence[Event]:
        return []

    def has_code(self, address: bytes) -> bool:
        return True

    def close(self) -> None:
        pass
