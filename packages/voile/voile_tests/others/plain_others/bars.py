"""A file format of somebody else: texts with bars between, the names first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from voile.table.formats.registry import Whole


class Bars:
    """Files such as ``people.bars``."""

    endings: ClassVar[tuple[str, ...]] = (".bars",)

    def read(self, file: Path, part: str | None, columns: Collection[str] | None) -> Whole:
        """All rows; there are no parts."""
        del part
        frame = pl.read_csv(file, separator="|")
        names = tuple(frame.columns)
        return Whole(frame.select(n for n in names if columns is None or n in columns), names)

    def refusal(self, names: Sequence[str], rows: int) -> str | None:
        """Names hold no bar."""
        del rows
        bad = next((name for name in names if "|" in name), None)
        return None if bad is None else f"column {bad!r} has a bar in its name"

    def write(self, batches: Iterator[pl.DataFrame], schema: pl.Schema, file: Path) -> None:
        """The names, then the rows as they come."""
        with file.open("wb") as stream:
            pl.DataFrame(schema=schema).write_csv(stream, separator="|")
            for batch in batches:
                batch.write_csv(stream, separator="|", include_header=False)
