"""ARX at the same tables and settings: the same optima, and what whole processes take.

``VOILE_BENCHMARK_ARX`` names the class path of ARX and of what it needs; ``java`` and ``javac``
must be found.  ARX reads the table, searches the whole lattice and writes the output; ``voile
publish`` does that, checks what it has written, and states what it promises.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree, which
from statistics import median

import polars as pl

import voile
from benchmarks.adult import COLUMNS, adult, adult_file, hierarchy_file, plan_for, problem_of
from benchmarks.data import NotHereError
from benchmarks.process import Comparison, compare, voile_publish
from benchmarks.record import Measurement, Table, Target
from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity
from voile.publish.generalization.lattice_search import flash

__all__ = ["run"]

CLASSES = "VOILE_BENCHMARK_ARX"
PAIRS = 5
TIMES = 5
"""How many times less processor time ours must take."""
OCCUPATION = "occupation"


@dataclass(frozen=True)
class Task:
    """What is asked of a release of Adult."""

    k: int
    limit: float
    """The share of rows that may be left out."""
    l: int = 0
    kind: str = "distinct"

    @property
    def name(self) -> str:
        """For people."""
        diverse = f", {self.kind} l = {self.l} ({OCCUPATION})" if self.l else ""
        return f"k = {self.k}{diverse}, suppression {self.limit:.0%}"

    @property
    def sensitive(self) -> list[str]:
        """The sensitive column, where one is."""
        return [OCCUPATION] if self.l else []

    @property
    def known(self) -> list[str]:
        """The quasi-identifiers."""
        return [column for column in COLUMNS if column not in self.sensitive]

    def plan_text(self) -> str:
        """The plan of ``voile publish``."""
        columns = "".join(f"[columns.{c}]\nhierarchy = '{hierarchy_file(c)}'\n" for c in self.known)
        diverse = f'l = {{ value = {self.l}, kind = "{self.kind}" }}\n' if self.l else ""
        return (
            f"[roles]\nquasi_identifiers = {self.known}\nsensitive = {self.sensitive}\n{columns}"
            f'[method]\nname = "generalization"\nalgorithm = "flash"\nk = {self.k}\n'
            f"suppression_limit = {self.limit}\n{diverse}"
        )

    def arx_arguments(self, out: Path) -> list[str]:
        """What ``ArxSide`` is told."""
        return [
            f"{adult_file()}", f"{hierarchy_file(COLUMNS[0]).parent}", f"{out}",
            ",".join(self.known), OCCUPATION if self.l else "-", f"{self.k}", f"{self.limit}",
            self.kind, f"{self.l}",
        ]  # fmt: skip

    def optimum(self, frame: pl.DataFrame) -> Optimum:
        """Ours."""
        criteria: list[Criterion] = [KAnonymity(self.k)]
        if self.l:
            of_kind = DistinctDiversity if self.kind == "distinct" else EntropyDiversity
            criteria.append(of_kind(self.l, OCCUPATION))
        table = voile.open_frame(frame, plan_for(self.sensitive))
        solution = flash(problem_of(table, criteria, int(self.limit * table.rows)))
        assert solution is not None, "every task has a solution"
        assert solution.levels is not None, "flash chooses a level for each column"
        levels = [solution.levels[column] for column in self.known]
        return Optimum(tuple(levels), solution.loss, solution.suppressed)


@dataclass(frozen=True)
class Optimum:
    """What one side found."""

    levels: tuple[int, ...]
    loss: float
    suppressed: int


TASKS = (
    Task(5, 0),
    Task(5, 0.02),
    Task(5, 1),
    Task(5, 0, 3),
    Task(5, 0, 3, "entropy"),
    Task(5, 1, 3, "entropy"),
)


def run() -> Measurement:
    """Do every task on both sides, in turn."""
    classes = os.environ.get(CLASSES)
    java_program, compiler = which("java"), which("javac")
    if not classes or not java_program or not compiler:
        msg = f"set {CLASSES} to the class path of ARX and what it needs, and install a JDK"
        raise NotHereError(msg)
    frame = adult()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        side = Path(__file__).with_name("ArxSide.java")
        subprocess.run([compiler, "-cp", classes, "-d", name, f"{side}"], check=True)
        java = [java_program, "-cp", f"{folder}{os.pathsep}{classes}", "ArxSide"]
        found = [(_arx_optimum(java, task, folder), task.optimum(frame)) for task in TASKS]
        pairs = [_compared(java, task, folder) for task in TASKS]
    same = sum(ours.loss < theirs.loss + 1e-9 for theirs, ours in found)
    times = [1 / pair.ratio(lambda usage: usage.processor) for pair in pairs]
    return Measurement(
        question="Does Voile find ARX's optima, and in how much less time?",
        data="Adult, the 30,162 complete training rows as ARX ships them, with its hierarchies",
        seeds="none",
        protocol=f"whole processes in turn, medians of {PAIRS} pairs after an unrecorded one, user "
        "and system time of all threads by wait4, Python's modules as bytecode: ARX by its library "
        "(loss metric, geometric mean; its optimum over the whole lattice), in a fresh Java "
        "process that reads the table and writes the output; ours is voile publish, with the check "
        "of what was written. Groups whose entropy is just that of l equally frequent values are "
        "diverse; ARX rounds, and leaves them out",
        answer=f"{same} of {len(TASKS)} optima lose no more than ARX's; ours takes "
        f"{min(times):.1f} to {max(times):.1f} times less processor time.",
        targets=[
            Target("optima", "no greater loss than ARX's, to nine digits",
                   f"{same} of {len(TASKS)}", same == len(TASKS)),
            Target("processor time of whole processes, each task", f"at least {TIMES} times less",
                   f"{min(times):.1f} to {max(times):.1f}", min(times) >= TIMES),
        ],
        tables=[Table("Whole processes, ARX first",
                      ("setting", "loss, ARX", "loss, ours", "left out", "processor, ARX",
                       "processor, ours", "times", "wall, ARX", "wall, ours"),
                      [_line(*one) for one in zip(TASKS, pairs, found, strict=True)])],
    )  # fmt: skip


def _arx_optimum(java: Sequence[str], task: Task, folder: Path) -> Optimum:
    out = folder / "out.csv"
    done = subprocess.run(
        [*java, *task.arx_arguments(out)], check=True, capture_output=True, text=True
    )
    levels, loss = done.stderr.splitlines()[-2:]
    shown = pl.read_csv(out, separator=";", infer_schema=False).select(task.known)
    suppressed = shown.filter(pl.all_horizontal(pl.all() == "*")).height
    return Optimum(tuple(map(int, levels.split(","))), float(loss), suppressed)


def _compared(java: Sequence[str], task: Task, folder: Path) -> Comparison:
    plan, out, theirs = folder / "plan.toml", folder / "release", folder / "out.csv"
    plan.write_text(task.plan_text(), encoding="utf-8")

    def clean() -> None:
        rmtree(out)
        theirs.unlink()

    commands = [*java, *task.arx_arguments(theirs)], voile_publish(adult_file(), plan, out)
    return compare(task.name, commands, PAIRS, clean)


def _line(task: Task, pair: Comparison, found: tuple[Optimum, Optimum]) -> list[str]:
    sides = (pair.bare, pair.ours)
    processor = [f"{median(usage.processor for usage in side):.2f} s" for side in sides]
    wall = [f"{median(usage.wall for usage in side):.2f} s" for side in sides]
    return [
        task.name,
        *(f"{one.loss:.9f}" for one in found),
        " and ".join(f"{one.suppressed:,}" for one in found),
        *processor,
        f"{1 / pair.ratio(lambda usage: usage.processor):.1f}",
        *wall,
    ]
