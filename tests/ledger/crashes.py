"""Kill publishers at random instants: ``python crashes.py LEDGER ROUNDS SEED``.

Each round forks a publisher that commits versions without pause and writes the id of each to a
pipe once its commit has returned, kills it with SIGKILL, and looks at what it left behind.
Prints counts as JSON, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from conftest import grown

from voile.ledger import Ledger


def publish_forever(path: Path, pipe: int) -> None:
    ledger = Ledger(path)
    history = ledger.load("salaries")
    while True:
        after = grown(history, blocks=50, rows=3, held=2000)
        ledger.commit(history, after)
        history = after
        os.write(pipe, history.versions[-1].release_id.encode())


def killed_after(path: Path, seconds: float) -> list[str]:
    """What a publisher reported as committed before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            publish_forever(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the publisher failed before it was killed"
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode()
    return [text[i : i + 32] for i in range(0, len(text), 32)]


def main() -> None:
    folder, rounds, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    counts = {"committed": 0, "interrupted": 0, "uncreated": 0, "unreported": 0}
    faults: list[str] = []
    for series in range(rounds):
        path = folder / f"{series}.db"
        reported: list[str] = []
        for kill in range(4):
            # The first kill of each ledger comes while it is created.
            reported += killed_after(path, rng.uniform(0, 0.012 if kill == 0 else 0.05))
            counts["interrupted"] += path.with_name(f"{path.name}-journal").exists()
            if not path.exists():
                counts["uncreated"] += 1
                faults += ["a reported version has no ledger"] if reported else []
                continue
            ledger = Ledger(path)
            faults += [str(finding) for finding in ledger.verify()]
            history = ledger.load("salaries")
            stored = [version.release_id for version in history.versions] if history else []
            # At most the version that was being committed may be there without a report.
            counts["unreported"] += len(stored) - len(reported)
            if stored[: len(reported)] != reported or len(stored) > len(reported) + 1:
                faults.append(f"{len(reported)} versions reported, {len(stored)} stored")
            reported = stored
        counts["committed"] += len(reported)
    sys.stdout.write(json.dumps({**counts, "faults": faults}))


if __name__ == "__main__":
    main()
