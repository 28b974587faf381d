"""From what devices and trucks send to what is stored.

Trackers: admit, decode, perturb, encrypt, sign, commit.  Of the positions in a message one is
published for each slot that is later than the truck's last one: the first in the slot.  So a queue
that a phone kept without a network, or a file of a trip, fills the slots that were missed.

    message --workers--> draft --writers--> reports --committer--> durable, and answered

Workers are a few threads, writers and the committer take together what waits.  Of one truck one
message at a time is on its way to the committer, in the truck's lane; so its slots ascend.  A call
returns a future that is done when its reports are durable.

Exact positions live in what is on this way, and in no log or file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

from voile.sharing.ingest import Arrival, Decoded, Request
from voile.sharing.platform.access import AccessError
from voile.sharing.platform.admission import Admission
from voile.sharing.platform.committing import Committer
from voile.sharing.platform.ground import Ground
from voile.sharing.platform.lanes import Lane, Lanes
from voile.sharing.platform.messages import Message, Receipt, Reception, Understood
from voile.sharing.platform.own_reports import checked_entry
from voile.sharing.platform.underway import UnderWay
from voile.sharing.platform.workers import Workers
from voile.sharing.platform.writers import Writers
from voile.sharing.platform.writing import Outcome, Writer, Written
from voile.sharing.protocol import Reason, RejectedError, SealedSubmission
from voile.sharing.store import Appended, Entry, Mail, StoreError, TrackingLink, Truck

__all__ = ["Publishing"]

_MOST_MAIL = 10_000
_THERE = frozenset({Appended.NEW, Appended.KNOWN})

TruckLane = Lane[Understood]
Storing = Future[Sequence[Appended]]


class _Basis(NamedTuple):
    """What a draft rests on."""

    under_way: UnderWay
    storing: Storing | None
    """What becomes of the reports before it."""


class Publishing:
    """Everything that adds to the log of reports, and to what trucks know of their parcels."""

    def __init__(
        self, ground: Ground, committed: Callable[[Entry], None], writing_lines: int
    ) -> None:
        self._ground = ground
        self._admission = Admission(ground)
        self._reception = Reception(ground, self._admission)
        self._lanes: Lanes[Understood] = Lanes(ground)
        self._workers = Workers()
        self._writers = Writers(Writer(ground.vault, ground.settings), writing_lines)
        self._committer = Committer(ground.log, committed)

    def close(self) -> None:
        """Finish what was begun."""
        self._workers.close()
        self._writers.close()
        self._committer.close()

    def changed(self, truck: bytes) -> None:
        """Look again what a truck carries, and who may send for it, before its next report."""
        self._lanes.of(truck).change()
        self._admission.forget()

    def receive(self, token: str, request: Request) -> Future[Receipt]:
        """Publish what a device sends.

        The future raises ``IngestError`` or ``StoreError``; ``BusyError`` is raised at once.
        """
        return self._begin(self._reception.by_token(token, request))

    def receive_vouched(
        self, company: str, device: str, decode: Callable[[Arrival], Decoded]
    ) -> Future[Receipt]:
        """Publish what a device sends that somebody else, such as a broker, has made sure of.

        ``company`` is the number of the one whose device it must be; ``decode`` is called once, in
        another thread, and may raise ``IngestError``.  Errors are those of ``receive``.
        """
        return self._begin(self._reception.by_name(company, device, decode))

    def publish(self, truck: Truck, report: bytes) -> Future[Appended]:
        """Store the report of a truck that holds its keys itself.

        The future raises ``RejectedError``, ``AccessError`` or ``StoreError``; ``BusyError`` is
        raised at once.
        """
        answer: Future[Appended] = Future()
        self._workers.begin(answer, partial(self._publish, truck, report, answer))
        return answer

    def submit(self, link: TrackingLink, message: bytes) -> None:
        """Take a party's sealed submission to the truck of a link.

        Raises ``RejectedError``, as far as the platform can see: it reads what is meant for trucks
        whose keys it holds; and ``AccessError``.
        """
        sealed = SealedSubmission.decode(message)
        if sealed.truck != link.truck:
            msg = "the submission is meant for another truck than that of the link"
            raise RejectedError(Reason.FOREIGN, msg)
        truck, now = self._admission.served(link.truck), self._ground.clock()
        if truck.own_keys:
            waiting = self._ground.directory.mail(truck.truck, 0, _MOST_MAIL)
            if len(waiting) == _MOST_MAIL:
                raise AccessError("mail-box-full", "those of past days are dropped every day")
            self._ground.directory.add_mail(Mail(truck.truck, message, now))
            return
        lane = self._lanes.of(truck.truck)
        with lane.lock:
            lane.present(truck, now).accept(message, now)

    # Trackers, step by step

    def _begin(self, message: Message) -> Future[Receipt]:
        self._workers.begin(message.answer, partial(self._receive, message))
        return message.answer

    def _receive(self, message: Message) -> None:
        """Understand a message, and go on unless another one is in the lane of its truck."""
        task = message.understood(self._ground.clock())
        lane = self._lanes.of(task.truck.truck)
        if not task.decoded.fixes:
            message.answer.set_result(task.receipt(Outcome.NOTHING))
        elif lane.take(task):
            self._draft(lane, task)

    def _draft(self, lane: TruckLane, task: Understood) -> None:
        """Let the reports of a task be written; the lane is its own."""
        answer = task.message.answer
        try:
            with lane.lock:
                basis = _Basis(lane.present(task.truck, task.now), lane.storing)
                draft = basis.under_way.draft(task.by_slot(self._ground.settings))
        except BaseException as error:
            lane.forget()
            self._release(lane)
            answer.set_exception(error)
            return
        if draft is None:
            self._answer_when(basis.storing, lane, task, Outcome.KNOWN_SLOT)
            self._release(lane)
        else:
            self._writers.write(draft, partial(self._written, lane, task, basis))

    def _written(
        self, lane: TruckLane, task: Understood, basis: _Basis, written: Written | Exception
    ) -> None:
        """Hand reports on to be stored, and leave the lane: the next ones come behind them."""
        answer = task.message.answer
        try:
            stored = self._stored_later(task.truck, written)
        except Exception as error:
            lane.forget()
            answer.set_exception(error)
        else:
            assert isinstance(written, Written)
            if stored is not None:
                with lane.lock:
                    basis.under_way.wrote(written)
                    lane.storing = stored
            self._answer_when(stored or basis.storing, lane, task, written.outcome)
        self._release(lane)

    def _answer_when(
        self, storing: Storing | None, lane: TruckLane, task: Understood, outcome: Outcome
    ) -> None:
        """Give the receipt as soon as the reports are durable that it rests on.

        Those of others, too: a position that is sent again while its first sending is being stored
        is not said to be known before it is.
        """
        receipt = task.receipt(outcome)
        if storing is None:
            task.message.answer.set_result(receipt)
        else:
            storing.add_done_callback(partial(self._stored, lane, task.message, receipt))

    def _stored_later(self, truck: Truck, written: Written | Exception) -> Storing | None:
        """What becomes of reports; None where there are none.  Raises why they are none."""
        if isinstance(written, Exception):
            raise written
        entries = [Entry(truck.truck, *report) for report in written.reports]
        return self._committer.append(entries) if entries else None

    def _release(self, lane: TruckLane) -> None:
        """Let the next task of a truck begin."""
        task = lane.release()
        if task is not None:
            self._workers.go_on(task.message.answer, partial(self._draft, lane, task))

    def _stored(
        self,
        lane: TruckLane,
        message: Message,
        receipt: Receipt,
        stored: Future[Sequence[Appended]],
    ) -> None:
        """Answer the device, or try again where another process has published for its truck."""
        error, again = stored.exception(), message.again()
        if error is None and _THERE.issuperset(stored.result()):
            message.answer.set_result(receipt)
            return
        lane.forget()
        if error is None and again is not None:
            self._workers.go_on(message.answer, partial(self._receive, again))
            return
        msg = "others publish for this truck at the same time: try again"
        message.answer.set_exception(error or StoreError(msg))

    # Trucks that hold their keys

    def _publish(self, truck: Truck, message: bytes, answer: Future[Appended]) -> None:
        entry = checked_entry(truck, message, self._ground.settings, self._ground.clock())
        self._committer.append([entry]).add_done_callback(partial(_hand_on, answer))


def _hand_on(answer: Future[Appended], stored: Future[Sequence[Appended]]) -> None:
    error = stored.exception()
    if error is None:
        answer.set_result(stored.result()[0])
    else:
        answer.set_exception(error)
