"""Alternative tables: what else the suppressed cells could hold, without a published one changing.

Whoever knows the published cells cannot tell the true table from another one that has the same.  So
one **alternative table** in which a cell holds something else proves that nobody can work the cell
out, and how far it lies off proves how wide the cell's interval is at least: exactly, in whole
numbers, with no linear program to be trusted.  One alternative proves it of all cells that it
changes, some hundred at a time; two programs for each cell are not needed.

An alternative differs from the truth by a **move**: rows are added to and taken from combinations
of the finest values, so that all totals, at all levels and in all linked tables, follow.  A move
for a cell is sought among few combinations, by a small integer program: those whose values are, in
each dimension, a few that most resemble a combination of that cell (siblings first, then those with
many rows beside them).  Its objective is the cost of what would have to be suppressed besides.
Where there is no move among so few values, more are taken.

The idea is that of the hypercube method (Giessing and Repsilber, "Tools and strategies to protect
multiple tables with the GHQUAR cell suppression engine", in *Inference Control in Statistical
Databases*, 2002), which suppresses the corners of one cube around each primary cell.  Ours differs:
a cube is one of the moves that the program may choose, across levels and linked tables as well, it
chooses the cheapest, and non-negativity and what insiders know are conditions of it.

A **sweep** is one linear program over all combinations that can move at all, towards the cells that
nothing proves yet.  It costs nothing, as it suppresses nothing, and often proves most cells at
once, to all insiders together.

Cost: each program compares the c combinations with one, in O(c d) for d dimensions, and has some
hundred columns and rows, whatever the size of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_matrix, csr_matrix

from voile.tabular.system import LinkedSystem
from voile_base.ondemand import dataclass

__all__ = [
    "CellMove",
    "ChangeBounds",
    "CombinationGrid",
    "MoveLimits",
    "MoveRequest",
    "MoveSearch",
]

_NEAR = 4.0
"""How much more a value counts for each level that it shares with another."""
_ALIKE = 8.0
"""How much more a combination counts for each further dimension in which it is the same."""
_BREADTHS = (2, 3, 5, 8, 16, 32, 64)
"""Values of each dimension among which a move is sought, one number after the other."""
_FEWEST_COMBINATIONS = 16
"""Of a program, unless there are no more."""
_MOST_COMBINATIONS = 1_200
"""Of a program of whole numbers."""
_MOST_SWEPT = 60_000
"""Of a linear program over all that can move."""
_PRESOLVED = 200
"""Columns beyond which a program is worth being simplified before it is solved."""
_WORTH = 0.3
"""What it is worth that another cell grows, where it had better."""
_NODES = 50
_GAP = 0.1

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]


class CombinationGrid:
    """Combinations of values of all levels, and the cells that each is part of.

    An **axis** is a set of levels that determine one another, as those of a dimension do.  Its
    **values** are the combinations of them that rows have.  A combination is a choice of one value
    of each axis.
    """

    def __init__(self, system: LinkedSystem, combinations: Mapping[str, Indices]) -> None:
        self.system = system
        levels = list(combinations)
        stride, self._start = _strides(system, levels)
        self.values: list[Indices] = []
        """For each axis, shape (values, levels of the axis): their codes."""
        self.levels: list[list[str]] = []
        self._offset: list[Indices] = []
        chosen = []
        for axis in _axes(system, levels):
            codes = np.column_stack([combinations[levels[place]] for place in axis])
            values, at = np.unique(codes, axis=0, return_inverse=True)
            chosen.append(at.ravel())
            self.values.append(values)
            self.levels.append([levels[place] for place in axis])
            self._offset.append(values @ stride[axis])
        self.chosen: Indices = np.array(chosen, dtype=np.int64)
        """Shape (axes, combinations): the values of those that rows have."""
        self.sizes = [len(values) for values in self.values]

    @classmethod
    def of_tabulation(cls, system: LinkedSystem) -> CombinationGrid | None:
        """All combinations of the values that tables show, without looking at rows.

        None where they are too many for one program, or where no level of an axis determines the
        others.
        """
        tabulation = system.tabulation
        levels, codes = list(tabulation.labels), []
        axes = [[levels[place] for place in axis] for axis in _axes(system, levels)]
        for axis in axes:
            finest = [
                one
                for one in axis
                if all((one, other) in tabulation.parents for other in axis if other != one)
            ]
            if not finest:
                return None
            own = np.arange(len(tabulation.labels[finest[0]]))
            codes.append({o: tabulation.parents.get((finest[0], o), own) for o in axis})
        sizes = [len(next(iter(each.values()))) for each in codes]
        if float(np.prod(np.array(sizes, dtype=np.float64))) > _MOST_SWEPT:
            return None
        grid = np.array(np.meshgrid(*map(np.arange, sizes), indexing="ij")).reshape(len(sizes), -1)
        of_level = {
            level: of[grid[place]] for place, each in enumerate(codes) for level, of in each.items()
        }
        return cls(system, {level: of_level[level] for level in levels})

    @cached_property
    def _keys(self) -> tuple[Indices, Indices]:
        """The combinations that rows have, ascending by one number, and their places."""
        keys = self._key(self.chosen)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def _key(self, chosen: Indices) -> Indices:
        key = np.zeros(chosen.shape[1], dtype=np.int64)
        for values, size in zip(chosen, self.sizes, strict=True):
            key = key * size + values
        return key

    @property
    def countable(self) -> bool:
        """Whether all combinations can be told apart by a number."""
        return float(np.prod(np.array(self.sizes, dtype=np.float64))) < 2**62

    def cells(self, chosen: Indices) -> Indices:
        """Shape (combinations, blocks): the cells that combinations are part of."""
        found = np.broadcast_to(self._start, (chosen.shape[1], len(self._start))).copy()
        for offset, values in zip(self._offset, chosen, strict=True):
            found += offset[values]
        return found

    def amounts(self, chosen: Indices, finest: Indices) -> Indices:
        """What combinations hold; 0 where no row has them."""
        keys, order = self._keys
        wanted = self._key(chosen)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, finest[order[place]], 0)

    def inside(self, cell: int) -> list[Mask]:
        """For each axis, which of its values are part of a cell."""
        blocks = list(self.system.blocks.values())
        block = blocks[int(np.searchsorted(self._start, cell, side="right")) - 1]
        place, code = cell - block.start, {}
        for level, size in zip(reversed(block.levels), reversed(block.shape), strict=True):
            place, code[level] = divmod(place, size)
        found = []
        for levels, values in zip(self.levels, self.values, strict=True):
            fits = np.ones(len(values), dtype=np.bool_)
            for column, level in enumerate(levels):
                if level in code:
                    fits &= values[:, column] == code[level]
            found.append(fits)
        return found

    def seed(self, cell: int, holding: Mask, *, occupied: bool) -> Indices | None:
        """Shape (axes,): a combination of a cell, if possible one that holds something.

        None where no rows have one and they must.
        """
        inside = self.inside(cell)
        fits = np.array([mask[values] for mask, values in zip(inside, self.chosen, strict=True)])
        number = fits.sum(axis=0)
        best = int(np.argmax(2 * number + holding))
        if number[best] == len(inside):
            return self.chosen[:, best].copy()
        if occupied or not all(mask.any() for mask in inside):
            return None
        seed = self.chosen[:, best].copy()
        for axis in np.flatnonzero(~fits[:, best]):
            weight = np.bincount(
                self.chosen[axis], weights=_ALIKE**number, minlength=self.sizes[axis]
            )
            seed[axis] = int(np.argmax(np.where(inside[axis], weight, -1.0)))
        return seed

    def around(self, seed: Indices, holding: Mask, breadth: int) -> list[Indices]:
        """For each axis, the values that most resemble those of a combination, itself first."""
        same = self.chosen == seed[:, None]
        alike = same.sum(axis=0)
        powers = _ALIKE ** np.arange(len(seed) + 1)
        found = []
        for axis, own in enumerate(seed.tolist()):
            values = self.values[axis]
            weight = np.bincount(
                self.chosen[axis],
                weights=holding * powers[alike - same[axis]],
                minlength=len(values),
            )
            weight *= _NEAR ** (values == values[own]).sum(axis=1)
            weight[own] = np.inf
            found.append(np.argsort(-weight, kind="stable")[:breadth])
        return found

    def box(self, values: Sequence[Indices], *, occupied: bool) -> Indices:
        """Shape (axes, n): combinations of these values; where ``occupied``, those that rows have.

        At most so many as a program takes: those with rows first.
        """
        size = float(np.prod([len(each) for each in values], dtype=np.float64))
        if not occupied and self.countable and size <= _MOST_COMBINATIONS:
            grid = np.array(np.meshgrid(*values, indexing="ij")).reshape(len(values), -1)
            return grid.astype(np.int64)
        within = np.ones(self.chosen.shape[1], dtype=np.bool_)
        for each, own, most in zip(values, self.chosen, self.sizes, strict=True):
            allowed = np.zeros(most, dtype=np.bool_)
            allowed[each] = True
            within &= allowed[own]
        return self.chosen[:, np.flatnonzero(within)[:_MOST_COMBINATIONS]]

    def everything(self, *, occupied: bool) -> Indices | None:
        """Shape (axes, n): all combinations; None where they are too many for one program."""
        size = float(np.prod(np.array(self.sizes, dtype=np.float64)))
        if not occupied and self.countable and size <= _MOST_SWEPT:
            grid = np.array(np.meshgrid(*map(np.arange, self.sizes), indexing="ij"))
            return grid.reshape(len(self.sizes), -1).astype(np.int64)
        return self.chosen if self.chosen.shape[1] <= _MOST_SWEPT else None

    def movable(self, chosen: Indices, fixed: Mask) -> Indices:
        """Those of some combinations that are not the only one left of a fixed cell."""
        of = self.cells(chosen)
        left = np.ones(chosen.shape[1], dtype=np.bool_)
        while True:
            number = np.bincount(of[left].ravel(), minlength=len(fixed))
            stuck = left & (fixed & (number == 1))[of].any(axis=1)
            if not stuck.any():
                return chosen[:, left]
            left &= ~stuck


def _strides(system: LinkedSystem, levels: Sequence[str]) -> tuple[Indices, Indices]:
    """Shape (levels, blocks): how far a code of a level moves a cell; and where blocks begin."""
    place = {level: number for number, level in enumerate(levels)}
    blocks = list(system.blocks.values())
    stride = np.zeros((len(levels), len(blocks)), dtype=np.int64)
    for number, block in enumerate(blocks):
        step = 1
        for level, size in zip(reversed(block.levels), reversed(block.shape), strict=True):
            stride[place[level], number] = step
            step *= size
    return stride, np.array([block.start for block in blocks], dtype=np.int64)


def _axes(system: LinkedSystem, levels: Sequence[str]) -> Iterator[list[int]]:
    """The levels that determine one another, by their places."""
    belongs = list(range(len(levels)))
    for finer, coarser in system.tabulation.parents:
        one, other = belongs[levels.index(finer)], belongs[levels.index(coarser)]
        belongs = [min(one, other) if each in {one, other} else each for each in belongs]
    for axis in sorted(set(belongs)):
        yield [place for place, each in enumerate(belongs) if each == axis]


@dataclass(frozen=True, eq=False)
class CellMove:
    """By how much an alternative table differs from the true one, where it does."""

    cells: Indices
    """Ascending."""
    change: Indices
    """In the measure's unit; not 0."""


@dataclass(frozen=True, eq=False)
class MoveLimits:
    """Of a measure: what moves may change."""

    finest: Indices
    """Shape (combinations,): what each holds, of which no more can be taken."""
    fixed: Mask
    """Shape (cells,): cells that show the measure and must be published."""
    shown: Mask
    """Shape (cells,): cells that show the measure."""
    empty: bool
    """Whether combinations without rows may be given some."""


@dataclass(frozen=True, eq=False)
class ChangeBounds:
    """How far some cells may change; -inf and inf where they may change freely."""

    cells: Indices
    """Ascending."""
    least: Numbers
    most: Numbers

    @classmethod
    def none(cls) -> ChangeBounds:
        """Of no cell."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class MoveRequest:
    """What a move must do."""

    cell: int
    sign: int
    """1: the cell grows, -1: it shrinks."""
    amount: int
    """By how much at least, in the measure's unit; at least 1."""
    bounds: ChangeBounds
    growing: Numbers | None = None
    """Shape (cells,): 1 for cells that had better grow as well."""


class MoveSearch:
    """Moves of one measure; without ``limits.fixed``, from a table of zeros, tables."""

    def __init__(self, grid: CombinationGrid, limits: MoveLimits) -> None:
        self._grid, self._limits = grid, limits
        self._holding: Mask = limits.finest > 0

    def move(self, request: MoveRequest, price: Numbers) -> CellMove | None:
        """A cheap move that does what is asked; ``price`` is what each cell that it changes costs.

        None where none was found, even among the most values that are tried.
        """
        limits = self._limits
        taken = request.sign < 0 or not limits.empty
        seed = self._grid.seed(request.cell, self._holding, occupied=taken)
        if seed is None or limits.fixed[request.cell]:
            return None
        tried = 0
        for breadth in _BREADTHS:
            values = self._grid.around(seed, self._holding, breadth)
            size = sum(map(len, values))
            if size == tried:
                return None
            box = self._grid.box(values, occupied=not limits.empty)
            if box.shape[1] < _FEWEST_COMBINATIONS and breadth < max(self._grid.sizes):
                continue
            tried = size
            program = _MoveProgram(self._grid, limits, box)
            program.bind(request.bounds)
            if program.ask(request) and (found := program.cheapest(request, price)) is not None:
                return found
        return None

    def sweep(
        self, suppressed: Mask, bounds: ChangeBounds, worth: Numbers, amount: int
    ) -> CellMove | None:
        """A move of many suppressed cells at once: those that are worth it, up or down.

        One linear program over all combinations that can move.  None where they are too many, or
        where it ends between whole numbers.
        """
        grid, limits = self._grid, self._limits
        fixed = limits.shown & ~suppressed
        box = grid.everything(occupied=not limits.empty)
        if box is None:
            return None
        box = grid.movable(box, fixed)
        if not box.shape[1]:
            return None
        program = _MoveProgram(grid, replace(limits, fixed=fixed), box)
        program.bind(bounds)
        return program.widest(worth, amount)

    def table(self, bounds: ChangeBounds, worth: Numbers, amount: int) -> Indices | None:
        """Shape (combinations,): a table of whole numbers within bounds, of all combinations.

        None where none was found, or where they are too many.
        """
        box = self._grid.everything(occupied=True)
        if box is None:
            return None
        program = _MoveProgram(self._grid, self._limits, box)
        program.bind(bounds)
        return program.widest_added(worth, amount)


class _MoveProgram:
    """A program of moves among some combinations.

    Cells that hold the same of these combinations change alike, and are one row.
    """

    def __init__(self, grid: CombinationGrid, limits: MoveLimits, box: Indices) -> None:
        self._limits, self._holds = limits, grid.amounts(box, limits.finest)
        of = grid.cells(box)
        self._cells, row = np.unique(of.ravel(), return_inverse=True)
        size = len(self._cells), box.shape[1]
        column = np.repeat(np.arange(size[1]), of.shape[1])
        self._matrix = csr_matrix((np.ones(len(row), np.int64), (row, column)), shape=size)
        _, first, self._row = np.unique(
            self._matrix @ _spread(size[1]), return_index=True, return_inverse=True
        )
        self._rows = self._matrix[first]
        self._low, self._high = np.full(len(first), -np.inf), np.full(len(first), np.inf)
        stuck = self._row[limits.fixed[self._cells]]
        self._low[stuck] = self._high[stuck] = 0.0

    def bind(self, bounds: ChangeBounds) -> None:
        """Hold cells within bounds."""
        here = np.flatnonzero(np.isin(bounds.cells, self._cells, assume_unique=True))
        rows = self._row[np.searchsorted(self._cells, bounds.cells[here])]
        np.maximum.at(self._low, rows, bounds.least[here])
        np.minimum.at(self._high, rows, bounds.most[here])

    def ask(self, request: MoveRequest) -> bool:
        """Require what is asked of a cell; False where that cannot be among these combinations."""
        place = int(np.searchsorted(self._cells, request.cell))
        if place == len(self._cells) or self._cells[place] != request.cell:
            return False
        row = self._row[place]
        if request.sign > 0:
            self._low[row] = max(self._low[row], request.amount)
        else:
            self._high[row] = min(self._high[row], -request.amount)
        return bool(self._low[row] <= self._high[row])

    def cheapest(self, request: MoveRequest, price: Numbers) -> CellMove | None:
        """The move whose cells cost least; None where there is none."""
        shown = self._limits.shown[self._cells]
        costs = np.where(shown, price[self._cells], 0.0)
        row_price = np.zeros(len(self._low))
        np.add.at(row_price, self._row, costs)
        worth = np.zeros(len(self._holds))
        if request.growing is not None:
            growing = np.where(shown, request.growing[self._cells], 0.0)
            worth = self._matrix.T @ (_WORTH * growing)
        # Programs of tables mostly end at whole numbers by themselves.
        found = self._checked(self._solved(request.amount, row_price, worth))
        return found or self._checked(self._solved(request.amount, row_price, worth, whole=True))

    def widest(self, worth: Numbers, amount: int) -> CellMove | None:
        """The move whose changes are worth most, within an amount of each combination."""
        added = self.widest_added(worth, amount)
        return None if added is None else self._checked(added)

    def widest_added(self, worth: Numbers, amount: int) -> Indices | None:
        """What that move adds to each combination."""
        gain = self._matrix.T @ np.where(self._limits.shown, worth, 0.0)[self._cells]
        free = np.zeros(len(self._low))
        for whole in (False, True)[: 1 + (len(self._holds) <= _MOST_COMBINATIONS)]:
            added = self._solved(amount, free, gain, whole=whole)
            if added is not None and self._checked(added) is not None:
                return added
        return None

    def _solved(
        self, amount: int, price: Numbers, worth: Numbers, *, whole: bool = False
    ) -> Indices | None:
        """What is added to each combination: at most the amount, and taken from what it holds."""
        columns, unit = len(self._holds), 1 if whole else amount
        priced = np.flatnonzero((price > 0) & ~((self._low == 0) & (self._high == 0)))
        bound = np.flatnonzero(np.isfinite(self._low) | np.isfinite(self._high))
        free = np.full(2 * len(priced), -np.inf), np.zeros(2 * len(priced))
        result = milp(
            np.concatenate((-worth, price[priced])),
            integrality=np.repeat([float(whole), 0.0], [columns, len(priced)]),
            bounds=Bounds(
                np.concatenate((-np.minimum(self._holds, amount) / unit, np.zeros(len(priced)))),
                np.repeat([amount / unit, np.inf], [columns, len(priced)]),
            ),
            constraints=LinearConstraint(
                self._conditions(bound, priced),
                np.concatenate((self._low[bound] / unit, free[0])),
                np.concatenate((self._high[bound] / unit, free[1])),
            ),
            options={
                "node_limit": _NODES,
                "mip_rel_gap": _GAP,
                "presolve": whole or columns > _PRESOLVED,
            },
        )
        if result.x is None:
            return None
        added: Indices = np.round(result.x[:columns] * unit).astype(np.int64)
        return added

    def _conditions(self, bound: Indices, priced: Indices) -> csc_matrix:
        """The rows that are bound, and for each priced one that a variable is at least its size."""
        rows, (_, columns) = self._rows.tocoo(), self._rows.shape
        place = np.full((2, self._rows.shape[0]), -1, dtype=np.int64)
        place[0, bound], place[1, priced] = np.arange(len(bound)), np.arange(len(priced))
        (own, size), first, second = place[:, rows.row], len(bound), len(bound) + len(priced)
        of_bound, of_priced, each = own >= 0, size >= 0, np.arange(len(priced))
        entries = [
            (own[of_bound], rows.col[of_bound], rows.data[of_bound]),
            (first + size[of_priced], rows.col[of_priced], rows.data[of_priced]),
            (second + size[of_priced], rows.col[of_priced], -rows.data[of_priced]),
            (first + each, columns + each, -np.ones(len(priced))),
            (second + each, columns + each, -np.ones(len(priced))),
        ]
        row, column, data = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = second + len(priced), columns + len(priced)
        return csc_matrix((data.astype(np.float64), (row, column)), shape=shape)

    def _checked(self, added: Indices | None) -> CellMove | None:
        """The move, if it does what is asked, exactly."""
        if added is None or (self._holds + added < 0).any():
            return None
        change = self._matrix @ added
        if (change[self._limits.fixed[self._cells]] != 0).any():
            return None
        kept = self._rows @ added
        if (kept < self._low).any() or (kept > self._high).any():
            return None
        moved: Mask = (change != 0) & self._limits.shown[self._cells]
        return CellMove(self._cells[moved], change[moved]) if moved.any() else None


def _spread(number: int) -> Indices:
    """Numbers whose sums tell sets of them apart (SplitMix64 of 1, 2, ...): no secret.

    Two sets with one sum would be one row of a program, whose move is checked on every cell.
    """
    with np.errstate(over="ignore"):
        mixed = np.arange(1, number + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)
