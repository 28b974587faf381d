"""``voile audit`` as a whole process: what it takes of the processors and of memory.

People are drawn from UCI Adult with replacement, and made others: one value in ten of each column
is drawn anew, ages and hours are moved.  The file that is judged shows ages in decades, hours with
noise, rare countries as ``*``, and all else as it is.  Many columns are those of the American
Community Survey of Massachusetts, 2018 and 2019, made others alike; weights have the noise there,
and rare areas are ``*``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.data import shared_file
from benchmarks.process_tree import Taken
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

SEED = 2026
SMALL = 27_000
LARGE = int(os.environ.get("VOILE_BENCHMARK_ROWS", "1_000_000"))
SECONDS, WIDE_SECONDS, TIMES = 60, 90, 4
RARE = 0.003
_MOVED = {"age": 3, "hours-per-week": 4}
_COLUMNS = (
    "age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
    "hours-per-week", "native-country", "income",
)  # fmt: skip
_PAUSE = 0.05


@dataclass(frozen=True)
class Used:
    """What an audit took, with all processes that it started."""

    rows: int
    columns: int
    files: float
    """MiB of the released file, the original and the control, as CSV."""
    memory: float
    """Largest resident sizes in MiB, added over processes."""
    processor: float
    """Seconds."""
    processes: int

    @property
    def times(self) -> float:
        """How many times the files the memory is."""
        return self.memory / self.files

    def line(self) -> list[str]:
        """For the table."""
        return [
            f"{self.rows:,}",
            f"{self.columns}",
            f"{self.files:,.1f} MiB",
            f"{self.memory:,.0f} MiB",
            f"{self.times:.2f}",
            f"{self.processor:.1f} s",
            f"{self.processes}",
        ]


def run() -> Measurement:
    """Audit a table of each size, with a control of as many people."""
    small, wide, large = (
        _audited(_adults(SMALL)),
        _audited(_survey(SMALL)),
        _audited(_adults(LARGE)),
    )
    return Measurement(
        question="What does an audit take?",
        data=f"{SMALL:,} and {LARGE:,} people made of UCI Adult, {len(_COLUMNS)} columns, and as "
        "many others as control; the released file shows ages in decades, hours with noise; and "
        f"{SMALL:,} people of {wide.columns} columns, made of the American Community Survey",
        seeds=f"{SEED} for the files; 1 for the audits",
        protocol="voile audit as a process, default configuration; every 0.05 s the peak resident "
        "sets of all its processes are added, and their user and system time; files are released, "
        "original and control, as CSV",
        answer=f"{small.processor:.0f} s of processor for {SMALL:,} rows of {small.columns} "
        f"columns, {wide.processor:.0f} s of {wide.columns}; of {LARGE:,} rows {large.times:.1f} "
        "times the files as memory.",
        targets=[
            Target(f"processor time, {SMALL:,} rows", f"at most {SECONDS} s",
                   f"{small.processor:.1f} s", small.processor <= SECONDS),
            Target(f"processor time, {SMALL:,} rows of {wide.columns} columns",
                   f"at most {WIDE_SECONDS} s", f"{wide.processor:.1f} s",
                   wide.processor <= WIDE_SECONDS),
            Target(f"peak memory, {LARGE:,} rows", f"at most {TIMES} times the files",
                   f"{large.times:.2f} times", large.times <= TIMES),
        ],
        tables=[Table("Audits", ("rows", "columns", "files", "peak memory", "times the files",
                                 "processor", "processes"),
                      [small.line(), wide.line(), large.line()])],
    )  # fmt: skip


def _audited(sides: Sequence[pl.DataFrame]) -> Used:
    """Audit a released file with its original and a control."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [folder / f"{side}.csv" for side in ("released", "original", "control")]
        for frame, file in zip(sides, made, strict=True):
            frame.write_csv(file)
        released, original, control = (f"{file}" for file in made)
        size = sum(file.stat().st_size for file in made)
        voile = [sys.executable, "-m", "voile", "audit", released, "--original", original]
        options = ["--control", control, "--out", f"{folder / 'out'}", "--seed", "1", "--json"]
        running = subprocess.Popen([*voile, *options], stdout=subprocess.DEVNULL)
        most = Taken(0.0, 0, 0)
        while running.poll() is None:
            try:
                taken = Taken.by(running.pid)
            except (OSError, IndexError):  # it has just ended
                break
            most = Taken(
                max(most.processor, taken.processor),
                max(most.memory, taken.memory),
                max(most.processes, taken.processes),
            )
            time.sleep(_PAUSE)
        if running.wait():
            msg = f"the audit failed with status {running.returncode}"
            raise RuntimeError(msg)
    rows, columns = sides[1].shape
    return Used(rows, columns, size / 2**20, most.memory / 2**20, most.processor, most.processes)


def _adults(rows: int) -> list[pl.DataFrame]:
    """Released file, original and control."""
    adult = pl.read_csv(shared_file("census/adult.csv"), infer_schema_length=None)
    draws = np.random.default_rng(SEED)
    original, control = (_people(adult.select(_COLUMNS), rows, draws) for _ in range(2))
    return [
        _released(original, draws, "age", "hours-per-week", "native-country"),
        original,
        control,
    ]


def _survey(rows: int) -> list[pl.DataFrame]:
    """The same of more columns."""
    years = [
        pl.read_csv(shared_file(f"census/nist-acs-ma{year}.csv"), infer_schema_length=None)
        for year in (2019, 2018)
    ]
    every = pl.concat([year.select(years[0].columns) for year in years])
    draws = np.random.default_rng(SEED)
    original, control = (_people(every, rows, draws) for _ in range(2))
    return [_released(original, draws, "AGEP", "PWGTP", "PUMA"), original, control]


def _people(table: pl.DataFrame, rows: int, draws: np.random.Generator) -> pl.DataFrame:
    chosen, found = draws.integers(0, table.height, rows), {}
    for each in table:
        values = each.to_numpy()
        column = values[chosen]
        anew = draws.random(rows) < 0.1
        column[anew] = draws.choice(values, int(anew.sum()))
        if (by := _MOVED.get(each.name)) is not None:
            column = np.clip(column + draws.integers(-by, by + 1, rows), 0, 99)
        found[each.name] = column
    return pl.DataFrame(found)


def _released(
    original: pl.DataFrame, draws: np.random.Generator, age: str, noisy: str, rare: str
) -> pl.DataFrame:
    low = pl.col(age) // 10 * 10
    noise = pl.Series(draws.laplace(0, 3, original.height).round().astype(np.int64))
    often = pl.len().over(rare) >= RARE * original.height
    return original.with_columns(
        pl.format("[{}, {})", low, low + 10).alias(age),
        original[noisy] + noise,
        pl.when(often).then(pl.col(rare)).otherwise(pl.lit("*")).name.keep(),
    ).sample(fraction=1, shuffle=True, seed=SEED)
