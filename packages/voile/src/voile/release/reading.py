"""Reading a release: what its rows show of values that somebody knows.

Adversaries compare what they know of people with the rows; utility measures ask which values of a
column a published one may stand for.  Both are the same question, asked here once.

Values are compared as texts or as numbers in double precision, alike however a file stores them.

Cost: reading a column is O(n); its texts are made once for each distinct value.

One column of a table and what a release shows of it, as its kind of disclosure compares them.

Cost: one look-up a value, of t targets and g rows.

People about whom some columns are known, column by column
----------------------------------------------------------
How a column is published decides what a known value is compared with (``ColumnView``).  Rows
that show the same are one sighting with a number of rows.  A column that was permuted within the
groups of the release tells which groups a row may be in, and nothing else; so it is by their
groups that sightings are told apart then, and not by the value that happens to stand in a row.

Cost: a sort of the n published rows, and one look-up a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.disclosure.evidence import CoverEvidence, Evidence, Labels, MixedEvidence
from voile.disclosure.shown import Disclosure, Shown
from voile.release.release import Release
from voile.schema.coding import BottomCoded, Coding, TopCoded, coded_values, described_after
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Protected
from voile.table.alignment import coded_column, codes_of_rows, common_codes
from voile.table.arrays import Frame, as_dates, text_values, with_missing
from voile.table.binding import coded_series, distinct_values, texts_of_distinct
from voile.table.codes import Combinations, DictionaryColumn, code_type, encode, gathered
from voile_base.errors import InputError, TableError, nearest
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from voile.disclosure import exact as disclosure_exact
else:
    disclosure_exact = on_demand("voile.disclosure.exact")

__all__ = [
    "ColumnView",
    "KnownValues",
    "People",
    "Place",
    "PublishedRows",
    "ShownCells",
    "Sightings",
    "Texts",
    "distinct_texts_of",
    "exact_labels_as_one",
    "finite",
    "floats_of",
    "narrow_texts_of",
    "texts_of",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Place = NDArray[np.integer[Any]]
"""Numbers of cells, in the narrowest type: cast before any arithmetic."""
Texts = list[str | None]
_Shares = tuple[DistinctValues, Any]
"""The values of a column, and how they are distributed over sightings, sparse (g, v)."""


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The rows of a release as an adversary reads them."""

    release: Release
    frame: pl.DataFrame
    _cells: dict[tuple[str, ...], tuple[Frame, Place]] = field(default_factory=dict, repr=False)
    _coded: dict[str, DictionaryColumn] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, release: Release) -> PublishedRows:
        """The rows of a release, read once as long as the release is there."""
        held = _HELD.setdefault(release, _Held())
        if held.frame is None:
            held.frame = release.table.frame()
        return cls(release, held.frame, held.cells, held.coded)

    def coded(self, name: str) -> DictionaryColumn:
        """The distinct values of a published column, and the code of each row; found once."""
        if name not in self._coded:
            self._coded[name] = coded_column(self.frame[name])
        return self._coded[name]

    def coded_finite(self, name: str) -> DictionaryColumn:
        """The same without NaN and infinities."""
        column = self.frame[name]
        return encode(finite(column)) if column.dtype.is_float() else self.coded(name)

    def combinations(self, columns: Sequence[str]) -> tuple[Frame, Place]:
        """Distinct rows of some published columns, ascending, and which of them each row shows."""
        return codes_of_rows({name: self.coded(name) for name in columns})

    def cells(self, columns: Sequence[str]) -> tuple[Frame, Place]:
        """The same; the last answer is kept: adversaries who know the same ask for the same."""
        asked = tuple(columns)
        if asked not in self._cells:
            found = self.combinations(columns)
            self._cells.clear()
            self._cells[asked] = found
        return self._cells[asked]

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

    def shares(self, sightings: Sightings, column: str) -> _Shares:
        """The values of another published column, and how they are distributed over each sighting.

        The shares are sparse, shape (g, v); each row adds up to 1.  For a permuted column, a row of
        the release stands for all values of its group in equal shares: that is what it tells of its
        own. If ``weights`` (t, g) are the probabilities of rows (see ``attack.posterior``), then
        ``(weights * sightings.rows) @ shares`` are those of the values, shape (t, v).
        """
        if column not in sightings.shares:
            sightings.shares[column] = self._shares(sightings, column)
        return sightings.shares[column]

    def _shares(self, sightings: Sightings, column: str) -> _Shares:
        """The same, found anew."""
        values = self.coded_finite(column)
        coded = values.codes.astype(np.int64), len(values.values)
        seen = sightings.place, len(sightings.rows)
        if column in self.permuted:
            groups = self.groups()
            within = disclosure_exact.group_counts(coded, groups)
            shares = disclosure_exact.group_counts(seen, groups) @ (within / within.sum(axis=0)).T
        else:
            shares = disclosure_exact.group_counts(seen, coded)
        normal = sparse.diags_array(1.0 / sightings.rows) @ shares
        return distinct_values(values.values), sparse.csr_array(normal)

    def known_columns(
        self, people: People, asked: Sequence[str] | None, link: str | None
    ) -> tuple[str, ...]:
        """Columns of the table by which the adversary knows people.

        By default those by which a guarantee supposes people to be known: quasi-identifiers, and
        what rows are ranked by.  The ``link`` is none of them.  Raises ``InputError`` where there
        is none, or for one that is not published; ``TableError`` for one that the table lacks.
        """
        names = asked
        if names is None:
            roles = self.release.roles
            shown = (*roles.get("quasi_identifiers", ()), *roles.get("ranking", ()))
            owners = dict.fromkeys(self.disclosure.owner(column) for column in shown)
            names = [name for name in owners if name is not None and name != link]
        if not names:
            msg = (
                "no column is known to the adversary: the release has no quasi-identifier; "
                "name some"
            )
            raise InputError(msg)
        for name in names:
            if not self.columns_of(name):
                msg = f"the release has no column {name!r}{nearest(name, self.frame.columns)}"
                raise InputError(msg)
            if not self.disclosure.columns[name].weighed:
                msg = (
                    f"nobody is known by column {name!r}: "
                    "the release moves or renumbers what it holds"
                )
                raise InputError(msg)
            people.require_columns([name], "the private original")
        return tuple(names)


@dataclass(frozen=True, eq=False)
class People:
    """The table that was published, as far as the adversary knows its rows; private."""

    frame: pl.DataFrame
    plan: Plan | None = None
    """Public facts about the columns: hierarchies, bounds, texts that stand for missing values."""
    _coded: dict[str, DictionaryColumn] = field(default_factory=dict, init=False, repr=False)
    _targets: list[tuple[object, Codes]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, release: Release, frame: pl.DataFrame, plan: Plan | None) -> People:
        """The table behind a release: whoever asks for it again shares what was worked out."""
        held = _HELD.setdefault(release, _Held())
        known = held.people
        if known is None or known.frame is not frame or known.plan is not plan:
            known = held.people = cls(frame, plan)
        return known

    def drawn(self, asked: object, draw: Callable[[], Codes]) -> Codes:
        """Rows that are drawn in answer to a question; those of the last one are kept."""
        if not self._targets or self._targets[0][0] != asked:
            self._targets[:] = [(asked, draw())]
        return self._targets[0][1]

    def coded(self, name: str) -> DictionaryColumn:
        """The distinct values of a column, as the plan types them, and the code of each row."""
        if name not in self._coded:
            held = self.frame[name]
            if isinstance(held.dtype, pl.Categorical | pl.Enum):
                column = encode(held)
                alone = People(pl.DataFrame([column.values.alias(name)]), self.plan)
                self._coded[name] = column.mapped(alone.column(name))
            else:
                self._coded[name] = encode(self.column(name))
        return self._coded[name]

    def coded_finite(self, name: str) -> DictionaryColumn:
        """The same without NaN and infinities."""
        column = self.coded(name)
        return column.mapped(finite(column.values)) if column.values.dtype.is_float() else column

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

    def dtype(self, name: str) -> pl.DataType:
        """The type of the values of a column, as the plan types them."""
        coded = isinstance(self.frame[name].dtype, pl.Categorical | pl.Enum)
        return (self.coded(name).values if coded else self.column(name)).dtype

    def distinct_texts(self, name: str) -> tuple[pl.Series, Place]:
        """The values of a column as texts, which may repeat, and which of them each row has."""
        column = self.coded_finite(name)
        return texts_of_distinct(column.values), column.codes

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

    @property
    def units(self) -> tuple[Codes, int]:
        """Which person or household each row is of, from 0, shape (n,), and how many there are.

        Each row is one of its own where the plan names nobody.  Raises ``TableError`` where the
        table lacks the column that the plan names.
        """
        rows = self.frame.height
        return (np.arange(rows), rows) if self.protected == "row" else self._units

    @cached_property
    def _units(self) -> tuple[Codes, int]:
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
        if self.frame[name].dtype.is_numeric() and self.described(name).reads_as != "text":
            numbers = floats_of(self.column(name))
        else:
            column = self.coded(name)
            numbers = floats_of(column.values)[column.codes]
        bounds = self.described(name).bounds
        return np.clip(numbers, float(bounds[0]), float(bounds[1])) if bounds else numbers

    def require_columns(self, names: Sequence[str], whose: str) -> None:
        """Raise ``TableError`` where people cannot be known; ``whose`` says who they are."""
        for name in names:
            if name not in self.frame.columns:
                msg = (
                    f"{whose} has no column {name!r}, by which people are known"
                    f"{nearest(name, self.frame.columns)}"
                )
                raise TableError(msg)

    def coded_column(
        self, column: DictionaryColumn, codings: Sequence[Coding]
    ) -> tuple[People, DictionaryColumn, NDArray[np.int64]] | None:
        """People whose column is coded, that column, and what each distinct value became.

        None where its hierarchy is not known.  Raises ``InputError`` where it is another one.
        """
        name, described = column.name, self.described(column.name)
        if self.plan is None and any(one.kind == "recoding" for one in codings):
            return None
        if described.outside == "clamp" and described.bounds is not None:
            low, high = described.bounds
            within = TopCoded(bound=high, shown=high), BottomCoded(bound=low, shown=low)
            codings = (*within, *codings)
        found = coded_values(name, described, distinct_values(column.values), codings)
        values = coded_series(found.values).alias(name)
        coded = DictionaryColumn(values, found.codes[column.codes])
        plan = self.plan
        if plan is not None:
            columns = {**plan.columns, name: described_after(described, codings)}
            plan = replace(plan, columns=columns)
        frame = self.frame.with_columns(values.gather(pl.Series(coded.codes)).alias(name))
        return People(frame, plan), coded, found.codes


@dataclass(eq=False)
class _Held:
    """What was read of a release and of the table behind it; private."""

    frame: pl.DataFrame | None = None
    cells: dict[tuple[str, ...], tuple[Frame, Place]] = field(default_factory=dict)
    coded: dict[str, DictionaryColumn] = field(default_factory=dict)
    people: People | None = None


_HELD: WeakKeyDictionary[Release, _Held] = WeakKeyDictionary()


def texts_of(values: pl.Series) -> Texts:
    """The values of a column as texts, alike for a number or a date however it is stored."""
    texts, place = distinct_texts_of(values)
    return [texts[code] for code in place.tolist()]


def distinct_texts_of(values: pl.Series) -> tuple[Texts, Codes]:
    """The same by distinct texts in the order of the values, and which of them each row has."""
    return (found := narrow_texts_of(values))[0].to_list(), found[1].astype(np.int64)


def narrow_texts_of(values: pl.Series) -> tuple[pl.Series, Place]:
    """The same as a column of texts, and which of them each row has in the narrowest type."""
    column = encode(finite(values))
    return texts_of_distinct(column.values), column.codes


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
        column = self.people.coded(self.name)
        return texts_of(gathered(column.values, column.codes[self.targets]))

    @property
    def numbers(self) -> Floats:
        """The values as numbers within public bounds; NaN for what is none."""
        return self.people.numbers(self.name)[self.targets]

    @cached_property
    def vocabulary(self) -> AbstractSet[str | None]:
        """All values of the column."""
        return set(texts_of(self.people.coded(self.name).values))

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
        column = self.people.coded_finite(self.name)
        values = distinct_values(column.values)
        hierarchy = self.people.described(self.name).bind_hierarchy(self.name, values)
        codes = column.codes[self.targets].astype(np.int64)
        levels = range(hierarchy.height + 1) if level is None else [level]
        generalized = [_generalized(hierarchy, number, values.texts) for number in levels]
        return [[texts[code] for code in codes] for texts in generalized]

    def coded(self, codings: Sequence[Coding]) -> KnownValues | None:
        """The same of the coded column; None where its hierarchy is not known."""
        column = self.people.coded_finite(self.name)
        found = self.people.coded_column(column, codings)
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


sparse = on_demand("scipy.sparse")


@dataclass(frozen=True, eq=False)
class Sightings:
    """What a release shows, for some targets: g different sightings, each of one row or more."""

    evidence: tuple[Evidence, ...]
    """Of one known column or several each: pairs of a target and a sighting."""
    rows: Codes
    """Shape (g,): how many published rows show it."""
    place: Place
    """The sighting of each published row that is looked at; -1 for one that is not among them."""
    notes: tuple[str, ...]
    near: dict[tuple[int, int], tuple[Codes, Sightings]] = field(
        default_factory=dict, init=False, repr=False
    )
    """Those that fit some of the targets, from one place to another, once these were asked for."""
    shares: dict[str, _Shares] = field(default_factory=dict, init=False, repr=False)
    """By column, once these were asked for."""

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        people: People,
        columns: Sequence[str],
        targets: Codes,
        *,
        by_group: bool = False,
    ) -> Sightings:
        """Compare rows of a table, the targets, with all published rows, in these columns.

        ``by_group`` tells rows of different groups apart though they show the same.  Raises
        ``TableError`` or ``PlanError`` where the release, the table and the plan disagree.
        """
        staying = [name for name in columns if name not in published.permuted]
        used = dict.fromkeys(c for name in staying for c in published.columns_of(name))
        if by_group or len(staying) < len(columns):
            used[published.group_column] = None
        distinct, place = published.cells(list(used))
        rows = np.bincount(place, minlength=distinct.height)
        cells = distinct, rows
        evidence, notes = list[Evidence](), list[str]()
        for name in columns:  # each view goes with the texts that it has read
            if found := _by_distinct(published, cells, people, name, targets):
                evidence.append(found[0])
                notes += found[1]
                continue
            view = ColumnView.of(published, cells, people, name, targets)
            evidence.append(
                view.evidence() if name in staying else _permuted(published, view, place)
            )
            notes += view.notes()
        return cls(_folded(evidence), rows, place, tuple(notes))

    @classmethod
    def of_cells(cls, evidence: Sequence[Evidence], place: Place) -> Sightings:
        """What some published rows show; ``rows`` are counted among these."""
        return cls(_folded(evidence), np.bincount(place), place, ())

    def read(
        self, mixed: Sequence[NDArray[np.bool_]] | None = None, own: Codes | None = None
    ) -> Sightings:
        """The same where missing cells that have two readings stand for others in these alone.

        ``mixed`` has an array (g,) for each such column, in the order of the columns; ``own`` is
        one of the g for each target, -1 for none.
        """
        every, nothing = np.arange(len(self.rows)), np.zeros(len(self.rows), dtype=np.bool_)
        given = None if mixed is None else iter(mixed)
        evidence = list[Evidence]()
        for seen in self.evidence:
            strict = seen.strict if isinstance(seen, CoverEvidence) else None
            if isinstance(seen, CoverEvidence) and strict is not None:
                there = nothing if given is None else next(given)
                evidence.append(MixedEvidence(seen, strict, there, every, own))
            else:
                evidence.append(seen)
        return replace(self, evidence=tuple(evidence))

    @property
    def texts(self) -> tuple[Labels, ...]:
        """The evidence in texts, which tells at once who fits no row, and which row fits nobody."""
        return tuple(seen for seen in self.evidence if isinstance(seen, Labels))

    def only(self, chosen: Codes) -> Sightings:
        """Some of the sightings, by their places, in this order."""
        moved = np.full(len(self.rows) + 1, -1, dtype=np.int32)
        moved[chosen] = np.arange(len(chosen))
        evidence = tuple(seen.only(chosen) for seen in self.evidence)
        return replace(self, evidence=evidence, rows=self.rows[chosen], place=moved[self.place])


def _by_distinct(
    published: PublishedRows,
    cells: tuple[Frame, Codes],
    people: People,
    name: str,
    targets: Codes,
) -> tuple[CoverEvidence, list[str]] | None:
    """The evidence in a column, and what could not be compared: by distinct values and cells.

    None where a row does not simply fit or not.
    """
    shown = published.shown(name)
    if shown is None or shown.graded or name in published.permuted or not len(targets):
        return None
    distinct, rows = cells
    few, (cell,) = common_codes([distinct.select(published.columns_of(name))])
    many = np.bincount(cell, rows, minlength=few.height).astype(np.int64)
    held, value = np.unique(people.coded(name).codes[targets], return_inverse=True)
    first = np.empty(len(held), dtype=np.int64)
    first[value[::-1]] = targets[::-1]
    view = ColumnView.of(published, (few, many), people, name, first)
    found = view.evidence()
    if not isinstance(found, CoverEvidence):
        return None
    return found.spread(value, cell), view.notes()


def _permuted(
    published: PublishedRows, view: ColumnView, place: Place
) -> disclosure_exact.PermutedEvidence:
    """The evidence in a column that was permuted within groups; ``place`` as in ``Sightings``."""
    known = view.known
    groups, count = published.groups()
    distinct, value = published.combinations(published.columns_of(view.name))
    cells = distinct, np.bincount(value, minlength=distinct.height)
    codes = encode(text_values(known.texts)).codes.astype(np.int64)
    _, first = np.unique(codes, return_index=True)
    each = ColumnView.of(published, cells, known.people, view.name, known.targets[first])
    group = np.empty(len(view.cells.rows), dtype=np.int64)
    group[place] = groups
    counts = disclosure_exact.group_counts((value, distinct.height), (groups, count))
    return disclosure_exact.PermutedEvidence.of(codes, group, each.evidence(), counts)


def _folded(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The same with all columns of exact texts in one."""
    exact = [seen for seen in evidence if isinstance(seen, Labels) and seen.is_exact]
    if len(exact) < 2:
        return tuple(evidence)
    others = [seen for seen in evidence if not any(seen is one for one in exact)]
    return (exact_labels_as_one(exact), *others)


def exact_labels_as_one(labels: Sequence[Labels]) -> Labels:
    """Exact labels of several columns as those of one: a row fits if it does in each column.

    So any number of columns costs as much as one, for every pair.
    """
    targets = labels[0].known.shape[1]
    coded = []
    for label in labels:  # one at a time: their codes are wide
        column = np.concatenate((label.known[0], label.shown))
        size = int(column.max(initial=0)) + 1
        coded.append((column.astype(code_type(size)), size))
    place = Combinations.of(coded).index.astype(np.int32)
    return Labels(place[np.newaxis, :targets], place[targets:], labels[0].anything)
