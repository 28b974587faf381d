"""What becomes of a missing library of the sharing service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from voile.errors import InputError

__all__ = ["share_extra"]


@contextmanager
def share_extra() -> Iterator[None]:
    """Say what to install where a library of the extra is not there."""
    try:
        yield
    except ImportError as error:
        if (error.name or "voile").partition(".")[0] == "voile":
            raise
        msg = f"the sharing service needs {error.name}: pip install 'voile[share]'"
        raise InputError(msg) from None
