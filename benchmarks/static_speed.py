"""The static optimum: a search of all pairs against the package's prefix maximum."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.data import AbsentDataError, adult_batches
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import in_turn, seconds_text
from voile.publish.ke_anonymity.searches import optimal_blocks

__all__ = ["quadratic_cost", "run"]

SEED = 2007
SIZES = (1_000, 10_000, 50_000)
ALONE = 1_000_000
K, E = 5, 100


def quadratic_cost(values: NDArray[np.int64], k: int, e: int, *, compiled: bool = True) -> int:
    """Smallest sum of ranges of strictly ascending values, by O(d^2) search; -1 if infeasible."""
    if not compiled:
        return _quadratic_cost.py_func(values.tolist(), k, e, [0] + [-1] * len(values))
    return int(_quadratic_cost(values, k, e, np.array([0] + [-1] * len(values))))


@njit
def _quadratic_cost(values, k, e, cost):  # type: ignore[no-untyped-def]
    for j in range(k, len(values) + 1):
        for i in range(j - k + 1):
            width = values[j - 1] - values[i]
            if width < e or cost[i] < 0:
                continue
            if cost[j] < 0 or cost[i] + width < cost[j]:
                cost[j] = cost[i] + width
    return cost[len(values)]


def run() -> Measurement:
    """Time both on Adult and on synthetic values."""
    quadratic_cost(np.arange(10), 2, 1)
    optimal_blocks(np.arange(10), 2, 1)
    lines, agree = [], True
    for name, values, compiled in _inputs():
        sides = {"ours": lambda v=values: optimal_blocks(v, K, E)}
        if name != "alone":
            sides["search"] = lambda v=values, c=compiled: quadratic_cost(v, K, E, compiled=c)
        times = in_turn(sides, {"ours": (3, 3)}, 3)
        if "search" in times:
            agree = agree and sides["search"]() == _cost(values)
        search = times.get("search")
        lines.append(
            [
                "synthetic" if name == "alone" else name,
                f"{len(values):,}",
                f"{seconds_text(search)} {'compiled' if compiled else 'plain'}" if search else "",
                seconds_text(times["ours"]),
                f"{search / times['ours']:,.1f}" if search else "",
            ]
        )
    return Measurement(
        question="How fast is the static optimum, against the search of all pairs of cuts?",
        data="Adult's distinct capital losses (rows of incremental_speed); synthetic: distinct "
        "whole numbers, uniform",
        seeds=f"{SEED}",
        protocol=f"k = {K}, e = {E}; one warm process, sides in turn, medians of 3 calls of the "
        "search and 9 of ours; the search is given distinct values too",
        answer="Search, ours and their ratio by distinct values: "
        + "; ".join(
            f"{d}: {search or 'not run'}, {ours}, {ratio or 'no ratio'}"
            for _, d, search, ours, ratio in lines
        )
        + ". The search grows with the square of the distinct values, ours with their number.",
        targets=[Target("sum of ranges", "the same", "the same" if agree else "different", agree)],
        tables=[
            Table(
                "One static decision",
                ("values", "distinct d", "search of all pairs", "ours", "ratio"),
                lines,
            )
        ],
    )


def _inputs() -> list[tuple[str, NDArray[np.int64], bool]]:
    inputs: list[tuple[str, NDArray[np.int64], bool]] = []
    try:
        adult = np.unique(np.concatenate(adult_batches()))
        inputs += [("Adult", adult, False), ("Adult", adult, True)]
    except AbsentDataError:
        pass  # the synthetic sizes tell the same story
    rng = np.random.default_rng(SEED)
    for size in (*SIZES, ALONE):
        values = np.unique(rng.integers(0, 20 * size, 2 * size))[:size]
        inputs.append(("alone" if size == ALONE else "synthetic", values, True))
    return inputs


def _cost(values: NDArray[np.int64]) -> int:
    blocks = optimal_blocks(values, K, E)
    assert blocks is not None, "the inputs are feasible"
    return int((values[blocks[:, 1] - 1] - values[blocks[:, 0]]).sum())
