"""Kill who appends to a file, at random instants: ``python crashing.py FOLDER STORES KILLS SEED``.

How many instants hit a commit or a creation is up to the machine: beyond STORES others follow until
enough did.

Each kill forks a process that opens the store and appends batches without pause, goes on where the
log ends, and writes one byte to a pipe for each batch that was acknowledged.  Then it is ended by
SIGKILL, and what it left behind is looked at.  Prints counts as JSON, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from share_tests.store.batches import BATCHES, batch, faults, progress
from voile_share.store import Appended, SQLiteStore

_MOST = 30
"""Times as many stores as were asked for."""


def append_forever(path: Path, pipe: int) -> None:
    store = SQLiteStore.open(path)
    for number in range(progress(store), BATCHES):
        outcomes = store.append(batch(number))
        assert set(outcomes) == {Appended.NEW}, outcomes
        os.write(pipe, b".")
    time.sleep(60)


def killed(path: Path, batches: int, seconds: float) -> int:
    """How many batches were acknowledged by a process that is killed some time after so many."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            append_forever(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read(batches)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the process failed before it was killed"
        return len(text + pipe.read())


def have_hit(counts: dict[str, int], stores: int) -> bool:
    """Whether kills came while stores were created, between commits, and within commits."""
    return (
        counts["uncreated"] >= 1
        and counts["acknowledged"] >= 10 * stores
        and counts["unreported"] >= stores // 3
    )


def main() -> None:
    folder, stores, kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(int(sys.argv[4]))
    counts = {"acknowledged": 0, "uncreated": 0, "unreported": 0}
    wrong: list[str] = []
    batch(0)  # made once, before the first fork
    for which in range(_MOST * stores):
        if which >= stores and have_hit(counts, stores):
            break
        path, stored = folder / f"{which}.db", 0
        for kill in range(kills):
            # The first kill comes while the store is created.
            batches = 0 if kill == 0 else rng.randrange(3)
            reported = killed(path, batches, rng.uniform(0, 0.01))
            if not path.exists():
                counts["uncreated"] += 1
                wrong += ["a batch was acknowledged and there is no store"] * bool(reported)
                continue
            with closing(SQLiteStore.open(path)) as store:
                wrong += faults(store)
                now = progress(store)
            # At most the batch that was being committed may be there without being acknowledged.
            if not stored + reported <= now <= stored + reported + 1:
                wrong.append(f"{stored} batches, {reported} acknowledged, then {now}")
            counts["acknowledged"] += reported
            counts["unreported"] += now - stored - reported
            stored = now
    sys.stdout.write(json.dumps({**counts, "faults": wrong}))


if __name__ == "__main__":
    main()
