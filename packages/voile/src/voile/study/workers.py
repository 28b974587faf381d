"""Processes that study the points of a grid, one at a time each.

A worker imports the libraries and reads the table once.  How many threads the libraries may use is
said before they are loaded, so that workers do not compete for the cores; this module therefore
imports nothing heavy.  A worker ends with the process that started it, whatever ended that.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, connection, get_context, parent_process
from typing import TYPE_CHECKING, Any, Protocol

from voile_base.errors import OutOfMemoryError

if TYPE_CHECKING:
    from voile.study.sweep import GridPoint

__all__ = ["cores", "in_processes"]


class WorkerTask(Protocol):
    """What a process is started for; it is sent there once."""

    def study(self, digest: str, point: GridPoint) -> None:
        """Study a point and keep what came of it."""


_THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")

_work: WorkerTask | None = None
"""What this process was started for."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def in_processes(
    work: WorkerTask, points: Sequence[tuple[str, GridPoint]], jobs: int, done: Callable[[], None]
) -> None:
    """Study points in ``jobs`` processes, each under its digest; ``done`` is called after each.

    Raises ``OutOfMemoryError`` where a worker is killed, and what a worker raises.  Whatever ends
    this ends the workers.
    """
    _listen_to_interrupts()
    with _pool(work, jobs) as pool:
        futures: list[Future[None]] = [pool.submit(_study, *point) for point in points]
        try:
            for future in as_completed(futures):
                future.result()
                done()
        except BrokenProcessPool:
            msg = (
                "a process of the grid was ended from outside, most often because memory ran out; "
                "run the same command with fewer --jobs: what is done is kept"
            )
            raise OutOfMemoryError(msg) from None


def _listen_to_interrupts() -> None:
    """Let Ctrl-C reach Python again: Polars puts a handler of its own before, which may keep it."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _pool(work: WorkerTask, jobs: int) -> Iterator[ProcessPoolExecutor]:
    before = set(active_children())
    pool = ProcessPoolExecutor(
        jobs,
        # A fork of a process with compiled thread pools may hang.
        mp_context=get_context("spawn"),
        initializer=_start,
        initargs=(max(1, cores() // jobs), pickle.dumps(work)),
    )
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(active_children()) - before:
            worker.terminate()
        raise
    finally:
        pool.shutdown()


def _start(threads: int, work: bytes) -> None:
    """Make this process ready; ``work`` is unpacked only when threads are limited."""
    global _work  # noqa: PLW0603 - a worker has one task, which is given to it once
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it says when to end
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    _work = pickle.loads(work)  # noqa: S301 - from the process that started this one


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _study(digest: str, point: Any) -> None:
    assert _work is not None, "a worker is started with its work"
    _work.study(digest, point)
