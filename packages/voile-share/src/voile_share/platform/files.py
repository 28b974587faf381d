"""Long messages, such as files of trips, are read by a worker process, at a low priority.

To read one takes a second or more of pure parsing, for much of which a parser holds the
interpreter's lock: in a thread of this process every position would wait for it.  Reading is a pure
function, so the process knows nothing but what it is sent, and holds no key and no store.  It is
begun with the first long message.  Where it cannot be begun, or has died, messages are read here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

from voile_share.ingest import REASONS, Arrival, Decoded, IngestError, Request, decode
from voile_share.platform.parent import end_with_parent

__all__ = ["LONG_BYTES", "RequestDecoder"]

LONG_BYTES = 16 * 1024
"""Of a body; from then on to read it takes longer than to publish it."""
_NICE = 10

_Refused = tuple[str, str, int]
"""Reason, advice and positions of an ``IngestError``, which pickle cannot make again."""


class RequestDecoder:
    """Decodes requests; to be used by one thread at a time where they are long."""

    def __init__(self, *, in_worker: bool) -> None:
        """``in_worker``: whether long ones go to a worker process."""
        self._in_worker = in_worker and not multiprocessing.current_process().daemon
        self._pool: ProcessPoolExecutor | None = None

    def decode(self, request: Request, arrival: Arrival) -> Decoded:
        """What a request says; raises ``IngestError``."""
        if not self._in_worker or len(request.body) <= LONG_BYTES:
            return decode(request, arrival)
        try:
            read = self._begun().submit(_read, decode, request, arrival).result()
        except (OSError, RuntimeError):  # such as ``BrokenProcessPool``
            self.close()
            return decode(request, arrival)
        if isinstance(read, Decoded):
            return read
        reason, advice, positions = read
        refusal = IngestError(reason, advice)
        refusal.positions = positions
        raise refusal

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _begun(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, _begin)
        return self._pool


def _begin() -> None:
    """Ctrl+C is for the process that began this one, and positions go before files."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(_NICE)


def _read(
    decode: Callable[[Request, Arrival], Decoded], request: Request, arrival: Arrival
) -> Decoded | _Refused:
    try:
        return decode(request, arrival)
    except IngestError as refusal:
        advice = str(refusal).removeprefix(REASONS[refusal.reason]).removeprefix(": ")
        return refusal.reason, advice, refusal.positions
