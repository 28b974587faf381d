"""Small tables of counts: as the package protects them, and as brute force judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl

from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile.tabular.counting import PrivateCells, plan_of_rows
from voile.tabular.primary import PrimaryCells
from voile.tabular.publishing import ProtectedTables, _protect_tables

Rows = Mapping[str, Sequence[Any]]


def protected(
    rows: Rows, tables: Sequence[Mapping[str, Any]], **protection: Any
) -> ProtectedTables:
    """The tables of some rows with the cells that are suppressed."""
    plan = parse_plan({"tables": list(tables), "protection": protection})
    return _protect_tables(open_frame(pl.DataFrame(rows), plan_of_rows(plan)), plan)


def counted(rows: Rows, tables: Sequence[Mapping[str, Any]], **protection: Any):
    """The cells of some rows, and which are primary."""
    plan = parse_plan({"tables": list(tables), "protection": protection})
    cells = PrivateCells.count(open_frame(pl.DataFrame(rows), plan_of_rows(plan)), plan.tables)
    return cells, PrimaryCells.find(cells, plan.protection)


@dataclass(frozen=True)
class Small:
    """A random system: its rows, each a combination of values with a count, and its tables."""

    rows: Rows
    tables: tuple[Mapping[str, Any], ...]


SHAPES = ("2 x 3", "2 x 2 x 2", "hierarchy", "linked", "zeros")


def random_small(seed: int) -> Small:
    """Two or three dimensions, a hierarchy, or two linked tables, of at most 8 units."""
    draw = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    two = {"dimensions": ["a", "b"], "count": "n"}
    if shape == "2 x 2 x 2":
        values, tables = {"a": "xy", "b": "pq", "c": "st"}, [{**two, "dimensions": ["a", "b", "c"]}]
    elif shape == "hierarchy":
        values, tables = {"a": "xyz", "b": "pq"}, [{**two, "dimensions": [["g", "a"], "b"]}]
    elif shape == "linked":
        values, tables = {"a": "xyz", "b": "pq"}, [two, {**two, "dimensions": ["g", "b"]}]
    else:
        values, tables = {"a": "xy", "b": "pqr"}, [two]
    cells = list(product(*values.values()))
    weights = draw.dirichlet(np.full(len(cells), 0.4 if shape == "zeros" else 2.0))
    counts = draw.multinomial(int(draw.integers(3, 9)), weights)
    rows: dict[str, list[Any]] = {
        name: [cell[place] for cell in cells] for place, name in enumerate(values)
    }
    if any("g" in str(table) for table in tables):
        rows["g"] = ["first" if value in "xy" else "other" for value in rows["a"]]
    rows["n"] = counts.tolist()
    return Small(rows, tuple(tables))


class BruteForce:
    """All whole-number tables of the same grand total, and what published cells leave of them."""

    def __init__(self, rows: Rows, made_columns: Rows, measure: str = "n") -> None:
        names = [name for name in rows if name != measure]
        shown = [name for name in made_columns if name not in {"table", "status", measure}]
        self.rows = len(rows[measure])
        places = range(len(made_columns["table"]))
        self.members = np.array(
            [
                [
                    all(
                        made_columns[name][place] in {None, "Total"}
                        or made_columns[name][place] in {rows[each][row] for each in names}
                        for name in shown
                    )
                    for row in range(self.rows)
                ]
                for place in places
            ],
            dtype=np.int64,
        )
        self.truth = self.members @ np.array(rows[measure], dtype=np.int64)
        self._total = int(np.sum(rows[measure]))

    @cached_property
    def worlds(self) -> np.ndarray:
        """Shape (worlds, rows of the file): the cells of every table of this grand total."""
        bars = combinations(range(self._total + self.rows - 1), self.rows - 1)
        ends = np.array(list(bars), dtype=np.int64).reshape(-1, self.rows - 1)
        edges = np.column_stack(
            (np.full(len(ends), -1), ends, np.full(len(ends), self._total + self.rows - 1))
        )
        base = np.diff(edges, axis=1) - 1
        return base @ self.members.T

    def agreeing(self, hidden: np.ndarray) -> np.ndarray:
        """The worlds that have the published cells."""
        same = (self.worlds[:, ~hidden] == self.truth[~hidden]).all(axis=1)
        return self.worlds[same]

    def protects(self, hidden: np.ndarray, primary: np.ndarray) -> bool:
        """Whether no outsider, and no only one of a cell, narrows a primary cell to one value."""
        worlds = self.agreeing(hidden)
        if not _open(worlds, primary):
            return False
        for own in np.flatnonzero(hidden & (self.truth == 1)):
            same = (self.members == self.members[own]).all(axis=1)
            if not _open(worlds[worlds[:, own] >= 1], primary & ~same):
                return False
        return True

    def least(self, primary: np.ndarray, may: np.ndarray, of_row: np.ndarray) -> int | None:
        """The fewest further cells that protect, among those that may be hidden."""
        free = np.unique(of_row[may & ~primary]).tolist()
        for number in range(len(free) + 1):
            for chosen in combinations(free, number):
                hidden = primary | np.isin(of_row, chosen)
                if self.protects(hidden, primary):
                    return number
        return None


def _open(worlds: np.ndarray, cells: np.ndarray) -> bool:
    asked = worlds[:, cells]
    return bool((asked.max(axis=0) > asked.min(axis=0)).all())
