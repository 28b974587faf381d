"""Releases of Spark that lose one of two workers, at every stage in turn."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import rmtree

import numpy as np

from benchmarks.engines_cluster import Cluster, cluster, require_spark, surroundings
from benchmarks.engines_same import first_difference
from benchmarks.engines_tables import METHODS, SEED, make_tables, plan_of, table_of
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "5_000"))
TRIALS = int(os.environ.get("VOILE_BENCHMARK_TRIALS", "20"))
WANTED = tuple(os.environ.get("VOILE_BENCHMARK_METHODS", ",".join(METHODS)).split(","))
MINUTES = float(os.environ.get("VOILE_BENCHMARK_MINUTES", "inf"))
"""So long after the undisturbed releases no further trial is begun."""
_MOST_SECONDS = 600


def run() -> Measurement:
    """Generate tables in a temporary folder, and publish them again and again."""
    require_spark()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tables(folder, ROWS)
        with cluster(folder) as made:
            tried = [_Tried(folder, made, method) for method in WANTED]
            until = time.monotonic() + MINUTES * 60
            for number in range(TRIALS):  # all methods in turn, should time end
                for each in tried:
                    if time.monotonic() < until:
                        each.try_again(number)
            lines = [each.line for each in tried]
    trials, same = (sum(int(line[place]) for line in lines) for place in (2, 3))
    got = f"{same} of {trials} trials"
    return Measurement(
        question="Does a release lose or double rows where Spark loses a worker?",
        data=f"{ROWS:,} rows of all kinds of values (benchmark engines_same)",
        seeds=f"tables {SEED}, releases {SEED}, questions {SEED}",
        protocol="a master with two workers of one core; the release of an undisturbed process is "
        "compared with that of Polars, and its questions to Spark are counted; in a trial one "
        "worker is killed with all that it runs 0.3 s after one of these questions, which are "
        f"spread over the whole run; {TRIALS} trials a method, fewer where time ended; a "
        "release is the same where all of its rows, types and bits are",
        answer=f"{got} gave the release of Polars.",
        targets=[Target("trials with the same release", f"all, {TRIALS} a method", got,
                        same == trials == TRIALS * len(METHODS))],
        tables=[Table("One of two workers lost",
                      ("method", "questions", "trials", "the same release", "others"), lines)],
    )  # fmt: skip


class _Tried:
    """A method, published undisturbed at first, and then again and again."""

    def __init__(self, folder: Path, made: Cluster, method: str) -> None:
        self._folder, self._cluster, self._method = folder, made, method
        base = _base(folder, method)
        plan = _plan(folder, method)
        voile = Path(sys.executable).parent / "voile"
        source = folder / table_of(method)
        command = [f"{voile}", "publish", f"{source}", "--plan", f"{plan}", "--out", f"{base}"]
        subprocess.run(
            [*command, "--seed", f"{SEED}", "--engine", "polars"],
            env=surroundings(folder),
            check=True,
            capture_output=True,
        )
        self._questions, said = _published(folder, made.master, method)
        self._others = [] if said is None else [f"undisturbed: {said}"]
        self._trials = self._same = 0
        spread = np.linspace(1, max(self._questions, 1), TRIALS).astype(int)
        rng = np.random.default_rng([SEED, METHODS.index(method)])
        self._lost_at = rng.permutation(spread).tolist()
        print(f"{method}: {self._questions} questions", *self._others, file=sys.stderr, flush=True)

    def try_again(self, number: int) -> None:
        """Publish, and lose a worker."""
        question = self._lost_at[number]
        lost = (self._cluster.newest(), question)
        _, said = _published(self._folder, self._cluster.master, self._method, lost)
        self._trials += 1
        self._same += said is None
        self._others += [] if said is None else [f"at {question}: {said}"]
        told = f"{self._method}, question {question}: {said or 'the same'}"
        print(told, file=sys.stderr, flush=True)
        self._cluster.start_worker()

    @property
    def line(self) -> list[str]:
        """For the table."""
        numbers = (self._questions, self._trials, self._same)
        return [self._method, *map(str, numbers), "; ".join(self._others)]


def _base(folder: Path, method: str) -> Path:
    return folder / f"polars-{method}"


def _plan(folder: Path, method: str) -> Path:
    plan = folder / f"{method}.toml"
    plan.write_text(plan_of(method))
    return plan


def _published(
    folder: Path, master: str, method: str, lost: tuple[int, int] | None = None
) -> tuple[int, str | None]:
    """How many questions there were, and what is not as it is on Polars."""
    out = folder / "release"
    plan = _plan(folder, method)
    arguments = [master, folder / table_of(method), plan, out, SEED, *(lost or ())]
    try:
        made = subprocess.run(
            [sys.executable, "-m", "benchmarks.engines_lost_side", *map(str, arguments)],
            env=surroundings(folder, executor="512m", driver="1g"),
            cwd=Path(__file__).parents[1],
            check=False,
            capture_output=True,
            timeout=_MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return 0, f"not done in {_MOST_SECONDS} s"
    if made.returncode:
        return 0, made.stderr.decode().strip().splitlines()[-1].rpartition("/")[2][:200]
    said = first_difference(_base(folder, method), out)
    rmtree(out)
    return int(made.stdout.split()[-1]), said
