"""``voile publish`` as a whole process, against a bare read and write of the same file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from statistics import median

from benchmarks.record import Measurement, Table, Target

__all__ = ["Usage", "run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
PAIRS = 5
PAIRS_FOR_INFORMATION = 2
DISTINCT = 100_000
SEED = 2026
MOST_TIME, MOST_MEMORY = 3, 2

# Each of these runs in a process of its own.  The launcher holds nothing but the standard library:
# a child's peak memory is never less than that of the process which started it.
LAUNCHER = """
import os, sys, time
started = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - started
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
BARE = """
import sys, polars
kind, source, copy = sys.argv[1:]
frame = getattr(polars, "read_" + kind)(source)
getattr(frame, "write_" + kind)(copy)
"""
GENERATE = """
import sys, numpy as np, polars as pl
rows, distinct, seed, folder = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = np.random.default_rng(seed)
more = (rng.beta(2, 6, rows - distinct) * distinct).astype(int)
salary = np.concatenate((np.arange(distinct), more))
rng.shuffle(salary)
jobs = np.array([f"occupation {number:02d}" for number in range(40)])
frame = pl.DataFrame({
    "age": rng.integers(18, 68, rows),
    "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
    "zip": np.char.zfill(np.arange(2000).astype(str), 5)[rng.integers(0, 2000, rows)],
    "occupation": jobs[rng.integers(0, len(jobs), rows)],
    "salary": salary + 12_000,
})
assert frame["salary"].n_unique() == distinct
frame.write_parquet(folder + "/people.parquet")
frame.write_csv(folder + "/people.csv")
"""
PLAN = """
[roles]
quasi_identifiers = ["age", "sex", "zip", "occupation"]
sensitive = ["salary"]

[columns.zip]
type = "text"

[method]
name = "ke-anonymity"
k = 5
e = 100
"""


@dataclass(frozen=True)
class Usage:
    """What one process took."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of all cores, user and system."""
    memory: float
    """Peak resident set in MiB."""

    @classmethod
    def of(cls, command: Sequence[str]) -> Usage:
        """Run a command; raises ``RuntimeError`` where it fails."""
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
        done = subprocess.run(launcher, check=True, stdout=subprocess.PIPE, text=True)
        status, wall, processor, memory = done.stdout.split()
        if status != "0":
            msg = f"a measured process failed with status {status}"
            raise RuntimeError(msg)
        return cls(float(wall), float(processor), float(memory) / 1024)


@dataclass(frozen=True)
class Comparison:
    """Paired runs: the bare process and the one measured, in turn."""

    name: str
    bare: list[Usage]
    ours: list[Usage]

    def ratio(self, what: Callable[[Usage], float]) -> float:
        """Median over the pairs of ours over bare."""
        pairs = zip(self.ours, self.bare, strict=True)
        return median(what(ours) / what(bare) for ours, bare in pairs)

    def line(self) -> list[str]:
        """Medians and ratios, for the table."""
        cells = [self.name, f"{len(self.bare)}"]
        for what, form in _FACETS.values():
            medians = [form.format(median(map(what, side))) for side in (self.bare, self.ours)]
            cells += [*medians, f"{self.ratio(what):.2f}"]
        return cells


_FACETS: dict[str, tuple[Callable[[Usage], float], str]] = {
    "wall": (lambda usage: usage.wall, "{:.2f} s"),
    "processor": (lambda usage: usage.processor, "{:.2f} s"),
    "peak memory": (lambda usage: usage.memory, "{:,.0f} MiB"),
}


def run() -> Measurement:
    """Generate the table in a temporary folder and run the processes in turn."""
    with tempfile.TemporaryDirectory() as name:
        comparisons = list(_comparisons(Path(name)))
    main = comparisons[0]
    wall, processor, memory = (main.ratio(what) for what, _ in _FACETS.values())
    columns = [f"{facet}, {side}" for facet in _FACETS for side in ("bare", "ours", "ratio")]
    return Measurement(
        question="What does publishing cost beyond reading and writing the file?",
        data=f"{ROWS:,} synthetic rows: age (50 values), sex (2), zip (2,000), occupation (40), "
        f"salary ({DISTINCT:,} distinct values, all present); k = 5, e = 100",
        seeds=f"table {SEED}; releases unseeded",
        protocol="whole processes, bare and ours in turn; bare is Polars reading the file and "
        "writing it again; wall time, user + system time and peak resident set of each process by "
        "wait4; one unrecorded pair first; medians, and medians of the paired ratios",
        answer=f"{wall:.2f} times the wall time, {processor:.2f} times the processor time and "
        f"{memory:.2f} times the peak memory of a bare read and write of the Parquet file.",
        targets=[
            Target("wall time, Parquet", f"at most {MOST_TIME} times", f"{wall:.2f} times",
                   wall <= MOST_TIME),
            Target("processor time, Parquet", f"at most {MOST_TIME} times",
                   f"{processor:.2f} times", processor <= MOST_TIME),
            Target("peak memory, Parquet", f"at most {MOST_MEMORY} times", f"{memory:.2f} times",
                   memory <= MOST_MEMORY),
        ],
        tables=[Table("Whole processes", ("what", "pairs", *columns),
                      [comparison.line() for comparison in comparisons])],
    )  # fmt: skip


def _comparisons(folder: Path) -> Iterator[Comparison]:
    generate = [sys.executable, "-c", GENERATE, f"{ROWS}", f"{DISTINCT}", f"{SEED}", f"{folder}"]
    subprocess.run(generate, check=True)
    (folder / "plan.toml").write_text(PLAN)
    (folder / "series.toml").write_text(PLAN + 'series = "people"\n')
    yield _compare(folder, "Parquet", "parquet", "plan.toml", PAIRS)
    yield _compare(
        folder, "Parquet, first of a series", "parquet", "series.toml", PAIRS_FOR_INFORMATION
    )
    yield _compare(folder, "CSV", "csv", "plan.toml", PAIRS_FOR_INFORMATION)


def _compare(folder: Path, name: str, kind: str, plan: str, pairs: int) -> Comparison:
    source, copy = folder / f"people.{kind}", folder / f"copy.{kind}"
    out, ledger = folder / "release", folder / "ledger.sqlite"
    bare = [sys.executable, "-c", BARE, kind, f"{source}", f"{copy}"]
    voile = [f"{Path(sys.executable).parent / 'voile'}", "publish", f"{source}"]
    voile += ["--plan", f"{folder / plan}", "--out", f"{out}", "--json"]
    voile += ["--ledger", f"{ledger}"] if plan == "series.toml" else []
    taken: tuple[list[Usage], list[Usage]] = [], []
    for _ in range(pairs + 1):
        for command, usages in zip((bare, voile), taken, strict=True):
            usages.append(Usage.of(command))
        copy.unlink()
        rmtree(out)
        ledger.unlink(missing_ok=True)
    return Comparison(name, taken[0][1:], taken[1][1:])
