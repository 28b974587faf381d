"""When the rows of a growing series arrived, as far as its marks tell.

A row arrived before the release that first showed it, or before the one whose look refused it,
which its mark remembers (``matching``); and a row that the newest release but one held back arrived
before that.  How long others waited before they were looked at is not kept.

Cost: a match of n rows with all marks.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from voile.table.keeping import KeptRows
from voile.table.matching import CLASS, IDENTITY, match_rows
from voile.table.protocol import Engine, Rows
from voile.table.summaries import KnownRows
from voile_base.randomness import Key

__all__ = ["arrivals"]

_HELD = "\1held"


def arrivals(  # noqa: PLR0913 - what a match takes, and who waited
    rows: Rows,
    columns: Sequence[str],
    published: Sequence[KeptRows],
    held: KeptRows,
    engine: Engine,
    key: Key,
    record_key: str | None,
    name: str,
) -> pl.DataFrame:
    """The published ``columns`` of all rows that a release has shown, and when each arrived.

    ``published`` are the marks of all releases, and ``held`` those that the last but one held back.
    The column ``name`` has the number of the release before which a row arrived, from 1.
    """
    newest = len(published)
    match = match_rows(rows, columns, KnownRows(tuple(published)), engine, key, record_key)
    found = match.rows.select([*columns, IDENTITY, CLASS])
    waited = [CLASS]
    if held.height:
        marks = held.open(engine).select([IDENTITY]).map(_ones, [IDENTITY], _WAITED)
        found = found.join_rows(marks, [IDENTITY], "left")
        waited.append(_HELD)
    frame = pl.DataFrame(found.select([*columns, *waited]).to_arrow())
    number = pl.col(CLASS).cast(pl.Int64) + 1
    if held.height:
        number = (
            pl.when(pl.col(_HELD).is_not_null())
            .then(pl.min_horizontal(number, pl.lit(newest - 1)))
            .otherwise(number)
        )
    shown = frame.with_columns(number.alias(name)).filter(pl.col(name) <= newest)
    return shown.select([*columns, name])


_WAITED = pa.schema([pa.field(_HELD, pa.int16())])


def _ones(batch: pa.RecordBatch) -> list[pa.Array]:
    return [pa.array([1] * batch.num_rows, pa.int16())]
