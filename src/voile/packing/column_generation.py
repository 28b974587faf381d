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

Algorithm: revised simplex with the explicit inverse of the basis, from patterns of one type each.
Each step prices the items, smooths the prices with the best so far, and asks the knapsack for the
best pattern; where it does not improve, the smoothing is reduced down to none.  Demands are
perturbed by up to ``PERTURBATION`` against cycling.  Patterns take no more of a type than there
is.

Cost: a step costs O(m^2) for m types and a knapsack; 1 m to 15 m steps were seen.

Departure from the source: none but the smoothing.

The best pattern for given prices is a bounded knapsack, solved by branch and bound: the
depth-first search of Gilmore and Gomory (1963), with the bound of Dantzig (1957).  Types by
descending price per weight: take as many as fit, then give back the last one taken, and so on; a
branch ends where what is left of the bin, filled at the best remaining ratio, cannot beat the best
value by more than ``tolerance``.  No pattern is worth more than the upper bound that it gives: the
bound that prunes is computed in binary fractions, with a relative error below 1e-14, and
``tolerance``, at least 1e-9 of what a bin is worth, swallows it.  Exponential at worst, hence
``limit`` branches; mostly tens to thousands for bins of a few items, several times faster than the
O(n C) table of values on the benchmark sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.compiled import njit, register_jitable
from voile.packing.instance import MAXIMUM_TOTAL
from voile.packing.patterns import Demand
from voile.packing.stop import Deadline

__all__ = ["MAXIMUM_TYPES", "Prices", "Relaxation", "best_pattern", "relax"]

MAXIMUM_TYPES = 3_000
"""Beyond this many types the basis is too large."""
MAXIMUM_ITEMS = 2**21
"""Up to this many items their prices can be summed in 64 bits."""
SMOOTHING = 0.95
PERTURBATION = 1e-3
"""The demands are perturbed by less than this in sum, and so is the optimum."""
SCALE = 2**40
"""What a bin is worth, about; prices are integers of this unit."""
TOLERANCE = SCALE >> 20
BRANCHES = 20_000
"""Of the knapsack, as long as it finds patterns that improve."""
BRANCHES_AT_LAST = 20_000_000
WORK = 50_000_000
"""Elementary operations between two looks at the clock."""
WORK_OF_A_BRANCH = 20
DRIFT = 1e-6
"""Items that the solution may have too few or too many by rounding."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of the types (m,), and what no pattern exceeds: together a proof of the bound."""

    prices: NDArray[np.int64]
    pattern_at_most: int

    def total(self, demand: Demand) -> int:
        """What all items of ``demand`` are worth."""
        return sum(map(int.__mul__, self.prices.tolist(), demand.counts.tolist()))

    def bound(self, demand: Demand) -> int:
        """How many bins the items of ``demand`` need at least."""
        return -(-self.total(demand) // self.pattern_at_most)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the linear programme told.

    ``columns`` is (m, m): a pattern in each row, used ``amounts`` (m,) times; ``solved`` is
    False where time ran out before the optimum of the programme.
    """

    prices: Prices
    bound: int
    columns: NDArray[np.int64]
    amounts: NDArray[np.float64]
    solved: bool


class _Master(NamedTuple):
    weights: NDArray[np.int64]
    counts: NDArray[np.int64]
    columns: NDArray[np.int64]
    """(m, m): the patterns of the basis, one in each row."""
    inverse: NDArray[np.float64]
    """(m, m): row r gives the share of pattern r in one item of each type."""
    amounts: NDArray[np.float64]
    best_prices: NDArray[np.int64]
    """(m,): those of the best bound so far."""
    best: NDArray[np.int64]
    """(2,): their sum over all items, and what no pattern exceeds."""
    centre: NDArray[np.float64]
    """(m + 1,): the prices to smooth with, and the bound of the programme that they give.

    They start with the weights, whose bound is not credited: next to those prices the knapsack
    is at its hardest and the programme slowest.
    """
    work: NDArray[np.int64]
    """(1,): elementary operations since the last look at the clock, about."""


def relax(demand: Demand, deadline: Deadline, enough: int = MAXIMUM_TOTAL) -> Relaxation | None:
    """Solve the programme for ``demand``, each of whose types has items; None where it is too big.

    Stops early where the bound reaches ``enough``, or cannot be improved by the rounded optimum.
    The bound holds wherever the work stops; it is at least the sum of weights over the capacity.
    """
    m = len(demand.weights)
    if not 0 < m <= MAXIMUM_TYPES or demand.items > MAXIMUM_ITEMS:
        return None
    master = _master(demand)
    solved = False
    while not solved and not deadline.passed():
        master.work[0] = 0
        solved = _improve(master, demand.capacity, enough)
        _mend(master, _perturbed(demand))
        deadline.spend(int(master.work[0]))
    prices = Prices(master.best_prices, int(master.best[1]))
    return Relaxation(prices, prices.bound(demand), master.columns, master.amounts, solved)


def _master(demand: Demand) -> _Master:
    """Patterns of one type each, and the bound that the weights alone give."""
    weights = demand.weights
    copies = np.minimum(demand.counts, demand.capacity // weights)
    prices = np.array([SCALE * weight // demand.capacity for weight in weights.tolist()], np.int64)
    best = np.array([(prices * demand.counts).sum(), SCALE], np.int64)
    centre = np.append(weights / demand.capacity, 0.0)
    basis = np.diag(copies), np.diag(1 / copies), _perturbed(demand) / copies
    return _Master(weights, demand.counts, *basis, prices, best, centre, np.zeros(1, np.int64))


def _perturbed(demand: Demand) -> NDArray[np.float64]:
    """The counts and a little more: any fixed numbers do, as long as sums of them do not tie."""
    m = len(demand.counts)
    share = np.arange(1, m + 1, dtype=np.float64) * 0.6180339887498949 % 1.0
    return demand.counts + PERTURBATION / m * share


def _mend(master: _Master, demanded: NDArray[np.float64]) -> None:
    """Compute the inverse anew where rounding has added up."""
    drift = np.abs(master.amounts @ master.columns - demanded).max()
    if drift > DRIFT:
        master.inverse[:] = np.linalg.inv(master.columns.T.astype(np.float64))
        master.amounts[:] = master.inverse @ demanded
        master.work[0] += len(demanded) ** 3


@njit(cache=True)
def _improve(master: _Master, capacity: int, enough: int) -> bool:
    """Take simplex steps until it is time for a look at the clock; whether all is done."""
    pattern = np.zeros(len(master.counts), np.int64)
    while master.work[0] < WORK:
        bound = -(-master.best[0] // master.best[1])
        if bound >= min(master.amounts.sum() - PERTURBATION, enough):
            return True
        if not _find_pattern(master, capacity, pattern) or not _pivot(master, pattern):
            return True
    return False


@register_jitable
def _find_pattern(master: _Master, capacity: int, pattern: NDArray[np.int64]) -> bool:
    """Find a pattern that improves the programme, and improve the bound on the way."""
    m = len(pattern)
    duals = np.zeros(m)
    for row in range(m):
        for i in range(m):
            duals[i] += master.inverse[row, i]
    prices = np.empty(m, np.int64)
    for smoothing, limit in ((SMOOTHING, BRANCHES), (0.0, BRANCHES), (0.0, BRANCHES_AT_LAST)):
        total = 0
        for i in range(m):
            price = smoothing * master.centre[i] + (1 - smoothing) * duals[i]
            prices[i] = int(min(max(price, 0.0), 1.0) * SCALE)
            total += prices[i] * master.counts[i]
        _, upper, branches = best_pattern(
            master.weights, master.counts, prices, capacity, TOLERANCE, limit, pattern
        )
        master.work[0] += branches * WORK_OF_A_BRANCH
        _record(master, prices, total, upper)
        value = 0.0
        for i in range(m):
            value += duals[i] * pattern[i]
        if value > 1 + 1e-7:
            return True
    return False


@register_jitable
def _record(master: _Master, prices: NDArray[np.int64], total: int, upper: int) -> None:
    """Keep the prices where they are the best to smooth with, or prove the best bound."""
    m = len(prices)
    if total / upper > master.centre[m]:
        for i in range(m):
            master.centre[i] = prices[i] / upper
        master.centre[m] = total / upper
    if total / upper > master.best[0] / master.best[1]:
        master.best[0], master.best[1] = total, upper
        master.best_prices[:] = prices


@register_jitable
def _pivot(master: _Master, pattern: NDArray[np.int64]) -> bool:
    """Bring a pattern into the basis; False where rounding leaves no row for it."""
    m, inverse, amounts = len(pattern), master.inverse, master.amounts
    held = np.flatnonzero(pattern)
    shares = np.zeros(m)
    leaving, least = -1, np.inf
    for row in range(m):
        for kind in held:
            shares[row] += inverse[row, kind] * pattern[kind]
        if shares[row] > 1e-9 and amounts[row] < least * shares[row]:
            leaving, least = row, amounts[row] / shares[row]
    if leaving < 0:
        return False
    master.columns[leaving] = pattern
    inverse[leaving] /= shares[leaving]
    for row in range(m):
        share = shares[row]
        if row != leaving and share != 0:
            for i in range(m):
                inverse[row, i] -= share * inverse[leaving, i]
            amounts[row] -= share * least
    amounts[leaving] = least
    master.work[0] += m * (m + WORK_OF_A_BRANCH)
    return True


@njit(cache=True)
def best_pattern(
    weights: NDArray[np.int64],
    counts: NDArray[np.int64],
    prices: NDArray[np.int64],
    capacity: int,
    tolerance: int,
    limit: int,
    pattern: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Put the best pattern into ``pattern`` (m,).

    The answer is its value, what no pattern exceeds, and how many branches were seen.
    ``weights``, ``counts`` and ``prices`` are (m,), positive, positive and nonnegative.
    """
    order = np.argsort(-(prices / weights))
    m = int((prices > 0).sum())
    order = order[:m]
    weight, price, count = weights[order], prices[order], counts[order]
    ratio = price / weight
    lightest = np.empty(m + 1, np.int64)
    lightest[m] = capacity + 1
    for i in range(m - 1, -1, -1):
        lightest[i] = min(lightest[i + 1], weight[i])

    taken, best_taken = np.zeros(m, np.int64), np.zeros(m, np.int64)
    depth, stack = 0, np.empty(m, np.int64)  # types that are taken, in their order
    best, value, room, i = 0, 0, capacity, 0
    branches = 0
    while branches < limit:
        branches += 1
        while i < m and room >= lightest[i] and value + room * ratio[i] > best + tolerance:
            if weight[i] <= room:
                taken[i] = min(count[i], room // weight[i])
                room -= taken[i] * weight[i]
                value += taken[i] * price[i]
                stack[depth] = i
                depth += 1
            i += 1
        if value > best:
            best = value
            best_taken[:] = taken
        if depth == 0:
            break
        i = stack[depth - 1]
        taken[i] -= 1
        room += weight[i]
        value -= price[i]
        depth -= taken[i] == 0
        i += 1

    pattern[:] = 0
    pattern[order] = best_taken
    upper = best + tolerance
    if branches == limit and m:
        upper = max(upper, int(capacity * ratio[0] * (1 + 1e-12)) + 1)
    return best, upper, branches
