"""Whether pictures can be drawn: matplotlib is an extra, and slow to load."""

from __future__ import annotations

from importlib.util import find_spec

from voile_base.errors import InputError

__all__ = ["require_plotting"]


def require_plotting(what: str = "a picture", install: str = "voile-base[plot]") -> None:
    """Raise ``InputError`` where matplotlib is absent, with what needs it and what to install."""
    if find_spec("matplotlib") is None:
        msg = f"{what} needs matplotlib: pip install '{install}'"
        raise InputError(msg)
