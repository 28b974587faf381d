"""Small groups of sensitive values, as lists and as the arrays that criteria read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from voile.models.criteria import Groups, SensitiveCells

COLUMN = "disease"

tables = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=12), min_size=1, max_size=6)
"""For each group, the places of its rows' sensitive values."""


def groups_of(table: Sequence[Sequence[int]], values: int | None = None) -> Groups:
    """The groups of a table, measured against all of its rows."""
    pairs = sorted((g, v, n) for g, row in enumerate(table) for v, n in Counter(row).items())
    group, value, rows = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    everybody = [v for row in table for v in row]
    total = np.bincount(everybody, minlength=values or 0).astype(np.int64)
    cells = SensitiveCells(group, value, rows, total)
    return Groups(np.array([len(row) for row in table], dtype=np.int64), {COLUMN: cells})


def merged(table: Sequence[Sequence[int]], keep: Sequence[int]) -> list[list[int]]:
    """The table with the groups of some places united, first, and the others behind."""
    union = [v for g in keep for v in table[g]]
    return [union, *(list(row) for g, row in enumerate(table) if g not in keep)]


def shares(row: Sequence[int], values: int) -> list[Fraction]:
    """The share of each value in a group, exactly."""
    return [Fraction(sum(1 for v in row if v == value), len(row)) for value in range(values)]
