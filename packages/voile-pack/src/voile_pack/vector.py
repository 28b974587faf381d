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

Compiled loops of vector packing: first fit, best fit, filling bin by bin, and repacking.

Source: Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for Vector Bin Packing" (Microsoft
Research, 2011): the item-centric orders of section 3, and the bin-centric dot-product rule, which
puts next into a bin the item whose sizes point most in the direction of the space that is left.
Repacking is ruin and recreate (Schrimpf et al. 2000) with the aim of Falkenauer (1996): among
packings with as many bins, uneven ones are better, because a bin that is nearly empty is the next
to go.

Cost for n items, b bins and d dimensions: first and best fit n b d at worst; filling n**2 d at
worst; one round of repacking r b d for the r items that were taken out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_pack.heuristics import lower_bound
from voile_pack.instance import (
    OPERATIONS,
    Deadline,
    Instance,
    Packing,
    PackingReport,
    PackingResult,
    Progress,
    Stop,
    ignore,
)
from voile_pack.patterns import constraint_solver, is_installed, solved
from voile_pack.solve import Solver, solve
from voile_pack.vector_columns import ItemTypes

__all__ = [
    "VectorInstance",
    "coarse_bound",
]


_CHOSEN_BINS = 4


@njit(cache=True)
def _fits(size, space):  # type: ignore[no-untyped-def]
    for k in range(len(size)):  # noqa: SIM110 - compiled code knows no generators
        if size[k] > space[k]:
            return False
    return True


@njit(cache=True)
def _first_fit(
    sizes: NDArray[np.int64], capacities: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put each item of ``order`` into the first bin with room; the bin of each item, (n,)."""
    items, dimensions = sizes.shape
    spaces = np.empty((items, dimensions), np.int64)
    bin_of = np.full(items, -1, np.int64)
    bins = 0
    for item in order:
        number = 0
        while number < bins and not _fits(sizes[item], spaces[number]):
            number += 1
        if number == bins:
            spaces[bins] = capacities
            bins += 1
        spaces[number] -= sizes[item]
        bin_of[item] = number
    return bin_of


@njit(cache=True)
def _fullest(size, spaces, bins, inverse):  # type: ignore[no-untyped-def]
    """The bin with room whose space is least, by the sum of shares of the capacities; or -1."""
    best, least = -1, np.inf
    for number in range(bins):
        if _fits(size, spaces[number]):
            left = 0.0
            for k in range(len(inverse)):
                left += spaces[number, k] * inverse[k]
            if left < least:
                best, least = number, left
    return best


@njit(cache=True)
def _put_in(sizes, capacities, order, spaces, bins, most, bin_of):  # type: ignore[no-untyped-def]
    """Put each item of ``order`` into the fullest bin with room, or into a new one.

    Changes ``spaces`` and ``bin_of``; returns how many bins there are, and ends as soon as they
    are more than ``most``.
    """
    inverse = 1.0 / capacities
    for item in order:
        number = _fullest(sizes[item], spaces, bins, inverse)
        if number < 0:
            number = bins
            bins += 1
            if bins > most:
                break
            spaces[number] = capacities
        spaces[number] -= sizes[item]
        bin_of[item] = number
    return bins


@njit(cache=True)
def _best_fit(
    sizes: NDArray[np.int64], capacities: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put each item of ``order`` into the fullest bin with room; the bin of each item, (n,)."""
    items, dimensions = sizes.shape
    spaces = np.empty((items, dimensions), np.int64)
    bin_of = np.full(items, -1, np.int64)
    _put_in(sizes, capacities, order, spaces, 0, items, bin_of)
    return bin_of


@njit(cache=True)
def _fill_by_direction(
    sizes: NDArray[np.int64], capacities: NDArray[np.int64], importance: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Fill one bin after the other with the item of the largest dot product with its space.

    ``importance`` (d,) weighs the dimensions.  Returns the bin of each item, (n,).
    """
    items, dimensions = sizes.shape
    shares = sizes / capacities
    left = np.arange(items)
    count = items
    bin_of = np.full(items, -1, np.int64)
    space = capacities.copy()
    pull = np.empty(dimensions)
    bins = 0
    while count:
        for k in range(dimensions):
            pull[k] = importance[k] * space[k] / capacities[k]
        best, most = -1, -1.0
        for index in range(count):
            item = left[index]
            product = 0.0
            for k in range(dimensions):
                product += pull[k] * shares[item, k]
            if product > most and _fits(sizes[item], space):
                best, most = index, product
        if best < 0:
            bins += 1
            space[:] = capacities
            continue
        item = left[best]
        bin_of[item] = bins
        space -= sizes[item]
        count -= 1
        left[best] = left[count]
    return bin_of


@njit(cache=True)
def _unevenness(spaces, bins, inverse):  # type: ignore[no-untyped-def]
    total = 0.0
    for number in range(bins):
        load = len(inverse) - (spaces[number] * inverse).sum()
        total += load * load
    return total


@njit(cache=True)
def _take_out(words, spaces, bins, inverse):  # type: ignore[no-untyped-def]
    """New numbers of the bins, -1 for those taken out, and how many are left.

    Taken out are the emptiest of a few bins drawn at random, and up to three more.
    """
    number_of = np.zeros(bins, np.int64)
    emptiest, most = 0, -1.0
    for draw in range(_CHOSEN_BINS):
        number = words[draw] % bins
        left = (spaces[number] * inverse).sum()
        if left > most:
            emptiest, most = number, left
    number_of[emptiest] = -1
    for draw in range(words[_CHOSEN_BINS] % _CHOSEN_BINS):
        number_of[words[_CHOSEN_BINS + 1 + draw] % bins] = -1
    kept = 0
    for number in range(bins):
        if number_of[number] == 0:
            number_of[number] = kept
            kept += 1
    return number_of, kept


@njit(cache=True)
def _disturbed(out, bulk, words):  # type: ignore[no-untyped-def]
    """Items in descending order of bulk, each disturbed by a random factor from 1/2 to 3/2."""
    keys = np.empty(len(out))
    for index in range(len(out)):
        word = words[index % len(words)] >> (index // len(words) % 32)
        keys[index] = -bulk[out[index]] * (0.5 + (word % 1024) / 1024.0)
    return out[np.argsort(keys)]


@njit(cache=True)
def _repack(
    sizes: NDArray[np.int64],
    capacities: NDArray[np.int64],
    bin_of: NDArray[np.int64],
    words: NDArray[np.int64],
    goal: int,
) -> NDArray[np.int64]:
    """Take a few bins out and put their items back, as often as there are rows of ``words``.

    ``words`` is (rounds, 64): random, at least 0; they choose bins and disturb the order of items.
    A round stands if it leaves fewer bins, or as many and no more even ones.  Stops early with
    ``goal`` bins.  Returns the bin of each item, (n,).
    """
    items, dimensions = sizes.shape
    inverse = 1.0 / capacities
    bulk = (sizes * inverse).sum(axis=1)
    bins = bin_of.max() + 1
    spaces = np.empty((bins + 1, dimensions), np.int64)
    spaces[:] = capacities
    for item in range(items):
        spaces[bin_of[item]] -= sizes[item]
    uneven = _unevenness(spaces, bins, inverse)
    for row in range(len(words)):
        if bins <= goal:
            break
        number_of, kept = _take_out(words[row], spaces, bins, inverse)
        trial = number_of[bin_of]
        trial_spaces = np.empty_like(spaces)
        for number in range(bins):
            if number_of[number] >= 0:
                trial_spaces[number_of[number]] = spaces[number]
        out = _disturbed(np.flatnonzero(trial < 0), bulk, words[row, 8:])
        trial_bins = _put_in(sizes, capacities, out, trial_spaces, kept, bins, trial)
        if trial_bins > bins:
            continue
        trial_uneven = _unevenness(trial_spaces, trial_bins, inverse)
        if trial_bins < bins or trial_uneven >= uneven - 1e-9:
            bin_of, spaces, bins, uneven = trial, trial_spaces, trial_bins, trial_uneven
    return bin_of


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

    def solve(
        self,
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
        search = _Search(self, (stop or Stop()).start(), progress)
        if solver == "or-tools":
            constraint_solver()
        if len(self.capacities) == 1:
            return search.solve_one_dimension(solver)
        if len(self) and search.open and solver == "auto":
            search.improve(_ROUNDS // 20)
            types = search.types_for_columns()
            if search.open and types is not None:
                search.generate(types)
            if search.open:
                search.improve(_ROUNDS)
        if search.open and is_installed():
            search.assign(limited=solver == "auto")
        return search.checked()

    def pack_quickly(self) -> PackingResult:
        """Bounds and the first heuristics alone; does not depend on a clock."""
        deadline = Stop(np.inf).start()
        return _Search(self, deadline, ignore).outcome


def _require_valid_vectors(packing: Packing, instance: VectorInstance) -> None:
    """Raise ``AssertionError``, a fault of Voile, unless every capacity holds in every bin."""
    for dimension in instance.dimensions():
        packing.require_valid(dimension)


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
        _require_valid_vectors(self.outcome.packing, self.instance)
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
            bin_of = _repack(sizes, capacities, bin_of, words, self.outcome.lower_bound)
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
        columns = types.generate_columns(start, self.outcome.bins, self.deadline)
        self._better("column generation", None, columns.lower_bound)
        if self.open:
            half = self.deadline.within(0.5)
            bin_of = types.pack_with_columns(columns, self.outcome.bins, half)
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
        yield f"first fit, {name}", _first_fit(sizes, capacities, order)
        yield f"best fit, {name}", _best_fit(sizes, capacities, order)
    if len(instance) <= _FILLED:
        yield "dot product", _fill_by_direction(sizes, capacities, scarcity)
        yield "plain dot product", _fill_by_direction(sizes, capacities, np.ones(len(scarcity)))


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
