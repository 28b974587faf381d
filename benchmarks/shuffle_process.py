"""``voile publish`` of M-Shuffle as a whole process, against a bare read and write of the file."""

from __future__ import annotations

import os
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
SEED = 2017
MOST = 3

GENERATE = """
import sys, numpy as np, polars as pl
rows, seed, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(seed)
def texts(name, count):
    return np.array([f"{name} {number:03d}" for number in range(count)])[
        rng.integers(0, count, rows)]
people = pl.DataFrame({
    "age": rng.integers(18, 68, rows),
    "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
    "zip": np.char.zfill(np.arange(2000).astype(str), 5)[rng.integers(0, 2000, rows)],
    "occupation": texts("occupation", 40),
    "education": rng.integers(1, 17, rows),
    "marital": texts("status", 6),
    "country": texts("country", 120),
    "hours": rng.integers(1, 100, rows),
    "rent": rng.integers(20_000, 220_000, rows) / 100,
    "salary": 12_000 + (rng.beta(2, 6, rows) * 100_000).astype(int),
})
people.write_parquet(folder + "/people.parquet")
people.write_csv(folder + "/people.csv")
fine = people.with_columns(rent=rng.random(rows), education=rng.random(rows))
fine.write_parquet(folder + "/fine.parquet")
"""
PLAN = """
[roles]
quasi_identifiers = ["age", "sex", "zip", "occupation", "education", "marital", "country",
                     "hours", "rent"]
sensitive = ["salary"]

[columns.zip]
type = "text"

[method]
name = "m-shuffle"
clusters = 8
columns = ["zip", "occupation", "country", "hours"]
"""
TABLES = (
    ("Parquet", "people.parquet", PAIRS),
    ("Parquet, two kept columns of doubles, all different", "fine.parquet", PAIRS_FOR_INFORMATION),
    ("CSV", "people.csv", PAIRS_FOR_INFORMATION),
)


def run() -> Measurement:
    """Generate the tables in a temporary folder and run the processes in turn."""
    with tempfile.TemporaryDirectory() as name:
        comparisons = list(_comparisons(Path(name)))
    main = comparisons[0]
    wall, processor, memory = (main.ratio(what) for what, _ in FACETS.values())
    columns = [f"{facet}, {side}" for facet in FACETS for side in ("bare", "ours", "ratio")]
    return Measurement(
        question="What does shuffling a table cost beyond reading and writing the file?",
        data=f"{ROWS:,} synthetic rows of ten columns: four texts (6 to 2,000 values) and sex, "
        "four whole numbers (16 to some 80,000 values), rent (200,000 values); clusters of salary, "
        "K = 8; zip, occupation, country and hours are shuffled",
        seeds=f"table {SEED}; releases unseeded",
        protocol="whole processes, bare and ours in turn; bare is Polars reading the file and "
        "writing it again; wall time, user + system time and peak resident set of each process by "
        "wait4; one unrecorded pair first; medians, and medians of the paired ratios",
        answer=f"{wall:.2f} times the wall time, {processor:.2f} times the processor time and "
        f"{memory:.2f} times the peak memory of a bare read and write of the Parquet file.",
        targets=[
            Target("wall time, Parquet", f"at most {MOST} times", f"{wall:.2f} times",
                   wall <= MOST),
            Target("processor time, Parquet", f"at most {MOST} times", f"{processor:.2f} times",
                   processor <= MOST),
        ],
        tables=[Table("Whole processes", ("what", "pairs", *columns),
                      [comparison.line() for comparison in comparisons])],
    )  # fmt: skip


def _comparisons(folder: Path) -> Iterator[Comparison]:
    generate = [sys.executable, "-c", GENERATE, f"{ROWS}", f"{SEED}", f"{folder}"]
    subprocess.run(generate, check=True)
    plan, out = folder / "plan.toml", folder / "release"
    plan.write_text(PLAN)
    for name, file, pairs in TABLES:
        source = folder / file
        copy = folder / f"copy{source.suffix}"

        def clean(copy: Path = copy) -> None:
            copy.unlink()
            rmtree(out)

        commands = bare_copy(source, copy), voile_publish(source, plan, out)
        yield compare(name, commands, pairs, clean)
