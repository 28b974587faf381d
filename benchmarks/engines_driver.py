"""What the driver of Spark holds as a series grows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engines_cluster import cluster, require_spark, surroundings
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

GROWN = tuple(
    int(rows) for rows in os.environ.get("VOILE_BENCHMARK_GROWN", "5_000_000,20_000_000").split(",")
)
ASKED = (10_000_000, 100_000_000)
"""Rows of the target; what was measured is drawn out to them in a straight line."""
SEED = 2026
MOST_GROWTH = 1.1
DRIVER = "512m"
_FILES = 4
"""Of each release of the series, more: its rows are added in so many files."""
_PAUSE = 0.05
_COLLECTED = re.compile(r"Pause .*?\d+M->(\d+)M\(")
GENERATE = """
import sys, numpy as np, polars as pl
first, rows, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng([2026, first])
jobs = np.array([f"occupation {number:02d}" for number in range(40)])
zips = np.char.zfill(np.arange(2000).astype(str), 5)
pl.DataFrame({
    "who": np.arange(first, first + rows),
    "age": rng.integers(18, 68, rows),
    "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
    "zip": zips[rng.integers(0, 2000, rows)],
    "occupation": jobs[rng.integers(0, 40, rows)],
    "salary": (rng.beta(2, 6, rows) * 20_000).astype(int) + 12_000,
}).write_parquet(path, row_group_size=250_000)
"""
PLAN = """
[roles]
identifiers = ["who"]
quasi_identifiers = ["age", "sex", "zip", "occupation"]
sensitive = ["salary"]

[columns.zip]
type = "text"

[method]
name = "ke-anonymity"
k = 5
e = 100
series = "people"
record_key = "who"
"""


@dataclass(frozen=True)
class _Held:
    """What a driver held at most, in MiB: Python, the Java beside it, and its heap when cleaned."""

    python: float
    java: float
    heap: float
    wall: float

    @property
    def together(self) -> float:
        """Resident in both processes."""
        return self.python + self.java

    @property
    def cell(self) -> str:
        """For the table."""
        return (
            f"{self.together:,.0f} MiB (Python {self.python:,.0f}, Java {self.java:,.0f} with "
            f"{self.heap:,.0f} in use; {self.wall:.0f} s)"
        )


def run() -> Measurement:
    """Publish two releases of a series of each size on a cluster of two workers."""
    require_spark()
    series = [_series(rows) for rows in GROWN]
    lines, drawn_out, measured = [], [], []
    for number, (few, many) in enumerate(zip(series[0], series[-1], strict=True), 1):
        per_row = (many.together - few.together) / (GROWN[-1] - GROWN[0])
        ends = [few.together + per_row * (rows - GROWN[0]) for rows in ASKED]
        drawn_out.append(ends[1] / ends[0])
        measured.append(many.together / few.together)
        cells = [held[number - 1].cell for held in series]
        lines.append([f"release {number}", *cells, f"{measured[-1]:.2f}", f"{drawn_out[-1]:.2f}"])
    worst = max(drawn_out)
    sizes = [f"{rows:,} rows" for rows in GROWN]
    return Measurement(
        question="Does the driver of Spark hold more where a series has more rows?",
        data="synthetic people with a record key, whose other columns have the same different "
        "values at each size, in folders of Parquet files; the first release of a series has half "
        "of the rows, the second all",
        seeds=f"tables {SEED}, releases {SEED}",
        protocol=f"voile publish --engine spark with a ledger, (k,e)-anonymity, on a master with "
        f"two workers of one core; spark.driver.memory={DRIVER}; of the process that publishes "
        "and of its Java, which do no work of tasks, the most that was resident, as the system "
        "has it, and of the heap what was left after a collection of garbage; once each",
        answer=f"At most {max(measured):.2f} times as much at {sizes[-1]} as at {sizes[0]}; drawn "
        f"out in a straight line, {worst:.2f} times at {ASKED[1]:,} rows what it is at "
        f"{ASKED[0]:,}.",
        targets=[Target(
            f"driver's memory, series of {ASKED[1]:,} rows over {ASKED[0]:,}, extrapolated from "
            f"{' and '.join(sizes)}", f"at most {MOST_GROWTH} times", f"{worst:.2f} times",
            worst <= MOST_GROWTH)],
        tables=[Table("The driver's memory",
                      ("", *sizes, "ratio", "ratio at ten times, extrapolated"), lines)],
    )  # fmt: skip


def _series(rows: int) -> Sequence[_Held]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(PLAN)
        (folder / "people").mkdir()
        held = []
        with cluster(folder) as made:
            for number in range(2):
                _add_rows(folder / "people", number * rows // 2, rows // 2)
                held.append(_published(folder, made.master, folder / f"release-{number}"))
                print(f"{rows:,}, release {number + 1}: {held[-1].cell}", file=sys.stderr,
                      flush=True)  # fmt: skip
    return held


def _add_rows(people: Path, first: int, rows: int) -> None:
    part = rows // _FILES
    for start in range(first, first + rows, part):
        path = people / f"part-{start:012}.parquet"
        command = [sys.executable, "-c", GENERATE, f"{start}", f"{part}", f"{path}"]
        subprocess.run(command, check=True)


def _published(folder: Path, master: str, out: Path) -> _Held:
    voile = Path(sys.executable).parent / "voile"
    command = [f"{voile}", "publish", f"{folder / 'people'}", "--plan", f"{folder / 'plan.toml'}"]
    command += ["--ledger", f"{folder / 'ledger'}", "--out", f"{out}", "--seed", f"{SEED}"]
    log = folder / "collections.log"
    where = surroundings(folder, driver=DRIVER)
    options = f"--driver-java-options '-XX:+UseSerialGC -Xlog:gc:file={log}'"
    where["PYSPARK_SUBMIT_ARGS"] = f"{options} {where['PYSPARK_SUBMIT_ARGS']}"
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*command, "--engine", "spark", "--master", master],
            env=where,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        python = java = 0.0
        while process.poll() is None:
            python = max(python, _most(process.pid))
            java = max(java, *map(_most, _children(process.pid)), 0.0)
            time.sleep(_PAUSE)
        if process.returncode:
            said.seek(0)
            msg = f"publishing failed: {said.read().decode(errors='replace')[-2000:]}"
            raise RuntimeError(msg)
    wall = time.perf_counter() - started
    heap = max(map(float, _COLLECTED.findall(log.read_text())), default=0.0)
    return _Held(python, java, heap, wall)


def _children(pid: int) -> list[int]:
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _most(pid: int) -> float:
    """The largest resident size of a process up to now, in MiB."""
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return 0.0
