"""How much memory this process may still take, as the machine and its limits have it."""

from __future__ import annotations

import resource
from pathlib import Path

__all__ = ["available_memory"]

_KIBIBYTE = 1 << 10
_GROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60


def available_memory() -> int:
    """Bytes: what the machine has free, its control group allows and the process may map."""
    return min(_of_machine(), _of_group(), _of_process())


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return _UNLIMITED
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
    limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    limited = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(limited, default=_UNLIMITED)
