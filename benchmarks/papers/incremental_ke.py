"""Figures 15 to 22 of the (k,e) paper: times and discarded tests, at its settings on its data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks import seed
from benchmarks.data import adult_batches
from benchmarks.incremental_speed import Step, steps
from benchmarks.papers.chart import FIGURES, PaperChart, PaperCurve, draw
from benchmarks.papers.item import PaperItem, beside_paper, departures
from benchmarks.record import Measurement, Table
from benchmarks.timing import seconds_text
from voile.publish.ke_anonymity.searches import optimal_blocks

__all__ = ["FIGURES_OF", "discarded", "naive_blocks", "run"]

K_VALUES = tuple(range(3, 16))
E_VALUES = (20, 100, 200, 300, 400, 500)
SIZES = (6, 8, 10, 12, 14)
"""Percent of the static part that an append brings."""
PARTS = (3, 5, 8, 12, 17, 22)
"""Blocks of the static release, or as near as an e reaches."""
SMALL = 100
"""Rows of the static part for the naive algorithm, which tests by set operations."""
CALLS = 5


@dataclass(frozen=True)
class _Point:
    """One setting: where it lies on the x axis, its terms and its appends."""

    at: float
    k: int
    e: int
    percent: int = 10


@dataclass(frozen=True)
class _Pair:
    """Two figures over one parameter: times of both algorithms, and details of the proposed one."""

    labels: tuple[str, str]
    across: str
    points: Callable[[NDArray[np.int64]], Sequence[_Point]]
    printed: tuple[str, str]
    """What the text says of the proposed and of the naive algorithm."""
    discards_rise: bool
    """Whether the text lets the share of discarded tests rise along the x axis."""


@dataclass(frozen=True)
class _Found:
    """What came of one setting, summed over its appends; seconds of processor."""

    at: float
    proposed: float
    ours: float
    naive: float
    """On ``SMALL`` static rows."""
    small: float
    """The proposed algorithm on the same."""
    discarded: float
    """Share of the pairs of ends that the overlap test discards, mean over appends."""


def _by_blocks(static: NDArray[np.int64]) -> list[_Point]:
    """At k = 2, the e by which the static release has as many blocks as asked for."""
    values = np.unique(static)
    counts = {}
    for e in range(10, 3_000, 10):
        blocks = optimal_blocks(values, 2, e)
        if blocks is not None:
            counts.setdefault(len(blocks), e)
    nearest = {min(counts, key=lambda count: abs(count - wanted)) for wanted in PARTS}
    return [_Point(count, 2, counts[count]) for count in sorted(nearest)]


FIGURES_OF = (
    _Pair(("Figure 15", "Figure 16"), "k", lambda _: [_Point(k, k, 20) for k in K_VALUES],
          ("17 to 64 s", "29,715 s"), True),
    _Pair(("Figure 17", "Figure 18"), "e", lambda _: [_Point(e, 2, e) for e in E_VALUES],
          ("14 to 65 s", "5,374 s"), True),
    _Pair(("Figure 19", "Figure 20"), "blocks of the static release",
          _by_blocks, ("rises", "far above"), False),
    _Pair(("Figure 21", "Figure 22"), "increment, % of the static part",
          lambda _: [_Point(p, 5, 100, p) for p in SIZES], ("13 to 23 s", "7,190 s"), False),
)  # fmt: skip


def run() -> Measurement:
    """Time all settings, and put what the text says beside them."""
    losses = np.concatenate(adult_batches())
    static = losses[: len(losses) // 2]
    found = {pair.labels[0]: [_found(losses, point) for point in pair.points(static)]
             for pair in FIGURES_OF}  # fmt: skip
    items = list(_items(found))
    draw(list(_charts(found)), FIGURES / "papers_incremental_ke.svg", columns=2)
    return Measurement(
        question="What do Figures 15 to 22 of the (k,e) paper show at its own settings?",
        data="Adult, capital-loss > 0 of the 1,427 complete training rows: the first half static, "
        "then up to ten appends of 10 % of it (Figures 21 and 22: 6 to 14 %)",
        seeds="none (order of the file)",
        protocol="processor time of all appends: the paper's proposed algorithm in plain Python "
        "(borders before rows, with the corrected rule), our full-cover decision (median of "
        f"{CALLS}), and the naive algorithm in plain Python on {SMALL} static rows and ten appends "
        "of 10 %, where a run on all rows would take days, beside the proposed one on the same. "
        "Discarded: the share of pairs of ends that the printed overlap test discards",
        answer="Times differ by the machine; the order and the direction of every curve are "
        "compared. Picture: figures/papers_incremental_ke.svg.",
        targets=[departures(items)],
        tables=[
            beside_paper(items),
            *(_table(pair, found[pair.labels[0]]) for pair in FIGURES_OF),
        ],
    )


def _found(losses: NDArray[np.int64], point: _Point) -> _Found:
    whole = list(steps(_batches(losses, len(losses) // 2, point.percent), point.k, point.e))
    few = list(steps(_batches(losses[: 2 * SMALL], SMALL, 10), point.k, point.e))
    history = [few[0].borders] if few else []
    naive = 0.0
    for step in few:
        naive += _seconds(lambda s=step, h=history: naive_blocks(s, h))
        decided = step.decide()
        history = [*history, decided] if decided is not None else history
    return _Found(
        at=point.at,
        proposed=sum(_seconds(lambda s=step: _proposed(s)) for step in whole),
        ours=sum(median(_seconds(step.decide) for _ in range(CALLS)) for step in whole),
        naive=naive,
        small=sum(_seconds(lambda s=step: _proposed(s)) for step in few),
        discarded=float(np.mean([discarded(step) for step in whole])),
    )


def _batches(rows: NDArray[np.int64], half: int, percent: int) -> list[NDArray[np.int64]]:
    """The static part, and up to ten appends of so many percent of it."""
    size = round(half * percent / 100)
    parts = [rows[at : at + size] for at in range(half, len(rows) - size + 1, size)]
    return [rows[:half], *parts[:10]]


def _seconds(call: Callable[[], object]) -> float:
    started = process_time()
    call()
    return process_time() - started


def _proposed(step: Step) -> NDArray[np.int64] | None:
    return step.rows.blocks(step.k, step.e, seed.BORDERS_FIRST, compiled=False)


def discarded(step: Step) -> float:
    """The share of pairs of ends that the overlap test of Lemma 1 discards, by its printed rule."""
    values, rows = np.unique(np.concatenate((step.published, step.fresh)), return_counts=True)
    low, high = values[:, np.newaxis], values[np.newaxis]
    pairs = np.triu(np.outer(rows, rows).astype(float), 1)
    pairs[np.diag_indices(len(values))] = rows * (rows + 1) / 2
    refused = np.zeros_like(pairs, dtype=bool)
    for first, last in step.borders.tolist():
        refused |= (low < first) & (first < high) & (high < last)
        refused |= (first < low) & (low < last) & (last < high)
        refused |= (first < low) & (high < last)
    return float(pairs[refused].sum() / pairs.sum())


def naive_blocks(step: Step, history: Sequence[NDArray[np.int64]]) -> list[tuple[int, int]] | None:
    """The static search with Definition 5 tested against every release, by set operations.

    ``history``: the borders of the blocks of each release, oldest first; the rows of a block are
    those that were there and whose value lies in it.
    """
    rows = np.concatenate((step.published, step.fresh))
    order = np.argsort(rows, kind="stable")
    releases = [_rows_of(rows, borders, present) for borders, present in _present(step, history)]
    cost: list[float] = [0.0]
    start = [0]
    for j in range(1, len(rows) + 1):
        best = (float("inf"), -1)
        for i in range(j - step.k, -1, -1):
            block = order[i:j]
            width = float(rows[block[-1]] - rows[block[0]])
            if start[i] < 0 or cost[i] + width >= best[0]:
                continue
            if _is_valid(rows, frozenset(block.tolist()), step) and not any(
                _leaks(rows, frozenset(block.tolist()), old, step)
                for release in releases
                for old in release
            ):
                best = (cost[i] + width, i)
        cost.append(best[0])
        start.append(best[1])
    if start[-1] < 0:
        return None
    blocks, end = [], len(rows)
    while end:
        begin = start[end]
        blocks.append((int(rows[order[begin]]), int(rows[order[end - 1]])))
        end = begin
    return blocks[::-1]


def _present(
    step: Step, history: Sequence[NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """The borders of each release, and how many of the rows it had."""
    size = len(step.fresh)
    for age, borders in enumerate(reversed(history)):
        yield borders, len(step.published) - age * size


def _rows_of(
    rows: NDArray[np.int64], borders: NDArray[np.int64], present: int
) -> list[frozenset[int]]:
    some = rows[:present]
    return [
        frozenset(np.flatnonzero((some >= low) & (some <= high)).tolist())
        for low, high in borders.tolist()
    ]


def _is_valid(rows: NDArray[np.int64], some: frozenset[int], step: Step) -> bool:
    values = {int(rows[row]) for row in some}
    return len(values) >= step.k and max(values) - min(values) >= step.e


def _leaks(rows: NDArray[np.int64], new: frozenset[int], old: frozenset[int], step: Step) -> bool:
    if not new & old:
        return False
    return any(
        part and not _is_valid(rows, part, step) for part in (old & new, old - new, new - old)
    )


def _items(found: dict[str, list[_Found]]) -> Iterator[PaperItem]:
    for pair in FIGURES_OF:
        some = found[pair.labels[0]]
        times = [one.proposed for one in some]
        ratios = [one.naive / one.small for one in some if one.small]
        yield PaperItem(
            pair.labels[0], f"time over {pair.across}: proposed; naive",
            "; ".join(pair.printed),
            f"{seconds_text(min(times))} to {seconds_text(max(times))} (ours "
            f"{seconds_text(max(one.ours for one in some))} at most); naive {min(ratios):.0f} to "
            f"{max(ratios):.0f} times the proposed on {SMALL} static rows",
            "agrees" if min(ratios) > 1 else "departs",
            "" if min(ratios) > 1 else "few valid blocks are left to test",
        )  # fmt: skip
        shares = [one.discarded for one in some]
        rises = shares[-1] > shares[0]
        agrees = rises == pair.discards_rise
        yield PaperItem(
            pair.labels[1], f"discarded tests over {pair.across}",
            "rises" if pair.discards_rise else "falls",
            f"{shares[0]:.0%} to {shares[-1]:.0%}",
            "agrees" if agrees else "departs",
            "" if agrees else "the share follows the widths of the old blocks, which hardly differ",
        )  # fmt: skip


def _table(pair: _Pair, found: Sequence[_Found]) -> Table:
    return Table(
        f"{pair.labels[0]} and {pair.labels[1]}",
        (pair.across, "proposed, plain", "ours", f"naive, {SMALL} static rows",
         "proposed on the same", "discarded"),
        [[f"{one.at:g}", *(seconds_text(s) for s in (one.proposed, one.ours, one.naive, one.small)),
          f"{one.discarded:.1%}"] for one in found],
    )  # fmt: skip


def _charts(found: dict[str, list[_Found]]) -> Iterator[PaperChart]:
    for pair in FIGURES_OF:
        some = found[pair.labels[0]]
        at = [one.at for one in some]
        curves = [
            PaperCurve("proposed", at, [one.proposed for one in some]),
            PaperCurve("ours", at, [one.ours for one in some]),
            PaperCurve(f"naive, {SMALL} static rows", at, [one.naive for one in some]),
        ]
        yield PaperChart(pair.labels[0], "all appends", pair.across, "seconds", curves, "log")
        shares = [PaperCurve("discarded", at, [100 * one.discarded for one in some])]
        yield PaperChart(pair.labels[1], "discarded tests", pair.across, "%", shares)
