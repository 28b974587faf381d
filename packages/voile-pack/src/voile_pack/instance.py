"""What is packed, how it was packed, and what is known about the best packing.

Weights and capacities are exact integers: callers bring decimals to one unit first, so that a
bin is never overfull by a rounding.  The types here know nothing of how a packing is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError

__all__ = [
    "Instance",
    "Packing",
    "PackingReport",
    "PackingResult",
    "Progress",
    "ignore",
    "require_valid",
]

MAXIMUM_TOTAL = 2**62
"""Sums of weights stay below this, so that no sum of a few of them overflows."""


@dataclass(frozen=True, eq=False)
class Instance:
    """Items with weights, and bins that hold at most ``capacity``; all integers of one unit.

    ``weights`` is (n,), 0 <= weight <= capacity; private where the parcels are.  Raises
    ``InputError``, with positions and counts only, where an item cannot be packed, a weight is
    negative, the capacity is not positive, or the sums are beyond 2**62.
    """

    weights: NDArray[np.int64]
    capacity: int

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights)
        if weights.ndim != 1 or weights.dtype.kind not in "iu":
            raise InputError("weights must be a list of whole numbers; scale decimals first")
        if self.capacity <= 0:
            raise InputError(f"the capacity of a bin must be positive, not {self.capacity:,}")
        _refuse(weights < 0, "below zero", "leave them out or mend them")
        _refuse(weights > self.capacity, "heavier than a bin", "give a larger capacity")
        largest = max(self.capacity, int(weights.max(initial=0)))
        if largest * (len(weights) + 1) >= MAXIMUM_TOTAL:
            raise InputError("weights and capacity are too large; use a coarser unit")
        exact = np.array(weights, np.int64)
        exact.setflags(write=False)
        object.__setattr__(self, "weights", exact)
        object.__setattr__(self, "capacity", int(self.capacity))

    def __len__(self) -> int:
        return len(self.weights)


def _refuse(wrong: NDArray[np.bool_], what: str, cure: str) -> None:
    indices = np.flatnonzero(wrong)
    if len(indices):
        items = "1 item is" if len(indices) == 1 else f"{len(indices):,} items are"
        raise InputError(f"{items} {what} (the first is item {indices[0] + 1:,}); {cure}")


@dataclass(frozen=True, eq=False)
class Packing:
    """Which bin holds each item: ``bin_of`` is (n,), numbers 0 to ``bins`` - 1, none empty."""

    bin_of: NDArray[np.int64]

    @property
    def bins(self) -> int:
        """How many bins are used."""
        return int(self.bin_of.max(initial=-1)) + 1

    def items(self) -> list[NDArray[np.int64]]:
        """For each bin the places of its items, ascending."""
        order = np.argsort(self.bin_of, kind="stable")
        ends = np.cumsum(np.bincount(self.bin_of, minlength=self.bins))[:-1]
        return np.split(order, ends) if self.bins else []

    def loads(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """What each bin carries, (bins,), for ``weights`` (n,) that need not be those packed."""
        loads = np.zeros(self.bins, np.int64)
        np.add.at(loads, self.bin_of, weights)
        return loads


def require_valid(packing: Packing, instance: Instance) -> None:
    """Raise ``AssertionError``, a fault of Voile, unless ``packing`` packs ``instance``.

    Shares no code with the solvers: plain sums of plain integers.
    """
    loads: dict[int, int] = {}
    weights = instance.weights.tolist()
    for number, weight in zip(packing.bin_of.tolist(), weights, strict=True):
        loads[number] = loads.get(number, 0) + weight
    if sorted(loads) != list(range(packing.bins)):
        raise AssertionError("a solver left a bin empty or an item unpacked")
    if max(loads.values(), default=0) > instance.capacity:
        raise AssertionError("a solver overfilled a bin")


class PackingReport(NamedTuple):
    """What is known at some moment of the work."""

    stage: str
    bins: int
    lower_bound: int
    seconds: float


Progress = Callable[[PackingReport], None]


def ignore(report: PackingReport) -> None:
    """The progress of those who want to hear none."""


@dataclass(frozen=True, eq=False)
class PackingResult:
    """The best packing found, and what is proved about all others.

    ``lower_bound``: no packing has fewer bins.  ``found_by`` and ``bound_by`` name the stages
    that found the packing and the bound; ``seconds`` is by the clock of the stop, and ``work`` in
    its units.
    """

    packing: Packing
    lower_bound: int
    found_by: str
    bound_by: str
    seconds: float = field(compare=False)
    work: float = field(default=0.0, compare=False, kw_only=True)

    @property
    def bins(self) -> int:
        """How many bins the packing uses."""
        return self.packing.bins

    @property
    def proved(self) -> bool:
        """Whether no packing has fewer bins."""
        return self.bins == self.lower_bound

    @property
    def gap(self) -> float:
        """Share of the bins that a better packing might save: (bins - bound) / bins, 0 to 1."""
        return (self.bins - self.lower_bound) / self.bins if self.bins else 0.0
