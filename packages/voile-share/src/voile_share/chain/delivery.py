"""What goes to a chain and what comes back: transactions until they are mined, and events in order.

Transactions, until they are mined deep enough
----------------------------------------------
What it promises: a transaction that the node forgot, that a reorganisation took away or whose fee
is too low is sent again; nothing lands twice.  For that, nothing is remembered from run to run: of
an account's things that are not on the chain, in their order, the first takes the number (nonce) of
the account's next transaction, the second the one after, whatever was sent before under these
numbers.  Of two transactions of one number only one is ever mined.  Whether a thing is on the chain
is asked of the chain, by its events, and not concluded from a transaction's hash; and what is to be
sent is asked anew at each look, since a reorganisation may bring back what comes before it.

An account is meant to send for one process at a time.  Where two do so, they take each other's
numbers, notice it, and go on; what lands twice by that is for the contract to refuse.

Events of a contract, read once and in order, through reorganisations
---------------------------------------------------------------------
A journal remembers the hashes of blocks up to which it was read.  Where the newest of them is not
in the chain any more, because of a reorganisation or of a node that lost its last blocks, what was
found after the last common one is taken back, and the chain is read again from there.

Cost: two requests where nothing is new; else one for each span of blocks, of 2,000 at most, halved
where a node finds that too much.

A file of SQLite for what is kept on this side of a chain, and how far the chain was read.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, Generic, Protocol, Self, TypeVar

from voile_base.errors import InputError
from voile_share.chain.contract import (
    Block,
    Chain,
    ChainError,
    ChainSigner,
    Contract,
    Deployment,
    Fee,
    NotTakenError,
    RevertedError,
    TransactionTerms,
    UnfundedError,
    address_of,
    transaction,
)
from voile_share.store.protocols import StoreError

__all__ = ["ChainJournal", "Delivery", "Follower", "Look", "Outgoing", "span"]

_FIRST_PAUSE = 0.01
_PAUSES = 10


@dataclass(frozen=True)
class Outgoing:
    """Something to send."""

    key: bytes
    """By which it is known again on the chain."""
    account: ChainSigner
    data: bytes
    gas: int
    """The limit."""
    value: int = 0
    """Wei that go along."""


@dataclass(frozen=True)
class _Sent:
    nonce: int
    hash: bytes | None
    """None where the node did not take it."""
    fee: Fee
    at: float


@dataclass(frozen=True)
class Look:
    """How things stand."""

    outgoing: Sequence[Outgoing]
    """What is to be on the chain and is not; of one account, in the order of landing."""
    places: Mapping[bytes, int]
    """Blocks of what is there, by key."""
    refused: Mapping[bytes, str] = field(default_factory=dict)
    """What cannot be sent, and why."""

    @classmethod
    def at(cls, wanted: Sequence[Outgoing], places: Mapping[bytes, int]) -> Self:
        """Some things, of which some are on the chain."""
        return cls([one for one in wanted if one.key not in places], places)


@dataclass(frozen=True)
class _Delivered:
    """What became of what was to be sent."""

    refused: Mapping[bytes, str]
    """By key: why the contract refused it, before or after it was sent."""
    unfunded: frozenset[str]
    """Accounts that could not pay."""


class Delivery:
    """Sends to one contract."""

    def __init__(
        self,
        chain: Chain,
        to: bytes,
        terms: TransactionTerms,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._chain = chain
        self._to = to
        self._terms = terms
        self._clock = clock
        self._sleep = sleep

    def prepare(self, key: bytes, account: ChainSigner, data: bytes) -> Outgoing:
        """With a limit of gas a quarter above what is needed now; raises ``RevertedError``."""
        gas = self._chain.estimate(address_of(account), self._to, data)
        return Outgoing(key, account, data, gas + gas // 4)

    def deliver(self, look: Callable[[], Look], awaited: Collection[bytes]) -> _Delivered:
        """Send what is not on the chain, and wait for those of some keys.

        ``look`` looks at the chain, whenever there may be something new.  Raises ``ChainError``
        when patience ends; what was sent may land later.
        """
        run = _Run(self._chain, self._to, self._terms, self._clock)
        end, pause = self._clock() + self._terms.patience, _FIRST_PAUSE
        seen: Block | None = None
        looked = self._clock()
        while True:
            try:
                head = self._chain.head()
                if head != seen or self._clock() - looked > _PAUSES * self._terms.poll:
                    seen, looked = head, self._clock()
                    if run.step(look, awaited):
                        return _Delivered(run.refused, frozenset(run.unfunded))
                    continue
            except ChainError as error:
                run.trouble = str(error)
            if self._clock() >= end:
                msg = f"not on the chain after {self._terms.patience:g} s{run.in_trouble()}"
                raise ChainError(msg)
            self._sleep(pause)
            pause = min(2 * pause, self._terms.poll)


class _Run:
    """What one delivery remembers."""

    def __init__(
        self, chain: Chain, to: bytes, terms: TransactionTerms, clock: Callable[[], float]
    ) -> None:
        self._chain = chain
        self._to = to
        self._terms = terms
        self._clock = clock
        self._identity: int | None = None
        self._fee: Fee | None = None
        self._sent: dict[bytes, _Sent] = {}
        self.refused: dict[bytes, str] = {}
        self.unfunded: set[str] = set()
        self.trouble = ""

    def in_trouble(self) -> str:
        """The last thing that went wrong, to end a sentence with."""
        return f": {self.trouble}" if self.trouble else ""

    def step(self, look: Callable[[], Look], awaited: Collection[bytes]) -> bool:
        """Look once, and send what is missing; whether nothing is waited for any more."""
        names = {str(one.account.address): one.account for one in look().outgoing}
        # Numbers before the look that counts: what is mined in between has landed, and is not sent.
        nonces = {name: self._chain.nonce(address_of(one)) for name, one in names.items()}
        seen = look()
        self.refused |= seen.refused
        newest = self._chain.head().number
        self._fee = None
        for name, queue in _queues(seen.outgoing).items():
            if name in nonces:
                self._send_all(queue, nonces[name])
        deepest = newest - self._terms.confirmations + 1
        poor = {one.key for one in seen.outgoing if str(one.account.address) in self.unfunded}
        return all(
            key in self.refused
            or key in poor
            or (key in seen.places and seen.places[key] <= deepest)
            for key in awaited
        )

    def _send_all(self, missing: Sequence[Outgoing], nonce: int) -> None:
        """Give those of one account that are not refused the next numbers."""
        going = []
        for one in missing:
            before = self._sent.get(one.key)
            if before is not None and before.nonce < nonce and before.hash is not None:
                receipt = self._chain.receipt(before.hash)
                if receipt is not None and receipt.succeeded:
                    return  # mined while we looked: the next look will see it
                if receipt is not None:
                    self.refused[one.key] = self._why(one)
            if one.key not in self.refused:
                going.append(one)
        for index, one in enumerate(going):
            self._send(one, nonce + index)

    def _send(self, one: Outgoing, nonce: int) -> None:
        now = self._clock()
        before = self._sent.get(one.key)
        if self._fee is None:
            self._fee = self._chain.fee()
        fee, since = self._fee, now
        if before is not None and before.nonce == nonce:
            in_time = now - before.at < self._terms.raise_after
            if in_time and before.hash is not None and self._chain.knows(before.hash):
                return
            fee, since = (before.fee, before.at) if in_time else (fee.raised(before.fee), now)
        fee = fee.capped(self._terms.most_wei_per_gas)
        raw = self._signed(one, nonce, fee)
        try:
            taken: bytes | None = self._chain.send(raw)
        except NotTakenError as error:
            # Often it is known already, or mined: the next look tells.
            taken, self.trouble = None, str(error)
            if isinstance(error, UnfundedError):
                self.unfunded.add(str(one.account.address))
        self._sent[one.key] = _Sent(nonce, taken, fee, since)

    def _signed(self, one: Outgoing, nonce: int, fee: Fee) -> bytes:
        if self._identity is None:
            self._identity = self._chain.identity()
        fields = {"nonce": nonce, "gas": one.gas, "chainId": self._identity}
        filled = transaction(fields, self._to, one.data, fee, one.value)
        signed = one.account.sign_transaction(filled)
        return bytes(signed.raw_transaction)

    def _why(self, one: Outgoing) -> str:
        """Of a transaction that was mined and failed; ``failed`` where it would not fail now."""
        try:
            self._chain.call(address_of(one.account), self._to, one.data)
        except RevertedError as error:
            return error.reason
        return "failed"


def _queues(outgoing: Sequence[Outgoing]) -> Mapping[str, Sequence[Outgoing]]:
    """By account."""
    queues: defaultdict[str, list[Outgoing]] = defaultdict(list)
    for one in outgoing:
        queues[str(one.account.address)].append(one)
    return queues


_VERSION = 1
_KEPT_BLOCKS = 10_000
_COMMON = """
CREATE TABLE IF NOT EXISTS belongs (version INTEGER, chain INTEGER, address BLOB, kind TEXT);
CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, hash BLOB NOT NULL);
"""


class ChainJournal:
    """One connection; may be shared by threads, which take turns.

    ``path`` None keeps everything in memory.  Raises ``InputError`` for the file of another
    contract or another kind, and ``StoreError`` where the file cannot be used.
    """

    kind = ""
    schema = ""

    def __init__(self, path: Path | None, deployment: Deployment) -> None:
        self.path = path
        self._lock = RLock()
        if path is not None:
            # SQLite would choose who may read a new one; what it says of others is clear enough.
            with suppress(OSError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path, isolation_level=None, check_same_thread=False
            )
            # Durable at commit: what is acknowledged must be sent again after a crash.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self.writing():
                for statement in (_COMMON + self.schema).split(";"):
                    self._connection.execute(statement)
                self._check(deployment)
        except sqlite3.Error as error:
            raise self._failed(error) from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, durable at its end; raises ``StoreError``, having changed nothing."""
        connection = self._connection
        with self._lock:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._failed(error) from None
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """All answers; raises ``StoreError``."""
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    # How far the chain was read

    def seen(self, limit: int = _KEPT_BLOCKS) -> Sequence[Block]:
        """Blocks up to which it was read, the newest first."""
        query = "SELECT number, hash FROM blocks ORDER BY number DESC LIMIT ?"
        return [Block(*row) for row in self.rows(query, limit)]

    def newest(self) -> Block | None:
        """The last of them."""
        found = self.seen(1)
        return found[0] if found else None

    def note(self, connection: sqlite3.Connection, block: Block) -> None:
        """The chain was read up to here."""
        connection.execute(
            "INSERT OR REPLACE INTO blocks VALUES (?, ?)", (block.number, block.hash)
        )
        connection.execute("DELETE FROM blocks WHERE number <= ?", (block.number - _KEPT_BLOCKS,))

    def roll_back(self, number: int) -> None:
        """Blocks after a number are not in the chain any more."""
        with self.writing() as connection:
            connection.execute("DELETE FROM blocks WHERE number > ?", (number,))
            self.forget_after(connection, number)

    def forget_after(self, connection: sqlite3.Connection, number: int) -> None:
        """What was found in blocks after a number is not on the chain now."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _check(self, deployment: Deployment) -> None:
        own = (_VERSION, deployment.chain, deployment.address, self.kind)
        found = self._connection.execute("SELECT * FROM belongs").fetchall()
        if not found:
            self._connection.execute("INSERT INTO belongs VALUES (?, ?, ?, ?)", own)
        elif found != [own]:
            msg = f"{self.path} belongs to another contract, chain or mode: take another file"
            raise InputError(msg)

    def _failed(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"the file beside the chain cannot be used: {error}")


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SPAN = 2_000
_TRIES = 5


class _Reads(Protocol[T_co]):
    """What is looked for, and what is done with it."""

    def __call__(self, first: int, last: int) -> Sequence[T_co]:
        """What there is in blocks first to last."""


def span(read: _Reads[T], first: int, last: int) -> tuple[int, Sequence[T]]:
    """What there is from ``first`` on, and the block up to which the node answers at once."""
    end = min(first + _SPAN - 1, last)
    while True:
        try:
            return end, read(first, end)
        except NotTakenError:
            if end == first:
                raise
            end = first + (end - first) // 2


class Follower(Generic[T]):
    """Keeps a journal abreast of the chain."""

    def __init__(
        self,
        contract: Contract,
        journal: ChainJournal,
        read: _Reads[T],
        keep: Callable[[sqlite3.Connection, Sequence[T]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contract = contract
        self._journal = journal
        self._read = read
        self._keep = keep
        self._clock = clock
        self._lock = RLock()
        self._checked = False
        self._last = float("-inf")

    def look(self, freshness: float) -> None:
        """Read what is new unless that was done less than so many seconds ago.

        What was on the chain can be read while the node is away; raises ``ChainError`` where
        nothing was ever read.
        """
        if self._clock() - self._last < freshness:
            return
        try:
            self.refresh()
        except ChainError:
            if self._journal.newest() is None:
                raise

    def refresh(self) -> None:
        """Read what is new; raises ``ChainError``."""
        with self._lock:
            self._check()
            for _ in range(_TRIES):
                if self._abreast():
                    self._last = self._clock()
                    return
        msg = "the chain is being reorganised: try again"
        raise ChainError(msg)

    def _abreast(self) -> bool:
        """False where the chain changed under the reading."""
        chain, start = self._contract.chain, self._contract.deployment.block
        head = chain.head()
        seen = self._journal.newest()
        if seen == head:
            return True
        if seen is not None and chain.block(seen.number) != seen:
            self._journal.roll_back(self._common())
            self._checked = False
            self._check()
            seen = self._journal.newest()
        first = start if seen is None else seen.number + 1
        while first <= head.number:
            end, found = span(self._read, first, head.number)
            block = chain.block(end)
            if block is None or chain.block(head.number) != head:
                return False
            with self._journal.writing() as connection:
                self._keep(connection, found)
                self._journal.note(connection, block)
            first = end + 1
        return True

    def _common(self) -> int:
        """The last block that the chain and the journal share."""
        chain = self._contract.chain
        for block in self._journal.seen():
            if chain.block(block.number) == block:
                return block.number
        return self._contract.deployment.block - 1

    def _check(self) -> None:
        """The node may have been given another chain, or have lost the one it had."""
        if self._checked:
            return
        chain, deployment = self._contract.chain, self._contract.deployment
        if chain.identity() != deployment.chain:
            msg = f"the node shows chain {chain.identity()}, the contract is on {deployment.chain}"
            raise ChainError(msg)
        if not chain.has_code(deployment.address):
            msg = "the node shows no contract at its address: it is behind, or has lost its chain"
            raise ChainError(msg)
        self._checked = True
