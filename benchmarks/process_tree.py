"""What a process that runs has taken so far, with all that it has started; by /proc, on Linux."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Taken", "machine_busy"]

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Taken:
    """By a process and its descendants."""

    processor: float
    """Seconds of all cores, user and system; of those that have ended, too."""
    memory: int
    """Largest resident sizes of those that live, added, in bytes."""
    processes: int
    """How many live."""

    @classmethod
    def by(cls, process: int) -> Taken:
        """Up to now."""
        tree = list(_tree(process))
        return cls(sum(map(_processor, tree)), sum(map(_memory, tree)), len(tree))


def machine_busy() -> float:
    """Seconds that all cores have worked since the machine began, for whomever."""
    user, nice, system, _, _, irq, softirq, *_ = _PROC.joinpath("stat").read_text().split()[1:]
    return sum(map(int, (user, nice, system, irq, softirq))) / _TICKS


def _tree(process: int) -> Iterator[int]:
    yield process
    for task in _PROC.joinpath(f"{process}", "task").iterdir():
        for child in task.joinpath("children").read_text().split():
            yield from _tree(int(child))


def _processor(process: int) -> float:
    # The name of the command, in brackets, may hold spaces.
    fields = _PROC.joinpath(f"{process}", "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _memory(process: int) -> int:
    status = _PROC.joinpath(f"{process}", "status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
