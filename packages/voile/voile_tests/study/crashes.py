"""Publishers that spend and carry rows over, and die.

    python -m voile_tests.study.crashes FOLDER [ENGINE [EVERY]]

Forks a publisher for each point at which one can die, or for each EVERY-th, looks at what it left,
and says what a custodian would: the release stands, or it is lost.  A table whose release is lost
is published again.  At the end every parcel of every table was published once, or waits.
Prints JSON: what each death left, and what went wrong.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from voile.ledger import Ledger, budget
from voile.release import folder as release_folder
from voile.release.folder import release_document
from voile.study import run
from voile.study.run import make_release
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile.table.published import PublishedTable
from voile_base.errors import VoileError
from voile_testing.processes import answer_of, load_for
from voile_tests.cli.crashes import DIED, at_flush, die, dying, half_kept, half_written
from voile_tests.study.small_groups import known_to_the_corridor

PLAN = """
[roles]
quasi_identifiers = ["zip"]
keep = ["parcel"]
keep_unique = ["parcel"]

[method]
name = "small-groups"
k = 2
epsilon = 1
suppressed = "carry"

[budget]
data_set = "parcels"
epsilon = 100
"""

POINTS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "before the charge": (Ledger, "charge", die),
    "inside the charge": (budget, "charge", dying(budget.charge)),
    "after the charge": (Ledger, "charge", dying(Ledger.charge)),
    "during the write": (PublishedTable, "write", half_written),
    "before the check": (run, "check_release", die),
    "after the check": (run, "check_release", dying(lambda *_: None)),
    "before the commit": (Ledger, "commit", die),
    "while rows are written": (KeptRows, "write", half_kept),
    "inside the commit": (budget, "leave_out", dying(budget.leave_out)),
    "after the commit": (Ledger, "commit", dying(Ledger.commit)),
    "before the document": (run, "write_document", die),
    "after the document": (run, "write_document", dying(run.write_document)),
    "before the rename": (release_folder, "sync", at_flush(1)),
    "after the rename": (release_folder, "sync", at_flush(2)),
    "before settling": (Ledger, "settle", die),
    "inside the settling": (budget, "settle", dying(budget.settle)),
    "after settling": (Ledger, "settle", dying(Ledger.settle)),
}


class Depot:
    """Tables of parcels that are published one after the other, and what came of them."""

    def __init__(self, folder: Path, engine: str = AUTO) -> None:
        self.folder, self.engine = folder, engine
        self.ledger = Ledger(folder / "ledger.db")
        (folder / "plan.toml").write_text(PLAN)
        self.faults: list[str] = []
        self.releases: list[Path] = []
        self.tables = 0

    def table(self) -> Path:
        """The next table: two parcels go together, one waits, and one was waited for."""
        number = self.tables
        path = self.folder / f"{number}.csv"
        zips = [f"{number}", f"{number}", f"waits {number}", f"waits {number - 1}"]
        rows = "".join(f"{zip_},{number}-{i}\n" for i, zip_ in enumerate(zips))
        path.write_text(f"zip,parcel\n{rows}")
        return path

    def publish(self, name: str, point: str | None = None) -> int:
        """Publish the next table in a process that may die at a point; its exit status."""
        child = os.fork()
        if not child:
            status = 1
            try:
                if point:
                    setattr(*POINTS[point])
                self.call(name)
                status = 0
            except VoileError as error:
                status = error.exit_status
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def call(self, name: str) -> None:
        """Publish the next table in this process, which then knows rows."""
        place, plan = self.folder / name, self.folder / "plan.toml"
        ledger = self.ledger.path
        make_release(self.table(), plan, place, ledger=ledger, engine=self.engine)

    def entries(self) -> int:
        """How many entries the account has."""
        state = self.ledger.budget("parcels")
        return len(state.entries) if state else 0

    def look(self, name: str) -> bool:
        """Whether a release stands, whose table is then done; notes what is not sound."""
        out = self.folder / name
        if self.ledger.path.exists():
            self.verify(name)
        if not out.exists():
            return False
        self.faults += [f"{name}: {finding}" for finding in self.ledger.verify_release(out)]
        self.releases.append(out)
        self.tables += 1
        return True

    def settle(self, name: str) -> bool:
        """Say what became of the release at a place, if that is asked; whether it was."""
        state = self.ledger.budget("parcels")
        if state is None or not state.unsettled:
            return False
        if self.publish(f"{name} too early") != 4:
            self.faults.append(f"{name}: another publisher did not mind the unsettled pool")
        out = self.folder / name
        if out.exists():
            self.ledger.settle("parcels", release_document(out)["release_id"])
        else:
            self.ledger.take_back("parcels", state.unsettled)
        self.verify(name)
        return True

    def verify(self, name: str) -> None:
        """Note what is not sound."""
        findings = answer_of(lambda: [str(each) for each in self.ledger.verify()])
        self.faults += [f"{name}: {finding}" for finding in findings]

    def parcels(self) -> dict[str, list[str]]:
        """The parcels of all tables, those published, and those that wait."""
        state = self.ledger.budget("parcels")
        assert state is not None
        assert state.waiting is not None
        kept = state.waiting.kept
        waiting = answer_of(lambda: _parcels_of(kept))
        frames = [pl.read_csv(out / "data.csv", columns=["parcel"]) for out in self.releases]
        return {
            "given": sorted(f"{table}-{i}" for table in range(self.tables) for i in range(4)),
            "published": sorted(pl.concat(frames)["parcel"].to_list()),
            "waiting": sorted(waiting),
        }


def _parcels_of(kept: KeptRows) -> list[str]:
    rows = pl.DataFrame(kept.open(engine_of(AUTO)).to_arrow())
    found: list[str] = rows["parcel"].to_list()
    return found


def main() -> None:
    engine = sys.argv[2] if len(sys.argv) > 2 else AUTO
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    depot = Depot(Path(sys.argv[1]), engine)
    left = {}
    with known_to_the_corridor():
        with TemporaryDirectory() as folder:
            load_for(partial(Depot(Path(folder), engine).call, "rehearsal"))
        if depot.publish("first") or not depot.look("first"):
            depot.faults.append("an undisturbed publisher failed")
        for point in list(POINTS)[::every]:
            known = depot.entries()
            if depot.publish(point, point) != DIED:
                depot.faults.append(f"{point}: the publisher did not die there")
            committed = depot.entries() - known
            left[point] = [committed, depot.look(point), depot.settle(point)]
        if depot.publish("last") or not depot.look("last"):
            depot.faults.append("an undisturbed publisher failed after the others")
    sys.stdout.write(json.dumps({"left": left, "faults": depot.faults, **depot.parcels()}))


if __name__ == "__main__":
    main()
