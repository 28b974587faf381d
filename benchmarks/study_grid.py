"""``voile compare`` as a whole process: forty studies on Adult, and the memory of many and few."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

from benchmarks.adult import COLUMNS, adult_file, hierarchy_file
from benchmarks.process import Usage
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

SEED = 2017
JOBS = 2
MINUTES = 5
MOST_GROWTH = 1.2
"""Of the peak memory from few studies to many: what allocators keep, and no more."""

SENSITIVE = "salary-class"
FULL_DOMAIN = """
name = "generalization"
k = [2, 3, 5, 10, 20]
algorithm = ["flash", "datafly"]
suppression_limit = [0.0, 0.02, 0.05]
"""
REGIONS = """
name = "generalization"
algorithm = "mondrian"
k = [2, 3, 5, 10, 20]
relaxed = [false, true]
"""
FEW = REGIONS.replace("[2, 3, 5, 10, 20]", "[2, 3]")


def run() -> Measurement:
    """Study the grids in a temporary folder, each in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plans = {
            file: _plan(folder / f"{file}.toml", method)
            for file, method in (("full", FULL_DOMAIN), ("regions", REGIONS), ("few", FEW))
        }
        _compare(folder / "warm", [plans["few"]])
        few, few_points = _compare(folder / "few", [plans["few"]])
        many, points = _compare(folder / "many", [plans["full"], plans["regions"]])
        stages = _stages(folder / "many")
    counts = Counter(point["status"] for point in points)
    growth = many.memory / few.memory
    return Measurement(
        question="How long does a grid of studies take, and does its memory grow with the grid?",
        data="Adult as ARX ships it, 30,162 rows, 8 quasi-identifiers with their hierarchies and "
        "one sensitive column; k from 2 to 20 with Flash and Datafly at three limits of "
        "suppression, and Mondrian, strict and relaxed",
        seeds=f"{SEED}",
        protocol=f"the command `voile compare` with --jobs {JOBS}, start to end, report included: "
        "all attacks at 1,000 targets each and all measures; wall time, user + system time of all "
        "processes, and the peak resident set of the largest of them; one unrecorded run first, "
        "to compile",
        answer=f"{len(points)} studies take {many.wall:.0f} s on {JOBS} cores "
        f"({many.wall / len(points):.1f} s each; {counts['done']} done).  The largest process "
        f"takes {many.memory:,.0f} MiB, {growth:.2f} times that of a grid of {len(few_points)}.",
        targets=[
            Target(
                "40 studies on Adult", f"under {MINUTES} minutes on {JOBS} cores",
                f"{many.wall / 60:.1f} minutes",
                many.wall < 60 * MINUTES and len(points) == counts["done"] == 40,
            ),
            Target(
                "peak memory, 40 studies against 4", f"at most {MOST_GROWTH} times",
                f"{growth:.2f} times", growth <= MOST_GROWTH,
            ),
        ],
        tables=[
            Table(
                "Whole processes", ("studies", "wall", "processor", "largest process"),
                [
                    [f"{len(some)}", f"{usage.wall:.0f} s", f"{usage.processor:.0f} s",
                     f"{usage.memory:,.0f} MiB"]
                    for some, usage in ((few_points, few), (points, many))
                ],
            ),
            Table(
                "Where the time of a study goes", ("stage", "median", "longest"),
                [
                    [stage, f"{median(taken):.2f} s", f"{max(taken):.2f} s"]
                    for stage, taken in stages.items()
                ],
            ),
        ],
    )  # fmt: skip


def _plan(path: Path, method: str) -> Path:
    """A plan for Adult in a file."""
    known = [column for column in COLUMNS if column != SENSITIVE]
    tables = "".join(f'[columns.{c}]\nhierarchy = "{hierarchy_file(c)}"\n' for c in known)
    roles = f"[roles]\nquasi_identifiers = {json.dumps(known)}\nsensitive = ['{SENSITIVE}']\n"
    path.write_text(f"{roles}{tables}[method]{method}")
    return path


def _compare(out: Path, plans: list[Path]) -> tuple[Usage, list[dict[str, object]]]:
    """Run a grid; what it took, and its points."""
    voile = Path(sys.executable).parent / "voile"
    options = ("--out", f"{out}", "--jobs", f"{JOBS}", "--seed", f"{SEED}")
    usage = Usage.of([f"{voile}", "compare", f"{adult_file()}", *map(str, plans), *options])
    return usage, json.loads((out / "comparison.json").read_text())["points"]


def _stages(out: Path) -> dict[str, list[float]]:
    """The seconds of each stage in all studies."""
    stages: dict[str, list[float]] = {}
    for record in sorted((out / "records").iterdir()):
        for stage, taken in json.loads(record.read_text())["seconds"].items():
            stages.setdefault(stage, []).append(taken)
    return stages
