"""Greedy Deletion, and two ways of ours to peel the box of the top rows until it is precise.

What it does: starts from the box around all top rows that are searched from, and takes the
outermost top rows off one side at a time until the box reaches the precision; None where fewer
than k rows are left before.

Source: "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011), 4.1 (Algorithm 1), for ``deletion``; the
two others are ours.

Claim: the box is feasible.  None says nothing: another way to peel may succeed.

A *peel* takes the outermost layer of top rows off one side, all that share the extreme value, since
a box loses nothing while one of them stays.  Equal steps give up the worse scored row.  The
three differ in the steps they compare at each of the 2 m sides:

- deletion: a step is one peel; the step that lifts (top rows - others) most is taken (the p of
  Definition 6), on a tie the one that gives up fewer top rows.
- peeling-lift: a step is as many peels of one side as lift the precision by ``lift`` (or reach what
  is asked for).  The step that gives up fewest top rows is taken, on a tie the one that lifts more.
  A side that needs several peels before the first other row falls is seen, where deletion sees no
  gain.
- peeling-ratio: a step is any number of peels of one side.  The step that lifts the precision most
  for each top row given up is taken, on a tie the one that lifts more.

Cost: at most t steps of 2 m t boxes, O(m n / 64) each; some ten steps of 2 m boxes in practice.

Departures: the thesis prints the condition of the loop as |RS| <= k; deletion goes on *while* at
least k_p rows are left and the precision is not reached.  Its p = prec / (2 k) - k should read
p = (2 prec - 1) k.

Reading: deletion ends where any more deletions would leave fewer than k rows (4.1).  Here that is
where every deletion would; the other reading, where the one that gains most would, succeeds less
often (``benchmarks/papers/k_arq``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.boxes import (
    BoxQuestion,
    content,
    count,
    is_feasible,
    put,
    tally,
    tighten,
)
from voile.publish.ranking.groups import RankingGroup
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms, require
from voile.publish.ranking.unpacking import outcome_of
from voile_base.compiled import njit
from voile_base.randomness import Key

__all__ = ["PeelingLift", "deleted", "deletion", "peel", "peeling_ratio"]

_DELETION, _LIFT, _RATIO = 0, 1, 2


def deletion(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Peel by the greatest gain in top rows minus others."""
    return _outcome(remnant, terms, _DELETION)


@dataclass(frozen=True)
class PeelingLift:
    """Peel by the cheapest step that lifts the precision by ``lift``."""

    lift: Fraction = Fraction(4, 100)
    """Least gain in precision of a step, above 0 and at most 1."""

    def __post_init__(self) -> None:
        require(0 < self.lift <= 1, "lift", "above 0 and at most 1")

    def __call__(self, remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
        """Look for a feasible box."""
        return _outcome(remnant, terms, _LIFT, float(self.lift))


def peeling_ratio(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Peel by the greatest lift for each top row given up."""
    return _outcome(remnant, terms, _RATIO)


def _outcome(remnant: Remnant, terms: SearchTerms, rule: int, lift: float = 0.0) -> RankingGroup:
    question = remnant.question(terms)
    rows = np.empty(len(question.field.top), dtype=np.uint64)
    found = peel(question, rule, lift, question.targets.copy(), rows)
    return outcome_of(remnant, rows if found else None)


def deleted(question: BoxQuestion) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The top rows that Deletion ends with, be their box feasible or not, and room for its rows."""
    chosen = question.targets.copy()
    rows = np.empty(len(question.field.top), dtype=np.uint64)
    peel(question, _DELETION, 0.0, chosen, rows)
    return chosen, rows


@njit(cache=True, nogil=True)
def peel(question: BoxQuestion, rule: int, lift: float, chosen: Any, rows: Any) -> bool:
    """Peel the box around ``chosen`` until it is feasible.

    The top rows that are left stand in ``chosen`` (top words,), the rows of their box in ``rows``.
    """
    field = question.field
    sides = len(field.order)
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
                first, second, stepping = _rating(question, rule, lift, here, there)
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
def _rating(question: Any, rule: int, least: float, here: Any, there: Any) -> Any:
    """What a rule compares steps by, and whether to peel this side further before comparing."""
    lost = float(here.targets - there.targets)
    if rule == _DELETION:
        gain = 2 * (there.tops - here.tops) - (there.total - here.total)
        return float(gain), -lost, False
    lift = there.tops / there.total - here.tops / here.total
    if rule == _RATIO:
        return lift / lost, lift, True
    done = lift >= least or is_feasible(question, there)
    # A step that falls short of the least lift loses against any that does not.
    return -lost if done else -float(here.targets), lift, not done
