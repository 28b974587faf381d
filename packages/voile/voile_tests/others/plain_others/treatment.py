"""A treatment of somebody else: numbers are rounded to multiples, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from voile.table.decisions import RowColumn
from voile_base.errors import TableError


@dataclass(frozen=True)
class RoundedColumn(RowColumn):
    """Each row shows the multiple of ``base`` at or below its whole number."""

    what: ClassVar[str] = "rounded"
    column: str
    base: int

    def type_of(self, own: pa.DataType) -> pa.DataType:
        """Whole numbers stay such."""
        if not pa.types.is_integer(own):
            msg = f"column {self.column!r}: only whole numbers are rounded; leave it out"
            raise TableError(msg)
        return pa.int64()

    def cells(self, own: pa.Array) -> pa.Array:
        """A missing number stays missing."""
        numbers = own.cast(pa.int64())
        times = pc.floor(pc.divide(numbers.cast(pa.float64()), self.base)).cast(pa.int64())
        return pc.multiply(times, self.base)
