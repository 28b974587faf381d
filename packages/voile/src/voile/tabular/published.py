"""Tables as they are published, written and read back: every cell, shown or suppressed.

A row of the file is a cell: ``table``, a column for each dimension, the measures, and ``status``.
A mean stands beside the sum and the count that it is made of, and says no more than both.
``release.json`` says which levels and values each dimension has, and how levels are nested, so that
the linked system can be built again by whoever reads the folder.  Nothing tells primary cells from
secondary ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from voile.disclosure.exact import Exact
from voile.disclosure.shown import Disclosure
from voile.release.folder import DOCUMENT, ListedFile, StatedRelease, release_schema
from voile.schema.numbers import unscaled
from voile.table.published import PublishedTable
from voile.tabular.counting import STATUS, TABLE, CellMeasure, PrivateCells, mean_of
from voile.tabular.system import TOTAL, Indices, LinkedSystem, TableLayout, Tabulation
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_base.values.value import Several, Value, read

__all__ = [
    "STATUS",
    "TABLE",
    "ReleasedCells",
    "TablesDocument",
    "TablesRelease",
    "columns_of_cells",
    "layout_document",
    "mean_of",
    "tables_schema",
]

_MORE_DIGITS = 2
_CONTEXT = Context(prec=60)
PUBLISHED, SUPPRESSED = "published", "suppressed"

Mask = NDArray[np.bool_]
Columns = dict[str, list[Any]]


class _Level(Value):
    name: str
    values: Several[str]
    above: Several[Annotated[int, Field(ge=0)]] | None = None
    """For each value, the number of the value of the level above that it belongs to."""


def _nested(levels: tuple[_Level, ...]) -> tuple[_Level, ...]:
    """Each level but the first says where its values belong; raises ``ValueError`` otherwise."""
    for number, level in enumerate(levels):
        if (level.above is None) != (number == 0):
            msg = f"level {level.name!r}: all levels but the first need 'above'"
            raise ValueError(msg)
        if level.above is None:
            continue
        if len(level.above) != len(level.values):
            msg = f"level {level.name!r}: 'above' needs a number for each of its values"
            raise ValueError(msg)
        if max(level.above, default=0) >= len(levels[number - 1].values):
            msg = f"level {level.name!r}: 'above' names a value that the level above does not have"
            raise ValueError(msg)
    return levels


class _Dimension(Value):
    column: str
    levels: Annotated[Several[_Level], Field(min_length=1), AfterValidator(_nested)]
    """From coarse to fine."""

    @model_validator(mode="after")
    def _by_its_finest(self) -> Self:
        if self.column != self.levels[-1].name:
            msg = f"column {self.column!r} is not the last of its levels"
            raise ValueError(msg)
        return self


class _Table(Value):
    name: str
    measures: Several[str]
    dimensions: Several[_Dimension]
    means: Mapping[str, str] = Field(default_factory=dict)
    """Columns whose mean it shows, each with the count that its sum is divided by."""


class _Measure(Value):
    kind: Literal["count", "sum"]
    decimals: Annotated[int, Field(ge=0)]


class _ListedTables(ListedFile):
    file: Annotated[str, Field(pattern=r"^tables\.[a-z0-9]+$")]


def _alike(tables: tuple[_Table, ...]) -> tuple[_Table, ...]:
    """Tables of names of their own, which agree on the levels that they share."""
    names = [table.name for table in tables]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        msg = f"two tables are called {doubled[0]!r}"
        raise ValueError(msg)
    values: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for level in (level for dimension in table.dimensions for level in dimension.levels):
            if values.setdefault(level.name, level.values) != level.values:
                msg = f"level {level.name!r} has other values in table {table.name!r}"
                raise ValueError(msg)
            if len(set(level.values)) != len(level.values):
                msg = f"level {level.name!r} has a value twice"
                raise ValueError(msg)
    return tables


class TablesDocument(StatedRelease):
    """What ``release.json`` says of tables."""

    form: Literal["tables"]
    tables: Annotated[Several[_Table], Field(min_length=1), AfterValidator(_alike)]
    measures: Mapping[str, _Measure]
    data: Annotated[Several[_ListedTables], Field(min_length=1, max_length=1)]

    @model_validator(mode="after")
    def _shows_its_measures(self) -> Self:
        for number, table in enumerate(self.tables):
            if unknown := sorted(set(table.measures) - set(self.measures)):
                msg = f"tables[{number + 1}].measures: 'measures' does not have {unknown[0]!r}"
                raise ValueError(msg)
            of_means = {name for pair in table.means.items() for name in pair}
            if unknown := sorted(of_means - set(table.measures)):
                msg = f"tables[{number + 1}].means: its measures do not have {unknown[0]!r}"
                raise ValueError(msg)
        return self

    def read_cells(self, table: PublishedTable) -> ReleasedCells:
        """The cells of a folder from its ``release.json`` and its rows.

        Raises ``TableError`` where the rows lack a column.
        """
        measures = {name: one.decimals for name, one in self.measures.items()}
        whole = {name: one.kind == "count" for name, one in self.measures.items()}
        shows = {one.name: one.measures for one in self.tables}
        means = {one.name: one.means for one in self.tables}
        system = LinkedSystem(_tabulation(self.tables))
        rows = table.to_arrow().to_pydict()
        found = _CellReader(system, measures, shows).read(rows, whole)
        return replace(found, faults=(*found.faults, *_wrong_means(rows, measures, means)))

    @staticmethod
    def stated_in(document: Mapping[str, object], folder: Path) -> TablesDocument:
        """What a document of a folder states; ``TableError`` names the place that is wrong."""
        stated: TablesDocument = read(
            TablesDocument, document, str(folder / DOCUMENT), TableError, public=True
        )
        return stated


def tables_schema() -> Json:
    """The JSON Schema of ``release.json`` of tables."""
    return release_schema(TablesDocument) | {"title": "Voile: a release of tables (public)"}


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """What a folder shows of its cells."""

    system: LinkedSystem
    values: Mapping[str, Indices]
    """For each measure, shape (cells,), in its unit; 0 where nothing is shown."""
    shown: Mapping[str, Mask]
    """For each measure, the cells that show it unless they are suppressed."""
    whole: Mapping[str, bool]
    suppressed: Mask
    faults: tuple[str, ...]
    """What contradicts ``release.json`` or itself, a sentence each."""


@dataclass(frozen=True, eq=False)
class TablesRelease:
    """A release of tables as claims look at it."""

    table: PublishedTable
    method: Document
    cells: ReleasedCells

    @property
    def measurements(self) -> PublishedTable | None:
        """None: nothing is noisy."""
        return None

    @property
    def disclosure(self) -> Disclosure:
        """Cells are shown exactly, or not at all."""
        return Disclosure(columns={name: Exact() for name in self.table.columns})

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """None: no column is one of rows."""
        return {}


def columns_of_cells(cells: PrivateCells, suppressed: Mask) -> Columns:
    """The columns of the file of all tables, a row for each cell of each table, totals first."""
    system = cells.system
    names = dict.fromkeys(name for t in system.tabulation.tables for name in t.columns)
    measures = {measure.name: measure for measure in cells.measures}
    means = dict.fromkeys(name for of in cells.means.values() for name in of)
    shown = (*measures, *map(mean_of, means))
    found: Columns = {name: [] for name in (TABLE, *names, *shown, STATUS)}
    for table in system.tabulation.tables:
        for choice in table.choices():
            block = system.block(choice)
            own = np.arange(block.start, block.start + block.size)
            found[TABLE] += [table.name] * block.size
            found[STATUS] += [SUPPRESSED if hidden else PUBLISHED for hidden in suppressed[own]]
            codes = block.codes()
            for name in names:
                level = dict(zip(table.columns, choice, strict=True)).get(name)
                if name not in table.columns:
                    found[name] += [None] * block.size
                elif level is None:
                    found[name] += [TOTAL] * block.size
                else:
                    labels = system.tabulation.labels[level]
                    found[name] += [labels[code] for code in codes[level]]
            for name, measure in measures.items():
                shows = name in cells.shows[table.name]
                hidden = suppressed[own] | (not shows)
                found[name] += _numbers(measure, own, hidden)
            for name in means:
                count = measures.get(cells.means[table.name].get(name, ""))
                found[mean_of(name)] += (
                    [None] * block.size
                    if count is None
                    else _means(measures[name], count, own, suppressed[own])
                )
    return found


def _means(
    total: CellMeasure, count: CellMeasure, own: Indices, hidden: Mask
) -> list[Decimal | None]:
    """Sums over counts; None where a cell is suppressed or empty."""
    rows = zip(total.values[own].tolist(), count.values[own].tolist(), hidden.tolist(), strict=True)
    return [
        None
        if gone or not number
        else _mean(unscaled(value, total.scale), unscaled(number, count.scale), total.scale)
        for value, number, gone in rows
    ]


def _mean(value: Decimal, count: Decimal, scale: int) -> Decimal:
    """A mean with two digits more than its sum."""
    unit = Decimal(1).scaleb(-scale - _MORE_DIGITS)
    return (value / count).quantize(unit, context=_CONTEXT)


def _numbers(measure: CellMeasure, own: Indices, hidden: Mask) -> list[int | Decimal | None]:
    pairs = zip(measure.values[own].tolist(), hidden.tolist(), strict=True)
    if not measure.scale:
        return [None if gone else value for value, gone in pairs]
    unit = Decimal(1).scaleb(-measure.scale)
    return [
        None if gone else unscaled(value, measure.scale).quantize(unit) for value, gone in pairs
    ]


def layout_document(cells: PrivateCells) -> Json:
    """What ``release.json`` says of the tables, their dimensions and their measures; public."""
    tabulation = cells.system.tabulation
    return {
        "tables": [
            {
                "name": table.name,
                "measures": list(cells.shows[table.name]),
                **({"means": dict(of)} if (of := cells.means[table.name]) else {}),
                "dimensions": [_dimension(tabulation, levels) for levels in table.dimensions],
            }
            for table in tabulation.tables
        ],
        "measures": {
            measure.name: {
                "kind": "count" if measure.whole else "sum",
                "decimals": measure.scale,
            }
            for measure in cells.measures
        },
    }


def _dimension(tabulation: Tabulation, levels: Sequence[str]) -> Json:
    """A dimension: its levels from coarse to fine, each value with its place in the level above."""
    stated = []
    for place, level in enumerate(levels):
        one: Json = {"name": level, "values": list(tabulation.labels[level])}
        if place:
            one["above"] = tabulation.parents[level, levels[place - 1]].tolist()
        stated.append(one)
    return {"column": levels[-1], "levels": stated}


def _wrong_means(
    rows: Mapping[str, Sequence[Any]],
    decimals: Mapping[str, int],
    means: Mapping[str, Mapping[str, str]],
) -> Iterator[str]:
    """Means that are not those of the sum and the count beside them."""
    for column, count in {pair for of in means.values() for pair in of.items()}:
        if mean_of(column) not in rows or not {column, count} <= set(decimals):
            yield f"the file of the tables has no column {mean_of(column)!r} with its sum and count"
            continue
        values = (rows[name] for name in (TABLE, column, count, mean_of(column)))
        for number, (table, total, units, mean) in enumerate(zip(*values, strict=True), 1):
            absent = column not in means.get(table, {}) or total in {None, ""}
            try:
                none = absent or not Decimal(str(units))
                wanted = (
                    None
                    if none
                    else _mean(Decimal(str(total)), Decimal(str(units)), decimals[column])
                )
                given = None if mean in {None, ""} else Decimal(str(mean))
                same = wanted == given
            except (InvalidOperation, ValueError):
                same = False
            if not same:
                yield f"row {number} of the tables holds a mean that is not its sum over its count"
                return


def _tabulation(stated: Sequence[_Table]) -> Tabulation:
    labels: dict[str, tuple[str, ...]] = {}
    parents: dict[tuple[str, str], Indices] = {}
    layouts = []
    for table in stated:
        dimensions = []
        for dimension in table.dimensions:
            chain: list[str] = []
            for level in dimension.levels:
                labels[level.name] = level.values
                if level.above is not None:
                    _nest(parents, level.name, chain, np.array(level.above, dtype=np.int64))
                chain.append(level.name)
            dimensions.append(tuple(chain))
        layouts.append(TableLayout(table.name, tuple(dimensions)))
    return Tabulation(tuple(layouts), labels, parents)


def _nest(
    parents: dict[tuple[str, str], Indices], level: str, chain: Sequence[str], above: Indices
) -> None:
    """A level below all of a chain."""
    parents[level, chain[-1]] = above
    for coarser in chain[:-1]:
        parents[level, coarser] = parents[chain[-1], coarser][above]


class _CellReader:
    """Reads the rows of a file into the cells of a system."""

    def __init__(
        self,
        system: LinkedSystem,
        decimals: Mapping[str, int],
        shows: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._system, self._decimals, self._shows = system, decimals, shows
        self._faults: list[str] = []

    def read(self, rows: Mapping[str, Sequence[Any]], whole: Mapping[str, bool]) -> ReleasedCells:
        """All rows; what does not fit is a fault."""
        system, size = self._system, self._system.cells
        values = {name: np.zeros(size, dtype=np.int64) for name in self._decimals}
        shown = {name: np.zeros(size, dtype=np.bool_) for name in self._decimals}
        suppressed = np.zeros(size, dtype=np.bool_)
        columns = {n for t in system.tabulation.tables for n in t.columns} | set(self._decimals)
        if missing := sorted({TABLE, STATUS, *columns} - set(rows)):
            msg = f"the file of the tables has no column {missing[0]!r}"
            raise TableError(msg)
        seen: set[tuple[str, int]] = set()
        hides: dict[int, bool] = {}
        for number, (named, status) in enumerate(zip(rows[TABLE], rows[STATUS], strict=True)):
            cell = self._cell(rows, number, named)
            if cell is None or (named, cell) in seen or status not in {PUBLISHED, SUPPRESSED}:
                self._faults.append(f"row {number + 1} of the tables is no cell of its own")
                continue
            hidden = status == SUPPRESSED
            if hides.setdefault(cell, hidden) != hidden:
                self._faults.append(f"row {number + 1} shows a cell that another table suppresses")
            seen.add((named, cell))
            suppressed[cell] |= hidden
            self._take(rows, number, cell, hidden, (named, values, shown))
        expected = sum(len(system.of_table(table)) for table in system.tabulation.tables)
        if len(seen) != expected:
            self._faults.append(f"the file has {len(seen):,} of {expected:,} cells")
        return ReleasedCells(system, values, shown, whole, suppressed, tuple(self._faults))

    def _cell(self, rows: Mapping[str, Sequence[Any]], number: int, named: object) -> int | None:
        """The cell of a row; None where it is none."""
        places = self._places.get(str(named))
        if places is None:
            return None
        chosen: dict[str, int] = {}
        for column, of_label in places.items():
            label = rows[column][number]
            if label == TOTAL:
                continue
            if label not in of_label:
                return None
            level, code = of_label[label]
            chosen[level] = code
        block = self._system.block(tuple(chosen))
        if not chosen:
            return block.start
        return int(block.cells({level: np.array([code]) for level, code in chosen.items()})[0])

    @cached_property
    def _places(self) -> Mapping[str, Mapping[str, Mapping[str, tuple[str, int]]]]:
        """For each table and column of a dimension, the level and the code of each value."""
        labels = self._system.tabulation.labels
        return {
            table.name: {
                levels[-1]: {
                    label: (level, code)
                    for level in levels
                    for code, label in enumerate(labels[level])
                }
                for levels in table.dimensions
            }
            for table in self._system.tabulation.tables
        }

    def _take(
        self,
        rows: Mapping[str, Sequence[Any]],
        number: int,
        cell: int,
        hidden: bool,
        into: tuple[str, Mapping[str, Indices], Mapping[str, Mask]],
    ) -> None:
        """The values of a row."""
        named, values, shown = into
        for name, decimals in self._decimals.items():
            given = rows[name][number]
            absent = given is None or given == ""
            shows = name in self._shows[named]
            if absent != (hidden or not shows):
                self._faults.append(f"row {number + 1} of the tables does not fit its status")
                continue
            if shows:
                was = shown[name][cell]
                shown[name][cell] = True
                if absent:
                    continue
                unit = _units(given, decimals)
                if unit is None or (was and values[name][cell] != unit):
                    self._faults.append(f"row {number + 1} holds a value that cannot be")
                    continue
                values[name][cell] = unit


def _units(given: object, decimals: int) -> int | None:
    """A value as a whole number of units; None where it is none."""
    try:
        unit = Decimal(str(given)).scaleb(decimals)
        return int(unit) if unit == unit.to_integral_value() and unit >= 0 else None
    except (InvalidOperation, ValueError, OverflowError):
        return None
