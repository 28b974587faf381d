"""What the M-Shuffle paper says of its curves, each judged by a number of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.parcel_claims import Claim
from benchmarks.shuffle_curves import CLUSTERS, ROWS, Coded, Point, adult
from benchmarks.shuffle_figure import Curves
from voile.publish.m_shuffle.decision import Rule

__all__ = ["RISE", "Small", "claims", "of_small_tables", "rises_beyond"]

Floats = NDArray[np.float64]

RISE = 1e-9
"""Nats; less is rounding."""
SMALL = (12, 25, 50, 100, 200, 400, 1000)
TABLES = 100
BEYOND = 50
OTHERS = ("hours-per-week", "age", "capital-gain", "capital-loss")


@dataclass(frozen=True, eq=False)
class Small:
    """Small tables drawn from the same rows."""

    rows: int
    rising: Floats
    """Shape (M,): the share of tables in which some step of K raises the expected divergence."""


def of_small_tables(sensitive: str, order: Sequence[str]) -> list[Small]:
    """Samples of the rows of Adult, K as in the paper."""
    found = []
    for rows in SMALL:
        tables = (Coded.of(adult(rows, seed), sensitive) for seed in range(TABLES))
        rising = [(_steps(table.divergences(order)) > RISE).any(axis=0) for table in tables]
        found.append(Small(rows, np.mean(rising, axis=0)))
    return found


def rises_beyond(rule: Rule) -> Iterator[tuple[str, int, str]]:
    """The steps of K that raise the expected divergence, up to many clusters, all rows.

    For several sensitive columns: its name, the number of clusters, and the steps.
    """
    for sensitive in OTHERS:
        table = Coded.of(adult(), sensitive, BEYOND)
        order = table.ranked(rule, CLUSTERS[-1])[: len(CLUSTERS)]
        rising = _steps(table.divergences(order)) > RISE
        said = [
            f"M = {m + 1}: to K = {', '.join(f'{k + 2}' for k in np.flatnonzero(rising[:, m]))}"
            for m in range(len(order))
            if rising[:, m].any()
        ]
        yield sensitive, table.most, "; ".join(said) or "none"


def claims(orders: dict[str, Curves], small: Sequence[Small]) -> list[Claim]:
    """Judge all claims."""
    return [
        _columns(orders),
        _falls_with_clusters(orders),
        _single_draws(orders),
        _small(small),
        _rises_with_columns(orders),
        _linear(orders),
        _blind_to_clusters(orders),
        _chance_grows(orders),
    ]


def _verdict(*, holds: bool) -> str:
    return "confirmed" if holds else "refuted"


def _steps(curves: Floats) -> Floats:
    """From each K to the next, along the first axis."""
    return np.diff(curves, axis=0)


def _columns(orders: dict[str, Curves]) -> Claim:
    points = [point for curves in orders.values() for point in curves.points]
    worst = max(point.of_columns for point in points)
    draws = sum(len(point.traced) for point in points)
    return Claim(
        "the divergence of each column is the same for every K and M",
        _verdict(holds=worst == 0),
        f"{worst:g} in the whole table and in every cluster, in all {draws} releases (the paper's "
        "figures normalise it to 1)",
    )


def _falls_with_clusters(orders: dict[str, Curves]) -> Claim:
    steps = np.concatenate([_steps(curves.expected).ravel() for curves in orders.values()])
    rising = int((steps > RISE).sum())
    return Claim(
        "the divergence of the table falls with K",
        _verdict(holds=rising == 0),
        f"expected over all shuffles, {rising} of {len(steps)} steps rise; but it falls little, "
        f"from K = 1 to {CLUSTERS[-1]} by "
        + "; ".join(f"{_range(_fall(curves))} with {order}" for order, curves in orders.items()),
    )


def _fall(curves: Curves) -> Floats:
    return np.asarray(1 - curves.expected[-1] / curves.expected[0])


def _range(shares: Floats) -> str:
    return f"{shares.min():.1%} to {shares.max():.1%}"


def _single_draws(orders: dict[str, Curves]) -> Claim:
    """Of one release after another, with the seeds of the draws."""
    said, all_rising = [], 0
    measures: dict[str, Callable[[Point], Sequence[float]]] = {
        "Kullback-Leibler, smoothed": lambda point: point.kullback_leibler,
        "Jensen-Shannon": lambda point: point.jensen_shannon,
    }
    for name, of in measures.items():
        by_order = [_steps(_drawn(curves.points, of)).ravel() for curves in orders.values()]
        steps = np.concatenate(by_order)
        rising = int((steps > RISE).sum())
        all_rising += rising
        said.append(f"{name}: {rising} of {len(steps)} steps rise")
    return Claim(
        "the same, of single releases",
        _verdict(holds=all_rising == 0),
        f"{'; '.join(said)}: what clusters change drowns in the draw",
    )


def _drawn(points: Sequence[Point], of: Callable[[Point], Sequence[float]]) -> Floats:
    """Shape (K, M, draws)."""
    return np.array([[of(point) for point in points if point.clusters == k] for k in CLUSTERS])


def _small(small: Sequence[Small]) -> Claim:
    worst = max(small, key=lambda one: float(one.rising.max()))
    return Claim(
        "the same, of small tables",
        _verdict(holds=not worst.rising.max()),
        f"expected; in up to {worst.rising.max():.0%} of {TABLES} samples of {worst.rows} rows "
        f"some step of K raises it: optimal clusters for K + 1 do not divide those for K",
    )


def _rises_with_columns(orders: dict[str, Curves]) -> Claim:
    steps = np.concatenate([np.diff(c.expected, axis=1).ravel() for c in orders.values()])
    falling = int((steps < -RISE).sum())
    first = next(iter(orders.values())).expected[0]
    return Claim(
        "the divergence of the table rises with M",
        _verdict(holds=falling == 0),
        f"{falling} of {len(steps)} steps fall (none can); at K = 1 "
        f"{', '.join(f'{value:.2f}' for value in first)} nats",
    )


def _linear(orders: dict[str, Curves]) -> Claim:
    said = []
    for order, curves in orders.items():
        hidden = np.array([0.0, *curves.over_columns(1, lambda point: point.log_probability)])
        each = -np.diff(hidden)
        said.append(f"{each.min():,.0f} to {each.max():,.0f} with {order}")
    paper = -next(iter(orders.values())).points[0].paper_log_probability
    return Claim(
        "the log of P falls linearly in M",
        "confirmed of the paper's P, refuted of arrangements",
        f"the paper's falls by n ln n = {paper:,.0f} a column, whatever it holds; minus the log of "
        f"the number of arrangements falls at K = 1 by {'; '.join(said)}",
    )


def _blind_to_clusters(orders: dict[str, Curves]) -> Claim:
    curves = next(iter(orders.values()))
    papers = {point.paper_log_probability for point in curves.points if point.number == 1}
    most = curves.points[-1].number
    hidden = curves.over_columns(CLUSTERS[-1], lambda point: point.log_probability)[-1]
    before = curves.over_columns(1, lambda point: point.log_probability)[-1]
    chances = curves.over_clusters(most, lambda point: point.chance)
    return Claim(
        "P_table is the same for every K",
        _verdict(holds=len(papers) == 1),
        f"so it does not see what clusters take away: with M = {most} the arrangements lose "
        f"{1 - hidden / before:.1%} of their log from K = 1 to {CLUSTERS[-1]}, and the chance that "
        f"a row gets all its own values back grows from {chances[0]:.2%} to {chances[-1]:.2%}",
    )


def _chance_grows(orders: dict[str, Curves]) -> Claim:
    table = Coded.of(adult(weight=True), "hours-per-week")
    weight = [table.column("fnlwgt", k) for k in CLUSTERS]
    times = np.array([column.chance_per_row / weight[0].chance_per_row for column in weight])
    steps = [_steps(_drawn(c.points, lambda point: [point.chance])) for c in orders.values()]
    falling = sum(int((step < 0).sum()) for step in steps)
    return Claim(
        "the chance that a row gets its own values back grows with K",
        _verdict(holds=falling == 0 and bool(np.all(np.diff(times) > 0))),
        f"{falling} of {sum(step.size for step in steps)} steps fall, where a value is common; of "
        f"the sampling weight, {weight[0].distinct:,} values in {ROWS:,} rows, the chance is "
        f"{', '.join(f'{ratio:.2f}' for ratio in times)} times that of one cluster (K times, were "
        "all values different)",
    )
