"""What whole processes take, side by side."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

__all__ = ["FACETS", "Comparison", "Usage", "bare_copy", "compare", "voile_publish"]

# Each of these runs in a process of its own.  The launcher holds nothing but the standard library:
# a child's peak memory is never less than that of the process which started it.
LAUNCHER = """
import os, sys, time
started = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - started
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
BARE = """
import sys, polars
kind, source, copy = sys.argv[1:]
frame = getattr(polars, "read_" + kind)(source)
getattr(frame, "write_" + kind)(copy)
"""


@dataclass(frozen=True)
class Usage:
    """What one process took."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of all cores, user and system."""
    memory: float
    """Peak resident set in MiB."""

    @classmethod
    def of(cls, command: Sequence[str], seconds: float | None = None) -> Usage:
        """Run a command, for so many seconds at most; it keeps bytecode, as an installed one does.

        Raises ``RuntimeError`` where it fails, ``subprocess.SubprocessError`` where it lasts.
        """
        within = [] if seconds is None else ["timeout", f"{seconds}"]
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [*within, *launcher], check=True, capture_output=True, text=True, env=kept
        )
        status, wall, processor, memory = done.stdout.split()
        if status != "0":
            msg = f"a measured process failed with status {status}: {done.stderr}"
            raise RuntimeError(msg)
        return cls(float(wall), float(processor), float(memory) / 1024)


@dataclass(frozen=True)
class Comparison:
    """Paired runs: the bare process and the one measured, in turn."""

    name: str
    bare: list[Usage]
    ours: list[Usage]

    def ratio(self, what: Callable[[Usage], float]) -> float:
        """Median over the pairs of ours over bare."""
        pairs = zip(self.ours, self.bare, strict=True)
        return median(what(ours) / what(bare) for ours, bare in pairs)

    def line(self) -> list[str]:
        """Medians and ratios, for the table."""
        cells = [self.name, f"{len(self.bare)}"]
        for what, form in FACETS.values():
            medians = [form.format(median(map(what, side))) for side in (self.bare, self.ours)]
            cells += [*medians, f"{self.ratio(what):.2f}"]
        return cells


FACETS: Mapping[str, tuple[Callable[[Usage], float], str]] = {
    "wall": (lambda usage: usage.wall, "{:.2f} s"),
    "processor": (lambda usage: usage.processor, "{:.2f} s"),
    "peak memory": (lambda usage: usage.memory, "{:,.0f} MiB"),
}


def bare_copy(source: Path, copy: Path) -> list[str]:
    """The command by which Polars reads a CSV or Parquet file and writes it again."""
    return [sys.executable, "-c", BARE, source.suffix[1:], f"{source}", f"{copy}"]


def voile_publish(source: Path, plan: Path, out: Path) -> list[str]:
    """The command by which this checkout publishes a file."""
    voile = Path(sys.executable).parent / "voile"
    return [f"{voile}", "publish", f"{source}", "--plan", f"{plan}", "--out", f"{out}", "--json"]


def compare(
    name: str,
    commands: tuple[Sequence[str], Sequence[str]],
    pairs: int,
    clean: Callable[[], None],
) -> Comparison:
    """Run two commands in turn, ``clean`` after each pair; one more pair, the first, is left out.

    The first command is the bare one.
    """
    taken: tuple[list[Usage], list[Usage]] = [], []
    for _ in range(pairs + 1):
        for command, usages in zip(commands, taken, strict=True):
            usages.append(Usage.of(command))
        clean()
    return Comparison(name, taken[0][1:], taken[1][1:])
