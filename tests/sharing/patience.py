"""How long tests wait for what must come.

What comes at all comes far earlier, on a machine that does other work, too.  So only what hangs is
given up, and no test measures speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "eventually"]

PATIENCE = 300.0
"""Seconds."""


def eventually(condition: Callable[[], object], otherwise: str = "it does not come") -> None:
    """Wait until a condition holds."""
    given_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < given_up, otherwise
        time.sleep(0.01)
