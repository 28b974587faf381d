"""The third step: from the true positions of a truck to its signed reports, and who writes them.

How they are written is a pure function.

A ``Draft`` holds all that a truck's next reports depend on, a ``Writer`` makes the reports, and
``Written`` says from where the truck goes on.  So any thread and any process may write, one that
dies loses nothing, and a draft that is written twice gives the same bytes.

The true position exists in a draft and nowhere else.  All that is random about a report (the noise
of its positions, its ephemeral key, its dummies) comes from entropy of the draft, which is kept
nowhere; and the noise itself, which the next report's is correlated with, stays in memory.  So
whoever gets hold of everything stored, of what lies in its log and of the key that seals it finds
no true position.  Noise that stays with places has to survive a restart: its keys, of one truck or
one company and one period, are in what is stored, sealed.  With them, the vault's key and the
reports he computes what stays, for this period, and is left with the fresh part of the noise.
After a restart the fresh part of a truck's noise begins anew.

Of the positions that are published, the one that the operator may see stays in memory too, for the
operator's page: as it was published, of the last report, and on no disk.

What a parcel's parties may see is decided by the near position that was just perturbed, never by
the true one: so it follows from what is private already, and costs nothing.

Who writes is this process alone, or worker processes beside it.

Writing a report is a few operations on a curve for each parcel, under the interpreter's lock.  It
is a pure function, so other processes can do it.  Drafts that wait together are
written together: trucks are dealt out over lines, and a line gets a process when it has had much to
write.  A platform with few trucks or empty ones never has any.  What goes to a process goes in one
message, so a pipe costs each draft little; this process writes its own share meanwhile.

A process that dies loses nothing: what it was asked is written here, until the line has written
much again.  Processes end with the one that began them.

The last step, group commit: one thread appends what is ready, in the order in which it came.

Waiting for the disk takes as long for one report as for hundreds, and pages are written once for
all reports of a commit: one of thirty takes less than half the processor of five of six.  So
commits begin no sooner than a while after each other, and what came in between goes together.  A
report that comes alone is not kept waiting.  It is acknowledged when it is durable, not before.

How seldom Python looks for cycles in a process that keeps thousands of trucks in memory.

To look at everything stops all threads for a tenth of a second with a thousand trucks, and finds
next to nothing: what a request or a report leaves is freed without it.

A process ends with the one that began it, even where that was killed and could say nothing.

Otherwise workers of a service that was killed go on serving, and hold its port against the next.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from queue import Empty, Full, Queue
from threading import Thread

from voile_base.errors import InputError
from voile_base.operating_system import quiet_interrupts
from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import metres_between
from voile_share.ingest import Fix
from voile_share.platform.core import BusyError, Settings, Vault
from voile_share.positions import BudgetSpentError, PositionStream
from voile_share.protocol import Carried, Content, Position, ReportPublisher, TrackingPublic, day_of
from voile_share.store import Appended, Entry, ReportLog

__all__ = [
    "Aboard",
    "Committer",
    "Draft",
    "SlotOutcome",
    "Writer",
    "Writers",
    "Written",
    "collect_seldom",
    "end_with_parent",
    "stream_context",
]

_MOST_STREAMS = 20_000
_DAY = 86_400


class SlotOutcome(StrEnum):
    """What became of a message of a device."""

    PUBLISHED = "published"
    """At least one report was published for it, and is durable."""
    KNOWN_SLOT = "known-slot"
    """Its slots are published already, or earlier than the last one that is."""
    BEHIND = "behind"
    """Its positions are of slots long before the last report: they are thrown away."""
    SUPERSEDED = "superseded"
    """Its positions are not later than the last one published."""
    BUDGET_SPENT = "budget-spent"
    """The truck may publish no more on this day."""
    NOTHING = "nothing"
    """It told no position."""


@dataclass(frozen=True)
class Aboard:
    """A parcel whose parties have agreed on keys for a day."""

    keys: TrackingPublic
    destination: tuple[float, float] | None = field(repr=False)
    """Degrees north and east; None where that was not said."""
    parcel: bytes = b""
    """Its number."""


@dataclass(frozen=True)
class Draft:
    """What the next reports of a truck are made of.  Private."""

    publisher: ReportPublisher = field(repr=False)
    state: bytes | None = field(repr=False)
    """Of the truck's stream of positions, or what was kept of it; None before its first report."""
    randomness: Randomness
    """For these reports and nothing else."""
    fixes: Sequence[tuple[int, Fix]] = field(repr=False)
    """Slots, ascending and later than the publisher's last, and the true position of each."""
    aboard: Mapping[int, Sequence[Aboard]]
    """Parcels by the day of the slots."""
    fleet: Mapping[int, Key] = field(default_factory=dict, repr=False)
    """By slot the key of the noise that trucks of its company have in common."""

    @property
    def truck(self) -> bytes:
        """The truck's number."""
        return self.publisher.secrets.truck


@dataclass(frozen=True)
class Written:
    """Reports, and from where their truck goes on."""

    outcome: SlotOutcome
    reports: Sequence[tuple[int, bytes, bytes]]
    """For each its slot, its bytes, and what is kept of the stream after it, sealed."""
    publisher: ReportPublisher = field(repr=False)
    state: bytes | None = field(repr=False)
    shown: Sequence[Sequence[Position]] = field(default=(), repr=False)
    """The positions of each report, of all levels."""
    nearing: Sequence[tuple[bytes, float]] = ()
    """Parcels with a destination, and the metres that parties are shown in the last report."""


class Writer:
    """Writes for the trucks of one platform.  For one thread at a time; others get a copy."""

    def __init__(self, vault: Vault, settings: Settings) -> None:
        self._vault = vault
        self._settings = settings
        # Streams as they are after the last report, to spare reading their states.
        self._streams: dict[bytes, tuple[bytes, PositionStream]] = {}
        self._period = 0

    def __reduce__(self) -> tuple[type[Writer], tuple[Vault, Settings]]:
        return Writer, (self._vault, self._settings)

    def write(self, draft: Draft) -> Written:
        """A report for each position that is later than those before it, as the budget allows.

        Raises ``InputError`` where a truck carries more parcels than a report has room for.
        """
        self._forget_ended(draft.fixes[-1][0])
        stream, context = self._stream(draft), stream_context(draft.truck)
        publisher, state, outcome = draft.publisher, draft.state, SlotOutcome.KNOWN_SLOT
        reports: list[tuple[int, bytes, bytes]] = []
        shown: list[Sequence[Position]] = []
        nearing: Sequence[tuple[bytes, float]] = ()
        for slot, fix in draft.fixes:
            if stream.time is not None and fix.time <= stream.time:
                outcome = SlotOutcome.SUPERSEDED
                continue
            drawn = draft.randomness.within(str(slot))
            stream.rekey(drawn.key("positions"))
            try:
                positions = stream.report(
                    fix.latitude, fix.longitude, fix.time, slot, draft.fleet.get(slot)
                )
            except BudgetSpentError:
                outcome = SlotOutcome.BUDGET_SPENT
                continue
            aboard = draft.aboard[day_of(slot)]
            carried = [self._carried(one, positions) for one in aboard]
            nearing = [
                (one.parcel, float(made.remaining))
                for one, made in zip(aboard, carried, strict=True)
                if made.remaining is not None
            ]
            content = Content(positions, carried, self._settings.room)
            publisher, message = publisher.publish(slot, content, drawn)
            state = stream.state
            shown.append(positions)
            reports.append((slot, message, self._vault.seal(context, stream.kept)))
        if state is not None:
            self._remember(draft.truck, state, stream)
        became = SlotOutcome.PUBLISHED if reports else outcome
        return Written(became, reports, publisher, state, shown, nearing)

    def _stream(self, draft: Draft) -> PositionStream:
        """The stream at the draft's state, from memory where it is there."""
        # Taken out: after an error it may have gone ahead of what is stored.
        remembered, stream = self._streams.pop(draft.truck, (None, None))
        if stream is not None and remembered == draft.state:
            return stream
        settings = self._settings
        return PositionStream(
            settings.levels,
            draft.randomness.key("positions"),
            distance=settings.distance,
            delta=settings.delta,
            budget=settings.budget,
            state=draft.state,
        )

    def _forget_ended(self, slot: int) -> None:
        """In a new period forget all streams: they hold the keys of the one before."""
        period = int(slot // (self._settings.period_days * _DAY))
        if period > self._period:
            self._streams.clear()
            self._period = period

    def _remember(self, truck: bytes, state: bytes, stream: PositionStream) -> None:
        if len(self._streams) >= _MOST_STREAMS:
            self._streams.clear()
        self._streams[truck] = state, stream

    def _carried(self, one: Aboard, positions: Sequence[Position]) -> Carried:
        if one.destination is None:
            return Carried(one.keys, level=len(positions) - 1)
        level = self._settings.levels.level(_metres(positions[0], one.destination))
        # From the position that the party sees: it tells nothing that the party does not know.
        return Carried(one.keys, level, round(_metres(positions[level], one.destination)))


def stream_context(truck: bytes) -> bytes:
    """What the sealed state of a truck's stream is bound to."""
    return b"stream of a truck" + truck


def _metres(position: Position, place: tuple[float, float]) -> float:
    return float(metres_between(position.latitude, position.longitude, *place))


_MOST_WAITING = 5_000
_MOST_AT_ONCE = 400


@dataclass(frozen=True)
class _Waiting:
    entries: Sequence[Entry]
    done: Future[Sequence[Appended]] = field(default_factory=Future)


class Committer:
    """Appends to a log; ``committed`` is told of every entry that is new, after it is durable."""

    def __init__(
        self,
        log: ReportLog,
        committed: Callable[[Entry], None],
        gather: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``gather``: seconds from the beginning of one commit to that of the next, at least."""
        self._log = log
        self._gather = gather
        self._sleep = sleep
        self._committed = committed
        self._since: float | None = None
        self._failed = False
        self._next_begins = 0.0
        self._queue: Queue[_Waiting | None] = Queue(_MOST_WAITING)
        self._thread = Thread(target=self._run, name="voile-commit", daemon=True)
        self._thread.start()

    def append(self, entries: Sequence[Entry]) -> Future[Sequence[Appended]]:
        """What becomes of some entries, which go together.  Raises ``BusyError``."""
        waiting = _Waiting(entries)
        try:
            self._queue.put_nowait(waiting)
        except Full:
            msg = "too many reports wait to be stored: try again in a moment"
            raise BusyError(msg) from None
        return waiting.done

    def waited(self) -> float:
        """For how many seconds the log has been appending what it appends now."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    @property
    def has_failed(self) -> bool:
        """Whether the log could not append what came last."""
        return self._failed

    def close(self) -> None:
        """Append what waits, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            self._since = time.monotonic()
            self._commit(batch)
            self._since = None

    def _next(self) -> list[_Waiting] | None:
        """What waits, but not more than goes well at once; None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        if (early := self._next_begins - time.monotonic()) > 0:
            self._sleep(early)
        self._next_begins = time.monotonic() + self._gather
        batch, size = [first], len(first.entries)
        while size < _MOST_AT_ONCE:
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                break
            if waiting is None:
                self._queue.put(None)
                break
            batch.append(waiting)
            size += len(waiting.entries)
        return batch

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        entries = [entry for waiting in batch for entry in waiting.entries]
        try:
            outcomes = list(self._log.append(entries))
        except InputError as error:
            if len(batch) == 1:
                batch[0].done.set_exception(error)
                return
            # A log such as a chain refuses all for one of them: the others shall not suffer.
            for waiting in batch:
                self._commit([waiting])
            return
        except Exception as error:
            # Whoever waits is told, and the thread lives on.
            self._failed = True
            for waiting in batch:
                waiting.done.set_exception(error)
            return
        self._failed = False
        for entry, outcome in zip(entries, outcomes, strict=True):
            if outcome is Appended.NEW:
                self._committed(entry)
        at = 0
        for waiting in batch:
            waiting.done.set_result(outcomes[at : at + len(waiting.entries)])
            at += len(waiting.entries)


_COLLECT = (50_000, 20, 100)
"""New objects until the young are looked at; such looks until the middle-aged are, and the old."""


def collect_seldom() -> None:
    """Look at what is new, seldom at everything, and never at what is there already."""
    gc.freeze()
    gc.set_threshold(*_COLLECT)


def _nothing() -> None:
    pass


def end_with_parent(ask: Callable[[], None] = _nothing, grace: float = 0.0) -> None:
    """Watch for the end of the process that began this one; in a process that has none: nothing.

    Then ``ask`` is called, in another thread, and after ``grace`` seconds this process ends.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        ask()
        time.sleep(grace)
        os._exit(1)

    Thread(target=watch, name="voile-parent", daemon=True).start()


_ITEMS_FOR_A_PROCESS = 20_000
"""A line that has addressed so many reports and parcels in ``_WINDOW_SECONDS`` gets a process: that
many take a tenth of a core where most are parcels, and nearly half of one where most are reports.
What goes to a process and comes back takes a tenth of a millisecond a report."""
_WINDOW_SECONDS = 10.0
_END_SECONDS = 5.0

_Index = int
"""Of a draft among those that are written together."""


class Writers:
    """To be used by one thread at a time."""

    def __init__(self, writer: Writer, lines: int = 0) -> None:
        """``lines``: of processes; 0 for this process alone."""
        self._writer = writer
        self._lines = [_Line(writer) for _ in range(lines)]

    def write(self, drafts: Sequence[Draft]) -> list[Written | Exception]:
        """What came of each draft, an error where it could not be written.

        Of a truck there is one draft at a time.
        """
        outcomes: list[Written | Exception | None] = [None] * len(drafts)
        shares = defaultdict[_Line, list[_Index]](list)
        for index, draft in enumerate(drafts):
            if self._lines:
                shares[self._lines[draft.truck[0] % len(self._lines)]].append(index)
        sent = {
            line: indices
            for line, indices in shares.items()
            if line.send([drafts[index] for index in indices])
        }
        elsewhere = {index for indices in sent.values() for index in indices}
        for index in range(len(drafts)):
            if index not in elsewhere:
                outcomes[index] = _outcome(self._writer, drafts[index])
        for line, indices in shares.items():
            if line not in sent:
                line.count(sum(map(_items, (drafts[index] for index in indices))))
        for line, indices in sent.items():
            for index, one in zip(indices, line.receive(len(indices)), strict=True):
                # What failed there fails here, too, and says why.
                outcomes[index] = one or _outcome(self._writer, drafts[index])
        return [one for one in outcomes if one is not None]

    def close(self) -> None:
        """End the processes."""
        for line in self._lines:
            line.close()


def _items(draft: Draft) -> int:
    """What there is to address: each report, and each parcel in it."""
    return sum(1 + max(map(len, draft.aboard.values()), default=0) for _ in draft.fixes)


class _Line:
    """Trucks that one process writes for, where there is much to write."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._items = 0
        self._since = time.monotonic()
        self._worker: _WorkerProcess | None = None

    def send(self, drafts: Sequence[Draft]) -> bool:
        """Whether the process of the line writes these."""
        if self._worker is None or not self._worker.is_ready():
            return False
        try:
            self._worker.send(drafts)
        except OSError:
            self._give_up()
            return False
        return True

    def receive(self, count: int) -> Sequence[Written | None]:
        """What came of what was sent; None for an error, and for all where the process has died."""
        assert self._worker is not None
        try:
            return self._worker.receive()
        except (OSError, EOFError):
            self._give_up()
            return [None] * count

    def count(self, items: int) -> None:
        """Begin a process if this line has had much to write lately."""
        now = time.monotonic()
        if now - self._since > _WINDOW_SECONDS:
            self._items, self._since = 0, now
        self._items += items
        if self._worker is None and self._items > _ITEMS_FOR_A_PROCESS:
            self._items = 0
            self._worker = _WorkerProcess.begun(self._writer)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()

    def _give_up(self) -> None:
        self.close()
        self._worker = None


class _WorkerProcess:
    """A process that writes."""

    def __init__(self, writer: Writer) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_write, args=(writer, theirs), daemon=True)
        # Ctrl+C reaches all processes of a terminal; this one ends with the one that began it.
        with quiet_interrupts():
            self._process.start()
        theirs.close()
        self._is_ready = False

    @classmethod
    def begun(cls, writer: Writer) -> _WorkerProcess | None:
        """None where this is a process that may have no children, or the machine has no room."""
        if multiprocessing.current_process().daemon:
            return None
        with suppress(OSError):
            return cls(writer)
        return None

    def is_ready(self) -> bool:
        """Whether it has loaded what it needs: a second after it was begun."""
        if not self._is_ready and self._pipe.poll():
            with suppress(EOFError, OSError):  # it has died, which the next message shows
                self._pipe.recv()
            self._is_ready = True
        return self._is_ready

    def send(self, drafts: Sequence[Draft]) -> None:
        """Raises ``OSError`` where the process has died."""
        self._pipe.send(drafts)

    def receive(self) -> Sequence[Written | None]:
        """What came of each, None for an error.

        Raises ``OSError`` or ``EOFError`` where the process has died.
        """
        written: Sequence[Written | None] = self._pipe.recv()
        return written

    def close(self) -> None:
        self._pipe.close()
        self._process.join(_END_SECONDS)


def _write(writer: Writer, pipe: Connection) -> None:
    """Until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    collect_seldom()
    with suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            outcomes = [_outcome(writer, draft) for draft in pipe.recv()]
            pipe.send([one if isinstance(one, Written) else None for one in outcomes])


def _outcome(writer: Writer, draft: Draft) -> Written | Exception:
    try:
        return writer.write(draft)
    except Exception as error:
        return error
