"""Is there a packing into exactly so many bins?  Answered over the few patterns it could use.

What it does: lists every pattern that a packing into k bins can use, and asks integer solvers
whether some k of them hold all items.

Source: the enumeration of columns with small reduced costs of Baldacci, Christofides and Mingozzi
(2008), "An exact algorithm for the vehicle routing problem based on the set partitioning
formulation", for patterns.  Where the bound leaves no waste at all, these are the bins that are
exactly full, as in the triplets of Falkenauer (1996).

Guarantee: no pattern that a packing into k bins uses is left out.  Prices under which no pattern is
worth more than V tell that k bins are worth at most k V; the items are worth P; so what all bins
together miss of V each, and hence what one bin misses, is at most k V - P.  Integers throughout;
binary fractions only prune, with a margin.  A packing that is found is checked.  That there is none
is believed of CP-SAT, which computes with integers, and of ``branching``, which checks in integers,
and not of HiGHS, which does neither.

Algorithm: depth first over types by descending price per weight; a branch ends where the rest of
the bin, at the best remaining ratio, misses too much.  HiGHS finds (on triplets in about a
sixth of the time of CP-SAT), CP-SAT and then ``branching`` prove, where OR-Tools is installed.

Cost: some steps for each pattern, times the types, up to the limits of an ``Effort``, then
exponential.  Prices whose bound is just below k make the patterns few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.ondemand import on_demand
from voile_pack.branching import UNKNOWN, PatternVerdict, choose_patterns, most_uses
from voile_pack.or_tools import constraint_solver, is_installed, solved
from voile_pack.patterns import Demand, Pattern, Prices
from voile_pack.stop import OPERATIONS, Deadline

__all__ = [
    "CLOSE",
    "LONG",
    "PART",
    "SHORT",
    "Effort",
    "choose_of_part",
    "decide",
    "tight_patterns",
]

optimize = on_demand("scipy.optimize")
sparse = on_demand("scipy.sparse")

SHARE_TO_FIND = 0.4
"""Of what is left of the limit, for HiGHS where a proof may follow."""
SHARE_TO_PROVE = 0.1
"""Of what is left then, for CP-SAT before branch and bound."""
CELLS = 20_000_000
"""Patterns times types that are kept at most."""
WORK_OF_A_BRANCH = 20
WORK_OF_A_NODE = 20
"""Elementary operations in the enumeration; and in HiGHS for each entry of its rows, about."""


@dataclass(frozen=True)
class Effort:
    """How much work is worth it."""

    waste: float
    """Bins' worth that all bins together may miss; beyond it heuristics are faster."""
    patterns: int
    branches: int
    """Of the enumeration."""
    nodes: int
    """Of HiGHS."""
    proves: bool
    """Whether CP-SAT is asked as well."""


SHORT = Effort(waste=0.1, patterns=10_000, branches=1_000_000, nodes=100, proves=False)
CLOSE = Effort(waste=0.1, patterns=5_000, branches=20_000_000, nodes=10_000, proves=True)
LONG = Effort(waste=np.inf, patterns=100_000, branches=20_000_000, nodes=10_000, proves=True)
PART = Effort(waste=np.inf, patterns=2_000, branches=1_000_000, nodes=50, proves=False)
HALVINGS = 12
"""Steps towards the part that is just small enough."""


def choose_of_part(
    demand: Demand, prices: Prices, bins: int, deadline: Deadline
) -> list[Pattern] | None:
    """Patterns that pack ``demand`` into ``bins`` bins, of those that miss least; None if none."""
    least, most = 0, prices.missing(demand, bins)
    missing, part = most, None
    for _ in range(HALVINGS):
        table, branches = _patterns_within(demand, prices, missing, PART)
        deadline.spend(branches * WORK_OF_A_BRANCH)
        if table is None:
            most = missing
        else:
            least, part = missing, table
            if least == most or 2 * len(part) > PART.patterns:
                break
        missing = (least + most) // 2
    if part is None or not len(part) or deadline.passed():
        return None
    return _find(demand, part, bins, PART.nodes, deadline)


def decide(
    demand: Demand, filters: Sequence[Prices], bins: int, effort: Effort, deadline: Deadline
) -> PatternVerdict:
    """Whether ``demand`` fits into ``bins`` bins.

    ``filters`` are prices of its types: the first ones enumerate, and what passes them must pass
    all others.
    """
    table, branches = tight_patterns(demand, filters[0], bins, effort)
    deadline.spend(branches * WORK_OF_A_BRANCH)
    if table is None or deadline.passed():
        return UNKNOWN
    for prices in filters[1:]:
        at_least = prices.pattern_at_most - prices.missing(demand, bins)
        table = table[table @ prices.prices >= at_least]
    if not len(table):
        return PatternVerdict(None, impossible=True)
    within = deadline.within(SHARE_TO_FIND) if effort.proves else deadline
    patterns = _find(demand, table, bins, effort.nodes, within)
    if patterns is not None:
        return PatternVerdict(patterns, impossible=False)
    if not effort.proves or not is_installed() or deadline.passed():
        return UNKNOWN
    verdict = _prove(demand, table, bins, deadline.within(SHARE_TO_PROVE))
    if verdict.patterns is not None or verdict.impossible:
        return verdict
    return choose_patterns(demand, table, bins, effort.nodes, deadline.within(0.5))


def _find(
    demand: Demand, table: NDArray[np.int64], bins: int, nodes: int, deadline: Deadline
) -> list[Pattern] | None:
    """Ask HiGHS for patterns that hold every item once."""
    rows = sparse.csr_array(np.vstack((table.T, np.ones((1, len(table)), np.int64))))
    wanted = np.append(demand.counts, bins)
    of_a_node = WORK_OF_A_NODE * rows.nnz
    affordable = min(deadline.remaining_work() * OPERATIONS / of_a_node, nodes)
    result = optimize.milp(
        np.zeros(len(table)),
        integrality=np.ones(len(table)),
        bounds=optimize.Bounds(0, most_uses(demand, table, bins)),
        constraints=optimize.LinearConstraint(rows, wanted, wanted),
        options={"node_limit": int(affordable), "time_limit": min(deadline.remaining(), 1e9)},
    )
    deadline.spend((1 + (result.mip_node_count or 0)) * of_a_node)
    if result.x is None:
        return None
    times = np.round(result.x).astype(np.int64)
    if np.any(rows @ times != wanted):
        return None
    return list(np.repeat(table, times, axis=0))


def _prove(
    demand: Demand, table: NDArray[np.int64], bins: int, deadline: Deadline
) -> PatternVerdict:
    """Ask CP-SAT for patterns that hold every item once, or for a proof that there are none."""
    cp_model = constraint_solver()
    model = cp_model.CpModel()
    uses = [model.new_int_var(0, int(most), "") for most in most_uses(demand, table, bins)]
    model.add(sum(uses) == bins)
    for kind, count in enumerate(demand.counts.tolist()):
        holding = np.flatnonzero(table[:, kind]).tolist()
        model.add(sum(int(table[p, kind]) * uses[p] for p in holding) == count)
    solver, status = solved(model, deadline, linearization=2)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        times = [solver.value(use) for use in uses]
        return PatternVerdict(list(np.repeat(table, times, axis=0)), impossible=False)
    return PatternVerdict(None, impossible=status == cp_model.INFEASIBLE)


def tight_patterns(
    demand: Demand, prices: Prices, bins: int, effort: Effort
) -> tuple[NDArray[np.int64] | None, int]:
    """All patterns (p, m) that a packing into ``bins`` bins can use; None beyond the effort.

    And how many branches were seen.
    """
    missing = prices.missing(demand, bins)
    if missing > effort.waste * prices.pattern_at_most:
        return None, 0
    return _patterns_within(demand, prices, missing, effort)


def _patterns_within(
    demand: Demand, prices: Prices, missing: int, effort: Effort
) -> tuple[NDArray[np.int64] | None, int]:
    """All patterns (p, m) that miss at most so much; None beyond the effort.  And the branches."""
    at_least = prices.pattern_at_most - missing
    order = np.argsort(-(prices.prices / demand.weights), kind="stable")
    types = demand.weights[order], demand.counts[order], prices.prices[order]
    table = np.zeros((min(effort.patterns, CELLS // len(order)), len(order)), np.int64)
    found, branches = _enumerate(*types, demand.capacity, at_least, effort.branches, table)
    if found < 0:
        return None, branches
    answer = np.zeros((found, len(order)), np.int64)
    answer[:, order] = table[:found]
    return answer, branches


@njit(cache=True)
def _enumerate(
    weights: NDArray[np.int64],
    counts: NDArray[np.int64],
    prices: NDArray[np.int64],
    capacity: int,
    at_least: int,
    branches: int,
    table: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the patterns worth ``at_least`` into ``table``; how many, or -1 beyond the limits.

    And how many branches were seen.
    """
    m = len(weights)
    ratio = prices / weights * (1 + 1e-12)
    taken, stack = np.zeros(m, np.int64), np.empty(m, np.int64)
    depth, value, room, i, found = 0, 0, capacity, 0, 0
    for branch in range(branches):
        while i < m and value + room * ratio[i] + 1 >= at_least:
            if weights[i] <= room:
                taken[i] = min(counts[i], room // weights[i])
                room -= taken[i] * weights[i]
                value += taken[i] * prices[i]
                stack[depth] = i
                depth += 1
            i += 1
        if i == m and value >= at_least:
            if found == len(table):
                return -1, branch + 1
            table[found] = taken
            found += 1
        if depth == 0:
            return found, branch + 1
        i = stack[depth - 1]
        taken[i] -= 1
        room += weights[i]
        value -= prices[i]
        depth -= taken[i] == 0
        i += 1
    return -1, branches
