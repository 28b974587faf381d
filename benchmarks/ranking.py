"""Rankings: how often each search succeeds, how fast, and how much of a top is published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks import ranking_baseline
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import in_turn, seconds_text
from voile.publish.ranking.groups import Remnant, SearchTerms
from voile.publish.ranking.local_search import search
from voile_base.randomness import Randomness

__all__ = ["run", "table"]

SEED = 2011
TABLES, ROWS, ATTRIBUTES = 100, 10_000, 5
PRECISION = Fraction(7, 10)
SIZES = (5, 10, 20, 30, 40, 50)
SEARCHES = (
    "perfect-recall",
    "mondrian",
    "deletion",
    "insertion",
    "grasp",
    "theta",
    "theta-rapid",
    "growing",
    "growing-exchange",
    "peeling-lift",
    "peeling-ratio",
    "exact",
)
DISTRIBUTIONS = ("uniform", "correlated", "anti-correlated")
KEY = Randomness.seeded(SEED).key("ranking")
UNITS = 10**6
TIMED = 12
LARGE_TOP, SMALL_K = 100, 10


def table(distribution: str, number: int) -> NDArray[np.int64]:
    """A table of the thesis's setting, in whole units; as Borzsonyi et al. (ICDE 2001) draw them.

    Correlated rows lie near the diagonal, anti-correlated ones near the plane across it.
    """
    rng = np.random.default_rng([SEED, DISTRIBUTIONS.index(distribution), number])
    if distribution == "uniform":
        return rng.integers(0, UNITS, (ROWS, ATTRIBUTES))
    rows = np.empty((0, ATTRIBUTES))
    while len(rows) < ROWS:
        correlated = distribution == "correlated"
        centre = rng.normal(0.5, 0.25 if correlated else 0.05, (ROWS, 1))
        noise = rng.normal(0, 0.05, (ROWS, ATTRIBUTES))
        if not correlated:
            # Moved along the plane: what one attribute gains the others lose.
            noise = rng.uniform(-0.5, 0.5, (ROWS, ATTRIBUTES))
            noise -= noise.mean(axis=1, keepdims=True)
        drawn = centre + noise
        rows = np.vstack((rows, drawn[((drawn >= 0) & (drawn <= 1)).all(axis=1)]))
    return (rows[:ROWS] * UNITS).astype(np.int64)


def run() -> Measurement:
    """Success, speed against the straightforward version, and a top 100 in groups of ten."""
    success = list(_success())
    speed, exact_seconds = _speed(), {k: _exact_seconds(k) for k in (20, 30)}
    large = _large_top()
    ratios = {name: plain / ours for name, plain, ours in speed}
    seconds_large, recall_large = large[0][1], large[0][2]
    return Measurement(
        question="How often does each search find a group, how fast, and what is published?",
        data=f"{TABLES} tables for each distribution, {ROWS:,} rows, {ATTRIBUTES} attributes, as "
        "Borzsonyi et al. (2001); score: the sum",
        seeds=f"{SEED}",
        protocol=f"precision {PRECISION}, theta 0.04, k = k_p = k_q; success: a first group is "
        f"found; times: warm, medians over {TIMED} tables, sides in turn, ours with the filter "
        "of the table; top 100: medians of first calls after a warm one on another table",
        answer=f"Ours is {min(ratios.values()):,.0f} to {max(ratios.values()):,.0f} times as fast "
        f"at k = 20; the top {LARGE_TOP} with {SMALL_K}-anonymity takes "
        f"{seconds_text(seconds_large)} and publishes {recall_large:.0%}.",
        targets=[
            _target("straightforward / ours at k = 20, least", 50, min(ratios.values())),
            _in_time("exact at k = 20", 0.025, exact_seconds[20]),
            _in_time("exact at k = 30", 1.0, exact_seconds[30]),
            _in_time(f"top {LARGE_TOP} with {SMALL_K}-anonymity (auto)", 0.05, seconds_large),
            _missed_by_auto(success),
        ],
        tables=[
            *_success_tables(success),
            Table(
                "One group at k = 20, uniform",
                ("search", "straightforward, whole table", "ours with the filter", "ratio"),
                [[n, seconds_text(a), seconds_text(b), f"{a / b:,.0f}"] for n, a, b in speed],
            ),
            Table(
                f"Top {LARGE_TOP} with {SMALL_K}-anonymity, uniform, auto",
                ("batch", "time", "recall", "groups", "median rows a group"),
                [
                    [batch, seconds_text(seconds), f"{recall:.2f}", f"{groups:.1f}", f"{rows:.0f}"]
                    for batch, seconds, recall, groups, rows in large
                ],
            ),
        ],
    )


def _target(what: str, least: float, got: float) -> Target:
    return Target(what, f"at least {least:g}", f"{got:,.0f}", got >= least)


def _in_time(what: str, most: float, got: float) -> Target:
    return Target(what, f"at most {seconds_text(most)}", seconds_text(got), got <= most)


Success = tuple[str, int, dict[str, float]]


def _success() -> Iterator[Success]:
    """Share of tables on which each search finds a group."""
    for distribution in DISTRIBUTIONS:
        remnants: dict[int, list[Remnant]] = {k: [] for k in SIZES}
        for number in range(TABLES):
            values = table(distribution, number)
            for k in SIZES:
                remnants[k].append(Remnant.of_table(values, values.sum(axis=1), k))
        for k in SIZES:
            terms = SearchTerms(k, PRECISION)
            found = {name: _share_found(remnants[k], terms, name) for name in (*SEARCHES, "auto")}
            of_top = SearchTerms(k, PRECISION, beyond_top=False)
            found["exact, boxes of top rows"] = _share_found(remnants[k], of_top, "exact")
            outcomes = [search("exact")(remnant, terms, KEY) for remnant in remnants[k]]
            found["undecided"] = sum(o.group is None and not o.proved for o in outcomes) / TABLES
            yield distribution, k, found


def _share_found(remnants: Sequence[Remnant], terms: SearchTerms, name: str) -> float:
    return sum(search(name)(r, terms, KEY).group is not None for r in remnants) / len(remnants)


def _missed_by_auto(success: Sequence[Success]) -> Target:
    missed = sum(
        round(TABLES * (found["exact"] + found["undecided"] - found["auto"]))
        for _, _, found in success
    )
    return Target("tables where auto may have missed a group", "0", str(missed), missed == 0)


def _success_tables(success: Sequence[Success]) -> Iterator[Table]:
    names = (*SEARCHES, "exact, boxes of top rows", "auto", "undecided")
    for distribution in DISTRIBUTIONS:
        columns = [found for which, _, found in success if which == distribution]
        yield Table(
            f"Success ratios, {distribution}",
            ("search", *(f"k = {k}" for k in SIZES)),
            [[name, *(f"{found[name]:.2f}" for found in columns)] for name in names],
        )


def _speed() -> list[tuple[str, float, float]]:
    """Straightforward and our seconds for each search, from the bare table."""
    lines = []
    for name, straightforward in ranking_baseline.SEARCHES.items():
        times = [_both(name, straightforward, number) for number in range(TIMED)]
        lines.append((name, *(median(side) for side in zip(*times, strict=True))))
    return lines


def _both(name: str, straightforward: Callable[..., object], number: int) -> tuple[float, float]:
    values = table("uniform", number)
    scores = values.sum(axis=1)
    terms = SearchTerms(20, PRECISION)

    def plain() -> object:
        is_top = scores >= np.sort(scores)[-terms.k]
        return straightforward(ranking_baseline.Asked(values, scores, is_top, terms.k, PRECISION))

    def ours() -> object:
        return search(name)(Remnant.of_table(values, scores, terms.k), terms, KEY)

    ours()
    times = in_turn({"plain": plain, "ours": ours}, {"plain": (1, 1)}, 5)
    return times["plain"], times["ours"]


def _exact_seconds(k: int) -> float:
    """Median seconds of the exact search alone, over all tables."""
    terms = SearchTerms(k, PRECISION)
    taken = []
    for number in range(TABLES):
        values = table("uniform", number)
        remnant = Remnant.of_table(values, values.sum(axis=1), k)
        search("exact")(remnant, terms, KEY)
        started = perf_counter()
        search("exact")(remnant, terms, KEY)
        taken.append(perf_counter() - started)
    return median(taken)


def _large_top() -> list[tuple[str, float, float, float, float]]:
    """Batch, seconds, recall, groups and rows a group; all top rows at once first."""
    lines = []
    for batch in (None, 10, 20, 40):
        terms = SearchTerms(SMALL_K, PRECISION, batch=batch)
        seconds, recalls, groups, rows = [], [], [], []
        for number in range(TIMED):
            values = table("uniform", number)
            scores = values.sum(axis=1)
            started = perf_counter()
            remnant = Remnant.of_table(values, scores, LARGE_TOP)
            found = remnant.publish(terms, search("auto"), KEY)
            seconds.append(perf_counter() - started)
            recalls.append(float(found.recall))
            groups.append(len(found.groups))
            rows += [len(group.members) for group in found.groups]
        lines.append(
            (
                "all" if batch is None else str(batch),
                median(seconds),
                float(np.mean(recalls)),
                float(np.mean(groups)),
                median(rows),
            )
        )
    return lines
