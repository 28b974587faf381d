"""``voile publish`` on each engine: processor time side by side, and memory as the table grows."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree

import polars as pl

from benchmarks.process import Usage, bare_copy, voile_publish
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
GROWN = tuple(
    int(rows) for rows in os.environ.get("VOILE_BENCHMARK_GROWN", "5_000_000,50_000_000").split(",")
)
METHODS = tuple(os.environ.get("VOILE_BENCHMARK_METHODS", "").split(",") if os.environ.get(
    "VOILE_BENCHMARK_METHODS") else ())  # fmt: skip
SEED = 2026
MOST_TIME, MOST_GROWTH = 2.0, 1.1
LIMIT = "512MiB"
"""What DuckDB may take where memory is measured as tables grow."""

GENERATE = """
import sys, numpy as np, polars as pl, pyarrow as pa, pyarrow.parquet as pq
rows, seed, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng, writer = np.random.default_rng(seed), None
jobs = np.array([f"occupation {number:02d}" for number in range(40)])
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
    """Generate tables in a temporary folder and publish each once by each engine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        beside = list(_side_by_side(folder))
        grown = list(_grown(folder))
    worst = max(float(line[3]) for line in beside)
    growth = max((float(line[-1]) for line in grown), default=0.0)
    sizes = [f"{rows:,} rows" for rows in GROWN]
    return Measurement(
        question="What does an engine beyond memory cost, and what does it hold?",
        data=f"{ROWS:,} synthetic rows: age (50 values), sex (2), zip (2,000), occupation (40), "
        "salary (20,000), score (1,000); memory as the same table grows",
        seeds=f"table {SEED}, releases {SEED}",
        protocol="whole processes, one run each; processor time and peak resident set by wait4; "
        f"both releases of a method are compared row for row; memory as tables grow with {LIMIT} "
        "for DuckDB",
        answer=f"DuckDB takes at most {worst:.2f} times the processor time of Polars, and at most "
        f"{growth:.2f} times the memory on the largest table that it takes on the smallest.",
        targets=[
            Target("processor time, DuckDB over Polars", f"at most {MOST_TIME:.0f} times",
                   f"{worst:.2f} times", worst <= MOST_TIME),
            Target("peak memory as the table grows", f"at most {MOST_GROWTH} times",
                   f"{growth:.2f} times", growth <= MOST_GROWTH),
        ],
        tables=[
            Table("Engines side by side",
                  ("method", "processor, Polars", "processor, DuckDB", "ratio",
                   "peak, Polars", "peak, DuckDB", "rows are equal"), beside),
            Table("Peak memory of DuckDB", ("method", *sizes, "ratio"), grown),
        ],
    )  # fmt: skip


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


def _side_by_side(folder: Path) -> Iterator[list[str]]:
    source = generated(folder, ROWS)
    bare = Usage.of(bare_copy(source, folder / "copy.parquet"))
    yield [
        "bare copy by Polars",
        f"{bare.processor:.1f} s",
        "",
        "0",
        f"{bare.memory:,.0f} MiB",
        "",
        "",
    ]
    for method in methods():
        outs = [folder / "polars", folder / "duckdb"]
        polars, duckdb = (published(source, method, out.name, keep=out) for out in outs)
        shown = [pl.scan_parquet(out / "data.parquet") for out in outs]
        equal = shown[0].collect().equals(shown[1].collect())
        for out in outs:
            rmtree(out)
        yield [
            method,
            f"{polars.processor:.1f} s",
            f"{duckdb.processor:.1f} s",
            f"{duckdb.processor / polars.processor:.2f}",
            f"{polars.memory:,.0f} MiB",
            f"{duckdb.memory:,.0f} MiB",
            "yes" if equal else "no",
        ]


def _grown(folder: Path) -> Iterator[list[str]]:
    for method in methods():
        peaks = [
            published(generated(folder, rows), method, "duckdb", LIMIT).memory for rows in GROWN
        ]
        yield [method, *(f"{peak:,.0f} MiB" for peak in peaks), f"{peaks[-1] / peaks[0]:.2f}"]
