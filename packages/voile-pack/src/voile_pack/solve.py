"""Packing into the fewest bins: from the cheapest method to the strongest, until it is proved.

What it does: finds a packing and a lower bound, and stops where they meet or the limit is reached.

Source: the stages name theirs; see the modules.

Guarantee: the packing is checked by code that shares nothing with the solvers; no packing has fewer
bins than the bound.  Both are valid wherever the work is cut off.

Algorithm, in this order:

1. ``reduction``, ``bounds``, ``heuristics``: what is certain at once, and first and best fit;
2. exchanges (``heuristics``) for a packing that meets the bound;
3. ``column_generation``: the bound of the linear programme;
4. ``tight_patterns``, where they are few: such a packing;
5. exchanges and ``diving`` for such a packing, once;
6. where OR-Tools is installed, the programme solved to its end; where that leaves little open,
   ``corners`` filter the ``tight_patterns``: such a packing, or a proof that there is none; and
   dives down to a part that an integer programme packs;
7. more of 5, and of 6 with larger numbers, longer from time to time.

Cost: 1 and 2 take milliseconds up to thousands of items; 3 mostly less than a second up to
500 distinct weights; 6 is exponential.

Departure from the seed, which gives the plain model to OR-Tools: that is ``solver = "or-tools"``,
which sets out from 1, and keeps its packing and bound where the model gives none better.

From a fractional solution over patterns to a packing, by rounding a part and searching the rest.

What it does: looks for a packing into a given number of bins.  Fixes the patterns that the linear
programme uses most, solves it again for what is left, and so on; at each depth the local
search tries to pack what is left into the bins that are left.

Source: the residual greedy rounding of Wäscher and Gau (1996), "Heuristics for the integer
one-dimensional cutting stock problem"; diving with columns generated anew as in Sadykov et al.
(2019), "Primal heuristics for branch and price".

``_dive_to_part`` does so down to a rest of ``1 - FIXED`` of the bins, and gives the rest to an
integer programme over a part of its patterns: those with the smallest reduced costs.  It pays where
all patterns are too many because there are many packings.

Claim: a returned packing is valid; None proves nothing.  Deterministic, but where time cuts it off.

Algorithm: patterns are fixed as often as the solution uses them, rounded down; then those with
the largest fraction, once each, for ``SHARE`` of the bins that are left.  A dive
ends where the bound of what is left says that the target is out of reach.

Cost: some log(items) linear programmes, each smaller than the one before, and for a part some
nodes of an integer programme of ``PATTERNS`` columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError, nearest
from voile_base.ondemand import dataclass
from voile_pack.column_generation import corners, finish, mean_of, relax
from voile_pack.heuristics import Reduced, decreasing, lower_bound, search
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
from voile_pack.patterns import (
    CLOSE,
    LONG,
    SHORT,
    Demand,
    Effort,
    Pattern,
    Prices,
    Relaxation,
    constraint_solver,
    is_installed,
)
from voile_pack.patterns import pack as packed_by_or_tools

__all__ = ["SOLVERS", "Solver", "solve"]


SHARE = 0.25
FIXED = 0.6
"""Of the bins, before a part of the patterns is tried for the rest."""
_CORNERS = 5
_SPREAD = 0.3
"""Prices whose mean says which patterns are tried, and how far their demands differ."""
SHARE_OF_PART = 0.2
"""Of what is left of the limit, for the integer programme."""


def _dive(
    demand: Demand,
    relaxation: Relaxation,
    bins: int,
    deadline: Deadline,
    steps: int,
    word: int = 1,
) -> list[Pattern] | None:
    """Patterns that pack ``demand`` into ``bins`` bins, or None where none were found.

    ``relaxation`` belongs to ``demand``; ``steps`` of the local search are taken at each depth;
    ``word`` (not 0) chooses the course.
    """
    fixed: list[Pattern] = []
    left, types = demand, np.arange(len(demand.weights))
    while True:
        groups = _choose(left, relaxation, bins - len(fixed), word)
        for group in [[_spread(p, types, demand) for p in patterns] for patterns in groups]:
            fixed += group
            left, types = demand.without(fixed).present()
            rest = search(
                left.core(), bins - len(fixed), _start(left), steps, deadline, word + len(fixed)
            )
            if rest is not None:
                return fixed + [_spread(p, types, demand) for p in left.patterns_of(rest)]
        following = None if deadline.passed() else relax(left, deadline)
        if following is None or following.bound + len(fixed) > bins:
            return None
        relaxation = following


def _dive_to_part(
    demand: Demand, relaxation: Relaxation, bins: int, deadline: Deadline, word: int
) -> list[Pattern] | None:
    """Patterns that pack ``demand`` into ``bins`` bins, or None; needs OR-Tools.

    ``relaxation`` belongs to ``demand``; ``word`` (not 0) chooses the course.
    """
    fixed: list[Pattern] = []
    left, types = demand, np.arange(len(demand.weights))
    most = round(FIXED * bins)
    while len(fixed) < most:
        certain, likely = _choose(left, relaxation, bins - len(fixed), word + len(fixed))
        step = _fixable(left, (certain + likely)[: most - len(fixed)], bins - len(fixed), deadline)
        if step is None:
            break
        group, relaxation = step
        fixed += [_spread(pattern, types, demand) for pattern in group]
        left, present = left.without(group).present()
        types = types[present]
    last = _pack_rest(left, relaxation, bins - len(fixed), deadline, word)
    return None if last is None else fixed + [_spread(p, types, demand) for p in last]


def _fixable(
    left: Demand, group: list[Pattern], bins: int, deadline: Deadline
) -> tuple[list[Pattern], Relaxation] | None:
    """The first of a group, as many as leave the rest its bins, and the programme of the rest."""
    while group and not deadline.passed():
        following = relax(left.without(group).present()[0], deadline)
        if following is not None and following.bound + len(group) <= bins:
            return group, following
        group = group[: len(group) // 2]
    return None


def _pack_rest(
    left: Demand, relaxation: Relaxation, bins: int, deadline: Deadline, word: int
) -> list[Pattern] | None:
    """Patterns of a part that pack ``left`` into ``bins`` bins, or None."""
    finished = finish(left, relaxation, deadline)
    if finished.bound > bins or deadline.passed():
        return None
    found = corners(left, finished, deadline, _CORNERS, _SPREAD, word)
    prices = mean_of(left, found, bins, deadline) if found else finished.prices
    return left.choose_of_part(prices, bins, deadline.within(SHARE_OF_PART))


def _start(demand: Demand) -> NDArray[np.int64]:
    core = demand.core()
    return decreasing(np.array(core.weights), core.capacity)


def _spread(pattern: Pattern, types: NDArray[np.int64], demand: Demand) -> Pattern:
    """A pattern over some types as one over all."""
    whole = np.zeros(len(demand.weights), np.int64)
    whole[types] = pattern
    return whole


def _choose(
    demand: Demand, relaxation: Relaxation, bins: int, word: int
) -> tuple[list[Pattern], list[Pattern]]:
    """Patterns that the solution uses wholly, and some of what is left of ``bins``.

    All of them fit together into ``demand``.
    """
    whole = np.floor(relaxation.amounts + 0.01).astype(np.int64)
    fraction = relaxation.amounts - whole
    order = np.argsort(-(fraction + _jitter(len(fraction), word)), kind="stable")
    left = demand.counts.copy()
    certain = np.repeat(np.arange(len(whole)), np.maximum(whole, 0))
    first = _fitting(relaxation, certain, left, bins)
    few = max(1, round(SHARE * (bins - len(first))))
    return first, _fitting(relaxation, order, left, min(few, bins - len(first)))


def _fitting(
    relaxation: Relaxation, columns: NDArray[np.int64], left: NDArray[np.int64], most: int
) -> list[Pattern]:
    """The first ``most`` patterns of these columns for which there are items ``left``."""
    chosen: list[Pattern] = []
    for column in columns.tolist():
        pattern = relaxation.columns[column]
        if len(chosen) < most and np.all(pattern <= left):
            left -= pattern
            chosen.append(pattern)
    return chosen


def _jitter(length: int, word: int) -> NDArray[np.float64]:
    """Nothing on the first course; on others numbers of up to 0.3 that make another choice."""
    if word == 1:
        return np.zeros(length)
    spread = np.arange(1, length + 1, dtype=np.float64) * 0.754877666 * word
    return 0.3 * (spread % 1.0)


Solver = Literal["auto", "or-tools"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)

EFFORTS = {1: SHORT, 2: CLOSE, 11: LONG}
"""The rounds of diving before which patterns are enumerated, and how many at most."""
CLOSING_ROUND = 2
"""The round before which the programme is solved to its end."""
MOST_TYPES_TO_CLOSE = 300
_CLOSING_CORNERS = 10
_CLOSING_SPREAD = 0.02
"""Prices that filter patterns, and how far their demands differ."""
PARTS = 2
"""Dives to a part in each round after that."""
ROUNDS_OF_A_LENGTH = 10
MOST_ROUNDS = 200
MOST_SEEDS = 1_000_000
_WORDS = 1_009
"""Between the courses of two seeds: more than one of them can take."""
STEPS_AT_FIRST = 20_000
STEPS = 100_000
"""Of the local search, at first and in each round of diving."""


def solve(
    instance: Instance,
    stop: Stop | None = None,
    progress: Progress = ignore,
    solver: Solver = "auto",
    seed: int = 1,
) -> PackingResult:
    """The best packing that was found until the ``stop`` (60 seconds), and what is proved of it.

    ``progress`` hears of every better packing or bound and of every stage; ``seed`` (1 to
    ``MOST_SEEDS``) chooses the course of the searches, and so whether luck helps, never what is
    true.  Raises ``InputError`` where the solver is not known or not installed, or for another
    seed.
    """
    if not 1 <= seed <= MOST_SEEDS:
        raise InputError(f"the seed must be 1 to {MOST_SEEDS:,}, not {seed}")
    if solver not in SOLVERS:
        raise InputError(
            f"no such solver: {solver!r} (known: {', '.join(SOLVERS)}){nearest(solver, SOLVERS)}"
        )
    if solver == "or-tools":
        constraint_solver()
    work = _Work(Reduced.of(instance), (stop or Stop()).start(), progress, seed)
    for stage in _stages(work) if solver == "auto" else _plain(work):
        if work.done:
            break
        work.report(stage)
    packing = work.packing()
    packing.require_valid(instance)
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
    seed: int
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

    def word(self, number: int) -> int:
        """What chooses the course of the search of that number; the number itself for seed 1."""
        return (self.seed - 1) * _WORDS + number

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
    spread, word = _CLOSING_SPREAD, work.word(CLOSING_ROUND)
    found = corners(work.demand, finished, work.deadline, _CLOSING_CORNERS, spread, word)
    if work.deadline.passed() or not found:
        return finished, [finished.prices]
    return finished, [mean_of(work.demand, found, work.bound, work.deadline), *found]


def _search(work: _Work, steps: int, word: int = 1) -> None:
    """Search for a packing that meets the bound; failing that, for better ones while any come."""

    def finds(target: int) -> bool:
        bin_of = search(work.core, target, work.bin_of, steps, work.deadline, work.word(word))
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
        word = work.word(number)
        patterns = _dive(work.demand, relaxation, target, work.deadline, steps, word)
        if patterns is not None:
            work.found(work.demand.bins_of(patterns), "diving")


def _parts(work: _Work, relaxation: Relaxation, number: int) -> None:
    """Dive for a packing that meets the bound, a few times."""
    for word in range(PARTS * number, PARTS * (number + 1)):
        if work.done:
            return
        patterns = _dive_to_part(
            work.demand, relaxation, work.bound, work.deadline, work.word(word)
        )
        if patterns is not None:
            work.found(work.demand.bins_of(patterns), "diving to a part")


def _decide(work: _Work, filters: list[Prices], effort: Effort) -> None:
    """Settle one number of bins after another, as long as it can be settled."""
    while not work.done:
        verdict = work.demand.decide(filters, work.bound, effort, work.deadline)
        if verdict.patterns is not None:
            work.found(work.demand.bins_of(verdict.patterns), "tight patterns")
        if not verdict.impossible:
            return
        work.proved(work.bound + 1, "tight patterns")


def _plain(work: _Work) -> Iterator[str]:
    yield "or-tools"
    answer = packed_by_or_tools(work.core, work.bins, work.deadline)
    work.proved(answer.lower_bound, "or-tools")
    work.found(answer.bin_of, "or-tools")
