"""Who may publish on a chain, and what readers and auditors with a node of their own find there.

**Who may publish**: what the contract's owner and certified companies do.

Every method looks first, sends nothing where the contract stands as asked, and returns when it is
mined.  It raises ``RevertedError`` where the contract does not allow it, before anything is paid,
and ``ChainError`` where the node is away or the account has no money.

Money for gas goes from one account to others, so that these can send.

**Readers and auditors** ask no platform, and trust none.

``published`` gives the reports of a truck as the chain has them, and ``ChainReadings.read`` hands
them to a ``protocol.Reader``.  In mode ``anchor``, where a report comes from elsewhere,
``check_anchored`` tells whether the truck's company anchored it.  What the node says is believed:
ask one's own, or several.

``audit`` is for auditors: where nothing is raised, the contract names this card for the truck;
each report on the chain is signed by the truck and continues the record before it, from the first
one on.  So none was left out, put in or exchanged, whatever the platform and the company say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from voile_base.errors import InputError
from voile_share.chain.anchor_log import Inclusion, verify_inclusion
from voile_share.chain.contract import (
    Anchored,
    Chain,
    ChainError,
    ChainSigner,
    Contract,
    Deployment,
    Receipt,
    Registration,
    RevertedError,
    TransactionTerms,
    UnfundedError,
    address_of,
    transaction,
)
from voile_share.chain.delivery import Delivery, Look, span
from voile_share.protocol import (
    Auditor,
    Reader,
    Reason,
    Record,
    RejectedError,
    Report,
    Sighting,
    TruckCard,
    TruckSlot,
)

__all__ = [
    "Audited",
    "ChainReadings",
    "ContractAccount",
    "NotAnchoredError",
    "ReportOnChain",
    "audit",
    "check_anchored",
    "deploy",
    "fill",
    "published",
]

_PAUSE = 0.05
_LOW = 4
"""An account is filled when it has less than this part of what it should have."""


def deploy(chain: Chain, owner: ChainSigner, terms: TransactionTerms | None = None) -> Deployment:
    """Make the contract; the account is its owner.

    Returns where it is, which everybody needs to know.  Raises ``ChainError``.
    """
    terms = terms or TransactionTerms()
    sender, creation = address_of(owner), Contract.creation()
    gas = chain.estimate(sender, None, creation)
    fields = {"nonce": chain.nonce(sender), "gas": gas + gas // 4, "chainId": chain.identity()}
    fee = chain.fee().capped(terms.most_wei_per_gas)
    signed = owner.sign_transaction(transaction(fields, None, creation, fee))
    receipt = _mined(chain, chain.send(bytes(signed.raw_transaction)), terms)
    if not receipt.succeeded or receipt.contract is None:
        msg = "the contract could not be made: see whether the chain takes contracts"
        raise ChainError(msg)
    return Deployment(chain.identity(), receipt.contract, receipt.block)


def _mined(chain: Chain, sent: bytes, terms: TransactionTerms) -> Receipt:
    end = time.monotonic() + terms.patience
    while True:
        receipt = chain.receipt(sent)
        if receipt and chain.head().number - receipt.block + 1 >= terms.confirmations:
            return receipt
        if time.monotonic() >= end:
            msg = f"not on the chain after {terms.patience:g} s"
            raise ChainError(msg)
        time.sleep(min(_PAUSE, terms.poll))


class ContractAccount:
    """The contract in the hands of one account: the owner's or a company's."""

    def __init__(
        self,
        chain: Chain,
        deployment: Deployment,
        account: ChainSigner,
        terms: TransactionTerms | None = None,
    ) -> None:
        self.contract = Contract(chain, deployment)
        self._account = account
        self._delivery = Delivery(chain, deployment.address, terms or TransactionTerms())

    # The owner

    def certify(self, company: bytes) -> None:
        """Let a company (its address) register trucks."""
        contract = self.contract
        self._do(Contract.certify(company), lambda: contract.is_certified(company))

    def withdraw(self, company: bytes) -> None:
        """From now on neither the company nor its trucks may do anything."""
        contract = self.contract
        self._do(Contract.withdraw(company), lambda: not contract.is_certified(company))

    def offer(self, owner: bytes) -> None:
        """Offer the contract to another owner, who takes it by ``accept``."""
        self._do(Contract.offer(owner), lambda: self.contract.offered() == owner)

    def accept(self) -> None:
        """Become the owner, where that was offered."""
        own = address_of(self._account)
        self._do(Contract.accept(), lambda: self.contract.owner() == own)

    # Companies

    def register(self, truck: bytes, account: bytes, card: bytes) -> None:
        """Let an account publish for a truck; ``card`` is ``protocol.TruckCard``, encoded.

        Again with another account: the one before is out.
        """
        digest = Registration.digest(card)
        wanted = Registration(address_of(self._account), account, digest)

        def done() -> bool:
            there = self.contract.registration(truck) == wanted
            return there and self.contract.is_registered(truck)

        self._do(Contract.register(truck, wanted), done)

    def retire(self, truck: bytes) -> None:
        """Take a truck's account from it.  Its number stays the company's."""
        own = address_of(self._account)

        def done() -> bool:
            found = self.contract.registration(truck)
            mine = found is not None and found.company == own
            return mine and not self.contract.is_registered(truck)

        self._do(Contract.retire(truck), done)

    def _do(self, data: bytes, done: Callable[[], bool]) -> None:
        if done():
            return
        outgoing = self._delivery.prepare(data, self._account, data)
        chain = self.contract.chain

        def look() -> Look:
            return Look.at([outgoing], {data: chain.head().number} if done() else {})

        delivered = self._delivery.deliver(look, {data})
        if delivered.unfunded:
            msg = f"the account {self._account.address} has no money for gas"
            raise ChainError(msg)
        for reason in delivered.refused.values():
            raise RevertedError(reason)


def fill(
    chain: Chain,
    payer: ChainSigner,
    account: bytes,
    wei: int,
    terms: TransactionTerms | None = None,
) -> bool:
    """Fill an account up to so many wei if it has less than a quarter of them; whether it had.

    Never more than that stands in it by this.  Returns when the payment is mined; raises
    ``ChainError``, as ``UnfundedError`` where the payer has too little.
    """
    has = chain.balance(account)
    if has >= wei / _LOW:
        return False
    delivery = Delivery(chain, account, terms or TransactionTerms())
    payment = replace(delivery.prepare(account, payer, b""), value=wei - has)

    def look() -> Look:
        filled = chain.balance(account) >= wei / _LOW
        return Look.at([payment], {account: chain.head().number} if filled else {})

    delivered = delivery.deliver(look, {account})
    if delivered.unfunded:
        msg = (
            f"the account {payer.address} has too little money: send it some, of which it fills "
            "the accounts of trucks"
        )
        raise UnfundedError(msg)
    return True


@dataclass(frozen=True)
class ReportOnChain:
    """A report on the chain.

    That the account registered for the truck sent it, in a slot later than all before, the contract
    has seen to; what is in the message, it has not looked at.
    """

    at: TruckSlot
    message: bytes
    block: int


@dataclass(frozen=True)
class ChainReadings:
    """What a reader found."""

    reader: Reader
    sightings: tuple[Sighting, ...]
    rejected: tuple[tuple[int, Reason], ...]
    """Slots whose reports are not accepted, and why: of days without a key, among others."""

    @staticmethod
    def read(
        reader: Reader, reports: Iterable[ReportOnChain], now: int, *, vouched: bool = False
    ) -> ChainReadings:
        """Read reports from a chain; what is rejected is told, and reading goes on.

        Reports are believed by the truck's signature; or, ``vouched``, because the chain names
        their sender, as reports of suite ``paper`` need.  Then the company is believed, too, which
        decides whose account the truck's is.
        """
        sightings, rejected = [], []
        for one in reports:
            try:
                if vouched:
                    report = Report.decode(one.message)
                    reader, sighting = reader.read_vouched(one.at, report.body, now)
                else:
                    reader, sighting = reader.read(one.message, now)
            except RejectedError as error:
                rejected.append((one.at.slot, error.reason))
                continue
            if sighting is not None:
                sightings.append(sighting)
        return ChainReadings(reader, tuple(sightings), tuple(rejected))


class NotAnchoredError(InputError):
    """A report is not anchored as it is said to be; ``reason`` says why, for programs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """``unregistered``, ``no-root``, ``not-included`` or ``backdated``."""


def published(
    chain: Chain, deployment: Deployment, truck: bytes, first: int | None = None
) -> Iterator[ReportOnChain]:
    """Reports of a truck in blocks from ``first`` on (all), as they were mined.

    Raises ``ChainError``.
    """
    contract = Contract(chain, deployment)
    block = deployment.block if first is None else max(first, deployment.block)
    newest = chain.head().number
    while block <= newest:
        end, found = span(lambda low, high: contract.sent(low, high, truck), block, newest)
        for one in found:
            at = TruckSlot(one.truck, one.slot)
            message = one.message
            if message is None:
                message = contract.stored(one.truck, one.slot)
            yield ReportOnChain(at, message, one.block)
        block = end + 1


def check_anchored(
    chain: Chain, deployment: Deployment, record: bytes, inclusion: Inclusion
) -> Anchored:
    """The root that a record (``protocol.Record``, encoded) is under.

    Raises ``NotAnchoredError``, ``RejectedError`` for what is no record, and ``ChainError``.  That
    the truck signed the record is for ``protocol.Reader`` or ``protocol.Auditor`` to see.
    """
    at, contract = Record.decode(record).at, Contract(chain, deployment)
    registration = contract.registration(at.truck)
    if registration is None:
        msg = "the contract knows no such truck"
        raise NotAnchoredError("unregistered", msg)
    anchored = _root(contract, registration.company, inclusion.number)
    if anchored is None:
        msg = f"the truck's company has anchored no root of number {inclusion.number}"
        raise NotAnchoredError("no-root", msg)
    if not verify_inclusion(record, inclusion, anchored.root):
        msg = f"the record is not under root {inclusion.number} of the truck's company"
        raise NotAnchoredError("not-included", msg)
    if at.slot > anchored.slot:
        msg = (
            f"root {inclusion.number} is of slots up to {anchored.slot}, the record of a later one"
        )
        raise NotAnchoredError("backdated", msg)
    return anchored


def _root(contract: Contract, company: bytes, number: int) -> Anchored | None:
    block, newest = contract.deployment.block, contract.chain.head().number
    while block <= newest:
        end, found = span(
            lambda low, high: contract.roots(low, high, company, number), block, newest
        )
        for one in found:
            return one
        block = end + 1
    return None


@dataclass(frozen=True)
class Audited:
    """A record that is right."""

    slot: int
    number: int
    block: int


def audit(chain: Chain, deployment: Deployment, card: bytes) -> Iterator[Audited]:
    """All records of the truck of a card (``protocol.TruckCard``, encoded), from the first on.

    Raises ``InputError`` where the contract knows no such truck, or another card of it;
    ``RejectedError`` at the first report that is not signed or does not continue the one before;
    ``ChainError``.
    """
    auditor = Auditor(TruckCard.decode(card))
    truck = auditor.card.truck
    registration = Contract(chain, deployment).registration(truck)
    if registration is None:
        msg = "the contract knows no such truck: look whether its address is the right one"
        raise InputError(msg)
    if registration.card != Registration.digest(card):
        msg = "the contract names another card for this truck"
        raise InputError(msg)
    for one in published(chain, deployment, truck):
        report = Report.decode(one.message)
        if report.at != one.at:
            msg = f"what is published in slot {one.at.slot} names another slot or truck"
            raise RejectedError(Reason.FOREIGN, msg)
        auditor = auditor.follow(report.record().encode())
        yield Audited(one.at.slot, report.sequence, one.block)
