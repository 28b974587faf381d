"""The engine on one machine: where its tables come from.

Columns of Parquet and Arrow IPC files are read one by one, when they are asked for; other files are
read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of
from voile.table.codes import encode, without_minus_zero
from voile.table.engines.polars.columns import PolarsColumn
from voile.table.engines.polars.rows import PolarsRows
from voile.table.engines.shared import OfEagerFrames
from voile.table.keeping import WORDS, Words, with_row_words, words_of
from voile.table.places import Place
from voile.table.protocol import EngineSource, Rows
from voile.table.reading import (
    count_rows,
    is_whole,
    list_columns,
    read_batches,
    read_column,
    read_frame,
)
from voile_base.randomness import Key

__all__ = ["PolarsEngine", "PolarsSource", "unique_words"]


PolarsSource = EngineSource[PolarsRows]


class PolarsEngine(OfEagerFrames[PolarsRows]):
    """Tables in memory; see ``Engine``."""

    name = "polars"

    def scan(
        self,
        path: Place,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> PolarsSource:
        """A table in a file, a folder or a database; raises ``TableError`` where there is none."""
        if is_whole(path):
            read = read_frame(path, missing=missing, columns=columns, texts=texts)
            rows = PolarsRows.of_frame(read.frame)
            return PolarsSource(rows, read.names or (), read.written, read.notes)
        assert isinstance(path, Path)
        listed = list_columns(path)
        types = {name: dtype for name, dtype in listed.items() if dtype is not None}
        if len(types) == len(listed):
            return PolarsSource(_of_file(path, types), tuple(types))
        read = read_frame(path, missing=missing, columns=columns, texts=texts)
        return PolarsSource(PolarsRows.of_frame(read.frame), tuple(listed), "csv", read.notes)

    def of_frame(self, frame: pl.DataFrame, numbers: NDArray[Any] | None = None) -> PolarsRows:
        """The rows of a frame."""
        return PolarsRows.of_frame(frame, numbers=numbers)

    @staticmethod
    def frame_of(rows: Rows) -> pl.DataFrame:
        """All rows, which stand in memory."""
        shown: pl.DataFrame = rows.to_native()
        return shown


def unique_words(columns: Iterable[pl.Series], key: Key) -> Words:
    """64 pseudorandom bits for each row, also of several equal ones, whatever their order.

    One column at a time is held as it is, and the others in dictionaries.
    """
    coded = {column.name: PolarsColumn.of(encode(without_minus_zero(column))) for column in columns}
    height = len(next(iter(coded.values())))
    rows = with_row_words(PolarsRows(coded, height), list(coded), key)
    gives = pa.schema([pa.field(WORDS[0], pa.uint64())])
    drawn = rows.map(lambda batch: [array_of(words_of(batch, key))], WORDS, gives)
    words: Words = pl.Series(drawn.select([WORDS[0]]).to_arrow()[WORDS[0]]).to_numpy()
    return words


def _of_file(path: Path, types: Mapping[str, pl.DataType]) -> PolarsRows:
    """The rows of a file whose columns can be read by themselves."""
    columns = {
        name: PolarsColumn.later(dtype, partial(_read, path, name)) for name, dtype in types.items()
    }
    rows = count_rows(path) or None  # of none, a reader says what is wrong
    return PolarsRows(columns, rows, scan=partial(read_batches, path))


def _read(path: Path, name: str) -> Any:
    column = read_column(path, name)
    if isinstance(column, pl.Series) and isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    return encode(column, name)
