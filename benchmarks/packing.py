"""How many known instances are packed into the fewest bins with a proof, and how fast."""

from __future__ import annotations

import csv
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median
from time import process_time

import numpy as np

from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import seconds_text
from voile_pack import Instance, PackingReport, Stop, patterns
from voile_pack.heuristics import first_fit_decreasing
from voile_pack.solve import solve

__all__ = ["Known", "read_family", "run"]

LIMIT = 60.0
EARLY = 5.0
PLAIN_LIMIT = 10.0
COMPARED = 6
"""Instances of each family that plain OR-Tools is given, spread evenly."""
FAMILIES = {  # and which of their instances are run: every first, every twentieth
    "falkenauer-u": 1,
    "falkenauer-t": 1,
    "scholl-1": 1,
    "scholl-2": 1,
    "scholl-3": 1,
    "random-a": 20,
}


@dataclass(frozen=True, eq=False)
class Known:
    """An instance and its published optimum."""

    instance: Instance
    optimum: int


@dataclass(frozen=True)
class Result:
    """What a solver made of an instance; ``None`` for bins where it found no packing."""

    over: int | None
    """Bins more than the optimum."""
    early_over: int | None
    """The same after ``EARLY`` seconds."""
    proved: bool
    """Whether the published optimum was found and proved."""
    seconds: float
    found_by: str = ""
    bound_by: str = ""


def run() -> Measurement:
    """Solve all families, and a sample of them beside plain OR-Tools."""
    instances = {
        family: [known for _, known in read_family(family)][::every]
        for family, every in FAMILIES.items()
    }
    _default(instances["falkenauer-t"][0])  # compiled code and libraries are loaded
    results = {
        family: [_default(known) for known in members] for family, members in instances.items()
    }
    samples = {family: _sample(members) for family, members in instances.items()}
    beside = {
        (family, name): [solver(known) for known in members]
        for family, members in samples.items()
        for name, solver in (("default", _default), ("plain OR-Tools", _plain))
    }
    proved = sum(r.proved for rows in results.values() for r in rows)
    everything = sum(map(len, results.values()))
    return Measurement(
        question="How many known bin-packing instances are solved with a proof, and how fast?",
        data=", ".join(
            f"{family} ({len(members)}{', every 20th' if FAMILIES[family] > 1 else ''})"
            for family, members in instances.items()
        ),
        seeds="none: the solvers are deterministic",
        protocol=(
            f"CPU seconds of the process, one instance after another, after one that loads "
            f"compiled code; limit {LIMIT:.0f} s; one worker; OR-Tools {version('ortools')}, "
            f"SciPy {version('scipy')} (HiGHS); optima as published"
        ),
        answer=f"{proved:,} of {everything:,} instances are solved with a proof.",
        targets=list(_targets(results)),
        tables=[_table(results), _stages(results), _comparison(beside)],
    )


def read_family(family: str) -> Iterator[tuple[str, Known]]:
    """The instances of a family by their names, in the order of these."""
    with shared_file("bin-packing/optima.csv").open(encoding="utf-8") as lines:
        optima = {row["instance"]: int(row["best_known_bins"]) for row in csv.DictReader(lines)}
    with zipfile.ZipFile(shared_file(f"bin-packing/{family}.zip")) as archive:
        for name in sorted(name for name in archive.namelist() if not name.endswith("/")):
            _, capacity, *weights = map(int, archive.read(name).split())
            short = name.rsplit("/", 1)[-1].removesuffix(".txt")
            yield short, Known(Instance(np.array(weights), capacity), optima[short])


def _sample(members: Sequence[Known]) -> list[Known]:
    places = np.linspace(0, len(members) - 1, COMPARED).astype(int)
    return [members[place] for place in places]


def _default(known: Known) -> Result:
    reports: list[PackingReport] = []
    started = process_time()
    outcome = solve(known.instance, Stop(LIMIT, process_time), reports.append)
    seconds = process_time() - started  # with the check of the answer
    early = [report.bins for report in reports if report.seconds <= EARLY]
    bins = outcome.bins if seconds <= EARLY or not early else early[-1]
    proved = outcome.proved and outcome.bins == known.optimum
    found = outcome.found_by, outcome.bound_by
    return Result(outcome.bins - known.optimum, bins - known.optimum, proved, seconds, *found)


def _plain(known: Known) -> Result:
    """The model of the guide on all items, with as many bins as first fit needs."""
    instance = known.instance
    descending = np.sort(instance.weights)[::-1].copy()
    first = int(first_fit_decreasing(descending, instance.capacity).max()) + 1
    started = process_time()
    answer = patterns.pack(instance, first, Stop(PLAIN_LIMIT).start())
    seconds = process_time() - started
    if answer.bin_of is None:
        return Result(None, None, proved=False, seconds=seconds)
    bins = int(answer.bin_of.max()) + 1
    over = bins - known.optimum
    return Result(over, over, answer.lower_bound == bins, seconds)


def _seconds(results: Sequence[Result]) -> list[float]:
    return [result.seconds for result in results]


def _share(true: int, of: int) -> str:
    return f"{true} of {of} ({true / of:.1%})"


def _targets(results: dict[str, list[Result]]) -> Iterator[Target]:
    falkenauer = results["falkenauer-u"] + results["falkenauer-t"]
    proved = sum(r.proved for r in falkenauer)
    yield Target(
        "Falkenauer U and T proved", "all 160", f"{proved}", proved == len(falkenauer) == 160
    )
    for family, seconds in (("falkenauer-u", 1.0), ("falkenauer-t", 6.0)):
        got = median(_seconds(results[family]))
        what, must = f"median CPU time, {family}", f"under {seconds:.0f} s"
        yield Target(what, must, seconds_text(got), got < seconds)
    for family in ("scholl-1", "scholl-2"):
        rows = results[family]
        done = sum(r.proved and r.seconds <= LIMIT for r in rows)
        what = f"{family} proved within {LIMIT:.0f} s CPU"
        yield Target(what, "at least 95 %", _share(done, len(rows)), done >= 0.95 * len(rows))
    everything = [r for rows in results.values() for r in rows]
    near = sum(r.early_over is not None and r.early_over <= 1 for r in everything)
    yield Target(
        f"within 1 bin of the optimum after {EARLY:.0f} s",
        "at least 95 %",
        _share(near, len(everything)),
        near >= 0.95 * len(everything),
    )


def _table(results: dict[str, list[Result]]) -> Table:
    return Table(
        "Families, CPU time",
        ("family", "instances", "proved", "most bins over the optimum", "median", "95 %", "most"),
        [
            [
                family,
                f"{len(rows)}",
                f"{sum(r.proved for r in rows)}",
                f"{max(_over(rows))}",
                seconds_text(median(_seconds(rows))),
                seconds_text(float(np.quantile(_seconds(rows), 0.95))),
                seconds_text(max(_seconds(rows))),
            ]
            for family, rows in results.items()
        ],
    )


def _stages(results: dict[str, list[Result]]) -> Table:
    def counts(stages: Iterator[str]) -> str:
        return ", ".join(f"{stage} {count}" for stage, count in Counter(stages).most_common())

    return Table(
        "Which stage found the packing, and which the bound",
        ("family", "packing", "bound"),
        [
            [
                family,
                counts(r.found_by for r in rows),
                counts(r.bound_by for r in rows),
            ]
            for family, rows in results.items()
        ],
    )


def _over(results: Sequence[Result]) -> list[int]:
    return [result.over for result in results if result.over is not None]


def _comparison(beside: dict[tuple[str, str], list[Result]]) -> Table:
    return Table(
        "Beside the plain assignment model of OR-Tools (CP-SAT, "
        f"{PLAIN_LIMIT:.0f} s of wall-clock time, with building)",
        ("family", "solver", "instances", "packed", "proved", "mean bins over", "median CPU"),
        [
            [
                family,
                name,
                f"{len(rows)}",
                f"{len(_over(rows))}",
                f"{sum(r.proved for r in rows)}",
                f"{np.mean(_over(rows)):.2f}" if _over(rows) else "-",
                seconds_text(median(_seconds(rows))),
            ]
            for (family, name), rows in beside.items()
        ],
    )
