"""Kill publishers at random instants: ``python -m voile_tests.ledger.crashes FOLDER ROUNDS SEED``.

Each round forks a publisher that commits releases without pause, writes the id of each to a pipe
once its commit has returned, and then settles it; kills it with SIGKILL, and looks at what it left
behind.  A release is a version of a series, spends budget, and leaves rows in a pool.
After the rounds it goes on until enough of the kills did hit a commit, however fast the machine is.
Prints counts as JSON, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from voile.ledger import BudgetState, CarriedRows, Ledger
from voile.release.history import History
from voile.schema.budget import BudgetPlan
from voile.table.engines import AUTO, engine_of
from voile_testing.processes import answer_of, load_for
from voile_tests.ledger.conftest import charged, columns_of, grown

LIMIT = BudgetPlan("parcels", Decimal(10**6))
ID = 32
ENOUGH = {"committed": 20, "interrupted": 3, "unsettled": 3}
MOST = 125
"""Times the rounds, after which it is given up."""


def publish_forever(path: Path, pipe: int) -> None:
    ledger = Ledger(path)
    history, state = ledger.load("salaries"), ledger.budget("parcels")
    while True:
        history, state = publish(ledger, history, state, pipe)


def publish(
    ledger: Ledger, history: History | None, state: BudgetState | None, pipe: int | None = None
) -> tuple[History, BudgetState | None]:
    """Commit a release, say so, and settle it; the series and the budget after that."""
    after = grown(history, blocks=50, rows=3, held=2000)
    release_id = after.versions[-1].release_id
    charge = charged(state, "1", limit=LIMIT, rows=2000, release_id=release_id)
    ledger.commit(history, after, charge)
    if pipe is not None:
        os.write(pipe, release_id.encode())
    ledger.settle("parcels", release_id)
    return after, ledger.budget("parcels")


def rehearse() -> None:
    """Do once what the children do."""
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        _, state = publish(ledger, None, None)
        assert state is not None
        assert findings_of(ledger) == []
        left_by(state.waiting)


def killed(path: Path, reports: int, seconds: float) -> list[str]:
    """What a publisher reported, which is killed some time after so many reports."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            publish_forever(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read(ID * reports) if reports else b""
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the publisher failed before it was killed"
        text = (text + pipe.read()).decode()
    return [text[i : i + ID] for i in range(0, len(text), ID)]


def findings_of(ledger: Ledger) -> list[str]:
    """What is wrong with a ledger."""
    return [str(finding) for finding in ledger.verify()]


def left_by(carried: CarriedRows) -> list[str]:
    """Which release left each row out."""
    return [text.removeprefix("left by ") for text in columns_of(carried.kept)["parcel"]]


def faults_beside(path: Path) -> list[str]:
    """Whether rows stand beside the ledger that the last who wrote to it did not know."""
    beside = {place.name for place in path.with_name(f"{path.name}.rows").iterdir()}
    with closing(sqlite3.connect(path)) as connection:
        known = {name for (name,) in connection.execute("SELECT name FROM row_set")}
    return [] if beside == known else ["rows of a dead publisher were left"]


def faults_of_pool(state: BudgetState, stored: list[str]) -> list[str]:
    """What is wrong with a pool whose newest release may be settled or not."""
    faults = []
    releases = [entry.release_id for entry in state.entries if entry.kind == "release"]
    if releases != stored:
        faults.append(f"{len(stored)} versions stored, {len(releases)} charged")
    if state.unsettled:
        kept = state.taken_up
        before = kept.rows == 0 or left_by(kept) == [kept.release_id] * 2000
        if not before or state.unsettled != releases[-1]:
            faults.append("the rows that an unsettled release took up are not kept")
    if state.waiting.rows and left_by(state.waiting) != [state.waiting.release_id] * 2000:
        faults.append("the waiting rows are not those of their release")
    return faults


def main() -> None:
    folder, rounds, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    counts = {"committed": 0, "interrupted": 0, "uncreated": 0, "unreported": 0, "unsettled": 0}
    faults: list[str] = []
    load_for(rehearse)
    engine_of(AUTO)
    for series in range(MOST * rounds):
        if series >= rounds and all(counts[name] >= enough for name, enough in ENOUGH.items()):
            break
        path = folder / f"{series}.db"
        reported: list[str] = []
        for kill in range(4):
            # The first kill of each ledger comes while it is created.
            reports, most = (0, 0.02) if kill == 0 else (rng.randrange(3), 0.02)
            reported += killed(path, reports, rng.uniform(0, most))
            counts["interrupted"] += path.with_name(f"{path.name}-journal").exists()
            if not path.exists():
                counts["uncreated"] += 1
                faults += ["a reported version has no ledger"] if reported else []
                continue
            ledger = Ledger(path)
            faults += answer_of(partial(findings_of, ledger))
            history, state = ledger.load("salaries"), ledger.budget("parcels")
            stored = [version.release_id for version in history.versions] if history else []
            # At most the version that was being committed may be there without a report.
            counts["unreported"] += len(stored) - len(reported)
            if stored[: len(reported)] != reported or len(stored) > len(reported) + 1:
                faults.append(f"{len(reported)} versions reported, {len(stored)} stored")
            reported = stored
            if state:
                faults += answer_of(partial(faults_of_pool, state, stored))
                if state.unsettled:
                    counts["unsettled"] += 1
                    deed = rng.choice([ledger.settle, ledger.take_back])
                    deed("parcels", state.unsettled)
                    faults += faults_beside(path)
                    faults += answer_of(partial(findings_of, ledger))
        counts["committed"] += len(reported)
    sys.stdout.write(json.dumps({**counts, "faults": faults}))


if __name__ == "__main__":
    main()
