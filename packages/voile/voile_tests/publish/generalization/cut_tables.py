"""Small tables of rows as problems for the algorithms that cut, and what their solutions show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

from voile.models.criteria import Criterion
from voile.publish.generalization.problem import Problem, Solution
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.table.summaries import CombinationCounts

TREE = {
    "a1": ("a1", "a", "*"),
    "a2": ("a2", "a", "*"),
    "a3": ("a3", "a", "*"),
    "b1": ("b1", "b", "*"),
    "b2": ("b2", "b", "*"),
    "c": ("c", "c", "*"),
}
"""What each leaf becomes at each level; the leaf ``c`` stays alone up to the top."""

numbers = st.integers(0, 6)
maybe_numbers = st.one_of(st.none(), numbers)
leaves = st.sampled_from(sorted(TREE))
diseases = st.sampled_from(["flu", "gastritis", "ulcer"])
tables = st.lists(st.tuples(maybe_numbers, leaves, numbers, diseases), min_size=1, max_size=24)
"""Rows of an age, a place in the tree, a weight, and a sensitive value."""

COLUMNS = ("age", "place", "weight", "disease")


def problem_of(
    rows: Sequence[tuple],
    criteria: Sequence[Criterion],
    suppressible: int = 0,
    columns: Sequence[str] = COLUMNS,
    sensitive: int = 1,
) -> Problem:
    """The problem of a table whose last columns are sensitive."""
    values = [distinct([row[j] for row in rows]) for j in range(len(columns))]
    places = [{value: place for place, value in enumerate(kept)} for kept, _ in values]
    codes = np.array([[places[j][v] for j, v in enumerate(row)] for row in rows], dtype=np.int32)
    found, counts = np.unique(codes, axis=0, return_counts=True)
    described = tuple(described for _, described in values)
    quasi_identifiers = len(columns) - sensitive
    return Problem(
        CombinationCounts(tuple(columns), described, found, counts.astype(np.int64)),
        tuple(bound(columns[j], described[j]) for j in range(quasi_identifiers)),
        tuple(criteria),
        suppressible,
    )


def distinct(column: Sequence) -> tuple[list, DistinctValues]:
    """The distinct values of a column, missing first, and their description."""
    present = sorted({value for value in column if value is not None})
    kept = [None] * (None in column) + present
    texts = tuple(None if value is None else str(value) for value in kept)
    if present and isinstance(present[0], str):
        kind = "date" if present[0][:2] == "20" else "text"
        return kept, DistinctValues(kind, texts)
    return kept, DistinctValues("number", texts, ExactNumbers.of(present))


def bound(column: str, values: DistinctValues) -> BoundHierarchy:
    """Two levels for numbers and dates, those of the tree for texts."""
    d = len(values)
    if values.kind != "text":
        share = np.full(d, 2.0**-53)
        top = GeneralizedValues(np.ones(1), ("*",))
        codes = (np.arange(d, dtype=np.int32), np.zeros(d, dtype=np.int32))
        return BoundHierarchy(column, codes, (GeneralizedValues(share), top))
    codes, levels = [], []
    for level in range(3):
        names = [TREE[text][level] for text in values.texts]
        used = sorted(set(names))
        codes.append(np.array([used.index(name) for name in names], dtype=np.int32))
        covered = [sum(path[level] == name for path in TREE.values()) for name in used]
        shown = GeneralizedValues(np.array(covered) / len(TREE), tuple(used) if level else None)
        levels.append(shown)
    return BoundHierarchy(column, tuple(codes), tuple(levels))


def groups_of(problem: Problem, solution: Solution) -> dict[int, list[tuple[tuple, int]]]:
    """For each group, its combinations as codes, and their rows."""
    groups = defaultdict(list)
    for group, codes, rows in zip(
        solution.group.tolist(), problem.counts.codes.tolist(), problem.counts.rows, strict=True
    ):
        groups[group].append((tuple(codes), int(rows)))
    return dict(groups)


def shown(problem: Problem, solution: Solution, group: int, column: int) -> object:
    """What a group shows: a text, None for a missing value, or the two ends of an interval."""
    recoded = solution.columns[column]
    code = int(recoded.codes[group])
    if recoded.values is None:
        return problem.counts.values[column].texts[code]
    if recoded.values.texts is not None:
        return recoded.values.texts[code]
    if recoded.values.missing and code == 0:
        return None
    assert recoded.values.low is not None
    assert recoded.values.high is not None
    place = code - recoded.values.missing
    return recoded.values.low.decimals()[place], recoded.values.high.decimals()[place]


def covers(region: object, value: str | None) -> bool:
    """Whether what is shown is true of a value; a missing value shown says nothing."""
    if region is None:
        return True
    if isinstance(region, tuple):
        return value is not None and region[0] <= Decimal(value) <= region[1]
    if isinstance(region, str) and "/" in region:
        low, high = region.split("/")
        return value is not None and low <= value <= high
    return region in TREE.get(str(value), (value, "*"))
