"""Publishers of a series, killed at random or out of disk: ``python -m voile_tests.study.deaths``.

Arguments: FOLDER TRIALS SEED.  In each trial a publisher is forked and either killed (SIGKILL) at a
random instant, or has no more room for files than a random number of bytes.  Then somebody says
what became of its release, and the next one is made by a publisher whom nothing happens to.
Prints JSON: how trials ended, and what was blocked, forked or not sound.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl

from voile.ledger import Ledger
from voile.release.folder import release_document
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile_base.errors import VoileError
from voile_testing.processes import answer_of, load_for

SERIES = "staff"
PLAN = parse_plan(
    {
        "roles": {
            "identifiers": ["id"],
            "quasi_identifiers": ["age"],
            "sensitive": ["pay"],
        },
        "method": {
            "name": "generalization",
            "k": 2,
            "series": SERIES,
            "record_key": "id",
            "group_size": 4,
        },
    }
)
MOST_BYTES = 60_000
"""Of the largest file that a publisher writes, about."""


class Desk:
    """Where releases are made, one after the other."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.path = folder / "ledger.db"
        self.made = 0
        """Attempts so far, each at a place of its own."""
        self.ends: Counter[str] = Counter()
        self.faults: list[str] = []

    def table(self) -> pl.DataFrame:
        """Twenty people, and three more with each attempt; those of long ago are gone."""
        first = max(0, 3 * self.made - 30)
        ids = range(first, 3 * self.made + 20)
        return pl.DataFrame({"id": ids, "age": [20 + i * 7 % 60 for i in ids], "pay": list(ids)})

    def publish(self, place: Path) -> None:
        """Make a release."""
        make_release(self.table(), PLAN, place, ledger=self.path)

    def attempt(self, *, room: int | None = None, seconds: float | None = None) -> tuple[Path, int]:
        """Make a release in a process with so much room, killed after so long; its exit status."""
        place = self.folder / f"release {self.made}"
        child = os.fork()
        if not child:
            status = 1
            try:
                if room is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
                self.publish(place)
                status = 0
            except VoileError as error:
                status = error.exit_status
                if room is None:
                    sys.stderr.write(f"{error}\n")
            finally:
                os._exit(status)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        self.made += 1
        return place, os.waitstatus_to_exitcode(status)

    def trial(self, typical: float) -> None:
        """One fault, what is said of it, and the next release."""
        if self.draw.random() < 0.5:
            place, status = self.attempt(seconds=self.draw.uniform(0.3, 1.1) * typical)
            how = "killed" if status < 0 else "finished"
        else:
            place, status = self.attempt(room=self.draw.randrange(MOST_BYTES))
            how = "out of disk" if status else "finished"
        settled = answer_of(partial(self.settle, place))
        self.ends[f"{how}, {settled}"] += 1
        place, status = self.attempt()
        if status:
            self.faults.append(f"blocked: {place.name} ended with {status} after {how}, {settled}")

    def settle(self, place: Path) -> str:
        """Say what became of a release, as its custodian sees it."""
        ledger = Ledger(self.path)
        if place.exists():
            ledger.settle_series(SERIES, str(release_document(place)["release_id"]))
            return "stands"
        if not self.path.exists() or (waiting := ledger.open_version(SERIES)) is None:
            return "nothing happened"
        ledger.lose(SERIES, waiting)
        return "lost"

    def look(self) -> list[str]:
        """What is not sound, and whether releases that stand are one series without a fork."""
        ledger = Ledger(self.path)
        found = [str(finding) for finding in ledger.verify()]
        places = sorted(self.folder.glob("release *"))
        for place in places:
            found += [str(finding) for finding in ledger.verify_release(place)]
        numbers = sorted(release_document(place)["series"]["version"] for place in places)
        if numbers != list(range(1, len(places) + 1)):
            found.append(f"forked: the releases that stand are numbered {numbers}")
        return found


def main(folder: Path, trials: int, seed: int) -> None:
    desk = Desk(folder, seed)
    load_for(partial(make_release, desk.table(), PLAN, ledger=folder / "other.db"))
    desk.attempt()
    started = time.monotonic()
    desk.attempt()
    typical = time.monotonic() - started
    for _ in range(trials):
        desk.trial(typical)
    desk.faults += answer_of(desk.look)
    sys.stdout.write(json.dumps({"ends": desk.ends, "faults": desk.faults}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
