"""A chain as ``web3`` reaches it: a node over JSON-RPC, or one in this process.

The one in this process is for tests and demonstrations: eth-tester with py-evm.  It keeps nothing
on disk, and mines a block for each transaction unless told otherwise.  Its rules are those of the
fork of py-evm's newest virtual machine (``fork``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

from voile_base.errors import InputError
from voile_share.chain.contract import (
    Block,
    ChainError,
    ChainSigner,
    Event,
    Fee,
    NotTakenError,
    Receipt,
    RevertedError,
    UnfundedError,
    address_of,
    needed,
)

__all__ = [
    "EmbeddedChain",
    "Mined",
    "Web3Chain",
    "signer",
]

T = TypeVar("T")

_SECONDS = 20.0
_UNFUNDED = re.compile("insufficient (?:funds|balance)|cannot afford", re.IGNORECASE)
_REVERTED = re.compile(r"revert(?:ed)?:? *'?([a-z]+(?:-[a-z]+)*)'?(?:$|[,'\"])")


def signer(key: bytes) -> ChainSigner:
    """The account of a secret key of 32 bytes; raises ``InputError``."""
    account = needed("eth_account").Account
    if len(key) != 32:
        msg = "the key of an account must be 32 bytes"
        raise InputError(msg)
    try:
        signing: ChainSigner = account.from_key(key)
    except Exception:
        # Its message shows the key.
        msg = "the key of an account must be a number from 1 to the order of its curve"
        raise InputError(msg) from None
    return signing


class Web3Chain:
    """A ``Chain``; may be shared by threads."""

    def __init__(self, web3: Any) -> None:
        self._web3 = web3
        self._eth = web3.eth
        self._missing = needed("web3.exceptions").TransactionNotFound
        self._no_block = needed("web3.exceptions").BlockNotFound
        self._faults: tuple[type[Exception], ...] = (needed("web3.exceptions").Web3Exception,)

    def identity(self) -> int:
        """See ``Chain``."""
        return int(self._ask(lambda: self._eth.chain_id))

    def head(self) -> Block:
        """See ``Chain``."""
        return _block(self._ask(lambda: self._eth.get_block("latest")))

    def block(self, number: int) -> Block | None:
        """See ``Chain``."""
        try:
            return _block(self._ask(lambda: self._eth.get_block(number), self._no_block))
        except self._no_block:
            return None

    def nonce(self, account: bytes) -> int:
        """See ``Chain``."""
        return int(self._ask(lambda: self._eth.get_transaction_count(self._address(account))))

    def balance(self, account: bytes) -> int:
        """See ``Chain``."""
        return int(self._ask(lambda: self._eth.get_balance(self._address(account))))

    def fee(self) -> Fee:
        """Twice the base fee, which covers six full blocks in a row, and the usual tip."""
        base = self._ask(lambda: self._eth.get_block("latest")).get("baseFeePerGas")
        if base is None:
            return Fee(int(self._ask(lambda: self._eth.gas_price)), None)
        tip = int(self._ask(lambda: self._eth.max_priority_fee))
        return Fee(2 * int(base) + tip, tip)

    def estimate(self, sender: bytes, to: bytes | None, data: bytes) -> int:
        """See ``Chain``."""
        request = self._request(sender, to, data)
        return int(self._ask(lambda: self._eth.estimate_gas(request)))

    def call(self, sender: bytes, to: bytes, data: bytes) -> bytes:
        """See ``Chain``."""
        request = self._request(sender, to, data)
        return bytes(self._ask(lambda: self._eth.call(request)))

    def send(self, raw: bytes) -> bytes:
        """See ``Chain``."""
        return bytes(self._ask(lambda: self._eth.send_raw_transaction(raw)))

    def knows(self, transaction: bytes) -> bool:
        """See ``Chain``."""
        with suppress(self._missing):
            self._ask(lambda: self._eth.get_transaction(transaction), self._missing)
            return True
        return False

    def receipt(self, transaction: bytes) -> Receipt | None:
        """See ``Chain``."""
        try:
            found = self._ask(lambda: self._eth.get_transaction_receipt(transaction), self._missing)
        except self._missing:
            return None
        made = found.get("contractAddress")
        return Receipt(
            bool(found["status"]),
            int(found["blockNumber"]),
            int(found["gasUsed"]),
            bytes.fromhex(made.removeprefix("0x")) if made else None,
        )

    def events(
        self, address: bytes, first: int, last: int, topics: Sequence[Sequence[bytes] | None]
    ) -> Sequence[Event]:
        """See ``Chain``."""
        request = {
            "address": self._address(address),
            "fromBlock": first,
            "toBlock": last,
            "topics": [
                None if topic is None else [f"0x{one.hex()}" for one in topic] for topic in topics
            ],
        }
        found = self._ask(lambda: self._eth.get_logs(request))
        ordered = sorted(found, key=lambda one: (one["blockNumber"], one["logIndex"]))
        return [
            Event(tuple(map(bytes, one["topics"])), bytes(one["data"]), int(one["blockNumber"]))
            for one in ordered
        ]

    def has_code(self, address: bytes) -> bool:
        """See ``Chain``."""
        return bool(self._ask(lambda: self._eth.get_code(self._address(address))))

    def close(self) -> None:
        """See ``Chain``; connections end by themselves."""

    def _address(self, account: bytes) -> str:
        return str(self._web3.to_checksum_address(account))

    def _request(self, sender: bytes, to: bytes | None, data: bytes) -> dict[str, str]:
        target = {} if to is None else {"to": self._address(to)}
        return {"from": self._address(sender), "data": f"0x{data.hex()}", **target}

    def _ask(self, question: Callable[[], T], *awaited: type[Exception]) -> T:
        """Errors of the node in our words: its address may hold a key, so none is quoted whole."""
        try:
            return question()
        except awaited:
            raise
        except self._faults as error:
            said = _said(error)
            if reason := _REVERTED.search(said):
                raise RevertedError(reason[1]) from None
            kind = UnfundedError if _UNFUNDED.search(said) else NotTakenError
            msg = f"the node does not take this: {said[:200]}"
            raise kind(msg) from None
        except (OSError, ValueError) as error:
            msg = f"the node of the chain does not answer ({type(error).__name__})"
            raise ChainError(msg) from None

    @staticmethod
    def connect(url: str, seconds: float = _SECONDS) -> Web3Chain:
        """A node by its address, such as ``http://127.0.0.1:8545``; ``seconds`` for each answer."""
        if not url.startswith(("http://", "https://")):
            msg = "a node is reached by http:// or https://"
            raise InputError(msg)
        web3 = needed("web3")
        provider = web3.HTTPProvider(url, request_kwargs={"timeout": seconds})
        # Log of reports decide themselves when to ask again.
        provider.exception_retry_configuration = None
        node = web3.Web3(provider)
        poa = needed("web3.middleware").ExtraDataToPOAMiddleware
        node.middleware_onion.inject(poa, layer=0)
        return Web3Chain(node)


def _said(error: Exception) -> str:
    response = getattr(error, "rpc_response", None) or {}
    told = response.get("error") if isinstance(response, dict) else None
    if isinstance(told, dict) and "message" in told:
        return str(told["message"])
    return str(error.args[0]) if error.args else type(error).__name__


def _block(found: Any) -> Block:
    return Block(int(found["number"]), bytes(found["hash"]))


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
