"""Rows of a series: marked by who they are, and matched with those that earlier releases saw.

Marks are a data set of the engine with one row for each row: 64 bits of its identity, where a
record key identifies it 64 bits of its contents, and the class of the release that first published
it, from 0.  They stand in the order of the identities, which tells nothing.

Cost in n rows and m marks: the identities of the rows, and one join of n with m, in the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from voile.table.keeping import KeptRows, together
from voile.table.protocol import Engine, Rows
from voile.table.summaries import KnownRows, RowMatch
from voile.values.expressions import Call, Column, Expression, Literal, both, is_missing, negated

__all__ = [
    "CLASS",
    "CONTENTS",
    "IDENTITY",
    "lacks_contents",
    "mark_rows",
    "marks_in_common",
    "marks_of_arrays",
    "match_rows",
    "repeated_marks",
]

IDENTITY, CONTENTS, CLASS = "\1identity", "\1contents", "\1class"
"""The columns of marks; no file has columns whose names begin so."""
_KNOWN, _GROUP, _TIMES = "\1known contents", "\1group", "\1times"


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
    marks = together(known.published, engine)
    if marks is not None:
        marked = marked.join_rows(_known(marks, record_key), [IDENTITY], "left")
        seen = marked.tally(negated(is_missing(CLASS))).rows
        if record_key:
            changed = marked.tally(Call("<>", (Column(CONTENTS), Column(_KNOWN)))).rows
    withdrawn = known.held.height
    if withdrawn:
        held = known.held.open(engine).select([IDENTITY])
        withdrawn -= marked.select([IDENTITY]).join_rows(held, [IDENTITY], "inner").height
    return RowMatch(
        rows=_with_classes(marked, known.versions),
        classes=known.versions + 1,
        missing=sum(published.height for published in known.published) - seen,
        changed=changed,
        fresh=rows.height - seen,
        withdrawn=withdrawn,
    )


def mark_rows(groups: Grouping, match: RowMatch) -> tuple[KeptRows, KeptRows]:
    """Marks of the fresh rows that have a group, and of those that have none."""
    rows = groups.of.rows.join(groups.of.counted, {_GROUP: array_of(groups.group)})
    fresh = Call("=", (Column(CLASS), Literal(match.classes - 1)))
    published = Call(">=", (Column(_GROUP), Literal(0)))
    return _marks(rows, both(fresh, published)), _marks(rows, both(fresh, negated(published)))


def marks_of_arrays(
    identities: NDArray[np.uint64], contents: NDArray[np.uint64], version: int
) -> KeptRows:
    """Marks of rows first published in a version, from 1; without contents unless they have any."""
    columns: dict[str, NDArray[Any]] = {IDENTITY: identities}
    columns |= {CONTENTS: contents} if len(contents) else {}
    columns |= {CLASS: np.full(len(identities), version - 1, dtype=np.int16)}
    return KeptRows.of_table(pa.table({name: array_of(each) for name, each in columns.items()}))


def repeated_marks(kept: Sequence[KeptRows], engine: Engine) -> int:
    """How many marks stand there again."""
    marks = together(kept, engine)
    if marks is None:
        return 0
    return marks.height - marks.distinct([IDENTITY], _TIMES).height


def marks_in_common(one: KeptRows, others: Sequence[KeptRows], engine: Engine) -> int:
    """How many marks of one stand in others too."""
    marks = together(others, engine)
    if marks is None or not one.height:
        return 0
    distinct = marks.distinct([IDENTITY], _TIMES)
    return one.open(engine).select([IDENTITY]).join_rows(distinct, [IDENTITY], "inner").height


def lacks_contents(kept: KeptRows, engine: Engine, *, keyed: bool) -> bool:
    """Whether marks lack those of contents though a record key identifies rows, or have them."""
    if not kept.height:
        return False
    marks = kept.open(engine)
    if CONTENTS not in marks.schema.names:
        return keyed
    return not keyed or marks.tally(is_missing(CONTENTS)).rows > 0


def _marks(rows: Rows, chosen: Expression) -> KeptRows:
    columns = [name for name in (IDENTITY, CONTENTS, CLASS) if name in rows.schema.names]
    marks = rows.select([*columns, _GROUP]).filter(chosen).select(columns)
    return KeptRows.of(marks.ordered([IDENTITY]))


def _known(marks: Rows, record_key: str | None) -> Rows:
    """Marks of earlier releases, to be joined to rows that have contents of their own."""
    if record_key is None:
        return marks.select([IDENTITY, CLASS])
    gives = pa.schema([pa.field(_KNOWN, pa.uint64())])
    return marks.map(lambda batch: [batch[0]], [CONTENTS], gives).select([IDENTITY, CLASS, _KNOWN])


def _with_marks(rows: Rows, identifying: Sequence[str], key: Key, record_key: str | None) -> Rows:
    """Rows with their identities, and their contents where a record key gives the identity."""
    if record_key is None:
        numbered = with_row_words(rows, identifying, key)
        gives = pa.schema([pa.field(IDENTITY, pa.uint64())])
        return numbered.map(lambda batch: [array_of(words_of(batch, key))], WORDS, gives)
    _require_record_key(rows, record_key)
    return with_words(with_words(rows, [record_key], key, IDENTITY), identifying, key, CONTENTS)


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

        return rows.map(fresh, [IDENTITY], gives)

    def filled(batch: pa.RecordBatch) -> list[pa.Array]:
        return [series_of(batch[0]).fill_null(versions).cast(pl.Int16).to_arrow()]

    return rows.map(filled, [CLASS], gives)
