"""Releases of Spark that lose one of two workers, at every stage in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
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


def run() -> Measurement:
    """Generate tables in a temporary folder, and publish them again and again."""
    require_spark()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tables(folder, ROWS)
        with cluster(folder) as made, _side(folder, made.master) as side:
            tried = [_Tried(folder, made, side, method) for method in WANTED]
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
        protocol="a master with two workers of one core, and one process with one session that "
        "publishes all releases in turn; an undisturbed release is compared with that of Polars, "
        "and its questions to Spark are counted; in a trial one worker is killed with all that it "
        "runs 0.15 s after one of these questions, which are spread over the whole run, and the "
        f"next trial has two workers again; {TRIALS} trials a method, fewer where time ended; a "
        "release is the same where all of its rows, types and bits are",
        answer=f"{got} gave the release of Polars.",
        targets=[Target("trials with the same release", f"all, {TRIALS} a method", got,
                        same == trials == TRIALS * len(METHODS))],
        tables=[Table("One of two workers lost",
                      ("method", "questions", "trials", "the same release", "others"), lines)],
    )  # fmt: skip


class _Side:
    """The process that publishes on Spark."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self._folder, self._process = folder, process

    def publish(self, method: str, group: int = 0, question: int = 0) -> tuple[int, str | None]:
        """How many questions there were, and what is not as it is on Polars."""
        out = self._folder / "release"
        places = {"table": self._folder / table_of(method), "plan": _plan(self._folder, method)}
        wanted = {name: f"{place}" for name, place in (places | {"out": out}).items()}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(wanted | {"group": group, "question": question}))
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            return 0, "the process that publishes ended"
        answer = json.loads(line)
        if answer["fault"] is not None:
            return answer["asked"], answer["fault"]
        said = first_difference(_base(self._folder, method), out)
        rmtree(out)
        return answer["asked"], said


@contextmanager
def _side(folder: Path, master: str) -> Iterator[_Side]:
    command = [sys.executable, "-m", "benchmarks.engines_lost_side", master, f"{SEED}", "2"]
    process = subprocess.Popen(
        command,
        env=surroundings(folder, executor="512m", driver="1g"),
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield _Side(folder, process)
    finally:
        process.kill()
        process.communicate()


class _Tried:
    """A method, published undisturbed at first, and then again and again."""

    def __init__(self, folder: Path, made: Cluster, side: _Side, method: str) -> None:
        self._cluster, self._side, self._method = made, side, method
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
        self._questions, said = side.publish(method)
        self._others = [] if said is None else [f"undisturbed: {said}"]
        self._trials = self._same = 0
        spread = np.linspace(1, max(self._questions, 1), TRIALS).astype(int)
        rng = np.random.default_rng([SEED, METHODS.index(method)])
        self._lost_at = rng.permutation(spread).tolist()
        print(f"{method}: {self._questions} questions", *self._others, file=sys.stderr, flush=True)

    def try_again(self, number: int) -> None:
        """Publish, and lose a worker."""
        question = self._lost_at[number]
        _, said = self._side.publish(self._method, self._cluster.newest(), question)
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
