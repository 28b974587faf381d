"""Growing: boxes grown from top rows, from each of them or many at random; ours, after the thesis.

What it does: ``growing`` starts from each of the top rows and takes in, again and again, the one
that gains most; of the feasible boxes met on all ways the one with most top rows is kept.
``growing-exchange`` starts from random top rows and takes in rows at random among those that gain
nearly most, then improves the box by exchanges.  None where no box was feasible.

Source: none of their own.  They carry the Insertion and the GRASP of "K-ARQ: k-Anonymous Ranking
Query" (POSTECH, 2011) further, and succeed at least as often; Feo and Resende, "Greedy randomized
adaptive search procedures" (Journal of Global Optimization, 1995).

Claim: the box is feasible.  None says nothing.  The same key gives the same box on every machine.

Algorithm of ``growing-exchange``: ``slack`` sets how far below the greatest gain a choice may lie
(0: greedy, 1: any).  Building ends at k members.  An m-n exchange takes up to m layers of top rows
off one side, then takes in up to n others one by one, each time the one that gains most; every box
on the way with k members is a candidate.  A candidate is taken at once if it is better: feasible
before infeasible; among feasible ones more of the top rows searched from; among infeasible ones the
smaller lack of top rows for the precision.

Cost: ``growing`` t starts of at most t steps of at most t boxes, O(m n / 64) each;
``growing-exchange`` iterations times (k + exchanges tried) boxes times t; a round of exchanges
tries 2 m (m-n's m + 1) of them.
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
    has,
    is_feasible,
    put,
    tally,
    tighten,
)
from voile.publish.ranking.groups import RankingGroup
from voile.publish.ranking.insertion import begin, grow
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms, require
from voile.publish.ranking.unpacking import outcome_of
from voile_base.compiled import njit
from voile_base.randomness import Key

__all__ = ["GrowingExchange", "growing"]


def growing(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Grow from each top row by the greatest gain in top rows minus others."""
    question = remnant.question(terms)
    rows = np.zeros(len(question.field.top), dtype=np.uint64)
    found = _grow_each(question, rows)
    return outcome_of(remnant, rows if found else None)


@dataclass(frozen=True)
class GrowingExchange:
    """The best of many random boxes, each improved by exchanges."""

    slack: Fraction = Fraction(3, 10)
    """0 takes the best row, 1 any."""
    iterations: int = 32
    """Boxes that are grown."""
    exchange: tuple[int, int] = (2, 2)
    """An exchange takes out up to m layers of the box and puts in up to n rows."""

    def __post_init__(self) -> None:
        require(0 <= self.slack <= 1, "slack", "from 0 to 1")
        require(self.iterations >= 1, "iterations", "at least 1")
        require(min(self.exchange) >= 1, "exchange", "two whole numbers, at least 1")

    def __call__(self, remnant: Remnant, terms: SearchTerms, key: Key) -> RankingGroup:
        """Look for a feasible box."""
        question = remnant.question(terms)
        rows = np.zeros(len(question.field.top), dtype=np.uint64)
        steps = remnant.tops + 1
        # Each round of a ranking draws its own words: a round is known by what it has left.
        first = steps * self.iterations * int(np.count_nonzero(remnant.fresh))
        words = key.stream(steps * self.iterations, first).reshape(self.iterations, steps)
        found = _grow_at_random(question, float(self.slack), words, self.exchange, rows)
        return outcome_of(remnant, rows if found else None)


@njit(cache=True, nogil=True)
def _grow_each(question: BoxQuestion, best: Any) -> bool:
    sides, tops = question.field.order.shape
    rows = np.empty_like(best)
    barred = np.zeros_like(question.targets)
    edge = np.empty(sides, dtype=np.int64)
    most = 0
    for start in range(tops):
        if not has(question.targets, start):
            continue
        begin(question, start, edge, rows)
        is_growing = True
        while is_growing:
            here = tally(question, rows)
            if here.targets > most and is_feasible(question, here):
                most = here.targets
                put(rows, best)
            is_growing = grow(question, barred, 0.0, np.uint64(0), edge, rows)
    return most > 0


@njit(cache=True, nogil=True)
def _grow_at_random(
    question: BoxQuestion,
    slack: float,
    words: NDArray[np.uint64],
    exchange: tuple[int, int],
    best: Any,
) -> bool:
    sides, tops = question.field.order.shape
    rows = np.empty_like(best)
    barred = np.zeros_like(question.targets)
    edge = np.empty(sides, dtype=np.int64)
    starts = np.array([row for row in range(tops) if has(question.targets, row)])
    most = (-1, np.int64(0))
    for iteration in range(len(words)):
        begin(question, starts[words[iteration, 0] % np.uint64(len(starts))], edge, rows)
        step = 1
        while tally(question, rows).persons < question.k and grow(
            question, barred, slack, words[iteration, step], edge, rows
        ):
            step += 1
        while _exchange(question, exchange, edge, rows):
            pass
        rating = _rating(question, rows)
        if rating > most:
            most = rating
            put(rows, best)
    return most[0] == 1


@njit(cache=True, nogil=True)
def _rating(question: BoxQuestion, rows: Any) -> Any:
    """How good a box is: (1, targets) if feasible; (0, - lack of top rows); (-1, 0) below k."""
    here = tally(question, rows)
    if here.persons < question.k:
        return -1, np.int64(0)
    if is_feasible(question, here):
        return 1, here.targets
    lack = here.tops * question.denominator - here.total * question.numerator
    own = here.fresh_tops * question.denominator - here.members * question.numerator
    return 0, min(lack, own)


@njit(cache=True, nogil=True)
def _exchange(question: BoxQuestion, exchange: tuple[int, int], edge: Any, rows: Any) -> bool:
    """Take the first better box that an exchange leads to; False where there is none."""
    field = question.field
    now = _rating(question, rows)
    chosen = np.empty_like(question.targets)
    barred = np.empty_like(question.targets)
    trial = np.empty_like(rows)
    inner = np.empty_like(edge)
    for side in range(len(edge)):
        put(edge, inner)
        for word in range(len(chosen)):
            chosen[word] = rows[word] & question.targets[word]
            barred[word] = 0
        for _ in range(exchange[0] + 1):
            if _replenish(question, exchange[1], now, barred, inner.copy(), trial):
                # The box was found from a copy of its sides: read them off its top rows.
                put(trial, rows)
                for word in range(len(chosen)):
                    chosen[word] = rows[word] & question.targets[word]
                edge[:] = 0
                tighten(field, chosen, edge)
                return True
            level = field.depth[side, field.order[side, inner[side]]]
            for word in range(len(chosen)):
                barred[word] |= chosen[word] & ~field.past[side, level, word]
                chosen[word] &= field.past[side, level, word]
            if count(chosen, chosen) == 0:
                break
            tighten(field, chosen, inner)
    return False


@njit(cache=True, nogil=True)
def _replenish(
    question: BoxQuestion, most: int, now: Any, barred: Any, edge: Any, rows: Any
) -> bool:
    """Take in up to ``most`` rows until the box is better than ``now``."""
    content(question.field, edge, rows)
    for _ in range(most):
        if _rating(question, rows) > now:
            return True
        if not grow(question, barred, 0.0, np.uint64(0), edge, rows):
            return False
    return bool(_rating(question, rows) > now)
