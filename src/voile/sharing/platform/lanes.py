"""One lane for each truck: what is in memory of it, and one message at a time.

The reports of a truck are a chain, so a message is taken from its draft until its reports are on
their way to the store, and the others of its truck wait.  Trucks do not wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from voile.sharing.platform.ground import Ground
from voile.sharing.platform.underway import UnderWay
from voile.sharing.store import Appended, Truck

__all__ = ["Lane", "Lanes"]

T = TypeVar("T")


class Lane(Generic[T]):
    """Of one truck; ``T`` is what waits."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.lock = Lock()
        """Of everything here; held for moments."""
        self.under_way: UnderWay | None = None
        """The truck as it was last seen; None until it is read from the store."""
        self.changed = False
        """Whether its parcels may be others now."""
        self.storing: Future[Sequence[Appended]] | None = None
        """What becomes of the last reports that were handed on to be stored."""
        self._is_taken = False
        self._waiting: deque[T] = deque()

    def change(self) -> None:
        """Look again what the truck carries before its next report."""
        with self.lock:
            self.changed = True

    def present(self, truck: Truck, now: float) -> UnderWay:
        """The truck with its present parcels; the caller holds the lock."""
        if self.under_way is None:
            self.under_way = UnderWay(self._ground, truck)
        changed, self.changed = self.changed, False
        self.under_way.refresh(now, changed=changed)
        return self.under_way

    def forget(self) -> None:
        """Read the truck again before its next report: what is in memory was not stored."""
        with self.lock:
            self.under_way = self.storing = None

    def take(self, task: T) -> bool:
        """Whether the task may begin; else it waits until another one is released."""
        with self.lock:
            if self._is_taken:
                self._waiting.append(task)
                return False
            self._is_taken = True
            return True

    def release(self) -> T | None:
        """The task that may begin now, if one waits."""
        with self.lock:
            self._is_taken = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None


class Lanes(Generic[T]):
    """Of all trucks; threads may share it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._lanes: dict[bytes, Lane[T]] = {}

    def of(self, truck: bytes) -> Lane[T]:
        """That of a truck, by its number."""
        return self._lanes.get(truck) or self._lanes.setdefault(truck, Lane(self._ground))
