"""Other packages for the same tasks on the same table, in one run.

They need an environment of their own: ``VOILE_BENCHMARK_PEERS`` names its folder, and where there
is none yet it is made with ``python -m venv`` and pip.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import polars as pl

import voile
from benchmarks import peer_side
from benchmarks.adult import COLUMNS, adult, adult_file, hierarchy_file, plan_for
from benchmarks.data import NotHereError
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import seconds_text
from voile.models.criteria import Groups, SensitiveCells
from voile.models.t_closeness import EqualCloseness
from voile.table.opening import published_rows

__all__ = ["run"]

FOLDER = "VOILE_BENCHMARK_PEERS"
PACKAGES = ("anjana==1.2.3", "pycanon==1.3.5", "anonypy==0.2.1", "umbra-k==0.1.0")
SECONDS = 600
ROUNDS = 7
K = 5
SENSITIVE = "occupation"
KNOWN = [column for column in COLUMNS if column != SENSITIVE]


@dataclass(frozen=True)
class Task:
    """One task of a peer, ours, and how many times faster ours must be."""

    peer: str
    name: str
    ours: Callable[[pl.DataFrame], dict[str, Any]]
    times: int

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.peer} {self.name.rpartition('_')[2]}"


@dataclass(frozen=True)
class Done:
    """What both sides found for a task, and the processor seconds that it took."""

    task: Task
    ours: dict[str, Any]
    seconds: float
    peer: dict[str, Any] | None
    """None where it failed, or took too long."""

    @property
    def times(self) -> float:
        """How many times faster ours is; 0 where it is not known."""
        return self.peer["seconds"] / self.seconds if self.peer else 0.0

    @property
    def target(self) -> Target:
        """The speed that must be reached."""
        got = f"{self.times:,.0f} times" if self.peer else "the peer failed or took too long"
        must = f"at least {self.task.times} times faster"
        return Target(self.task.title, must, got, self.times >= self.task.times)

    def line(self) -> list[str]:
        """For the table."""
        peer = self.peer or {}
        return [
            self.task.title,
            seconds_text(peer["seconds"]) if peer else f"failed, or over {SECONDS} s",
            seconds_text(self.seconds),
            f"{self.times:,.0f}" if peer else "",
            ", ".join(f"{key} {_short(peer[key])}" for key in peer if key != "seconds"),
            ", ".join(f"{key} {_short(value)}" for key, value in self.ours.items()),
        ]


def run() -> Measurement:
    """Do every task on both sides, in turn."""
    python = _environment()
    frame = adult()
    done = [_done(python, frame, task) for task in TASKS]
    measures = [line for line in done if line.task.peer == "pycanon" and line.peer]
    same = sum(_same(line) for line in measures)
    return Measurement(
        question="How fast are other packages at the same tasks?",
        data="Adult, the 30,162 complete training rows as ARX ships them; anjana: all nine columns "
        f"with hierarchies, no suppression; the others: eight columns known, {SENSITIVE} sensitive",
        seeds="none",
        protocol=f"{', '.join(PACKAGES)}; k = {K}. Processor seconds: of the peer within a process "
        "of its own, the table read, packages imported and the task done once on 2,000 rows; of "
        f"ours, median of {ROUNDS} calls in one warm process, from the data frame to the checked "
        "release, or to the measured number. One after the other. The Mondrian of the peers cuts "
        "texts where they stand in a list, ours along hierarchies, so groups differ",
        answer="; ".join(f"{line.task.title}: {line.target.got}" for line in done)
        + f". Of pycanon's numbers {same} of {len(measures)} are ours.",
        targets=[
            *(line.target for line in done),
            Target("k, l and t as pycanon measures them", "the same (to twelve digits)",
                   f"{same} of {len(measures)}", same == len(measures) == 3),
        ],
        tables=[
            Table("Processor seconds, and what came out",
                  ("task", "peer", "ours", "times faster", "peer found", "ours found"),
                  [line.line() for line in done]),
        ],
    )  # fmt: skip


def _environment() -> Path:
    """The Python of the peers' environment, which is made if it is not there."""
    name = os.environ.get(FOLDER)
    if not name:
        msg = f"set {FOLDER} to a folder, where {', '.join(PACKAGES)} are installed if need be"
        raise NotHereError(msg)
    folder = Path(name).absolute()
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", f"{folder}"], check=True)
        # Without effect, and without a network, where they are installed already.
        install = [f"{python}", "-m", "pip", "install", "--quiet", *PACKAGES]
        subprocess.run(install, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        msg = f"the peers cannot be installed into {FOLDER}: {error}"
        raise NotHereError(msg) from None
    return python


def _done(python: Path, frame: pl.DataFrame, task: Task) -> Done:
    task.ours(frame)
    peer = _peer(python, task.name)
    taken = []
    for _ in range(ROUNDS):
        started = process_time()
        found = task.ours(frame)
        taken.append(process_time() - started)
    return Done(task, found, median(taken), peer)


def _peer(python: Path, task: str) -> dict[str, Any] | None:
    hierarchies = hierarchy_file(COLUMNS[0]).parent
    command = [f"{python}", peer_side.__file__, task, f"{adult_file()}", f"{hierarchies}"]
    try:
        done = subprocess.run(command, check=True, timeout=SECONDS, capture_output=True, text=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _generalize(sensitive: Sequence[str], algorithm: str, frame: pl.DataFrame) -> dict[str, Any]:
    publisher = voile.Generalization(k=K, algorithm=algorithm)  # type: ignore[arg-type]
    table = voile.open_frame(frame, plan_for(sensitive))
    publication = publisher.prepare(table, voile.Randomness.secure())
    return {
        "groups": publication.private.decision["groups"],
        "rows": publication.private.rows_out,
    }


def _k(frame: pl.DataFrame) -> dict[str, Any]:
    return {"k": int(published_rows(frame).group_sizes(KNOWN).min())}


def _l(frame: pl.DataFrame) -> dict[str, Any]:
    cells = published_rows(frame).cells(KNOWN, SENSITIVE)
    return {"l": int(np.bincount(cells.group).min())}


def _t(frame: pl.DataFrame) -> dict[str, Any]:
    table = published_rows(frame)
    cells = table.cells(KNOWN, SENSITIVE)
    sensitive = SensitiveCells(cells.group, cells.value, cells.rows, cells.total)
    groups = Groups(table.group_sizes(KNOWN), {SENSITIVE: sensitive})
    return {"t": float(EqualCloseness(1, SENSITIVE).distances(groups).max())}


def _same(line: Done) -> bool:
    peer = line.peer or {}
    return all(abs(peer[key] - value) < 1e-12 for key, value in line.ours.items())


def _short(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.9f}"


TASKS = (
    Task("anjana", "anjana_k", partial(_generalize, [], "flash"), 30),
    Task("pycanon", "measure_k", _k, 10),
    Task("pycanon", "measure_l", _l, 10),
    Task("pycanon", "measure_t", _t, 10),
    Task("anonypy", "anonypy_mondrian", partial(_generalize, [SENSITIVE], "mondrian"), 100),
    Task("umbra-k", "umbra_mondrian", partial(_generalize, [SENSITIVE], "mondrian"), 100),
)
