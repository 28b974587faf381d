"""Items by their weight, patterns (how many of each weight one bin holds), and integer solvers.

Whether k bins suffice is asked of the patterns that a packing into k bins could use: these are
listed, integer solvers look for k of them that hold all items, and that there are none is proved.

Branching over patterns, every leaf proved
------------------------------------------
What it does: finds such patterns, or proves that there are none.

Source: Ryan and Foster (1981), "An integer programming approach to scheduling", for branching on
two items in one bin or not; Farkas (1902) for the proofs of the leaves.

Guarantee: patterns that are found hold every item once.  That there are none is proved in whole
numbers: a branch is left where integer multipliers y of its rows, of the right signs, make the
right sides worth more than all patterns together can give: y b > sum over patterns p of u_p
max(0, y a_p), where p can be used u_p times.  The linear programme proposes the multipliers;
rounding them can make a proof fail and never makes a false one.  Two branches leave no number of
bins out: at most f patterns of a set, or at least f + 1.

Algorithm: the programme asks for the least shortfall of its rows, so that a branch without
solution has multipliers to show.  It branches on the two types whose common bins are a number
farthest from whole, or on a single pattern; depth first, together before apart.

Cost: a few milliseconds a node for hundreds of patterns; exponential at worst.

Packings into exactly k bins (Demand.decide)
--------------------------------------------
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
is believed of CP-SAT, which computes with integers, and of branching, which checks in integers,
and not of HiGHS, which does neither.

Algorithm: depth first over types by descending price per weight; a branch ends where the rest of
the bin, at the best remaining ratio, misses too much.  HiGHS finds (on triplets in about a
sixth of the time of CP-SAT), CP-SAT and then branching prove, where OR-Tools is installed.

Cost: some steps for each pattern, times the types, up to the limits of an ``Effort``, then
exponential.  Prices whose bound is just below k make the patterns few.

Google OR-Tools and its plain model (pack)
------------------------------------------
What it does: ``pack`` states the assignment model of the OR-Tools guide (an item is in one bin,
a used bin is not overfull, as few bins as possible) and gives it to the CP-SAT solver; this is
the optimizer of the seed, kept for comparison.  Others take the solver from ``constraint_solver``.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), optimizer
module; OR-Tools guide, "The bin packing problem".

Guarantee: the packing is valid, and the bound is the solver's, or the given one where that is
better.  One worker and a fixed seed: the course is the same every time, where time cuts it off is
not.  Nothing is logged.

Cost: n b binary variables for b bins of a first packing; exponential time.

Departure from the guide: used bins come first, which breaks some of the symmetry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_pack.instance import OPERATIONS, Deadline, Instance

__all__ = [
    "CLOSE",
    "LONG",
    "PART",
    "SHORT",
    "UNKNOWN",
    "Demand",
    "Effort",
    "Pattern",
    "PatternVerdict",
    "Prices",
    "Relaxation",
    "constraint_solver",
    "is_installed",
    "pack",
    "solved",
]


class _PlainModelAnswer(NamedTuple):
    """What the plain model gave: the bin (n,) of each item, or None, and a bound."""

    bin_of: NDArray[np.int64] | None
    lower_bound: int


def constraint_solver() -> Any:
    """The module ``ortools.sat.python.cp_model``; ``InputError`` where it is not installed."""
    try:
        from ortools.sat.python import cp_model  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "OR-Tools is not installed; install it with: pip install 'voile-pack[proofs]' "
            '(or choose the solver "auto", which does without)'
        ) from None
    return cp_model


def is_installed() -> bool:
    """Whether the constraint solver is there."""
    try:
        constraint_solver()
    except InputError:
        return False
    return True


def solved(model: object, deadline: Deadline, linearization: int = 1) -> tuple[Any, Any]:
    """CP-SAT after it worked on the model until the deadline, and its status.

    It has one worker and says nothing.  ``linearization`` is its level, 0 to 2.
    """
    solver = constraint_solver().CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.log_search_progress = False
    solver.parameters.max_time_in_seconds = deadline.remaining_of_wall()
    solver.parameters.max_deterministic_time = min(deadline.remaining_work(), 1e9)
    solver.parameters.linearization_level = linearization
    status = solver.solve(model)
    deadline.spend(solver.deterministic_time * OPERATIONS)
    return solver, status


def pack(core: Instance, bins: int, deadline: Deadline) -> _PlainModelAnswer:
    """Pack ``core`` into at most ``bins`` bins by the plain model."""
    cp_model = constraint_solver()
    model = cp_model.CpModel()
    used = [model.new_bool_var("") for _ in range(bins)]
    inside = [[model.new_bool_var("") for _ in range(bins)] for _ in range(len(core))]
    weights = core.weights.tolist()
    for row in inside:
        model.add_exactly_one(row)
    for number in range(bins):
        load = cp_model.LinearExpr.weighted_sum([row[number] for row in inside], weights)
        model.add(load <= core.capacity * used[number])
    for earlier, later in pairwise(used):
        model.add_implication(later, earlier)
    model.minimize(sum(used))
    solver, status = solved(model, deadline)
    bound = max(0, int(np.ceil(solver.best_objective_bound - 1e-6)))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return _PlainModelAnswer(None, bound)
    chosen = [next(b for b in range(bins) if solver.boolean_value(row[b])) for row in inside]
    _, bin_of = np.unique(np.array(chosen, np.int64), return_inverse=True)
    return _PlainModelAnswer(bin_of.astype(np.int64), bound)


Pattern = NDArray[np.int64]
"""(m,): how many items of each type a bin holds."""


@dataclass(frozen=True, eq=False)
class Demand:
    """How many items there are of each of m types: ``weights`` (m,) descending, ``counts`` (m,)."""

    weights: NDArray[np.int64]
    counts: NDArray[np.int64]
    capacity: int

    @classmethod
    def of(cls, core: Instance) -> Demand:
        """The items of an instance, whose weights are positive."""
        weights, counts = np.unique(core.weights, return_counts=True)
        return cls(weights[::-1].copy(), counts[::-1].astype(np.int64), core.capacity)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.counts.sum())

    def without(self, patterns: Sequence[Pattern]) -> Demand:
        """What is left when bins are packed by these patterns; types without items stay."""
        return Demand(self.weights, self.counts - sum(patterns, np.int64(0)), self.capacity)

    def present(self) -> tuple[Demand, NDArray[np.int64]]:
        """Only the types that have items, and which those are."""
        types = np.flatnonzero(self.counts)
        return Demand(self.weights[types], self.counts[types], self.capacity), types

    def core(self) -> Instance:
        """The items as an instance, weights descending."""
        return Instance(np.repeat(self.weights, self.counts), self.capacity)

    def patterns_of(self, bin_of: NDArray[np.int64]) -> list[Pattern]:
        """A packing of ``core()`` as patterns."""
        table = np.zeros((int(bin_of.max(initial=-1)) + 1, len(self.weights)), np.int64)
        np.add.at(table, (bin_of, np.repeat(np.arange(len(self.weights)), self.counts)), 1)
        return list(table)

    def bins_of(self, patterns: Sequence[Pattern]) -> NDArray[np.int64]:
        """The bin (n,) of each item of ``core()``, given patterns that hold at least all items.

        Patterns that hold no item any more, because others hold them all, get no bin.
        """
        left = self.counts.copy()
        next_item = np.cumsum(self.counts) - self.counts
        bin_of = np.full(self.items, -1, np.int64)
        number = 0
        for pattern in patterns:
            taken = np.minimum(pattern, left)
            for kind in np.flatnonzero(taken).tolist():
                bin_of[next_item[kind] : next_item[kind] + taken[kind]] = number
                next_item[kind] += taken[kind]
            left -= taken
            number += bool(taken.any())
        assert not left.any(), "the patterns leave items unpacked"
        return bin_of

    def choose_of_part(self, prices: Prices, bins: int, deadline: Deadline) -> list[Pattern] | None:
        """Patterns that pack all into ``bins`` bins, of those that miss least; None if none."""
        least, most = 0, prices.missing(self, bins)
        missing, part = most, None
        for _ in range(HALVINGS):
            table, branches = _patterns_within(self, prices, missing, PART)
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
        return _find(self, part, bins, PART.nodes, deadline)

    def decide(
        self, filters: Sequence[Prices], bins: int, effort: Effort, deadline: Deadline
    ) -> PatternVerdict:
        """Whether all of it fits into ``bins`` bins.

        ``filters`` are prices of its types: the first ones enumerate, and what passes them must
        pass all others.
        """
        table, branches = _tight_patterns(self, filters[0], bins, effort)
        deadline.spend(branches * WORK_OF_A_BRANCH)
        if table is None or deadline.passed():
            return UNKNOWN
        for prices in filters[1:]:
            at_least = prices.pattern_at_most - prices.missing(self, bins)
            table = table[table @ prices.prices >= at_least]
        if not len(table):
            return PatternVerdict(None, impossible=True)
        share = SHARE_TO_FIND if len(table) <= FEW_PATTERNS else SHARE_OF_MANY
        within = deadline.within(share) if effort.proves else deadline
        patterns = _find(self, table, bins, effort.nodes, within)
        if patterns is not None:
            return PatternVerdict(patterns, impossible=False)
        if not effort.proves or not is_installed() or deadline.passed():
            return UNKNOWN
        verdict = _prove(self, table, bins, deadline.within(SHARE_TO_PROVE))
        if verdict.patterns is not None or verdict.impossible:
            return verdict
        return _choose_patterns(self, table, bins, effort.nodes, deadline.within(0.5))


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of the types (m,), and what no pattern exceeds: together a proof of the bound."""

    prices: NDArray[np.int64]
    pattern_at_most: int

    def total(self, demand: Demand) -> int:
        """What all items of ``demand`` are worth."""
        return sum(map(int.__mul__, self.prices.tolist(), demand.counts.tolist()))

    def missing(self, demand: Demand, bins: int) -> int:
        """What the items of ``demand`` leave of what so many bins are worth at most."""
        return bins * self.pattern_at_most - self.total(demand)

    def bound(self, demand: Demand) -> int:
        """How many bins the items of ``demand`` need at least."""
        return -(-self.total(demand) // self.pattern_at_most)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the linear programme told.

    ``columns`` is (p, m): a pattern in each row, used ``amounts`` (p,) times; ``solved`` is
    False where time ran out before the optimum of the programme.
    """

    prices: Prices
    bound: int
    columns: NDArray[np.int64]
    amounts: NDArray[np.float64]
    solved: bool


UNIT = 2**24
"""Of the integer multipliers."""
WHOLE = 1e-6
WORK_OF_AN_ENTRY = 20
"""Elementary operations for each entry of the rows in a node, about."""


@dataclass(frozen=True, eq=False)
class PatternVerdict:
    """Patterns that pack all items; or none, and whether it is proved that there are none."""

    patterns: list[Pattern] | None
    impossible: bool


UNKNOWN = PatternVerdict(None, impossible=False)


class _Branch(NamedTuple):
    """At most, or at least, ``bound`` patterns of a set."""

    row: int
    bound: int
    at_least: bool


def _choose_patterns(
    demand: Demand, table: NDArray[np.int64], bins: int, nodes: int, deadline: Deadline
) -> PatternVerdict:
    """Choose ``bins`` patterns of ``table`` (p, m), within so many nodes; needs OR-Tools."""
    rows = _Rows(demand, table, bins)
    open_branches: list[tuple[_Branch, ...]] = [()]
    for _ in range(nodes):
        if not open_branches or deadline.passed():
            break
        branches = open_branches.pop()
        uses = rows.solve(branches, deadline)
        if uses is None:
            return UNKNOWN
        if rows.proves_none(branches):
            continue
        row = rows.to_branch_on(uses)
        if row is None:
            patterns = _checked(demand, table, bins, uses)
            return UNKNOWN if patterns is None else PatternVerdict(patterns, impossible=False)
        below = int(np.floor(uses @ rows.sets[row] + WHOLE))
        open_branches.append((*branches, _Branch(row, below, at_least=False)))
        open_branches.append((*branches, _Branch(row, below + 1, at_least=True)))
    return PatternVerdict(None, impossible=not open_branches)


def _checked(
    demand: Demand, table: NDArray[np.int64], bins: int, uses: NDArray[np.float64]
) -> list[Pattern] | None:
    times = np.round(uses).astype(np.int64)
    if times.sum() != bins or np.any(times @ table != demand.counts):
        return None
    return list(np.repeat(table, times, axis=0))


def _most_uses(demand: Demand, table: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """How often ``bins`` patterns can use each one (p,): as there are items, empty ones always."""
    beyond = max(bins, int(demand.counts.max()))
    often = np.where(table > 0, demand.counts // np.maximum(table, 1), beyond)
    most: NDArray[np.int64] = often.min(axis=1)
    return most


@dataclass(eq=False)
class _Rows:
    """The programme of least shortfall: every item once, ``bins`` patterns, and the branches."""

    demand: Demand
    table: NDArray[np.int64]
    bins: int
    sets: list[NDArray[np.int64]] = field(default_factory=list)
    """For each row to branch on, which patterns (p,) it counts, 0 or 1."""

    def __post_init__(self) -> None:
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - it is an extra

        self._optimal = pywraplp.Solver.OPTIMAL
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = self._solver.infinity()
        anew = pywraplp.MPSolverParameters()
        anew.SetIntegerParam(anew.INCREMENTALITY, anew.INCREMENTALITY_OFF)
        again = pywraplp.MPSolverParameters()
        again.SetIntegerParam(again.PRESOLVE, again.PRESOLVE_OFF)
        self._ways = again, anew
        self._goal = self._solver.Objective()
        self._goal.SetMinimization()
        self._most = _most_uses(self.demand, self.table, self.bins)
        self._uses = [self._solver.NumVar(0.0, float(most), "") for most in self._most]
        self._set_rows: list[object] = []
        self._held = self.table > 0
        self._numbers: dict[bytes, int] = {}
        self._whole = [
            self._row(column, wanted)
            for column, wanted in zip(
                [*self.table.T, np.ones(len(self.table), np.int64)],
                [*self.demand.counts.tolist(), self.bins],
                strict=True,
            )
        ]
        self._entries = int(self._held.sum()) + len(self.table)

    def _row(self, coefficients: NDArray[np.int64], wanted: int) -> object:
        """A row whose shortfall costs 1."""
        row = self._solver.Constraint(float(wanted), float(wanted))
        for p in np.flatnonzero(coefficients).tolist():
            row.SetCoefficient(self._uses[p], float(coefficients[p]))
        short = self._solver.NumVar(0.0, self._infinity, "")
        row.SetCoefficient(short, 1.0)
        self._goal.SetCoefficient(short, 1.0)
        return row

    def solve(
        self, branches: tuple[_Branch, ...], deadline: Deadline
    ) -> NDArray[np.float64] | None:
        """How often the programme of the branches uses each pattern (p,); None beyond the limit."""
        bounds = {number: [-self._infinity, self._infinity] for number in range(len(self.sets))}
        for row, bound, at_least in branches:
            bounds[row][0 if at_least else 1] = float(bound)
        for number, (low, high) in bounds.items():
            self._set_rows[number].SetBounds(low, high)  # type: ignore[attr-defined]
        self._solver.SetTimeLimit(int(deadline.remaining_of_wall() * 1000) + 1)
        self._solver.SetSolverSpecificParametersAsString("use_dual_simplex: true")
        status = None
        for settings in self._ways:
            status = self._solver.Solve(settings)
            effort = self._entries * (1 + self._solver.iterations() / 10)
            deadline.spend(WORK_OF_AN_ENTRY * effort)
            if status == self._optimal or deadline.passed():
                break  # else from the last basis its numbers went astray
        if status != self._optimal:
            return None
        return np.array([use.solution_value() for use in self._uses])

    def proves_none(self, branches: tuple[_Branch, ...]) -> bool:
        """Whether integer multipliers of the last programme show that it has no solution."""
        if self._goal.Value() < WHOLE:
            return False
        duals = np.array([row.dual_value() for row in self._whole])  # type: ignore[attr-defined]
        if not self._fits(duals, len(branches)):
            return False
        whole = np.round(duals * UNIT).astype(np.int64)
        worth = int(whole[:-1] @ self.demand.counts) + int(whole[-1]) * self.bins
        prices = self.table @ whole[:-1] + whole[-1]
        for row in {branch.row for branch in branches}:
            dual = self._set_rows[row].dual_value()  # type: ignore[attr-defined]
            if not self._fits(dual, len(branches)):
                return False
            multiplier = round(dual * UNIT)
            wanted = [b.bound for b in branches if b.row == row and b.at_least == (multiplier > 0)]
            if multiplier and wanted:
                worth += multiplier * (max(wanted) if multiplier > 0 else min(wanted))
                prices += multiplier * self.sets[row]
        return worth > int(np.maximum(prices, 0) @ self._most)

    def _fits(self, duals: NDArray[np.float64] | float, branches: int) -> bool:
        """Whether no sum with multipliers of this size leaves 64 bits."""
        fullest = int(self.table.sum(axis=1).max(initial=0)) + 1 + branches
        terms = max(self.demand.items + self.bins, fullest * int(self._most.sum()))
        return bool(np.all(np.abs(duals) * UNIT < 2.0**60 / max(terms, 1)))

    def to_branch_on(self, uses: NDArray[np.float64]) -> int | None:
        """The row of two types in a bin, or of one pattern, that is farthest from whole."""
        used = np.flatnonzero(uses > WHOLE)
        shares, held = uses[used], self._held[used].astype(np.float64)
        common = np.triu(held.T @ (held * shares[:, None]), 1)
        distance = np.abs(common - np.round(common))
        one, other = np.unravel_index(int(distance.argmax()), distance.shape)
        if distance[one, other] > WHOLE:
            return self._number(self._held[:, one] & self._held[:, other])
        distance = np.abs(uses - np.round(uses))
        if distance.max() > WHOLE:
            return self._number(np.arange(len(uses)) == distance.argmax())
        return None

    def _number(self, counted: NDArray[np.bool_]) -> int:
        """The row that counts these patterns, a new one where there is none."""
        number = self._numbers.setdefault(counted.tobytes(), len(self.sets))
        if number == len(self.sets):
            self._set_rows.append(self._row(counted.astype(np.int64), 0))
            self.sets.append(counted.astype(np.int64))
        return number


optimize = on_demand("scipy.optimize")
sparse = on_demand("scipy.sparse")

SHARE_TO_FIND = 0.4
"""Of what is left of the limit, for HiGHS where a proof may follow."""
FEW_PATTERNS = 2_000
SHARE_OF_MANY = 0.05
"""Beyond so many HiGHS may not get past its root, and has less time; branch and bound does."""
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
        bounds=optimize.Bounds(0, _most_uses(demand, table, bins)),
        constraints=optimize.LinearConstraint(rows, wanted, wanted),
        options={"node_limit": int(affordable), "time_limit": deadline.remaining_of_wall()},
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
    uses = [model.new_int_var(0, int(most), "") for most in _most_uses(demand, table, bins)]
    model.add(sum(uses) == bins)
    for kind, count in enumerate(demand.counts.tolist()):
        holding = np.flatnonzero(table[:, kind]).tolist()
        model.add(sum(int(table[p, kind]) * uses[p] for p in holding) == count)
    solver, status = solved(model, deadline, linearization=2)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        times = [solver.value(use) for use in uses]
        return PatternVerdict(list(np.repeat(table, times, axis=0)), impossible=False)
    return PatternVerdict(None, impossible=status == cp_model.INFEASIBLE)


def _tight_patterns(
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
