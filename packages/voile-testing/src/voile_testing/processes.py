"""Other processes: waited for, and asked.

Waiting for other processes: until something is so, and never for a time that passes or fails.

Nothing here measures.  ``PATIENCE`` only ends what hangs, on the slowest and busiest machine.

Questions that are asked in a process of their own, by one that goes on to fork others.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["PATIENCE", "wait_until"]


PATIENCE = 900.0
"""Seconds after which something hangs; a fresh checkout compiles first, in every process."""


def wait_until(
    true: Callable[[], object], otherwise: str = "what is waited for never came"
) -> None:
    """Look again and again until it is true; fails where it hangs."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, otherwise
        time.sleep(0.02)


def answer_of(question: Callable[[], Any]) -> Any:
    """What a child answers, as JSON has it.

    Whoever opens rows starts threads, which do not survive a fork; so a parent leaves that to a
    child.  Raises ``RuntimeError`` where the child fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.write(writing, json.dumps(question()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        msg = "the child did not answer"
        raise RuntimeError(msg)
    return json.loads(text)


def load_for(work: Callable[[], Any]) -> None:
    """Load the modules that some work needs, as a child finds out: once, and not in every child.

    Modules start no threads, the work may.
    """

    def modules() -> list[str]:
        work()
        return sorted(sys.modules)

    for name in answer_of(modules):
        with contextlib.suppress(ImportError):  # such as libraries make while they run
            importlib.import_module(name)
