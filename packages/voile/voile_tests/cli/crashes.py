"""Publishers that die: ``python -m voile_tests.cli.crashes FOLDER WHAT HOW``.

HOW is ``points`` or ``random KILLS SEED``.

WHAT is ``series``, releases of one growing table, or ``trips``, releases of one fleet whose trips
have budgets.  Forks a publisher of the next release for each death, then looks at what it left:
nothing or a whole release at its place, and a sound ledger that knows every release there is, and
has charged its trips.
The parent never touches a row, because thread pools do not survive a fork.
Prints JSON: what each death left, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from voile.ledger import Ledger, records, trips
from voile.ledger.row_sets import RowFolder
from voile.publish.ke_anonymity.searches import optimal_blocks
from voile.publish.registry import publisher_of
from voile.release import folder as release_folder
from voile.schema.plan import parse_plan
from voile.study import run
from voile.table.engines import AUTO, engine_of
from voile.table.engines.shared import permute_within_runs
from voile.table.keeping import KeptRows
from voile.table.published import PublishedTable
from voile_base.main import main as voile
from voile_base.randomness import Randomness
from voile_testing.processes import answer_of, load_for

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
TRIPS_PLAN = """
[method]
name = "geo-indistinguishability"
mechanism = "planar-laplace"
epsilon = 0.005
fleet = "vans"
budget = 1000000
"""
ROWS, TRIPS = 400, 8
COST = ROWS // TRIPS
"""What a release costs each trip, in reports, which all have the same noise."""
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


def half_written(self: PublishedTable, folder: Path, file_format: str) -> None:
    """The writing of rows that ends in their middle."""
    path = folder / WRITE(self, folder, file_format)[0]
    os.truncate(path, path.stat().st_size // 2)
    die()


def half_said(path: Path, text: str, **options: bool) -> None:
    """The writing of the document that ends in its middle."""
    SAY(path, text[: len(text) // 2], **options)
    die()


def half_kept(self: KeptRows, folder: Path) -> None:
    """The writing of marks that ends in their middle."""
    KEEP(self, folder)
    for path in folder.iterdir():
        os.truncate(path, path.stat().st_size // 2)
    die()


def at_removal(number: int) -> Callable[..., None]:
    """A removal of rows at whose n-th call the process ends."""
    calls = []

    def remove(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == number:
            die()

    return remove


def at_flush(number: int) -> Callable[[Path], None]:
    """A flush of folders at whose n-th call the process ends."""
    calls = []

    def flush(folder: Path) -> None:
        calls.append(folder)
        if len(calls) == number:
            die()

    return flush


WRITE, KEEP, SAY = PublishedTable.write, KeptRows.write, release_folder.write_text
Points = dict[str, tuple[object, str, Callable[..., object]]]
STAGING: Points = {
    "before the write": (PublishedTable, "write", die),
    "during the write": (PublishedTable, "write", half_written),
    "before the check": (run, "check_release", die),
    "after the check": (run, "check_release", dying(run.check_release)),
}
APPEARING: Points = {
    "before the document": (run, "write_document", die),
    "during the document": (release_folder, "write_text", half_said),
    "after the document": (run, "write_document", dying(run.write_document)),
    "before the rename": (release_folder, "sync", at_flush(1)),
    "after the rename": (release_folder, "sync", at_flush(2)),
}
POINTS: Points = {
    **STAGING,
    "before the commit": (Ledger, "commit", die),
    "while marks are written": (KeptRows, "write", half_kept),
    "before the ledger refers to marks": (records, "refer", die),
    "inside the transaction": (records, "append", dying(records.append)),
    "before forgotten marks go": (RowFolder, "remove", at_removal(2)),
    "after the commit": (Ledger, "commit", dying(Ledger.commit)),
    **APPEARING,
    "before settling": (Ledger, "settle_series", die),
    "inside the settling": (records, "settle_version", dying(records.settle_version)),
    "after settling": (Ledger, "settle_series", dying(Ledger.settle_series)),
}
TRIPS_POINTS: Points = {
    "before the charge": (Ledger, "charge", die),
    "inside the transaction": (trips, "charge", dying(trips.charge)),
    "after the charge": (Ledger, "charge", dying(Ledger.charge)),
    **STAGING,
    **APPEARING,
}


class Series:
    """One series, its publishers and what they leave."""

    plan = PLAN
    table = "age,salary\n" + "".join(f"{i % 60},{i * 37 % 1000}\n" for i in range(ROWS))
    points = POINTS

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger.db"
        (folder / "plan.toml").write_text(self.plan)
        (folder / "table.csv").write_text(self.table)
        self.faults: list[str] = []
        self.releases: list[Path] = []

    def fork(self, name: str, point: str | None = None) -> int:
        """A publisher in a process of its own; its id."""
        child = os.fork()
        if child:
            return child
        try:
            if point:
                setattr(*self.points[point])
            os._exit(self.call(name))
        finally:
            os._exit(1)

    def call(self, name: str) -> int:
        """Publish in this process, which then knows rows; the exit status."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        place = [str(self.folder / n) for n in ("table.csv", "plan.toml", name, "ledger.db")]
        table, plan, out, ledger = place
        try:
            voile(["publish", table, "--plan", plan, "--out", out, "--ledger", ledger])
        except SystemExit as leave:
            return int(leave.code or 0)
        return 0

    def versions(self) -> int:
        """How many releases the ledger knows."""
        return sum(len(series.versions) for series in Ledger(self.ledger).series())

    def look(self, name: str) -> bool:
        """Whether a whole release stands at a place; notes everything that is not as it must be."""
        out = self.folder / name
        if self.ledger.exists():
            findings = answer_of(lambda: [str(each) for each in Ledger(self.ledger).verify()])
            self.faults += [f"{name}: {finding}" for finding in findings]
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

    def ready(self) -> None:
        """Load, and compile, what publishers need, once and not in every child."""
        with TemporaryDirectory() as folder:
            load_for(partial(type(self)(Path(folder)).call, "rehearsal"))
        engine_of(AUTO)
        optimal_blocks(np.arange(ROWS), 2, 1)
        key = Randomness.seeded(1).key("x")
        permute_within_runs(np.arange(4, dtype=np.int32), np.array([4]), key)

    def beside(self) -> int:
        """How many data sets stand beside the ledger, of which it must know each."""
        names = {place.name for place in self.ledger.with_name("ledger.db.rows").iterdir()}
        with closing(sqlite3.connect(self.ledger)) as connection:
            known = {name for (name,) in connection.execute("SELECT name FROM row_set")}
        if names != known:
            self.faults.append(f"{len(names - known)} data sets of dead publishers were left")
        return len(names)

    def groups(self) -> int:
        """How many kinds of grouping the releases show; it must be one, for the rows are one."""
        shown = set()
        for out in self.releases:
            lines = (out / "data.csv").read_text().splitlines()[1:]
            shown.add(tuple(sorted((line.split(",")[0], line.split(",")[2]) for line in lines)))
        return len(shown)


class Fleet(Series):
    """The releases of one fleet; each of its trips is in all of them."""

    plan = TRIPS_PLAN
    table = "trip,time,latitude,longitude\n" + "".join(
        f"T{i % TRIPS},{1_700_000_000 + i},{48.8 + i / 10_000},2.35\n" for i in range(ROWS)
    )
    points = TRIPS_POINTS

    def versions(self) -> int:
        """How many releases the ledger has charged."""
        state = Ledger(self.ledger).fleet("vans")
        return len(state.entries) if state else 0

    def look(self, name: str) -> bool:
        """The same, and that the trips of every release there is have paid for it."""
        there = super().look(name)
        state = Ledger(self.ledger).fleet("vans") if self.ledger.exists() else None
        charged = [entry.release_id for entry in state.entries] if state else []
        for out in self.releases:
            if json.loads((out / "release.json").read_text())["release_id"] not in charged:
                self.faults.append(f"{name}: the trips of {out.name} have not paid for it")
        laws = [*state.spent.alike.values()] if state else []
        spent = laws[0] if len(laws) == 1 else np.zeros(TRIPS)
        if len(spent) != TRIPS or (spent != COST * len(charged)).any():
            self.faults.append(f"{name}: {len(charged)} releases are charged, and not their cost")
        return there

    def ready(self) -> None:
        """The same of their method."""
        publisher_of(parse_plan(tomllib.loads(self.plan)).method).get_ready()

    def beside(self) -> int:
        """No rows are kept of fleets."""
        return 0

    def groups(self) -> int:
        """Every release draws anew, so no two show the same; 1 if that is so."""
        shown = {(out / "data.csv").read_text() for out in self.releases}
        return 1 if len(shown) == len(self.releases) else 0


SUBJECTS = {"series": Series, "trips": Fleet}


def die_at_points(series: Series) -> dict[str, object]:
    """One death at each point; the next publisher, and at last an undisturbed one, goes on."""
    left = {}
    for point in series.points:
        known = series.versions() if series.ledger.exists() else 0
        _, status = os.waitpid(series.fork(point, point), 0)
        if os.waitstatus_to_exitcode(status) != DIED:
            series.faults.append(f"{point}: the publisher did not die there")
        there = series.look(point)
        now = series.versions() if series.ledger.exists() else 0
        left[point] = {"committed": now - known, "released": there}
    series.publish("last")
    return {"left": left, "beside": series.beside()}


def die_at_random(series: Series, kills: int, seed: int) -> dict[str, object]:
    """Deaths by SIGKILL around the end of a run, in which things are written."""
    series.publish("first")
    seconds = series.publish("second")
    rng = random.Random(seed)
    # About half of the deaths come too late, on any machine: what it does meanwhile is followed.
    counts = {"nothing": 0, "committed": 0, "released": 0}
    for number in range(kills):
        known = series.versions()
        child = series.fork(f"killed {number}")
        time.sleep(seconds * rng.uniform(0.8, 1.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        there = series.look(f"killed {number}")
        committed = series.versions() > known
        left = "released" if there else "committed" if committed else "nothing"
        counts[left] += 1
        seconds *= {"nothing": 1.1, "committed": 1.0, "released": 1 / 1.1}[left]
    series.publish("last")
    return {"counts": counts, "seconds": seconds}


def main() -> None:
    folder, subject, mode, *numbers = sys.argv[1:]
    series = SUBJECTS[subject](Path(folder))
    series.ready()
    found = (
        die_at_points(series)
        if mode == "points"
        else die_at_random(series, int(numbers[0]), int(numbers[1]))
    )
    found |= {"faults": series.faults, "groupings": series.groups()}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
