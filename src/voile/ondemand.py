"""Libraries that few calls need, imported when the first of their names is asked for.

    special: Any = on_demand("scipy.special")

Most of what Voile costs before it reads a row is the loading of libraries: SciPy's optimization
takes half a second of processor.  A module says here what it may need, at its top like any import,
and who does not reach that code does not pay for it.  Compiled loops have ``voile.compiled``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["on_demand"]


class _Library:
    """Stands for a library until one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


def on_demand(library: str) -> Any:
    """The library of a name, such as ``scipy.special``, not yet imported."""
    return _Library(library)
