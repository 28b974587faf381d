"""Processes beside the test's own."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent


def raced(engine: str, address: object, times: int = 60, racers: int = 3) -> int:
    """How many reports processes that race for truck 1 were told are taken."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, HERE / "racing.py", engine, str(address), f"{times}", f"{n}"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for n in range(racers)
        ]
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * racers
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        counts = [process.stdout.readline().split() for process in processes]
    assert sum(int(tried) for _, tried in counts) == times * racers
    taken = sum(int(new) for new, _ in counts)
    assert taken < times * racers, "they did not meet"
    return taken
