"""What becomes of a missing library of an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from voile_base.errors import InputError

__all__ = ["extra"]


@contextmanager
def extra(install: str, what: str) -> Iterator[None]:
    """Say what to install where a library is not there; ``what`` needs it.

    ``install`` is what pip takes, such as "voile-share[chain]".
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "voile").startswith("voile"):
            raise
        msg = f"{what} needs {error.name}: pip install '{install}'"
        raise InputError(msg) from None
