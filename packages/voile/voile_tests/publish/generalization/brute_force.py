"""Small problems, and what the definitions say of them, computed row by row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness
from voile.publish.generalization.lattice import ObjectiveName
from voile.publish.generalization.problem import Problem
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.table.summaries import CombinationCounts

OBJECTIVES: tuple[ObjectiveName, ...] = (
    "loss",
    "precision",
    "discernibility",
    "average-class-size",
)
SENSITIVE = "illness"
"""The last column of every problem; its values are numbered from 0 to 3."""

Levels = tuple[int, ...]
Row = tuple[int, ...]


@dataclass(frozen=True)
class Small:
    """Rows of codes, the sensitive one last, and for each column its levels of codes."""

    rows: tuple[Row, ...]
    columns: tuple[tuple[tuple[int, ...], ...], ...]
    """For each quasi-identifier and level, the code of each value."""

    def problem(self, criteria: Sequence[Criterion], suppressible: int) -> Problem:
        """The problem as the engine and the plan would state it."""
        counted = sorted(Counter(self.rows).items())
        names = [f"column {j}" for j in range(len(self.columns))]
        sizes = [len(levels[0]) for levels in self.columns]
        return Problem(
            counts=CombinationCounts(
                columns=(*names, SENSITIVE),
                values=tuple(_values(size) for size in (*sizes, 4)),
                codes=np.array([row for row, _ in counted], dtype=np.int32),
                rows=np.array([rows for _, rows in counted], dtype=np.int64),
            ),
            hierarchies=tuple(map(_hierarchy, names, self.columns)),
            criteria=tuple(criteria),
            suppressible=suppressible,
        )

    def nodes(self) -> Iterator[Levels]:
        """All nodes, in the order of their numbers."""
        return product(*(range(len(levels)) for levels in self.columns))

    def groups(self, node: Levels) -> dict[Row, list[Row]]:
        """The rows by what they show at a node."""
        shown: dict[Row, list[Row]] = {}
        for row in self.rows:
            key = tuple(
                levels[level][code]
                for levels, level, code in zip(self.columns, node, row[:-1], strict=True)
            )
            shown.setdefault(key, []).append(row)
        return shown

    def suppressed(self, node: Levels, criteria: Sequence[Criterion]) -> list[Row]:
        """The rows of groups that may not be published."""
        return [
            row
            for group in self.groups(node).values()
            if not all(self._holds(criterion, group) for criterion in criteria)
            for row in group
        ]

    def loss(self, objective: ObjectiveName, node: Levels, suppressed: list[Row]) -> float:
        """The loss of a node that leaves out these rows, by its definition."""
        left_out = set(suppressed)
        sizes = [
            len(group) for group in self.groups(node).values() if not left_out.intersection(group)
        ]
        n = len(self.rows)
        match objective:
            case "loss":
                product_ = math.prod(
                    1 + self._column_loss(j, level, suppressed) for j, level in enumerate(node)
                )
                return product_ ** (1 / len(node)) - 1
            case "precision":
                heights = [max(len(levels) - 1, 1) for levels in self.columns]
                climbed = sum(level / height for level, height in zip(node, heights, strict=True))
                cells = (n - len(suppressed)) * climbed + len(suppressed) * len(node)
                return cells / (n * len(node))
            case "discernibility":
                return float(sum(size * size for size in sizes) + n * len(suppressed))
            case "average-class-size":
                return n / (len(sizes) + bool(suppressed))

    def feasible(self, criteria: Sequence[Criterion], suppressible: int) -> dict[Levels, list[Row]]:
        """The nodes that leave out few enough rows, and not all, with those rows."""
        all_nodes = {node: self.suppressed(node, criteria) for node in self.nodes()}
        return {
            node: rows
            for node, rows in all_nodes.items()
            if len(rows) <= suppressible and len(rows) < len(self.rows)
        }

    def _column_loss(self, column: int, level: int, suppressed: list[Row]) -> float:
        levels = self.columns[column]
        shares = [levels[level].count(code) / len(levels[0]) for code in levels[level]]
        least = [levels[0].count(code) / len(levels[0]) for code in levels[0]]
        left_out = set(suppressed)
        lost = sum(1 if row in left_out else shares[row[column]] for row in self.rows)
        lowest = sum(least[row[column]] for row in self.rows)
        n = len(self.rows)
        return (lost - lowest) / (n - lowest) if n - lowest > 1e-12 else 0.0

    def _holds(self, criterion: Criterion, group: list[Row]) -> bool:
        counts = sorted(Counter(row[-1] for row in group).values(), reverse=True)
        n = len(group)
        match criterion:
            case KAnonymity(k=k):
                return n >= k
            case DistinctDiversity(l=l):
                return len(counts) >= l
            case EntropyDiversity(l=l):
                entropy = -sum(count / n * math.log(count / n) for count in counts)
                return entropy >= math.log(l) - 1e-12
            case RecursiveDiversity(l=l, c=c):
                return counts[0] < c * sum(counts[l - 1 :])
            case EqualCloseness(t=t):
                return self._distance(group) <= float(t) + 1e-12
        raise AssertionError(criterion)

    def _distance(self, group: list[Row]) -> float:
        whole = Counter(row[-1] for row in self.rows)
        own = Counter(row[-1] for row in group)
        shares = ((own[v] / len(group), whole[v] / len(self.rows)) for v in whole)
        return sum(abs(p - q) for p, q in shares) / 2


@st.composite
def smalls(draw: st.DrawFn) -> Small:
    """Tables of up to 24 rows and 3 columns with hierarchies of up to 4 levels."""
    columns = draw(st.lists(_levels(), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, len(levels[0]) - 1) for levels in columns), st.integers(0, 3))
    rows = draw(st.lists(row, min_size=1, max_size=24))
    return Small(tuple(rows), tuple(columns))


@st.composite
def criteria(draw: st.DrawFn) -> tuple[Criterion, ...]:
    """k-anonymity, alone or with a model of the sensitive values."""
    models: list[Criterion] = [
        DistinctDiversity(2, SENSITIVE),
        DistinctDiversity(3, SENSITIVE),
        EntropyDiversity(2, SENSITIVE),
        RecursiveDiversity(2, 2, SENSITIVE),
        EqualCloseness("0.3", SENSITIVE),
    ]
    least = KAnonymity(draw(st.integers(1, 4)))
    further = draw(st.lists(st.sampled_from(models), max_size=2, unique_by=id))
    return (least, *further)


@st.composite
def _levels(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    """Codes of up to 5 values, each level merging codes of the one below."""
    size = draw(st.integers(1, 5))
    levels = [tuple(range(size))]
    for _ in range(draw(st.integers(0, 3))):
        below = sorted(set(levels[-1]))
        merged = draw(st.lists(st.integers(0, len(below) - 1), min_size=size, max_size=size))
        levels.append(tuple(merged[code] for code in levels[-1]))
    return tuple(levels)


def _values(size: int) -> DistinctValues:
    return DistinctValues("text", tuple("abcdefgh"[:size]))


def _hierarchy(column: str, levels: tuple[tuple[int, ...], ...]) -> BoundHierarchy:
    values = tuple(
        GeneralizedValues(
            # Codes that no value has stand between the others; a share is never 0.
            share=np.array([max(level.count(c), 1) / len(level) for c in range(max(level) + 1)]),
            texts=tuple(f"{height}/{c}" for c in range(max(level) + 1)) if height else None,
        )
        for height, level in enumerate(levels)
    )
    codes = tuple(np.array(level, dtype=np.int32) for level in levels)
    return BoundHierarchy(column, codes, values)
