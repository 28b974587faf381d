"""A process that publishes on Spark, perhaps one that loses a worker in the midst of it.

    python -m voile_tests.table.spark_publisher MASTER TABLE PLAN OUT [GROUP ACTION]

``GROUP`` is a group of processes that is killed shortly after the ACTION-th question to Spark was
asked.  Prints how many questions there were.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile.table.engines.spark.session import SparkHandle

_SOON = 0.3
"""Seconds: a question is under way then, on a machine of any speed that has many of them."""


def main(
    master: str, table: str, plan: str, out: str, group: str = "0", action: str = "-1"
) -> None:
    """Publish with a seed, and count questions."""
    asked = 0
    asking = SparkHandle._asking

    @contextmanager
    def counted(self: SparkHandle) -> Iterator[None]:
        nonlocal asked
        asked += 1
        if asked == int(action):
            threading.Timer(_SOON, os.killpg, (int(group), signal.SIGKILL)).start()
        with asking(self):
            yield

    SparkHandle._asking = counted  # type: ignore[method-assign]
    described = parse_plan(json.loads(Path(plan).read_text()))
    make_release(Path(table), described, Path(out), seed=7, engine=f"spark@{master}")
    sys.stdout.write(f"{asked}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
