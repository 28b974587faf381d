"""A chain in this process, for tests and demonstrations: eth-tester with py-evm.

It keeps nothing on disk, and mines a block for each transaction unless told otherwise.  Its rules
are those of the fork of py-evm's newest virtual machine (``fork``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

from voile_base.errors import InputError
from voile_share.chain.interface import address_of, needed
from voile_share.chain.web3_chain import Web3Chain

__all__ = ["EmbeddedChain", "Mined"]

T = TypeVar("T")

_EXTRA = "embedded-chain"
_WEI = 10**18
_LEAST_GAS, _STORED_BYTE_GAS = 200_000, 750


@dataclass(frozen=True)
class Mined:
    """A transaction."""

    to: bytes
    """Whom it was sent to, or the contract that it made."""
    data: bytes
    gas: int
    """Used."""


class EmbeddedChain(Web3Chain):
    """A new chain with one rich account, which ``fund`` spends."""

    def __init__(self) -> None:
        needed("eth", _EXTRA)
        tester = needed("eth_tester", _EXTRA)
        self.tester: Any = tester.EthereumTester(tester.PyEVMBackend())
        web3 = needed("web3")
        super().__init__(web3.Web3(web3.EthereumTesterProvider(self.tester)))
        self._lock = RLock()
        self._rich = self.tester.get_accounts()[0]
        self._faults = (
            *self._faults,
            needed("eth_tester.exceptions").TransactionFailed,
            needed("eth_tester.exceptions").ValidationError,
            needed("eth_utils").ValidationError,
        )

    @property
    def fork(self) -> str:
        """Whose rules it follows, such as ``prague``."""
        return str(self.tester.backend.chain.get_vm().fork)

    def fund(self, account: bytes, ether: float = 1.0) -> None:
        """Give an account some ether, and mine that."""
        if ether <= 0:
            msg = "ether must be more than 0"
            raise InputError(msg)
        gift = {"from": self._rich, "to": self._address(address_of(account)), "gas": 21_000}
        with self._lock:
            self.tester.send_transaction({**gift, "value": int(ether * _WEI)})

    def mine(self, blocks: int = 1) -> None:
        """Make blocks, of what waits."""
        with self._lock:
            self.tester.mine_blocks(blocks)

    def mined(self) -> Sequence[Mined]:
        """All transactions up to now, the first one first."""
        with self._lock:
            newest = self.tester.get_block_by_number("latest")["number"]
            return [
                self._mined(one)
                for number in range(newest + 1)
                for one in self.tester.get_block_by_number(number)["transactions"]
            ]

    def _mined(self, name: str) -> Mined:
        sent = self.tester.get_transaction_by_hash(name)
        receipt = self.tester.get_transaction_receipt(name)
        to = receipt["contract_address"] or sent["to"]
        data = bytes.fromhex(str(sent["data"]).removeprefix("0x"))
        return Mined(address_of(str(to)), data, int(receipt["gas_used"]))

    def call(self, sender: bytes, to: bytes, data: bytes) -> bytes:
        """See ``Chain``; this virtual machine lets nobody call who could not pay for it."""
        return super().call(sender if any(sender) else address_of(self._rich), to, data)

    def estimate(self, sender: bytes, to: bytes | None, data: bytes) -> int:
        """See ``Chain``; an upper bound, since the virtual machine finds more by a dozen trials.

        Of whatever the contract may do, storing takes the most gas for each byte.
        """
        if to is None:
            return super().estimate(sender, to, data)
        self.call(sender, to, data)
        return _LEAST_GAS + _STORED_BYTE_GAS * len(data)

    def _ask(self, question: Callable[[], T], *awaited: type[Exception]) -> T:
        """The virtual machine belongs to one thread at a time."""
        with self._lock:
            return super()._ask(question, *awaited)
