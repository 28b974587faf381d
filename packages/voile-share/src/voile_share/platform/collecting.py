"""How seldom Python looks for cycles in a process that keeps thousands of trucks in memory.

To look at everything stops all threads for a tenth of a second with a thousand trucks, and finds
next to nothing: what a request or a report leaves is freed without it.
"""

from __future__ import annotations

import gc

__all__ = ["collect_seldom"]

_COLLECT = (50_000, 20, 100)
"""New objects until the young are looked at; such looks until the middle-aged are, and the old."""


def collect_seldom() -> None:
    """Look at what is new, seldom at everything, and never at what is there already."""
    gc.freeze()
    gc.set_threshold(*_COLLECT)
