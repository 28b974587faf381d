"""What engines have alike: data sets of eager data frames, and the way back to their kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.frames import from_native
from voile.table.protocol import EngineSource, Rows

__all__ = ["OfEagerFrames"]

R = TypeVar("R", bound=Rows)


class OfEagerFrames(ABC, Generic[R]):
    """The part of an ``Engine`` that makes data sets of what stands in memory."""

    @abstractmethod
    def of_frame(self, frame: pl.DataFrame, numbers: NDArray[Any] | None = None) -> R:
        """The rows of a frame; ``numbers`` says where they stand in their source, from 0."""

    def of_native(self, frame: Any) -> EngineSource[R]:
        """Any eager data frame that narwhals knows; raises ``TableError``."""
        made, to_native = from_native(frame)

        def convert(rows: Rows) -> Any:
            return to_native(self.frame_of(rows))

        return EngineSource(self.of_frame(made), made.columns, convert=convert)

    def of_arrow(self, table: pa.Table, numbers: NDArray[Any] | None = None) -> R:
        """A table of Arrow."""
        return self.of_frame(pl.DataFrame(table), numbers)

    @staticmethod
    def frame_of(rows: Rows) -> pl.DataFrame:
        """All rows, in memory."""
        return pl.DataFrame(rows.to_arrow())
