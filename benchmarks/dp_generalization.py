"""The private choice of a node: exact over the whole lattice, for few rows and for a million."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from time import process_time

import numpy as np
import polars as pl

import voile
from benchmarks.adult import adult, plan_for, problem_of
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import in_turn, seconds_text
from voile.dp.sampling import smallest_k
from voile.publish.dp_generalization.decision import ChoiceTerms, DrawnNode, NodeChoice
from voile.publish.generalization.lattice import Lattice
from voile.publish.generalization.problem import Problem

__all__ = ["run"]

SEED = 2022
MILLION = 1_000_000
SPREADS = (0, 1, 2, 5)
MAIN_SPREAD = 1
ROUNDS = 3
K, EPSILON_CHOICE, BETA = 40, Decimal(1), Decimal("0.7")
MOST_SECONDS, MOST_RATIO, MOST_MILLISECONDS = 5.0, 1.5, 10
AGES = 17, 90
SMALLEST_K = {
    ("1", "1e-5"): 61,
    ("1", "1e-6"): 74,
    ("2", "1e-6"): 131,
    ("0.5", "1e-6"): 63,
    ("3", "1e-5"): 226,
}


@dataclass(frozen=True)
class Size:
    """A table and what the choice among its nodes takes, in processor seconds."""

    name: str
    rows: int
    combinations: int
    nodes: int
    expected: float
    sampled: float
    release: float


@dataclass(frozen=True)
class Inverse:
    """The smallest k for a budget, and the processor seconds of finding it."""

    epsilon: str
    delta: str
    k: int
    seconds: float

    @property
    def right(self) -> bool:
        """Whether it is the k of the issue."""
        return self.k == SMALLEST_K[self.epsilon, self.delta]


def run() -> Measurement:
    """Time the choice on Adult and on a million rows, and the smallest k of five budgets."""
    frame = adult()
    sizes = [_size("Adult", frame)]
    sizes += [_size(f"a million, ages up to {s} off", _million(frame, s)) for s in SPREADS]
    small, main = sizes[0], sizes[1 + SPREADS.index(MAIN_SPREAD)]
    ratio = main.expected / small.expected
    inverses = [_inverse(epsilon, delta) for epsilon, delta in SMALLEST_K]
    slowest = max(inverse.seconds for inverse in inverses)
    right = sum(inverse.right for inverse in inverses)
    return Measurement(
        question="What does the exponential mechanism over every node of the lattice take?",
        data=f"Adult with its hierarchies (30,162 rows, nine columns, {small.nodes:,} nodes); "
        "a million rows: drawn from Adult with replacement, each age moved by a whole number "
        "of years, uniform within 0 to 5 to either side, and kept within 17 to 90, so that there "
        "are more combinations of values",
        seeds=f"rows {SEED}; draws unseeded",
        protocol=f"processor seconds of one warm process, medians of {ROUNDS} calls; the choice: "
        "utilities of all nodes of the counted table, and one exact draw; the release: from the "
        f"opened table, with counting, sampling, recoding and check; k = {K}, beta = {BETA}, "
        f"epsilon_choice = {EPSILON_CHOICE}; each smallest k once, with nothing remembered of it",
        answer=f"The choice among {small.nodes:,} nodes takes {seconds_text(small.expected)} for "
        f"Adult's {small.combinations:,} combinations and {seconds_text(main.expected)} for the "
        f"{main.combinations:,} of a million rows with ages up to {MAIN_SPREAD} off: "
        f"{ratio:.2f} times. It grows with combinations, not with rows: "
        + ", ".join(
            f"{size.combinations:,}: {size.expected / small.expected:.2f}" for size in sizes[1:]
        )
        + f" times. The smallest k is found in {seconds_text(slowest)} at most.",
        targets=[
            Target("exact choice among all nodes, Adult", f"under {MOST_SECONDS:.0f} s of "
                   "processor", seconds_text(small.expected), small.expected < MOST_SECONDS),
            Target(f"the same for a million rows, ages up to {MAIN_SPREAD} off, once counted",
                   f"at most {MOST_RATIO} times", f"{ratio:.2f} times", ratio <= MOST_RATIO),
            Target("smallest k", "the five of the issue", f"{right} of {len(inverses)}",
                   right == len(inverses)),
            Target("smallest k, slowest", f"under {MOST_MILLISECONDS} ms of processor",
                   seconds_text(slowest), slowest < MOST_MILLISECONDS / 1000),
        ],
        tables=[_sizes_table(sizes), _inverses_table(inverses)],
    )  # fmt: skip


def _million(frame: pl.DataFrame, spread: int) -> pl.DataFrame:
    rng = np.random.default_rng(SEED)
    rows = frame[rng.integers(0, len(frame), MILLION)]
    moved = rows["age"] + pl.Series(rng.integers(-spread, spread + 1, MILLION))
    return rows.with_columns(moved.clip(*AGES).alias("age"))


def _size(name: str, frame: pl.DataFrame) -> Size:
    table = voile.open_frame(frame, plan_for())
    problem = problem_of(table, (), 0)
    publisher = voile.DPGeneralization(k=K, epsilon_choice=EPSILON_CHOICE, beta=BETA)
    calls: dict[str, Callable[[], object]] = {
        "expected": partial(_draw, problem, "expected"),
        "sampled": partial(_draw, problem, "sampled"),
        "release": partial(publisher.publish, table),
    }
    calls["release"]()
    seconds = in_turn(calls, {}, ROUNDS, process_time)
    combinations, nodes = len(problem.counts.rows), Lattice.of(problem.hierarchies).size
    return Size(name, len(frame), combinations, nodes, **seconds)


def _draw(problem: Problem, choice: str) -> DrawnNode:
    terms = ChoiceTerms(K, BETA, EPSILON_CHOICE, choice)  # type: ignore[arg-type]
    return NodeChoice.of(problem, terms).draw(voile.Randomness.secure().key("node"))


def _inverse(epsilon: str, delta: str) -> Inverse:
    started = process_time()
    k = smallest_k(Decimal(epsilon), Decimal(delta))
    return Inverse(epsilon, delta, k, process_time() - started)


def _sizes_table(sizes: list[Size]) -> Table:
    small = sizes[0]
    return Table(
        "Processor seconds of the choice, and of the whole release",
        ("table", "rows", "combinations", 'choice = "expected"', "against Adult",
         'choice = "sampled"', "against Adult", "release"),
        [
            [
                size.name, f"{size.rows:,}", f"{size.combinations:,}",
                seconds_text(size.expected), f"{size.expected / small.expected:.2f}",
                seconds_text(size.sampled), f"{size.sampled / small.sampled:.2f}",
                seconds_text(size.release),
            ]
            for size in sizes
        ],
    )  # fmt: skip


def _inverses_table(inverses: list[Inverse]) -> Table:
    return Table(
        "The smallest k, with beta = 1 - e^(-epsilon)",
        ("epsilon", "delta", "k of the issue", "k", "time"),
        [
            [
                i.epsilon, i.delta, f"{SMALLEST_K[i.epsilon, i.delta]}", f"{i.k}",
                seconds_text(i.seconds),
            ]
            for i in inverses
        ],
    )  # fmt: skip
