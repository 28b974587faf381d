"""How many examples a property is tried on: fewer by ``make test`` than by ``make slow``.

Profiles of Hypothesis say it, in ``conftest``: ``voile``, and ``long`` for the slow suite, which
tries every property again.  A property that is cheap says a number of its own.
"""

from __future__ import annotations

from hypothesis import settings

__all__ = ["LONG", "QUICK", "examples"]

QUICK, LONG = 10, 100
"""Examples of a property that says nothing else."""


def examples(number: int) -> int:
    """So many in the slow suite, and elsewhere the share that the profile takes, at least 10."""
    return max(min(number, 10), number * settings.default.max_examples // LONG)
