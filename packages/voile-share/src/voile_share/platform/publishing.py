"""From what devices and trucks send to what is stored: the steps in their order.

    receive ──> queue ──────> understand ──> draft ──> write ──> store ──> answer
                (fair_queue)  (receiving)    (trucks)  (writers) (storing)

Of the positions in a message one is published for each slot that is later than the truck's last
one: the first in the slot.  So a queue that a phone kept without a network, or a file of a trip,
fills the slots that were missed.

One thread takes what waits, of each company in turn, and brings it as far as its reports are
written; another appends what is written, in the order in which it came.  So the slots of a truck
ascend.  A message of many slots is published in pieces, each in a turn of its own.  One that is
long to read, such as a file of a trip, waits before its turn for a third thread, and a worker
process, to read it.  A call returns a future that is done when its reports are durable.

Exact positions live in what is on this way, and in no log or file.

Answers that are owed: who ends waits until all are given.

Reports of trucks that hold their keys: what is looked at before one is stored.

A fair queue: companies take turns, and what would wait too long is refused.

A company that sends much waits for itself.  Each company has a queue of its own; whoever takes work
takes one piece of each in turn, so between two pieces of one company there is at most one of every
other, however much either of them has sent.  Pieces are small: who cuts a long task into pieces
puts the rest back to the head of its queue.

Refused is what comes to a queue that does not move: one whose head has waited for ``patience``, or
that holds its share of all that may wait, which is an equal part for each company that waits.  So a
service that is asked for twice what it can do answers half of it soon, and the rest at once.

Cost: a lock and a few steps of queues for each piece, some two microseconds.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Condition, Thread
from typing import Any, Generic, NamedTuple, TypeVar

from voile_share.arrival import SharedPosition
from voile_share.ingest import Arrival, Decoded, IngestError, Request
from voile_share.platform.arrivals import Trail
from voile_share.platform.core import AccessError, BusyError, PlatformCore, Settings
from voile_share.platform.receiving import (
    Admission,
    DeviceReceipt,
    Message,
    Reception,
    RequestDecoder,
    Submitting,
    Understood,
)
from voile_share.platform.telling import Nearing
from voile_share.platform.trucks import Held, Storing, Trouble, Trucks, UnderWay
from voile_share.platform.writers import Committer, Draft, SlotOutcome, Writer, Writers, Written
from voile_share.protocol import Position, Reason, RejectedError, Report, TruckCard
from voile_share.store import Appended, Entry, StoreError, Truck

__all__ = ["Publishing"]


T = TypeVar("T")


class _Owed:
    """How many answers are owed."""

    def __init__(self) -> None:
        self._owed = 0
        self._changed = Condition()

    def counted(self, answer: Future[T], begin: Callable[[], None]) -> Future[T]:
        """Begin with what ends in an answer; raises what ``begin`` does."""
        with self._changed:
            self._owed += 1
        try:
            begin()
        except BaseException:
            self._ended(answer)
            raise
        answer.add_done_callback(self._ended)
        return answer

    def wait(self) -> None:
        """Until all are given."""
        with self._changed:
            self._changed.wait_for(lambda: not self._owed)

    def _ended(self, _: Future[Any]) -> None:
        with self._changed:
            self._owed -= 1
            if not self._owed:
                self._changed.notify_all()


_EARLY_SECONDS = 60
"""By which the clock of a truck may be ahead."""


def _checked_entry(truck: Truck, message: bytes, settings: Settings, now: float) -> Entry:
    """What is to be stored of a report.

    Raises ``RejectedError`` where it is none, is another truck's, is not signed or has a slot that
    has not begun, and ``AccessError`` where its slot is none of the platform's.
    """
    report = Report.decode(message)
    at = report.at
    if not report.suite.signs:
        msg = f"reports of suite {report.suite.name} are not signed, and are not taken"
        raise RejectedError(Reason.SUITE, msg)
    if at.truck != truck.truck:
        msg = "the report is of another truck than the token"
        raise RejectedError(Reason.FOREIGN, msg)
    report.record().check_signature(truck.truck, TruckCard.decode(truck.card).verifying)
    if at.slot > now + _EARLY_SECONDS:
        msg = f"slot {at.slot} has not begun"
        raise RejectedError(Reason.FUTURE, msg)
    if at.slot % settings.slot_seconds:
        raise AccessError("slot-unfit", f"use multiples of {settings.slot_seconds}")
    return Entry(truck.truck, at.slot, message)


_MOST_WAITING = 2_000
_PATIENCE_SECONDS = 0.5


class _FairQueue(Generic[T]):
    """Threads may share it; ``T`` is a piece of work."""

    def __init__(
        self,
        patience: float = _PATIENCE_SECONDS,
        most: int | None = None,
        weigh: Callable[[T], int] = lambda _: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``patience`` in seconds; ``most`` pieces wait where one company alone has sent some.

        ``weigh`` says how much work a piece is.
        """
        self._patience = patience
        self._most = _MOST_WAITING if most is None else most
        self._weigh = weigh
        self._clock = clock
        self._changed = Condition()
        self._queues: OrderedDict[str, deque[tuple[float, T]]] = OrderedDict()
        self._is_ended = False

    def put(self, company: str, piece: T, *, was_taken: bool = False) -> None:
        """Let a piece wait for its turn; raises ``BusyError`` where that would take too long.

        One that ``was_taken`` before, in whatever form, is not refused.
        """
        now = self._clock()
        with self._changed:
            queue = self._queues.get(company)
            share = self._most // (len(self._queues) + (queue is None))
            is_slow = queue is not None and now - queue[0][0] > self._patience
            if not was_taken and (is_slow or len(queue or ()) >= share):
                msg = "too much is waiting: try again in a moment"
                raise BusyError(msg)
            self._queue(company).append((now, piece))
            self._changed.notify()

    def put_back(self, company: str, pieces: Sequence[T]) -> None:
        """Let pieces come next when it is their company's turn, in their order; never refused.

        They count as if they had come now: what waits behind them is not to be refused for them.
        """
        now = self._clock()
        with self._changed:
            self._queue(company).extendleft((now, piece) for piece in reversed(pieces))
            self._changed.notify()

    def take(self, most: int, gather: float = 0.0) -> list[T]:
        """Some pieces, one of each company in turn; waits for one, and is empty at the end.

        They are no more than together weigh ``most``, but for the last of them.  After the first it
        waits for ``gather`` seconds: what is done together costs less.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._queues or self._is_ended)
            is_ended = self._is_ended
        if gather and not is_ended:
            time.sleep(gather)
        with self._changed:
            taken: list[T] = []
            while self._queues and most > 0:
                company, queue = self._queues.popitem(last=False)
                taken.append(queue.popleft()[1])
                most -= self._weigh(taken[-1])
                if queue:
                    self._queues[company] = queue  # behind the others
            return taken

    def end(self) -> None:
        """Let whoever takes work go when nothing waits any more."""
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def waited(self) -> float:
        """For how many seconds the head of a queue has waited that has waited longest."""
        with self._changed:
            heads = [queue[0][0] for queue in self._queues.values()]
        return max(0.0, self._clock() - min(heads)) if heads else 0.0

    def _queue(self, company: str) -> deque[tuple[float, T]]:
        return self._queues.setdefault(company, deque())


_MOST_AT_ONCE = 32
"""Reports that are brought forward together, about: so many delay another company's."""
_SLOTS_AT_ONCE = 10
"""Of one message, in one turn of its company."""
_MOST_FILES = 200
_COMMITS_APART = 5
"""Times as long as a position waits for others before it is worked on."""
_THERE = frozenset({Appended.NEW, Appended.KNOWN})


class _OwnReport(NamedTuple):
    """A report of a truck that holds its keys."""

    truck: Truck
    message: bytes
    answer: Future[Appended]


class _Drafted(NamedTuple):
    """A piece of work whose reports are to be written."""

    task: Understood
    held: Held
    under_way: UnderWay
    before: Storing | None
    """What becomes of the reports before these."""
    draft: Draft


_Piece = Message | Understood | _OwnReport
_Any = TypeVar("_Any", bound=_Piece)


def _weight(piece: _Piece) -> int:
    """How many reports a piece makes, as far as that is known."""
    return min(len(piece.slots), _SLOTS_AT_ONCE) if isinstance(piece, Understood) else 1


def _answer_of(piece: _Piece) -> Future[Any]:
    return piece.message.answer if isinstance(piece, Understood) else piece.answer


class Publishing(Submitting):
    """Everything that adds to the log of reports, and to what trucks know of their parcels."""

    def __init__(
        self,
        core: PlatformCore,
        committed: Callable[[Entry], None],
        writing_lines: int = 0,
        gather: float = 0.0,
        nearing: Callable[[Truck, Nearing], None] = lambda truck, near: None,
    ) -> None:
        """``nearing`` is told, of each report that is durable, how far its parcels are to go."""
        Submitting.__init__(self, core, Admission(core), Trucks(core))
        self._nearing = nearing
        self._reader = RequestDecoder(in_worker=writing_lines > 0)
        self._reception = Reception(core, self._admission, self._reader)
        self._writers = Writers(Writer(core.vault, core.settings), writing_lines)
        self._committer = Committer(core.log, committed, _COMMITS_APART * gather)
        self._owed = _Owed()
        self._queue: _FairQueue[_Piece] = _FairQueue(weigh=_weight)
        self._files: _FairQueue[Message] = _FairQueue(math.inf, _MOST_FILES)
        self._threads = [
            Thread(target=self._run, args=(queue, *rest), name=name, daemon=True)
            for name, queue, *rest in (
                ("voile-publish", self._queue, self._bring_forward, _MOST_AT_ONCE, gather),
                ("voile-read", self._files, self._read_file, 1, 0.0),
            )
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Finish what was begun."""
        self._owed.wait()
        for queue in (self._queue, self._files):
            queue.end()
        for thread in self._threads:
            thread.join()
        self._reader.close()
        self._writers.close()
        self._committer.close()

    def changed(self, truck: bytes) -> None:
        """Look again what a truck carries, and who may send for it, before its next report."""
        self._trucks.of(truck).change()
        self._admission.forget(truck)

    def shown_of(
        self, truck: bytes, destination: tuple[float, float], since: float
    ) -> list[SharedPosition]:
        """What the parties of a parcel were shown of a truck, as far as it is in memory."""
        held = self._trucks.of(truck)
        with held.lock:
            return held.trail.shown(self._core.settings.levels, destination, since)

    def trail(self, truck: bytes) -> bytes:
        """What was published of a truck lately, to be ``recalled`` by another process."""
        held = self._trucks.of(truck)
        with held.lock:
            return held.trail.octets

    def recall(self, truck: bytes, octets: bytes) -> None:
        """Go on from the ``trail`` of another process, which ended before this one began."""
        held = self._trucks.of(truck)
        with held.lock:
            held.trail = Trail(octets)

    def destroy_ended_keys(self, now: float) -> None:
        """Forget, in memory and in the store, by which keys noise stayed in periods that are over.

        Raises ``StoreError``.
        """
        self._trucks.destroy_ended_keys(now)

    def shown(self, truck: bytes) -> Position | None:
        """The last position published of a truck, at the level that the operator may see.

        None where the platform does not hold its keys, or this process has published none.
        """
        return self._trucks.shown(truck)

    def trouble(self, truck: bytes) -> Trouble | None:
        """Why nothing was published for what a truck's tracker sent last to this process."""
        return self._trucks.trouble(truck)

    @property
    def has_failed(self) -> bool:
        """Whether what came last could not be stored."""
        return self._committer.has_failed

    def waited(self) -> float:
        """For how many seconds something has waited for its turn, or to be stored."""
        return max(self._queue.waited(), self._committer.waited())

    # What others call

    def receive(self, token: str, request: Request) -> Future[DeviceReceipt]:
        """Publish what a device sends.

        The future raises ``IngestError`` or ``StoreError``; ``BusyError`` is raised at once.
        """
        return self._begin(self._reception.by_token(token, request))

    def receive_vouched(
        self, company: str, device: str, decode: Callable[[Arrival], Decoded]
    ) -> Future[DeviceReceipt]:
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
        piece = _OwnReport(truck, report, Future())
        return self._owed.counted(piece.answer, partial(self._queue.put, truck.company, piece))

    def _begin(self, message: Message) -> Future[DeviceReceipt]:
        queue = self._files if message.is_long else self._queue
        return self._owed.counted(message.answer, partial(queue.put, message.company, message))

    # The steps

    def _run(
        self,
        queue: _FairQueue[_Any],
        work: Callable[[Sequence[_Any]], None],
        most: int,
        gather: float,
    ) -> None:
        while pieces := queue.take(most, gather):
            try:
                work(pieces)
            except BaseException as error:
                # A fault of Voile: who waits is told, and the thread lives on.
                for piece in pieces:
                    answer = _answer_of(piece)
                    if not answer.done():
                        answer.set_exception(error)

    def _read_file(self, messages: Sequence[Message]) -> None:
        """Understand what is long to read; its pieces have their turns."""
        for message in messages:
            task = self._understood(message)
            if task is not None:
                self._queue.put(task.truck.company, task, was_taken=True)

    def _bring_forward(self, pieces: Sequence[_Piece]) -> None:
        """Let the reports of some pieces of work be written and handed on to be stored."""
        drafted: dict[bytes, _Drafted] = {}
        left: list[Understood] = []
        for piece in pieces:
            if isinstance(piece, _OwnReport):
                self._store_own(piece)
                continue
            task = self._understood(piece) if isinstance(piece, Message) else piece
            if task is None:
                continue
            if task.truck.truck in drafted:
                # Its draft rests on what comes of the one before.
                left += self._written(drafted)
            if any(one.truck.truck == task.truck.truck for one in left):
                left.append(task)
            elif (one := self._drafted(task, left)) is not None:
                drafted[task.truck.truck] = one
        left += self._written(drafted)
        for company in {task.truck.company for task in left}:
            # In the order in which they came: what is left of one comes before the next.
            rests = [task for task in left if task.truck.company == company]
            self._queue.put_back(company, rests)

    def _understood(self, message: Message) -> Understood | None:
        """What is to be published of a message; None where it is answered already."""
        try:
            task = message.understood(self._core.clock(), self._core.settings)
        except BaseException as error:
            if isinstance(error, IngestError) and error.truck is not None:
                self._trucks.of(error.truck).became(error.reason, self._core.clock())
            message.answer.set_exception(error)
            return None
        if not task.slots:
            message.answer.set_result(task.receipt(SlotOutcome.NOTHING))
            return None
        return task

    def _drafted(self, task: Understood, left: list[Understood]) -> _Drafted | None:
        """What the next reports of a task are made of; None where there are none.

        It is answered then, or the rest of it is ``left``.
        """
        held = self._trucks.of(task.truck.truck)
        try:
            with held.lock:
                under_way, before = held.present(task.truck, task.now), held.storing
                some = task.slots[:_SLOTS_AT_ONCE]
                draft = under_way.draft(some, task.now)
                is_behind = under_way.is_behind(some[-1][0])
        except BaseException as error:
            held.forget()
            if isinstance(error, IngestError):
                held.became(error.reason, task.now)
            task.message.answer.set_exception(error)
            return None
        if draft is None:
            outcome = SlotOutcome.BEHIND if is_behind else SlotOutcome.KNOWN_SLOT
            left += self._rest_of(task, outcome, held, before)
            return None
        return _Drafted(task, held, under_way, before, draft)

    def _written(self, drafted: dict[bytes, _Drafted]) -> list[Understood]:
        """Write all drafts, and hand their reports on; the rests of their tasks."""
        those, left = list(drafted.values()), list[Understood]()
        drafted.clear()
        outcomes = self._writers.write([one.draft for one in those])
        for one, written in zip(those, outcomes, strict=True):
            try:
                storing = self._stored_later(one.task.truck, written)
            except Exception as error:
                one.held.forget()
                one.task.message.answer.set_exception(error)
                continue
            assert isinstance(written, Written)
            if storing is not None:
                with one.held.lock:
                    one.under_way.wrote(written)
                    one.held.storing = storing
                    for positions in written.shown:
                        one.held.trail.add(positions)
                if written.nearing:
                    time = written.shown[-1][0].time
                    near = Nearing(written.reports[-1][0], time, written.nearing)
                    storing.add_done_callback(partial(self._told, one.task.truck, near))
            left += self._rest_of(one.task, written.outcome, one.held, storing or one.before)
        return left

    def _stored_later(self, truck: Truck, written: Written | Exception) -> Storing | None:
        """What becomes of reports; None where there are none.  Raises why they are none."""
        if isinstance(written, Exception):
            raise written
        entries = [Entry(truck.truck, *report) for report in written.reports]
        if not entries:
            return None
        return self._committer.append(entries)

    def _told(self, truck: Truck, near: Nearing, stored: Future[Sequence[Appended]]) -> None:
        if stored.exception() is None and stored.result()[-1] is Appended.NEW:
            self._nearing(truck, near)

    def _rest_of(
        self, task: Understood, outcome: SlotOutcome, held: Held, storing: Storing | None
    ) -> list[Understood]:
        """What is left of a task after some of its slots; none where its receipt is given.

        That is given when the reports are durable on which it rests, those of others, too: a
        position that is sent again while its first sending is being stored is not said to be known
        before it is.
        """
        rest = task.after(_SLOTS_AT_ONCE, outcome)
        if rest.slots:
            return [rest]
        assert rest.outcome is not None
        held.became(rest.outcome, task.now)
        receipt = rest.receipt(rest.outcome)
        if storing is None:
            task.message.answer.set_result(receipt)
        else:
            storing.add_done_callback(partial(self._stored, held, task.message, receipt))
        return []

    def _stored(
        self,
        held: Held,
        message: Message,
        receipt: DeviceReceipt,
        stored: Future[Sequence[Appended]],
    ) -> None:
        """Answer the device, or try again where another process has published for its truck."""
        error, again = stored.exception(), message.again()
        if error is None and _THERE.issuperset(stored.result()):
            message.answer.set_result(receipt)
            return
        held.forget()
        if error is None and again is not None:
            queue = self._files if again.is_long else self._queue
            queue.put(again.company, again, was_taken=True)
            return
        msg = "others publish for this truck at the same time: try again"
        message.answer.set_exception(error or StoreError(msg))

    # Trucks that hold their keys

    def _store_own(self, piece: _OwnReport) -> None:
        truck, message, answer = piece
        try:
            entry = _checked_entry(truck, message, self._core.settings, self._core.clock())
            storing = self._committer.append([entry])
        except Exception as error:
            answer.set_exception(error)
        else:
            storing.add_done_callback(partial(_hand_on, answer))


def _hand_on(answer: Future[Appended], stored: Future[Sequence[Appended]]) -> None:
    error = stored.exception()
    if error is None:
        answer.set_result(stored.result()[0])
    else:
        answer.set_exception(error)
