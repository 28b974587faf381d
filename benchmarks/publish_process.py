"""``voile publish`` as a whole process, against a bare read and write of the same file.

Of a table of 160 rows, against a process that loads Polars and does nothing.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

from benchmarks.process import FACETS, Comparison, bare_copy, compare, voile_publish
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
PAIRS = 5
PAIRS_FOR_INFORMATION = 2
DISTINCT = 100_000
SEED = 2026
MOST_TIME, MOST_MEMORY = 3, 2
SMALL, SMALL_PAIRS, MOST_START = 160, 15, 2.2

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


def run() -> Measurement:
    """Generate the table in a temporary folder and run the processes in turn."""
    with tempfile.TemporaryDirectory() as name:
        comparisons = list(_comparisons(Path(name)))
        starts = list(_starts(Path(name)))
    main = comparisons[0]
    wall, processor, memory = (main.ratio(what) for what, _ in FACETS.values())
    of_starts = [one.ratio(FACETS["processor"][0]) for one in starts]
    columns = [f"{facet}, {side}" for facet in FACETS for side in ("bare", "ours", "ratio")]
    return Measurement(
        question="What does publishing cost beyond reading and writing the file?",
        data=f"{ROWS:,} synthetic rows: age (50 values), sex (2), zip (2,000), occupation (40), "
        f"salary ({DISTINCT:,} distinct values, all present); k = 5, e = 100; and {SMALL} rows of "
        "the same columns, with 40 zip codes and 12 occupations",
        seeds=f"table {SEED}; releases unseeded",
        protocol="whole processes, bare and ours in turn; bare is Polars reading the file and "
        f"writing it again, beside {SMALL} rows python -c 'import polars'; wall time, user + "
        "system time and peak resident set of each process by wait4; one unrecorded pair first; "
        "medians, and medians of the paired ratios",
        answer=f"{wall:.2f} times the wall time, {processor:.2f} times the processor time and "
        f"{memory:.2f} times the peak memory of a bare read and write of the Parquet file; "
        f"{SMALL} rows {' and '.join(f'{ratio:.2f}' for ratio in of_starts)} times the processor "
        "time of loading Polars.",
        targets=[
            Target("wall time, Parquet", f"at most {MOST_TIME} times", f"{wall:.2f} times",
                   wall <= MOST_TIME),
            Target("processor time, Parquet", f"at most {MOST_TIME} times",
                   f"{processor:.2f} times", processor <= MOST_TIME),
            Target("peak memory, Parquet", f"at most {MOST_MEMORY} times", f"{memory:.2f} times",
                   memory <= MOST_MEMORY),
            *(Target(f"processor time, {SMALL} rows, {one.name}", f"at most {MOST_START} times",
                     f"{ratio:.2f} times", ratio <= MOST_START)
              for one, ratio in zip(starts, of_starts, strict=True)),
        ],
        tables=[Table("Whole processes", ("what", "pairs", *columns),
                      [comparison.line() for comparison in comparisons]),
                Table(f"{SMALL} rows, over loading Polars", ("method", "pairs", *columns),
                      [one.line() for one in starts])],
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


def _starts(folder: Path) -> Iterator[Comparison]:
    """Releases of few rows by (k,e)-anonymity and by generalization, over loading Polars."""
    draws, source, out = random.Random(SEED), folder / "few.csv", folder / "few"
    rows = (
        f"{draws.randrange(18, 68)},{draws.choice('fm')},{draws.randrange(40):05},"
        f"occupation {draws.randrange(12):02},{draws.randrange(12_000, 90_000)}"
        for _ in range(SMALL)
    )
    source.write_text("\n".join(["age,sex,zip,occupation,salary", *rows]) + "\n")
    bare = [sys.executable, "-c", "import polars"]
    plans = {
        "(k,e)-anonymity": PLAN,
        "generalization": PLAN.replace("ke-anonymity", "generalization").replace("e = 100\n", ""),
    }
    for method, stated in plans.items():
        (plan := folder / "few.toml").write_text(stated)
        ours = voile_publish(source, plan, out)
        yield compare(method, (bare, ours), SMALL_PAIRS, lambda: rmtree(out))


def _compare(folder: Path, name: str, kind: str, plan: str, pairs: int) -> Comparison:
    source, copy = folder / f"people.{kind}", folder / f"copy.{kind}"
    out, ledger = folder / "release", folder / "ledger.sqlite"
    series = ["--ledger", f"{ledger}"] if plan == "series.toml" else []
    voile = [*voile_publish(source, folder / plan, out), *series]

    def clean() -> None:
        copy.unlink()
        rmtree(out)
        ledger.unlink(missing_ok=True)

    return compare(name, (bare_copy(source, copy), voile), pairs, clean)
