"""What differs between operating systems, each behind a plain function: the only place that knows.

Linux is what Voile is measured on.  macOS has all but ``/proc``; Windows has neither POSIX locks,
nor limits of a process, nor folders that can be flushed.  Each function says what it does where its
system call is absent: it does without where nothing is lost but comfort, and raises where a promise
would be.  ``voile_testing.without_posix`` takes the calls away on Linux, to try that.

- Locks: ``flock``, or on Windows a lock of one byte far beyond the end of the file, which other
  processes may not take.  Where neither is there, ``OSError``.
- Flushing a folder: where a system cannot, a crash of the machine may undo the last rename.
- Memory: Linux says what is available, elsewhere psutil does; else nothing is known.  The C library
  of GNU keeps what is freed for later; where the library is another, nothing is asked of it.

Cost: one system call each, but ``available_memory``, which reads three small files.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

__all__ = [
    "TCP_SOCKETS",
    "available_memory",
    "cores",
    "is_user",
    "keep_no_freed_memory",
    "let_open_files",
    "lock",
    "open_without_links",
    "quiet_interrupts",
    "return_freed_memory",
    "start_holding",
    "sync",
    "user",
]

TCP_SOCKETS = Path("/proc/net/tcp")
"""Where Linux says who owns each socket; absent elsewhere."""
_MEMORY = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_KIBIBYTE = 1 << 10
_UNLIMITED = 1 << 60
_LOCKED_BYTE = 1 << 40
"""Which byte Windows locks: far beyond the end, since nobody else can read a locked one."""
_AGAIN_SECONDS = 0.05
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MOST_ARENAS, _LARGE = -1, -3, -8, 1 << 24
"""Options of the C library: how much it keeps for later, from which size on memory is asked for by
itself, and how many places keep some, each for other threads.  A column of a million numbers is
below that size: to ask for each anew takes a seventh of the processor time of an audit."""


@cache
def _optional(name: str) -> Any:
    """A module that not every system has; None where this one does not."""
    return import_module(name) if find_spec(name) else None


def sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk.

    A folder is left as it is where the system cannot flush one.  Raises ``OSError``.
    """
    folder = path.is_dir()
    if folder and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not (folder and error.errno in {errno.EINVAL, errno.EBADF, errno.ENOTSUP}):
            raise
    finally:
        os.close(descriptor)


def lock(held: int | IO[Any], *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file or folder until it is closed, as long as this process lives.

    Several may hold it ``shared``, which on Windows they may not.  Raises ``BlockingIOError`` where
    another holds it and this does not ``wait``, ``OSError`` where the system has no locks.
    """
    descriptor = held if isinstance(held, int) else held.fileno()
    if (posix := _optional("fcntl")) is not None:
        how = posix.LOCK_SH if shared else posix.LOCK_EX
        posix.flock(descriptor, how if wait else how | posix.LOCK_NB)
        return
    windows = _optional("msvcrt")
    if windows is None:
        raise OSError(errno.ENOLCK, "this system has no locks of files")
    while True:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            windows.locking(descriptor, windows.LK_NBLCK, 1)
        except OSError:
            if not wait:
                raise BlockingIOError(errno.EWOULDBLOCK, "another process holds it") from None
            time.sleep(_AGAIN_SECONDS)
        else:
            return
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def open_without_links(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open a file, but not through a symbolic link where the system can tell; as ``os.open``."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), mode)


def cores() -> int:
    """How many cores this process may use; where that is not said, how many there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def return_freed_memory() -> None:
    """Give back what was freed, and from now on large blocks as soon as they are.

    For a series of steps that each need much for a moment: what is kept for the next adds up.
    """
    _set_allocator({_MMAP_THRESHOLD: _LARGE, _TRIM_THRESHOLD: _LARGE})


def keep_no_freed_memory() -> None:
    """The same, and so do Polars and Arrow, which read this when they are loaded.

    Of threads, those of Arrow that read files, all but the first share what is kept: that of each
    would add up.
    """
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    _set_allocator({_MOST_ARENAS: 2})
    return_freed_memory()


def _set_allocator(options: Mapping[int, int]) -> None:
    """Set options of the C library, where it has them, and give back what was freed."""
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        for option, value in options.items():
            library.mallopt(option, value)
        library.malloc_trim(0)


def available_memory() -> int:
    """Bytes: what the machine has free, its control group allows and the process may map."""
    return min(_of_machine(), _of_group(), _of_process())


def _of_machine() -> int:
    try:
        lines = _MEMORY.read_text().splitlines()
    except OSError:
        measured = _optional("psutil")
        return _UNLIMITED if measured is None else int(measured.virtual_memory().available)
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) * _KIBIBYTE if found else _UNLIMITED


def _of_group() -> int:
    try:
        limit = (_GROUP / "memory.max").read_text().strip()
        taken = int((_GROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return _UNLIMITED
    return max(int(limit) - taken, 0) if limit.isdigit() else _UNLIMITED


def _of_process() -> int:
    limits = _optional("resource")
    if limits is None:
        return _UNLIMITED
    found = [limits.getrlimit(which)[0] for which in (limits.RLIMIT_AS, limits.RLIMIT_DATA)]
    return min((one for one in found if one != limits.RLIM_INFINITY), default=_UNLIMITED)


def let_open_files(wanted: int) -> int:
    """How many files this process may open, at most ``wanted``; its limit is raised as it may be.

    Where the system has no such limit, ``wanted``.
    """
    limits = _optional("resource")
    if limits is None:
        return wanted
    soft, hard = limits.getrlimit(limits.RLIMIT_NOFILE)
    if soft != limits.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == limits.RLIM_INFINITY else min(wanted, hard)
        limits.setrlimit(limits.RLIMIT_NOFILE, (most, hard))
        soft = most
    return wanted if soft == limits.RLIM_INFINITY else min(wanted, soft)


def user() -> int | None:
    """The number of the user that this process acts as; None where users have none."""
    number = getattr(os, "geteuid", None)
    return None if number is None else int(number())


def is_user(owner: int) -> bool:
    """Whether a file's owner is who we are; where users have no numbers, nothing denies it."""
    return user() in {None, owner}


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """While a process is begun that is not to hear Ctrl-C; nothing where signals have no masks."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The tracker of resources comes first, since its beginning would unblock the signal.
    import_module("multiprocessing.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_holding(
    command: Sequence[str | Path], held: int, cwd: Path, out: IO[bytes], err: IO[bytes]
) -> tuple[subprocess.Popen[bytes], int | None]:
    """Begin a process of a group of its own that a lock lasts as long as.

    ``held`` is the descriptor of a locked file.  Where processes inherit descriptors the lock goes
    with the new one.  Else a descriptor comes back that the caller closes when the process ends.
    It works in ``cwd``, reads nothing, and writes to ``out`` and ``err``.  Raises ``OSError``.
    """
    inherits = os.name != "nt" and _optional("fcntl") is not None
    more: dict[str, Any] = {"pass_fds": (held,)} if inherits else {}
    if os.name == "nt":  # so that Ctrl-C of this terminal does not reach it
        more["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    child: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - the caller's own command
        [str(word) for word in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=os.name != "nt",
        **more,
    )
    return child, None if inherits else os.dup(held)
