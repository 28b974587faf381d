"""What is packed, how it was packed, and what is known about the best packing.

Weights and capacities are exact integers: callers bring decimals to one unit first, so that a
bin is never overfull by a rounding.  The types here know nothing of how a packing is found.

When to stop: after so many seconds, or after so much work.

Seconds are what a user waits for, but where they cut the work off depends on the machine and on
what else it does.  Work is counted by the solvers themselves and does not: the same input with the
same limit in work gives the same packing everywhere, with the same versions of the libraries.

Source: the work limit of Gurobi and the deterministic time of CP-SAT; like theirs, a unit of work
is about what one processor does in a second, and no promise of one.

What is counted: exchanges, branches and pivots in compiled loops, at about one elementary operation
each; iterations of GLOP and nodes of HiGHS by the size of what they work on; for CP-SAT its own
deterministic time.  Counts are looked at where the clock is, so that a limit is overstepped by as
much as is done between two looks.  The first bounds and heuristics always run and are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError
from voile_base.ondemand import dataclass

__all__ = [
    "OPERATIONS",
    "Deadline",
    "Instance",
    "Packing",
    "PackingReport",
    "PackingResult",
    "Progress",
    "Stop",
    "ignore",
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

    def require_valid(self, instance: Instance) -> None:
        """Raise ``AssertionError``, a fault of Voile, unless it packs ``instance``.

        Shares no code with the solvers: plain sums of plain integers.
        """
        loads: dict[int, int] = {}
        weights = instance.weights.tolist()
        for number, weight in zip(self.bin_of.tolist(), weights, strict=True):
            loads[number] = loads.get(number, 0) + weight
        if sorted(loads) != list(range(self.bins)):
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


OPERATIONS = 1e9
"""Elementary operations in a unit of work."""


@dataclass(frozen=True)
class Stop:
    """When to stop: after ``seconds`` of ``clock``, or after so much ``work``; first come first.

    ``clock`` is wall-clock; ``time.process_time`` counts the processor's time.  ``work`` is in
    units of about a second of one processor.  What ends before the seconds are over does not
    depend on them.  With 0 of either the fastest bounds and heuristics still run.  Raises
    ``InputError`` where a limit is below 0 or no number.
    """

    seconds: float = 60.0
    clock: Callable[[], float] = perf_counter
    work: float = math.inf

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise InputError(f"the time limit must be at least 0 seconds, not {self.seconds}")
        if not self.work >= 0:
            raise InputError(f"the limit in work must be at least 0, not {self.work}")

    @classmethod
    def by_work(cls, work: float) -> Stop:
        """Stop after so much work, however long it takes: the outcome is the same everywhere."""
        return cls(seconds=math.inf, work=work)

    def start(self) -> Deadline:
        """Start the clock, and the count from nothing."""
        return Deadline(self, self.clock(), perf_counter())


_SHORTEST, _LONGEST = 0.05, 1e8
"""Seconds from which the speed of a clock is seen, and what a solver is given at most."""
_SLOWEST = 4.0
"""How much longer than a second of the clock one of wall-clock time is taken to be at most."""


@dataclass
class _Count:
    operations: float = 0.0


@dataclass(frozen=True)
class Deadline:
    """A limit whose clock runs and whose work is counted."""

    stop: Stop
    started: float
    _started_of_wall: float
    _count: _Count = field(default_factory=_Count)

    def spend(self, operations: float) -> None:
        """Count so many elementary operations."""
        self._count.operations += operations

    @property
    def work(self) -> float:
        """What was counted so far, in units of work."""
        return self._count.operations / OPERATIONS

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.stop.clock() - self.started

    def remaining(self) -> float:
        """Seconds that are left, at least 0; infinite for a limit that is."""
        return max(self.stop.seconds - self.elapsed(), 0.0)

    def remaining_of_wall(self) -> float:
        """Seconds of wall-clock time that are left, if the clock goes on as fast as it did.

        At least ``remaining()``, and finite: for solvers that know no other clock, since beside
        other processes a second of the processor lasts longer.
        """
        elapsed = max(self.elapsed(), _SHORTEST)
        slower = max(1.0, (perf_counter() - self._started_of_wall) / elapsed)
        return min(slower, _SLOWEST) * min(self.remaining(), _LONGEST)

    def remaining_work(self) -> float:
        """Work that is left, at least 0; infinite for a limit that is."""
        return max(self.stop.work - self.work, 0.0)

    def passed(self) -> bool:
        """Whether no time or no work is left."""
        return self.remaining_work() <= 0.0 or self.remaining() <= 0.0

    def rest(self) -> Stop:
        """A stop for those who take over what is left."""
        return replace(self.stop, seconds=self.remaining(), work=self.remaining_work())

    def within(self, share: float) -> Deadline:
        """The same clock and count with a limit that leaves others some of what is left."""
        return replace(
            self,
            stop=replace(
                self.stop,
                seconds=self.elapsed() + share * self.remaining(),
                work=self.work + share * self.remaining_work(),
            ),
        )
