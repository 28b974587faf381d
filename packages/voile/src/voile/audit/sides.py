"""The files of an audit, and what is said of them: original, released file, control; private.

All are read with the plan's types and texts for missing values; without a plan, roles are those
that ``voile plan`` would propose for the original, and the texts that seem to stand for missing
values are read so on all sides.

Whether people of the original stand in the control, though a column was changed; private.

Rows are compared in all columns, without those that tell rows apart (identifiers, and columns with
another value in nearly every row), and in either with one or two columns left out, as far as the
work allows: ids that were issued anew, or a column that was moved, hide nobody.  Texts are compared
without case, with single spaces, in one form of each letter (Unicode NFKC).

The rule: of the values that just two rows of both files have, each lies in one file or has one row
in either.  Where both are drawn from the same people, who is in which is chance, and a pair is
divided with probability 2 n m / ((n + m)(n + m - 1)), whatever the distribution of the rows
(a permutation test).  The same people are on both sides where more pairs are divided, by a binomial
distribution with a false-alarm rate of ``_ALARM`` over the number of comparisons (Bonferroni), and
the pairs beyond that are ``_ALIKE`` of the control's rows that are alone in it, or more.  Of fewer
see ``AlikePairs``.

A table that others hold, beside the original: the columns that both have under one name, and how
many rows of the original stand in it with their values, and alone.

Texts that a plan calls missing drop out of all figures.  Where they are no marks of missing values
in a column of the original, by their look or as what stands out there, it is said of how many of
its cells.

Dates of a file that the original lacks, such as those that were moved or drawn, are read as days on
all sides: numbers that noise, shifts and nearness are understood of.

Files of one original are joined where rows are the same persons': by a column that tells rows apart
on both sides, by all that both have, or by the order of rows; of these by what joins most rows, so
far as other columns of both agree.

What a file holds beside its table is not read, and travels with it: other sheets, comments and
pictures of a workbook, metadata of Parquet and Arrow files, other tables of a database.  It is
named, and a person must vouch for it.

A file in which repeated rows were left out has no pair in itself, and looks like the same people
where its rows have few different values.

Cost: O(N log N) for N rows and each comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from voile.audit.drift import AlikePairs
from voile.proposal.whole import propose
from voile.publish.registry import read_plan
from voile.release.folder import DOCUMENT, release_document
from voile.release.reading import People
from voile.release.recounting import Recount
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.schema.tabulation import number_of
from voile.table.arrays import Frame, date_form
from voile.table.codes import look_up
from voile.table.opening import Read, plain
from voile.table.places import laid_out, place_of
from voile.table.profile import Inspected, is_usual_mark
from voile.table.reading import beside_the_table
from voile.table.summaries import ColumnDetails
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness, parts

__all__ = ["Sides", "joined", "read_sides"]

Hashes = NDArray[np.uint64]
Places = NDArray[np.integer]

_ALARM, _ALIKE, _FEW_ALIKE = 0.001, 0.05, 0.002
_DISTINCT = 0.9
"""The share of rows with another value, from which on a column is looked at as an identifier."""
_COMPARED, _MANY = 4, 5_000_000  # columns and values among which few copies are looked for
_WORK = 20_000_000
"""Rows that are compared beyond those with one column left out."""
_HELD = 1 << 24
"""Hashes that are held at a time."""
_LOOKED_AT = 1 << 18
"""Rows of some of the values that are looked at first."""
_TELLING = 1 << 12
"""Of them, rows that are alone in the control, from which on they tell enough."""
_ISO = "%Y-%m-%d"
"""How dates are written where no plan says it."""
_FIRST = 100
"""Rows that are looked at before all are read as dates."""


def _shared_people(own: Frame, control: Frame, ids: Collection[str]) -> str | None:
    """Why the comparison with a control is void, without a full stop; None where it is not.

    Both have the same columns; ``ids`` are those of them that tell people apart.
    """
    places = _Places.of(own, control)
    asked = dict.fromkeys(_left_out(tuple(own.columns), places.plain(ids), places.rows))
    worst = max(
        (_divided(places.rows_in(names), own.height, len(asked)), -len(names)) for names in asked
    )
    shared, width = f"{worst[0]:,}", -worst[1]
    columns = "all columns" if width == own.width else f"{width} of {own.width} columns"
    if not worst[0]:
        names = places.plain(ids)
        if not _COMPARED <= len(names) <= _MANY / max(places.rows, 1):
            return None
        some, chance = AlikePairs.shared([*map(places.hashes, names)], own.height)
        if chance >= _ALARM or some < _FEW_ALIKE * control.height:
            return None
        shared, columns = f"some {some:,.0f}", "all columns or all but one"
    return (
        f"{shared} of the {control.height:,} rows of the control are rows of the original in "
        f"{columns}, more than chance explains: where the same people stand on both sides, the "
        "comparison with the control is void; give a control of people who were not in the data"
    )


@dataclass(frozen=True, eq=False)
class _Places:
    """The rows of two files, one below the other, as sums of a hash of each value; private."""

    own: Frame
    control: Frame
    keys: Mapping[str, np.uint64]
    """By which columns differ whose values are alike."""
    total: Hashes
    """Shape (n,): of all columns."""
    _hashes: dict[str, Hashes]
    """Those of the columns that are asked for again, where all of them are few."""

    @classmethod
    def of(cls, own: Frame, control: Frame) -> _Places:
        """Of files that have the same columns, of the same types."""
        draws = Randomness.seeded(0).key("rows alike").generator()
        keys = {name: draws.integers(0, 2**63, dtype=np.uint64) for name in own.columns}
        found = cls(own, control, keys, np.zeros(own.height + control.height, np.uint64), {})
        for name in keys:
            found.total[:] += found.hashes(name)
        return found

    @property
    def rows(self) -> int:
        """Of both files."""
        return len(self.total)

    def hashes(self, name: str) -> Hashes:
        """Of the values of a column, shape (n,)."""
        if name in self._hashes:
            return self._hashes[name]
        found = np.concatenate([_value_hashes(side[name]) for side in (self.own, self.control)])
        found += self.keys[name]
        _mix(found)
        if self.rows * len(self.keys) <= _HELD:
            self._hashes[name] = found
        return found

    def plain(self, ids: Collection[str]) -> tuple[str, ...]:
        """The columns that tell no rows apart."""

        def tells_apart(name: str) -> bool:
            if not all(_may_differ(side[name]) for side in (self.own, self.control)):
                return False
            both = np.split(self.hashes(name), [self.own.height])
            return all(pl.Series(s).n_unique() >= _DISTINCT * max(len(s), 1) for s in both)

        return tuple(name for name in self.keys if name not in ids and not tells_apart(name))

    def rows_in(self, names: Collection[str]) -> Hashes:
        """The rows in some columns, shape (n,), an array of its own."""
        left = [name for name in self.keys if name not in names]
        few = len(left) <= len(names)
        total = self.total.copy() if few else np.zeros_like(self.total)
        for name in left if few else names:
            (np.subtract if few else np.add)(total, self.hashes(name), out=total)
        return total


def _may_differ(column: pl.Series) -> bool:
    """Whether a column can have as many different values as one that tells rows apart."""
    most = len(column)
    if isinstance(column.dtype, pl.Enum):
        most = len(column.dtype.categories) + 1
    elif column.dtype.is_integer() and column.null_count() < len(column):
        low, high = column.min(), column.max()
        assert isinstance(low, int)
        assert isinstance(high, int)
        most = high - low + 2
    return most >= _DISTINCT * len(column)


def _value_hashes(column: pl.Series) -> Hashes:
    """A hash of each value, alike for texts that differ in capitals, spaces or forms of letters."""
    if isinstance(column.dtype, pl.Enum):  # as texts stand in the files of an audit
        texts = column.dtype.categories.append(pl.Series([None], dtype=pl.String))
        codes = column.to_physical()
        if codes.null_count():
            codes = codes.cast(pl.UInt32).fill_null(len(texts) - 1)
        return look_up(_folded(texts).hash(0).to_numpy(), codes.to_numpy())
    plain = _folded(column) if column.dtype == pl.String else column
    return plain.hash(0).to_numpy()


def _mix(hashes: Hashes) -> None:
    """Make sums of hashes as good as hashes, in place: the finalizer of SplitMix64.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
    """
    for part in parts(len(hashes)):
        some = hashes[part]
        some ^= some >> np.uint64(30)
        some *= np.uint64(0xBF58476D1CE4E5B9)
        some ^= some >> np.uint64(27)
        some *= np.uint64(0x94D049BB133111EB)
        some ^= some >> np.uint64(31)


def _folded(texts: pl.Series) -> pl.Series:
    plain = texts.str.normalize("NFKC").str.to_lowercase().str.replace_all("ß", "ss", literal=True)
    return plain.str.replace_all(r"\s+", " ").str.strip_chars()


def _left_out(
    every: tuple[str, ...], plain: tuple[str, ...], rows: int
) -> Iterator[tuple[str, ...]]:
    """The sets of columns in which rows are compared."""
    for names in (every, plain):
        if names:
            yield names
            if len(names) > 2:
                yield from combinations(names, len(names) - 1)
    pairs = len(plain) * (len(plain) - 1) // 2
    if len(plain) > 3 and pairs * rows <= _WORK:
        yield from combinations(plain, len(plain) - 2)


@dataclass(frozen=True)
class _Pairs:
    """The values that just two rows of two files have."""

    pairs: int
    divided: int
    """Of them, those that have one row in either file."""
    share: float
    """Of pairs, that chance divides."""
    alone: int
    """Rows of the second file that are alone in it."""

    @classmethod
    def of(cls, rows: Hashes, first: int) -> _Pairs:
        """Of rows (n,), sorted in place, of which the ``first`` are those of the first file."""
        # The last bit says in which file a row is: sorting in place takes no order beside.
        rows <<= np.uint64(1)
        rows[first:] |= np.uint64(1)
        rows.sort()
        apart = (rows[1:] ^ rows[:-1]) > 1
        starts = np.concatenate([[0], np.flatnonzero(apart) + 1])[: len(rows)]
        sizes = np.diff(starts, append=len(rows))
        in_control = np.add.reduceat((rows & np.uint64(1)).astype(np.int64), starts)
        second, total = len(rows) - first, len(rows)
        return cls(
            int((sizes == 2).sum()),
            int(((sizes == 2) & (in_control == 1)).sum()),
            2 * first * second / max(total * (total - 1), 1),
            int((in_control == 1).sum()),
        )

    @property
    def beyond(self) -> float:
        """How many pairs are divided beyond chance."""
        return self.divided - self.share * self.pairs


def _divided(rows: Hashes, first: int, questions: int) -> int:
    """How many pairs of rows are divided between the files; 0 where chance explains it.

    The ``first`` of the ``rows`` (n,) are those of one file; they are used up.  Of many rows those
    of some of the values are looked at first, which tell most files that share nobody.
    """
    if not first or first == len(rows):
        return 0
    if len(rows) > 2 * _LOOKED_AT:
        some = rows < np.uint64(2**64 * (_LOOKED_AT / len(rows)))
        few = _Pairs.of(rows[some], int(some[:first].sum()))
        if few.alone >= _TELLING and few.beyond < _ALIKE / 2 * few.alone:
            return 0
    found = _Pairs.of(rows, first)
    if not found.divided or found.beyond < _ALIKE * found.alone:
        return 0
    share = min(found.share, 1 - 1e-12)
    chance = float(special.bdtrc(found.divided - 1, found.pairs, share))
    return found.divided if chance < _ALARM / questions else 0


@dataclass(frozen=True)
class _Auxiliary:
    """A table that somebody else holds, of people who may stand in the original; private."""

    columns: tuple[str, ...]
    """Those of the original that it has, too."""
    standing: int
    """Rows of the original whose values stand in it."""
    alone: int
    """Of these, rows whose values stand in just one of its rows."""

    def told(self, rows: int) -> str:
        """What it shares with an original of so many rows, as a clause."""
        return (
            f"the auxiliary table has {', '.join(map(repr, self.columns))} of the original: of "
            f"{rows:,} rows {self.standing:,} stand in it with these values, {self.alone:,} in one "
            "row of it alone"
        )


@dataclass(frozen=True, eq=False)
class Sides:
    """What an audit compares; private."""

    released: pl.DataFrame
    original: People
    control: People | None
    plan: Plan
    """Of a plan that was given, or one that says the proposed roles and nothing else."""
    roles: Mapping[str, tuple[str, ...]]
    """Columns of the original by role."""
    identifiers: tuple[str, ...]
    """Columns of the original that tell people apart, which attacks do not look at."""
    roles_of: Literal["plan", "proposal"]
    notices: tuple[str, ...]
    void: bool
    """Whether people of the original stand in the control, beside whom nothing can be told."""
    auxiliary: _Auxiliary | None = None
    unread_parts: tuple[str, ...] = ()
    """What the released file holds beside its table, which was not read."""
    method: Mapping[str, object] | None = None
    """What a release of Voile says of its method."""
    called_missing: Mapping[str, float] = field(default_factory=dict)
    """Shares of cells of the original that the plan calls missing and that look like values."""

    def with_files(self, places: Sequence[Path]) -> tuple[Sides | None, tuple[str, ...]]:
        """The same of this file and others together, and what is said of each.

        None where none can be joined.  Raises ``TableError`` where one cannot be read.
        """
        said = (self.plan.missing, self.plan.texts)
        read = ((place.name, Read.compactly(_data_of(place), *said).frame) for place in places)
        table, told = joined(self.released, read)
        return (None if table is None else replace(self, released=table)), tuple(told)

    def without_rows(self) -> Sides:
        """The same with all columns and no rows."""
        original, control = (
            None if each is None else People(each.frame.clear(), each.plan)
            for each in (self.original, self.control)
        )
        assert original is not None
        return replace(self, released=self.released.clear(), original=original, control=control)


_AGREE = 0.9
"""The share of rows in which a column that both have agrees, where rows stand in one order."""
_JOINED = 0.5
"""The share of the rows of the smaller file that must be joined."""


def joined(
    released: pl.DataFrame, others: Iterable[tuple[str, pl.DataFrame]]
) -> tuple[pl.DataFrame | None, list[str]]:
    """A file's rows with those of others beside them, each with its name; what is said of each.

    None where none can be joined.  Of a column that several have the one of most values counts.
    """
    table, told = released, list[str]()
    for name, other in others:
        found = _joined(table, other)
        if found is None:
            told.append(
                f"{name} was not joined, since its rows cannot be told to be those of this file "
                "by a column that tells rows apart or by their order: they were not judged together"
            )
            continue
        table, how = found
        told.append(
            f"{name} was joined by {how}, {table.height:,} rows: figures of both files together "
            "stand beside those of this file"
        )
    return (table if table is not released else None), told


def _joined(first: pl.DataFrame, second: pl.DataFrame) -> tuple[pl.DataFrame, str] | None:
    """Two files side by side, and by what; None where nothing tells whose rows are the same."""
    texts = [side.select(pl.all().cast(pl.String)) for side in (first, second)]
    shared = [name for name in first.columns if name in second.columns]
    best: tuple[float, str, Places, Places] | None = None
    for names in (*([name] for name in shared), *([shared] if len(shared) > 1 else [])):
        keys = [
            side.select(names)
            .with_row_index("row of file")
            .filter(pl.struct(names).is_unique() & pl.all_horizontal(pl.col(names).is_not_null()))
            for side in texts
        ]
        both = keys[0].join(keys[1], on=names, suffix=" too")
        one, two = (both[f"row of file{end}"].to_numpy() for end in ("", " too"))
        worth = len(one) * _agreement(texts, one, two, [n for n in shared if n not in names])
        if len(one) >= _JOINED * min(first.height, second.height) and (not best or worth > best[0]):
            best = worth, f"column {', '.join(map(repr, names))}", one, two
    places = np.arange(first.height)
    alike = _agreement(texts, places, places, shared) if first.height == second.height else 0.0
    if alike >= _AGREE and (not best or alike * first.height > best[0]):
        best = alike, "the order of its rows", places, places
    if best is None:
        return None
    left, right = first[best[2]], second[best[3]]
    finer = {name for name in shared if right[name].n_unique() > left[name].n_unique()}
    more = [name for name in right.columns if name not in shared or name in finer]
    return left.with_columns(right.select(more)), best[1]


def _agreement(
    sides: Sequence[pl.DataFrame], one: Places, two: Places, names: Sequence[str]
) -> float:
    """The largest share of joined rows in which a column of both agrees; 1 where none is."""
    if not len(one):
        return 0.0
    kinds = [name for name in names if sides[0][name].n_unique() > 1]
    left, right = sides[0][one], sides[1][two]
    alike = (int(left[name].eq_missing(right[name]).sum()) / len(one) for name in kinds)
    return max(alike, default=1.0)


def read_sides(
    released: Path,
    original: Path,
    control: Path | None = None,
    plan: Path | None = None,
    auxiliary: Path | None = None,
) -> Sides:
    """Read the files of an audit; ``released`` may be a release folder of Voile.

    Raises ``TableError`` where a file cannot be read, the control lacks a column of the original,
    or the auxiliary table shares none that may be known,
    ``PlanError`` for a plan that is wrong or names columns that the original lacks,
    ``RefusedError`` for a release folder that is not what it claims.
    """
    stated = read_plan(plan) if plan is not None else None
    held, schema, said = _original(original, stated)
    called = {} if stated is None else _called_missing(original, stated, held)
    missing, texts = said.missing, said.texts
    shown = Read.compactly(_data_of(released), missing, texts).frame
    told_apart = (
        *said.roles.identifiers,
        *(n for n in (said.roles.person, said.roles.household) if n and n in held.columns),
    )
    others = None
    notices = [*map(_told_missing, called, called.values()), *_other_releases(released)]
    void = False
    if control is not None:
        frame = _like(Read.compactly(control, missing, texts), schema, control)
        others = People(frame, said)
        notices += _doubts(held, frame)
        shared = _shared_people(held, frame, told_apart)
        void = shared is not None
        notices += [shared] if shared else []
    beside = None
    if auxiliary is not None:
        table = Read.compactly(auxiliary, missing, texts)
        beside = _auxiliary(held, table, schema, told_apart, auxiliary)
        notices.append(beside.told(held.height))
    roles = {
        "quasi_identifiers": said.roles.quasi_identifiers,
        "sensitive": said.roles.sensitive,
    }
    (held, shown, *absent), said = _in_days(
        [held, shown, *([] if others is None else [others.frame])], said
    )
    return Sides(
        released=shown,
        original=People(held, said),
        control=People(absent[0], said) if absent else None,
        plan=said,
        roles=roles,
        identifiers=told_apart,
        roles_of="proposal" if stated is None else "plan",
        notices=tuple(notices),
        void=void,
        auxiliary=beside,
        unread_parts=tuple(beside_the_table(released)),
        method=_method_of(released),
        called_missing=called,
    )


def _in_days(frames: Sequence[pl.DataFrame], plan: Plan) -> tuple[list[pl.DataFrame], Plan]:
    """The original, the file and the control, with dates that the original lacks as days.

    A plan that explains dates by a hierarchy, or lists them, is believed.
    """
    found, columns = list(frames), dict(plan.columns)
    for name in found[0].columns:
        said = columns.get(name, ColumnPlan())
        explained = (said.hierarchy, said.values, said.order) != (None, None, None)
        if explained or any(name not in frame.columns for frame in frames):
            continue
        read = (_dates(frame[name], said.format or _ISO) for frame in frames)
        sides = [side.to_physical().alias(name) for side in read if side is not None]
        if len(sides) < len(frames):
            continue
        own, shown = sides[0].drop_nulls(), sides[1].drop_nulls()
        if not len(own) or shown.is_in(own.implode()).all():
            continue
        found = [frame.with_columns(side) for frame, side in zip(found, sides, strict=True)]
        columns[name] = replace(said, type=None, kind=None, format=None)
    return found, replace(plan, columns=columns)


def _dates(column: pl.Series, date_format: str) -> pl.Series | None:
    """The dates of a column; None where a cell that is not empty is none."""
    if column.dtype == pl.Date:
        return column
    if not (isinstance(column.dtype, pl.Categorical | pl.Enum) or column.dtype == pl.String):
        return None
    form = date_form(date_format)
    if not form.admits(column.head(_FIRST).cast(pl.String)):
        return None
    texts = column.cast(pl.String)
    found = form.read(texts)
    return found if found.dtype == pl.Date and found.null_count() == texts.null_count() else None


def _auxiliary(
    own: pl.DataFrame, read: Read, types: pl.Schema, ids: Collection[str], path: Path
) -> _Auxiliary:
    """What a table shares with the original, columns matched by their names in any case."""
    names = {name.casefold(): name for name in read.types}
    shared = [name for name in own.columns if name.casefold() in names and name not in ids]
    if not shared:
        msg = (
            f"{path}: the auxiliary table has no column of the original that others may know, by "
            "its name; give its columns the names that they have in the original"
        )
        raise TableError(msg)
    others = pl.DataFrame(
        [
            plain(read.frame[names[name.casefold()]]).cast(types[name], strict=False).alias(name)
            for name in shared
        ]
    )
    theirs = others.group_by(shared).len("held")
    mine = own.select(plain(own[name]).cast(types[name], strict=False) for name in shared)
    held = mine.join(theirs, on=shared, how="left", nulls_equal=True)["held"].fill_null(0)
    return _Auxiliary(tuple(shared), int((held > 0).sum()), int((held == 1).sum()))


def _original(path: Path, stated: Plan | None) -> tuple[pl.DataFrame, pl.Schema, Plan]:
    """The rows, their types in the file, and the plan that was given or is proposed for them."""
    if stated is not None:
        place = laid_out(place_of(path), stated.input)
        found = Read.compactly(place, stated.missing, stated.texts)
        stated.bind(found.frame.columns)
        return found.frame, found.types, stated
    details: list[ColumnDetails] = []

    def look(rows: pl.DataFrame, notes: Sequence[str]) -> None:
        table = Inspected(rows, notes)
        details.extend(table.details(column) for column in table.columns)

    found = Read.compactly(path, look=look)
    proposed = _proposed(found.frame.columns, details)
    if proposed.missing:
        found = found.without(proposed.missing, path)
    return found.frame, found.types, proposed


def _called_missing(path: Path, plan: Plan, held: pl.DataFrame) -> dict[str, float]:
    """The share of each column's cells that the plan calls missing and that look like values."""
    if all(map(is_usual_mark, plan.missing)):
        return {}
    found: dict[str, float] = {}

    def look(rows: pl.DataFrame, notes: Sequence[str]) -> None:
        table = Inspected(rows, notes)
        for name in rows.columns:
            stands_out = _among((*table.details(name).marks, *table.details(name).sentinels))
            told = _among([one for one in plan.missing if is_usual_mark(one) or stands_out(one)])
            cells = rows[name].unique()
            empty = [text is None or told(text) for text in cells.cast(pl.String)]
            missing = rows[name].is_in(cells.filter(pl.Series(empty)).implode(), nulls_equal=True)
            beyond = held[name].null_count() - int(missing.sum())
            if beyond > 0:
                found[name] = beyond / rows.height

    Read.compactly(laid_out(place_of(path), plan.input), (), plan.texts, look)
    return found


def _among(others: Iterable[str]) -> Callable[[str], bool]:
    """Asks whether a text is one of some, or the number that one of them writes."""
    texts = frozenset(others)
    numbers = {number for text in texts if (number := number_of(text)) is not None}
    return lambda text: text in texts or (bool(numbers) and number_of(text) in numbers)


def _told_missing(name: str, share: float) -> str:
    """That a plan calls values missing, as a clause."""
    return (
        f"the plan calls {share:.2%} of the original's cells of column {name!r} missing by words "
        "that are no marks of missing values: all figures leave these cells out; take the words "
        "from missing"
    )


def _data_of(released: Path) -> Path:
    """The data of a release folder, which is recounted; any other path as it is."""
    if not (released / DOCUMENT).is_file():
        return released
    found = Recount.of(released)
    if refusal := found.refusal():
        raise refusal
    return found.whole


def _other_releases(released: Path) -> list[str]:
    """That a release folder is one of several, as a clause."""
    series = release_document(released).get("series") if (released / DOCUMENT).is_file() else None
    if not isinstance(series, Mapping):
        return []
    return [
        f"the release is number {series.get('version')} of the series {series.get('name')!r}: what "
        "its releases tell together was judged only of those that --beside names"
    ]


def _method_of(released: Path) -> Mapping[str, object] | None:
    """What a release folder says of its method; None of any other path."""
    if not (released / DOCUMENT).is_file():
        return None
    method: Mapping[str, object] = release_document(released)["method"]
    return method


def _proposed(names: Sequence[str], details: Sequence[ColumnDetails]) -> Plan:
    """A plan with the roles that are proposed for a table, and texts for missing values."""
    proposal = propose(details)

    def of(*roles: Any) -> tuple[str, ...]:
        return tuple(column.name for role in roles for column in proposal.of_role(role))

    identifiers = of("identifier", "person", "household")
    withheld = tuple(column.name for column in proposal.columns if column.is_withheld)
    quasi, sensitive = (*of("quasi"), *withheld), of("sensitive")
    if not quasi:
        quasi = tuple(n for n in names if n not in {*identifiers, *sensitive})
    roles = Roles(identifiers=identifiers, quasi_identifiers=quasi, sensitive=sensitive)
    return Plan(roles=roles, nulls="category", missing=proposal.marks)


def _like(read: Read, own: pl.Schema, path: Path) -> pl.DataFrame:
    """The control in the columns of the original and their types."""
    columns = []
    for name, dtype in own.items():
        # The same name in another case is the same column, where no other is meant.
        alike = [n for n in read.types if n.casefold() == name.casefold() and n not in own]
        held = name if name in read.types or len(alike) != 1 else alike[0]
        if held not in read.types:
            msg = f"{path}: the control has no column {name!r}, which the original has"
            raise TableError(msg)
        column = read.frame[held].alias(name)
        if read.types[held] != dtype:
            column = plain(column).cast(dtype, strict=False)
            if column.null_count() > read.frame[held].null_count():
                msg = (
                    f"{path}: column {name!r} of the control holds values that cannot be those of "
                    "the original's column, which has another type"
                )
                raise TableError(msg)
        columns.append(column)
    return pl.DataFrame(columns)


def _doubts(own: pl.DataFrame, control: pl.DataFrame) -> list[str]:
    """That the two were taken for each other."""
    if control.height <= own.height:
        return []
    return [
        f"the control has {control.height:,} rows and the original {own.height:,}: make sure that "
        "they are not the wrong way round"
    ]
