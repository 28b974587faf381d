"""Events of a contract, read once and in order, through reorganisations.

A journal remembers the hashes of blocks up to which it was read.  Where the newest of them is not
in the chain any more, because of a reorganisation or of a node that lost its last blocks, what was
found after the last common one is taken back, and the chain is read again from there.

Cost: two requests where nothing is new; else one for each span of blocks, of 2,000 at most, halved
where a node finds that too much.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Generic, Protocol, TypeVar

from voile_share.chain.contract import Contract
from voile_share.chain.errors import ChainError, NotTakenError
from voile_share.chain.journal import ChainJournal

__all__ = ["Follower", "Reads", "span"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SPAN = 2_000
_TRIES = 5


class Reads(Protocol[T_co]):
    """What is looked for, and what is done with it."""

    def __call__(self, first: int, last: int) -> Sequence[T_co]:
        """What there is in blocks first to last."""


def span(read: Reads[T], first: int, last: int) -> tuple[int, Sequence[T]]:
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
        read: Reads[T],
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
