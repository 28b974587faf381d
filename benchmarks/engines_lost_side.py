"""A process that publishes on Spark again and again, and loses a worker in the midst of it.

    python -m benchmarks.engines_lost_side MASTER SEED WORKERS

A line of JSON on standard input asks for a release: ``{"table", "plan", "out", "group",
"question"}``.  ``group`` is a group of processes, a worker's, that is killed shortly after the
``question``-th question to Spark was asked; 0 kills nothing.  A release begins when as many workers
as were named belong to the session, and is answered, where one was killed, when Spark has noticed:
``{"asked": how many questions there were, "fault": what was said, or null}``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from voile.study.run import make_release
from voile.table.engines.spark.session import SparkHandle
from voile_base.errors import VoileError

_SOON = 0.15
"""Seconds: most questions of small tables are under way then."""
_PATIENCE = 120.0
"""Seconds for Spark to notice that a worker came or went."""


class Questions:
    """Counts what is asked of Spark, and kills a group of processes soon after one question."""

    def __init__(self) -> None:
        self.asked = 0
        self._group = self._question = 0

    def begin(self, group: int, question: int) -> None:
        """Count anew."""
        self.asked, self._group, self._question = 0, group, question

    def note(self) -> None:
        """One more question."""
        self.asked += 1
        if self._group and self.asked == self._question:
            threading.Timer(_SOON, os.killpg, (self._group, signal.SIGKILL)).start()


def main(master: str, seed: str, workers: str) -> None:
    """Answer each line of standard input."""
    questions = Questions()
    _count(questions)
    session = SparkHandle.for_master(master)
    for line in sys.stdin:
        wanted = json.loads(line)
        _wait(lambda: _executors(session) == int(workers))
        questions.begin(wanted["group"], wanted["question"])
        fault = _published(master, int(seed), wanted)
        if wanted["group"]:
            _wait(lambda: _executors(session) < int(workers))
        sys.stdout.write(json.dumps({"asked": questions.asked, "fault": fault}) + "\n")
        sys.stdout.flush()


def _published(master: str, seed: int, wanted: dict[str, Any]) -> str | None:
    places = (Path(wanted[each]) for each in ("table", "plan", "out"))
    try:
        make_release(*places, seed=seed, engine=f"spark@{master}")
    except VoileError as error:
        return str(error)[:200]
    return None


def _count(questions: Questions) -> None:
    asking = SparkHandle._asking

    @contextmanager
    def counted(self: SparkHandle) -> Iterator[None]:
        questions.note()
        with asking(self):
            yield

    SparkHandle._asking = counted  # type: ignore[method-assign]


def _executors(session: SparkHandle) -> int:
    """How many workers the session computes on."""
    return int(session.spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > until:
            msg = "Spark did not notice in time that a worker came or went"
            raise RuntimeError(msg)
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
