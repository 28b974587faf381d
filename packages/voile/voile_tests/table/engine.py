"""What contract tests need of an engine, and the small tables that they open with it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.decisions import BlockAssignment, Grouping, PermutedColumn, Treatment
from voile.table.keeping import KeptRows
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile.table.summaries import ValueCounts
from voile_base.randomness import Randomness

ROLES = Roles(identifiers=("name",), quasi_identifiers=("age", "town"), sensitive=("salary",))
Row = tuple[int, str | None, float]
"""Age, town and salary."""
ROWS = st.lists(
    st.tuples(
        st.integers(20, 22), st.sampled_from(["Aix", "Brno", None]), st.integers(0, 4).map(float)
    ),
    min_size=1,
    max_size=12,
)


def frame_of(rows: list[Row]) -> pl.DataFrame:
    """A small table; every name is planted, so that it can be looked for."""
    return pl.DataFrame(
        {
            "name": [f"planted-{i}" for i in range(len(rows))],
            "age": [row[0] for row in rows],
            "town": pl.Series([row[1] for row in rows], dtype=pl.String),
            "salary": pl.Series([row[2] for row in rows], dtype=pl.Float64),
        }
    )


def grouping(counts: ValueCounts, block: NDArray[np.int64]) -> Grouping:
    """The block of each counted value and class, shape (d, c)."""
    return BlockAssignment(counts.values, block[counts.value, counts.row_class]).grouping(counts)


class Engine(ABC):
    """Makes tables; contracts inherit it, and each engine inherits contracts."""

    @abstractmethod
    def open(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        *,
        record_key: str | None = None,
        carried: KeptRows | None = None,
    ) -> PrivateTable:
        """A private table of this engine."""

    @abstractmethod
    def rows_of(self, published: PublishedTable) -> pl.DataFrame:
        """The rows of a published table, wherever they are."""

    def applied(
        self, table: PrivateTable, treatment: Treatment, randomness: Randomness | None = None
    ) -> pl.DataFrame:
        """The rows of the release that a treatment makes."""
        return self.rows_of(table.apply(treatment, randomness or Randomness.seeded(0)))

    def permuted(
        self,
        table: PrivateTable,
        counts: ValueCounts,
        block: NDArray[np.int64],
        randomness: Randomness,
    ) -> PublishedTable:
        """The release in which salaries are permuted within blocks."""
        return table.apply(
            Treatment((PermutedColumn("salary"),), grouping(counts, block)), randomness
        )

    def table(self, rows: list[Row]) -> PrivateTable:
        """A table in which a missing town is a town of its own."""
        return self.open(frame_of(rows), Plan(ROLES, nulls="category"))
