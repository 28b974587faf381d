"""The two sides that are compared: the rows of a release, and what somebody knows of people.

Values are compared as texts or as numbers in double precision, alike however a file stores them.

Cost: reading a column is O(n); its texts are made once for each distinct value.

One column of a table and what a release shows of it, as its kind of disclosure compares them.

Cost: one look-up a value, of t targets and g rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.disclosure.evidence import Evidence
from voile.disclosure.shown import Disclosure, Shown
from voile.release.release import Release
from voile.schema.coding import BottomCoded, Coding, TopCoded, coded_values, described_after
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Protected
from voile.table.arrays import Frame, series_of
from voile.table.binding import coded_series, distinct_values
from voile.table.codes import DictionaryColumn, encode
from voile.table.protocol import Counted
from voile.table.published import PublishedTable
from voile.table.value_types import as_dates, with_missing
from voile_base.errors import InputError, TableError, nearest

__all__ = [
    "ColumnView",
    "CountedCells",
    "KnownValues",
    "People",
    "PublishedRows",
    "ShownCells",
    "Texts",
    "coded_column",
    "distinct_texts_of",
    "finite",
    "floats_of",
    "known_columns",
    "require_columns",
    "texts_of",
]


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Texts = list[str | None]


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The rows of a release as an adversary reads them."""

    release: Release
    frame: pl.DataFrame

    @classmethod
    def of(cls, release: Release) -> PublishedRows:
        """Read the rows of a release."""
        return cls(release, pl.DataFrame(release.table.to_arrow()))

    @property
    def disclosure(self) -> Disclosure:
        """How each column is shown."""
        return self.release.disclosure

    def shown(self, name: str) -> Shown | None:
        """How a column of the table is shown; None where the release does not speak of it."""
        return self.disclosure.columns.get(name)

    def columns_of(self, name: str) -> list[str]:
        """The published columns that show something of a column of the table."""
        return list(self.disclosure.columns_of(name))

    @property
    def permuted(self) -> frozenset[str]:
        """The columns whose values were permuted within the groups of the release.

        The value that a row shows in such a column is that of some row of its group.
        """
        return self.disclosure.permuted

    @property
    def group_column(self) -> str:
        """The published column with the numbers of groups; raises ``TableError`` without one."""
        if self.disclosure.groups is None:
            msg = "the release does not number its groups, and the question is about groups"
            raise TableError(msg)
        return self.disclosure.groups.column

    def groups(self) -> tuple[Codes, int]:
        """The group of each row, from 0, shape (n,), and how many groups there are.

        Raises ``TableError`` where the release does not number its groups.
        """
        column = encode(self.frame[self.group_column])
        return column.codes.astype(np.int64), len(column.values)


@dataclass(frozen=True, eq=False)
class People:
    """The table that was published, as far as the adversary knows its rows; private."""

    frame: pl.DataFrame
    plan: Plan | None = None
    """Public facts about the columns: hierarchies, bounds, texts that stand for missing values."""

    def column(self, name: str) -> pl.Series:
        """The values of a column, as the plan types them."""
        values = self.frame[name]
        if isinstance(values.dtype, pl.Categorical | pl.Enum):
            values = values.cast(pl.String)
        if self.plan is None:
            return values
        if self.described(name).reads_as == "text":
            values = values.cast(pl.String)
        return as_dates(with_missing(values, self.plan.missing), self.described(name))

    def described(self, name: str) -> ColumnPlan:
        """What the plan says of a column."""
        return (self.plan.columns if self.plan else {}).get(name, ColumnPlan())

    @property
    def protected(self) -> Protected:
        """Who is protected as one: a row, a person or a household."""
        return self.plan.roles.protected if self.plan else "row"

    @property
    def unit_column(self) -> str:
        """The column that tells persons or households apart; raises ``TableError`` without one."""
        name = self.plan.roles.unit if self.plan else None
        if name is None:
            msg = "the plan names no column that tells persons or households apart"
            raise TableError(msg)
        return name

    @cached_property
    def units(self) -> tuple[Codes, int]:
        """Which person or household each row is of, from 0, shape (n,), and how many there are.

        Each row is one of its own where the plan names nobody.  Raises ``TableError`` where the
        table lacks the column that the plan names.
        """
        if self.protected == "row":
            return np.arange(self.frame.height), self.frame.height
        name = self.unit_column
        if name not in self.frame.columns:
            msg = (
                f"the private original has no column {name!r}, which tells {self.protected}s apart"
                f"{nearest(name, self.frame.columns)}"
            )
            raise TableError(msg)
        column = encode(self.frame[name])
        return column.codes.astype(np.int64), len(column.values)

    def numbers(self, name: str) -> Floats:
        """The numbers of a column, moved into its public bounds; NaN where there is none."""
        numbers = floats_of(self.column(name))
        bounds = self.described(name).bounds
        return np.clip(numbers, float(bounds[0]), float(bounds[1])) if bounds else numbers


def known_columns(
    published: PublishedRows, people: People, asked: Sequence[str] | None, link: str | None
) -> tuple[str, ...]:
    """Columns of the table by which the adversary knows people.

    By default those by which a guarantee supposes people to be known: quasi-identifiers, and what
    rows are ranked by.  The ``link`` is none of them.  Raises ``InputError`` where there is none,
    or for one that is not published; ``TableError`` for one that the table lacks.
    """
    names = asked
    if names is None:
        roles = published.release.roles
        shown = (*roles.get("quasi_identifiers", ()), *roles.get("ranking", ()))
        owners = dict.fromkeys(published.disclosure.owner(column) for column in shown)
        names = [name for name in owners if name is not None and name != link]
    if not names:
        msg = "no column is known to the adversary: the release has no quasi-identifier; name some"
        raise InputError(msg)
    for name in names:
        if not published.columns_of(name):
            msg = f"the release has no column {name!r}{nearest(name, published.frame.columns)}"
            raise InputError(msg)
        if not published.disclosure.columns[name].weighed:
            msg = (
                f"nobody is known by column {name!r}: the release moves or renumbers what it holds"
            )
            raise InputError(msg)
        require_columns(people, [name], "the private original")
    return tuple(names)


def require_columns(people: People, names: Sequence[str], whose: str) -> None:
    """Raise ``TableError`` where people cannot be known; ``whose`` says in words who they are."""
    for name in names:
        if name not in people.frame.columns:
            msg = (
                f"{whose} has no column {name!r}, by which people are known"
                f"{nearest(name, people.frame.columns)}"
            )
            raise TableError(msg)


def texts_of(values: pl.Series) -> Texts:
    """The values of a column as texts, alike for a number or a date however it is stored."""
    texts, place = distinct_texts_of(values)
    return [texts[code] for code in place.tolist()]


def distinct_texts_of(values: pl.Series) -> tuple[Texts, Codes]:
    """The same by distinct texts in the order of the values, and which of them each row has."""
    column = encode(finite(values))
    return [*distinct_values(column.values).texts], column.codes.astype(np.int64)


def finite(values: pl.Series) -> pl.Series:
    """The values without NaN and infinities, which no release holds."""
    if not values.dtype.is_float():
        return values
    return values.to_frame().select(pl.when(pl.first().is_finite()).then(pl.first())).to_series()


def floats_of(values: pl.Series) -> Floats:
    """Numbers in double precision; NaN for what is none."""
    plain = values if values.dtype.is_numeric() else values.cast(pl.String)
    numbers = finite(plain.cast(pl.Float64, strict=False)).fill_null(np.nan)
    return numbers.to_numpy()


@dataclass(frozen=True, eq=False)
class KnownValues:
    """Values of some rows of a table in one column, as somebody knows them; private."""

    people: People
    name: str
    targets: NDArray[np.int64]

    @cached_property
    def texts(self) -> Texts:
        """The values as texts."""
        return texts_of(self.people.column(self.name).gather(self.targets))

    @property
    def numbers(self) -> Floats:
        """The values as numbers within public bounds; NaN for what is none."""
        return self.people.numbers(self.name)[self.targets]

    @cached_property
    def vocabulary(self) -> AbstractSet[str | None]:
        """All values of the column."""
        return set(texts_of(self.people.column(self.name).unique()))

    @property
    def order(self) -> Sequence[str] | None:
        """The order that the plan declares."""
        return self.people.described(self.name).order

    @property
    def bounds(self) -> tuple[Decimal, Decimal] | None:
        """The bounds that the plan declares."""
        return self.people.described(self.name).bounds

    @property
    def has_hierarchy(self) -> bool:
        """Whether there is a plan; without a declared hierarchy it means the plain one."""
        return self.people.plan is not None

    def generalized(self, level: int | None) -> list[Texts] | None:
        """What the values become at a level of the hierarchy, or at each."""
        if self.people.plan is None:
            return None
        column = encode(finite(self.people.column(self.name)))
        values = distinct_values(column.values)
        hierarchy = self.people.described(self.name).bind_hierarchy(self.name, values)
        codes = column.codes[self.targets].astype(np.int64)
        levels = range(hierarchy.height + 1) if level is None else [level]
        generalized = [_generalized(hierarchy, number, values.texts) for number in levels]
        return [[texts[code] for code in codes] for texts in generalized]

    def coded(self, codings: Sequence[Coding]) -> KnownValues | None:
        """The same of the coded column; None where its hierarchy is not known."""
        column = encode(finite(self.people.column(self.name)))
        found = coded_column(self.people, column, codings)
        return None if found is None else KnownValues(found[0], self.name, self.targets)


@dataclass(frozen=True, eq=False)
class ShownCells:
    """The g different cells of the published columns that show one column of a table."""

    name: str
    shown: Frame
    rows: NDArray[np.int64]
    """Shape (g,): how many published rows show each."""

    def texts(self, column: str) -> Texts:
        """What a published column shows, as texts."""
        return texts_of(self.shown[column])

    def numbers(self, column: str) -> Floats:
        """What a published column shows, as numbers."""
        return floats_of(self.shown[column])


@dataclass(frozen=True, eq=False)
class CountedCells:
    """The cells of a release that show a column, counted when a check asks for them."""

    table: PublishedTable
    name: str
    columns: tuple[str, ...]
    """Published columns that show it."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """Shape (g,): how many rows show each."""
        return self._counted.rows

    def texts(self, column: str) -> Texts:
        """What a published column shows, as texts."""
        distinct = texts_of(series_of(self._counted.values[self._place(column)]))
        return [distinct[code] for code in self._codes(column).tolist()]

    def numbers(self, column: str) -> Floats:
        """What a published column shows, as numbers."""
        return floats_of(series_of(self._counted.values[self._place(column)]))[self._codes(column)]

    def values(self, column: str) -> DistinctValues:
        """The distinct values of a published column."""
        return self.table.cells([column], column).values

    @cached_property
    def _counted(self) -> Counted:
        return self.table.count(self.columns)

    def _place(self, column: str) -> int:
        return self.columns.index(column)

    def _codes(self, column: str) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self._counted.codes[:, self._place(column)].astype(np.int64)
        return codes


@dataclass(frozen=True, eq=False)
class ColumnView:
    """One column of a table and what a release shows of it."""

    shown: Shown
    known: KnownValues
    cells: ShownCells

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        cells: tuple[Frame, NDArray[np.int64]],
        people: People,
        name: str,
        targets: NDArray[np.int64],
    ) -> ColumnView:
        """A column that the release shows; ``cells`` are g rows and how often each is published."""
        shown = published.release.disclosure.columns[name]
        return cls(shown, KnownValues(people, name, targets), ShownCells(name, *cells))

    @property
    def name(self) -> str:
        """Name of the table's column."""
        return self.cells.name

    def evidence(self) -> Evidence:
        """How the targets' values compare with what the cells show."""
        return self.shown.evidence(self.known, self.cells)

    def notes(self) -> list[str]:
        """What could not be compared."""
        return self.shown.notes(self.known, self.cells)


def coded_column(
    people: People, column: DictionaryColumn, codings: Sequence[Coding]
) -> tuple[People, DictionaryColumn, NDArray[np.int64]] | None:
    """People whose column is coded, that column, and what each distinct value became.

    None where its hierarchy is not known.  Raises ``InputError`` where it is another one.
    """
    name, described = column.name, people.described(column.name)
    if people.plan is None and any(one.kind == "recoding" for one in codings):
        return None
    if described.outside == "clamp" and described.bounds is not None:
        low, high = described.bounds
        within = TopCoded(bound=high, shown=high), BottomCoded(bound=low, shown=low)
        codings = (*within, *codings)
    found = coded_values(name, described, distinct_values(column.values), codings)
    values = coded_series(found.values).alias(name)
    coded = DictionaryColumn(values, found.codes[column.codes])
    plan = people.plan
    if plan is not None:
        columns = {**plan.columns, name: described_after(described, codings)}
        plan = replace(plan, columns=columns)
    frame = people.frame.with_columns(values.gather(pl.Series(coded.codes)).alias(name))
    return People(frame, plan), coded, found.codes


def _generalized(hierarchy: BoundHierarchy, level: int, own: Sequence[str | None]) -> Texts:
    """What each distinct value of a column becomes at a level, as text."""
    if not 0 <= level <= hierarchy.height:
        msg = (
            f"column {hierarchy.column!r} was generalized to level {level}, which the plan's "
            "hierarchy does not have; give the plan of this release"
        )
        raise InputError(msg)
    texts = hierarchy.values[level].texts
    return list(own) if texts is None else [texts[code] for code in hierarchy.codes[level].tolist()]
