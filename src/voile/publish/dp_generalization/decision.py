"""The decision: from counts to a node, drawn, and from a node to groups.

Pure functions; see the package's docstring for the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Self

from voile.dp.exact import uniform_words
from voile.dp.exponential import ExponentialMechanism
from voile.publish.dp_generalization.scores import expected_score, sampled_score
from voile.publish.dp_generalization.utilities import NodeUtilities, node_utilities
from voile.publish.generalization.evaluation import Evaluator
from voile.publish.generalization.lattice import Levels
from voile.publish.generalization.problem import Problem, Solution
from voile.randomness import Key
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.plan import ColumnPlan, Plan
from voile.table.summaries import CombinationCounts

__all__ = ["Choice", "ChoiceTerms", "DrawnNode", "NodeChoice", "groups_at", "hierarchies_of"]

Choice = Literal["expected", "sampled"]
"""On which rows the node is chosen: on all, or on those that were sampled to be published."""


@dataclass(frozen=True)
class ChoiceTerms:
    """The terms of the choice of a node."""

    k: int
    beta: Decimal
    epsilon: Decimal
    """Budget of the choice."""
    choice: Choice


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


def hierarchies_of(plan: Plan, counts: CombinationCounts) -> tuple[BoundHierarchy, ...]:
    """The hierarchy of each counted column; all but quasi-identifiers need one declared.

    A published column without one stands in the lattice with the single level of its own values:
    what is published as it is must be shared by k rows too, or it would give a row away.
    """
    return tuple(
        _hierarchy(plan, name, values)
        for name, values in zip(counts.columns, counts.values, strict=True)
    )


def _hierarchy(plan: Plan, column: str, values: DistinctValues) -> BoundHierarchy:
    declared = plan.columns.get(column, ColumnPlan())
    bound = declared.bind_hierarchy(column, values)
    if declared.hierarchy or column in plan.roles.quasi_identifiers:
        return bound
    return BoundHierarchy(column, bound.codes[:1], bound.values[:1])


@dataclass(frozen=True, eq=False)
class NodeChoice:
    """All nodes with their utilities, ready to be drawn from; private."""

    nodes: NodeUtilities
    mechanism: ExponentialMechanism

    @classmethod
    def of(cls, problem: Problem, terms: ChoiceTerms) -> Self:
        """The choice among all nodes of a lattice; a draw is ``epsilon``-differentially private.

        Neighbours differ by one row more or less.  Where the node is chosen on all rows that is
        the mechanism's own guarantee, and utilities are monotone.  Where it is chosen on the
        published sample, the proof exchanges one sampled row for another, which no monotonicity
        helps.
        """
        sampled = terms.choice == "sampled"
        score = sampled_score(terms.k) if sampled else expected_score(terms.k, terms.beta)
        nodes = node_utilities(problem, score)
        return cls(
            nodes, ExponentialMechanism(terms.epsilon, nodes.sensitivity, monotone=not sampled)
        )

    def draw(self, key: Key) -> DrawnNode:
        """One node, exactly by the mechanism's distribution."""
        lattice, utilities = self.nodes.lattice, self.nodes.utilities
        place = self.mechanism.draw(utilities, uniform_words(key))
        utility = Fraction(int(utilities[place]), self.nodes.unit)
        return DrawnNode(lattice.levels(place), utility, lattice.size)


def groups_at(problem: Problem, node: DrawnNode) -> Solution:
    """The groups of the sampled rows at a node, those of fewer than k rows left out."""
    evaluator = Evaluator(problem)
    return evaluator.solution(evaluator.evaluate(node.levels), node.nodes)
