"""How many hard bin-packing instances are found and proved in ten seconds, and what is left.

Drawn instances follow the scale of those of Gschwind and Irnich (2016), "Dual inequalities for
stabilized column generation revisited": large capacities, 125 to 500 weights.  The ranges of
weights and of copies are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from statistics import median
from time import process_time

import numpy as np

from benchmarks.packing import read_family
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import seconds_text
from voile_pack import Instance, Stop
from voile_pack.solve import solve

__all__ = ["run"]

LIMIT, LONGER = 10.0, 60.0
SEEDS = (1, 2)
TYPES, REPLICATES = (125, 250, 500), 3
CAPACITIES = {"A": 500_000, "B": 1_500_000}
SHARES = {"A": (0.05, 0.5), "B": (0.001, 0.7)}
"""Of the capacity, between which weights are drawn."""
_Known = tuple[Instance, int | None]
"""An instance, and its published optimum where there is one."""
COPIES = 20
"""Of a weight at most, in drawn instances."""


@dataclass(frozen=True)
class HardResult:
    """What became of an instance within a limit."""

    name: str
    bins: int
    bound: int
    optimum: int | None
    seconds: float

    @property
    def found(self) -> bool:
        """Whether it is packed into the fewest bins that are known."""
        return self.bins == (self.bound if self.optimum is None else self.optimum)

    @property
    def proved(self) -> bool:
        """Whether no packing has fewer bins, by the bound of this run."""
        return self.found and self.bins == self.bound


def run() -> Measurement:
    """Hard28 with two seeds, and instances drawn by the scale of Gschwind and Irnich."""
    hard = {name: (known.instance, known.optimum) for name, known in read_family("hard28")}
    drawn = dict(_drawn())
    for name, one in (*list(hard.items())[:2], *list(drawn.items())[-1:]):
        _solved(name, one, 1, LIMIT)  # compiled code and libraries are loaded
    first = {seed: [_solved(*one, seed, LIMIT) for one in hard.items()] for seed in SEEDS}
    longer = {
        seed: [r if r.proved else _solved(r.name, hard[r.name], seed, LONGER) for r in first[seed]]
        for seed in SEEDS
    }
    many = [_solved(*one, 1, LIMIT) for one in drawn.items()]
    return Measurement(
        question="How many hard packings are found and proved in ten seconds, and what is left?",
        data=f"Hard28 ({len(hard)}), drawn instances of 125, 250 and 500 weights ({len(drawn)})",
        seeds="1 and 2 for Hard28; 1 and the numbers of the instances for those that are drawn",
        protocol=(
            f"CPU seconds of the process, one instance after another, after three that load "
            f"compiled code; limit {LIMIT:.0f} s, and {LONGER:.0f} s for what was not proved then; "
            f"one worker; OR-Tools {version('ortools')}, SciPy {version('scipy')} (HiGHS)"
        ),
        answer=(
            ", ".join(f"Hard28, seed {seed}: {_counts(rows)}" for seed, rows in first.items())
            + f"; drawn: {_counts(many)}."
        ),
        targets=[*_hard_targets(first, longer), *_drawn_targets(many)],
        tables=[_table(first, many), _open(first, longer, many)],
    )


def _drawn() -> Iterator[tuple[str, _Known]]:
    """Classes by capacity and by range of weights, as many instances of each number of types."""
    for types, (place, scale), replicate in product(
        TYPES, enumerate(("AA", "AB", "BA", "BB"), 1), range(REPLICATES)
    ):
        dice = np.random.default_rng([place, types, replicate])
        capacity = CAPACITIES[scale[0]]
        least, most = (int(share * capacity) for share in SHARES[scale[1]])
        weights = dice.choice(np.arange(least, most), types, replace=False)
        items = np.repeat(weights, dice.integers(1, COPIES + 1, types))
        yield f"{scale} {types} {replicate + 1}", (Instance(items, capacity), None)


def _solved(name: str, known: _Known, seed: int, limit: float) -> HardResult:
    instance, optimum = known
    started = process_time()
    outcome = solve(instance, Stop(limit, process_time), seed=seed)
    seconds = process_time() - started
    return HardResult(name, outcome.bins, outcome.lower_bound, optimum, seconds)


def _counts(rows: Sequence[HardResult]) -> str:
    return f"{sum(r.found for r in rows)} found and {sum(r.proved for r in rows)} proved"


def _seconds(rows: Sequence[HardResult]) -> str:
    return seconds_text(median(r.seconds for r in rows))


def _hard_targets(
    first: Mapping[int, list[HardResult]], longer: Mapping[int, list[HardResult]]
) -> Iterator[Target]:
    for seed, rows in first.items():
        found, proved = sum(r.found for r in rows), sum(r.proved for r in rows)
        name = f"Hard28, seed {seed}, {LIMIT:.0f} s CPU"
        yield Target(name, "27 found, 26 proved", _counts(rows), found >= 27 and proved >= 26)
        middle = median(r.seconds for r in rows)
        yield Target(f"median CPU time, seed {seed}", "at most 2 s", _seconds(rows), middle <= 2.0)
    for seed, rows in longer.items():
        name = f"Hard28, seed {seed}, {LONGER:.0f} s CPU"
        yield Target(name, "28 and 28", _counts(rows), all(r.proved for r in rows))


def _drawn_targets(rows: Sequence[HardResult]) -> Iterator[Target]:
    name = f"drawn, {LIMIT:.0f} s CPU"
    proved, gap = sum(r.proved for r in rows), max(r.bins - r.bound for r in rows)
    yield Target(name, "34 of 36 proved", f"{proved} of {len(rows)}", proved >= 34)
    yield Target(f"{name}: bins beyond the bound", "at most 1", f"{gap}", gap <= 1)


def _table(first: Mapping[int, list[HardResult]], many: Sequence[HardResult]) -> Table:
    groups = {f"Hard28, seed {seed}": rows for seed, rows in first.items()}
    for types in TYPES:
        groups[f"drawn, {types} weights"] = [r for r in many if r.name.split()[1] == f"{types}"]
    return Table(
        f"Within {LIMIT:.0f} s of CPU time",
        ("family", "instances", "found", "proved", "median", "most"),
        [
            [
                family,
                f"{len(rows)}",
                f"{sum(r.found for r in rows)}",
                f"{sum(r.proved for r in rows)}",
                _seconds(rows),
                seconds_text(max(r.seconds for r in rows)),
            ]
            for family, rows in groups.items()
        ],
    )


def _open(
    first: Mapping[int, list[HardResult]],
    longer: Mapping[int, list[HardResult]],
    many: Sequence[HardResult],
) -> Table:
    """What is not proved in time, and what became of it later."""
    pairs = [
        (f"{r.name}, seed {seed}", r, later)
        for seed, rows in first.items()
        for r, later in zip(rows, longer[seed], strict=True)
    ]
    pairs += [(r.name, r, None) for r in many]
    return Table(
        "Instances that are not proved in time",
        ("instance", "bins", "bound", f"bins and bound with {LONGER:.0f} s", "CPU time"),
        [
            [
                name,
                f"{r.bins}",
                f"{r.bound}",
                f"{later.bins}, {later.bound}" if later else "-",
                seconds_text(later.seconds if later else r.seconds),
            ]
            for name, r, later in pairs
            if not r.proved
        ],
    )
