"""A process ends with the one that began it, even where that was killed and could say nothing.

Otherwise workers of a service that was killed go on serving, and hold its port against the next.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from threading import Thread

__all__ = ["end_with_parent"]


def _nothing() -> None:
    pass


def end_with_parent(ask: Callable[[], None] = _nothing, grace: float = 0.0) -> None:
    """Watch for the end of the process that began this one; in a process that has none: nothing.

    Then ``ask`` is called, in another thread, and after ``grace`` seconds this process ends.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        ask()
        time.sleep(grace)
        os._exit(1)

    Thread(target=watch, name="voile-parent", daemon=True).start()
