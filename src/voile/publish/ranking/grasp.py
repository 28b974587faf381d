"""GRASP: grow boxes at random among good choices, and mend each by exchanges.

What it does: builds a box by insertion from a random top row, choosing at random among the rows
whose gain is near the greatest, then improves it by local search; many times over.  The feasible
box with most top rows is kept; None where no box was feasible.

Source: "K-ARQ: k-anonymous ranking queries" (POSTECH, 2011), GRASP; Feo and Resende, "Greedy
randomized adaptive search procedures" (Journal of Global Optimization, 1995).

Claim: the box is feasible.  None says nothing.  The same key gives the same box on every machine.

Algorithm: ``alpha`` sets how far below the greatest gain a choice may lie (0: greedy, 1: any).
Building ends at k members.  An m-n exchange takes up to m layers of top rows off one side, then
takes in up to n others one by one, each time the one that gains most; every box on the way with
k members is a candidate.  A candidate is taken at once if it is better: feasible before
infeasible; among feasible ones more of the top rows searched from; among infeasible ones the
smaller lack of top rows for the precision.

Cost: iterations times (k + exchanges tried) boxes times t, O(m n / 64) each; a round of exchanges
tries 2 m (m-n's m + 1) of them.

Departures: the m rows of an exchange are layers of one side, because a box loses nothing
while another row holds the side; iterations, not seconds, end the search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.compiled import njit
from voile.publish.ranking.boxes import (
    Question,
    content,
    count,
    has,
    is_feasible,
    put,
    tally,
    tighten,
)
from voile.publish.ranking.groups import Outcome
from voile.publish.ranking.insertion import begin, grow
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile.publish.ranking.unpacking import outcome_of
from voile.randomness import Key

__all__ = ["grasp"]


def grasp(remnant: Remnant, terms: SearchTerms, key: Key) -> Outcome:
    """The best of ``terms.iterations`` random constructions, each improved by exchanges."""
    question = remnant.question(terms)
    rows = np.zeros(len(question.field.top), dtype=np.uint64)
    steps = remnant.tops + 1
    # Each round of a ranking draws its own words: a round is known by what it has left.
    first = steps * terms.iterations * int(np.count_nonzero(remnant.fresh))
    words = key.stream(steps * terms.iterations, first).reshape(terms.iterations, steps)
    found = _grasp(question, float(terms.alpha), words, terms.exchange, rows)
    return outcome_of(remnant, rows if found else None)


@njit(cache=True, nogil=True)
def _grasp(
    question: Question,
    alpha: float,
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
            question, barred, alpha, words[iteration, step], edge, rows
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
def _rating(question: Question, rows: Any) -> Any:
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
def _exchange(question: Question, exchange: tuple[int, int], edge: Any, rows: Any) -> bool:
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
def _replenish(question: Question, most: int, now: Any, barred: Any, edge: Any, rows: Any) -> bool:
    """Take in up to ``most`` rows until the box is better than ``now``."""
    content(question.field, edge, rows)
    for _ in range(most):
        if _rating(question, rows) > now:
            return True
        if not grow(question, barred, 0.0, np.uint64(0), edge, rows):
            return False
    return bool(_rating(question, rows) > now)
