"""How far the answers from a release are from the truth, and whether the bounds hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from statistics import median

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from benchmarks.data import LOSS, adult_losses
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

SEED = 2007
QUERIES = 1_000
SELECTIVITY = 0.05
K, E = 5, 100
FRONTIER = [
    (K, E),
    *((k, e) for k, e in product((2, 5, 10, 20), (20, 100, 500)) if (k, e) != (K, E)),
]
RANGES = ("age", "hours-per-week", "education-num")
SETS = ("workclass", "marital-status", "occupation", "relationship")
TARGET_ERROR = 0.10


@dataclass(frozen=True)
class Query:
    """A predicate, and the private rows for which it holds."""

    where: str
    matching: NDArray[np.bool_]


@dataclass(frozen=True)
class Errors:
    """How one release answered all queries."""

    sum_errors: NDArray[np.float64]
    average_errors: NDArray[np.float64]
    widths: NDArray[np.float64]
    """Upper minus lower bound of the sum, relative to the true sum."""
    violations: int
    """Answers whose bounds leave out the truth."""
    blocks: int


def run() -> Measurement:
    """Publish at several k and e, and ask each release the same questions."""
    table = adult_losses()
    queries = _queries(table, np.random.default_rng(SEED))
    results = [_errors(table, queries, k, e) for k, e in FRONTIER]
    main = results[FRONTIER.index((K, E))]
    outside = sum(result.violations for result in results)
    asked = 2 * QUERIES * len(results)
    errors = [float(np.median(e)) for e in (main.sum_errors, main.average_errors)]
    return Measurement(
        question="How well does a release answer sums and averages over part of its rows?",
        data=f"Adult, capital-loss > 0: {len(table):,} rows",
        seeds=f"queries {SEED}; releases 0",
        protocol=f"{QUERIES:,} predicates over two of {len(RANGES) + len(SETS)} quasi-identifiers "
        "(a range between two values drawn from rows, or a set of half the categories), drawn "
        f"again until they match at least {SELECTIVITY:.0%} of the rows; SUM and AVG of each; "
        "|estimate - truth| / truth, and whether the truth, found in the private rows, keeps the "
        "bounds",
        answer=f"At k = {K}, e = {E} the median relative error is {errors[0]:.2%} for SUM and "
        f"{errors[1]:.2%} for AVG, the 95th percentile {np.quantile(main.sum_errors, 0.95):.2%}. "
        f"The truth was outside the bounds of {outside} of {asked:,} answers.",
        targets=[
            Target(
                f"median relative error at k = {K}, e = {E}",
                f"under {TARGET_ERROR:.0%}",
                f"{errors[0]:.2%} (SUM), {errors[1]:.2%} (AVG)",
                max(errors) < TARGET_ERROR,
            ),
            Target(
                "true answers outside their bounds, over all k and e",
                "0",
                f"{outside} of {asked:,}",
                outside == 0,
            ),
        ],
        tables=[_table(results), _selectivity(queries)],
    )


def _queries(table: pl.DataFrame, rng: np.random.Generator) -> list[Query]:
    queries: list[Query] = []
    while len(queries) < QUERIES:
        columns = rng.choice([*RANGES, *SETS], 2, replace=False).tolist()
        parts = [_condition(table[column], rng) for column in columns]
        matching = parts[0].matching & parts[1].matching
        if matching.mean() >= SELECTIVITY:
            queries.append(Query(" AND ".join(part.where for part in parts), matching))
    return queries


def _condition(column: pl.Series, rng: np.random.Generator) -> Query:
    """A range or a set of one column; what matches is found without any SQL."""
    values = column.to_numpy()
    if column.name in RANGES:
        low, high = sorted(rng.choice(values, 2).tolist())
        return Query(
            f'"{column.name}" BETWEEN {low} AND {high}', (values >= low) & (values <= high)
        )
    categories = column.unique().sort().to_list()
    chosen = rng.choice(categories, len(categories) // 2, replace=False).tolist()
    listed = ", ".join(f"'{category}'" for category in chosen)
    return Query(f'"{column.name}" IN ({listed})', np.isin(values.astype(str), chosen))


def _errors(table: pl.DataFrame, queries: Sequence[Query], k: int, e: int) -> Errors:
    roles = voile.Roles(quasi_identifiers=(*RANGES, *SETS), sensitive=(LOSS,))
    private = voile.open_frame(table, voile.Plan(roles=roles))
    release = voile.KEAnonymity(k=k, e=e).publish(private, voile.Randomness.seeded(0))
    losses = table[LOSS].to_numpy()
    errors: dict[str, list[float]] = {"SUM": [], "AVG": []}
    widths, violations = [], 0
    for query in queries:
        rows, total = int(query.matching.sum()), int(losses[query.matching].sum())
        for function, truth in (("SUM", Decimal(total)), ("AVG", Decimal(total) / rows)):
            found = voile.answer(release, f'{function}("{LOSS}")', query.where)
            lower, upper, estimate = found.lower, found.upper, found.estimate
            assert lower is not None, "the query matches no row of the release"
            assert upper is not None, "the query matches no row of the release"
            assert estimate is not None, "the query matches no row of the release"
            errors[function].append(float(abs(estimate - truth) / truth))
            violations += found.matching_rows != rows or not lower <= truth <= upper
            if function == "SUM":
                widths.append(float((upper - lower) / truth))
    blocks = release.method["decision"]["blocks"]
    return Errors(
        np.array(errors["SUM"]), np.array(errors["AVG"]), np.array(widths), violations, blocks
    )


def _table(results: Sequence[Errors]) -> Table:
    lines = sorted(zip(FRONTIER, results, strict=True), key=lambda line: line[0])
    return Table(
        "Relative error over k and e",
        ("k", "e", "blocks", "median, SUM", "median, AVG", "95 %, SUM", "largest, SUM",
         "median width of the bounds", "outside the bounds"),
        [
            [
                f"{k}", f"{e}", f"{r.blocks}", f"{np.median(r.sum_errors):.3%}",
                f"{np.median(r.average_errors):.3%}", f"{np.quantile(r.sum_errors, 0.95):.2%}",
                f"{r.sum_errors.max():.2%}", f"{np.median(r.widths):.1%}", f"{r.violations}",
            ]
            for (k, e), r in lines
        ],
    )  # fmt: skip


def _selectivity(queries: Sequence[Query]) -> Table:
    shares = [float(query.matching.mean()) for query in queries]
    return Table(
        "Share of the rows that the predicates match",
        ("smallest", "median", "largest"),
        [[f"{min(shares):.1%}", f"{median(shares):.1%}", f"{max(shares):.1%}"]],
    )
