"""M-Shuffle in the paper's setting: curves over K and M, its claims, and what a run takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import voile
from benchmarks import shuffle_figure
from benchmarks.record import Measurement, Table, Target
from benchmarks.shuffle_claims import (
    BEYOND,
    RISE,
    TABLES,
    Small,
    claims,
    of_small_tables,
    rises_beyond,
)
from benchmarks.shuffle_curves import CLUSTERS, COLUMNS, ROWS, SEED, Coded, adult, measured, plan_of
from benchmarks.shuffle_figure import Curves
from benchmarks.shuffle_starts import SALARIES, STARTS, from_random_starts, salaries
from benchmarks.shuffle_timing import RUNS, Timed, choosing, given
from benchmarks.timing import seconds_text
from voile.publish.m_shuffle.decision import Rule

__all__ = ["run"]

SENSITIVE = "hours-per-week"
DRAWS = 5
MOST_SECONDS = 0.05
RULES = {
    "weakest tie first": Rule("mutual-information", 1.0),
    "highest entropy first": Rule("entropy", 0.0),
}
FIGURE = Path(__file__).parent / "figures" / "shuffle-curves.svg"


def run() -> Measurement:
    """Publish, measure and attack for every K and M; draw the curves; time the method."""
    frame = adult()
    coded = Coded.of(frame, SENSITIVE)
    orders = {
        name: coded.ranked(rule, CLUSTERS[-1])[: len(COLUMNS)] for name, rule in RULES.items()
    }
    curves = {
        name: Curves(list(measured(frame, SENSITIVE, order, DRAWS)), coded.divergences(order))
        for name, order in orders.items()
    }
    by_tie, by_entropy = curves.values()
    shuffle_figure.draw(by_tie, by_entropy, FIGURE)
    order = orders["weakest tie first"]
    small = of_small_tables(SENSITIVE, order)
    timed = given(voile.open_frame(frame, plan_of(frame, SENSITIVE)), order)
    chosen = choosing()
    slowest = max(timed, key=lambda one: one.seconds)
    *usual, hardest = chosen
    slowest_choice = max(usual, key=lambda one: one.seconds)
    return Measurement(
        question="Do the curves of the paper over K and M hold on Adult, and what does a run take?",
        data=f"{ROWS:,} rows drawn from the 45,222 complete rows of Adult (the paper does not say "
        f"which are its own), without the sampling weight and education-num; sensitive: "
        f"{SENSITIVE}, {len(coded.numbers)} values (the paper's Salary is a class of two in "
        f"Adult); clusters are optimal; M columns, weakest tie to {CLUSTERS[-1]} clusters first: "
        f"{', '.join(order)}; "
        f"highest entropy first: {', '.join(orders['highest entropy first'])}",
        seeds=f"rows {SEED}; releases from {SEED}; small tables 0 to {TABLES - 1}",
        protocol=f"{DRAWS} releases for each K, M and order; expected divergence: of the average "
        "over all shuffles, exact; row tracing by all columns that stay, at all rows; times: "
        f"table open, decision and application, warm, medians of {RUNS} runs in turn",
        answer=f"A run takes at most {seconds_text(slowest.seconds)}, and the automatic choice "
        f"{seconds_text(slowest_choice.seconds)}, where the paper reports up to 10 s; clusters of "
        f"a column with thousands of values make it {seconds_text(hardest.seconds)}.  The "
        "divergence of columns is 0 throughout; that of the table rises with M, and falls little "
        "with K.  Curves: figures/shuffle-curves.svg.",
        targets=[
            *_shapes(curves),
            _in_time("a run with K and M given, slowest of all K and M", slowest),
            _in_time("the automatic choice among 50 K, slowest case", slowest_choice),
        ],
        tables=list(_tables(curves, small, timed, chosen, coded)),
    )


def _shapes(curves: dict[str, Curves]) -> Iterator[Target]:
    worst = max(point.of_columns for each in curves.values() for point in each.points)
    yield Target("divergence of a permuted column, largest", "0", f"{worst:g}", worst == 0)
    for what, axis, sign in (("rise from one K to the next", 0, 1), ("fall with M", 1, -1)):
        steps = np.concatenate(
            [sign * np.diff(each.expected, axis=axis).ravel() for each in curves.values()]
        )
        wrong = int((steps > RISE).sum())
        said = f"{wrong} of {len(steps)}"
        yield Target(f"steps of the expected divergence that {what}", "0", said, wrong == 0)


def _in_time(what: str, timed: Timed) -> Target:
    most = f"under {seconds_text(MOST_SECONDS)}"
    return Target(what, most, seconds_text(timed.seconds), timed.seconds < MOST_SECONDS)


def _tables(
    curves: dict[str, Curves],
    small: Sequence[Small],
    timed: Sequence[Timed],
    chosen: Sequence[Timed],
    coded: Coded,
) -> Iterator[Table]:
    yield Table(
        "Claims about the curves",
        ("claim", "verdict", "found"),
        [[claim.text, claim.verdict, claim.number] for claim in claims(curves, small)],
    )
    for order, each in curves.items():
        yield _curves(order, each)
    yield Table(
        f"Steps of K that raise the expected divergence, all rows, up to {BEYOND} clusters",
        ("sensitive column", "clusters", "steps"),
        [[name, f"{most}", said] for name, most, said in rises_beyond(RULES["weakest tie first"])],
    )
    yield Table(
        f"Share of {TABLES} small tables in which some step of K raises the expected divergence",
        ("rows", *(f"M = {m}" for m in COLUMNS)),
        [[f"{one.rows:,}", *(f"{share:.0%}" for share in one.rising)] for one in small],
    )
    yield _starts(coded)
    slowest = max(timed, key=lambda one: one.seconds)
    fastest = min(timed, key=lambda one: one.seconds)
    lines = [("fastest: ", fastest), ("slowest: ", slowest), *(("limits: ", one) for one in chosen)]
    yield Table(
        "Time of the method alone",
        ("what", "result", "median"),
        [[f"{kind}{one.what}", one.choice, seconds_text(one.seconds)] for kind, one in lines],
    )


def _curves(order: str, curves: Curves) -> Table:
    columns = (
        "K", "M", "expected divergence", "one draw: Kullback-Leibler", "Jensen-Shannon",
        "log P_table, paper", "log P, arrangements", "chance that a row is whole, exact",
        "row tracing", "baseline",
    )  # fmt: skip
    return Table(
        f"All K and M, {order} (of draws: the mean, and half the range)",
        columns,
        [
            [
                f"{point.clusters}",
                f"{point.number}",
                f"{curves.expected[point.clusters - 1, point.number - 1]:.4f}",
                _spread(point.kullback_leibler),
                _spread(point.jensen_shannon),
                f"{point.paper_log_probability:,.0f}",
                f"{point.log_probability:,.0f}",
                f"{point.chance:.3g}",
                _spread(point.traced),
                f"{point.baseline:.3g}",
            ]
            for point in curves.points
        ],
    )


def _spread(draws: Sequence[float]) -> str:
    return f"{np.mean(draws):.3g} ± {np.ptp(draws) / 2:.1g}"


def _starts(coded: Coded) -> Table:
    """Lloyd's algorithm on a stated set and on the sensitive column."""
    sets = {
        "twelve salaries": salaries(),
        SENSITIVE: (coded.numbers, coded.weights),
    }
    lines = [
        [name, f"{one.clusters}", one.start, f"{one.missed / one.runs:.0%}", f"{one.excess:.2f}"]
        for name, (numbers, rows) in sets.items()
        for one in from_random_starts(numbers, rows, CLUSTERS[1:])
    ]
    said = ", ".join(f"{salary:,}" for salary in SALARIES)
    return Table(
        f"{STARTS} single starts of Lloyd's algorithm against the optimum; salaries: {said}",
        ("numbers", "K", "start", "missed", "median cost of those, over the optimum"),
        lines,
    )
