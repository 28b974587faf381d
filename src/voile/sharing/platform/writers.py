"""Who writes reports: this thread, or, where many wait, processes beside.

Writing a report is dozens of operations on a curve, some microseconds each.  Threads do not share
them well: each gives up and takes back the interpreter's lock at every one, which takes longer than
what it does.  Writing is a pure function (``writing``), so other processes can do it.

Trucks are dealt out over lines.  A line is a thread that takes what waits together, and a process
that is begun when the line writes much: a platform with few trucks never has any.  What waits is
sent in one message, so a pipe costs each draft little.

A process that dies loses nothing: what it was asked is written here, until the line has written
much again.  Processes end with the one that began them.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread

from voile.sharing.platform.writing import Draft, Writer, Written

__all__ = ["Done", "Writers"]

Done = Callable[[Written | Exception], None]
"""Takes what was written, or the error that it ended in; raises nothing."""

_WORTH_BYTES = 2**18
"""A line that has written so much itself in ``_WINDOW_SECONDS`` gets a process: 4 small reports a
second, so the trucks of a line number a thousand where each publishes every five minutes."""
_WINDOW_SECONDS = 60.0
_MOST_AT_ONCE = 32
_END_SECONDS = 5.0

_Task = tuple[Draft, Done]


class Writers:
    """Threads may share it."""

    def __init__(self, writer: Writer, lines: int = 0) -> None:
        """``lines``: of threads and processes; 0 to write in the thread that asks."""
        self._writer = writer
        self._lines = [_Line(writer) for _ in range(lines)]

    def write(self, draft: Draft, done: Done) -> None:
        """Write a draft, and hand over what came of it, now or from another thread.

        Drafts of one truck are written in the order in which they come.
        """
        if self._lines:
            self._lines[draft.truck[0] % len(self._lines)].put((draft, done))
        else:
            done(_outcome(self._writer, draft))

    def close(self) -> None:
        """Write what waits, and end."""
        for line in self._lines:
            line.close()


class _Line:
    """A thread, and a process that is begun when there is much to write."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._bytes = 0
        self._since = time.monotonic()
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._beside: _Beside | None = None
        self._thread = Thread(target=self._run, name="voile-write", daemon=True)
        self._thread.start()

    def put(self, task: _Task) -> None:
        self._queue.put(task)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        if self._beside is not None:
            self._beside.close()

    def _run(self) -> None:
        while batch := self._next():
            drafts = [draft for draft, _ in batch]
            for (_, done), written in zip(batch, self._written(drafts), strict=True):
                done(written)

    def _next(self) -> list[_Task]:
        """What waits, but not more than goes well at once; nothing at the end."""
        first = self._queue.get()
        batch = [] if first is None else [first]
        while batch and len(batch) < _MOST_AT_ONCE:
            try:
                task = self._queue.get_nowait()
            except Empty:
                break
            if task is None:
                self._queue.put(None)
                break
            batch.append(task)
        return batch

    def _written(self, drafts: Sequence[Draft]) -> Iterator[Written | Exception]:
        if self._beside is not None and self._beside.is_ready():
            try:
                written = self._beside.written(drafts)
            except (OSError, EOFError):
                self._beside.close()
                self._beside = None
            else:
                for draft, one in zip(drafts, written, strict=True):
                    # What failed there fails here, too, and says why.
                    yield one or _outcome(self._writer, draft)
                return
        for draft in drafts:
            outcome = _outcome(self._writer, draft)
            yield outcome
            self._count(outcome)

    def _count(self, outcome: Written | Exception) -> None:
        """Begin a process if this line has written much lately."""
        now = time.monotonic()
        if now - self._since > _WINDOW_SECONDS:
            self._bytes, self._since = 0, now
        if isinstance(outcome, Written):
            self._bytes += sum(len(message) for _, message, _ in outcome.reports)
        if self._beside is None and self._bytes > _WORTH_BYTES:
            self._bytes = 0
            self._beside = _Beside.begun(self._writer)


class _Beside:
    """A process that writes."""

    def __init__(self, writer: Writer) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_write, args=(writer, theirs), daemon=True)
        # Ctrl+C reaches all processes of a terminal; this one ends with the one that began it.  The
        # tracker of resources comes first, since its beginning would unblock the signal.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._is_ready = False

    @classmethod
    def begun(cls, writer: Writer) -> _Beside | None:
        """None where this is a process that may have no children."""
        return None if multiprocessing.current_process().daemon else cls(writer)

    def is_ready(self) -> bool:
        """Whether it has loaded what it needs: a second after it was begun."""
        if not self._is_ready and self._pipe.poll():
            with suppress(EOFError, OSError):  # it has died, which the next message shows
                self._pipe.recv()
            self._is_ready = True
        return self._is_ready

    def written(self, drafts: Sequence[Draft]) -> Sequence[Written | None]:
        """What came of each, None for an error.

        Raises ``OSError`` or ``EOFError`` where the process has died.
        """
        self._pipe.send(drafts)
        written: Sequence[Written | None] = self._pipe.recv()
        return written

    def close(self) -> None:
        self._pipe.close()
        self._process.join(_END_SECONDS)


def _write(writer: Writer, pipe: Connection) -> None:
    """Until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
