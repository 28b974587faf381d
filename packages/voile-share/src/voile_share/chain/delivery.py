"""Transactions, until they are mined deep enough.

What it promises: a transaction that the node forgot, that a reorganisation took away or whose fee
is too low is sent again; nothing lands twice.  For that, nothing is remembered from run to run: of
an account's things that are not on the chain, in their order, the first takes the number (nonce) of
the account's next transaction, the second the one after, whatever was sent before under these
numbers.  Of two transactions of one number only one is ever mined.  Whether a thing is on the chain
is asked of the chain, by its events, and not concluded from a transaction's hash; and what is to be
sent is asked anew at each look, since a reorganisation may bring back what comes before it.

An account is meant to send for one process at a time.  Where two do so, they take each other's
numbers, notice it, and go on; what lands twice by that is for the contract to refuse.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from voile_share.chain.interface import (
    Block,
    Chain,
    ChainError,
    ChainSigner,
    Fee,
    NotTakenError,
    RevertedError,
    TransactionTerms,
    UnfundedError,
    address_of,
    transaction,
)

__all__ = ["Delivery", "Look", "Outgoing"]

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
