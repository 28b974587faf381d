"""The naive way: publish every release afresh, and test each pair of blocks by set operations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, product
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import adult_batches
from benchmarks.incremental_speed import SETTINGS, steps
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import cells_of_ratios, in_turn, seconds_text
from voile.models.ke_anonymity import pairwise_breaches
from voile.publish.ke_anonymity.searches import full_cover_blocks, optimal_blocks

__all__ = ["breaches_by_sets", "run", "static_partitions"]

Partition = list[frozenset[int]]
"""Blocks as sets of the numbers of their rows."""


def run() -> Measurement:
    """Count the breaches of the naive way, and time its test against ours and our decision."""
    batches = adult_batches()
    _warm_up(batches)
    results = [_setting(batches, k, e) for k, e in SETTINGS]
    breached = sum(int(r["breached"]) for r in results)
    appends = sum(int(r["appends"]) for r in results)
    breaches = sum(int(r["breaches"]) for r in results)
    against_test = [r["sets"] / r["check"] for r in results]
    against_decision = [r["naive"] / r["ours"] for r in results]
    return Measurement(
        question="What if every release were made afresh, and the pairs of blocks merely tested?",
        data="as for incremental_speed: all its settings",
        seeds="none (order of the file)",
        protocol="at every append the static optimum of all rows, then a & b, a - b and b - a as "
        "sets of rows for each block of each earlier release and each new block; one warm process; "
        "times are sums over the ten appends of a setting: the test by sets once, our test of the "
        "same partitions (given cells: rows that share value and batch) and our full-cover "
        "decision (pairwise) as medians of seven calls; median ratio over settings (least to "
        "greatest)",
        answer=f"{breached:,} of {appends:,} releases made afresh give something away: "
        f"{breaches:,} sets of rows. The test by sets takes {cells_of_ratios(against_test)} times "
        "as long as ours of the same partitions; publishing afresh and testing takes "
        f"{cells_of_ratios(against_decision)} times as long as our decision, which needs no test.",
        targets=[
            Target(
                "breaches found by sets and by the package's test",
                "the same in number at every append",
                "the same" if all(r["agree"] for r in results) else "different",
                all(r["agree"] for r in results),
            )
        ],
        tables=[_table(results)],
    )


def static_partitions(
    batches: Sequence[NDArray[np.int64]], k: int, e: int
) -> list[NDArray[np.int64]]:
    """The block of every row of the whole table in each release made afresh; -1 where absent."""
    rows = np.concatenate(batches)
    releases, present = [], 0
    for batch in batches:
        present += len(batch)
        values = np.unique(rows[:present])
        blocks = optimal_blocks(values, k, e)
        assert blocks is not None, "a release made afresh must be feasible"
        block = np.searchsorted(values[blocks[:, 0]], rows, side="right") - 1
        block[present:] = -1
        releases.append(block)
    return releases


def breaches_by_sets(
    values: Sequence[int], earlier: Sequence[Partition], new: Partition, k: int, e: int
) -> int:
    """How many differences and intersections of an old and a new block are not (k,e)-valid."""
    found = 0
    for old in earlier:
        for a, b in product(old, new):
            if not a & b:
                continue  # a - b is a, and b - a is b: valid by themselves
            for part in (a & b, a - b, b - a):
                shown = {values[row] for row in part}
                found += bool(part) and (len(shown) < k or max(shown) - min(shown) < e)
    return found


def _partition(block: NDArray[np.int64]) -> Partition:
    order = np.argsort(block, kind="stable").tolist()
    blocks = block.tolist()
    runs = groupby(order, key=blocks.__getitem__)
    return [frozenset(rows) for number, rows in runs if number >= 0]


def _cells(batches: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """One row of each value in each batch: what lies together in every release by value range."""
    birth = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    _, cells = np.unique(np.stack((birth, np.concatenate(batches))), axis=1, return_index=True)
    return cells


def _setting(batches: Sequence[NDArray[np.int64]], k: int, e: int) -> dict[str, float]:
    units = np.concatenate(batches)
    values = units.tolist()
    started = perf_counter()
    cells = _cells(batches)
    afresh = static_partitions(batches, k, e)
    static = perf_counter() - started
    partitions = [_partition(block) for block in afresh]
    total = dict.fromkeys(("sets", "check", "ours", "breaches", "breached", "appends"), 0.0)
    agree = True
    for number, step in enumerate(steps(batches, k, e), start=1):
        stacked = np.stack(afresh[: number + 1])[:, cells]
        sides = {
            "sets": lambda n=number: breaches_by_sets(values, partitions[:n], partitions[n], k, e),
            "check": lambda s=stacked: pairwise_breaches(units[cells], s, k, e),
            "ours": lambda c=step.counts: full_cover_blocks(*c, k, e, "pairwise"),
        }
        for name, seconds in in_turn(sides, {"check": (1, 7), "ours": (1, 7)}, 1).items():
            total[name] += seconds
        breaches = sides["sets"]()
        agree = agree and breaches == len(sides["check"]())
        total["breaches"] += breaches
        total["breached"] += breaches > 0
        total["appends"] += 1
    return {"k": k, "e": e, "agree": agree, "naive": static + total["sets"], **total}


def _warm_up(batches: Sequence[NDArray[np.int64]]) -> None:
    step = next(steps(batches, 2, 20))
    step.decide()
    pairwise_breaches(step.fresh, np.zeros((2, len(step.fresh)), np.int64), 2, 20)


def _table(results: Sequence[dict[str, float]]) -> Table:
    return Table(
        "Releases made afresh: what they give away, and what testing them takes",
        ("k", "e", "releases that leak", "sets given away", "test by sets", "our test",
         "our decision"),
        [
            [
                f"{r['k']}", f"{r['e']}", f"{r['breached']:.0f} of {r['appends']:.0f}",
                f"{r['breaches']:,.0f}", *(seconds_text(r[s]) for s in ("sets", "check", "ours")),
            ]
            for r in results
        ],
    )  # fmt: skip
