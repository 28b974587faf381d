"""Greedy Insertion: grow a box from one top row.

What it does: starts from a top row and takes in, again and again, the top row whose box gains
most; None where no box on the way is feasible.  Each of the top rows searched from is a start,
and of the feasible boxes met on all ways the one with most top rows is kept.

Source: "K-ARQ: k-anonymous ranking queries" (POSTECH, 2011), Greedy Insertion.

Claim: the box is feasible.  None says nothing.

The gain of a row is (top rows - others) of the box with it, less those of the box without.  A row
brings in whoever lies between, so gains differ: in the figure with points A to L a row that
brings another in gains 2.  Ties go to the better score.

Cost: t starts of at most t steps of at most t boxes, O(m n / 64) each.

Departures: the figure prints equal gains for B to F; the gain of F is 2, since it brings D in.
Growing goes on beyond k rows as long as top rows are left, because a later box may be precise
again, and may publish more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.compiled import njit
from voile.publish.ranking.boxes import Question, content, has, is_feasible, put, tally
from voile.publish.ranking.groups import Outcome
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile.publish.ranking.unpacking import outcome_of
from voile.randomness import Key

__all__ = ["begin", "grow", "insertion"]


def insertion(remnant: Remnant, terms: SearchTerms, _key: Key) -> Outcome:
    """Grow from each top row by the greatest gain in top rows minus others."""
    rows = np.zeros(len(remnant.question(terms).field.top), dtype=np.uint64)
    found = _insert(remnant.question(terms), rows)
    return outcome_of(remnant, rows if found else None)


@njit(cache=True, nogil=True)
def _insert(question: Question, best: Any) -> bool:
    sides, tops = question.field.order.shape
    rows = np.empty_like(best)
    barred = np.zeros_like(question.targets)
    edge = np.empty(sides, dtype=np.int64)
    most = 0
    for start in range(tops):
        if not has(question.targets, start):
            continue
        begin(question, start, edge, rows)
        growing = True
        while growing:
            here = tally(question, rows)
            if here.targets > most and is_feasible(question, here):
                most = here.targets
                put(rows, best)
            growing = grow(question, barred, 0.0, np.uint64(0), edge, rows)
    return most > 0


@njit(cache=True, nogil=True)
def begin(question: Question, start: int, edge: Any, rows: Any) -> None:
    """The box around one top row."""
    put(question.field.rank[:, start], edge)
    content(question.field, edge, rows)


@njit(cache=True, nogil=True)
def grow(
    question: Question, barred: Any, alpha: float, word: np.uint64, edge: Any, rows: Any
) -> bool:
    """Take one more target into the box ``edge`` (s,), ``rows``; False where none is left.

    ``barred`` (top words,) are not taken on purpose.  The choice is among the rows that gain at
    least greatest - ``alpha`` (greatest - least), by ``word``; the best scored of the best where
    alpha is 0.
    """
    field = question.field
    sides, tops = field.order.shape
    gains = np.empty(tops, dtype=np.int64)
    trial = np.empty_like(rows)
    wider = np.empty_like(edge)
    greatest, least = np.int64(-(1 << 62)), np.int64(1 << 62)
    for row in range(tops):
        gains[row] = -(1 << 62)
        if has(rows, row) or has(barred, row) or not has(question.targets, row):
            continue
        for side in range(sides):
            wider[side] = min(edge[side], field.rank[side, row])
        content(field, wider, trial)
        there = tally(question, trial)
        gains[row] = 2 * there.tops - there.total
        greatest, least = max(greatest, gains[row]), min(least, gains[row])
    if greatest < least:
        return False
    bar = greatest - np.int64(np.floor(alpha * (greatest - least)))
    choices = np.flatnonzero(gains >= bar)
    row = choices[0] if alpha == 0.0 else choices[word % np.uint64(len(choices))]
    for side in range(sides):
        edge[side] = min(edge[side], field.rank[side, row])
    content(field, edge, rows)
    return True
