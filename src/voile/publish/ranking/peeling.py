"""Greedy Deletion, theta and theta-rapid: peel the box of the top rows until it is precise.

What it does: starts from the box around all top rows that are searched from, and takes the
outermost top rows off one side at a time until the box reaches the precision; None where fewer
than k rows are left before.

Source: "K-ARQ: k-anonymous ranking queries" (POSTECH, 2011), Algorithm 1 and the theta algorithms.

Claim: the box is feasible.  None says nothing: another way to peel may succeed.

A *peel* takes the outermost layer of top rows off one side, all that share the extreme value, since
a box loses nothing while one of them stays.  Equal steps give up the worse scored row.  The
three differ in the steps they compare at each of the 2 m sides:

- deletion: a step is one peel; the step that lifts (top rows - others) most is taken (the p of
  Definition 6), on a tie the one that gives up fewer top rows.
- theta: a step is as many peels of one side as lift the precision by theta (or reach what is asked
  for).  The step that gives up fewest top rows is taken, on a tie the one that lifts more.  A side
  that needs several peels before the first other row falls is seen, where deletion sees no gain.
- theta-rapid: a step is any number of peels of one side.  The step that lifts the precision most
  for each top row given up is taken, on a tie the one that lifts more.

Cost: at most t steps of 2 m t boxes, O(m n / 64) each; some ten steps of 2 m boxes in practice.

Departures: the thesis prints the condition of the loop as |RS| <= k; deletion goes on *while* at
least k_p rows are left and the precision is not reached.  Its p = prec / (2 k) - k should read
p = (2 prec - 1) k.  Its text of the theta algorithms was not at hand: the rules above are our
reading of their parameter, and their success ratios stand beside the thesis's in the benchmarks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.compiled import njit
from voile.publish.ranking.boxes import (
    Question,
    content,
    count,
    is_feasible,
    put,
    tally,
    tighten,
)
from voile.publish.ranking.groups import Outcome
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile.publish.ranking.unpacking import outcome_of
from voile.randomness import Key

__all__ = ["deletion", "peel", "theta", "theta_rapid"]

_DELETION, _THETA, _RAPID = 0, 1, 2


def deletion(remnant: Remnant, terms: SearchTerms, _key: Key) -> Outcome:
    """Peel by the greatest gain in top rows minus others."""
    return _outcome(remnant, terms, _DELETION)


def theta(remnant: Remnant, terms: SearchTerms, _key: Key) -> Outcome:
    """Peel by the cheapest step that lifts the precision by ``terms.theta``."""
    return _outcome(remnant, terms, _THETA)


def theta_rapid(remnant: Remnant, terms: SearchTerms, _key: Key) -> Outcome:
    """Peel by the greatest lift for each top row given up."""
    return _outcome(remnant, terms, _RAPID)


def _outcome(remnant: Remnant, terms: SearchTerms, rule: int) -> Outcome:
    question = remnant.question(terms)
    rows = np.empty(len(question.field.top), dtype=np.uint64)
    found = peel(question, rule, float(terms.theta), rows)
    return outcome_of(remnant, rows if found else None)


@njit(cache=True, nogil=True)
def peel(question: Question, rule: int, theta: float, rows: Any) -> bool:
    """Peel until the box is feasible; its rows are left in ``rows``."""
    field = question.field
    sides = len(field.order)
    chosen = question.targets.copy()
    best = np.empty_like(chosen)
    trial = np.empty_like(chosen)
    inner = np.empty_like(rows)
    edge = np.zeros(sides, dtype=np.int64)
    while count(chosen, chosen) > 0:
        tighten(field, chosen, edge)
        content(field, edge, rows)
        here = tally(question, rows)
        if here.persons < question.k:
            return False
        if is_feasible(question, here):
            return True
        most = _NONE
        for side in range(sides):
            put(chosen, trial)
            spare = edge.copy()
            stepping = True
            while stepping:
                worst = float(field.order[side, spare[side]])
                if not _take_off(field, side, trial, spare):
                    break
                content(field, spare, inner)
                there = tally(question, inner)
                if there.persons < question.k:
                    break
                first, second, stepping = _rating(question, rule, theta, here, there)
                if (first, second, worst) > most:
                    most = (first, second, worst)
                    put(trial, best)
        if most == _NONE:
            return False
        put(best, chosen)
    return False


_NONE = (-np.inf, -np.inf, -np.inf)


@njit(cache=True, nogil=True)
def _take_off(field: Any, side: int, chosen: Any, edge: Any) -> bool:
    """Take the outermost layer off a side and tighten the others; False where nothing is left."""
    level = field.depth[side, field.order[side, edge[side]]]
    for word in range(len(chosen)):
        chosen[word] &= field.past[side, level, word]
    if count(chosen, chosen) == 0:
        return False
    tighten(field, chosen, edge)
    return True


@njit(cache=True, nogil=True)
def _rating(question: Any, rule: int, theta: float, here: Any, there: Any) -> Any:
    """What a rule compares steps by, and whether to peel this side further before comparing."""
    lost = float(here.targets - there.targets)
    if rule == _DELETION:
        gain = 2 * (there.tops - here.tops) - (there.total - here.total)
        return float(gain), -lost, False
    lift = there.tops / there.total - here.tops / here.total
    if rule == _RAPID:
        return lift / lost, lift, True
    done = lift >= theta or is_feasible(question, there)
    # A step that falls short of theta loses against any that does not.
    return -lost if done else -float(here.targets), lift, not done
