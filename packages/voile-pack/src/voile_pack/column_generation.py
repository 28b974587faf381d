"""The linear programme over patterns: a bound that is nearly always the optimum.

What it does: minimises the number of bins where patterns may be used in fractions, and gives
the bound, the fractional solution and the prices of the items.

Source: Gilmore and Gomory (1961, 1963), "A linear programming approach to the cutting-stock
problem"; Farley (1990), "A note on bounding a class of linear programming problems"; Wentges
(1997) and Pessoa et al. (2018) for smoothed prices.

Guarantee: no packing has fewer bins than the bound, whatever rounding did to the programme. For
prices p of the items and an upper bound V on the price of any pattern, k bins are worth at most k
V and must be worth the sum of all prices; both are integers here, and the quotient is rounded up
(Farley).  The fractional solution is a float and is only used to find packings.

Algorithm: for few types a simplex method of our own (``simplex``); beyond ``TYPES_OF_SIMPLEX``
types, and to solve the programme to its end, the ``master`` of OR-Tools, which takes many columns
a round: after each knapsack the types that it used are left out of the next, as long as patterns
improve.

``corners`` are optimal prices of the programme for demands that are a little more or less.  Each
has a pattern value of its own, an exact knapsack, and is a proof by itself; where many prices are
optimal, what one of them lets through is barred by another.

Cost: tens to hundreds of rounds of ``PATTERNS`` knapsacks; .3 to 3 s for 500 types.

Departure from the source: the many columns, and the corners.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.randomness import Randomness
from voile_pack.heuristics import decreasing
from voile_pack.instance import MAXIMUM_TOTAL
from voile_pack.knapsack import SCALE, TOLERANCE, WORK_OF_A_BRANCH, best_pattern
from voile_pack.master import Master
from voile_pack.or_tools import is_installed
from voile_pack.patterns import Demand, Prices, Relaxation
from voile_pack.simplex import relax_by_simplex
from voile_pack.stop import Deadline

__all__ = ["MAXIMUM_TYPES", "corners", "finish", "mean_of", "relax"]

MAXIMUM_TYPES = 3_000
"""Beyond this many types the basis is too large."""
MAXIMUM_ITEMS = 2**21
"""Up to this many items their prices can be summed in 64 bits."""
TYPES_OF_SIMPLEX = 200
"""Up to this many types one column a step is faster."""
PATTERNS = 30
"""Columns of a round at most."""
SMOOTHINGS = (0.7, 0.35, 0.0)
BRANCHES = 20_000
BRANCHES_AT_LAST = 20_000_000
"""Of the knapsack: as long as it finds patterns that improve, and where there may be none."""
IMPROVES = 1 + 1e-7
NEAR = 1e-3
"""Bins by which the programme may stay above the rounded bound and count as solved."""
EXACT = SCALE >> 28
"""The tolerance of knapsacks whose values filter patterns."""
MEAN_GAP = 0.1
"""Bins' worth that a corner may leave open and count for the mean."""


def relax(demand: Demand, deadline: Deadline, enough: int = MAXIMUM_TOTAL) -> Relaxation | None:
    """Solve the programme for ``demand``, each of whose types has items; None where it is too big.

    Stops early where the bound reaches ``enough``, or cannot be improved by the rounded optimum.
    The bound holds wherever the work stops; it is at least the sum of weights over the capacity.
    """
    types = len(demand.weights)
    if not 0 < types <= MAXIMUM_TYPES or demand.items > MAXIMUM_ITEMS:
        return None
    if types <= TYPES_OF_SIMPLEX or not is_installed():
        return relax_by_simplex(demand, deadline, enough)
    core = demand.core()
    start = demand.patterns_of(decreasing(np.array(core.weights), core.capacity))
    programme = _Programme(demand, Master(demand.counts, start), demand.counts.astype(np.float64))
    solved = programme.solve(deadline, enough)
    if not solved and not deadline.passed():  # its numbers went astray
        return relax_by_simplex(demand, deadline, enough)
    return programme.solution(solved=solved)


def finish(demand: Demand, relaxation: Relaxation, deadline: Deadline) -> Relaxation:
    """Solve the programme to its end, past where the rounded bound cannot rise; needs OR-Tools."""
    start = [
        *relaxation.columns,
        *np.diag(np.minimum(demand.counts, demand.capacity // demand.weights)),
    ]
    programme = _Programme(demand, Master(demand.counts, start), demand.counts.astype(np.float64))
    return programme.solution(solved=programme.solve(deadline, None))


def corners(
    demand: Demand, relaxation: Relaxation, deadline: Deadline, many: int, spread: float, word: int
) -> list[Prices]:
    """Optimal prices for ``many`` demands that differ by up to ``spread`` (0 to 1) of each count.

    Prices that few others are a mean of; ``word`` chooses them.  Needs OR-Tools.
    """
    master = Master(demand.counts, relaxation.columns)
    drawn = Randomness.seeded(word).key("corners").stream(many * len(demand.counts))
    found = []
    for shares in (drawn / 2.0**63 - 1).reshape(many, -1):
        demanded = demand.counts * (1 + spread * shares)
        master.demand(demanded)
        programme = _Programme(demand, master, demanded)
        if not programme.solve(deadline, None):
            break
        found.append(_exact_prices(demand, programme.duals, deadline))
    return found


def mean_of(demand: Demand, found: list[Prices], bins: int, deadline: Deadline) -> Prices:
    """The mean of those prices that leave little open for so many ``bins``; the first if none."""
    tight = [p for p in found if p.missing(demand, bins) < MEAN_GAP * p.pattern_at_most] or found[
        :1
    ]
    return _exact_prices(demand, np.mean([p.prices for p in tight], axis=0) / SCALE, deadline)


def _exact_prices(demand: Demand, duals: NDArray[np.float64], deadline: Deadline) -> Prices:
    """Dual values (m,) as integers, with what no pattern exceeds."""
    prices = (np.clip(duals, 0.0, 1.0) * SCALE).astype(np.int64)
    pattern = np.zeros(len(prices), np.int64)
    kinds = demand.weights, demand.counts, prices
    _, upper, branches = best_pattern(*kinds, demand.capacity, EXACT, BRANCHES_AT_LAST, pattern)
    deadline.spend(branches * WORK_OF_A_BRANCH)
    return Prices(prices, int(upper))


@dataclass(eq=False)
class _Programme:
    """A master and the prices to smooth with."""

    demand: Demand
    master: Master
    demanded: NDArray[np.float64]
    duals: NDArray[np.float64] = field(init=False)
    best: Prices = field(init=False)

    def __post_init__(self) -> None:
        capacity = self.demand.capacity
        weights = [SCALE * weight // capacity for weight in self.demand.weights.tolist()]
        self.best = Prices(np.array(weights, np.int64), SCALE)
        self.duals = self.best.prices / SCALE

    def solve(self, deadline: Deadline, enough: int | None) -> bool:
        """Take rounds until none improves; with ``enough``, until the bound is that or rounded.

        Whether it came to its end before the limit.
        """
        while not deadline.passed():
            duals = self.master.duals(deadline)
            if duals is None:
                return False
            self.duals = np.minimum(duals, 1.0)
            if enough is not None:
                bound = self.best.bound(self.demand)
                if bound >= min(self.master.value - NEAR, enough):
                    return True
            if not self._add_patterns(deadline):
                return True
        return False

    def _add_patterns(self, deadline: Deadline) -> bool:
        """Add patterns that improve the programme, and improve the bound on the way."""
        kinds, table = len(self.duals), np.zeros((PATTERNS, len(self.duals)), np.int64)
        for smoothing in SMOOTHINGS:
            mixed = smoothing * self.best.prices / self.best.pattern_at_most
            prices = ((mixed + (1 - smoothing) * self.duals) * SCALE).astype(np.int64)
            limit = BRANCHES if smoothing else BRANCHES_AT_LAST
            given = self.demand.weights, self.demand.counts, prices, self.duals
            found, upper, branches = _improving(*given, self.demand.capacity, limit, table)
            deadline.spend(branches * WORK_OF_A_BRANCH + PATTERNS * kinds)
            self._record(Prices(prices, int(upper)))
            if self.master.add(table[:found].copy()):
                return True
        return False

    def _record(self, prices: Prices) -> None:
        if self._worth(prices) > self._worth(self.best):
            self.best = prices

    def _worth(self, prices: Prices) -> float:
        """The bound of the programme that these prices give, unrounded."""
        return float(prices.prices @ self.demanded) / prices.pattern_at_most

    def solution(self, *, solved: bool) -> Relaxation:
        """What it told."""
        amounts = self.master.amounts
        used = np.flatnonzero(amounts > 0)
        columns = np.array(self.master.columns)[used]
        bound = self.best.bound(self.demand)
        return Relaxation(self.best, bound, columns, amounts[used], solved)


@njit(cache=True)
def _improving(
    weights: NDArray[np.int64],
    counts: NDArray[np.int64],
    prices: NDArray[np.int64],
    duals: NDArray[np.float64],
    capacity: int,
    limit: int,
    table: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Write patterns that improve the programme into ``table``, no two with a type in common.

    How many there are, what no pattern exceeds, and how many branches were seen.
    """
    table[:] = 0
    kinds = np.arange(len(weights))
    upper, seen = 0, 0
    for row in range(len(table)):
        pattern = np.zeros(len(kinds), np.int64)
        _, at_most, branches = best_pattern(
            weights[kinds], counts[kinds], prices[kinds], capacity, TOLERANCE, limit, pattern
        )
        seen += branches
        if row == 0:
            upper, limit = at_most, BRANCHES
        value = 0.0
        for i in range(len(kinds)):
            value += duals[kinds[i]] * pattern[i]
        if value <= IMPROVES:
            return row, upper, seen
        table[row, kinds] = pattern
        kinds = kinds[pattern == 0]
        if len(kinds) == 0:
            return row + 1, upper, seen
    return len(table), upper, seen
