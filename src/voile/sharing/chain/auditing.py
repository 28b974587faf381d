"""For auditors who trust no platform: a truck's records, from its card and a node.

What it proves, where nothing is raised: the contract names this card for the truck; each report on
the chain is signed by the truck and continues the record before it, from the first one on.  So none
was left out, put in or exchanged, whatever the platform and the company say.  What the node says is
believed: ask one's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from voile.errors import InputError
from voile.sharing.chain.contract import Contract, Deployment, Registration
from voile.sharing.chain.interface import Chain
from voile.sharing.chain.reading import published
from voile.sharing.protocol import Auditor, Reason, RejectedError, Report, TruckCard

__all__ = ["Audited", "audit"]


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
