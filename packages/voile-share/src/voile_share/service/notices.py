"""What the operator is told: sentences without positions, tokens or anything else of a request."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock

from voile_base.errors import place_of_fault

__all__ = ["Notices"]

_QUIET_SECONDS = 60.0
_MOST_KINDS = 1_000
_MOST_RECENT = 50


class Notices:
    """Tells the operator, and says the same again after a minute at the earliest."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``tell`` is called from any thread."""
        self._tell = tell
        self._clock = clock
        self._said: dict[str, float] = {}
        self._lock = Lock()
        self._recent: deque[tuple[float, str]] = deque(maxlen=_MOST_RECENT)

    def say(self, message: str) -> None:
        """Tell something; where that cannot be written, the next time is the first."""
        with self._lock:
            now = self._clock()
            if now - self._said.get(message, -_QUIET_SECONDS) < _QUIET_SECONDS:
                return
            if len(self._said) >= _MOST_KINDS:
                self._said.clear()
            self._said[message] = now
            self._recent.append((time.time(), message))
        try:
            self._tell(message)
        except OSError:
            # The log has no room, or its reader is gone: callers are answered all the same.
            with self._lock:
                self._said.pop(message, None)

    def recent(self) -> Sequence[tuple[float, str]]:
        """When what was told last, the latest first; seconds since 1970."""
        with self._lock:
            return list(reversed(self._recent))

    def news(self, message: str) -> None:
        """Tell how things stand now, however lately that was so before."""
        with self._lock:
            self._said.pop(message, None)
        self.say(message)

    def fault(self, error: BaseException) -> None:
        """Tell of an exception that nobody expected: its kind and its place alone."""
        place = place_of_fault(error) if error.__traceback__ else type(error).__name__
        self.say(f"a fault of Voile: {place}")
