"""Waiting for other processes: until something is so, and never for a time that passes or fails.

Nothing here measures.  ``PATIENCE`` only ends what hangs, on the slowest and busiest machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

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
