"""Answers that are owed: who ends waits until all are given."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition
from typing import Any, TypeVar

__all__ = ["Owed"]

T = TypeVar("T")


class Owed:
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
