"""The last step, group commit: one thread appends what is ready, in the order in which it came.

Waiting for the disk takes as long for one report as for hundreds, and pages are written once for
all reports of a commit: one of thirty takes less than half the processor of five of six.  So
commits begin no sooner than a while after each other, and what came in between goes together.  A
report that comes alone is not kept waiting.  It is acknowledged when it is durable, not before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from threading import Thread

from voile_base.errors import InputError
from voile_share.platform.access import BusyError
from voile_share.store import Appended, Entry, ReportLog

__all__ = ["Committer"]

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
