"""Private folders for what does not fit into memory: of one process, and gone with it.

A folder is for its owner alone and has a lock, held for as long as the process lives; the number of
a process would tell nothing of one in another container with the same disk.  Whoever makes the next
one removes those that nobody holds: of processes that were ended before they could.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from voile_base.errors import InputError

__all__ = ["SpillFolder"]

_LOCK = "lock"


class SpillFolder:
    """A private folder; see the module."""

    def __init__(self, place: Path | None, engine: str) -> None:
        """``place`` is where it is made: by default, TMPDIR.

        Raises ``InputError`` where it cannot be.
        """
        place = place or Path(tempfile.gettempdir())
        prefix = f".voile-{engine}-"
        _remove_orphans(place, prefix)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as fault:
            reason = fault.strerror or "input or output error"
            msg = f"{place}: no folder for temporary data can be made here ({reason})"
            raise InputError(msg) from None
        self._lock = _locked(self.path, os.O_CREAT)

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path, how: int) -> int | None:
    """The lock of a folder, held while its descriptor is open; None where it is not to be had."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | how | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_orphans(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*"):
        lock = _locked(folder, 0)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
