"""Column generation for vector packing: a bound, and packings made of its columns.

Source: Gilmore and Gomory (1961, 1963); the bound of unfinished rounds is that of Farley (1990).
A column is a content of one bin.  The linear program over all contents bounds the bins from
below; it is solved over the contents found so far, and a search finds contents that its dual
values say are missing.  Dual values are rounded down to multiples of 1e-7 and searched in whole
numbers, so every round gives a bound that no rounding of the linear program can spoil: with
whole duals p, every bin's content is worth at most U, and all items together P, so at least
P / U bins are needed.

Cost: one linear program and one search of a content for each round; rounds grow with the
t distinct items.  Needs OR-Tools.

The most profitable content of one bin: a compiled depth-first search over the types of items, most
profit per share of the bin first, each type as often as it fits and then once less.  A branch is
cut where its profit cannot exceed the best one: the relaxations are one knapsack for each
dimension and one for the mean of all, bounded by their best remaining densities.  Profits are
whole numbers, and bounds in floating point are rounded upwards, so that a completed search is
exact.  Up to ``nodes`` nodes of d operations each; what is not searched then is still bounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_pack.column_generation import Master
from voile_pack.instance import Deadline
from voile_pack.patterns import constraint_solver, solved

__all__ = ["ItemTypes"]

_UNIT = 10_000_000
_NODES = 200_000
_WORK_OF_A_NODE = 250
"""Elementary operations for each dimension, about."""
_KEPT = 8
_SAFE = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class ItemTypes:
    """Items of equal sizes taken together: ``sizes`` (t, d) and ``copies`` (t,)."""

    sizes: NDArray[np.int64]
    copies: NDArray[np.int64]
    type_of: NDArray[np.int64]
    """Shape (n,)."""
    capacities: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64], capacities: NDArray[np.int64]) -> ItemTypes:
        """The types of n items."""
        distinct, type_of, copies = np.unique(
            sizes, axis=0, return_inverse=True, return_counts=True
        )
        return cls(distinct, copies.astype(np.int64), type_of.reshape(-1), capacities)

    def contents(self, bin_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (bins, t): how often each type stands in each bin of a packing."""
        found = np.zeros((int(bin_of.max(initial=-1)) + 1, len(self.sizes)), np.int64)
        np.add.at(found, (bin_of, self.type_of), 1)
        return found

    def packing(self, contents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bin of each item, (n,); ``contents`` has room for at least all items."""
        bin_of = np.full(len(self.type_of), -1, np.int64)
        for j in range(len(self.sizes)):
            items = np.flatnonzero(self.type_of == j)
            bin_of[items] = np.repeat(np.arange(len(contents)), contents[:, j])[: len(items)]
        return np.unique(bin_of, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def generate_columns(
        self, start: NDArray[np.int64], enough: int, deadline: Deadline
    ) -> _BinContents:
        """Generate contents until the bound reaches ``enough``, none is missing, or time is up.

        ``start`` (p, t) are contents that hold all items, such as those of a packing.
        """
        master = Master(self.copies, start)
        lower_bound = 0
        while lower_bound < enough and not deadline.passed():
            duals = master.duals(deadline)
            if duals is None:
                break
            profits = np.floor(duals * _UNIT).astype(np.int64)
            found = _profitable_patterns(self.sizes, self.copies, self.capacities, profits, _NODES)
            deadline.spend(found.nodes * len(self.capacities) * _WORK_OF_A_NODE)
            total = sum(int(p) * int(c) for p, c in zip(profits, self.copies, strict=True))
            lower_bound = max(lower_bound, -(-total // max(found.bound, 1)))
            if found.profit <= _UNIT:
                break
            master.add(found.copies)
        return _BinContents(np.array(master.columns), lower_bound)

    def pack_with_columns(
        self, columns: _BinContents, bins: int, deadline: Deadline
    ) -> NDArray[np.int64] | None:
        """The fewest contents that hold all items: the bin of each; None if not below ``bins``."""
        cp_model = constraint_solver()
        model = cp_model.CpModel()
        contents = columns.contents
        often = [model.new_int_var(0, bins, "") for _ in contents]
        for j, copies in enumerate(self.copies):
            holding = np.flatnonzero(contents[:, j])
            model.add(sum(int(contents[p, j]) * often[p] for p in holding) >= int(copies))
        total = sum(often)
        model.add(total >= columns.lower_bound)
        model.add(total <= bins - 1)
        model.minimize(total)
        solver, status = solved(model, deadline)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        chosen = np.array([solver.value(variable) for variable in often])
        return self.packing(np.repeat(contents, chosen, axis=0))


@dataclass(frozen=True, eq=False)
class _BinContents:
    """Contents of bins, (p, t), and a lower bound on the number of bins."""

    contents: NDArray[np.int64]
    lower_bound: int


class _Patterns(NamedTuple):
    """Contents of one bin, and what is known about the most profitable one."""

    copies: NDArray[np.int64]
    """Shape (p, t): how often each type stands in each content; ever more profit."""
    profit: int
    """Of the last content."""
    bound: int
    """No content has more profit; equals ``profit`` where the search was completed."""
    nodes: int
    """How many were seen."""


def _profitable_patterns(
    sizes: NDArray[np.int64],
    copies: NDArray[np.int64],
    capacities: NDArray[np.int64],
    profits: NDArray[np.int64],
    nodes: int,
) -> _Patterns:
    """Search the contents of a bin; ``sizes`` (t, d), ``copies`` and ``profits`` (t,)."""
    shares = sizes / capacities
    shares = np.column_stack([shares, shares.mean(axis=1)])
    order = np.argsort(-profits / (shares[:, -1] + 1e-12), kind="stable")
    order = order[profits[order] > 0]
    with np.errstate(divide="ignore"):
        density = profits[order, None] / shares[order]
    densities = np.vstack([density, np.zeros(density.shape[1])])
    densities = np.maximum.accumulate(densities[::-1])[::-1].copy()
    later = np.append(np.cumsum((profits * copies)[order][::-1])[::-1], 0)
    kept, found, profit, bound, seen = _search(
        sizes[order], copies[order], capacities, profits[order], densities, later, nodes
    )
    patterns = np.zeros((min(found, _KEPT), len(sizes)), np.int64)
    latest = np.arange(max(found - _KEPT, 0), found) % _KEPT
    patterns[:, order] = kept[latest]
    return _Patterns(patterns, int(profit), int(bound), int(seen))


@njit(cache=True)
def _relaxed(space, capacities, densities, later):  # type: ignore[no-untyped-def]
    """Most profit that the space can still take, rounded upwards.

    ``later`` is what all remaining items are worth together.
    """
    dimensions = len(capacities)
    bound, mean = float(later), 0.0
    for k in range(dimensions):
        room = space[k] / capacities[k]
        mean += room / dimensions
        if densities[k] < np.inf:
            bound = min(bound, room * densities[k])
    if densities[dimensions] < np.inf:
        bound = min(bound, mean * densities[dimensions])
    return np.int64(np.ceil(bound * _SAFE))


@njit(cache=True)
def _copies_that_fit(size, copies, space):  # type: ignore[no-untyped-def]
    for k in range(len(size)):
        if size[k] > 0:
            copies = min(copies, space[k] // size[k])
    return copies


@njit(cache=True)
def _search(sizes, copies, capacities, profits, densities, later, nodes):  # type: ignore[no-untyped-def]
    types = len(sizes)
    bound = _relaxed(capacities, capacities, densities[0], later[0])
    space = capacities.copy()
    taken = np.zeros(types, np.int64)
    kept = np.zeros((_KEPT, types), np.int64)
    found, best, value, j = 0, 0, 0, 0
    for node in range(nodes):
        while j < types and value + _relaxed(space, capacities, densities[j], later[j]) > best:
            taken[j] = _copies_that_fit(sizes[j], copies[j], space)
            space -= taken[j] * sizes[j]
            value += taken[j] * profits[j]
            j += 1
        if j == types and value > best:
            best = value
            kept[found % _KEPT] = taken
            found += 1
        j -= 1
        while j >= 0 and taken[j] == 0:
            j -= 1
        if j < 0:
            return kept, found, best, best, node + 1
        taken[j] -= 1
        space += sizes[j]
        value -= profits[j]
        j += 1
        taken[j:] = 0
    return kept, found, best, bound, nodes
