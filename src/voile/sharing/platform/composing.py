"""Reports of many parcels are composed by processes beside: one for each thread that asks.

Composing is three operations on the curve for each parcel, some microseconds each.  Threads do not
share them well: each gives up and takes back the interpreter's lock a hundred times a report, which
takes longer than what it does.  A report is a function of its place, content and randomness, so
another process can do it, over a pipe, at the price of one pickle.

The processes hold nothing between two reports, and end with the one that began them.
"""

from __future__ import annotations

import multiprocessing
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from voile.errors import VoileError
from voile.randomness import Randomness
from voile.sharing.protocol import Content, Place, Suite, suite_named
from voile.sharing.protocol.voile_suite import VoileSuite

__all__ = ["Composers"]

_WORTH_ITEMS = 20
"""Shorter reports are composed sooner than they are sent."""
_END_SECONDS = 5.0


class Composers:
    """Processes that compose, begun when a thread first asks.  Threads may share it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._own = threading.local()
        self._begun: list[tuple[BaseProcess, Connection]] = []

    @property
    def suite(self) -> Suite:
        """Suite ``voile``, whose reports are composed elsewhere."""
        return _Elsewhere(self)

    def compose(self, place: Place, content: Content, randomness: Randomness) -> bytes:
        """What ``VoileSuite.compose`` returns; raises what it does."""
        is_small = max(len(content.parcels), content.room) < _WORTH_ITEMS
        # A process of multiprocessing that is a daemon may have no children.
        if is_small or multiprocessing.current_process().daemon:
            return suite_named().compose(place, content, randomness)
        try:
            pipe = self._pipe()
            pipe.send((place, content, randomness))
            made = pipe.recv()
        except (OSError, EOFError):
            # The process has died; the next report begins another one.
            self._own.pipe = None
            return suite_named().compose(place, content, randomness)
        if isinstance(made, VoileError):
            raise made
        assert isinstance(made, bytes)
        return made

    def close(self) -> None:
        """End the processes."""
        for process, pipe in self._begun:
            pipe.close()
            process.join(_END_SECONDS)

    def _pipe(self) -> Connection:
        """To the process of this thread."""
        pipe: Connection | None = getattr(self._own, "pipe", None)
        if pipe is None:
            pipe, theirs = self._context.Pipe()
            process = self._context.Process(target=_compose, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._begun.append((process, pipe))
            self._own.pipe = pipe
        return pipe


class _Elsewhere(VoileSuite):
    def __init__(self, composers: Composers) -> None:
        self._composers = composers

    def compose(self, place: Place, content: Content, randomness: Randomness) -> bytes:
        return self._composers.compose(place, content, randomness)


def _compose(pipe: Connection) -> None:
    """Until the other end is closed."""
    suite = suite_named()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            place, content, randomness = pipe.recv()
            try:
                made: object = suite.compose(place, content, randomness)
            except VoileError as error:
                made = error
            pipe.send(made)
