"""From what devices and trucks send to what is stored.

Trackers: admit, decode, perturb, encrypt, sign, commit.  Of the positions in a message one is
published for each slot that is later than the truck's last one: the first in the slot.  So a queue
that a phone kept without a network, or a file of a trip, fills the slots that were missed.

    message --workers--> draft --writers--> reports --committer--> durable, and answered

Workers are a few threads, writers and the committer take together what waits.  Of one truck one
message is under way from its draft until its reports are on their way to the store, the others
wait; so its slots ascend.  A call returns a future that is done when its reports are durable.

Exact positions live in what is on this way, and in no log or file.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Condition, Lock
from typing import Any

from voile.sharing.ingest import (
    BACKFILL,
    Arrival,
    Decoded,
    Fix,
    Format,
    IngestError,
    Request,
    admit,
    decode,
    detect,
)
from voile.sharing.platform.access import AccessError, BusyError
from voile.sharing.platform.admission import Admission, Admitted
from voile.sharing.platform.committing import Committer
from voile.sharing.platform.ground import Ground
from voile.sharing.platform.underway import UnderWay
from voile.sharing.platform.writers import Writers
from voile.sharing.platform.writing import Outcome, Writer, Written
from voile.sharing.protocol import Reason, RejectedError, Report, SealedSubmission, TruckCard
from voile.sharing.store import Appended, Entry, Mail, StoreError, TrackingLink, Truck

__all__ = ["Publishing", "Receipt"]

_MOST_SLOTS = 300
"""Of one message: the latest, where there are more."""
_MOST_TASKS = 2_000
_MOST_MAIL = 10_000
_EARLY_SECONDS = 60
_TRIES = 3


@dataclass(frozen=True)
class Receipt:
    """The answer to a device."""

    outcome: Outcome
    content_type: str
    body: bytes
    refused: int = 0
    """How many of its positions were not taken, for reasons of ``ingest.REASONS``."""


@dataclass(frozen=True)
class _Message:
    """What a device sent; private."""

    admitted: Callable[[float], Admitted]
    """Who sent it, by the time; raises ``IngestError``."""
    decoded: Callable[[Admitted, float], Decoded]
    """What it says; raises ``IngestError``."""
    answer: Future[Receipt]
    tries: int = _TRIES


@dataclass(frozen=True)
class _Task:
    """A message that was admitted and decoded; private."""

    message: _Message
    truck: Truck
    decoded: Decoded
    now: float

    def receipt(self, outcome: Outcome) -> Receipt:
        return Receipt(outcome, *self.decoded.reply, len(self.decoded.refused))


class _Truck:
    """A truck, where it is in memory, and the messages that wait for it."""

    def __init__(self) -> None:
        self.lock = Lock()
        """Of everything here; held for moments."""
        self.under_way: UnderWay | None = None
        self.changed = False
        self._is_taken = False
        self._waiting: deque[_Task] = deque()

    def forget(self) -> None:
        """Read the truck again before its next report: what is in memory was not stored."""
        with self.lock:
            self.under_way = None

    def take(self, task: _Task) -> bool:
        """Whether the task may begin; else it waits until another one is released."""
        with self.lock:
            if self._is_taken:
                self._waiting.append(task)
                return False
            self._is_taken = True
            return True

    def release(self) -> _Task | None:
        """The task that may begin now, if one waits."""
        with self.lock:
            self._is_taken = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None


class Publishing:
    """Everything that adds to the log of reports."""

    def __init__(
        self, ground: Ground, committed: Callable[[Entry], None], writing_lines: int
    ) -> None:
        self._ground = ground
        self._writers = Writers(Writer(ground.vault, ground.settings), writing_lines)
        self._committer = Committer(ground.log, committed)
        self._workers = ThreadPoolExecutor(max(2, os.cpu_count() or 1), "voile-perturb")
        self._admission = Admission(ground)
        self._trucks: dict[bytes, _Truck] = {}
        self._waiting = 0
        self._count = Condition()

    def close(self) -> None:
        """Finish what was begun."""
        with self._count:
            self._count.wait_for(lambda: not self._waiting)
        self._workers.shutdown(wait=True)
        self._writers.close()
        self._committer.close()

    def changed(self, truck: bytes) -> None:
        """Look again what a truck carries, and who may send for it, before its next report."""
        self._here(truck).changed = True
        self._admission.forget()

    def receive(self, token: str, request: Request) -> Future[Receipt]:
        """Publish what a device sends.

        The future raises ``IngestError`` or ``StoreError``; ``BusyError`` is raised at once.
        """
        return self._take(
            partial(self._admission.by_token, token), partial(self._decoded, token, request)
        )

    def receive_vouched(
        self, company: str, device: str, decode: Callable[[Arrival], Decoded]
    ) -> Future[Receipt]:
        """Publish what a device sends that somebody else, such as a broker, has made sure of.

        ``company`` is the number of the one whose device it must be; ``decode`` is called once, in
        another thread, and may raise ``IngestError``.  Errors are those of ``receive``.
        """
        return self._take(
            partial(self._admission.by_name, company, device), partial(self._vouched, decode)
        )

    def publish(self, truck: Truck, report: bytes) -> Future[Appended]:
        """Store the report of a truck that holds its keys itself.

        The future raises ``RejectedError``, ``AccessError`` or ``StoreError``; ``BusyError`` is
        raised at once.
        """
        answer: Future[Appended] = Future()
        self._begin(answer, partial(self._publish, truck, report, answer))
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
        if truck.secrets is None:
            waiting = self._ground.directory.mail(truck.truck, 0, _MOST_MAIL)
            if len(waiting) == _MOST_MAIL:
                raise AccessError("mail-box-full", "those of past days are dropped every day")
            self._ground.directory.add_mail(Mail(truck.truck, message, now))
            return
        here = self._here(truck.truck)
        with here.lock:
            self._under_way(here, truck, now).accept(message, now)

    def _take(
        self,
        admitted: Callable[[float], Admitted],
        decoded: Callable[[Admitted, float], Decoded],
    ) -> Future[Receipt]:
        message = _Message(admitted, decoded, Future())
        self._begin(message.answer, partial(self._receive, message))
        return message.answer

    def _begin(self, answer: Future[Any], work: Callable[[], None]) -> None:
        """Let a worker do what ends in an answer."""
        with self._count:
            if self._waiting >= _MOST_TASKS:
                msg = "too much is waiting: try again in a moment"
                raise BusyError(msg)
            self._waiting += 1
        answer.add_done_callback(self._ended)
        self._workers.submit(_guarded, answer, work)

    def _ended(self, _: Future[Any]) -> None:
        with self._count:
            self._waiting -= 1
            if not self._waiting:
                self._count.notify_all()

    def _here(self, truck: bytes) -> _Truck:
        return self._trucks.get(truck) or self._trucks.setdefault(truck, _Truck())

    def _under_way(self, here: _Truck, truck: Truck, now: float) -> UnderWay:
        """The truck in memory, with its present parcels; the caller holds the lock."""
        if here.under_way is None:
            here.under_way = UnderWay(self._ground, truck)
        changed, here.changed = here.changed, False
        here.under_way.refresh(now, changed=changed)
        return here.under_way

    def _receive(self, message: _Message) -> None:
        """Admit and decode a message, and begin it unless another one of its truck is under way."""
        now = self._ground.clock()
        admitted = message.admitted(now)
        decoded = message.decoded(admitted, now)
        task = _Task(message, admitted.truck, decoded, now)
        if not decoded.fixes:
            message.answer.set_result(task.receipt(Outcome.NOTHING))
            return
        here = self._here(admitted.truck.truck)
        if here.take(task):
            self._draft(here, task)

    def _draft(self, here: _Truck, task: _Task) -> None:
        """Let the reports of a task be written; its truck is taken."""
        answer = task.message.answer
        try:
            with here.lock:
                under_way = self._under_way(here, task.truck, task.now)
                draft = under_way.draft(self._by_slot(task.decoded.fixes, task.now))
        except BaseException as error:
            here.forget()
            self._release(here)
            answer.set_exception(error)
            return
        if draft is None:
            self._release(here)
            answer.set_result(task.receipt(Outcome.KNOWN_SLOT))
        else:
            self._writers.write(draft, partial(self._written, here, task, under_way))

    def _written(
        self, here: _Truck, task: _Task, under_way: UnderWay, written: Written | Exception
    ) -> None:
        """Hand reports on to be stored, in the order of their slots."""
        answer = task.message.answer
        try:
            stored = self._stored_later(task.truck, written)
        except Exception as error:
            here.forget()
            answer.set_exception(error)
        else:
            assert isinstance(written, Written)
            receipt = task.receipt(written.outcome)
            if stored is None:
                answer.set_result(receipt)
            else:
                with here.lock:
                    under_way.wrote(written)
                stored.add_done_callback(partial(self._stored, task.message, receipt, here))
        self._release(here)

    def _stored_later(
        self, truck: Truck, written: Written | Exception
    ) -> Future[Sequence[Appended]] | None:
        """What becomes of reports; None where there are none.  Raises why they are none."""
        if isinstance(written, Exception):
            raise written
        entries = [Entry(truck.truck, *report) for report in written.reports]
        return self._committer.append(entries) if entries else None

    def _release(self, here: _Truck) -> None:
        """Begin the next task of a truck."""
        task = here.release()
        if task is not None:
            self._workers.submit(self._draft, here, task)

    def _stored(
        self,
        message: _Message,
        receipt: Receipt,
        here: _Truck,
        stored: Future[Sequence[Appended]],
    ) -> None:
        """Answer the device, or try again where another process has published for its truck."""
        if stored.exception() is not None:
            here.forget()
            message.answer.set_exception(stored.exception())
        elif all(one in (Appended.NEW, Appended.KNOWN) for one in stored.result()):
            message.answer.set_result(receipt)
        elif message.tries > 1:
            here.forget()
            again = partial(self._receive, replace(message, tries=message.tries - 1))
            self._workers.submit(_guarded, message.answer, again)
        else:
            here.forget()
            msg = "others publish for this truck at the same time: try again"
            message.answer.set_exception(StoreError(msg))

    def _decoded(self, token: str, request: Request, admitted: Admitted, now: float) -> Decoded:
        """What the device of a token says; raises ``IngestError``."""
        rules, given = self._ground.settings.rules, (request.content_type, request.query)
        if request.body and detect(*given, request.body, BACKFILL) is Format.GPX:
            rules = replace(BACKFILL, region=rules.region)
        kept = admitted.device.token
        decoded = decode(request, Arrival(now, rules, kept.device))
        admit(token, kept, decoded.devices, now)
        return decoded

    def _vouched(
        self, decode: Callable[[Arrival], Decoded], admitted: Admitted, now: float
    ) -> Decoded:
        """What a device says whose name is made sure of; raises ``IngestError``."""
        name = admitted.device.token.device
        decoded = decode(Arrival(now, self._ground.settings.rules, name))
        if not decoded.devices <= {name}:
            raise IngestError("token-refused", "the message names another device")
        return decoded

    def _by_slot(self, fixes: Sequence[Fix], now: float) -> dict[int, Fix]:
        """The first position of each slot, ascending; of the last slots where there are many."""
        settings = self._ground.settings
        chosen: dict[int, Fix] = {}
        for fix in sorted(fixes, key=lambda fix: fix.time):
            chosen.setdefault(settings.slot(min(fix.time, now)), fix)
        return dict(list(chosen.items())[-_MOST_SLOTS:])

    def _publish(self, truck: Truck, message: bytes, answer: Future[Appended]) -> None:
        """Check what can be seen of a report, and hand it on to be stored."""
        report = Report.decode(message)
        if not report.suite.signs:
            msg = f"reports of suite {report.suite.name} are not signed, and are not taken"
            raise RejectedError(Reason.SUITE, msg)
        if report.place.truck != truck.truck:
            msg = "the report is of another truck than the token"
            raise RejectedError(Reason.FOREIGN, msg)
        record = report.record()
        record.check_signature(truck.truck, TruckCard.decode(truck.card).verifying)
        if report.place.slot > self._ground.clock() + _EARLY_SECONDS:
            msg = f"slot {report.place.slot} has not begun"
            raise RejectedError(Reason.FUTURE, msg)
        if report.place.slot % self._ground.settings.slot_seconds:
            raise AccessError(
                "slot-unfit", f"use multiples of {self._ground.settings.slot_seconds}"
            )
        entry = Entry(truck.truck, report.place.slot, message)
        self._committer.append([entry]).add_done_callback(partial(_hand_on, answer))


def _hand_on(answer: Future[Appended], stored: Future[Sequence[Appended]]) -> None:
    error = stored.exception()
    if error is None:
        answer.set_result(stored.result()[0])
    else:
        answer.set_exception(error)


def _guarded(answer: Future[Any], work: Callable[[], None]) -> None:
    """Whatever goes wrong is the answer."""
    try:
        work()
    except BaseException as error:
        answer.set_exception(error)
