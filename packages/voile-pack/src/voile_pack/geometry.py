"""Packing boxes with height, width and length, and weight, into the fewest equal bins.

Boxes stand parallel to the walls, do not overlap, and may be turned as far as is said.  What
carries a box from below is not asked: a plan for loading has to see to that.

Source: maximal empty spaces after Lai and Chan (1997), see ``geometry_loops``; bounds after
Martello, Pisinger and Vigo, "The Three-Dimensional Bin Packing Problem" (Operations Research
48(2), 2000), section 2, with the smallest extents over all turns in place of fixed ones.

Departure: the extreme points of Crainic, Perboli and Tadei (2008) keep a few corners in place of
all maximal spaces, and compare each box that is tried with all that stand.  On 32,949 real parcels
in bins of some 2,000 they took fifty times as long and a bin more, so they were given up.

What is claimed: ``_require_valid_boxes`` has compared every pair of boxes of every bin, by other
code than that which placed them; and no packing has fewer bins than the lower bound, which is
that of volumes alone, of weights alone, or of boxes so wide in two axes that they can only stand
in a row along the third.  The bound does not see most of the geometry: a gap is likely.

The algorithm: fill one bin after the other with the boxes in descending order, in several orders
and by several rules; then take a few bins out and fill them again in a disturbed order, and keep
what has fewer bins, or as many and less even ones, until the bound or a limit is reached.

Cost for n boxes and b bins with e empty spaces each: n b e comparisons to fill all bins once.

Compiled loops of box packing: one bin is filled, and its empty spaces are kept at hand.

Source: the difference process of Lai and Chan, "Developing a simulated annealing algorithm for
the cutting stock problem" (Computers and Industrial Engineering 32(1), 1997), as used by Goncalves
and Resende, "A biased random key genetic algorithm for 2D and 3D bin packing problems"
(International Journal of Production Economics 145(2), 2013): the empty room is covered by all
maximal empty cuboids, which overlap each other.  A box goes to the corner of one of them; each
that it cuts is replaced by the up to six cuboids that are left of it, but for those inside of
others or too small for every box to come.

Departure: the number of cuboids is bounded; beyond it those of the least volume are given up.
So rooms may be missed in bins with thousands of boxes, and nothing else depends on it.

Cost for a bin with e cuboids: e for each box that is tried and each way to turn it; for a box
that is placed, e for each cuboid that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import permutations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, register_jitable
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_pack.instance import (
    Deadline,
    Instance,
    Packing,
    PackingReport,
    PackingResult,
    Progress,
    Stop,
    ignore,
)
from voile_pack.vector import coarse_bound

__all__ = [
    "RULES",
    "BoxInstance",
    "BoxOutcome",
    "Turns",
    "fitting_turns",
]


RULES = 3
"""How a place is chosen: 0 the snuggest, 1 the lowest, 2 the one that keeps the load compact."""
_MOST_SPACES = 4_000
OPERATIONS = 8
"""Elementary operations of a look at a cuboid, about."""


@njit(cache=True)
def _price(start, end, size, box, rule):  # type: ignore[no-untyped-def]
    price = 0.0
    for k in range(3):
        if rule == 0:
            price += (end[k] - start[k] - size[k]) / box[k]
        elif rule == 1:
            price += start[k] / box[k] * 1000.0 ** (2 - k)
        else:
            price = max(price, (start[k] + size[k]) / box[k])
    return price


@njit(cache=True)
def _best_place(size, turns, starts, ends, count, box, rule):  # type: ignore[no-untyped-def]
    """The cheapest cuboid and turn for a box; -1 where it fits into none."""
    best, best_turn, least = -1, -1, np.inf
    turned = np.empty(3, np.int64)
    for turn in range(len(turns)):
        for k in range(3):
            turned[k] = size[turns[turn, k]]
        for e in range(count):
            if (
                turned[0] <= ends[e, 0] - starts[e, 0]
                and turned[1] <= ends[e, 1] - starts[e, 1]
                and turned[2] <= ends[e, 2] - starts[e, 2]
            ):
                price = _price(starts[e], ends[e], turned, box, rule)
                if price < least:
                    best, best_turn, least = e, turn, price
    return best, best_turn


@njit(cache=True)
def _inside(start, end, starts, ends, count):  # type: ignore[no-untyped-def]
    """Whether a cuboid lies inside one of others."""
    for e in range(count):
        if (
            starts[e, 0] <= start[0]
            and starts[e, 1] <= start[1]
            and starts[e, 2] <= start[2]
            and end[0] <= ends[e, 0]
            and end[1] <= ends[e, 1]
            and end[2] <= ends[e, 2]
        ):
            return True
    return False


@njit(cache=True)
def _pieces(start, end, corner, far, least, starts, ends, count):  # type: ignore[no-untyped-def]  # noqa: PLR0913
    """Append what a box leaves of a cuboid, where it is not too small; the new count."""
    for k in range(3):
        if corner[k] - start[k] >= least[k]:
            _put(start, starts[count])
            _put(end, ends[count])
            ends[count, k] = corner[k]
            count += 1
        if end[k] - far[k] >= least[k]:
            _put(start, starts[count])
            _put(end, ends[count])
            starts[count, k] = far[k]
            count += 1
    return count


@njit(cache=True)
def _cut(starts, ends, corner, far, least):  # type: ignore[no-untyped-def]
    """The maximal empty cuboids after a box was placed from ``corner`` to ``far``."""
    cut = np.empty(len(starts), np.bool_)
    cuts = 0
    for e in range(len(starts)):
        cut[e] = True
        for k in range(3):
            cut[e] &= starts[e, k] < far[k] and corner[k] < ends[e, k]
        cuts += cut[e]
    pieces = 0
    new_starts, new_ends = np.empty((6 * cuts, 3), np.int64), np.empty((6 * cuts, 3), np.int64)
    for e in range(len(starts)):
        if cut[e]:
            pieces = _pieces(starts[e], ends[e], corner, far, least, new_starts, new_ends, pieces)
    new_starts, new_ends = new_starts[:pieces], new_ends[:pieces]
    # The largest first: a piece can only lie inside of one that is at least as large.
    order = np.argsort(-_volumes(new_starts, new_ends))
    most = len(starts) - cuts + pieces
    all_starts, all_ends = np.empty((most, 3), np.int64), np.empty((most, 3), np.int64)
    kept = 0
    for e in range(len(starts)):
        if not cut[e]:
            _put(starts[e], all_starts[kept])
            _put(ends[e], all_ends[kept])
            kept += 1
    for piece in order:
        if not _inside(new_starts[piece], new_ends[piece], all_starts, all_ends, kept):
            _put(new_starts[piece], all_starts[kept])
            _put(new_ends[piece], all_ends[kept])
            kept += 1
    return all_starts[:kept], all_ends[:kept]


@register_jitable
def _put(given: NDArray[np.int64], into: NDArray[np.int64]) -> None:
    """Copy three numbers; an assignment of arrays is long to compile."""
    for k in range(3):
        into[k] = given[k]


@njit(cache=True)
def _volumes(starts, ends):  # type: ignore[no-untyped-def]
    volumes = np.empty(len(starts), np.int64)
    for e in range(len(starts)):
        volumes[e] = 1
        for k in range(3):
            volumes[e] *= ends[e, k] - starts[e, k]
    return volumes


@register_jitable
def _are_equal(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return bool(one[0] == other[0] and one[1] == other[1] and one[2] == other[2])


@njit(cache=True)
def _fill_bin(
    sizes: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: NDArray[np.int64],
    turns: NDArray[np.int64],
    box: NDArray[np.int64],
    capacity: int,
    rule: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Put boxes into one bin in the order given, each where it is cheapest, if it fits.

    ``sizes`` (n, 3), ``weights`` (n,), ``least`` (n + 1, 3): the least extents of the boxes from
    each on, ``turns`` (r, 3): the permutations of axes that are allowed.  Returns which boxes
    stand in the bin (b,), their corners (b, 3) next to the origin, their sizes as they were
    turned (b, 3), and how many elementary operations it took, about.
    """
    boxes = len(sizes)
    inside = np.empty(boxes, np.int64)
    corners = np.empty((boxes, 3), np.int64)
    placed = np.empty((boxes, 3), np.int64)
    starts, ends, far = (
        np.zeros((1, 3), np.int64),
        np.empty((1, 3), np.int64),
        np.empty(3, np.int64),
    )
    _put(box, ends[0])
    count, failed, operations = 0, -1, boxes
    space = box[0] * box[1] * box[2]
    for item in range(boxes):
        volume = sizes[item, 0] * sizes[item, 1] * sizes[item, 2]
        if volume > space or weights[item] > capacity:
            continue
        if failed >= 0 and _are_equal(sizes[item], sizes[failed]):
            continue
        operations += OPERATIONS * len(turns) * len(starts)
        index, turn = _best_place(sizes[item], turns, starts, ends, len(starts), box, rule)
        if index < 0:
            failed = item
            continue
        inside[count] = item
        for k in range(3):
            corners[count, k] = starts[index, k]
            placed[count, k] = sizes[item, turns[turn, k]]
            far[k] = corners[count, k] + placed[count, k]
        starts, ends = _cut(starts, ends, corners[count], far, least[item + 1])
        operations += OPERATIONS * len(starts)
        if len(starts) > _MOST_SPACES:
            largest = np.argsort(-_volumes(starts, ends))[: _MOST_SPACES // 2]
            starts, ends = starts[largest], ends[largest]
        count += 1
        space -= volume
        capacity -= weights[item]
    return inside[:count], corners[:count], placed[:count], operations


Integers = NDArray[np.int64]
Turns = Literal["any", "upright", "none"]
"""How boxes may be turned: in all six ways, around the vertical, or not at all."""

_PERMUTATIONS: dict[str, Sequence[tuple[int, ...]]] = {
    "any": list(permutations(range(3))),
    "upright": [(0, 1, 2), (0, 2, 1)],
    "none": [(0, 1, 2)],
}
_ROUNDS = 20_000
_WORK_OF_A_BIN = 100_000
"""Elementary operations around the filling of a bin, about."""
_PATIENCE = 2_000
"""Rounds without a better packing after which it is left as it is."""


@dataclass(frozen=True, eq=False)
class BoxInstance:
    """Boxes and weights, and equal bins; integers, lengths in one unit and weights in one.

    Raises ``InputError``, with positions and counts only, where a box does not fit into an empty
    bin in any allowed turn, a side or a capacity is not positive, or a weight is not within 0 and
    the capacity.
    """

    sizes: Integers
    """Shape (n, 3): height, width and length."""
    box: Integers
    """Shape (3,): height, width and length of a bin."""
    weights: Integers
    """Shape (n,); zeros where weight does not matter."""
    capacity: int
    turns: Turns = "any"

    def __post_init__(self) -> None:
        sizes = np.ascontiguousarray(self.sizes, np.int64).reshape(-1, 3)
        box = np.ascontiguousarray(self.box, np.int64)
        if self.turns not in get_args(Turns):
            raise InputError(f"turns must be one of {', '.join(get_args(Turns))}")
        if box.shape != (3,) or (box <= 0).any():
            raise InputError("a bin needs a height, a width and a length, all positive")
        _refuse((sizes <= 0).any(axis=1), "a side that is not positive", "mend or leave them out")
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "box", box)
        _refuse(~self.fitting().any(axis=1), "no way to fit into a bin", "give larger bins")
        Instance(sizes.prod(axis=1), int(box.prod()))
        weights = Instance(self.weights, self.capacity).weights
        if len(weights) != len(sizes):
            raise InputError("every box needs a weight")
        object.__setattr__(self, "weights", weights)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def permutations(self) -> Integers:
        """The allowed turns as permutations of axes, (r, 3)."""
        return np.array(_PERMUTATIONS[self.turns], np.int64)

    @property
    def volumes(self) -> Integers:
        """Volumes of the boxes, (n,)."""
        return np.asarray(self.sizes.prod(axis=1))

    def least_extents(self) -> Integers:
        """What each box needs at least along each axis, however it stands in a bin, (n, 3)."""
        turned = self.sizes[:, self.permutations]
        return np.asarray(
            np.where(self.fitting()[:, :, None], turned, self.box + 1).min(axis=1, initial=2**62)
        )

    def fitting(self) -> NDArray[np.bool_]:
        """Which allowed turns of each box fit into an empty bin, (n, r)."""
        return fitting_turns(self.sizes, self.box, self.turns)

    def solve(
        self,
        stop: Stop | None = None,
        progress: Progress = ignore,
    ) -> BoxOutcome:
        """Pack the boxes into as few bins as the time allows, and bound what is possible."""
        search = _Search(self, (stop or Stop()).start(), progress)
        if len(self):
            search.construct()
            search.improve()
        outcome = search.outcome()
        _require_valid_boxes(outcome, self)
        return outcome


def fitting_turns(sizes: Integers, box: Integers, turns: Turns) -> NDArray[np.bool_]:
    """Which allowed turns of boxes (n, 3) fit into an empty bin (3,); (n, r)."""
    permuted = np.array(_PERMUTATIONS[turns], np.int64)
    return np.asarray((sizes[:, permuted] <= box).all(axis=2))


def _refuse(wrong: Any, what: str, cure: str) -> None:
    indices = np.flatnonzero(wrong)
    if len(indices):
        have = "1 box has" if len(indices) == 1 else f"{len(indices):,} boxes have"
        raise InputError(f"{have} {what} (the first is item {indices[0] + 1:,}); {cure}")


@dataclass(frozen=True, eq=False)
class BoxOutcome(PackingResult):
    """A packing that says where each box stands and how it is turned."""

    corners: Integers = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Shape (n, 3): the corner next to the bin's origin."""
    placed: Integers = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Shape (n, 3): height, width and length as the box stands."""


def _require_valid_boxes(outcome: BoxOutcome, instance: BoxInstance) -> None:
    """Raise ``AssertionError``, a fault of Voile, unless the boxes really stand like that.

    Shares no code with the solver: weights by plain sums; sides, walls and all pairs of boxes of
    a bin by comparison.
    """
    outcome.packing.require_valid(Instance(instance.weights, instance.capacity))
    start, end = outcome.corners, outcome.corners + outcome.placed
    if len(start) != len(instance) or (start < 0).any() or (end > instance.box).any():
        raise AssertionError("a box stands in a wall")
    turned = instance.sizes[:, instance.permutations] == outcome.placed[:, None, :]
    if not turned.all(axis=2).any(axis=1).all():
        raise AssertionError("a box was turned in a way that is not allowed, or is of another size")
    for items in outcome.packing.items():
        for index, item in enumerate(items[:-1]):
            others = items[index + 1 :]
            if ((start[item] < end[others]) & (start[others] < end[item])).all(axis=1).any():
                raise AssertionError("two boxes overlap")


@dataclass(frozen=True, eq=False)
class _Bin:
    """What one bin holds."""

    items: Integers
    corners: Integers
    placed: Integers
    filled: float
    """Share of the volume."""


class _Search:
    """The best packing so far, and the stages that better it."""

    def __init__(self, instance: BoxInstance, deadline: Deadline, progress: Progress) -> None:
        self._instance = instance
        self._deadline = deadline
        self._progress = progress
        self._words = Randomness.seeded(0).key("repack boxes")  # repeatable: it hides nothing
        self._extents = instance.least_extents()
        self._bins: list[_Bin] = []
        self._found_by = "bounds"
        self.lower_bound, self._bound_by = _lower_bound(instance)

    def outcome(self) -> BoxOutcome:
        """What is known now."""
        boxes = len(self._instance)
        bin_of = np.full(boxes, -1, np.int64)
        corners, placed = np.zeros((boxes, 3), np.int64), np.zeros((boxes, 3), np.int64)
        for number, content in enumerate(self._bins):
            bin_of[content.items] = number
            corners[content.items], placed[content.items] = content.corners, content.placed
        return BoxOutcome(
            packing=Packing(bin_of),
            lower_bound=self.lower_bound,
            found_by=self._found_by,
            bound_by=self._bound_by,
            seconds=self._deadline.elapsed(),
            work=self._deadline.work,
            corners=corners,
            placed=placed,
        )

    def construct(self) -> None:
        """Fill bins in several orders and by several rules; the first is always completed."""
        for name, order in _orders(self._instance):
            for rule in range(RULES):
                if self._bins and (self._proved or self._deadline.passed()):
                    return
                most = len(self._bins) if self._bins else len(order) + 1
                bins = self._filled(order, rule, most - 1, wait=not self._bins)
                if bins is not None:
                    self._keep(bins, f"empty spaces, {name}")

    def improve(self) -> None:
        """Take a few bins out and fill them again, until nothing seems to come of it."""
        idle = 0
        for number in range(_ROUNDS):
            if self._proved or self._deadline.passed() or idle > _PATIENCE:
                return
            words = self._words.stream(len(self._instance) + 8, first=number * (1 << 20))
            taken = self._choose(words[:8])
            items = np.concatenate([self._bins[index].items for index in taken])
            bulk = self._instance.volumes[items] * (0.5 + (words[8:][: len(items)] % 1024) / 1024)
            order = items[np.argsort(-bulk, kind="stable")]
            again = self._filled(order, int(words[0] % RULES), len(taken), wait=False)
            idle += 1
            if again is None:
                continue
            kept = [content for index, content in enumerate(self._bins) if index not in taken]
            fewer = len(again) < len(taken)
            if fewer or _unevenness(again) >= _unevenness([self._bins[p] for p in taken]):
                idle = 0 if fewer else idle
                self._keep(kept + again, "repacking")

    @property
    def _proved(self) -> bool:
        return len(self._bins) <= self.lower_bound

    def _keep(self, bins: list[_Bin], stage: str) -> None:
        if len(bins) < len(self._bins) or not self._bins:
            self._found_by = stage
        self._bins = bins
        elapsed = self._deadline.elapsed()
        self._progress(PackingReport(stage, len(bins), self.lower_bound, elapsed))

    def _choose(self, words: NDArray[np.uint64]) -> list[int]:
        """The emptiest of four bins drawn at random, and one to three more."""
        drawn = [int(word % len(self._bins)) for word in words]
        emptiest = min(drawn[:4], key=lambda index: self._bins[index].filled)
        return sorted({emptiest, *drawn[4 : 5 + int(words[7] % 3)]})

    def _filled(self, order: Integers, rule: int, most: int, *, wait: bool) -> list[_Bin] | None:
        """Boxes in at most ``most`` bins; None where they do not fit, or a limit strikes first.

        With ``wait`` no limit strikes.
        """
        instance = self._instance
        bins: list[_Bin] = []
        while len(order):
            if len(bins) == most or (not wait and self._deadline.passed()):
                return None
            inside, corners, placed, operations = _fill_bin(
                instance.sizes[order],
                instance.weights[order],
                _least_to_come(self._extents[order]),
                instance.permutations,
                instance.box,
                instance.capacity,
                rule,
            )
            self._deadline.spend(operations + _WORK_OF_A_BIN)
            filled = float(placed.prod(axis=1).sum() / instance.box.prod())
            bins.append(_Bin(order[inside], corners, placed, filled))
            order = np.delete(order, inside)
        return bins


def _least_to_come(extents: Integers) -> Integers:
    """The least extents of the boxes from each on, and of none, (n + 1, 3)."""
    after_all = np.full((1, 3), 2**31)
    return np.vstack([np.minimum.accumulate(extents[::-1])[::-1], after_all])


def _unevenness(bins: list[_Bin]) -> float:
    return sum(content.filled**2 for content in bins)


def _orders(instance: BoxInstance) -> Iterator[tuple[str, Integers]]:
    """Descending orders of the boxes."""
    sides = np.sort(instance.sizes, axis=1)[:, ::-1]
    volumes = instance.volumes
    heaviest = np.maximum(volumes / instance.box.prod(), instance.weights / instance.capacity)
    keys: dict[str, tuple[NDArray[np.generic], ...]] = {
        "volume": (volumes,),
        "largest face": (sides[:, 0] * sides[:, 1], sides[:, 2]),
        "longest side": (sides[:, 0], volumes),
        "largest share": (heaviest,),
    }
    for name, key in keys.items():
        # equal boxes stand side by side, so that one that does not fit speaks for all of them
        yield name, np.lexsort((*sides.T, *key[::-1]))[::-1]


def _lower_bound(instance: BoxInstance) -> tuple[int, str]:
    """The best of the simple bounds, and its name."""
    bounds = {
        "volume": coarse_bound(instance.volumes, int(instance.box.prod())),
        "weight": coarse_bound(instance.weights, instance.capacity),
        "rows": _in_rows(instance),
    }
    best = max(bounds, key=bounds.__getitem__)
    return bounds[best], best


def _in_rows(instance: BoxInstance) -> int:
    """Boxes beyond half a bin in two axes, however they are turned, stand in rows."""
    if not len(instance):
        return 0
    least = instance.least_extents()
    wide = 2 * least > instance.box
    bounds = []
    for axis in range(3):
        others = [k for k in range(3) if k != axis]
        rows = least[wide[:, others].all(axis=1), axis]
        bounds.append(coarse_bound(rows, int(instance.box[axis])) if len(rows) else 0)
    return max(bounds)
