"""Quasi-identifiers within the clusters of many divisions of the same rows, measured at once.

What ``columns.ClusteredColumn`` measures of one column in one division is measured here of all
columns in all divisions, without building the counts of any: the same numbers, up to the order of
sums.

Algorithm: the pairs of a column stand by value.  For each division one pass adds the rows of each
value up by cluster, in an array with one entry a cluster, and sums c ln c and ln c! over them.
What chance makes of the tie of a cluster depends on its rows alone, so that it is computed once for
each number of rows that occurs, and not once for each division.

Cost: O(D p) for D divisions and p pairs of sensitive and other values, and
``models.hypergeometric`` for all the sizes of clusters that occur.  Memory: D labels for each
combination of sensitive values.  All of it is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from voile.models.permutation import (
    adjusted_information,
    chance_shares,
    entropy,
    log_factorials,
    whole_counts,
)
from voile.publish.m_shuffle.sensitive import Labels
from voile.table.summaries import GroupCounts
from voile_base.compiled import njit

__all__ = ["MeasuredColumn", "measured_columns"]


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """A quasi-identifier within the clusters of one division; see ``columns.ClusteredColumn``."""

    name: str
    distinct: int
    entropy: float
    tie: float
    conditional_entropy: float
    """Where the cluster is known, in nats."""
    log_arrangements: float


def measured_columns(
    columns: Sequence[GroupCounts], rows: NDArray[np.int64], divisions: Sequence[Labels]
) -> list[list[MeasuredColumn]]:
    """All columns, for each division.

    ``columns`` are counted by combination of sensitive values, all by rows or all by what these
    weigh, ``rows`` are those of each combination, shape (g,), and a division has the cluster of
    each, from 0, none left out.
    """
    whole = columns[0].whole
    clusters = [_rows_of(labels, rows) for labels in divisions]
    counted = [whole_counts(each, whole) for each in clusters]
    sizes, index = np.unique(np.concatenate(counted), return_inverse=True)
    indices = np.split(index, np.cumsum([len(each) for each in clusters])[:-1])
    within = [
        _Division(labels, its_indices, entropy(its_rows, whole), log_factorials(its_rows, whole))
        for labels, its_indices, its_rows in zip(divisions, indices, clusters, strict=True)
    ]
    by_column = [_measured(column, sizes, within) for column in columns]
    return [list(measured) for measured in zip(*by_column, strict=True)]


@dataclass(frozen=True, eq=False)
class _Division:
    """What all columns within the clusters of a division share."""

    labels: Labels
    sizes: NDArray[np.int64]
    """Shape (k,): the index of the rows of each cluster among all sizes of clusters."""
    entropy: float
    log_factorials: float


def _measured(
    column: GroupCounts, sizes: NDArray[np.int64], divisions: Sequence[_Division]
) -> list[MeasuredColumn]:
    """One column, for each division; ``sizes`` are the rows that clusters of any have."""
    value_rows = _rows_of(column.value, column.rows)
    value_rows = value_rows[value_rows > 0]
    whole = column.whole
    total, spread = int(value_rows.sum()) / whole, entropy(value_rows, whole)
    met = whole_counts(value_rows, whole)
    chance = np.zeros(len(sizes))
    chance[sizes > 0] = chance_shares(sizes[sizes > 0], met[met > 0])
    by_value = np.argsort(column.value, kind="stable")
    value, group, rows = (part[by_value] for part in (column.value, column.group, column.rows))
    found = []
    for division in divisions:
        clusters = len(division.sizes)
        entropic, logs, cells = _summed(value, group, rows, whole, division.labels, clusters)
        joint = max(0.0, log(total) - entropic / total)
        by_chance = float(chance[division.sizes].sum())
        tie = adjusted_information((division.entropy, spread), joint, by_chance)
        # Exactly 0 where every cluster holds one value.
        arrangements = max(0.0, division.log_factorials - logs) if cells > clusters else 0.0
        found.append(
            MeasuredColumn(
                name=column.column,
                distinct=len(value_rows),
                entropy=spread,
                tie=max(0.0, tie),
                conditional_entropy=max(0.0, joint - division.entropy),
                log_arrangements=arrangements,
            )
        )
    return found


def _rows_of(codes: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of each code."""
    return np.bincount(codes, weights=rows).astype(np.int64)


@njit(cache=True, nogil=True)
def _summed(
    value: NDArray[np.int64],
    group: NDArray[np.int64],
    rows: NDArray[np.int64],
    whole: int,
    labels: Labels,
    clusters: int,
) -> tuple[float, float, int]:
    """Of the rows c of each cluster and value: sums of c ln c and ln c!, and how many there are.

    Rows may be weights, ``whole`` parts to one.  Pairs ascend by value.
    """
    added = np.zeros(clusters, dtype=np.int64)
    entropic, logs, cells = 0.0, 0.0, 0
    start, pairs = 0, len(value)
    while start < pairs:
        end = start
        while end < pairs and value[end] == value[start]:
            added[labels[group[end]]] += rows[end]
            end += 1
        for i in range(start, end):
            cluster = labels[group[i]]
            if added[cluster] == 0:
                continue  # counted at an earlier pair
            count = added[cluster] / whole
            added[cluster] = 0
            cells += 1
            if count != 1.0:
                entropic += count * log(count)
                logs += lgamma(count + 1.0)
        start = end
    return entropic, logs, cells
