"""``voile study`` and ``voile attack`` as whole processes, against publishing the same table."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.process import Usage, voile_publish
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "1_000_000"))
SEED = 2026
STUDY, ATTACK = 5, 3
"""Times publishing that each may take of the processor."""
PLAN = """
[roles]
quasi_identifiers = ["age", "sex", "region", "education", "marital", "occupation", "citizenship"]
sensitive = ["income", "diagnosis", "benefit"]
keep = ["household", "hours"]

[method]
name = "generalization"
k = 10
"""


def run() -> Measurement:
    """Publish a table, attack the release, and study it, one process after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, plan, release = folder / "people.parquet", folder / "plan.toml", folder / "release"
        _people(ROWS).write_parquet(source)
        plan.write_text(PLAN)
        voile = f"{Path(sys.executable).parent / 'voile'}"
        known = [f"{source}", "--plan", f"{plan}", "--json"]
        used = {
            "publish": Usage.of(voile_publish(source, plan, release)),
            "attack": Usage.of([voile, "attack", f"{release}", "--against", *known]),
            "study": Usage.of([voile, "study", *known, "--out", f"{folder / 'study'}"]),
        }
    base = used["publish"].processor
    study, attack = (used[name].processor / base for name in ("study", "attack"))
    return Measurement(
        question="What does evidence cost beside publishing?",
        data=f"{ROWS:,} synthetic people, 12 columns: seven quasi-identifiers, three sensitive "
        "columns of which income has thousands of values; generalization, k = 10",
        seeds=f"table {SEED}; releases and draws unseeded",
        protocol="whole processes, once each, one after the other; user + system time and peak "
        "resident set by wait4; other work may have run beside",
        answer=f"A study takes {study:.1f} times and an attack {attack:.1f} times the processor of "
        "publishing.",
        targets=[
            Target("study", f"at most {STUDY} times publishing", f"{study:.1f} times",
                   study <= STUDY),
            Target("attack", f"at most {ATTACK} times publishing", f"{attack:.1f} times",
                   attack <= ATTACK),
        ],
        tables=[Table("Processes", ("command", "processor", "peak memory", "times publishing"), [
            [name, f"{one.processor:.1f} s", f"{one.memory:,.0f} MiB",
             f"{one.processor / base:.1f}"]
            for name, one in used.items()
        ])],
    )  # fmt: skip


def _people(rows: int) -> pl.DataFrame:
    """Ages, regions and education as people have them, about; income depends on age and school."""
    draws = np.random.default_rng(SEED)
    age = np.clip(draws.normal(45, 18, rows), 18, 95).astype(int)
    crowded = 1 / np.arange(1, 51)
    region = draws.choice(50, rows, p=crowded / crowded.sum())
    school = draws.integers(0, 12, rows)
    pay = np.exp(draws.normal(10 + school * 0.05 + (age - 18) * 0.005, 0.5, rows))
    illness = np.minimum(draws.geometric(0.12, rows) - 1, 29)

    def texts(what: str, count: int, of: np.ndarray | None = None) -> np.ndarray:
        names = np.array([f"{what} {number:02d}" for number in range(count)])
        found: np.ndarray = names[draws.integers(0, count, rows) if of is None else of]
        return found

    return pl.DataFrame(
        {
            "age": age,
            "sex": np.array(["f", "m"])[draws.integers(0, 2, rows)],
            "region": texts("region", 50, region),
            "education": texts("level", 12, school),
            "marital": texts("status", 5),
            "occupation": texts("occupation", 14),
            "citizenship": texts("citizenship", 3, draws.choice(3, rows, p=[0.85, 0.1, 0.05])),
            "household": draws.integers(1, 8, rows),
            "hours": np.clip(draws.normal(38, 10, rows), 0, 80).astype(int),
            "income": np.round(pay / 10).astype(int) * 10,
            "diagnosis": texts("diagnosis", 30, illness),
            "benefit": texts("benefit", 4, draws.choice(4, rows, p=[0.7, 0.15, 0.1, 0.05])),
        }
    )
