"""``voile publish`` on one machine: processor time of both engines, and of a bare copy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from statistics import median

import polars as pl

from benchmarks.process import Usage, voile_publish
from benchmarks.record import Measurement, Table, Target

__all__ = ["SEED", "generated", "methods", "published", "run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
FEWER_ROWS = int(os.environ.get("VOILE_BENCHMARK_FEWER", "1_000_000"))
ROUNDS = int(os.environ.get("VOILE_BENCHMARK_ROUNDS", "5"))
METHODS = tuple(os.environ.get("VOILE_BENCHMARK_METHODS", "").split(",") if os.environ.get(
    "VOILE_BENCHMARK_METHODS") else ())  # fmt: skip
SEED = 2026
MOST_TIME = 2.0
MOST_OVER_COPY = {
    "ke-anonymity": 1.8,
    "generalization": 1.8,
    "m-shuffle": 1.8,
    "clustered-laplace": 4.0,
}
MOST_OF_FEWER = 2.5
AS_PUBLISHED = ("clustered-laplace",)
"""Methods whose ends of intervals the bare copy reads and writes, too."""
COPY = """
import sys, polars
source, copy, *names = sys.argv[1:]
polars.read_parquet(source, columns=names).write_parquet(copy)
"""

GENERATE = """
import sys, numpy as np, polars as pl, pyarrow as pa, pyarrow.parquet as pq
rows, seed, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng, writer = np.random.default_rng(seed), None
jobs = np.array([f"occupation {number:02d}" for number in range(40)])
regions = np.array([f"region {number}" for number in range(8)])
schools = np.array([f"education {number}" for number in range(6)])
zips = np.char.zfill(np.arange(2000).astype(str), 5)
for start in range(0, rows, 1_000_000):
    n = min(1_000_000, rows - start)
    part = pl.DataFrame({
        "age": rng.integers(18, 68, n),
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        "zip": zips[rng.integers(0, 2000, n)],
        "occupation": jobs[rng.integers(0, len(jobs), n)],
        "salary": (rng.beta(2, 6, n) * 20_000).astype(int) + 12_000,
        "score": rng.integers(0, 1000, n) / 8,
        "region": regions[rng.integers(0, 8, n)],
        "education": schools[rng.integers(0, 6, n)],
        "children": rng.integers(0, 6, n),
        "hours": rng.integers(0, 80, n),
        "year": rng.integers(1990, 2021, n),
    }).to_arrow()
    writer = writer or pq.ParquetWriter(path, part.schema)
    writer.write_table(part)
writer.close()
"""
ROLES = """
[roles]
quasi_identifiers = ["age", "sex", "zip", "occupation"]
sensitive = ["salary"]

[columns.zip]
type = "text"
"""
PLANS = {
    "ke-anonymity": f'{ROLES}[method]\nname = "ke-anonymity"\nk = 5\ne = 100\n',
    "generalization": """
[roles]
quasi_identifiers = ["age", "sex", "occupation"]
keep = ["region", "education", "children", "hours", "year"]
sensitive = ["salary"]
[columns.age]
intervals = { widths = [5, 10, 50] }
[method]
name = "generalization"
k = 5
""",
    "dp-generalization": """
[roles]
quasi_identifiers = ["age", "sex", "occupation"]
[columns.age]
intervals = { widths = [5, 10, 50] }
[method]
name = "dp-generalization"
k = 100
epsilon = 2
""",
    "m-shuffle": f'{ROLES}[method]\nname = "m-shuffle"\nclusters = 40\ncolumns = ["age", "zip"]\n',
    "clustered-laplace": """
[roles]
quasi_identifiers = ["age", "salary"]
keep = ["sex", "occupation"]
[columns.age]
bounds = [0, 120]
[columns.salary]
bounds = [0, 50000]
[method]
name = "clustered-laplace"
epsilon = 1
""",
    "ranking": """
[roles]
quasi_identifiers = ["age", "occupation"]
ranking = ["salary", "score"]
[method]
name = "ranking"
k = 3
top = 20
precision = 0.3
""",
}


def run() -> Measurement:
    """Generate both tables in a temporary folder and publish them by both engines in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        beside = [_Sides.of(folder, ROWS, method) for method in methods()]
        small = [_Sides.of(folder, FEWER_ROWS, method) for method in methods()]
    worst = max(beside, key=lambda sides: sides.over_polars)
    return Measurement(
        question="What does an engine beyond memory cost, and what does publishing cost beyond "
        "reading and writing the same columns?",
        data=f"{ROWS:,} and {FEWER_ROWS:,} synthetic rows: age (50 values), sex (2), zip (2,000), "
        "occupation (40), salary (20,000), score (1,000), and region, education, children, hours "
        "and year, which generalization publishes too: nine columns",
        seeds=f"table {SEED}, releases {SEED}",
        protocol=f"whole processes in turn, {ROUNDS} rounds on a machine that others used; user + "
        "system time of all cores and peak resident set by wait4; medians; the bare copy is "
        "Polars reading the columns that are published and writing them again, for clustered "
        "noise those of the release with their ends; both releases of a method are compared row "
        "for row",
        answer=f"DuckDB takes at most {worst.over_polars:.2f} times the processor time of Polars "
        f"({worst.method}).",
        targets=[
            Target(f"processor time, DuckDB over Polars, {ROWS:,} rows",
                   f"at most {MOST_TIME:.0f} times", f"{worst.over_polars:.2f} times",
                   worst.over_polars <= MOST_TIME),
            *(_target(sides, MOST_OVER_COPY[sides.method], ROWS) for sides in beside
              if sides.method in MOST_OVER_COPY),
            *(_target(sides, MOST_OF_FEWER, FEWER_ROWS) for sides in small
              if sides.method in MOST_OVER_COPY),
        ],
        tables=[
            Table(f"{rows:,} rows",
                  ("method", "processor, bare copy", "processor, Polars", "over the copy",
                   "processor, DuckDB", "DuckDB over Polars", "peak, Polars", "peak, DuckDB",
                   "rows are equal"), [sides.line for sides in lines])
            for rows, lines in ((ROWS, beside), (FEWER_ROWS, small))
        ],
    )  # fmt: skip


@dataclass(frozen=True)
class _Sides:
    """What one method took, side by side."""

    method: str
    bare: Sequence[Usage]
    polars: Sequence[Usage]
    duckdb: Sequence[Usage]
    equal: bool

    @classmethod
    def of(cls, folder: Path, rows: int, method: str) -> _Sides:
        """Publish by both engines and copy, in turn."""
        source = generated(folder, rows)
        outs = [folder / "polars", folder / "duckdb"]
        taken: tuple[list[Usage], list[Usage], list[Usage]] = ([], [], [])
        for _ in range(ROUNDS):
            for out, usages in zip(outs, taken[1:], strict=True):
                usages.append(published(source, method, out.name, keep=out))
            shown = outs[0] / "data.parquet"
            names = [name for name in pl.read_parquet_schema(shown) if name != "group"]
            noisy = any(name.endswith(".low") for name in names) and method in AS_PUBLISHED
            read = shown if noisy else source
            kept = [name for name in names if noisy or not name.endswith((".low", ".high"))]
            ended = [name[:-4] for name in names if name.endswith(".low")]
            kept = list(dict.fromkeys([*kept, *([] if noisy else ended)]))
            taken[0].append(Usage.of(columns_copy(read, folder / "copy.parquet", kept)))
        frames = [pl.read_parquet(out / "data.parquet") for out in outs]
        equal = frames[0].equals(frames[1])
        for out in outs:
            rmtree(out)
        made = cls(method, *taken, equal)
        print(f"{rows:,}", *made.line, file=sys.stderr, flush=True)
        return made

    @property
    def over_polars(self) -> float:
        """Processor time of DuckDB over that of Polars."""
        return _median(self.duckdb) / _median(self.polars)

    @property
    def over_copy(self) -> float:
        """Processor time of Polars over that of the bare copy."""
        return _median(self.polars) / _median(self.bare)

    @property
    def line(self) -> list[str]:
        """For the table."""
        peaks = (max(usage.memory for usage in side) for side in (self.polars, self.duckdb))
        return [
            self.method,
            f"{_median(self.bare):.2f} s",
            f"{_median(self.polars):.2f} s",
            f"{self.over_copy:.2f}",
            f"{_median(self.duckdb):.2f} s",
            f"{self.over_polars:.2f}",
            *(f"{peak:,.0f} MiB" for peak in peaks),
            "yes" if self.equal else "no",
        ]


def _median(usages: Sequence[Usage]) -> float:
    return median(usage.processor for usage in usages)


def _target(sides: _Sides, most: float, rows: int) -> Target:
    return Target(
        f"processor time, {sides.method} of {rows:,} rows over the bare copy",
        f"at most {most} times",
        f"{sides.over_copy:.2f} times",
        sides.over_copy <= most,
    )


def columns_copy(source: Path, copy: Path, names: Sequence[str]) -> list[str]:
    """The command by which Polars reads some columns of a file and writes them again."""
    return [sys.executable, "-c", COPY, f"{source}", f"{copy}", *names]


def published(
    source: Path, method: str, engine: str, limit: str | None = None, keep: Path | None = None
) -> Usage:
    """Publish a table once; the release goes to ``keep``, or is removed."""
    out = keep or source.parent / "release"
    rmtree(out, ignore_errors=True)
    plan = source.parent / f"{method}.toml"
    plan.write_text(PLANS[method])
    if limit:
        os.environ["VOILE_DUCKDB_MEMORY"] = limit
    try:
        return Usage.of(
            [*voile_publish(source, plan, out), "--engine", engine, "--seed", f"{SEED}"]
        )
    finally:
        os.environ.pop("VOILE_DUCKDB_MEMORY", None)
        if keep is None:
            rmtree(out, ignore_errors=True)


def generated(folder: Path, rows: int) -> Path:
    """A table of so many rows."""
    path = folder / f"people-{rows}.parquet"
    if not path.exists():
        command = [sys.executable, "-c", GENERATE, f"{rows}", f"{SEED}", f"{path}"]
        subprocess.run(command, check=True)
    return path


def methods() -> Sequence[str]:
    """Those that are measured."""
    return METHODS or tuple(PLANS)
