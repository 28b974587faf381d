"""``voile publish`` of a ranking as a whole process, against a bare scan of the ranking columns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from statistics import median

from benchmarks.process import FACETS, Comparison, compare, voile_publish
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
FEW = 10_000
PAIRS = 5
PAIRS_FOR_INFORMATION = 2
SEED = 2011
MOST = 2

GENERATE = """
import sys, numpy as np, polars as pl
rows, few, seed, folder = *map(int, sys.argv[1:4]), sys.argv[4]
rng = np.random.default_rng(seed)
people = pl.DataFrame({
    **{f"a{number}": rng.random(rows) for number in range(5)},
    "age": rng.integers(18, 68, rows),
    "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
    "zip": np.char.zfill(np.arange(2000).astype(str), 5)[rng.integers(0, 2000, rows)],
})
people.write_parquet(folder + "/people.parquet")
people.write_ipc(folder + "/people.arrow")
people.write_csv(folder + "/people.csv")
people.head(few).write_parquet(folder + "/few.parquet")
people.sort(pl.sum_horizontal(pl.selectors.float())).write_parquet(folder + "/sorted.parquet")
"""
BARE = """
import sys, polars
kind, source, *columns = sys.argv[1:]
getattr(polars, "scan_" + kind)(source).select(columns).collect()
"""
COLUMNS = [f"a{number}" for number in range(5)]
PLAN = """
[roles]
ranking = ["a0", "a1", "a2", "a3", "a4"]
quasi_identifiers = [{quasi_identifiers}]

[method]
name = "ranking"
k = 10
top = 100
"""
PLANS = {"alone": "", "people": '"age", "sex", "zip"'}
TABLES = (
    ("Parquet, ranking columns alone", "people.parquet", "parquet", "alone", PAIRS),
    ("Parquet, and three quasi-identifiers", "people.parquet", "parquet", "people", PAIRS),
    (f"its first {FEW:,} rows", "few.parquet", "parquet", "people", PAIRS),
    ("Parquet, sorted by score", "sorted.parquet", "parquet", "people", PAIRS_FOR_INFORMATION),
    ("Arrow IPC", "people.arrow", "ipc", "people", PAIRS_FOR_INFORMATION),
    ("CSV", "people.csv", "csv", "people", PAIRS_FOR_INFORMATION),
)


def run() -> Measurement:
    """Generate the tables in a temporary folder and run the processes in turn."""
    with tempfile.TemporaryDirectory() as name:
        comparisons = list(_comparisons(Path(name)))
    main, people, few, *_ = comparisons
    wall, processor, memory = (main.ratio(what) for what, _ in FACETS.values())
    columns = [f"{facet}, {side}" for facet in FACETS for side in ("bare", "ours", "ratio")]
    return Measurement(
        question="What does publishing a ranking cost beyond reading its columns?",
        data=f"{ROWS:,} synthetic rows: five ranking columns of uniform doubles, all different; "
        "age (50 values), sex (2), zip (2,000); k = 10, top = 100, precision 0.7",
        seeds=f"table {SEED}; releases unseeded",
        protocol="whole processes, bare and ours in turn; bare is Polars collecting the ranking "
        "columns alone; wall time, user + system time and peak resident set of each process by "
        "wait4; one unrecorded pair first; medians, and medians of the paired ratios",
        answer=f"{wall:.2f} times the wall time, {processor:.2f} times the processor time and "
        f"{memory:.2f} times the peak memory of a bare scan.  Beyond what both take for {FEW:,} "
        f"rows, which is mostly starting: {_beyond(people, few):.2f} times the processor time, "
        "quasi-identifiers included.",
        targets=[
            Target("wall time, Parquet", f"at most {MOST} times", f"{wall:.2f} times",
                   wall <= MOST),
            Target("processor time, Parquet", f"at most {MOST} times",
                   f"{processor:.2f} times", processor <= MOST),
        ],
        tables=[Table("Whole processes", ("what", "pairs", *columns),
                      [comparison.line() for comparison in comparisons])],
    )  # fmt: skip


def _beyond(many: Comparison, few: Comparison) -> float:
    """Ratio of the processor time that many rows take beyond few of them."""
    ours, bare = (
        median(usage.processor for usage in large) - median(usage.processor for usage in small)
        for large, small in ((many.ours, few.ours), (many.bare, few.bare))
    )
    return ours / bare


def _comparisons(folder: Path) -> Iterator[Comparison]:
    generate = [sys.executable, "-c", GENERATE, f"{ROWS}", f"{FEW}", f"{SEED}", f"{folder}"]
    subprocess.run(generate, check=True)
    for name, columns in PLANS.items():
        (folder / f"{name}.toml").write_text(PLAN.format(quasi_identifiers=columns))
    out = folder / "release"
    for name, file, kind, plan, pairs in TABLES:
        source = folder / file
        bare = [sys.executable, "-c", BARE, kind, f"{source}", *COLUMNS]
        ours = voile_publish(source, folder / f"{plan}.toml", out)
        yield compare(name, (bare, ours), pairs, lambda: rmtree(out))
