"""The decision: from counts to a node, drawn, and from a node to groups.

Pure functions; see the package's docstring for the method.

The utility of a node is what it publishes times what it leaves of the values, ``sup * gen`` in the
seed's eq. 19.  ``sup`` is the score of a node's groups, in whole units and not
divided by the number of rows, which is private.  ``gen`` is the share of the levels that are left:
1 - mean of level / height over the columns that can be generalized, a public number for each node.
Utilities are whole numbers, so that the draw is exact.

The score of a group says how many of its rows will be published.

``"expected"`` (the default).  The node is chosen on all rows, before any is sampled.  A group of
n rows scores h(n) = E[J; J >= k] with J ~ Binomial(n, beta): the rows that sampling and
suppression will leave of it, on average.  Adding a row to a group never lowers h, and raises it by
at most max_n h(n + 1) - h(n), which is far below k: 3.6 for k = 40 and beta = 0.7.  So the same
budget draws a node about ten times more sharply than with the seed's utility.

``"sampled"`` (the seed's eqs. 19 and 20).  The node is chosen on the sample that is published: a
group of n rows scores n if n >= k, else nothing, and one row can matter by k.

Weight of suppression w (section VI.C of the seed, where it leaves "more about the suppression" to
others): sup * (w + gen) / (w + 1), of the same sensitivity, so that 0 is eq. 15 and with a large w
the rows that are left decide nearly alone.

Either way the score of a group is a whole number of 2**-20 rows: a table for small groups that
goes on as a straight line.  Its sensitivity is read off the very table that is used, so rounding
cannot break the guarantee.

Cost: O(k / beta) for the table, and one roll-up of groups for each node of the lattice, from a
neighbour.

The budget of a release, and what of it goes into the choice of the node.

The release costs ``epsilon = epsilon_choice + excess``: the choice of the node is
epsilon_choice-differentially private, and publishing a sample through a fixed node is (excess,
delta)-differentially private, where delta falls as the excess grows and the excess is at least
-ln(1 - beta) (``voile.dp.sampling``).  A plan names the total, the choice, or both:

- the total and a bound on delta: the choice gets all that the bound leaves;
- the total alone: the choice gets the most that it can, and delta is what comes of it;
- the choice alone: the excess is the least that keeps delta within its bound;
- both: the excess is their difference.

Where neighbours differ by several rows, budgets are those of all of them together, so the excess is
at least -ln(1 - beta) for each.

Numbers are exact decimals; what is computed is rounded to the safe side.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.dp.exact import ExponentialMechanism, uniform_words
from voile.dp.sampling import delta_of
from voile.publish.generalization.evaluation import Tables
from voile.publish.generalization.grouping import GroupTable
from voile.publish.generalization.lattice import Lattice, Levels
from voile.publish.generalization.problem import Problem
from voile.schema.numbers import plain_text
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = [
    "UNITS",
    "Choice",
    "ChoiceTerms",
    "DrawnNode",
    "NodeChoice",
    "Sampling",
    "SplitBudget",
]


Choice = Literal["expected", "sampled"]
"""On which rows the node is chosen: on all, or on those that were sampled to be published."""
UNITS = 1 << 20
"""Units of a score in one published row."""

_TAIL = 12.0
"""Standard deviations beyond which a large group is sure to be published."""


@dataclass(frozen=True, eq=False)
class _GroupScore:
    """The score by size of a group: ``table[n]``, and ``slope`` for each row beyond the table."""

    table: NDArray[np.int64]
    """For groups of 0, 1, ... rows, in units; never falls."""
    slope: int

    @property
    def sensitivity(self) -> int:
        """By how much one row more or less in a group can change its score."""
        return max(int(np.diff(self.table).max()), self.slope)


def _expected_score(k: int, beta: Decimal) -> _GroupScore:
    """Rows that are left of a group by sampling and suppression, on average."""
    chance = float(beta)
    largest = math.ceil((k + _TAIL * (math.sqrt(k) + _TAIL)) / chance) + k
    sizes = np.arange(largest + 1)
    expected = sizes * chance * _chance_of_at_least(k - 1, largest, chance)
    table = np.rint(np.maximum.accumulate(expected) * UNITS).astype(np.int64)
    return _GroupScore(table, round(chance * UNITS))


def _sampled_score(k: int) -> _GroupScore:
    """All rows of a group that is large enough, and none of a smaller one."""
    table = np.zeros(k + 1, dtype=np.int64)
    table[k] = k * UNITS
    return _GroupScore(table, UNITS)


def _chance_of_at_least(successes: int, largest: int, chance: float) -> NDArray[np.float64]:
    """P[Binomial(n - 1, chance) >= successes] for n = 0, ..., largest (0 for n = 0).

    Grows with every trial by the probability that exactly that trial is the last success needed.
    """
    trials = np.arange(largest)
    if successes == 0:
        return np.concatenate(([0.0], np.ones(largest)))
    last = np.zeros(largest)
    counted = trials[trials >= successes]
    # the trial with number m brings the last success: C(m - 1, s - 1) p^s q^(m - s)
    logs = (
        _log_binomials(counted - 1, successes - 1)
        + successes * math.log(chance)
        + (counted - successes) * math.log1p(-chance)
    )
    last[counted] = np.exp(logs)
    return np.concatenate(([0.0], np.minimum(np.cumsum(last), 1.0)))


def _log_binomials(n: NDArray[np.int64], r: int) -> NDArray[np.float64]:
    return np.array(
        [math.lgamma(m + 1) - math.lgamma(r + 1) - math.lgamma(m - r + 1) for m in n.tolist()]
    )


@dataclass(frozen=True, eq=False)
class _NodeUtilities:
    """Utilities of all nodes, private, and how much one row can change them, public.

    Several rows change them by as many times that at most.
    """

    lattice: Lattice
    utilities: NDArray[np.int64]
    """Shape (nodes,), by the number of the node."""
    unit: int
    """The utility of one published row of which all levels are left."""
    sensitivity: Fraction
    """In units of ``utilities``; one row more never lowers any of them."""


def _node_utilities(problem: Problem, score: _GroupScore, weight: int = 0) -> _NodeUtilities:
    """The utility of every node; the lattice must be enumerable."""
    tables = Tables(problem)
    total = np.empty(tables.lattice.size, dtype=np.int64)

    def visit(levels: Levels, table: GroupTable) -> bool:
        total[tables.lattice.number(levels)] = _score_of(table.rows, score)
        return True

    tables.visit_all(visit)
    left, whole = _levels_left(tables.lattice)
    left, whole = weight * whole + left, (weight + 1) * whole
    sensitivity = Fraction(score.sensitivity * whole)
    return _NodeUtilities(tables.lattice, total * left, UNITS * whole, sensitivity)


def _score_of(sizes: NDArray[np.int64], score: _GroupScore) -> int:
    """The sum over groups of these sizes."""
    beyond = np.maximum(sizes - (len(score.table) - 1), 0)
    return int(score.table[sizes - beyond].sum() + score.slope * beyond.sum())


def _levels_left(lattice: Lattice) -> tuple[NDArray[np.int64], int]:
    """1 - mean of level / height, as whole numbers over a common denominator."""
    heights = [height for height in lattice.heights if height]
    if not heights:
        return np.ones(lattice.size, dtype=np.int64), 1
    unit = math.lcm(*heights)
    terms = [
        (height - np.arange(height + 1)) * (unit // height) if height else np.zeros(1, np.int64)
        for height in lattice.heights
    ]
    return lattice.outer(np.add, terms), unit * len(heights)


@dataclass(frozen=True)
class ChoiceTerms:
    """The terms of the choice of a node."""

    k: int
    beta: Decimal
    epsilon: Decimal
    """Budget of the choice."""
    choice: Choice
    rows: int = 1
    """By which neighbours differ."""
    weight: int = 0
    """Of suppression, beside the levels that are left."""


@dataclass(frozen=True)
class DrawnNode:
    """A node of the lattice, chosen by the exponential mechanism."""

    levels: Levels
    utility: Fraction
    """Private: rows published times the share of the levels that are left."""
    nodes: int
    """Size of the lattice."""

    @property
    def rounded_utility(self) -> Decimal:
        """The utility to three decimals, for people."""
        return Decimal(round(self.utility * 1000)) / 1000


@dataclass(frozen=True, eq=False)
class NodeChoice:
    """All nodes with their utilities, ready to be drawn from; private."""

    nodes: _NodeUtilities
    mechanism: ExponentialMechanism

    @classmethod
    def of(cls, problem: Problem, terms: ChoiceTerms) -> Self:
        """The choice among all nodes of a lattice; a draw is ``epsilon``-differentially private.

        Neighbours differ by ``rows`` rows more or less, which change a utility by as many times
        what one row does at most: they may all come to groups of the most sensitive size, so
        nothing less would do.  Where the node is chosen on all rows that is the mechanism's own
        guarantee, and utilities are monotone.  Where it is chosen on the published sample, the
        proof exchanges each sampled one of these rows for another, which no monotonicity helps.
        """
        sampled = terms.choice == "sampled"
        score = _sampled_score(terms.k) if sampled else _expected_score(terms.k, terms.beta)
        nodes = _node_utilities(problem, score, terms.weight)
        sensitivity = terms.rows * nodes.sensitivity
        return cls(nodes, ExponentialMechanism(terms.epsilon, sensitivity, monotone=not sampled))

    def draw(self, key: Key) -> DrawnNode:
        """One node, exactly by the mechanism's distribution."""
        lattice, utilities = self.nodes.lattice, self.nodes.utilities
        index = self.mechanism.draw(utilities, uniform_words(key))
        utility = Fraction(int(utilities[index]), self.nodes.unit)
        return DrawnNode(lattice.levels(index), utility, lattice.size)


_STEP = Decimal("1e-9")
_COARSE = Decimal("1e-6")
_LARGEST_EXCESS = 40
"""Of a row.  Beyond it gamma is 1 for all purposes, and delta as small as it can be: beta**k."""


@dataclass(frozen=True)
class SplitBudget:
    """What a release spends."""

    choice: Decimal
    """Budget of the choice of the node, above 0."""
    excess: Decimal
    """Budget of publishing a sample, at least -ln(1 - beta) a row."""
    delta: Decimal
    """For the excess, rounded upwards."""

    @property
    def epsilon(self) -> Decimal:
        """The whole."""
        return self.choice + self.excess


def _least_excess(beta: Decimal) -> Decimal:
    """-ln(1 - beta), rounded upwards to a billionth."""
    with localcontext() as context:
        context.prec = 40
        exact = -(1 - beta).ln()
        return (exact + Decimal("1e-35")).quantize(_STEP, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Sampling:
    """How rows are sampled and published, and by how many of them neighbours differ."""

    k: int
    """Least number of published rows that look alike."""
    beta: Decimal
    """The probability with which a row is sampled."""
    rows: int = 1
    """By which neighbours differ."""

    @property
    def least_excess(self) -> Decimal:
        """The least that publishing a sample costs."""
        return self.rows * _least_excess(self.beta)

    def delta_of(self, excess: Decimal) -> Decimal:
        """Delta at an excess, rounded upwards."""
        return delta_of(self.k, self.beta, excess, self.rows)

    def split_budget(
        self, epsilon: Decimal | None, choice: Decimal | None, delta: Decimal | None
    ) -> SplitBudget:
        """Divide a budget; raises ``PlanError`` where it cannot be had.

        At least one of ``epsilon`` and ``choice`` is given; ``delta`` is an upper bound, if given.
        """
        least = self.least_excess
        if delta is not None and (epsilon is None or least < epsilon):
            least = _excess_within(self, delta)
        if epsilon is None:
            assert choice is not None
            return _split(self, choice, least)
        k, beta, rows = self.k, self.beta, self.rows
        at = "" if rows == 1 else f" for {rows:,} rows of a person"
        at += "" if delta is None else f" at delta = {delta:.3g}"
        excess = least if choice is None else epsilon - choice
        if excess >= epsilon:
            msg = (
                f"epsilon = {plain_text(epsilon)} leaves nothing for the choice: publishing a "
                f"sample of beta = {plain_text(beta)} with k = {k} alone costs {plain_text(least)}"
                f"{at}; raise epsilon or k, or lower beta{_or_fewer(rows)}"
            )
            raise PlanError(msg)
        if choice is not None and excess < least:
            msg = (
                f"epsilon_choice = {plain_text(choice)} leaves {plain_text(excess)} of epsilon = "
                f"{plain_text(epsilon)} for publishing the sample, which costs at least "
                f"{plain_text(least)}{at}; raise epsilon, or lower epsilon_choice or beta"
                f"{_or_fewer(rows)}"
            )
            raise PlanError(msg)
        return _split(self, epsilon - excess, excess)


def _split(sampling: Sampling, choice: Decimal, excess: Decimal) -> SplitBudget:
    """Both parts with their delta; one of several rows may be 1, which promises nothing."""
    delta = sampling.delta_of(excess)
    if delta >= 1:
        msg = (
            f"k = {sampling.k} is too small for {sampling.rows:,} rows of a person at beta = "
            f"{plain_text(sampling.beta)}: delta would be 1, which promises nothing; raise k, or "
            f"lower beta{_or_fewer(sampling.rows)}"
        )
        raise PlanError(msg)
    return SplitBudget(choice, excess, delta)


def _or_fewer(rows: int) -> str:
    return "" if rows == 1 else " or rows_per_person"


def _excess_within(sampling: Sampling, delta: Decimal) -> Decimal:
    """The least excess that keeps delta within its bound, to a millionth; delta falls with it."""
    least = sampling.least_excess
    if sampling.delta_of(least) <= delta:
        return least
    low, high = 0, int(sampling.rows * _LARGEST_EXCESS / _COARSE)
    if sampling.delta_of(least + high * _COARSE) > delta:
        msg = (
            f"no budget keeps delta within {delta:.3g} at k = {sampling.k} and beta = "
            f"{plain_text(sampling.beta)}; raise k, or lower beta{_or_fewer(sampling.rows)}"
        )
        raise PlanError(msg)
    while high - low > 1:
        middle = (low + high) // 2
        fits = sampling.delta_of(least + middle * _COARSE) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return least + high * _COARSE
