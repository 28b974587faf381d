"""The third step: who writes reports, this process alone or worker processes beside it.

Writing a report is a few operations on a curve for each parcel, under the interpreter's lock.  It
is a pure function (``writing``), so other processes can do it.  Drafts that wait together are
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
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from queue import Empty, Full, Queue
from threading import Thread

from voile_base.errors import InputError
from voile_base.operating_system import quiet_interrupts
from voile_share.platform.core import BusyError
from voile_share.platform.writing import Draft, Writer, Written
from voile_share.store import Appended, Entry, ReportLog

__all__ = ["Committer", "Writers", "collect_seldom", "end_with_parent"]


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
