"""Linux without what only POSIX and Linux have, to try what is left: ``pytest -p`` this module.

    pytest -p voile_testing.without_posix packages/voile
    python -c 'import voile_testing.without_posix; from voile_base.main import main; main()' ...

``fcntl`` and ``resource`` cannot be imported, ``os`` has no affinity, users or ``O_NOFOLLOW``,
signals no masks, folders cannot be flushed, and ``/proc`` and control groups are not there.  Locks
are those of Windows: a module ``msvcrt`` stands in, made of record locks.

What Python's own library needs to start processes stays: this tries our code, not another system.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess  # noqa: F401 - Python's own looks for msvcrt to know where it is
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

__all__: list[str] = []

_LOCKS, _OF_RECORDS = fcntl.lockf, fcntl.LOCK_EX | fcntl.LOCK_NB
_held: dict[tuple[int, int], int] = {}
"""Files that this process holds, by device and number; record locks tell only processes apart."""
_flushed = os.fsync


def _locking(descriptor: int, mode: int, count: int) -> None:
    """Lock ``count`` bytes from where the file stands, as Windows does; raises ``OSError``.

    A file that was closed and opened again under the same number is free.
    """
    assert mode == _windows.LK_NBLCK
    found = os.fstat(descriptor)
    file = (found.st_dev, found.st_ino)
    holder = _held.get(file)
    if holder is not None and holder != descriptor and _is_open(holder, file):
        raise OSError(errno.EACCES, "locked")
    writable = os.open(f"/dev/fd/{descriptor}", os.O_RDWR)
    _LOCKS(writable, _OF_RECORDS, count, os.lseek(descriptor, 0, os.SEEK_CUR))
    _held[file] = descriptor


def _is_open(descriptor: int, file: tuple[int, int]) -> bool:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == file


def _fsync(descriptor: int) -> None:
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        raise OSError(errno.EBADF, "folders cannot be flushed")
    _flushed(descriptor)


_windows = ModuleType("msvcrt")
vars(_windows).update(LK_NBLCK=2, locking=_locking, __spec__=object())


def _take_away() -> None:
    with suppress(ImportError):
        import_module("psutil")  # which asks Linux by what is taken away
    for name in ("fcntl", "resource"):
        sys.modules[name] = None  # type: ignore[assignment]
    sys.modules["msvcrt"] = _windows
    for owner, name in ((os, "sched_getaffinity"), (os, "geteuid"), (os, "O_NOFOLLOW"),
                        (signal, "pthread_sigmask")):  # fmt: skip
        vars(owner).pop(name, None)
    os.fsync = _fsync
    from voile_base import operating_system  # noqa: PLC0415 - after what it looks for is gone

    nowhere = Path("/nowhere")
    for name in ("TCP_SOCKETS", "_MEMORY", "_GROUP"):
        vars(operating_system)[name] = nowhere


_take_away()
