"""Rows of a series whose people come and go: who is new, who is still there, and who left.

Each row that a release of the series shows belongs to a *class*: rows that have stood in the same
groups of all releases so far, and are absent from the same.  The marks of the rows (``matching``)
carry the number of their class, what its group shows, and in which release they were retired, if
they were.  A retired row is published no more, whether its person left or not.

A row is recognised by its record key.  One whose contents changed since it was first published
counts as one that left, and as one that is not to be published again.

Values that criteria compare stand in the marks as 64 bits of a keyed pseudorandom function of
them: whoever left has no row any more, and what the classes of leavers keep must be counted.

Cost: the identities of the n rows, and two joins of n rows with m marks, in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of, series_of
from voile.table.identity import with_words
from voile.table.keeping import KeptRows, together
from voile.table.matching import CLASS, CONTENTS, IDENTITY, require_record_key
from voile.table.protocol import Counted, Engine, Rows
from voile.table.summaries import KnownRows
from voile_base.errors import RefusedError
from voile_base.randomness import Key
from voile_base.values.expressions import Call, Column, both
from voile_base.values.expressions import Literal as Constant

__all__ = ["ABSENT", "ASIDE", "FRESH", "Members", "ShownText", "match_members"]

FRESH, ABSENT, ASIDE = -1, -2, -3
"""In place of the number of a class: rows that no release has shown, rows that are shown no more,
and rows that were looked at now and are never to be shown."""

ShownText = tuple[str | None, str | None, float]
"""What a group shows of a column: a text or the lower end, the upper end, and its share."""

_GROUP, _RETIRED, _KNOWN = "\1lasting group", "\1retired", "\1known contents"
_ORDER, _RANK, _LEAST = "\1order", "\1rank", "\1least rank"
_ALIVE = -1


@dataclass(frozen=True, eq=False)
class Members:
    """The rows of a table with their classes, and the marks of earlier releases; private."""

    rows: Rows
    """All rows with their marks; ``_GROUP`` is their class, ``FRESH`` or ``ABSENT``."""
    alive: Rows | None
    """Marks of the rows that the newest release shows; None before the first."""
    retired: Rows | None
    """Marks of rows that are never to be published again."""
    classes: int
    """One more than the largest number that a class has had."""
    version: int
    """How many releases came before."""
    criteria: Sequence[str]
    """Columns whose values criteria compare."""

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """Rows of each class in the newest release, shape (c,)."""
        return _sizes(self.alive, self.classes)

    @cached_property
    def present(self) -> NDArray[np.int64]:
        """Rows of each class that are to be shown now, shape (c,)."""
        return _sizes(self.rows, self.classes)

    def values_before(self, criterion: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each class and value of a column in the newest release the class, and how many rows.

        Both have shape (p,), for p different pairs.
        """
        if self.alive is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        counted = self.alive.count([_GROUP, _word(self.criteria.index(criterion))])
        numbers = numbers_of(counted.values[0]).astype(np.int64)
        return numbers[counted.codes[:, 0]], counted.rows

    def withheld(self, stayers: NDArray[np.int64], key: Key) -> Members:
        """Without so many rows of each class, drawn uniformly and independently of all values."""
        drawn = with_words(self.rows, [IDENTITY], key, _ORDER).rank(_RANK, [_GROUP], [_ORDER])
        asked = drawn.count([_GROUP], keep=True)
        number = numbers_of(asked.values[0])[asked.codes[:, 0]]
        least = np.zeros(len(number), np.int64)
        least[number >= 0] = stayers[number[number >= 0]]
        drawn = drawn.join(asked, {_LEAST: array_of(least)})

        def kept(batch: pa.RecordBatch) -> list[pa.Array]:
            group, rank, first = (numbers_of(batch[name]) for name in (_GROUP, _RANK, _LEAST))
            return [array_of(np.where(rank < first, ABSENT, group).astype(np.int64))]

        names = self.rows.schema.names
        return self._with(drawn.map(kept, [_GROUP, _RANK, _LEAST], _GROUPED).select(names))

    def count(self, columns: Sequence[str]) -> tuple[Counted, NDArray[np.int64]]:
        """Rows by class and combination of values, and the class of each combination."""
        counted = self.rows.count([_GROUP, *columns], keep=True)
        numbers = numbers_of(counted.values[0]).astype(np.int64)
        return counted, numbers[counted.codes[:, 0]]

    def shown(self, columns: Sequence[str]) -> Mapping[int, Sequence[ShownText]]:
        """What each class shows of some columns, in this order, since it was first published."""
        if self.alive is None:
            return {}
        names = [name for column in columns for name in _shown_names(column)]
        counted = self.alive.count([_GROUP, *names])
        values = [series_of(each).to_list() for each in counted.values]
        found = {}
        for codes in counted.codes.tolist():
            number, *told = (each[code] for each, code in zip(values, codes, strict=True))
            found[int(number)] = [tuple(told[3 * j : 3 * j + 3]) for j in range(len(columns))]
        return found

    def marks(
        self,
        counted: Counted,
        number: NDArray[np.int64],
        shown: Mapping[str, Sequence[ShownText]],
    ) -> tuple[KeptRows, KeptRows]:
        """Marks of the rows that are first published now, and of all that never are again.

        ``number`` (g,) is the class that each counted combination gets, those of old classes
        included, or ``FRESH``, ``ABSENT`` or ``ASIDE``; ``shown`` has for each column
        what each combination shows.
        """
        made: dict[str, pa.Array] = {_GROUP: array_of(number)}
        for column, texts in shown.items():
            low, high, share = zip(*texts, strict=True) if texts else ((), (), ())
            names = _shown_names(column)
            made[names[0]] = pa.array(low, pa.string())
            made[names[1]] = pa.array(high, pa.string())
            made[names[2]] = pa.array(share, pa.float64())
        rows = self.rows.join(counted, made).map(_constants(self.version), [IDENTITY], _CONSTANTS)
        rows = rows.select(self._mark_columns(sorted(shown)))
        fresh = _compared(">=", self.classes)
        published = rows.filter(fresh)
        gone = self._gone(rows)
        if (number == ASIDE).any():
            gone = _union(gone, _retired_now(rows.filter(_compared("=", ASIDE)), self.version))
        kept = KeptRows() if gone is None else KeptRows.of(gone.ordered([IDENTITY]))
        return KeptRows.of(published.ordered([IDENTITY])), kept

    def _gone(self, rows: Rows) -> Rows | None:
        """Marks of those retired before, and of those that the newest release was the last of."""
        if self.alive is None:
            return self.retired
        still = rows.filter(_compared(">=", 0)).select([IDENTITY])
        left = self.alive.join_rows(still, [IDENTITY], "anti")
        return _union(self.retired, _retired_now(left, self.version).select(rows.schema.names))

    def _mark_columns(self, shown: Sequence[str]) -> list[str]:
        words = [_word(i) for i in range(len(self.criteria))]
        texts = [name for column in shown for name in _shown_names(column)]
        return [IDENTITY, CONTENTS, CLASS, _GROUP, _RETIRED, *words, *texts]

    def _with(self, rows: Rows) -> Members:
        return replace(self, rows=rows)


def match_members(
    rows: Rows,
    columns: Sequence[str],
    criteria: Sequence[str],
    known: KnownRows,
    engine: Engine,
    key: Key,
    record_key: str,
) -> Members:
    """Find the members of earlier releases; raises ``TableError`` for a bad record key.

    Raises ``RefusedError`` for marks of an earlier Voile that do not name the columns they are of.
    ``columns`` are those published; ``criteria`` those whose values criteria compare.
    """
    require_record_key(rows, record_key)
    marked = with_words(with_words(rows, [record_key], key, IDENTITY), columns, key, CONTENTS)
    for i, column in enumerate(criteria):
        marked = with_words(marked, [column], key.within("value"), _word(i))
    version = known.versions
    retired = None
    if known.held.height:
        # What a release that never appeared had first published, or retired, nobody has seen.
        seen = (_compared(">=", 0, _RETIRED), _compared("<", version, _RETIRED))
        retired = known.held.open(engine).filter(both(*seen))
    marks = together(known.published, engine)
    for kept in (marks, retired):
        _refuse_unnamed(kept)
    alive = marks
    if marks is not None and retired is not None:
        alive = marks.join_rows(retired.select([IDENTITY]), [IDENTITY], "anti")
    return Members(
        rows=_with_classes(marked, alive, retired),
        alive=alive,
        retired=retired,
        classes=0 if marks is None else _most(marks) + 1,
        version=version,
        criteria=criteria,
    )


def _with_classes(rows: Rows, alive: Rows | None, retired: Rows | None) -> Rows:
    """Rows with the number of their class, ``FRESH`` or ``ABSENT``."""
    names = rows.schema.names
    joined, given = rows, []
    if alive is not None:
        known = alive.map(lambda batch: [batch[0]], [CONTENTS], pa.schema([(_KNOWN, pa.uint64())]))
        joined = joined.join_rows(known.select([IDENTITY, _GROUP, _KNOWN]), [IDENTITY], "left")
        given += [_GROUP, _KNOWN]
    if retired is not None:
        joined = joined.join_rows(retired.select([IDENTITY, _RETIRED]), [IDENTITY], "left")
        given += [_RETIRED]

    def classes(batch: pa.RecordBatch) -> list[pa.Array]:
        found = dict(zip([CONTENTS, *given], batch.columns, strict=True))
        number = np.full(batch.num_rows, FRESH, np.int64)
        if alive is not None:
            group, known = series_of(found[_GROUP]), series_of(found[_KNOWN])
            number = group.fill_null(FRESH).cast(pl.Int64).to_numpy().copy()
            differs = (series_of(found[CONTENTS]) != known).fill_null(value=False)
            number[differs.to_numpy()] = ABSENT
        if retired is not None:
            number[series_of(found[_RETIRED]).is_not_null().to_numpy()] = ABSENT
        return [array_of(number)]

    return joined.map(classes, [CONTENTS, *given], _GROUPED).select([*names, _GROUP])


_GROUPED = pa.schema([pa.field(_GROUP, pa.int64())])
_CONSTANTS = pa.schema([pa.field(CLASS, pa.int16()), pa.field(_RETIRED, pa.int16())])


def _constants(version: int) -> Callable[[pa.RecordBatch], Sequence[pa.Array]]:
    def made(batch: pa.RecordBatch) -> Sequence[pa.Array]:
        values = (version, _ALIVE)
        return [array_of(np.full(batch.num_rows, value, np.int16)) for value in values]

    return made


def _retired_now(rows: Rows, version: int) -> Rows:
    """Marks of rows that are retired with the release of this index."""
    names = rows.schema.names

    def now(batch: pa.RecordBatch) -> list[pa.Array]:
        return [array_of(np.full(batch.num_rows, version, np.int16))]

    gives = pa.schema([pa.field(_RETIRED, pa.int16())])
    return rows.map(now, [IDENTITY], gives).select(names)


def _union(one: Rows | None, other: Rows) -> Rows:
    return other if one is None else one.select(other.schema.names).union(other)


def _compared(operation: str, number: int, column: str = _GROUP) -> Call:
    return Call(operation, (Column(column), Constant(number)))


def _most(marks: Rows) -> int:
    """The largest number of a class."""
    return int(numbers_of(marks.count([_GROUP]).values[0]).max())


def _sizes(rows: Rows | None, classes: int) -> NDArray[np.int64]:
    """Rows by class, shape (c,)."""
    sizes = np.zeros(classes, np.int64)
    if rows is not None:
        counted = rows.count([_GROUP])
        number = numbers_of(counted.values[0]).astype(np.int64)[counted.codes[:, 0]]
        inside = number >= 0
        sizes[number[inside]] = counted.rows[inside]
    return sizes


def _word(i: int) -> str:
    return f"\1value {i}"


def _shown_names(column: str) -> tuple[str, str, str]:
    """What marks call the lower end, the upper end, and the share of a column that groups show."""
    return f"\1from {column}", f"\1to {column}", f"\1share of {column}"


def _refuse_unnamed(marks: Rows | None) -> None:
    """Raise ``RefusedError`` for marks that number columns in the order of a plan that is gone."""
    if marks is not None and any(name.startswith("\1low ") for name in marks.schema.names):
        msg = (
            "the series was begun by an earlier Voile, which noted what groups show without the "
            "names of the columns, so that one column could be read for another. It cannot go on; "
            "begin a new series, and only for data about other people"
        )
        raise RefusedError(msg)
