"""A small problem: a column of four values with three levels, and one of two values with two."""

from __future__ import annotations

from collections import Counter

import numpy as np

from voile.publish.generalization.problem import Problem
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.table.summaries import CombinationCounts

Row = tuple[int, int]


def problem_of(rows: list[Row]) -> Problem:
    """The problem of rows with a value from 0 to 3 and one from 0 to 1."""
    counted = sorted(Counter(rows).items())
    counts = CombinationCounts(
        columns=("x", "y"),
        values=(_values("abcd"), _values("pq")),
        codes=np.array([combination for combination, _ in counted], dtype=np.int32),
        rows=np.array([count for _, count in counted], dtype=np.int64),
    )
    x = _hierarchy("x", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
    y = _hierarchy("y", [[0, 1], [0, 0]])
    return Problem(counts, (x, y), (), suppressible=0)


def _values(letters: str) -> DistinctValues:
    return DistinctValues("text", tuple(letters))


def _hierarchy(column: str, levels: list[list[int]]) -> BoundHierarchy:
    codes = tuple(np.array(level, dtype=np.int32) for level in levels)
    values = tuple(
        GeneralizedValues(np.full(max(level) + 1, 1 / (max(level) + 1)), texts=_texts(level))
        for level in levels
    )
    return BoundHierarchy(column, codes, values)


def _texts(level: list[int]) -> tuple[str, ...]:
    return tuple(f"{max(level)}-{value}" for value in range(max(level) + 1))
