"""Noise in ten million values: the whole process, and the sampler alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from shutil import rmtree
from time import process_time

import numpy as np

import voile
from benchmarks.process import FACETS, Comparison, bare_copy, compare, voile_publish
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import in_turn, seconds_text
from voile.dp.discrete_noise import DiscreteLaplace

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "10_000_000"))
SEED = 2022
ROUNDS = 3
SCALES = (0.5, 30.0, 1000.0, 1e6)
MAIN_SCALE = 1000.0
MOST_PROCESS, MOST_SAMPLER = 3, 10

GENERATE = """
import sys, numpy as np, polars as pl
rows, seed, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(seed)
grams = np.clip(rng.lognormal(6.6, 1.3, rows), 1, 50_000)
weights = pl.DataFrame({"grams": grams.astype(int)})
weights.write_parquet(folder + "/weights.parquet")
def texts(name, count, digits):
    return np.array([f"{name}{number:0{digits}}" for number in range(count)])
weights.with_columns(
    zip=pl.Series(texts("", 2000, 5)[rng.integers(0, 2000, rows)]),
    day=pl.Series(rng.integers(0, 365, rows)),
    service=pl.Series(texts("service ", 3, 1)[rng.integers(0, 3, rows)]),
    category=pl.Series(texts("category ", 40, 2)[rng.integers(0, 40, rows)]),
).write_parquet(folder + "/parcels.parquet")
pl.DataFrame({"grams": grams[: rows // 10]}).write_parquet(folder + "/doubles.parquet")
"""
PLAN = """
[roles]
quasi_identifiers = ["grams"]
keep = [{keep}]

[columns.grams]
bounds = [0, 50000]

[method]
name = "clustered-laplace"
epsilon = 1
"""


@dataclass(frozen=True)
class Case:
    """A table, and how it is published."""

    name: str
    table: str
    pairs: int
    keep: str = ""
    shares: str = ""

    @property
    def plan(self) -> str:
        """The plan as TOML."""
        text = PLAN.format(keep=self.keep) + self.shares
        return text if self.keep else text.replace('[columns.zip]\ntype = "text"\n', "")


CASES = (
    Case("values alone", "weights", 3),
    Case("parcels: four more columns", "parcels", 3, '"zip", "day", "service", "category"'),
    Case("values alone, one cluster", "weights", 1, shares="shares = [1.0]\n"),
    Case("a tenth as many doubles of 15 digits", "doubles", 1),
)
CASES_WITH_TARGETS = 2


def run() -> Measurement:
    """Publish a column with noise beside a bare copy, and draw noise beside numpy."""
    with tempfile.TemporaryDirectory() as name:
        comparisons = list(_comparisons(Path(name)))
    measured = comparisons[:CASES_WITH_TARGETS]
    samplers = [_sampler(scale) for scale in SCALES]
    ours, plain = samplers[SCALES.index(MAIN_SCALE)]
    columns = [f"{facet}, {side}" for facet in FACETS for side in ("bare", "ours", "ratio")]
    return Measurement(
        question="What does noise that is safe cost, in a process and drawn plainly?",
        data=f"{ROWS:,} weights in grams: log-normal, rounded down, within 1 to 50,000, 64-bit "
        "integers in Parquet; alone, and beside zip (2,000 values), day (365), service (3) and "
        "category (40), which are kept. Published: the value and the two ends of its interval",
        seeds=f"table {SEED}; releases and draws unseeded",
        protocol="clustered-laplace, epsilon = 1, public bounds; whole processes, bare and ours in "
        "turn, after an unrecorded pair; bare is Polars reading the file and writing it again; "
        "wall time, user + system time and peak resident set by wait4; medians, and medians of the "
        "paired ratios. Sampler: DiscreteLaplace.draw against numpy.random.Generator.laplace for "
        f"{ROWS:,} values, processor seconds, in turn in one process, medians of {ROUNDS}",
        answer="Publishing with noise takes, against a bare read and write, "
        + "; ".join(
            f"{comparison.name}: {comparison.ratio(FACETS['wall'][0]):.2f} times the wall time, "
            f"{comparison.ratio(FACETS['processor'][0]):.2f} times the processor time"
            for comparison in comparisons
        )
        + f". The exact sampler takes {ours / ROWS * 1e9:.0f} ns a value of scale "
        f"{MAIN_SCALE:,.0f}, a plain draw {plain / ROWS * 1e9:.0f} ns: {ours / plain:.1f} times.",
        targets=[
            *(target for comparison in measured for target in _targets(comparison)),
            Target("exact sampler against a plain draw", f"at most {MOST_SAMPLER} times",
                   f"{ours / plain:.1f} times", ours <= MOST_SAMPLER * plain),
        ],
        tables=[
            Table("Whole processes", ("what", "pairs", *columns),
                  [comparison.line() for comparison in comparisons]),
            Table("Drawing noise", ("scale", "exact, discrete", "numpy", "a value", "ratio"),
                  [[f"{scale:,}", seconds_text(exact), seconds_text(quick),
                    seconds_text(exact / ROWS), f"{exact / quick:.1f}"]
                   for scale, (exact, quick) in zip(SCALES, samplers, strict=True)]),
        ],
    )  # fmt: skip


def _comparisons(folder: Path) -> Iterator[Comparison]:
    subprocess.run([sys.executable, "-c", GENERATE, f"{ROWS}", f"{SEED}", f"{folder}"], check=True)
    plan, copy, out = (folder / name for name in ("plan.toml", "copy.parquet", "release"))

    def clean() -> None:
        copy.unlink()
        rmtree(out)

    for case in CASES:
        plan.write_text(case.plan, encoding="utf-8")
        source = folder / f"{case.table}.parquet"
        commands = bare_copy(source, copy), voile_publish(source, plan, out)
        yield compare(case.name, commands, case.pairs, clean)


def _targets(comparison: Comparison) -> Iterator[Target]:
    for facet in ("wall", "processor"):
        ratio = comparison.ratio(FACETS[facet][0])
        what = f"{facet} time, whole process, {comparison.name}"
        yield Target(what, f"at most {MOST_PROCESS} times", f"{ratio:.2f} times",
                     ratio <= MOST_PROCESS)  # fmt: skip


def _sampler(scale: float) -> tuple[float, float]:
    """Processor seconds of ours and of numpy's for one scale."""
    laws = DiscreteLaplace((Fraction(scale),))
    law, rows = np.zeros(ROWS, dtype=np.int8), np.arange(ROWS, dtype=np.uint64)
    generator = np.random.default_rng(SEED)
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: laws.draw(law, rows, voile.Randomness.secure().key("noise")),
        "numpy": lambda: generator.laplace(0.0, scale, ROWS),
    }
    laws.draw(law[:1000], rows[:1000], voile.Randomness.secure().key("noise"))
    seconds = in_turn(sides, {}, ROUNDS, process_time)
    return seconds["ours"], seconds["numpy"]
