"""Every method as a whole process, against an earlier commit: time and memory, in turn."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from benchmarks import noise, publish_process, ranking_process, shuffle_process
from benchmarks.process import FACETS, Comparison, compare
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
PARENT = os.environ.get("VOILE_BENCHMARK_PARENT", "main")
ONLY = os.environ.get("VOILE_BENCHMARK_ONLY", "")
PAIRS = int(os.environ.get("VOILE_BENCHMARK_PAIRS", "5"))
SEED = 2026
MOST = 1.05
HERE = Path(__file__).resolve().parent.parent

TRIPS = """
import sys, numpy as np, polars as pl
rows, seed, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(seed)
reports = 200
trips = max(1, rows // reports)
def walk(start, scale):
    steps = rng.normal(0, scale, (trips, reports)).cumsum(axis=1)
    return np.round(start + steps, 6).ravel()
pl.DataFrame({
    "trip": np.repeat(np.arange(trips), reports),
    "time": np.tile(np.arange(reports) * 30, trips) + np.repeat(rng.integers(0, 10**6, trips),
                                                                reports),
    "latitude": walk(48.85, 1e-3),
    "longitude": walk(2.35, 1e-3),
    "load": rng.integers(0, 9, trips * reports),
}).write_parquet(folder + "/trips.parquet")
"""
GROUPS = """
[roles]
quasi_identifiers = ["age", "sex", "education", "hours"]
{others}

[columns.age]
intervals = {{ widths = [5, 10, 20, 50] }}
[columns.hours]
intervals = {{ widths = [5, 10, 50, 100] }}
[columns.education]
intervals = {{ widths = [4, 8, 16] }}
[columns.zip]
type = "text"
[columns.sex]
hierarchy = "sex.csv"

[method]
"""
KEPT = 'keep = ["zip", "occupation", "marital", "country"]\nsensitive = ["salary"]'
TRUCKS = """
[roles]
keep = ["load"]
trip = "trip"

[method]
name = "geo-indistinguishability"
mechanism = "{mechanism}"
epsilon = 0.01
"""


@dataclass(frozen=True)
class Case:
    """A table, and how it is published."""

    name: str
    generate: str
    file: str
    plan: str
    arguments: tuple[str, ...] = ()
    """For the generator, between the rows and the seed."""


CASES = (
    Case("(k,e)-anonymity", publish_process.GENERATE, "people.parquet", publish_process.PLAN,
         ("100000",)),
    Case("generalization, k = 5", shuffle_process.GENERATE, "people.parquet",
         GROUPS.format(others=KEPT) + 'name = "generalization"\nk = 5\nalgorithm = "flash"\n'),
    Case("mondrian, k = 5", shuffle_process.GENERATE, "people.parquet",
         GROUPS.format(others=KEPT) + 'name = "generalization"\nk = 5\nalgorithm = "mondrian"\n'),
    Case("private generalization", shuffle_process.GENERATE, "people.parquet",
         GROUPS.format(others="") + 'name = "dp-generalization"\nk = 40\nepsilon = 2\n'),
    Case("clustered noise", noise.GENERATE, "weights.parquet", noise.PLAN.format(keep="")),
    Case("clustered noise, four kept columns", noise.GENERATE, "parcels.parquet",
         noise.PLAN.format(keep='"zip", "day", "service", "category"')),
    Case("M-Shuffle", shuffle_process.GENERATE, "people.parquet", shuffle_process.PLAN),
    Case("ranking", ranking_process.GENERATE, "people.parquet",
         ranking_process.PLAN.format(quasi_identifiers='"age", "sex", "zip"'), ("1000",)),
    Case("planar Laplace", TRIPS, "trips.parquet", TRUCKS.format(mechanism="planar-laplace")),
    Case("correlated Gaussian", TRIPS, "trips.parquet",
         TRUCKS.format(mechanism="correlated-gaussian")),
)  # fmt: skip


def run() -> Measurement:
    """Generate the tables in a temporary folder and run both checkouts in turn."""
    with tempfile.TemporaryDirectory() as name, _parent(Path(name) / "parent") as parent:
        comparisons = list(_comparisons(Path(name), parent))
    columns = [f"{facet}, {side}" for facet in FACETS for side in ("before", "now", "ratio")]
    targets = [
        Target(f"{what}, {comparison.name}", f"at most {MOST} times", f"{ratio:.2f} times",
               ratio <= MOST)
        for comparison in comparisons
        for what in ("processor", "peak memory")
        for ratio in [comparison.ratio(FACETS[what][0])]
    ]  # fmt: skip
    worst = max(comparisons, key=lambda it: it.ratio(FACETS["processor"][0]))
    return Measurement(
        question="What does publishing cost, against an earlier commit?",
        data=f"{ROWS:,} synthetic rows a method, as in the benchmarks of single methods; trips of "
        "200 reports",
        seeds=f"tables {SEED}; releases unseeded",
        protocol=f"whole processes of this checkout and of {PARENT} in turn; wall time, user + "
        "system time and peak resident set of each by wait4; one unrecorded pair first; medians, "
        "and medians of the paired ratios",
        answer=f"At most {worst.ratio(FACETS['processor'][0]):.2f} times the processor time "
        f"({worst.name}).",
        targets=targets,
        tables=[Table("Whole processes", ("method", "pairs", *columns),
                      [comparison.line() for comparison in comparisons])],
    )  # fmt: skip


@contextmanager
def _parent(place: Path) -> Iterator[Path]:
    """A checkout of the earlier commit."""
    git = ["git", "-C", str(HERE), "worktree"]
    subprocess.run([*git, "add", "--detach", str(place), PARENT], check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True, capture_output=True)


def _comparisons(folder: Path, parent: Path) -> Iterator[Comparison]:
    for case in CASES:
        if ONLY and ONLY not in case.name:
            continue
        place = folder / "case"
        place.mkdir()
        (place / "plan.toml").write_text(case.plan)
        (place / "sex.csv").write_text("f,*\nm,*\n")
        generate = [sys.executable, "-c", case.generate, f"{ROWS}", *case.arguments, f"{SEED}"]
        subprocess.run([*generate, f"{place}"], check=True)
        source = place / case.file
        before = _publish(parent, source, place / "before")
        now = _publish(HERE, source, place / "now")

        def clean(place: Path = place) -> None:
            rmtree(place / "before")
            rmtree(place / "now")

        comparison = compare(case.name, (before, now), PAIRS, clean)
        print(comparison.line(), file=sys.stderr, flush=True)
        yield comparison
        rmtree(place)


def _publish(checkout: Path, source: Path, out: Path) -> list[str]:
    """The command by which a checkout publishes a file by the plan beside it."""
    voile = [sys.executable, "-c", "from voile_base.main import main; main()"]
    plan = source.with_name("plan.toml")
    arguments = ["publish", f"{source}", "--plan", f"{plan}", "--out", f"{out}", "--json"]
    sources = [*checkout.glob("packages/*/src"), checkout / "src"]
    path = os.pathsep.join(map(str, sources))
    return ["/usr/bin/env", f"PYTHONPATH={path}", *voile, *arguments]
