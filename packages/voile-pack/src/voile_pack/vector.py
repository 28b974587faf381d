"""Packing items with several sizes, such as weight and volume, into the fewest bins.

A bin holds a set of items if their sum stays within the capacity in every dimension.

Sources: the heuristics of Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for Vector Bin
Packing" (2011), see ``vector_heuristics``; column generation after Gilmore and Gomory, see
``vector_columns``; constraint programming.

What is claimed: the packing is checked by plain sums, and no packing has fewer bins than the
lower bound; both hold whenever the limit strikes.

The algorithm: bounds of each dimension and of items that exclude each other in any dimension;
first fit and best fit in several orders, and filling bin by bin; repacking of a few bins at a
time; then, where OR-Tools is installed and there are few enough distinct items, column
generation for the bound and for columns from which packings are put together; at last the
question whether one bin less is possible.  Each stage ends the work where it closes the gap.

Cost for n items, b bins, d dimensions: n log n + n b d for the bounds and first heuristics,
n**2 d for filling (left out beyond 20,000 items); the rest runs until the limit.

Whether items fit into so many bins is also asked of constraint programming (OR-Tools): one whole
number for each type of item and each bin says how many stand there.  Bins are alike, so their
loads in the first dimension descend.  Exponential at worst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_pack.bounds import lower_bound
from voile_pack.instance import (
    Instance,
    Packing,
    PackingReport,
    PackingResult,
    Progress,
    ignore,
    require_valid,
)
from voile_pack.or_tools import constraint_solver, is_installed, solved
from voile_pack.solve import Solver, solve
from voile_pack.stop import OPERATIONS, Deadline, Stop
from voile_pack.vector_columns import ItemTypes, generate_columns, pack_with_columns
from voile_pack.vector_heuristics import best_fit, fill_by_direction, first_fit, repack

__all__ = [
    "VectorInstance",
    "coarse_bound",
    "pack_quickly",
    "require_valid_vectors",
    "solve_vectors",
]

_FILLED = 20_000
"""Most items for the heuristic whose cost is quadratic."""
_TYPES = 600
"""Most distinct items for column generation."""
_ASSIGNED = 6_000
"""Most variables (distinct items times bins) for constraint programming."""
_DISTINCT = 2_000
"""Most distinct weights for the bounds of one dimension."""
_SLICE = 200
_ROUNDS = 40_000
_WORK_OF_AN_ITEM = 10
"""Elementary operations of a round of repacking for each item and dimension, about."""


@dataclass(frozen=True, eq=False)
class VectorInstance:
    """Items with d sizes, and bins with d capacities; integers, each dimension in its own unit.

    ``sizes`` (n, d), 0 <= size <= capacity in every dimension; ``capacities`` (d,), positive.
    Raises ``InputError`` as ``Instance`` does; ``names`` (d) says which dimension is wrong.
    """

    sizes: NDArray[np.int64]
    capacities: NDArray[np.int64]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes, capacities = np.array(self.sizes), np.array(self.capacities)
        if sizes.ndim != 2 or capacities.shape != sizes.shape[1:] or not sizes.shape[1]:
            raise InputError("sizes must be a table with one column for each capacity")
        for k in range(sizes.shape[1]):
            try:
                Instance(sizes[:, k], int(capacities[k]))
            except InputError as error:
                name = self.names[k] if self.names else f"dimension {k + 1}"
                raise InputError(f"{name}: {error}") from None
        for name, numbers in (("sizes", sizes), ("capacities", capacities)):
            exact = np.ascontiguousarray(numbers, np.int64)
            exact.setflags(write=False)
            object.__setattr__(self, name, exact)

    def __len__(self) -> int:
        return len(self.sizes)

    def dimension(self, k: int) -> Instance:
        """One dimension alone: a relaxation."""
        return Instance(self.sizes[:, k], int(self.capacities[k]))

    def dimensions(self) -> Iterator[Instance]:
        """Each dimension alone."""
        return (self.dimension(k) for k in range(len(self.capacities)))


def require_valid_vectors(packing: Packing, instance: VectorInstance) -> None:
    """Raise ``AssertionError``, a fault of Voile, unless every capacity holds in every bin."""
    for dimension in instance.dimensions():
        require_valid(packing, dimension)


def solve_vectors(
    instance: VectorInstance,
    stop: Stop | None = None,
    progress: Progress = ignore,
    solver: Solver = "auto",
) -> PackingResult:
    """Pack the items into as few bins as the time allows, and bound what is possible.

    One dimension alone goes to ``solve`` where the first heuristics leave a gap.  ``solver``
    "or-tools" asks constraint programming for one bin less again and again, after the first
    heuristics, and does nothing else; raises ``InputError`` where OR-Tools is not installed.
    Without it "auto" leaves out the stages that need it.
    """
    search = _Search(instance, (stop or Stop()).start(), progress)
    if solver == "or-tools":
        constraint_solver()
    if len(instance.capacities) == 1:
        return search.solve_one_dimension(solver)
    if len(instance) and search.open and solver == "auto":
        search.improve(_ROUNDS // 20)
        types = search.types_for_columns()
        if search.open and types is not None:
            search.generate(types)
        if search.open:
            search.improve(_ROUNDS)
    if search.open and is_installed():
        search.assign(limited=solver == "auto")
    return search.checked()


def pack_quickly(instance: VectorInstance) -> PackingResult:
    """Bounds and the first heuristics alone; does not depend on a clock."""
    deadline = Stop(np.inf).start()
    return _Search(instance, deadline, ignore).outcome


class _Search:
    """The best packing and bound so far, and the stages that better them."""

    def __init__(self, instance: VectorInstance, deadline: Deadline, progress: Progress) -> None:
        self.instance = instance
        self.deadline = deadline
        self._progress = progress
        self._words = Randomness.seeded(0).key("repack")  # repeatable: it hides nothing
        self._slices = 0
        self.outcome = self._first()

    @property
    def open(self) -> bool:
        """Whether there is a gap, and time and work left to close it."""
        return not self.outcome.proved and not self.deadline.passed()

    def _first(self) -> PackingResult:
        bound, bound_by = _lower_bound(self.instance)
        best, found_by = np.empty(0, np.int64), "bounds"
        for name, bin_of in _heuristics(self.instance):
            if not len(best) or bin_of.max() < best.max():
                best, found_by = bin_of, name
            if best.max() + 1 == bound:
                break
        return PackingResult(Packing(best), bound, found_by, bound_by, self.deadline.elapsed())

    def _better(self, stage: str, bin_of: NDArray[np.int64] | None, lower_bound: int = 0) -> None:
        """Keep what is better than before, and tell of it."""
        if bin_of is not None and bin_of.max() + 1 < self.outcome.bins:
            self.outcome = replace(self.outcome, packing=Packing(bin_of), found_by=stage)
        if lower_bound > self.outcome.lower_bound:
            self.outcome = replace(self.outcome, lower_bound=lower_bound, bound_by=stage)
        now = self.deadline.elapsed()
        self._progress(PackingReport(stage, self.outcome.bins, self.outcome.lower_bound, now))

    def solve_one_dimension(self, solver: Solver) -> PackingResult:
        """What ``solve`` finds, where there is a gap."""
        if self.open:
            rest, progress = self.deadline.rest(), self._progress
            found = solve(_reduced(self.instance.dimension(0)), rest, progress, solver)
            self.deadline.spend(found.work * OPERATIONS)
            self._better(found.found_by, found.packing.bin_of)
            if found.lower_bound > self.outcome.lower_bound:
                self.outcome = replace(
                    self.outcome, lower_bound=found.lower_bound, bound_by=found.bound_by
                )
        return self.checked()

    def checked(self) -> PackingResult:
        """What was found, checked, with what it took."""
        require_valid_vectors(self.outcome.packing, self.instance)
        return replace(self.outcome, seconds=self.deadline.elapsed(), work=self.deadline.work)

    def improve(self, rounds: int) -> None:
        """Repack a few bins at a time."""
        sizes, capacities = self.instance.sizes, self.instance.capacities
        bin_of = self.outcome.packing.bin_of
        for _ in range(0, rounds, _SLICE):
            if not self.open:
                break
            drawn = self._words.stream(64 * _SLICE, first=64 * _SLICE * self._slices)
            words = (drawn >> np.uint64(1)).astype(np.int64).reshape(_SLICE, 64)
            self._slices += 1
            bin_of = repack(sizes, capacities, bin_of, words, self.outcome.lower_bound)
            self.deadline.spend(_SLICE * _WORK_OF_AN_ITEM * sizes.size)
            self._better("repacking", bin_of)

    def types_for_columns(self) -> ItemTypes | None:
        """The distinct items, where column generation is possible."""
        if not is_installed():
            return None
        types = ItemTypes.of(self.instance.sizes, self.instance.capacities)
        return types if len(types.copies) <= _TYPES else None

    def generate(self, types: ItemTypes) -> None:
        """Generate columns for the bound, and put packings together from them."""
        start = types.contents(self.outcome.packing.bin_of)
        columns = generate_columns(types, start, self.outcome.bins, self.deadline)
        self._better("column generation", None, columns.lower_bound)
        if self.open:
            half = self.deadline.within(0.5)
            bin_of = pack_with_columns(types, columns, self.outcome.bins, half)
            self._better("columns", bin_of)

    def assign(self, *, limited: bool) -> None:
        """Ask whether one bin less is possible, until it is not."""
        types = ItemTypes.of(self.instance.sizes, self.instance.capacities)
        while self.open:
            fewer = self.outcome.bins - 1
            if limited and fewer * len(types.copies) > _ASSIGNED:
                return
            answer = _fit_into(types, fewer, self.deadline)
            if isinstance(answer, str):
                bound = fewer + 1 if answer == "impossible" else 0
                self._better("constraint programming", None, bound)
                return
            self._better("constraint programming", answer)


def _reduced(instance: Instance) -> Instance:
    """The same packings in the largest common unit of the weights."""
    unit = max(int(np.gcd.reduce(instance.weights)), 1)
    return Instance(instance.weights // unit, max(instance.capacity // unit, 1))


def _heuristics(instance: VectorInstance) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Packings by first fit and best fit in several orders, and by filling bin by bin."""
    if not len(instance):
        return
    sizes, capacities = instance.sizes, instance.capacities
    shares = sizes / capacities
    scarcity = shares.mean(axis=0)
    keys = {
        "sum": shares.sum(axis=1),
        "scarce sum": shares @ scarcity,
        "largest": shares.max(axis=1),
        "length": (shares**2) @ scarcity,
    }
    for name, key in keys.items():
        order = np.argsort(-key, kind="stable")
        yield f"first fit, {name}", first_fit(sizes, capacities, order)
        yield f"best fit, {name}", best_fit(sizes, capacities, order)
    if len(instance) <= _FILLED:
        yield "dot product", fill_by_direction(sizes, capacities, scarcity)
        yield "plain dot product", fill_by_direction(sizes, capacities, np.ones(len(scarcity)))


def _lower_bound(instance: VectorInstance) -> tuple[int, str]:
    """The best simple bound and its name."""
    single = max(coarse_bound(one.weights, one.capacity) for one in instance.dimensions())
    exclusive = _exclusive(instance)
    return (exclusive, "exclusion") if exclusive > single else (single, "one dimension")


def coarse_bound(weights: NDArray[np.int64], capacity: int) -> int:
    """``bounds.lower_bound``, of weights rounded down where there are too many distinct ones."""
    bound = max(-(-int(weights.sum()) // capacity), int((2 * weights > capacity).sum()))
    if len(np.unique(weights)) > _DISTINCT:
        unit = capacity // _DISTINCT + 1
        weights, capacity = weights // unit, capacity // unit
    return max(bound, lower_bound(weights, capacity))


def _exclusive(instance: VectorInstance) -> int:
    """The size of a set of items of which no two fit into one bin, in whichever dimension.

    A greedy clique: items above half a capacity first, largest share first.
    """
    sizes, capacities = instance.sizes, instance.capacities
    order = np.argsort(-(sizes / capacities).max(axis=1, initial=0), kind="stable")
    left = sizes[order]
    found = 0
    while len(left):
        found += 1
        left = left[1:][(left[1:] > capacities - left[0]).any(axis=1)]
    return found


def _fit_into(
    types: ItemTypes, bins: int, deadline: Deadline
) -> NDArray[np.int64] | Literal["impossible", "unknown"]:
    """The bin of each item, (n,), in at most ``bins`` bins; or that there is no such packing."""
    cp_model = constraint_solver()
    model = cp_model.CpModel()
    held = [[model.new_int_var(0, int(c), "") for c in types.copies] for _ in range(bins)]
    for j, copies in enumerate(types.copies):
        model.add(sum(content[j] for content in held) == int(copies))
    loads = []
    for k, capacity in enumerate(types.capacities):
        sizes = types.sizes[:, k].tolist()
        sums = [cp_model.LinearExpr.weighted_sum(content, sizes) for content in held]
        for load in sums:
            model.add(load <= int(capacity))
        loads.append(sums)
    for fuller, emptier in zip(loads[0], loads[0][1:], strict=False):
        model.add(fuller >= emptier)
    solver, status = solved(model, deadline)
    if status == cp_model.INFEASIBLE:
        return "impossible"
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return "unknown"
    return types.packing(np.array([[solver.value(x) for x in content] for content in held]))
