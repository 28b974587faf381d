"""The linear programme over patterns by a simplex method of our own, one column a step.

What it does: what ``column_generation`` does, up to where the rounded bound cannot rise; the
fastest way for few types, and the only one without OR-Tools.

Source: Gilmore and Gomory (1961, 1963), "A linear programming approach to the cutting-stock
problem"; Wentges (1997) and Pessoa et al. (2018) for smoothed prices.

Guarantee: that of ``column_generation``.

Algorithm: revised simplex with the explicit inverse of the basis, from patterns of one type each.
Each step prices the items, smooths the prices with the best so far, and asks the knapsack for the
best pattern; where it does not improve, the smoothing is reduced down to none.  Demands are
perturbed by up to ``PERTURBATION`` against cycling.  Patterns take no more of a type than there
is.

Cost: a step costs O(m^2) for m types and a knapsack; 1 m to 15 m steps were seen.

Departure from the source: none but the smoothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, register_jitable
from voile_pack.instance import MAXIMUM_TOTAL
from voile_pack.knapsack import SCALE, TOLERANCE, WORK_OF_A_BRANCH, best_pattern
from voile_pack.patterns import Demand, Prices, Relaxation
from voile_pack.stop import Deadline

__all__ = ["relax_by_simplex"]

SMOOTHING = 0.95
PERTURBATION = 1e-3
"""The demands are perturbed by less than this in sum, and so is the optimum."""
BRANCHES = 20_000
"""Of the knapsack, as long as it finds patterns that improve."""
BRANCHES_AT_LAST = 20_000_000
WORK = 50_000_000
"""Elementary operations between two looks at the clock."""
DRIFT = 1e-6
"""Items that the solution may have too few or too many by rounding."""


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


def relax_by_simplex(demand: Demand, deadline: Deadline, enough: int = MAXIMUM_TOTAL) -> Relaxation:
    """Solve the programme for ``demand``, each of whose types has items.

    Stops early where the bound reaches ``enough``, or cannot be improved by the rounded optimum.
    The bound holds wherever the work stops; it is at least the sum of weights over the capacity.
    """
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
