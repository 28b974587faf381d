"""A process that publishes on Spark, perhaps one that loses a worker in the midst of it.

    python -m benchmarks.engines_lost_side MASTER TABLE PLAN OUT SEED [GROUP QUESTION]

``GROUP`` is a group of processes that is killed shortly after the QUESTION-th question to Spark was
asked.  Prints how many questions there were.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from voile.study.run import make_release
from voile.table.spark_session import Session

_SOON = 0.3
"""Seconds: most questions of small tables are under way then."""


def main(
    master: str, table: str, plan: str, out: str, seed: str, group: str = "0", question: str = "-1"
) -> None:
    """Publish with a seed, and count questions."""
    asked = 0
    asking = Session._asking

    @contextmanager
    def counted(self: Session) -> Iterator[None]:
        nonlocal asked
        asked += 1
        if asked == int(question):
            threading.Timer(_SOON, os.killpg, (int(group), signal.SIGKILL)).start()
        with asking(self):
            yield

    Session._asking = counted  # type: ignore[method-assign]
    make_release(Path(table), Path(plan), Path(out), seed=int(seed), engine=f"spark@{master}")
    sys.stdout.write(f"{asked}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
