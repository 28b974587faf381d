"""Datafly: a full-domain generalization by one greedy climb.

What it does: finds some node whose groups satisfy the criteria, with no more rows suppressed than
may be, in lattices of any size.

Source: Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system" (1997);
"Achieving k-anonymity privacy protection using generalization and suppression" (2002), section 5.

Claim: where criteria are monotone, a node is found if there is one.  It is not the best one, nor
a lowest one.

Algorithm: while too many rows would be suppressed, raise the column with the most distinct values
(the first of equals) by one level, as long as it has one.

Cost: as many roll-ups as the heights of the hierarchies add up to.

Departure: the source suppresses up to k rows; here the limit is a parameter of its own.
"""

from __future__ import annotations

from voile.publish.generalization.evaluation import Evaluator
from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import Problem, Solution

__all__ = ["datafly"]


def datafly(problem: Problem, objective: ObjectiveName = "loss") -> Solution | None:
    """A feasible node, its loss measured by an objective; None where the climb meets none."""
    evaluator = Evaluator(problem, objective)
    heights = evaluator.lattice.heights
    levels = list(evaluator.lattice.bottom)
    examined = 1
    while not (found := evaluator.evaluate(tuple(levels))).feasible:
        distinct = {
            column: evaluator.distinct(column, level)
            for column, level in enumerate(levels)
            if level < heights[column]
        }
        if not distinct:
            return None
        levels[max(distinct, key=lambda column: distinct[column])] += 1
        examined += 1
    return evaluator.solution(found, examined)
