"""Packing into the fewest bins: from the cheapest method to the strongest, until it is proved.

What it does: finds a packing and a lower bound, and stops where they meet or the limit is reached.

Source: the stages name theirs; see the modules.

Guarantee: the packing is checked by code that shares nothing with the solvers; no packing has fewer
bins than the bound.  Both are valid wherever the work is cut off.

Algorithm, in this order:

1. ``reduction``, ``bounds``, ``heuristics``: what is certain at once, and first and best fit;
2. ``local_search`` for a packing that meets the bound;
3. ``column_generation``: the bound of the linear programme;
4. ``tight_patterns``, where they are few: such a packing;
5. ``local_search`` and ``diving`` for such a packing, once;
6. where OR-Tools is installed, the programme solved to its end; where that leaves little open,
   ``corners`` filter the ``tight_patterns``: such a packing, or a proof that there is none; and
   dives down to a part that an integer programme packs;
7. more of 5, and of 6 with larger numbers, longer from time to time.

Cost: 1 and 2 take milliseconds up to thousands of items; 3 mostly less than a second up to
500 distinct weights; 6 is exponential.

Departure from the seed, which gives the plain model to OR-Tools: that is ``solver = "or-tools"``,
which sets out from 1, and keeps its packing and bound where the model gives none better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError, nearest
from voile_pack import or_tools
from voile_pack.bounds import lower_bound
from voile_pack.column_generation import corners, finish, mean_of, relax
from voile_pack.diving import dive, dive_to_part
from voile_pack.heuristics import decreasing
from voile_pack.instance import (
    Instance,
    Packing,
    PackingReport,
    PackingResult,
    Progress,
    ignore,
    require_valid,
)
from voile_pack.local_search import search
from voile_pack.or_tools import is_installed
from voile_pack.patterns import Demand, Prices, Relaxation
from voile_pack.reduction import Reduced, reduce
from voile_pack.stop import Deadline, Stop
from voile_pack.tight_patterns import CLOSE, LONG, SHORT, Effort, decide

__all__ = ["SOLVERS", "Solver", "solve"]

Solver = Literal["auto", "or-tools"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)

EFFORTS = {1: SHORT, 2: CLOSE, 11: LONG}
"""The rounds of diving before which patterns are enumerated, and how many at most."""
CLOSING_ROUND = 2
"""The round before which the programme is solved to its end."""
MOST_TYPES_TO_CLOSE = 300
CORNERS = 10
SPREAD = 0.02
"""Prices that filter patterns, and how far their demands differ."""
PARTS = 2
"""Dives to a part in each round after that."""
ROUNDS_OF_A_LENGTH = 10
MOST_ROUNDS = 200
STEPS_AT_FIRST = 20_000
STEPS = 100_000
"""Of the local search, at first and in each round of diving."""


def solve(
    instance: Instance,
    stop: Stop | None = None,
    progress: Progress = ignore,
    solver: Solver = "auto",
) -> PackingResult:
    """The best packing that was found until the ``stop`` (60 seconds), and what is proved of it.

    ``progress`` hears of every better packing or bound and of every stage.  Raises ``InputError``
    where the solver is not known or not installed.
    """
    if solver not in SOLVERS:
        raise InputError(
            f"no such solver: {solver!r} (known: {', '.join(SOLVERS)}){nearest(solver, SOLVERS)}"
        )
    if solver == "or-tools":
        or_tools.constraint_solver()
    work = _Work(reduce(instance), (stop or Stop()).start(), progress)
    for stage in _stages(work) if solver == "auto" else _plain(work):
        if work.done:
            break
        work.report(stage)
    packing = work.packing()
    require_valid(packing, instance)
    return PackingResult(
        packing,
        work.total(work.bound) or int(len(instance) > 0),
        work.found_by,
        work.bound_by,
        work.deadline.elapsed(),
        work=work.deadline.work,
    )


@dataclass(eq=False)
class _Work:
    """The best packing of the core and the best bound so far."""

    reduced: Reduced
    deadline: Deadline
    progress: Progress
    bin_of: NDArray[np.int64] = field(init=False)
    bound: int = 0
    found_by: str = "first or best fit"
    bound_by: str = "weights"

    def __post_init__(self) -> None:
        self.core = self.reduced.core
        self.demand = Demand.of(self.core)
        self.bin_of = decreasing(np.array(self.core.weights), self.core.capacity)
        self.bound = lower_bound(self.core.weights, self.core.capacity)

    @property
    def bins(self) -> int:
        return int(self.bin_of.max(initial=-1)) + 1

    @property
    def done(self) -> bool:
        return self.bins == self.bound or self.deadline.passed()

    def total(self, core_bins: int) -> int:
        return self.reduced.fixed + core_bins

    def packing(self) -> Packing:
        return self.reduced.lift(self.bin_of)

    def found(self, bin_of: NDArray[np.int64] | None, stage: str) -> None:
        """Keep a packing if it is better."""
        if bin_of is not None and bin_of.max(initial=-1) + 1 < self.bins:
            self.bin_of, self.found_by = bin_of, stage
            self.report(stage)

    def proved(self, bound: int, stage: str) -> None:
        """Keep a bound if it is better."""
        if bound > self.bound:
            self.bound, self.bound_by = bound, stage
            self.report(stage)

    def report(self, stage: str) -> None:
        bins, bound = self.total(self.bins), self.total(self.bound)
        self.progress(PackingReport(stage, bins, bound, self.deadline.elapsed()))


def _stages(work: _Work) -> Iterator[str]:
    """Do one stage after another; each name is told before its work is done."""
    yield "local search"
    _search(work, STEPS_AT_FIRST)
    yield "column generation"
    relaxation = relax(work.demand, work.deadline, work.bins)
    if relaxation is not None:
        work.proved(relaxation.bound, "column generation")
    filters = [relaxation.prices] if relaxation is not None else []
    for number in range(1, MOST_ROUNDS + 1):
        if number == CLOSING_ROUND and relaxation is not None and _may_close(work):
            yield "finishing"
            relaxation, filters = _finish(work, relaxation)
        if number in EFFORTS and filters:
            yield "tight patterns"
            _decide(work, filters, EFFORTS[number])
        if len(filters) > 1 and relaxation is not None:
            yield "diving to a part"
            _parts(work, relaxation, number)
        yield "diving"
        _round(work, relaxation, number)


def _may_close(work: _Work) -> bool:
    """Whether it is worth solving the programme to its end."""
    return is_installed() and len(work.demand.weights) <= MOST_TYPES_TO_CLOSE


def _finish(work: _Work, relaxation: Relaxation) -> tuple[Relaxation, list[Prices]]:
    """The programme solved to its end, and where it leaves little open, prices that filter."""
    finished = finish(work.demand, relaxation, work.deadline)
    work.proved(finished.bound, "column generation")
    if not finished.solved or work.bound - finished.amounts.sum() > CLOSE.waste:
        return relaxation, [relaxation.prices]
    found = corners(work.demand, finished, work.deadline, CORNERS, SPREAD, word=CLOSING_ROUND)
    if work.deadline.passed() or not found:
        return finished, [finished.prices]
    return finished, [mean_of(work.demand, found, work.bound, work.deadline), *found]


def _search(work: _Work, steps: int, word: int = 1) -> None:
    """Search for a packing that meets the bound; failing that, for better ones while any come."""

    def finds(target: int) -> bool:
        bin_of = search(work.core, target, work.bin_of, steps, work.deadline, word)
        work.found(bin_of, "local search")
        return bin_of is not None

    finds(work.bound)
    while not work.done and work.bins - 1 > work.bound and finds(work.bins - 1):
        pass


def _round(work: _Work, relaxation: Relaxation | None, number: int) -> None:
    steps = STEPS * max(1, number // ROUNDS_OF_A_LENGTH)
    _search(work, steps, number + 1)
    for target in dict.fromkeys((work.bound, work.bins - 1)):
        if relaxation is None or work.done or target < work.bound:
            continue
        patterns = dive(work.demand, relaxation, target, work.deadline, steps, number)
        if patterns is not None:
            work.found(work.demand.bins_of(patterns), "diving")


def _parts(work: _Work, relaxation: Relaxation, number: int) -> None:
    """Dive for a packing that meets the bound, a few times."""
    for word in range(PARTS * number, PARTS * (number + 1)):
        if work.done:
            return
        patterns = dive_to_part(work.demand, relaxation, work.bound, work.deadline, word)
        if patterns is not None:
            work.found(work.demand.bins_of(patterns), "diving to a part")


def _decide(work: _Work, filters: list[Prices], effort: Effort) -> None:
    """Settle one number of bins after another, as long as it can be settled."""
    while not work.done:
        verdict = decide(work.demand, filters, work.bound, effort, work.deadline)
        if verdict.patterns is not None:
            work.found(work.demand.bins_of(verdict.patterns), "tight patterns")
        if not verdict.impossible:
            return
        work.proved(work.bound + 1, "tight patterns")


def _plain(work: _Work) -> Iterator[str]:
    yield "or-tools"
    answer = or_tools.pack(work.core, work.bins, work.deadline)
    work.proved(answer.lower_bound, "or-tools")
    work.found(answer.bin_of, "or-tools")
