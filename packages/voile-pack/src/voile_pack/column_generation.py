"""The linear programme over patterns: a bound that is nearly always the optimum.

Patterns are found one round after another: the programme over those known gives prices of the items
(by a solver for many types, by a simplex method of our own for few), and a knapsack finds patterns
that these prices miss.

The bound (relax, finish, corners)
----------------------------------
What it does: minimises the number of bins where patterns may be used in fractions, and gives
the bound, the fractional solution and the prices of the items.

Source: Gilmore and Gomory (1961, 1963), "A linear programming approach to the cutting-stock
problem"; Farley (1990), "A note on bounding a class of linear programming problems"; Wentges
(1997) and Pessoa et al. (2018) for smoothed prices.

Guarantee: no packing has fewer bins than the bound, whatever rounding did to the programme. For
prices p of the items and an upper bound V on the price of any pattern, k bins are worth at most k
V and must be worth the sum of all prices; both are integers here, and the quotient is rounded up
(Farley).  The fractional solution is a float and is only used to find packings.

Algorithm: for few types a simplex method of our own; beyond ``TYPES_OF_SIMPLEX``
types, and to solve the programme to its end, the ``Master`` of OR-Tools, which takes many columns
a round: after each knapsack the types that it used are left out of the next, as long as patterns
improve.

``corners`` are optimal prices of the programme for demands that are a little more or less.  Each
has a pattern value of its own, an exact knapsack, and is a proof by itself; where many prices are
optimal, what one of them lets through is barred by another.

Cost: tens to hundreds of rounds of ``PATTERNS`` knapsacks; .3 to 3 s for 500 types.

Departure from the source: the many columns, and the corners.

The programme over known columns, of one and several dimensions (Master)
------------------------------------------------------------------------
What it does: the fewest bins, possibly fractions of them, whose contents hold all that is
demanded; and the dual values that tell which contents are missing.

Source: Gilmore and Gomory (1961, 1963); the simplex method is GLOP of OR-Tools, which goes on from
its last basis where columns were added or demands changed.

Guarantee: none, its numbers are floats; those who prove bounds round the dual values and search the
best content for them in whole numbers.

Cost: some pivots for each column; memory O(columns times what they hold).

The best pattern for given prices: a bounded knapsack
-----------------------------------------------------
Source: the depth-first search of Gilmore and Gomory (1963), with the bound of Dantzig (1957).

Guarantee: no pattern is worth more than the upper bound that it gives.  The bound that prunes is
computed in binary fractions, with a relative error below 1e-14; ``tolerance``, at least 1e-9 of
what a bin is worth, swallows it.

Algorithm: types by descending price per weight: take as many as fit, then give back the last one
taken, and so on; a branch ends where what is left of the bin, filled at the best remaining ratio,
cannot beat the best value by more than ``tolerance``.

Cost: exponential at worst, hence ``limit`` branches; mostly tens to thousands for bins of a few
items, several times faster than the O(n C) table of values on the benchmark sets.

A simplex method for few types, one column a step
-------------------------------------------------
What it does: what ``relax`` promises, up to where the rounded bound cannot rise; the
fastest way for few types, and the only one without OR-Tools.

Source: Gilmore and Gomory (1961, 1963), "A linear programming approach to the cutting-stock
problem"; Wentges (1997) and Pessoa et al. (2018) for smoothed prices.

Guarantee: that of the bound above.

Algorithm: revised simplex with the explicit inverse of the basis, from patterns of one type each.
Each step prices the items, smooths the prices with the best so far, and asks the knapsack for the
best pattern; where it does not improve, the smoothing is reduced down to none.  Demands are
perturbed by up to ``PERTURBATION`` against cycling.  Patterns take no more of a type than there
is.

Cost: a step costs O(m^2) for m types and a knapsack; 1 m to 15 m steps were seen.

Departure from the source: none but the smoothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, register_jitable
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_pack.heuristics import decreasing
from voile_pack.instance import MAXIMUM_TOTAL, Deadline
from voile_pack.patterns import Demand, Prices, Relaxation, is_installed

__all__ = [
    "MAXIMUM_TYPES",
    "SCALE",
    "TOLERANCE",
    "WORK_OF_A_BRANCH",
    "Master",
    "corners",
    "finish",
    "mean_of",
    "relax",
]


SETTINGS = "use_preprocessing: false max_deterministic_time: "


class Master:
    """Columns that hold ``demanded`` (m,) items of m types; needs OR-Tools."""

    def __init__(self, demanded: NDArray[np.int64], columns: Iterable[NDArray[np.int64]]) -> None:
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - it is an extra

        self._optimal = pywraplp.Solver.OPTIMAL
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = self._solver.infinity()
        self._rows = [self._solver.Constraint(float(c), self._infinity) for c in demanded]
        self._goal = self._solver.Objective()
        self._goal.SetMinimization()
        self._variables: list[object] = []
        self._known: set[bytes] = set()
        self.columns: list[NDArray[np.int64]] = []
        self.solved = False
        self.add(columns)

    def add(self, columns: Iterable[NDArray[np.int64]]) -> bool:
        """Take columns (m,) in; whether one of them is new."""
        before = len(self.columns)
        for column in columns:
            if column.tobytes() in self._known:
                continue
            self._known.add(column.tobytes())
            self.solved = False
            variable = self._solver.NumVar(0.0, self._infinity, "")
            self._goal.SetCoefficient(variable, 1.0)
            for kind in np.flatnonzero(column).tolist():
                self._rows[kind].SetCoefficient(variable, float(column[kind]))
            self._variables.append(variable)
            self.columns.append(column)
        return len(self.columns) > before

    def demand(self, demanded: NDArray[np.float64]) -> None:
        """Ask for other numbers of items (m,), fractions too."""
        self.solved = False
        for row, number in zip(self._rows, demanded.tolist(), strict=True):
            row.SetBounds(number, self._infinity)

    def duals(self, deadline: Deadline) -> NDArray[np.float64] | None:
        """Solve it: the dual values (m,), at least 0; None where the limit was reached."""
        self._solver.SetTimeLimit(int(deadline.remaining_of_wall() * 1000) + 1)
        work = min(deadline.remaining_work(), 1e9)
        self._solver.SetSolverSpecificParametersAsString(f"{SETTINGS}{work}")
        status = self._solver.Solve()
        size = len(self._rows) * (len(self._rows) + len(self.columns))
        deadline.spend(size * (1 + self._solver.iterations()))
        self.solved = status == self._optimal
        if not self.solved:
            return None
        return np.maximum([row.dual_value() for row in self._rows], 0.0)

    @property
    def value(self) -> float:
        """The optimum of the last solution, in bins."""
        return float(self._goal.Value())

    @property
    def amounts(self) -> NDArray[np.float64]:
        """How often the last solution uses each column, (p,); 0 where there is none."""
        if not self.solved:
            return np.zeros(len(self.columns))
        return np.array([variable.solution_value() for variable in self._variables])  # type: ignore[attr-defined]


SCALE = 2**40
"""What a bin is worth, about; prices are integers of this unit."""
TOLERANCE = SCALE >> 20
WORK_OF_A_BRANCH = 20


@njit(cache=True)
def _best_pattern(
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


def _relax_by_simplex(
    demand: Demand, deadline: Deadline, enough: int = MAXIMUM_TOTAL
) -> Relaxation:
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
        _, upper, branches = _best_pattern(
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


MAXIMUM_TYPES = 3_000
"""Beyond this many types the basis is too large."""
MAXIMUM_ITEMS = 2**21
"""Up to this many items their prices can be summed in 64 bits."""
TYPES_OF_SIMPLEX = 200
"""Up to this many types one column a step is faster."""
PATTERNS = 30
"""Columns of a round at most."""
SMOOTHINGS = (0.7, 0.35, 0.0)
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
        return _relax_by_simplex(demand, deadline, enough)
    core = demand.core()
    start = demand.patterns_of(decreasing(np.array(core.weights), core.capacity))
    programme = _Programme(demand, Master(demand.counts, start), demand.counts.astype(np.float64))
    solved = programme.solve(deadline, enough)
    if not solved and not deadline.passed():  # its numbers went astray
        return _relax_by_simplex(demand, deadline, enough)
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
    _, upper, branches = _best_pattern(*kinds, demand.capacity, EXACT, BRANCHES_AT_LAST, pattern)
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
        _, at_most, branches = _best_pattern(
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
