"""What contract tests need of an engine, and the small tables that they open with it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import polars as pl
from hypothesis import strategies as st

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.protocol import PrivateTable, PublishedTable

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


class Engine(ABC):
    """Makes tables; contracts inherit it, and each engine inherits contracts."""

    @abstractmethod
    def open(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        *,
        record_key: str | None = None,
        carried: bytes | None = None,
    ) -> PrivateTable:
        """A private table of this engine."""

    @abstractmethod
    def rows_of(self, published: PublishedTable) -> pl.DataFrame:
        """The rows of a published table, wherever they are."""

    def table(self, rows: list[Row]) -> PrivateTable:
        """A table in which a missing town is a town of its own."""
        return self.open(frame_of(rows), Plan(ROLES, nulls="category"))
