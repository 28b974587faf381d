"""When to stop: after so many seconds, or after so much work.

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
from dataclasses import dataclass, field, replace
from time import perf_counter

from voile_base.errors import InputError

__all__ = ["OPERATIONS", "Deadline", "Stop"]

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
        return Deadline(self, self.clock())


@dataclass
class _Count:
    operations: float = 0.0


@dataclass(frozen=True)
class Deadline:
    """A limit whose clock runs and whose work is counted."""

    stop: Stop
    started: float
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
