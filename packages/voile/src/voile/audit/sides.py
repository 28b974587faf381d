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
the pairs beyond that are ``_ALIKE`` of the control's rows that are alone in it, or more.

A table that others hold, beside the original: the columns that both have under one name, and how
many rows of the original stand in it with their values, and alone.

A file in which repeated rows were left out has no pair in itself, and looks like the same people
where its rows have few different values.

Cost: O(N log N) for N rows and each comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from voile.proposal.whole import propose
from voile.publish.registry import read_plan
from voile.release.folder import DOCUMENT
from voile.release.reading import People
from voile.release.recounting import Recount
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.alignment import common_places
from voile.table.arrays import Frame
from voile.table.opening import Read, plain
from voile.table.places import laid_out, place_of
from voile.table.profile import Inspected
from voile.table.summaries import ColumnDetails
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["Sides", "read_sides"]


Hashes = NDArray[np.uint64]

_ALARM = 0.001
_ALIKE = 0.05
_DISTINCT = 0.9
"""The share of rows with another value, from which on a column is looked at as an identifier."""
_WORK = 20_000_000
"""Rows that are compared beyond those with one column left out."""


def _shared_people(own: Frame, control: Frame, ids: Collection[str]) -> str | None:
    """Why the comparison with a control is void, without a full stop; None where it is not.

    Both have the same columns; ``ids`` are those of them that tell people apart.
    """
    draws = Randomness.seeded(0).key("rows alike").generator()
    hashes, plain = {}, []
    for name in own.columns:  # one column at a time stands in full
        sides = common_places([_folded(own[name]), _folded(control[name])])
        kinds = max(int(side.max(initial=-1)) for side in sides) + 1
        numbers = draws.integers(0, 2**63, kinds).astype(np.uint64)
        hashes[name] = numbers[np.concatenate(sides)]
        if name not in ids and not _tells_apart(*sides):
            plain.append(name)
        del sides
    asked = dict.fromkeys(_left_out(tuple(own.columns), tuple(plain), own.height + control.height))
    worst = max(
        (_divided(_sum(hashes, names), own.height, len(asked)), -len(names)) for names in asked
    )
    if not worst[0]:
        return None
    columns = "all columns" if -worst[1] == own.width else f"{-worst[1]} of {own.width} columns"
    return (
        f"{worst[0]:,} of the {control.height:,} rows of the control are rows of the original in "
        f"{columns}, more than chance explains: where the same people stand on both sides, the "
        "comparison with the control is void; give a control of people who were not in the data"
    )


def _folded(column: pl.Series) -> Frame:
    """A column whose texts are alike where they differ in capitals, spaces or forms of letters."""
    if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
        return column.to_frame()
    texts = column.cast(pl.String)
    plain = texts.str.normalize("NFKC").str.to_lowercase().str.replace_all("ß", "ss", literal=True)
    return plain.str.replace_all(r"\s+", " ").str.strip_chars().to_frame()


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


def _sum(hashes: dict[str, Hashes], names: tuple[str, ...]) -> Hashes:
    total = np.zeros_like(hashes[names[0]])
    for name in names:
        total += hashes[name]
    return total


def _tells_apart(*sides: NDArray[np.int64]) -> bool:
    """Whether nearly each row has another value, on both sides."""
    return all(len(np.unique(side)) >= _DISTINCT * max(len(side), 1) for side in sides)


def _divided(rows: Hashes, first: int, questions: int) -> int:
    """How many pairs of rows are divided between the files; 0 where chance explains it.

    The ``first`` of the ``rows`` (n,) are those of one file; they are sorted in place.
    """
    # The last bit says in which file a row is: sorting in place takes no order beside.
    rows <<= np.uint64(1)
    rows[first:] |= np.uint64(1)
    rows.sort()
    apart = (rows[1:] ^ rows[:-1]) > 1
    starts = np.concatenate([[0], np.flatnonzero(apart) + 1])
    sizes = np.diff(starts, append=len(rows))
    in_control = np.add.reduceat((rows & np.uint64(1)).astype(np.int64), starts)
    pairs = int((sizes == 2).sum())
    divided = int(((sizes == 2) & (in_control == 1)).sum())
    second, total = len(rows) - first, len(rows)
    if not divided or not first or not second:
        return 0
    share = 2 * first * second / (total * (total - 1))
    chance = float(special.bdtrc(divided - 1, pairs, min(share, 1 - 1e-12)))
    alone = int((in_control == 1).sum())
    beyond = divided - share * pairs
    return divided if chance < _ALARM / questions and beyond >= _ALIKE * alone else 0


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
    missing, texts = said.missing, said.texts
    shown = Read.compactly(_data_of(released), missing, texts).frame
    one = (said.roles.person, said.roles.household)
    told_apart = (
        *said.roles.identifiers,
        *(name for name in one if name and name in held.columns),
    )
    others = None
    notices: list[str] = []
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
    return Sides(
        released=shown,
        original=People(held, said),
        control=others,
        plan=said,
        roles=roles,
        identifiers=told_apart,
        roles_of="proposal" if stated is None else "plan",
        notices=tuple(notices),
        void=void,
        auxiliary=beside,
    )


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
        del found
        found = Read.compactly(path, proposed.missing)
    return found.frame, found.types, proposed


def _data_of(released: Path) -> Path:
    """The data of a release folder, which is recounted; any other path as it is."""
    if not (released / DOCUMENT).is_file():
        return released
    found = Recount.of(released)
    if refusal := found.refusal():
        raise refusal
    return found.whole


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
