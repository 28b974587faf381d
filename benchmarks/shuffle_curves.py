"""Adult in the setting of the M-Shuffle paper: what shuffling M columns in K clusters does to it.

``Coded`` computes what can be said without a draw; ``measured`` publishes and measures releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from benchmarks.data import shared_file
from voile.attack.row_tracing import RowTracingAttack
from voile.models.permutation import (
    PairCounts,
    entropy,
    expected_divergence,
    whole_column_log_probability,
)
from voile.publish.m_shuffle.clustering import Segments
from voile.publish.m_shuffle.decision import ClusteredColumn, Rule
from voile.schema.plan import Plan, parse_plan
from voile.utility.divergence import DivergenceSums

__all__ = ["CLUSTERS", "COLUMNS", "ROWS", "Coded", "Point", "adult", "measured", "plan_of"]

ROWS = 4369
SEED = 2017
CLUSTERS = range(1, 7)
COLUMNS = range(1, 7)
LEFT_OUT = ("part", "fnlwgt", "education-num")
"""Not of the census; a sampling weight; the same as education."""
GROUP = "group"

Codes = NDArray[np.int64]


def adult(rows: int = ROWS, seed: int = SEED, *, weight: bool = False) -> pl.DataFrame:
    """A sample of the 45,222 complete rows, in the order of the file.

    ``weight``: with the sampling weight, which is nearly unique.
    """
    table = _complete_rows()
    table = table.drop(name for name in LEFT_OUT if not (weight and name == "fnlwgt"))
    return table[np.sort(np.random.default_rng(seed).choice(table.height, rows, replace=False))]


@cache
def _complete_rows() -> pl.DataFrame:
    table = pl.read_csv(shared_file("census/adult.csv"), infer_schema_length=None)
    return table.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))


def plan_of(frame: pl.DataFrame, sensitive: str) -> Plan:
    """All other columns are quasi-identifiers."""
    known = [name for name in frame.columns if name != sensitive]
    return parse_plan({"roles": {"quasi_identifiers": known, "sensitive": [sensitive]}})


@dataclass(frozen=True, eq=False)
class Coded:
    """A table as codes of values, and the optimal clusters of its sensitive column."""

    codes: dict[str, Codes]
    sensitive: str
    numbers: NDArray[np.float64]
    """The distinct sensitive values, ascending; their places are the codes of the column."""
    most: int
    """The largest number of clusters."""

    @classmethod
    def of(cls, frame: pl.DataFrame, sensitive: str, most: int = CLUSTERS[-1]) -> Coded:
        """Clusters up to ``most``, or as many as there are distinct values."""
        coded = {name: np.unique(frame[name], return_inverse=True) for name in frame.columns}
        numbers = coded[sensitive][0].astype(np.float64)
        codes = {name: code.astype(np.int64) for name, (_, code) in coded.items()}
        return cls(codes, sensitive, numbers, min(most, len(numbers)))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Rows of each distinct sensitive value."""
        return np.bincount(self.codes[self.sensitive]).astype(np.float64)

    @cached_property
    def segments(self) -> Segments:
        """The best divisions."""
        block = np.zeros(len(self.numbers), dtype=np.int64)
        return Segments.optimal(self.numbers, self.weights, block, self.most)

    def column(self, name: str, clusters: int) -> ClusteredColumn:
        """A column within clusters."""
        cluster = self.segments.labels(clusters)[self.codes[self.sensitive]]
        values = int(self.codes[name].max()) + 1
        pairs, rows = np.unique(cluster * values + self.codes[name], return_counts=True)
        return ClusteredColumn(name, PairCounts(pairs // values, pairs % values, rows))

    def ranked(self, rule: Rule, clusters: int) -> list[str]:
        """The weakly tied columns, what to permute first in front."""
        names = (name for name in self.codes if name != self.sensitive)
        return [c.name for c in rule.ranked([self.column(name, clusters) for name in names])]

    def divergences(self, order: Sequence[str]) -> NDArray[np.float64]:
        """Expected divergence, shape (K, M), of the first 1 to M columns in 1 to K clusters."""
        alone = np.array(
            [
                [self.column(name, k).pairs.conditional_entropy for name in order]
                for k in range(1, self.most + 1)
            ]
        )
        whole = self._entropy(set())
        kept = [self._entropy(set(order[:m])) for m in range(1, len(order) + 1)]
        return np.array(
            [
                [expected_divergence(row[: m + 1], kept[m], whole) for m in range(len(order))]
                for row in alone
            ]
        )

    def _entropy(self, without: set[str]) -> float:
        """Of all columns but some together."""
        key = np.zeros(len(self.codes[self.sensitive]), dtype=np.int64)
        for name, codes in self.codes.items():
            if name not in without:
                key = np.unique(key * (codes.max() + 1) + codes, return_inverse=True)[1]
        return entropy(np.bincount(key))


@dataclass(frozen=True)
class Point:
    """What releases with M columns in K clusters are; drawn several times."""

    clusters: int
    columns: tuple[str, ...]
    of_columns: float
    """The largest divergence of a permuted column, in the table or in a cluster, in any draw."""
    kullback_leibler: tuple[float, ...]
    """Smoothed, of the rows of each draw."""
    jensen_shannon: tuple[float, ...]
    paper_log_probability: float
    log_probability: float
    """Minus the log of the number of arrangements."""
    chance: float
    """Expected share of rows whose permuted values are all their own, exact."""
    traced: tuple[float, ...]
    """Success of row tracing at all rows of each draw."""
    baseline: float

    @property
    def number(self) -> int:
        """M."""
        return len(self.columns)


def measured(
    frame: pl.DataFrame, sensitive: str, order: Sequence[str], draws: int
) -> Iterator[Point]:
    """Publish, measure and attack ``draws`` releases for each K and M; by K, then by M."""
    plan = plan_of(frame, sensitive)
    table, coded = voile.open_frame(frame, plan), Coded.of(frame, sensitive)
    for clusters in CLUSTERS:
        for number in COLUMNS:
            names = tuple(order[:number])
            method = voile.MShuffle(clusters=clusters, columns=names)
            kl, js, traced, of_columns = [], [], [], []
            for draw in range(draws):
                randomness = voile.Randomness.seeded(SEED + draw)
                release = method.publish(table, randomness)
                shown = release.table.to_native()
                cells = _cells(frame, shown, frame.columns)
                kl.append(cells.kullback_leibler)
                js.append(cells.jensen_shannon)
                of_columns.append(max(_of_columns(frame, shown, sensitive, names)))
                outcome = RowTracingAttack(targets=None).run(release, frame, plan, randomness)
                assert outcome.success is not None
                traced.append(outcome.success.value)
            yield Point(
                clusters,
                names,
                max(of_columns),
                tuple(kl),
                tuple(js),
                number * whole_column_log_probability(frame.height),
                -float(release.guarantee.parameters["log_arrangements"]),
                _chance(coded, names, clusters),
                tuple(traced),
                float(outcome.baseline),
            )


def _cells(left: pl.DataFrame, right: pl.DataFrame, columns: Sequence[str]) -> DivergenceSums:
    """Of the distinct rows of both tables."""
    sides = (
        table.select(columns).with_columns(pl.lit(side).alias("side"))
        for side, table in enumerate((left, right))
    )
    counts = pl.concat(sides).group_by(columns).agg(pl.len(), pl.col("side").sum())
    rows, right_rows = counts["len"].to_numpy(), counts["side"].to_numpy()
    return DivergenceSums.of(rows.astype(np.int64) - right_rows, right_rows)


def _of_columns(
    frame: pl.DataFrame, shown: pl.DataFrame, sensitive: str, names: Sequence[str]
) -> Iterator[float]:
    """The divergence of each permuted column, in the whole table and in each cluster."""
    clusters = frame.join(
        shown.select(sensitive, GROUP).unique(), on=sensitive, maintain_order="left"
    )
    both = [(frame, shown)]
    both += [
        (part, shown.filter(pl.col(GROUP) == number))
        for (number,), part in clusters.partition_by(GROUP, as_dict=True).items()
    ]
    for left, right in both:
        for name in names:
            yield _cells(left, right, [name]).kullback_leibler


def _chance(coded: Coded, names: Sequence[str], clusters: int) -> float:
    """Expected share of rows that get all their own values back."""
    cluster = coded.segments.labels(clusters)[coded.codes[coded.sensitive]]
    sizes = np.bincount(cluster)[cluster]
    shares = []
    for name in names:
        cell = cluster * (coded.codes[name].max() + 1) + coded.codes[name]
        shares.append(np.bincount(cell)[cell] / sizes)
    return float(np.mean(prod(shares)))
