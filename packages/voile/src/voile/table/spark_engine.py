"""The engine on a cluster: where its tables come from.

Parquet files, and folders of them, are read by the workers, which have to see them under the same
path; data frames of Spark are taken as they are, and so is whatever Spark reads into one (Delta,
Iceberg, object stores).  All else comes through the door that is the same for all engines
(``reading``), so that a file has the same types and the same faults whichever engine holds it: it
is read by this process, as a whole, and sent to the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from numpy.typing import NDArray

from voile.table.eager_frames import OfEagerFrames
from voile.table.foreign_frames import is_of_spark
from voile.table.places import Place
from voile.table.protocol import EngineSource
from voile.table.reading import files_of_table, is_whole, list_columns, read_frame
from voile.table.spark_rows import SparkRows
from voile.table.spark_session import SparkHandle, session_for, session_of
from voile.table.spark_sources import of_frame, of_parquet
from voile.table.unchanged import WatchedFiles

__all__ = ["SparkEngine", "SparkSource"]

_READ_HERE = (
    "Spark does not see these files, or has no type for one of their columns, so they were read by "
    "this process, as a whole"
)


SparkSource = EngineSource[SparkRows]


class SparkEngine(OfEagerFrames[SparkRows]):
    """Tables in Spark; see ``Engine``."""

    name = "spark"

    def __init__(self, master: str | None = None, folder: Path | None = None) -> None:
        """``master`` is an address of Spark; None: the session of this process, or this machine.

        ``folder`` is where a session that is made spills to: by default, TMPDIR.
        """
        self._master, self._folder = master, folder

    def __repr__(self) -> str:
        return "SparkEngine()"

    @cached_property
    def _session(self) -> SparkHandle:
        return session_for(self._master, self._folder)

    def scan(
        self,
        path: Place,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> SparkSource:
        """A table in a file, a folder or a database; raises ``TableError`` where there is none."""
        notes: list[str] = []
        if not is_whole(path):
            assert isinstance(path, Path)
            listed = list_columns(path)
            types = {name: dtype for name, dtype in listed.items() if dtype is not None}
            files = files_of_table(path.absolute())
            wanted = {n: t for n, t in types.items() if columns is None or n in set(columns)}
            if files is not None and len(types) == len(listed):
                fault = WatchedFiles(path, files)
                found = of_parquet(self._session, files, wanted)
                if found is not None:
                    return SparkSource(SparkRows(*found, fault=fault), tuple(types))
                notes.append(_READ_HERE)
        read = read_frame(path, missing=missing, columns=columns, texts=texts)
        rows = self.of_frame(read.frame)
        names = read.names if is_whole(path) else tuple(listed)
        return SparkSource(rows, names or (), read.written, (*read.notes, *notes))

    def of_native(self, frame: Any) -> SparkSource:
        """A data frame of Spark, or any eager one that narwhals knows; raises ``TableError``."""
        if is_of_spark(frame):
            rows = SparkRows(*of_frame(session_of(frame.sparkSession), frame))
            return SparkSource(rows, rows.schema.names, convert=lambda rows: rows.to_native())
        return super().of_native(frame)

    def of_frame(self, frame: pl.DataFrame, numbers: NDArray[Any] | None = None) -> SparkRows:
        """The rows of a frame."""
        return SparkRows.of_frame(frame, self._session, numbers)
