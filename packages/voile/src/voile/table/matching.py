"""Rows of a series: marked by who they are, and matched with those that earlier releases saw.

Marks are a data set of the engine with one row for each row: 64 bits of its identity, where a
record key identifies it 64 bits of its contents, and the class of the release that first published
it, from 0.  They stand in the order of the identities, which tells nothing.

Rows that are held back have the class that the release would have given them, if
``models.ke_anonymity`` has not begun to decide about them; ``ASIDE`` where they are never to be
published; and where they were refused, ``refused_class`` of it.  These keep it when they are
published late, so that it is known should that release turn out to be lost.

Cost in n rows and m marks: the identities of the rows, and one join of n with m, in the engine.

When the rows of a growing series arrived, as far as its marks tell.

A row arrived before the release that first showed it, or before the one whose look refused it,
which its mark remembers (``matching``); and a row that the newest release but one held back arrived
before that.  How long others waited before they were looked at is not kept.

Cost: a match of n rows with all marks.

Rows of a series whose people come and go: who is new, who is still there, and who left.

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
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of, series_of
from voile.table.decisions import Grouping
from voile.table.keeping import WORDS, KeptRows, together, with_row_words, with_words, words_of
from voile.table.protocol import Counted, Engine, Rows
from voile.table.summaries import KnownRows, RowMatch, WaitingRows
from voile_base.errors import RefusedError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key
from voile_base.values.expressions import Call, Column, Expression, both, is_missing, negated
from voile_base.values.expressions import Literal as Constant

__all__ = [
    "ABSENT",
    "ASIDE",
    "CLASS",
    "CONTENTS",
    "FRESH",
    "IDENTITY",
    "RETIRED",
    "Held",
    "Members",
    "ShownText",
    "arrivals",
    "lacks_contents",
    "mark_rows",
    "marks_in_common",
    "marks_of_release",
    "match_rows",
    "repeated_marks",
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


def _refused_class(row_class: pl.Series) -> pl.Series:
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
        new = _refused_class(old)
        return [new.zip_with(was.is_not_null(), old.cast(pl.Int16)).to_arrow()]

    return joined.map(remembered, [CLASS, _REFUSED], _CLASS_ALONE).select(marks.schema.names)


def _refused(batch: pa.RecordBatch) -> list[pa.Array]:
    row_class = series_of(batch[0]).cast(pl.Int16)
    return [_refused_class(row_class).to_arrow()]


def _aside(batch: pa.RecordBatch) -> list[pa.Array]:
    return [array_of(np.full(batch.num_rows, ASIDE, dtype=np.int16))]


def marks_of_release(kept: KeptRows, number: int, rows: int) -> KeptRows:
    """Of the marks of several releases those of one, counted from 1, that published ``rows``."""
    own = number - 1
    refused = int(_refused_class(pl.Series([own], dtype=pl.Int16)).item())

    def opened(engine: Engine) -> Rows:
        mine = (Call("=", (Column(CLASS), Constant(each))) for each in (own, refused))
        return kept.open(engine).filter(Call("or", tuple(mine)))

    return KeptRows(rows, opened)


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
        known = series_of(batch[0]).fill_null(versions).cast(pl.Int16)
        late = known < ASIDE
        return [_refused_class(known).zip_with(late, known).to_arrow()]

    return rows.map(filled, [CLASS], gives)


_HELD = "\1held"


def arrivals(
    rows: Rows,
    columns: Sequence[str],
    known: KnownRows,
    engine: Engine,
    key: Key,
    record_key: str | None,
    name: str,
) -> pl.DataFrame:
    """The published ``columns`` of all rows that a release has shown, and when each arrived.

    ``known`` has the marks of all releases, and those that the last but one held back.  The column
    ``name`` has the number of the release before which a row arrived, from 1.
    """
    newest, held = known.versions, known.held
    published = replace(known, held=KeptRows())
    match = match_rows(rows, columns, published, engine, key, record_key)
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


FRESH, ABSENT, RETIRED = -1, -2, -3
"""In place of the number of a class: rows that no release has shown, rows that are shown no more,
and rows that were looked at now and are never to be shown."""

ShownText = tuple[str | None, str | None, float]
"""What a group shows of a column: a text or the lower end, the upper end, and its share."""

_GROUP_OF_MEMBERS, _RETIRED, _KNOWN_MEMBERS = "\1lasting group", "\1retired", "\1known contents"
_ORDER, _RANK, _LEAST = "\1order", "\1rank", "\1least rank"
_ALIVE = -1


@dataclass(frozen=True, eq=False)
class Members:
    """The rows of a table with their classes, and the marks of earlier releases; private."""

    rows: Rows
    """All rows with their marks; ``_GROUP_OF_MEMBERS`` is their class, ``FRESH`` or ``ABSENT``."""
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
        counted = self.alive.count([_GROUP_OF_MEMBERS, _word(self.criteria.index(criterion))])
        numbers = numbers_of(counted.values[0]).astype(np.int64)
        return numbers[counted.codes[:, 0]], counted.rows

    def withheld(self, stayers: NDArray[np.int64], key: Key) -> Members:
        """Without so many rows of each class, drawn uniformly and independently of all values."""
        drawn = with_words(self.rows, [IDENTITY], key, _ORDER).rank(
            _RANK, [_GROUP_OF_MEMBERS], [_ORDER]
        )
        asked = drawn.count([_GROUP_OF_MEMBERS], keep=True)
        number = numbers_of(asked.values[0])[asked.codes[:, 0]]
        least = np.zeros(len(number), np.int64)
        least[number >= 0] = stayers[number[number >= 0]]
        drawn = drawn.join(asked, {_LEAST: array_of(least)})

        def kept(batch: pa.RecordBatch) -> list[pa.Array]:
            group, rank, first = (
                numbers_of(batch[name]) for name in (_GROUP_OF_MEMBERS, _RANK, _LEAST)
            )
            return [array_of(np.where(rank < first, ABSENT, group).astype(np.int64))]

        names = self.rows.schema.names
        return self._with(
            drawn.map(kept, [_GROUP_OF_MEMBERS, _RANK, _LEAST], _GROUPED).select(names)
        )

    def count(self, columns: Sequence[str]) -> tuple[Counted, NDArray[np.int64]]:
        """Rows by class and combination of values, and the class of each combination."""
        counted = self.rows.count([_GROUP_OF_MEMBERS, *columns], keep=True)
        numbers = numbers_of(counted.values[0]).astype(np.int64)
        return counted, numbers[counted.codes[:, 0]]

    def shown(self, columns: Sequence[str]) -> Mapping[int, Sequence[ShownText]]:
        """What each class shows of some columns, in this order, since it was first published."""
        if self.alive is None:
            return {}
        names = [name for column in columns for name in _shown_names(column)]
        counted = self.alive.count([_GROUP_OF_MEMBERS, *names])
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
        included, or ``FRESH``, ``ABSENT`` or ``RETIRED``; ``shown`` has for each column
        what each combination shows.
        """
        made: dict[str, pa.Array] = {_GROUP_OF_MEMBERS: array_of(number)}
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
        if (number == RETIRED).any():
            gone = _union(gone, _retired_now(rows.filter(_compared("=", RETIRED)), self.version))
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
        return [IDENTITY, CONTENTS, CLASS, _GROUP_OF_MEMBERS, _RETIRED, *words, *texts]

    def _with(self, rows: Rows) -> Members:
        return replace(self, rows=rows)

    @staticmethod
    def match(
        rows: Rows,
        columns: Sequence[str],
        criteria: Sequence[str],
        known: KnownRows,
        engine: Engine,
        key: Key,
        record_key: str,
    ) -> Members:
        """Find the members of earlier releases; raises ``TableError`` for a bad record key.

        Raises ``RefusedError`` for marks of an earlier Voile that do not name the columns they are
        of. ``columns`` are those published; ``criteria`` those whose values criteria compare.
        """
        _require_record_key(rows, record_key)
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
            rows=_with_member_classes(marked, alive, retired),
            alive=alive,
            retired=retired,
            classes=0 if marks is None else _most(marks) + 1,
            version=version,
            criteria=criteria,
        )


def _with_member_classes(rows: Rows, alive: Rows | None, retired: Rows | None) -> Rows:
    """Rows with the number of their class, ``FRESH`` or ``ABSENT``."""
    names = rows.schema.names
    joined, given = rows, []
    if alive is not None:
        known = alive.map(
            lambda batch: [batch[0]], [CONTENTS], pa.schema([(_KNOWN_MEMBERS, pa.uint64())])
        )
        joined = joined.join_rows(
            known.select([IDENTITY, _GROUP_OF_MEMBERS, _KNOWN_MEMBERS]), [IDENTITY], "left"
        )
        given += [_GROUP_OF_MEMBERS, _KNOWN_MEMBERS]
    if retired is not None:
        joined = joined.join_rows(retired.select([IDENTITY, _RETIRED]), [IDENTITY], "left")
        given += [_RETIRED]

    def classes(batch: pa.RecordBatch) -> list[pa.Array]:
        found = dict(zip([CONTENTS, *given], batch.columns, strict=True))
        number = np.full(batch.num_rows, FRESH, np.int64)
        if alive is not None:
            group, known = series_of(found[_GROUP_OF_MEMBERS]), series_of(found[_KNOWN_MEMBERS])
            number = group.fill_null(FRESH).cast(pl.Int64).to_numpy().copy()
            differs = (series_of(found[CONTENTS]) != known).fill_null(value=False)
            number[differs.to_numpy()] = ABSENT
        if retired is not None:
            number[series_of(found[_RETIRED]).is_not_null().to_numpy()] = ABSENT
        return [array_of(number)]

    return joined.map(classes, [CONTENTS, *given], _GROUPED).select([*names, _GROUP_OF_MEMBERS])


_GROUPED = pa.schema([pa.field(_GROUP_OF_MEMBERS, pa.int64())])
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


def _compared(operation: str, number: int, column: str = _GROUP_OF_MEMBERS) -> Call:
    return Call(operation, (Column(column), Constant(number)))


def _most(marks: Rows) -> int:
    """The largest number of a class."""
    return int(numbers_of(marks.count([_GROUP_OF_MEMBERS]).values[0]).max())


def _sizes(rows: Rows | None, classes: int) -> NDArray[np.int64]:
    """Rows by class, shape (c,)."""
    sizes = np.zeros(classes, np.int64)
    if rows is not None:
        counted = rows.count([_GROUP_OF_MEMBERS])
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
