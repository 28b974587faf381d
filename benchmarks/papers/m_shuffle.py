"""M-Shuffle (ACSW 2017): figures 1 to 4 again, with its k-means from random starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

import voile
from benchmarks.papers.chart import FIGURES, PaperChart, PaperCurve, draw
from benchmarks.papers.item import PaperItem, beside_paper, departures
from benchmarks.record import Measurement, Table
from benchmarks.shuffle_curves import CLUSTERS, COLUMNS, ROWS, Coded, adult, plan_of
from benchmarks.shuffle_starts import salaries
from benchmarks.timing import in_turn
from voile.models.permutation import whole_column_log_probability
from voile.publish.m_shuffle.clustering import ITERATIONS, Segments, assignments, random_start
from voile.publish.m_shuffle.decision import Rule
from voile_base.randomness import Randomness

__all__ = ["run"]

SENSITIVE = "hours-per-week"
SIZES = (500, 1000, 2000, 4369, 10_000, 20_000, 40_000)
RUNS = 7
STARTS = 2000
MANY = 20
"""Clusters of Figure 1d."""
FIGURE = FIGURES / "m-shuffle.svg"

Floats = Sequence[float]
Array = NDArray[np.float64]


def run() -> Measurement:
    """Times over K, M and size, convergence, divergence and log P_table."""
    frame = adult()
    coded = Coded.of(frame, SENSITIVE)
    order = coded.ranked(Rule("entropy", 0.0), CLUSTERS[-1])[: len(COLUMNS)]
    by_clusters = _milliseconds({k: partial(_published, ROWS, k, order[:3]) for k in CLUSTERS})
    by_columns = _milliseconds({m: partial(_published, ROWS, 3, order[:m]) for m in COLUMNS})
    by_size = _milliseconds({n: partial(_published, n, 3, order[:3]) for n in SIZES})
    same = _converging(coded)
    divergence = coded.divergences(order)
    log_p = [m * whole_column_log_probability(ROWS) for m in COLUMNS]
    missed = _missed()
    draw(_charts(by_clusters, by_columns, by_size, same, divergence, log_p), FIGURE)
    items = _items(by_clusters, by_columns, by_size, same, divergence, log_p, missed)
    return Measurement(
        question="Do figures 1 to 4 of the paper come out, with its k-means from random starts?",
        data=f"{ROWS:,} rows of Adult and more where the size varies; sensitive: {SENSITIVE} (the "
        "paper's Salary is a class of two in Adult); columns by entropy, as the paper has it: "
        f"{', '.join(order)}",
        seeds=f"rows 2017; times 1; starts 0 to {STARTS - 1}",
        protocol=f'start = "random"; times: table open, warm, medians of {RUNS} runs in turn; '
        f"convergence: numbers in the cluster where they end, mean of 100 starts with K = {MANY}; "
        "divergence: of the average over all shuffles, exact",
        answer=f"All runs take under {max(*by_clusters, *by_columns, *by_size):.0f} ms, where the "
        f"paper has up to 10 s. From random rows k-means ends after {len(same)} iterations at "
        f"most, far below the {ITERATIONS:,} allowed. Curves: figures/{FIGURE.name}.",
        targets=[departures(items)],
        tables=[
            beside_paper(items),
            _line("Figure 1a: milliseconds over K (M = 3)", CLUSTERS, by_clusters, ".1f"),
            _line("Figure 1b: milliseconds over M (K = 3)", COLUMNS, by_columns, ".1f"),
            _line("Figure 1c: milliseconds over rows (K = 3, M = 3)", SIZES, by_size, ".1f"),
            _line("Figure 1d: share in its last cluster, by iterations",
                  range(1, len(same) + 1), same, ".4f"),
            _line("Figure 2b: expected divergence over K (M = 5), nats", CLUSTERS,
                  divergence[:, 4].tolist(), ".4f"),
            _line("Figure 3b: expected divergence over M (K = 3), nats", COLUMNS,
                  divergence[2].tolist(), ".4f"),
            _line("Figure 4a: log P_table over M", COLUMNS, log_p, ",.0f"),
        ],
    )  # fmt: skip


def _published(rows: int, clusters: int, columns: Sequence[str]) -> Callable[[], object]:
    frame = adult(rows)
    table = voile.open_frame(frame, plan_of(frame, SENSITIVE))
    method = voile.MShuffle(clusters=clusters, columns=list(columns), start="random")
    return lambda: method.prepare(table, Randomness.seeded(1))


def _milliseconds(sides: dict[int, Callable[[], Callable[[], object]]]) -> list[float]:
    ready = {str(number): side() for number, side in sides.items()}
    for one in ready.values():
        one()
    taken = in_turn(ready, {}, RUNS)
    return [1000 * taken[str(number)] for number in sides]


def _converging(coded: Coded) -> list[float]:
    """After each iteration, the share of rows in the cluster where they end; mean of starts."""
    numbers, rows = coded.numbers, coded.weights
    courses = []
    for start in range(100):
        labels = list(assignments(numbers, rows, MANY, Randomness.seeded(start).key("start")))
        courses.append([float(np.average(one == labels[-1], weights=rows)) for one in labels])
    most = max(map(len, courses))
    return [float(np.mean([c[min(i, len(c) - 1)] for c in courses])) for i in range(most)]


def _missed() -> float:
    """Share of random starts that miss the best four clusters of the paper's salaries."""
    numbers, rows = salaries()
    best = Segments.optimal(numbers, rows, np.zeros(len(numbers), dtype=np.int64), 4)
    missed = 0
    for start in range(STARTS):
        label = random_start(numbers, rows, 4, Randomness.seeded(start).key("start"))
        squares = sum(
            rows[label == c] @ (numbers[label == c] - _mean(numbers, rows, label == c)) ** 2
            for c in np.unique(label)
        )
        missed += squares > best.cost[3] * (1 + 1e-9)
    return missed / STARTS


def _mean(numbers: Array, rows: Array, own: NDArray[np.bool_]) -> float:
    return float(np.average(numbers[own], weights=rows[own]))


def _line(title: str, heads: Sequence[int] | range, values: Floats, form: str) -> Table:
    return Table(title, [f"{head:,}" for head in heads], [[format(v, form) for v in values]])


def _charts(
    by_clusters: Floats,
    by_columns: Floats,
    by_size: Floats,
    same: Floats,
    divergence: Array,
    log_p: Floats,
) -> list[PaperChart]:
    iterations = list(range(1, len(same) + 1))
    paper = PaperCurve(
        "the paper: 97 % after 1,000 iterations", iterations, [0.97] * len(same), printed=True
    )
    by_k = [
        PaperCurve(f"M = {m}", list(CLUSTERS), divergence[:, m - 1].tolist()) for m in (1, 3, 5)
    ]
    by_m = [PaperCurve(f"K = {k}", list(COLUMNS), divergence[k - 1].tolist()) for k in (1, 3, 6)]
    sizes = [n / 1000 for n in SIZES]
    return [
        PaperChart("Figure 1a", "time over K", "K clusters", "milliseconds",
              [PaperCurve("M = 3", list(CLUSTERS), by_clusters)]),
        PaperChart("Figure 1b", "time over M", "M columns", "milliseconds",
              [PaperCurve("K = 3", list(COLUMNS), by_columns)]),
        PaperChart("Figure 1c", "time over size", "thousand rows", "milliseconds",
              [PaperCurve("K = 3, M = 3", sizes, by_size)]),
        PaperChart("Figure 1d", "convergence", "iterations", "share in its last cluster",
              [PaperCurve(f"K = {MANY}", iterations, same), paper]),
        PaperChart("Figure 2b", "divergence of the table over K", "K clusters", "nats", by_k),
        PaperChart("Figure 3b", "divergence of the table over M", "M columns", "nats", by_m),
        PaperChart("Figure 4a", "log P_table over M, any K", "M columns", "nats",
              [PaperCurve("(1/n)^(nM)", list(COLUMNS), log_p)]),
    ]  # fmt: skip


def _items(
    by_clusters: Floats,
    by_columns: Floats,
    by_size: Floats,
    same: Floats,
    divergence: Array,
    log_p: Floats,
    missed: float,
) -> list[PaperItem]:
    over_k, over_m = divergence[:, 4], divergence[2]
    reached = next(i for i, share in enumerate(same, 1) if share >= 0.97)
    grown, rows = by_size[-1] / by_size[0], SIZES[-1] / SIZES[0]
    return [
        PaperItem("Table 2", "twelve salaries in four clusters from random rows",
                  "the rows alone", f"{missed:.1%} of {STARTS:,} starts miss the best four",
                  "agrees"),
        PaperItem("Figure 1a", "time over K", "linear",
                  f"{by_clusters[0]:.1f} to {by_clusters[-1]:.1f} ms from K = 1 to {CLUSTERS[-1]}",
                  "departs", "numbers are clustered by distinct value, so that K hardly counts"),
        PaperItem("Figure 1b", "time over M", "rises slightly",
                  f"{by_columns[0]:.1f} to {by_columns[-1]:.1f} ms from M = 1 to {COLUMNS[-1]}",
                  "agrees" if by_columns[-1] > by_columns[0] else "departs",
                  "" if by_columns[-1] > by_columns[0] else "within what the machine varies"),
        PaperItem("Figure 1c", "time over size", "exponential up to 1,000 rows, then up to 10 s",
                  f"{grown:.1f} times the time for {rows:.0f} times the rows, at most "
                  f"{max(by_size):.0f} ms", "departs", "permuting is linear in rows"),
        PaperItem("Figure 1d", "convergence", "97 % the same after 1,000 iterations",
                  f"97 % after {reached}, all after {len(same)} (K = {MANY})", "departs",
                  "iterations count passes over all numbers here; one number converges soon"),
        PaperItem("Figure 2a, 3a", "divergence of columns", "constant, normalised to 1",
                  "0 in every cluster, by construction (shuffle)", "departs",
                  "the paper divides by the original's own figure"),
        PaperItem("Figure 2b", "divergence of the table over K, M = 5", "falls, ever less",
                  " / ".join(f"{value:.3f}" for value in over_k),
                  "agrees" if (np.diff(over_k) < 1e-9).all() else "departs",
                  "" if (np.diff(over_k) < 1e-9).all() else "the best clusters do not nest"),
        PaperItem("Figure 3b", "divergence of the table over M, K = 3", "rises",
                  " / ".join(f"{value:.3f}" for value in over_m),
                  "agrees" if (np.diff(over_m) > -1e-9).all() else "departs",
                  "" if (np.diff(over_m) > -1e-9).all() else "fewer columns tell as much"),
        PaperItem("Figure 4a", "log P over M", "falls linearly",
                  " / ".join(f"{value:,.0f}" for value in log_p), "agrees"),
        PaperItem("Figure 4b", "log P over K", "constant", "constant: no K in (1/n)^(nM)",
                  "agrees"),
    ]  # fmt: skip
