"""What becomes of a missing library of an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from voile.errors import InputError

__all__ = ["extra", "share_extra"]


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Say what to install where a library of an extra is not there; ``what`` needs it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "voile").partition(".")[0] == "voile":
            raise
        msg = f"{what} needs {error.name}: pip install 'voile[{name}]'"
        raise InputError(msg) from None


def share_extra() -> AbstractContextManager[None]:
    """The extra of the sharing service."""
    return extra("share", "the sharing service")
