"""Rows of Spark as files: several parts where workers can write to the folder, else one.

Workers write Parquet to a folder of attempts inside that of the release, each attempt of a task a
file of its own; the driver gives those that were heard of as done their places, in the order of the
rows, and removes the folder with whatever else is in it.  So a task that is tried again, or that
runs twice, or whose worker was lost, leaves nothing: a late attempt finds no folder to write to.

Workers that do not share the folder find none either.  Then, and for formats of one file, rows
stream through the driver, a part of them in memory at a time.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from voile.table.polars_writing import write_arrow
from voile.table.protocol import Format
from voile.table.spark_columns import SparkColumn, loaded_array
from voile.table.spark_functions import guarded
from voile.table.spark_session import Frame, SparkHandle
from voile_base.durable import sync

__all__ = ["write_rows"]

_WRITTEN = pa.schema([("file", pa.string()), ("rows", pa.int64())])


def write_rows(
    session: SparkHandle,
    frame: Frame,
    columns: Mapping[str, SparkColumn],
    folder: Path,
    file_format: Format,
) -> tuple[str, ...]:
    """Write the rows of a sorted data frame; returns the names of the files in their order.

    Raises ``OSError`` where a disk refuses.
    """
    kinds = [(name, column.type) for name, column in columns.items()]
    if file_format == "parquet":
        parts = _in_parts(session, frame, kinds, folder)
        if parts is not None:
            return parts
    batches = (_loaded(batch, kinds) for batch in session.stream(frame))
    return (write_arrow(batches, pa.schema(kinds), folder, file_format),)


def _in_parts(
    session: SparkHandle, frame: Frame, kinds: Sequence[tuple[str, pa.DataType]], folder: Path
) -> tuple[str, ...] | None:
    """Have workers write; None where they cannot write here, or there are no rows."""
    attempts = Path(tempfile.mkdtemp(prefix=".attempts-", dir=folder.absolute()))
    try:
        written = frame.mapInArrow(_Part(attempts, kinds).__call__, "file string, rows bigint")
        listed = session.arrow(written)["file"].to_pylist()
        if len(listed) < 2:
            return (
                tuple(_placed(attempts / name, folder / "data.parquet") for name in listed) or None
            )
        (folder / "data").mkdir()
        width = len(str(len(listed)))
        names = [f"data/part-{place:0{width}}.parquet" for place in range(len(listed))]
        for name, part in zip(listed, names, strict=True):
            _placed(attempts / name, folder / part)
        sync(folder / "data")
        return tuple(names)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        shutil.rmtree(folder / "data", ignore_errors=True)
        return None
    finally:
        shutil.rmtree(attempts, ignore_errors=True)


def _placed(file: Path, place: Path) -> str:
    file.rename(place)
    return place.name


def _loaded(batch: pa.RecordBatch, kinds: Sequence[tuple[str, pa.DataType]]) -> pa.RecordBatch:
    arrays = [loaded_array(array, dtype) for array, (_, dtype) in zip(batch, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in kinds])


@dataclass(frozen=True)
class _Part:
    """Writes the rows of a task to a file of its own."""

    attempts: Path
    kinds: Sequence[tuple[str, pa.DataType]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What was written, if there were rows."""
        there = (batch for batch in batches if batch.num_rows)
        first = next(there, None)
        if first is None:
            return
        name, rows = guarded(lambda: self._written(chain([first], there)))
        yield pa.RecordBatch.from_arrays([pa.array([name]), pa.array([rows])], schema=_WRITTEN)

    def _written(self, batches: Iterable[pa.RecordBatch]) -> tuple[str, int]:
        own = Path(tempfile.mkdtemp(dir=self.attempts))
        rows = 0

        def loaded() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in batches:
                rows += batch.num_rows
                yield _loaded(batch, self.kinds)

        file = write_arrow(loaded(), pa.schema(self.kinds), own, "parquet")
        return f"{own.name}/{file}", rows
