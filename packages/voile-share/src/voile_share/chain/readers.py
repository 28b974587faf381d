"""For readers and auditors with a node of their own: no platform is asked, and none is trusted.

``published`` gives the reports of a truck as the chain has them, and ``read_published`` hands them
to a ``protocol.Reader``.  In mode ``anchor``, where a report comes from elsewhere,
``check_anchored`` tells whether the truck's company anchored it.  What the node says is believed:
ask one's own, or several.

``audit`` is for auditors: where nothing is raised, the contract names this card for the truck;
each report on the chain is signed by the truck and continues the record before it, from the first
one on.  So none was left out, put in or exchanged, whatever the platform and the company say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from voile_base.errors import InputError
from voile_share.chain.anchor_log import Inclusion, verify_inclusion
from voile_share.chain.contract import Anchored, Chain, Contract, Deployment, Registration
from voile_share.chain.delivery import span
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
    "NotAnchoredError",
    "ReportOnChain",
    "audit",
    "check_anchored",
    "published",
    "read_published",
]


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


def read_published(
    reader: Reader, reports: Iterable[ReportOnChain], now: int, *, vouched: bool = False
) -> ChainReadings:
    """Read reports from a chain; what is rejected is told, and reading goes on.

    Reports are believed by the truck's signature; or, ``vouched``, because the chain names their
    sender, as reports of suite ``paper`` need.  Then the company is believed, too, which decides
    whose account the truck's is.
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
