"""A few threads that work on what was asked, and a bound on how much waits for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from typing import Any

from voile.sharing.platform.access import BusyError

__all__ = ["Workers"]

_MOST_WAITING = 2_000


class Workers:
    """Threads may share it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max(2, os.cpu_count() or 1), "voile-perturb")
        self._waiting = 0
        self._count = Condition()

    def begin(self, answer: Future[Any], work: Callable[[], None]) -> None:
        """Let a thread begin with what ends in an answer, whoever gives it; raises ``BusyError``.

        An error of ``work`` is the answer, too.
        """
        with self._count:
            if self._waiting >= _MOST_WAITING:
                msg = "too much is waiting: try again in a moment"
                raise BusyError(msg)
            self._waiting += 1
        answer.add_done_callback(self._ended)
        self.go_on(answer, work)

    def go_on(self, answer: Future[Any], work: Callable[[], None]) -> None:
        """Let a thread do more for an answer that was begun."""
        self._pool.submit(_guarded, answer, work)

    def close(self) -> None:
        """Wait for all answers, and end."""
        with self._count:
            self._count.wait_for(lambda: not self._waiting)
        self._pool.shutdown(wait=True)

    def _ended(self, _: Future[Any]) -> None:
        with self._count:
            self._waiting -= 1
            if not self._waiting:
                self._count.notify_all()


def _guarded(answer: Future[Any], work: Callable[[], None]) -> None:
    try:
        work()
    except BaseException as error:
        answer.set_exception(error)
