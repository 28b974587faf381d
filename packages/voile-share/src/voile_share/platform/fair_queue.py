"""A fair queue: companies take turns, and what would wait too long is refused.

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

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from threading import Condition
from typing import Generic, TypeVar

from voile_share.platform.access import BusyError

__all__ = ["FairQueue"]

T = TypeVar("T")

_MOST_WAITING = 2_000
_PATIENCE_SECONDS = 0.5


class FairQueue(Generic[T]):
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
