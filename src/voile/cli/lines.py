"""Lines that come in over time, such as those of a receiver behind a pipe.

They are read from the descriptor by the thread that wants them: ``sys.stdin`` would be read by
another thread, which holds the lock of its buffer while it waits, and ends the process by a fatal
error where that is to end at the same time.
"""

from __future__ import annotations

import os
import select

__all__ = ["Lines"]

_AT_ONCE = 65_536
_LONGEST = 4_096


class Lines:
    """The lines of a descriptor; of what is too long to be one, only the beginning."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self.ended = False
        """Whether all was read."""

    def some(self, seconds: float) -> list[bytes]:
        """Whole lines, as soon as there are some; at the latest after so long, perhaps none."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return []
        read = os.read(self._descriptor, _AT_ONCE)
        self.ended = not read
        *lines, rest = (self._rest + read).split(b"\n")
        if self.ended and rest:
            lines.append(rest)
        self._rest = rest[:_LONGEST]
        return [line[:_LONGEST] for line in lines]
