"""JSON lines: each line an object, whose keys are columns.

Types are those of all lines together; an object that lacks a key has a missing value there.  JSON
has no dates: texts that are all ISO 8601 of one kind are dates, instants or times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import polars as pl

from voile.table.formats.registry import Whole
from voile.table.formats.shaping import calendar_of_texts, refuse_nothing
from voile_base.errors import TableError, refuse_out_of_memory

__all__ = ["JsonLines"]


class JsonLines:
    """See ``registry.FileFormat``."""

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """All objects of the file; it has no parts."""
        if part is not None:
            raise TableError(f"{file}: JSON lines have no parts; leave out #{part}")
        if not file.stat().st_size:
            raise TableError(f"{file}: the file is empty; it needs at least one row")
        try:
            frame = pl.read_ndjson(file, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as fault:
            refuse_out_of_memory(fault)
            raise TableError(
                f"{file}: not every line is a JSON object whose keys have values of one type; "
                "write the file again from its source"
            ) from None
        names = tuple(frame.columns)
        refuse_nothing(file, names, frame.height)
        wanted = [name for name in names if columns is None or name in columns]
        return Whole(pl.DataFrame([calendar_of_texts(frame[name]) for name in wanted]), names)

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Everything can be written."""
        del names, rows
        return None

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """One object a line, a batch at a time."""
        del schema
        with file.open("wb") as stream:
            for batch in batches:
                batch.write_ndjson(stream)
