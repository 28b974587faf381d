"""Several tables as one linked system: all cells, and which sums of them are equal.

A dimension is a chain of **levels** from coarse to fine; above them stands the total.  A **cell**
is a choice of values of some levels; the others are totals.  Tables that show the same values of
the same levels show the same cell, which is there once: so what tables share is protected once.

A **constraint** says that a cell is the sum of the cells below it in one dimension.  Two levels are
**nested** where each value of the finer one belongs to one value of the coarser one: those of a
dimension by declaration, those of different tables because the rows say so (an attacker knows which
region lies in which county).  Where the finer level takes the place of the coarser one in cells of
any table, these cells are linked as well.  Constraints that follow from others are left out.

Cost: memory and time in the number of cells times the number of dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from voile_base.errors import TableError
from voile_base.ondemand import dataclass

__all__ = [
    "MOST_CELLS",
    "TOTAL",
    "CellBlock",
    "LinkedSystem",
    "TableLayout",
    "Tabulation",
    "qualified",
]

TOTAL = "Total"
"""What a dimension shows where nothing of it is chosen."""
MOST_CELLS = 2_000_000
"""Of all tables of a plan together."""

Indices = NDArray[np.int64]
Chosen = tuple[str, ...]
"""The levels of a block of cells, sorted by name."""


@dataclass(frozen=True)
class TableLayout:
    """One table: its dimensions, each the names of its levels from coarse to fine."""

    name: str
    dimensions: tuple[tuple[str, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """What the dimensions are called: by their finest levels."""
        return tuple(levels[-1] for levels in self.dimensions)

    def choices(self) -> Iterator[tuple[str | None, ...]]:
        """Each way to choose a level, or the total, of every dimension; totals come first."""
        return product(*((None, *levels) for levels in self.dimensions))


@dataclass(frozen=True, eq=False)
class Tabulation:
    """Tables with the values of their levels, and how levels are nested."""

    tables: tuple[TableLayout, ...]
    labels: Mapping[str, tuple[str, ...]]
    """The values of each level."""
    parents: Mapping[tuple[str, str], Indices]
    """For pairs of a finer and a coarser level: the coarser value of each finer one."""

    def nested(self, finer: str, coarser: str) -> bool:
        """Whether one level is below another; of two that divide alike, by their names."""
        if finer == coarser or (finer, coarser) not in self.parents:
            return False
        return (coarser, finer) not in self.parents or finer > coarser


@dataclass(frozen=True)
class CellBlock:
    """All cells that choose values of the same levels."""

    levels: Chosen
    start: int
    """The number of its first cell."""
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many cells it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    def cells(self, codes: Mapping[str, Indices]) -> Indices:
        """The cell of each row, whose value of each level is given by its code."""
        place = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for level, size in zip(self.levels, self.shape, strict=True):
            place = place * size + codes[level]
        return self.start + place

    def codes(self) -> Mapping[str, Indices]:
        """For each of its levels, the code of each of its cells."""
        if not self.levels:
            return {}
        grid = np.indices(self.shape, dtype=np.int64).reshape(len(self.shape), -1)
        return dict(zip(self.levels, grid, strict=True))


class LinkedSystem:
    """The cells of all tables, numbered from 0, and their constraints.

    Raises ``TableError`` where there are more than ``MOST_CELLS``.
    """

    def __init__(self, tabulation: Tabulation) -> None:
        self.tabulation = tabulation
        self.blocks: Mapping[Chosen, CellBlock] = self._blocks()
        self.cells = sum(block.size for block in self.blocks.values())

    def block(self, choice: tuple[str | None, ...]) -> CellBlock:
        """The block of cells that choose these levels."""
        return self.blocks[_sorted(choice)]

    def of_table(self, table: TableLayout) -> Indices:
        """The cells of one table, ascending."""
        found = [np.arange(b.start, b.start + b.size) for b in map(self.block, table.choices())]
        return np.sort(np.concatenate(found))

    @cached_property
    def constraints(self) -> csr_matrix:
        """Shape (constraints, cells), of whole numbers: each row times the true values is zero.

        A row has 1 at a cell and -1 at each of the cells whose sum it is.
        """
        rows, columns, signs, first = [], [], [], 0
        for block, finer, lower in self._links():
            below = lower.codes()
            above = {level: below[level] for level in block.levels if level in below}
            for level in block.levels:
                if level not in above:
                    above[level] = self.tabulation.parents[finer, level][below[finer]]
            parent = (
                block.cells(above) if block.levels else np.full(lower.size, block.start)
            ) - block.start
            rows += [first + np.arange(block.size), first + parent]
            columns += [block.start + np.arange(block.size), lower.start + np.arange(lower.size)]
            signs += [np.ones(block.size, np.int64), np.full(lower.size, -1, dtype=np.int64)]
            first += block.size
        if not rows:
            return csr_matrix((0, self.cells), dtype=np.int64)
        entries = np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))
        return csr_matrix(entries, shape=(first, self.cells), dtype=np.int64)

    def _blocks(self) -> Mapping[Chosen, CellBlock]:
        found: dict[Chosen, CellBlock] = {}
        start = 0
        for table in self.tabulation.tables:
            for choice in table.choices():
                levels = _sorted(choice)
                if levels in found:
                    continue
                shape = tuple(len(self.tabulation.labels[level]) for level in levels)
                found[levels] = CellBlock(levels, start, shape)
                size = 1
                for length in shape:
                    size *= length
                start += size
                if start > MOST_CELLS:
                    msg = (
                        f"the tables have more than {MOST_CELLS:,} cells, beyond what is protected "
                        "at once; leave a dimension out, or begin at coarser levels"
                    )
                    raise TableError(msg)
        return found

    def _links(self) -> Iterator[tuple[CellBlock, str, CellBlock]]:
        """Blocks, a level, and the block whose cells, summed over the level, are theirs."""
        for levels, block in self.blocks.items():
            for coarser in (None, *levels):
                rest = tuple(level for level in levels if level != coarser)
                below = {
                    finer: self.blocks[chosen]
                    for finer in self.tabulation.labels
                    if finer not in rest
                    and (coarser is None or self.tabulation.nested(finer, coarser))
                    and (chosen := _sorted((*rest, finer))) in self.blocks
                }
                for finer, lower in below.items():
                    if not any(self.tabulation.nested(finer, other) for other in below):
                        yield block, finer, lower


def qualified(level: str, label: str) -> str:
    """A value with the level that it belongs to, where it could be that of another one."""
    return f"{level}: {label}"


def _sorted(choice: tuple[str | None, ...]) -> Chosen:
    return tuple(sorted({level for level in choice if level is not None}))
