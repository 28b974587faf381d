"""Rows of DuckDB counted among their equals, while they stream by in their order.

The rank of a row among those that agree in some columns is what a window of SQL gives, after a sort
of all rows.  Where these columns hold whole numbers (numbered texts, dates and truth values do, as
they are stored) of a narrow range, a row's combination is one small number, and its rank is how
often that number was met before: a counter for each, and no sort.

Cost: one look at the ends of the columns, and 5 ns a row.  Memory: 8 bytes a possible combination,
at most 32 MiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of
from voile.table.duckdb_columns import Stored, stored_type
from voile.table.duckdb_relation import DuckDBRelation, Step
from voile_base.compiled import njit

__all__ = ["counting"]

_MOST = 1 << 22
"""Possible combinations up to which each has a counter."""
_FIRST, _LAST = -(2**62), 2**62


@dataclass(eq=False)
class _SoFar:
    """How many rows of each combination went by; of those that stream now."""

    combinations: int
    seen: NDArray[np.int64]

    def begin(self) -> None:
        """No row went by yet."""
        self.seen = np.zeros(self.combinations, dtype=np.int64)

    def __call__(self, batch: pa.RecordBatch) -> list[pa.Array]:
        codes = numbers_of(batch[0])
        rank = np.empty(len(codes), dtype=np.int64)
        _count_on(codes, self.seen, rank)
        return [array_of(rank)]


def counting(
    relation: DuckDBRelation, within: Sequence[Stored], rank: Stored
) -> tuple[DuckDBRelation, Step] | None:
    """The rows with one more column, and what makes of it the rank among those that agree.

    None where the rows do not stream in their order, or there may be too many combinations.
    """
    if not relation.straight or not within or not all(map(_is_whole, within)):
        return None
    ends = ", ".join(f"min({said}), max({said})" for said in map(_whole, within))
    found: Sequence[Any] = relation.session.rows(f"SELECT {ends} FROM {relation.source}")[0]
    said, combinations = "0", 1
    for column, least, most in zip(within, found[::2], found[1::2], strict=True):
        low, high = (int(least), int(most)) if least is not None else (0, 0)
        if not _FIRST < low <= high < _LAST:
            return None
        # Zero is a missing value.
        said = f"({said}) * {high - low + 2} + coalesce({_whole(column)} - {low} + 1, 0)"
        combinations *= high - low + 2
        if combinations > _MOST:
            return None
    code = Stored(relation.session.name(), pa.int64())
    relation = relation.with_columns({code.ident: f"CAST({said} AS BIGINT)"})
    so_far = _SoFar(combinations, np.zeros(0, dtype=np.int64))
    return relation, Step(so_far, {"": code}, (rank,), begin=so_far.begin)


def _is_whole(column: Stored) -> bool:
    dtype = column.texts.code_type if column.texts else stored_type(column.type)
    if pa.types.is_uint64(dtype):
        return False
    return bool(pa.types.is_integer(dtype) or pa.types.is_boolean(dtype))


def _whole(column: Stored) -> str:
    return f"CAST({column.ident} AS BIGINT)"


@njit(cache=True, nogil=True)
def _count_on(codes: NDArray[np.int64], seen: NDArray[np.int64], rank: NDArray[np.int64]) -> None:
    """The rank of each row among those of its combination; ``seen`` counts on."""
    for row in range(len(codes)):
        code = codes[row]
        rank[row] = seen[code]
        seen[code] += 1
