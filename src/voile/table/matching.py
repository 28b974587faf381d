"""Rows of a series: marked by who they are, and matched with those that earlier releases saw.

Cost in n rows and m marks: the identities of the rows, and one join of n with m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.errors import TableError
from voile.randomness import Key
from voile.table.arrays import array_of, series_of
from voile.table.decisions import Grouping
from voile.table.identity import WORDS, with_row_words, with_words, words_of
from voile.table.protocol import Engine, Rows
from voile.table.summaries import KnownRows, RowMarks, RowMatch
from voile.values.expressions import Call, Column, Expression, Literal, both, is_missing, negated

__all__ = ["CLASS", "mark_rows", "match_rows"]

CLASS = "\1class"
"""The column with the class of a row."""
_IDENTITY, _CONTENTS, _KNOWN, _GROUP = "\1identity", "\1contents", "\1known contents", "\1group"
"""No file has columns whose names begin so."""


def match_rows(
    rows: Rows,
    identifying: Sequence[str],
    known: KnownRows,
    engine: Engine,
    key: Key,
    record_key: str | None,
) -> RowMatch:
    """Find the rows of earlier releases; raises ``TableError`` for a bad record key.

    ``identifying`` are the columns by which a row is recognised where no record key does.
    """
    marked = _with_marks(rows, identifying, key, record_key)
    seen = changed = 0
    if len(known.identities):
        columns = {_IDENTITY: known.identities, CLASS: known.classes}
        columns |= {_KNOWN: known.contents} if record_key else {}
        marked = marked.join_rows(_as_rows(engine, columns), [_IDENTITY], "left")
        seen = marked.tally(negated(is_missing(CLASS))).rows
        if record_key:
            changed = marked.tally(Call("<>", (Column(_CONTENTS), Column(_KNOWN)))).rows
    withdrawn = len(known.held)
    if withdrawn:
        held = _as_rows(engine, {_IDENTITY: known.held})
        withdrawn -= marked.select([_IDENTITY]).join_rows(held, [_IDENTITY], "inner").height
    return RowMatch(
        rows=_with_classes(marked, known.versions),
        classes=known.versions + 1,
        missing=len(known.identities) - seen,
        changed=changed,
        fresh=rows.height - seen,
        withdrawn=withdrawn,
    )


def mark_rows(groups: Grouping, match: RowMatch) -> tuple[RowMarks, RowMarks]:
    """Marks of the fresh rows that have a group, and of those that have none."""
    rows = groups.of.rows.join(groups.of.counted, {_GROUP: array_of(groups.group)})
    fresh = Call("=", (Column(CLASS), Literal(match.classes - 1)))
    published = Call(">=", (Column(_GROUP), Literal(0)))
    return _marks(rows, both(fresh, published)), _marks(rows, both(fresh, negated(published)))


def _marks(rows: Rows, chosen: Expression) -> RowMarks:
    columns = [name for name in (_IDENTITY, _CONTENTS) if name in rows.schema.names]
    table = rows.select([*columns, *_read(chosen)]).filter(chosen).select(columns)
    found = table.ordered([_IDENTITY]).to_arrow()
    return RowMarks(*(pl.Series(found[name]).to_numpy() for name in columns))


def _read(expression: Expression) -> list[str]:
    return [CLASS, _GROUP]


def _with_marks(rows: Rows, identifying: Sequence[str], key: Key, record_key: str | None) -> Rows:
    """Rows with their identities, and their contents where a record key gives the identity."""
    if record_key is None:
        numbered = with_row_words(rows, identifying, key)
        gives = pa.schema([pa.field(_IDENTITY, pa.uint64())])
        return numbered.map(lambda batch: [array_of(words_of(batch, key))], WORDS, gives)
    _require_record_key(rows, record_key)
    return with_words(with_words(rows, [record_key], key, _IDENTITY), identifying, key, _CONTENTS)


def _require_record_key(rows: Rows, record_key: str) -> None:
    """Raise ``TableError`` where a row has no record key, or shares it."""
    missing = rows.tally(is_missing(record_key))
    if missing.rows:
        msg = f"column {record_key!r}: row {missing.first} has no record key; every row needs one"
        raise TableError(msg)
    counted = rows.count([record_key], keep=True)
    if (counted.rows > 1).any():
        shared = rows.join(counted, {_GROUP: array_of(counted.rows > 1)}).tally(Column(_GROUP))
        msg = (
            f"column {record_key!r}: row {shared.first} shares its record key with another row; a "
            "record key identifies one row"
        )
        raise TableError(msg)


def _with_classes(rows: Rows, versions: int) -> Rows:
    """Rows with a class for each: the last for those that no release has seen."""
    gives = pa.schema([pa.field(CLASS, pa.int16())])
    if CLASS not in rows.schema.names:

        def fresh(batch: pa.RecordBatch) -> list[pa.Array]:
            return [array_of(np.full(batch.num_rows, versions, dtype=np.int16))]

        return rows.map(fresh, [_IDENTITY], gives)

    def filled(batch: pa.RecordBatch) -> list[pa.Array]:
        return [series_of(batch[0]).fill_null(versions).cast(pl.Int16).to_arrow()]

    return rows.map(filled, [CLASS], gives)


def _as_rows(engine: Engine, columns: Mapping[str, NDArray[Any]]) -> Rows:
    return engine.of_arrow(pa.table({name: array_of(array) for name, array in columns.items()}))
