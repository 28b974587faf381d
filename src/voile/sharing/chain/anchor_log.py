"""A log of reports beside the chain, whose roots are on it: mode ``anchor``.

What it does: reports go into another log, such as a database; for each batch that is appended the
company anchors the root of a tree over the reports' records.  Whoever has a report, and the
``inclusion`` that this log gives for it, finds out with a node of their own that it was anchored,
and under which slot (``reading.check_anchored``).

Guarantee: when ``append`` has returned, the reports are in the other log, durably, and the root
over them is mined, ``terms`` deep.  No report is anchored under a slot that is before one anchored
already: what is put in later shows that it is late.  What the chain loses again is anchored again;
an inclusion may have another number then.  The contract does not see single reports, so that slots
move forward, and that chains of records do not fork, is for the other log and for readers.

The order of ``append``: look at the chain; try an anchor on the node without sending it, so that
what the contract refuses changes nothing; note what is intended; the other log; the root; send;
wait.  After a crash anywhere in between, the next ``append`` or ``settle`` finishes it.
``ChainError`` means here, too, that the reports may be in the log and will be anchored.

States are the other log's business, which saves them in one step with the reports.

Cost: one transaction of about 31,600 gas for each batch, whatever its size (48,700 for the first);
the hashes of all records, in a file of 100 bytes for each report.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock

from voile.sharing.chain.anchors import Anchors, Leaf
from voile.sharing.chain.contract import Anchored, Contract, Deployment
from voile.sharing.chain.delivery import Delivery, Look, Outgoing
from voile.sharing.chain.errors import ChainError, RevertedError
from voile.sharing.chain.following import Follower
from voile.sharing.chain.interface import Block, Chain, Signer, Terms, address_of
from voile.sharing.chain.merkle import Inclusion, leaf_of
from voile.sharing.store.heads import Arrival
from voile.sharing.store.protocols import Appended, ReportLog
from voile.sharing.store.records import Entry

__all__ = ["AnchorLog"]

_TRIES = 5
_ANY_ROOT = b"\xff" * 32


class AnchorLog(ReportLog):
    """``ReportLog`` over another one; may be shared by threads.

    ``company`` is the account of the certified company that registered the trucks.  ``journal`` is
    a file of this log alone; None keeps it in memory, and then no inclusion outlives the process.
    ``turn`` is held while the account sends, for a process that sends other things from it, too.
    """

    def __init__(
        self,
        chain: Chain,
        deployment: Deployment,
        company: Signer,
        beside: ReportLog,
        *,
        journal: Path | None = None,
        terms: Terms | None = None,
        turn: Lock | None = None,
    ) -> None:
        self._contract = Contract(chain, deployment)
        self._company = company
        self._beside = beside
        self._anchors = Anchors(journal, deployment)
        self._terms = terms or Terms()
        self._delivery = Delivery(chain, deployment.address, self._terms)
        self._follower = Follower(self._contract, self._anchors, self._found, self._keep)
        self._appending = turn or Lock()

    # Writing

    def append(self, entries: Sequence[Entry]) -> Sequence[Appended]:
        """See ``ReportLog``, and above for what an error means.

        Raises ``InputError`` for an entry that is not its report, and ``RevertedError`` where the
        company may not anchor: nothing was changed by either.
        """
        leaves = [
            Leaf(one.entry.truck, one.entry.slot, leaf_of(one.record))
            for one in map(Arrival.of, entries)
        ]
        if not leaves:
            return []
        with self._appending:
            self._follower.refresh()
            trial = self._trial(max(one.slot for one in leaves))
            self._recover()
            self._anchors.intend(leaves)
            outcomes = self._beside.append(entries)
            there = dict.fromkeys(
                leaf
                for leaf, what in zip(leaves, outcomes, strict=True)
                if what in {Appended.NEW, Appended.KNOWN}
            )
            self._anchors.gather(list(there))
            self._send(trial, self._anchors.roots_over(there))
            return outcomes

    def settle(self) -> None:
        """Finish what a crash interrupted, and anchor again what the chain lost.

        ``append`` does that, too.  Call it at start.  Raises ``ChainError``.
        """
        with self._appending:
            self._follower.refresh()
            self._recover()
            waiting = self._anchors.under_way()
            if waiting:
                self._send(self._trial(0), frozenset(one.root for one in waiting))

    def waiting(self) -> int:
        """How many roots are on their way to the chain."""
        return len(self._anchors.under_way())

    def seen(self) -> Block | None:
        """The block up to which the journal was read; None before the first."""
        return self._anchors.newest()

    def forget(self, before: int) -> int:
        """See ``ReportLog``: what the other log drops.  Inclusions stay."""
        return self._beside.forget(before)

    # Reading

    def inclusion(self, truck: bytes, slot: int) -> Inclusion | None:
        """Where a report is anchored; None where it is not, or not yet."""
        self._follower.look(self._terms.freshness)
        return self._anchors.inclusion(truck, slot)

    def last(self, truck: bytes) -> Entry | None:
        """See ``ReportLog``."""
        return self._beside.last(truck)

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[Entry]:
        """See ``ReportLog``."""
        return self._beside.after(truck, slot, limit)

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes] | None = None
    ) -> Sequence[Entry]:
        """See ``ReportLog``."""
        return self._beside.in_slots(first, last, limit, after)

    def records(self, truck: bytes, number: int, limit: int) -> Sequence[bytes]:
        """See ``ReportLog``."""
        return self._beside.records(truck, number, limit)

    def close(self) -> None:
        """Close the journal and the other log; the chain stays open."""
        with self._appending:
            self._anchors.close()
        self._beside.close()

    # Following the chain

    def _found(self, first: int, last: int) -> Sequence[Anchored]:
        return self._contract.roots(first, last, address_of(self._company))

    def _keep(self, connection: sqlite3.Connection, found: Sequence[Anchored]) -> None:
        self._anchors.keep(connection, found)

    # Anchoring

    def _recover(self) -> None:
        """What was intended is in the other log, or it is not."""
        intended = self._anchors.intended()
        if intended:
            self._anchors.gather([one for one in intended if self._is_beside(one)])

    def _is_beside(self, leaf: Leaf) -> bool:
        found = self._beside.after(leaf.truck, leaf.slot - 1, 1)
        return bool(found) and leaf_of(Arrival.of(found[0]).record) == leaf.leaf

    def _trial(self, slot: int) -> Outgoing:
        """The next anchor as it might be; raises ``RevertedError``."""
        number, last = self._contract.anchored(address_of(self._company))
        data = Contract.anchor(number, max(slot, last), _ANY_ROOT)
        return self._delivery.prepare(b"", self._company, data)

    def _send(self, trial: Outgoing, awaited: frozenset[bytes]) -> None:
        """Anchor the roots that are not on the chain, and wait for some of them."""
        for _ in range(_TRIES):
            outgoing = self._numbered(trial)
            waiting = frozenset(one.key for one in outgoing) & awaited
            delivered = self._delivery.deliver(partial(self._look, outgoing), waiting)
            if delivered.unfunded:
                msg = f"the company's account {self._company.address} has no money for gas"
                raise ChainError(msg)
            if not delivered.refused:
                return
            for reason in delivered.refused.values():
                if reason not in {"replayed", "backward", "failed"}:
                    raise RevertedError(reason)
            # The numbers were taken by another process of the company, or the chain went back.
        msg = "others anchor for the same company at the same time: try again"
        raise ChainError(msg)

    def _numbered(self, trial: Outgoing) -> Sequence[Outgoing]:
        """Transactions of the roots that are not on the chain, numbered from the chain's next."""
        number, slot = self._contract.anchored(address_of(self._company))
        outgoing = []
        for index, one in enumerate(self._anchors.under_way()):
            slot = max(slot, one.slot)
            data = Contract.anchor(number + index, slot, one.root)
            outgoing.append(replace(trial, key=one.root, data=data))
        return outgoing

    def _look(self, outgoing: Sequence[Outgoing]) -> Look:
        self._follower.refresh()
        return Look.at(outgoing, self._anchors.places(one.key for one in outgoing))
