"""Rows of a series: marked by who they are, and matched with those that earlier releases saw.

Marks are a data set of the engine with one row for each row: 64 bits of its identity, where a
record key identifies it 64 bits of its contents, and the class of the release that first published
it, from 0.  They stand in the order of the identities, which tells nothing.

Rows that are held back have the class that the release would have given them, if ``models.waiting``
has not begun to decide about them; ``ASIDE`` where they are never to be published; and where they
were refused, ``refused_class`` of it.  These keep it when they are published late, so that it is
known should that release turn out to be lost.

Cost in n rows and m marks: the identities of the rows, and one join of n with m, in the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import array_of, series_of
from voile.table.decisions import Grouping
from voile.table.identity import WORDS, with_row_words, with_words, words_of
from voile.table.keeping import KeptRows, together
from voile.table.protocol import Engine, Rows
from voile.table.summaries import KnownRows, RowMatch, WaitingRows
from voile_base.errors import TableError
from voile_base.randomness import Key
from voile_base.values.expressions import Call, Column, Expression, both, is_missing, negated
from voile_base.values.expressions import Literal as Constant

__all__ = [
    "ASIDE",
    "CLASS",
    "CONTENTS",
    "IDENTITY",
    "Held",
    "lacks_contents",
    "mark_rows",
    "marks_in_common",
    "match_rows",
    "refused_class",
    "repeated_marks",
    "require_record_key",
]

IDENTITY, CONTENTS, CLASS = "\1identity", "\1contents", "\1class"
"""The columns of marks; no file has columns whose names begin so."""
_KNOWN, _GROUP, _TIMES = "\1known contents", "\1group", "\1times"
_REFUSED = "\1refused"

ASIDE = -1
"""The class of rows that are set aside."""

Held = Literal["waiting", "refused", "aside"]
"""What becomes of the fresh rows that have no group."""

_CLASS_ALONE = pa.schema([pa.field(CLASS, pa.int16())])


def refused_class(row_class: pl.Series) -> pl.Series:
    """The classes of rows of these classes that were refused, and the other way round."""
    return (ASIDE - 1 - row_class).cast(pl.Int16)


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
    waiting = _waiting(known.held, marked, engine)
    seen = changed = aside = 0
    marks = together((*known.published, waiting.aside), engine)
    if marks is not None:
        marked = marked.join_rows(_known(marks, record_key), [IDENTITY], "left")
        aside = marked.tally(_is_aside()).rows
        seen = marked.tally(negated(is_missing(CLASS))).rows - aside
        if record_key:
            differs = Call("<>", (Column(CONTENTS), Column(_KNOWN)))
            changed = marked.tally(both(differs, negated(_is_aside()))).rows
    matched = _with_classes(marked, known.versions)
    return RowMatch(
        rows=matched.filter(negated(_is_aside())) if aside else matched,
        classes=known.versions + 1,
        missing=sum(published.height for published in known.published) - seen,
        changed=changed,
        fresh=rows.height - seen - aside,
        withdrawn=_gone(known.held, marked, engine),
        waiting=waiting,
    )


def _waiting(held: KeptRows, marked: Rows, engine: Engine) -> WaitingRows:
    """Of the rows held back those that were refused, and those set aside."""
    if not held.height:
        return WaitingRows()
    rows = held.open(engine)
    refused = KeptRows.of(rows.filter(Call("<", (Column(CLASS), Constant(ASIDE)))))
    aside = KeptRows.of(rows.filter(_is_aside()))
    return WaitingRows(refused, _gone(refused, marked, engine), aside)


def _gone(kept: KeptRows, marked: Rows, engine: Engine) -> int:
    """How many of the rows with these marks the table no longer holds."""
    if not kept.height:
        return 0
    there = marked.select([IDENTITY]).join_rows(
        kept.open(engine).select([IDENTITY]), [IDENTITY], "inner"
    )
    return kept.height - there.height


def _is_aside() -> Expression:
    return Call("=", (Column(CLASS), Constant(ASIDE)))


def mark_rows(
    groups: Grouping, match: RowMatch, engine: Engine, held: Held = "waiting"
) -> tuple[KeptRows, KeptRows]:
    """Marks of the fresh rows that have a group, and of those that have none or were set aside."""
    rows = groups.of.rows.join(groups.of.counted, {_GROUP: array_of(groups.group)})
    fresh = Call("=", (Column(CLASS), Constant(match.classes - 1)))
    published = Call(">=", (Column(_GROUP), Constant(0)))
    shown = _marks(rows, both(fresh, published))
    kept = _marks(rows, both(fresh, negated(published)))
    waiting = match.waiting
    if waiting.refused.height:
        shown, kept = (_remembering(marks, waiting.refused, engine) for marks in (shown, kept))
    if held == "refused":
        kept = kept.map(_refused, [CLASS], _CLASS_ALONE)
    if held == "aside":
        kept = kept.map(_aside, [CLASS], _CLASS_ALONE)
    if waiting.aside.height:
        kept = kept.union(waiting.aside.open(engine).select(kept.schema.names))
    return KeptRows.of(shown.ordered([IDENTITY])), KeptRows.of(kept.ordered([IDENTITY]))


def _remembering(marks: Rows, refused: KeptRows, engine: Engine) -> Rows:
    """Marks of fresh rows, with the class of refused rows where they were refused."""
    gives = pa.schema([pa.field(_REFUSED, pa.int16())])
    known = refused.open(engine).map(lambda batch: [batch[0]], [CLASS], gives)
    joined = marks.join_rows(known.select([IDENTITY, _REFUSED]), [IDENTITY], "left")

    def remembered(batch: pa.RecordBatch) -> list[pa.Array]:
        old, was = series_of(batch[0]), series_of(batch[1])
        new = refused_class(old)
        return [new.zip_with(was.is_not_null(), old.cast(pl.Int16)).to_arrow()]

    return joined.map(remembered, [CLASS, _REFUSED], _CLASS_ALONE).select(marks.schema.names)


def _refused(batch: pa.RecordBatch) -> list[pa.Array]:
    row_class = series_of(batch[0]).cast(pl.Int16)
    return [refused_class(row_class).to_arrow()]


def _aside(batch: pa.RecordBatch) -> list[pa.Array]:
    return [array_of(np.full(batch.num_rows, ASIDE, dtype=np.int16))]


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


def _marks(rows: Rows, chosen: Expression) -> Rows:
    columns = [name for name in (IDENTITY, CONTENTS, CLASS) if name in rows.schema.names]
    return rows.select([*columns, _GROUP]).filter(chosen).select(columns)


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
    require_record_key(rows, record_key)
    return with_words(with_words(rows, [record_key], key, IDENTITY), identifying, key, CONTENTS)


def require_record_key(rows: Rows, record_key: str) -> None:
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
        known = series_of(batch[0]).fill_null(versions).cast(pl.Int16)
        late = known < ASIDE
        return [refused_class(known).zip_with(late, known).to_arrow()]

    return rows.map(filled, [CLASS], gives)
