"""Synthesis beside its peers: score, a learner's accuracy, seconds and memory, at equal rho.

Every file is made by a process of its own from the same table over the same domains.  Peers need a
folder of virtual environments (``VOILE_BENCHMARK_LEAGUE``, as the league does); a peer that cannot
be had, or is not done in time, is left out, and said.  What a peer made, and what it took, is kept
in that folder under ``made``, so that a run that was broken off goes on, and one after a change of
ours asks no peer again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score

from benchmarks import league_side
from benchmarks.data import shared_file
from benchmarks.dp_synthesis import MAKE, census, plan_of, score
from benchmarks.league_files import ENVIRONMENTS, FAILED, peers_folder, python_of, reason
from benchmarks.many_columns import HOSPITAL
from benchmarks.process import Usage
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

RHO = {"rho": "1/64"}
OURS = "dp-synthesis, rho 1/64"
PEERS: Mapping[str, str] = {
    "dpmm AIM, delta 1e-6, epsilon 0.7887": "dpmm",
    "OpenDP MST, rho 0.015625": "opendp",
    "SmartNoise MST, delta 1e-6, epsilon 0.7887": "smartnoise",
    "SmartNoise AIM, delta 1e-6, epsilon 0.7887": "smartnoise",
}
"""By their environments: at delta 1e-6 rho 1/64 has that epsilon, rounded to four digits."""
KEPT_ALONE = "VOILE_BENCHMARK_KEPT"
"""Set: peers whose files are not kept are left out, and not asked."""
SECONDS = 300
"""Of processor, for each file of a peer."""
NEAR = 0.01
_ONE_THREAD = ("OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "POLARS_MAX_THREADS=1")
_FAILED = (*FAILED, RuntimeError)


@dataclass(frozen=True)
class Task:
    """A table, people who are not in it, and what is to be learned."""

    name: str
    table: pl.DataFrame
    others: pl.DataFrame
    target: str
    positive: Callable[[pl.Expr], pl.Expr]


@dataclass(frozen=True)
class Made:
    """What a maker made of a task, and what it took."""

    score: float
    accuracy: float
    auc: float
    usage: Usage | None


def run() -> Measurement:
    """Give every task to every maker."""
    found: dict[str, dict[str, Made]] = {}
    left_out: list[str] = []
    tasks = [_people(), _adult(), _stays()]
    for task in tasks:
        with TemporaryDirectory() as folder:
            found[task.name] = _of_task(task, Path(folder), left_out)
    return Measurement(
        question="Do peers make better synthetic rows at the same price?",
        data="; ".join(
            f"{t.name}: {t.table.height:,} rows, {t.table.width} columns" for t in tasks
        ),
        seeds="1; peers draw by themselves",
        protocol="rho 1/64, or epsilon 0.7887 at delta 1e-6, which it has. The score is 1000 (1 - "
        "mean total variation) over all triples of columns; the learner (gradient boosting, one "
        "number for each value) is trained on the made rows and tested on people who are not in "
        "the table: Massachusetts 2018, and Adult's test part. Ages of the census in fives; Adult: "
        "ages and hours in tens, gains and losses in four ranges, without fnlwgt, which is no "
        "fact about a person, and education-num, which repeats education. Hospital: stays of the "
        "patients with an even number, sixteen columns; tested on the other patients, whether they "
        "return. Processor seconds and peak memory of the whole process, "
        f"on one thread; a peer has {SECONDS} seconds for each file, once: files of peers are kept "
        "between runs. "
        f"Left out: {'; '.join(left_out) or 'none'}",
        answer="; ".join(
            f"{name}: " + ", ".join(f"{who} {made.score:.1f}" for who, made in makers.items())
            for name, makers in found.items()
        ),
        targets=[target for name, makers in found.items() for target in _targets(name, makers)],
        tables=[
            Table(
                name,
                ("made by", "score", "accuracy", "AUC", "processor s", "MiB"),
                [_line(who, made) for who, made in makers.items()],
            )
            for name, makers in found.items()
        ],
    )


def _targets(name: str, makers: Mapping[str, Made]) -> Sequence[Target]:
    peers = {who: makers[who] for who in PEERS if who in makers}
    if not peers:
        return []
    ours = makers[OURS]
    best = max(made.score for made in peers.values())
    learned = max(made.accuracy for made in makers.values() if made.usage is not None)
    return [
        Target(f"{name}: no peer above ours", f"below {ours.score:.1f}", f"{best:.1f}",
               best < ours.score),
        Target(f"{name}: accuracy", f"at least {learned - NEAR:.3f}", f"{ours.accuracy:.3f}",
               ours.accuracy >= learned - NEAR),
    ]  # fmt: skip


def _line(who: str, made: Made) -> list[str]:
    took = made.usage
    return [
        who, f"{made.score:.1f}", f"{made.accuracy:.3f}", f"{made.auc:.3f}",
        "" if took is None else f"{took.processor:.1f}",
        "" if took is None else f"{took.memory:.0f}",
    ]  # fmt: skip


def _of_task(task: Task, folder: Path, left_out: list[str]) -> dict[str, Made]:
    source = folder / "rows.csv"
    task.table.write_csv(source)
    draws = np.random.default_rng(1)
    alone = task.table.select(
        pl.Series(name, draws.choice(task.table[name].to_numpy(), task.table.height))
        for name in task.table.columns
    )
    found = {
        "the table itself": _judged(task, task.table, None),
        "half of its rows, untouched": _judged(task, task.table.sample(fraction=0.5, seed=1), None),
        OURS: _ours(task, source, folder),
    }
    for name, environment in PEERS.items():
        try:
            made, usage = _by_peer(name, environment, source)
            shown = pl.read_csv(made, infer_schema=False).select(task.table.columns)
        except _FAILED as error:
            why = f"{error}".splitlines()[0] if isinstance(error, RuntimeError) else reason(error)
            left_out.append(f"{name} on {task.name} ({why})")
        else:
            found[name] = _judged(task, shown, usage)
    return {**found, "each column by itself, exactly": _judged(task, alone, None)}


def _by_peer(name: str, environment: str, source: Path) -> tuple[Path, Usage]:
    """The file of a peer, and what it took; raises ``RuntimeError`` where there is none."""
    kept = peers_folder() / "made"
    kept.mkdir(exist_ok=True)
    python = python_of(environment)
    what = [name, *ENVIRONMENTS[environment], f"{SECONDS}"]
    of = hashlib.sha256("\n".join(what).encode() + source.read_bytes()).hexdigest()[:16]
    made, told = kept / f"{of}.csv", kept / f"{of}.json"
    if not told.exists() and KEPT_ALONE in os.environ:
        msg = "not asked in the time there was"
        raise RuntimeError(msg)
    if not told.exists():
        command = [f"{python}", league_side.__file__, name, f"{source}", f"{made}", "1"]
        limited = ["/usr/bin/prlimit", f"--cpu={SECONDS}", "/usr/bin/env", "-u", "PYTHONPATH"]
        try:
            took = asdict(Usage.of([*limited, *_ONE_THREAD, *command]))
        except _FAILED:
            took = {}
        told.write_text(json.dumps(took))
    took = json.loads(told.read_text())
    if not took:
        msg = f"it failed, or was not done in {SECONDS} seconds of processor"
        raise RuntimeError(msg)
    return made, Usage(**took)


def _ours(task: Task, source: Path, folder: Path) -> Made:
    plan, out = folder / "plan.toml", folder / "ours"
    plan.write_text(plan_of(task.table, RHO))
    command = [sys.executable, "-c", MAKE, f"{plan}", f"{source}", f"{out}", "1"]
    usage = Usage.of(["/usr/bin/env", *_ONE_THREAD, *command])
    return _judged(task, pl.read_csv(out / "data.csv", infer_schema=False), usage)


def _judged(task: Task, made: pl.DataFrame, usage: Usage | None) -> Made:
    """The score of a file, and how well what is learned from it holds of others."""
    names = [name for name in task.table.columns if name != task.target]
    values = {name: pl.concat([task.table[name], task.others[name]]).unique() for name in names}

    def numbers(frame: pl.DataFrame) -> np.ndarray:
        codes = [
            frame[name].replace_strict(
                values[name].sort(), range(len(values[name])), default=-1, return_dtype=pl.Int64
            )
            for name in names
        ]
        return np.stack([code.to_numpy() for code in codes], axis=1)

    def wanted(frame: pl.DataFrame) -> np.ndarray:
        return frame.select(task.positive(pl.col(task.target))).to_series().to_numpy()

    learner = HistGradientBoostingClassifier(max_iter=100, random_state=1)
    learner.fit(numbers(made), wanted(made))
    guessed, true = learner.predict_proba(numbers(task.others))[:, 1], wanted(task.others)
    return Made(
        score(task.table, made),
        float(accuracy_score(true, guessed > 0.5)),
        float(roc_auc_score(true, guessed)),
        usage,
    )


def _people() -> Task:
    return Task(
        "Massachusetts 2019", census("ma2019"), census("ma2018"), "PINCP_DECILE",
        lambda column: column.is_in([str(decile) for decile in range(5, 10)]),
    )  # fmt: skip


def _adult() -> Task:
    table = pl.read_csv(shared_file("census/adult.csv"), infer_schema_length=None)
    ranges = {"capital-gain": [1, 5_000, 10_000], "capital-loss": [1, 1_500, 2_000]}
    table = table.with_columns(
        pl.col("age") // 10 * 10,
        pl.col("hours-per-week") // 10 * 10,
        *(
            pl.sum_horizontal([(pl.col(name) >= edge).cast(pl.Int64) for edge in edges]).alias(name)
            for name, edges in ranges.items()
        ),
    ).drop("fnlwgt", "education-num")
    part = pl.col("part") == "train"
    train, test = (
        table.filter(which).drop("part").select(pl.all().cast(pl.String)) for which in (part, ~part)
    )
    return Task("Adult", train, test, "income", lambda column: column.str.contains(">"))


def _stays() -> Task:
    table = pl.read_parquet(shared_file("census/diabetes-hospitals.parquet"))
    even = pl.col("patient_nbr") % 2 == 0
    stays, others = (
        table.filter(which).select(pl.col(*HOSPITAL, "readmitted").cast(pl.String))
        for which in (even, ~even)
    )
    return Task("Hospital", stays, others, "readmitted", lambda column: column != "NO")
