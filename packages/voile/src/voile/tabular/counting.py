"""Private cells: the counts and sums of a linked system, and who contributes to each cell.

The engine counts the rows of each combination of values of all columns that the tables need
(``PrivateTable.count_combinations``); everything else is arithmetic on these combinations, exact,
in whole numbers of one unit.  Where contributors are named, their column is one of those columns,
so the combinations may be as many as contributors, or rows.

Persons or households that are counted must each stand in one cell of the finest level: otherwise
totals are no sums of their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import DistinctValues, GeneralizedValues
from voile.schema.plan import Method, Plan
from voile.schema.roles import EACH_ROW, Roles
from voile.schema.tabulation import CellNoise, Condition, TablePlan
from voile.table.looking import ids_in_one_form
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile.tabular.system import TOTAL, Indices, LinkedSystem, TableLayout, Tabulation, qualified
from voile_base.errors import PlanError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = [
    "COUNT",
    "STATUS",
    "TABLE",
    "CellMeasure",
    "PrivateCells",
    "mean_of",
    "plan_of_noise",
    "plan_of_rows",
]

COUNT = "count"
"""The measure that counts rows, or persons."""
TABLE, STATUS = "table", "status"
"""Columns of the file that is published, beside dimensions and measures."""
MISSING_LABEL = "(missing)"
_SAFE = 2**53
"""Sums beyond it are no exact numbers for linear programs."""


@dataclass(frozen=True, eq=False)
class _CellContributions:
    """What each contributor adds to each cell, by cell and then the largest first."""

    cell: Indices
    """Shape (e,)."""
    who: Indices
    """Shape (e,): the contributor; -1 where none is named, and each of ``times`` is another."""
    value: Indices
    """Shape (e,), in the measure's unit: what each of ``times`` contributors has."""
    times: Indices
    """Shape (e,): how many contributors have this: those whom a weight stands for, rounded up."""
    added: Indices
    """Shape (e,): what each of ``respondents`` adds to the cell; its value, times its weight."""
    respondents: Indices
    """Shape (e,): how many rows or named contributors these are."""

    def largest(self, count: int, cells: int) -> NDArray[np.int64]:
        """Shape (cells, count): the largest contributions to each cell; 0 where it has fewer."""
        times = np.minimum(self.times, count)
        cell, value = np.repeat(self.cell, times), np.repeat(self.value, times)
        first = np.searchsorted(cell, np.arange(cells))
        rank = np.arange(len(cell)) - first[cell]
        found = np.zeros((cells, count), dtype=np.int64)
        taken = rank < count
        found[cell[taken], rank[taken]] = value[taken]
        return found


@dataclass(frozen=True, eq=False)
class CellMeasure:
    """A count or a sum in every cell that shows it, exactly."""

    name: str
    values: Indices
    """Shape (cells,), in units of ``10**-scale``; 0 where it is not shown."""
    scale: int
    shown: NDArray[np.bool_]
    """Shape (cells,): whether some table shows it there."""
    whole: bool
    """Whether it is a count, whose values are known to be whole numbers."""
    finest: Indices
    """Shape (combinations,): what each combination of finest values adds to its cells."""
    contributions: _CellContributions | None = None
    """None: units are counted, and each adds one."""
    ruled: bool = True
    """Whether rules on the largest contributors are about it; not of weights."""


@dataclass(frozen=True, eq=False)
class PrivateCells:
    """A linked system with what its cells hold; private."""

    system: LinkedSystem
    combinations: Mapping[str, Indices]
    """For each level, the value of each combination of all levels that a row has."""
    measures: tuple[CellMeasure, ...]
    units: Indices
    """Shape (cells,): those who contribute to each cell: counted units, persons or companies."""
    shows: Mapping[str, tuple[str, ...]]
    """For each table, its measures."""
    means: Mapping[str, Mapping[str, str]]
    """For each table, the columns whose mean it shows, each with the measure it is divided by."""
    weighted: NDArray[np.float64] | None = None
    """Shape (cells,): the units of the population in each; None without weights."""
    keys: Indices | None = None
    """Shape (cells,): the sum of the record keys of each, modulo 2**64; None without keys."""

    @staticmethod
    def count(
        table: PrivateTable, tables: Sequence[TablePlan], key: Key | None = None
    ) -> PrivateCells:
        """The linked system of some tables, and what its cells hold; with cell keys by a ``key``.

        Raises ``TableError`` where levels do not add up, where counts are no whole numbers, or
        where numbers are negative; ``PlanError`` where persons cannot be counted.
        """
        dimensions = _named(name for each in tables for levels in each.levels for name in levels)
        numbers = _named(name for each in tables for name in each.measured)
        unit, (conditions, *_) = table.plan.roles.unit, [each.conditions for each in tables]
        asked = _named((*dimensions, *numbers, *(one.column for one in conditions)))
        counted = table.count_combinations([*asked, *([unit] if unit else [])])
        counted = _meeting(counted, conditions)
        if not len(counted.rows):
            of = " that meet its filter" if conditions else ""
            msg = f"the table has no rows{of} that could be counted"
            raise TableError(msg)
        levels = _Levels(table.plan, counted, dimensions)
        layouts = tuple(levels.layout(place, each) for place, each in enumerate(tables))
        tabulation = Tabulation(
            layouts, _distinct_labels(layouts, levels.labels), levels.nestings()
        )
        system = LinkedSystem(tabulation)
        shows = {
            layout.name: _measures_of(each) for layout, each in zip(layouts, tables, strict=True)
        }
        entries = _Entries(system, counted, levels.codes, unit, (numbers, tables[0].weight))
        measures = tuple(
            entries.measure(name, _shown_in(system, shows, name), counts=name in _counts(tables))
            for name in _named(name for names in shows.values() for name in names)
        )
        (count, *_) = (each.count or COUNT for each in tables)
        units = entries.units(count, _counts(tables))
        keys = None if key is None else entries.keys(key, counted.values[-1].texts)
        named = zip(layouts, tables, strict=True)
        means = {it.name: dict.fromkeys(each.mean, each.count or COUNT) for it, each in named}
        weighted = entries.weighted()
        return PrivateCells(
            system, entries.combinations, measures, units, shows, means, weighted, keys
        )


def plan_of_rows(plan: Plan) -> Plan:
    """The plan that the rows are read with: dimensions, measures, and who is protected."""
    owners = {(table.contributor, table.holding) for table in plan.tables}
    same = {
        "contributors": len(owners),
        "filters": len({table.filter for table in plan.tables}),
        "weights": len({table.weight for table in plan.tables}),
    }
    for what, number in same.items():
        if number > 1:
            msg = f"[[tables]] have different {what}; tables of one plan have the same"
            raise plan.error(msg)
    ((contributor, holding),) = owners or {(None, None)}
    filtered = tuple(one.column for table in plan.tables for one in table.conditions)
    dimensions = _named(name for table in plan.tables for each in table.levels for name in each)
    measures = _named(name for table in plan.tables for name in table.measured)
    both = [name for name in dimensions if name in measures]
    units = {plan.roles.person, plan.roles.household, contributor, holding}
    units |= {*plan.roles.identifiers}
    telling = [name for name in (*dimensions, *filtered) if name in units]
    if both or telling:
        what = "also counted or summed" if both else "tells those who are protected apart"
        msg = f"[[tables]] dimension {(both or telling)[0]!r} {what}; leave it out of dimensions"
        raise plan.error(msg)
    titles = [table.name or f"table {place + 1}" for place, table in enumerate(plan.tables)]
    if alike := [title for title in titles if titles.count(title) > 1]:
        msg = f"two [[tables]] are called {alike[0]!r}; give each another name"
        raise plan.error(msg)
    _require_names_of_the_file(plan, dimensions)
    person = plan.roles.person if contributor is None else contributor
    counted = any(table.count for table in plan.tables)
    roles = Roles(
        quasi_identifiers=_named((*dimensions, *(n for n in filtered if n not in measures))),
        sensitive=measures,
        keep_unique=measures,
        identifiers=tuple(n for n in plan.roles.identifiers if n not in measures),
        person=EACH_ROW if person is None and counted else person,
        household=plan.roles.household if contributor is None else holding,
    )
    used = {*dimensions, *measures, *filtered, *roles.named_units.values()}
    columns = {name: it for name, it in plan.columns.items() if name in used}
    return replace(plan, roles=roles, columns=columns, method=None, trajectory=None)


def mean_of(column: str) -> str:
    """The column of a mean."""
    return f"mean({column})"


def _require_names_of_the_file(plan: Plan, dimensions: Sequence[str]) -> None:
    """Raise ``PlanError`` where a column is called like another one of the file that is published.

    Where rows are counted, a column of numbers called ``count`` would take the place of the count.
    """
    numbers = _named(name for table in plan.tables for name in table.numbers)
    shown = _named(name for table in plan.tables for name in _measures_of(table))
    ways_to_count = {table.count for table in plan.tables if COUNT in _measures_of(table)}
    means = _named(mean_of(name) for table in plan.tables for name in table.mean)
    taken = [TABLE, STATUS, *dimensions, *shown, *means]
    twice = {name for name in taken if taken.count(name) > 1}
    if COUNT in numbers or len(ways_to_count) > 1:
        twice.add(COUNT)
    if twice:
        msg = (
            f"[[tables]] column {min(twice)!r} would be called like another column of the tables "
            "that are published; give it another name in INPUT and in the plan"
        )
        raise plan.error(msg)


def plan_of_noise(plan: Plan, noise: CellNoise) -> Plan:
    """The plan by which the method ``dp-tables`` publishes the tables, with totals at every level.

    Raises ``PlanError`` for what has no form with noise.
    """
    rows, tables, measures = plan_of_rows(plan), [], list[str]()
    for table in plan.tables:
        several = [levels for levels in table.levels if len(levels) > 1]
        if several:
            msg = (
                f"[[tables]] dimensions {list(several[0])}: with noise, levels are public facts "
                "and not found in the rows. Declare the hierarchy of "
                f"{several[0][-1]!r} under [columns.{several[0][-1]}], and name this column alone"
            )
            raise plan.error(msg)
        for key, stated in (("count", table.count), ("filter", table.filter)):
            if stated:
                msg = f"[[tables]] {key} has no form with noise; leave it out, or publish rows of"
                raise plan.error(f"{msg} a file that is filtered and has a row for each person")
        if table.weight is not None:
            msg = "[[tables]] weight has no form with noise; leave it out"
            raise plan.error(msg)
        names = [levels[-1] for levels in table.levels]
        parts = (c for size in range(len(names), 0, -1) for c in combinations(names, size))
        tables += [list(part) for part in parts]
        measures += [f"sum({name})" for name in table.sum if name not in table.mean]
        measures += [f"{kind}({name})" for name in table.mean for kind in ("sum", "mean")]
    distinct = [list(one) for one in dict.fromkeys(map(tuple, tables))]
    asked = {"tables": distinct, "measures": list(dict.fromkeys(measures)), **noise.parameters}
    return replace(rows, method=Method("dp-tables", asked), tables=(), protection=None)


def _distinct_labels(
    tables: Sequence[TableLayout], labels: Mapping[str, Sequence[str]]
) -> Mapping[str, tuple[str, ...]]:
    """The values of all levels; with their levels, where a dimension shows the same of several."""
    found = {level: tuple(texts) for level, texts in labels.items()}
    for levels in {chain for table in tables for chain in table.dimensions}:
        for level in levels:
            others = {text for other in levels if other != level for text in labels[other]}
            if others.union([TOTAL]).intersection(labels[level]):
                found[level] = tuple(qualified(level, text) for text in labels[level])
    return found


def _meeting(counted: CombinationCounts, conditions: Sequence[Condition]) -> CombinationCounts:
    """The combinations that meet all conditions."""
    met = np.ones(len(counted.rows), dtype=np.bool_)
    for one in conditions:
        place = counted.columns.index(one.column)
        holds = [one.holds(text) for text in counted.values[place].texts]
        met &= np.array(holds, dtype=np.bool_)[counted.codes[:, place]]
    return replace(counted, codes=counted.codes[met], rows=counted.rows[met])


def _named(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _counts(tables: Sequence[TablePlan]) -> set[str]:
    return {COUNT, *(each.count for each in tables if each.count)}


def _measures_of(table: TablePlan) -> tuple[str, ...]:
    """What a table shows: its count, and its sums; a count unless there are only sums."""
    counts = not table.sum or bool(table.mean)
    count = (table.count,) if table.count else ((COUNT,) if counts else ())
    return (*count, *table.numbers)


def _shown_in(
    system: LinkedSystem, shows: Mapping[str, tuple[str, ...]], name: str
) -> NDArray[np.bool_]:
    shown = np.zeros(system.cells, dtype=np.bool_)
    for table in system.tabulation.tables:
        if name in shows[table.name]:
            shown[system.of_table(table)] = True
    return shown


class _Levels:
    """The levels of all dimensions, and the value of each combination at each."""

    def __init__(self, plan: Plan, counted: CombinationCounts, dimensions: Sequence[str]) -> None:
        self.labels: dict[str, tuple[str, ...]] = {}
        self.codes: dict[str, Indices] = {}
        self._chains: dict[str, tuple[str, ...]] = {}
        for place, name in enumerate(dimensions):
            values, codes = counted.values[place], counted.codes[:, place].astype(np.int64)
            self._add(name, [_shown(text) for text in values.texts], codes)
            self._chains[name] = (*self._above(plan, name, values, codes), name)

    def _add(self, name: str, labels: Sequence[str], codes: Indices) -> None:
        """A level with those of its values that stand in a counted row."""
        used, at = np.unique(codes, return_inverse=True)
        self.labels[name] = tuple(labels[code] for code in used)
        self.codes[name] = at.astype(np.int64)

    def _above(
        self, plan: Plan, name: str, values: DistinctValues, codes: Indices
    ) -> tuple[str, ...]:
        """The levels of the hierarchy of a column, the coarsest first, without the total."""
        declared = plan.column(name)
        if declared.hierarchy is None and declared.order is None:
            return ()
        bound = declared.bind_hierarchy(name, values)
        found: list[str] = []
        below = len(self.labels[name])
        for number in range(1, bound.height + 1):
            above = bound.codes[number].astype(np.int64)[codes]
            if not 1 < len(np.unique(above)) < below:
                continue
            level = f"{name} (level {number})"
            self._add(level, _texts_of(bound.values[number], values), above)
            below = len(self.labels[level])
            found.insert(0, level)
        return tuple(found)

    def layout(self, place: int, table: TablePlan) -> TableLayout:
        """The dimensions of a table by the names of their levels."""
        name = table.name or f"table {place + 1}"
        chains = []
        for columns in table.levels:
            chain = columns if len(columns) > 1 else self._chains[columns[0]]
            for coarser, finer in pairwise(chain):
                self._require_nested(name, coarser, finer)
            chains.append(tuple(chain))
        return TableLayout(name, tuple(chains))

    def _require_nested(self, table: str, coarser: str, finer: str) -> None:
        if self._parents(finer, coarser) is not None:
            return
        pairs = np.unique(np.column_stack((self.codes[finer], self.codes[coarser])), axis=0)
        several = int((np.unique(pairs[:, 0], return_counts=True)[1] > 1).sum())
        msg = (
            f"{table}: {several:,} value{'s' * (several > 1)} of {finer!r} "
            f"{'stand' if several > 1 else 'stands'} below more than one value of {coarser!r}, so "
            "that sums would not add up; mend the rows, or make them two dimensions"
        )
        raise TableError(msg)

    def _parents(self, finer: str, coarser: str) -> Indices | None:
        """The coarser value of each finer one; None where one has several."""
        size = len(self.labels[finer])
        parent = np.full(size, -1, dtype=np.int64)
        parent[self.codes[finer]] = self.codes[coarser]
        return parent if (parent[self.codes[finer]] == self.codes[coarser]).all() else None

    def nestings(self) -> Mapping[tuple[str, str], Indices]:
        """All pairs of levels of which the rows show that one is below the other."""
        found = {}
        for finer in self.labels:
            for coarser in self.labels:
                if finer != coarser and len(self.labels[finer]) >= len(self.labels[coarser]):
                    parent = self._parents(finer, coarser)
                    if parent is not None:
                        found[finer, coarser] = parent
        return found


def _shown(text: str | None) -> str:
    return MISSING_LABEL if text is None else text


def _texts_of(level: GeneralizedValues, values: DistinctValues) -> list[str]:
    """How the values of a level read; an interval as ``[low, high]``."""
    if level.texts is not None:
        return [_shown(text) for text in level.texts]
    if level.low is None or level.high is None:
        return [_shown(text) for text in values.texts]
    ends = zip(level.low.texts(), level.high.texts(), strict=True)
    return [*([MISSING_LABEL] if level.missing else []), *(f"[{a}, {b}]" for a, b in ends)]


class _Entries:
    """The combinations that were counted, as they add up in cells."""

    def __init__(
        self,
        system: LinkedSystem,
        counted: CombinationCounts,
        codes: Mapping[str, Indices],
        unit: str | None,
        named: tuple[Sequence[str], str | None],
    ) -> None:
        self._system, self._rows, self._unit = system, counted.rows, unit
        self._codes = codes
        finest = np.column_stack(list(codes.values()))
        distinct, self._combination = np.unique(finest, axis=0, return_inverse=True)
        self.combinations: Mapping[str, Indices] = dict(zip(codes, distinct.T, strict=True))
        self._who = counted.codes[:, -1].astype(np.int64) if unit else None
        self._numbers = {}
        names, weight = named
        for name in names:
            place = counted.columns.index(name)
            values = counted.values[place].numbers
            if values is None or counted.values[place].missing:
                msg = f"column {name!r} is to be added up, and not all of its values are numbers"
                raise TableError(msg)
            self._refuse_signs(name, values.units, weight)
            self._numbers[name] = values.units[counted.codes[:, place]], values.scale
        ones = np.ones(len(counted.rows), dtype=np.int64), 0
        each, self._weight_scale = self._numbers[weight] if weight else ones
        self._weight: Indices = each.astype(np.int64)
        self._has_weights = weight is not None

    @staticmethod
    def _refuse_signs(name: str, units: Indices, weight: str | None) -> None:
        if name == weight and (units <= 0).any():
            msg = (
                f"column {name!r} holds weights, and some of them are not above 0; say what each "
                "row stands for, or leave such rows out"
            )
            raise TableError(msg)
        if (units < 0).any():
            msg = (
                f"column {name!r} has negative numbers; cells are protected on the ground that "
                "none is. Publish gains and losses as two columns"
            )
            raise TableError(msg)

    def measure(self, name: str, shown: NDArray[np.bool_], *, counts: bool) -> CellMeasure:
        """What a measure is in every cell that shows it."""
        each, scale = self._numbers.get(name, (np.ones(len(self._rows), dtype=np.int64), 0))
        if counts and scale:
            msg = f"column {name!r} is named as a count, and has numbers that are not whole"
            raise TableError(msg)
        rows = self._rows if name in self._numbers else self._counted_units()
        self._require_exact(name, each, rows)
        added = each.astype(np.int64) * self._weight * rows
        values = np.where(shown, self._added(added), 0)
        finest = np.zeros(len(next(iter(self.combinations.values()))), dtype=np.int64)
        np.add.at(finest, self._combination.ravel(), added)
        whole, scale = counts and not self._has_weights, scale + self._weight_scale
        ruled = name in self._numbers
        if whole and (self._unit is None or not ruled):
            return CellMeasure(name, values, scale, shown, True, finest)
        found = self._contributions(each.astype(np.int64), rows)
        return CellMeasure(name, values, scale, shown, whole, finest, found, ruled)

    def units(self, count: str, counts: set[str]) -> Indices:
        """Units of each cell: those that a column counts, else distinct contributors, or rows."""
        if self._who is not None:
            found = self._contributions(np.ones(len(self._rows), dtype=np.int64), self._rows)
            return np.bincount(found.cell, minlength=self._system.cells)
        if count in counts and count in self._numbers:
            return self._added(self._numbers[count][0].astype(np.int64) * self._rows)
        return self._added(self._rows)

    def weighted(self) -> NDArray[np.float64] | None:
        """Shape (cells,): units of the population in each; None without weights."""
        if not self._has_weights:
            return None
        found = self._added(self._weight * self._counted_units())
        return found / 10.0**self._weight_scale

    def keys(self, key: Key, names: Sequence[str | None]) -> Indices:
        """The sum of the record keys of the persons of each cell, modulo 2**64.

        A person has one key however the file writes the id: ``7`` or ``7.0``.
        """
        assert self._who is not None
        texts = (str(name).encode() for name in ids_in_one_form(names))
        records = np.array([key.digest(text) for text in texts], dtype=np.uint64).view(np.int64)
        return self._added(records[self._who] * self._counted_units())

    def _require_exact(self, name: str, each: Indices, rows: Indices) -> None:
        """Raise ``TableError`` where the sum of all rows is beyond exact numbers."""
        parts = (each.astype(object), self._weight.astype(object), rows.astype(object))
        if int((parts[0] * parts[1] * parts[2]).sum()) >= _SAFE:
            msg = f"the sum of column {name!r} has more than 15 digits; round its values first"
            raise TableError(msg)

    def _counted_units(self) -> Indices:
        """One for each row, or for each person at one of its combinations."""
        if self._who is None:
            return self._rows
        finest = np.column_stack(list(self._codes.values()))
        pairs = np.unique(np.column_stack((self._who, finest)), axis=0)
        if len(pairs) > len(np.unique(self._who)):
            msg = (
                "[[tables]] count persons, some of whom stand in several cells, so that totals "
                "would be no sums of their parts. Leave out what tells their rows apart; or, where "
                'rows are what is protected, say person = "row" in [roles]'
            )
            raise PlanError(msg)
        first = np.zeros(len(self._who), dtype=np.int64)
        first[np.unique(self._who, return_index=True)[1]] = 1
        return first

    def _added(self, values: Indices) -> Indices:
        """Shape (cells,): the sum of the combinations of each cell."""
        found = np.zeros(self._system.cells, dtype=np.int64)
        for block in self._system.blocks.values():
            np.add.at(found, self._cells(block.levels), values)
        return found

    def _cells(self, levels: tuple[str, ...]) -> Indices:
        block = self._system.blocks[levels]
        if not levels:
            return np.full(len(self._rows), block.start, dtype=np.int64)
        return block.cells(self._codes)

    def _contributions(self, each: Indices, rows: Indices) -> _CellContributions:
        """What each contributor adds to each cell, where each of ``rows`` adds ``each``."""
        parts = [self._of_block(levels, each, rows) for levels in self._system.blocks]
        columns = [np.concatenate(part) for part in zip(*parts, strict=True)]
        cell, who, value, *_ = columns
        order = np.lexsort((who, -value, cell))
        return _CellContributions(*(column[order] for column in columns))

    def _of_block(self, levels: tuple[str, ...], each: Indices, rows: Indices) -> list[Indices]:
        """Cell, contributor, value, times, what is added, and respondents."""
        cell, unit = self._cells(levels), 10**self._weight_scale
        counted = rows > 0
        if self._who is None:
            nobody = np.full(len(cell), -1, dtype=np.int64)
            times = self._rows * -(-self._weight // unit)
            return [cell, nobody, each * unit, times, each * self._weight, self._rows]
        pairs, at = np.unique(
            np.column_stack((cell, self._who))[counted], axis=0, return_inverse=True
        )
        sums = np.zeros((2, len(pairs)), dtype=np.int64)
        for into, times in zip(sums, (self._weight, np.full(len(cell), unit)), strict=True):
            np.add.at(into, at.ravel(), (each * times * rows)[counted])
        weight = np.zeros(len(pairs), dtype=np.int64)
        np.maximum.at(weight, at.ravel(), -(-self._weight // unit)[counted])
        added, value = sums
        ones = np.ones(len(pairs), dtype=np.int64)
        return [pairs[:, 0], pairs[:, 1], value, weight, added, ones]
