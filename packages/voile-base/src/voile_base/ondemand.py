"""Modules and libraries that few calls need, imported when the first of their names is asked for.

    sparse = on_demand("scipy.sparse")

    if TYPE_CHECKING:
        from voile.study import single
    else:
        single = on_demand("voile.study.single")

Most of what Voile costs before it reads a row is loading: SciPy's optimization takes half a second
of processor, and the engine a tenth.  A module says here what it may need, at its top like any
import, and who does not reach that code does not pay for it.  A library without types stands by
itself; a module with types is imported for the type checker as well, and a test holds that both
name one module.  Compiled loops have ``voile_base.compiled``.

Whether pictures can be drawn: matplotlib is an extra, and slow to load.
"""

from __future__ import annotations

import gc
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from voile_base.errors import InputError

__all__ = ["leave_loaded_out_of_searches", "loaded", "on_demand", "require_plotting"]


_own_process = threading.Event()


class _OnDemand:
    """Stands for a module until one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:
            self._module = loaded(self._name)
        return getattr(self._module, name)


def on_demand(name: str) -> Any:
    """The module of a name, such as ``scipy.special``, not yet imported."""
    return _OnDemand(name)


def loaded(name: str) -> ModuleType:
    """A module, imported now; a command leaves what it brings out of searches for garbage."""
    if name in sys.modules or not (_own_process.is_set() and gc.isenabled()):
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def leave_loaded_out_of_searches() -> None:
    """For a process of our own: what is loaded from now on is never looked through for garbage.

    What is loaded stays, and searching it takes a fifteenth of a small release.
    """
    _own_process.set()


def require_plotting(what: str = "a picture", install: str = "voile-base[plot]") -> None:
    """Raise ``InputError`` where matplotlib is absent, with what needs it and what to install."""
    if find_spec("matplotlib") is None:
        msg = f"{what} needs matplotlib: pip install '{install}'"
        raise InputError(msg)
