"""Publishers that die: ``python crashes.py FOLDER points`` or ``... FOLDER random KILLS SEED``.

Forks a publisher of the next release of one series for each death, then looks at what it left:
nothing or a whole release at its place, and a sound ledger that knows every release there is.
The parent never touches a row, because compiled thread pools do not survive a fork.
Prints JSON: what each death left, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from voile.cli.main import main as voile
from voile.ledger import Ledger, records
from voile.publish.ke_anonymity.static import optimal_blocks
from voile.randomness import Randomness
from voile.release import folder as release_folder
from voile.study import run
from voile.table.polars_published import PolarsPublished
from voile.table.shuffling import permute_within_runs

PLAN = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["salary"]

[method]
name = "ke-anonymity"
k = 3
e = 20
series = "s"
"""
ROWS = 400
DIED = 77


def die(*_: object, **__: object) -> None:
    """The end of the process, with nothing tidied up."""
    os._exit(DIED)


def dying(before: Callable[..., object]) -> Callable[..., None]:
    """A function after which the process ends."""

    def call(*arguments: object, **named: object) -> None:
        before(*arguments, **named)
        die()

    return call


def half_written(self: PolarsPublished, folder: Path, file_format: str) -> None:
    """The writing of rows that ends in their middle."""
    path = WRITE(self, folder, file_format)
    os.truncate(path, path.stat().st_size // 2)
    die()


def at_flush(number: int) -> Callable[[Path], None]:
    """A flush of folders at whose n-th call the process ends."""
    calls = []

    def flush(folder: Path) -> None:
        calls.append(folder)
        if len(calls) == number:
            die()

    return flush


WRITE = PolarsPublished.write
POINTS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "before the check": (run, "check_release", die),
    "before the commit": (Ledger, "commit", die),
    "inside the transaction": (records, "append", dying(records.append)),
    "after the commit": (Ledger, "commit", dying(Ledger.commit)),
    "before the write": (PolarsPublished, "write", die),
    "during the write": (PolarsPublished, "write", half_written),
    "before the document": (PolarsPublished, "write", dying(PolarsPublished.write)),
    "before the rename": (release_folder, "_flush", at_flush(1)),
    "after the rename": (release_folder, "_flush", at_flush(2)),
}


class Series:
    """One series, its publishers and what they leave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger.db"
        (folder / "plan.toml").write_text(PLAN)
        rows = "".join(f"{i % 60},{i * 37 % 1000}\n" for i in range(ROWS))
        (folder / "people.csv").write_text(f"age,salary\n{rows}")
        self.faults: list[str] = []
        self.releases: list[Path] = []

    def fork(self, name: str, point: str | None = None) -> int:
        """A publisher in a process of its own; its id."""
        child = os.fork()
        if child:
            return child
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            if point:
                setattr(*POINTS[point])
            place = [str(self.folder / n) for n in ("people.csv", "plan.toml", name, "ledger.db")]
            table, plan, out, ledger = place
            voile(["publish", table, "--plan", plan, "--out", out, "--ledger", ledger])
        except SystemExit as leave:
            os._exit(int(leave.code or 0))
        finally:
            os._exit(1)

    def versions(self) -> int:
        """How many releases the ledger knows."""
        return sum(len(series.versions) for series in Ledger(self.ledger).series())

    def look(self, name: str) -> bool:
        """Whether a whole release stands at a place; notes everything that is not as it must be."""
        out = self.folder / name
        if self.ledger.exists():
            self.faults += [f"{name}: {finding}" for finding in Ledger(self.ledger).verify()]
        if not out.exists():
            return False
        self.releases.append(out)
        try:
            document = json.loads((out / "release.json").read_text())
            lines = (out / "data.csv").read_text().splitlines()
            if not len(lines) == document["rows"] + 1 == ROWS + 1:
                self.faults.append(f"{name}: the release is not whole")
            findings = Ledger(self.ledger).verify_release(out)
            self.faults += [f"{name}: {finding}" for finding in findings]
        except Exception as error:
            self.faults.append(f"{name}: {error}")
        return True

    def publish(self, name: str) -> float:
        """Publish undisturbed; seconds."""
        started = time.monotonic()
        _, status = os.waitpid(self.fork(name), 0)
        if status or not self.look(name):
            self.faults.append(f"{name}: an undisturbed publisher failed")
        return time.monotonic() - started

    def groups(self) -> int:
        """How many kinds of grouping the releases show; it must be one, for the rows are one."""
        shown = set()
        for out in self.releases:
            lines = (out / "data.csv").read_text().splitlines()[1:]
            shown.add(tuple(sorted((line.split(",")[0], line.split(",")[2]) for line in lines)))
        return len(shown)


def die_at_points(series: Series) -> dict[str, object]:
    """One death at each point; the next publisher, and at last an undisturbed one, goes on."""
    left = {}
    for point in POINTS:
        known = series.versions() if series.ledger.exists() else 0
        _, status = os.waitpid(series.fork(point, point), 0)
        if os.waitstatus_to_exitcode(status) != DIED:
            series.faults.append(f"{point}: the publisher did not die there")
        there = series.look(point)
        now = series.versions() if series.ledger.exists() else 0
        left[point] = {"committed": now - known, "released": there}
    series.publish("last")
    return {"left": left}


def die_at_random(series: Series, kills: int, seed: int) -> dict[str, object]:
    """Deaths by SIGKILL, spread over the later part of a run, in which things are written."""
    series.publish("first")
    seconds = series.publish("second")
    rng = random.Random(seed)
    counts = {"nothing": 0, "committed": 0, "released": 0}
    for number in range(kills):
        known = series.versions()
        child = series.fork(f"killed {number}")
        time.sleep(seconds * (0.4 + 0.7 * (number + rng.random()) / kills))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        there = series.look(f"killed {number}")
        committed = series.versions() > known
        counts["released" if there else "committed" if committed else "nothing"] += 1
    series.publish("last")
    return {"counts": counts, "seconds": seconds}


def main() -> None:
    folder, mode, *numbers = sys.argv[1:]
    # Compile, or load what was compiled, once and not in every child.
    optimal_blocks(np.arange(9), 2, 1)
    permute_within_runs(np.arange(4, dtype=np.int32), np.array([4]), Randomness.seeded(1).key("x"))
    series = Series(Path(folder))
    found = (
        die_at_points(series)
        if mode == "points"
        else die_at_random(series, int(numbers[0]), int(numbers[1]))
    )
    found |= {"faults": series.faults, "groupings": series.groups()}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
