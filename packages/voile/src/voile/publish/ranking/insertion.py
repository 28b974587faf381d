"""Greedy Insertion: grow a box from the best row while it stays precise.

What it does: starts from nothing and takes in, again and again, the top row whose box gains most,
among those whose box is precise.  None where the last box holds fewer than k rows.

Source: "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011), 4.2.

Claim: the box is feasible.  None says nothing: ``growing`` starts from other rows too.

The gain of a row is (top rows - others) of the box with it, less those of the box without.  A row
brings in whoever lies between, so gains differ: in the figure with points A to L a row that
brings another in gains 2.  Ties go to the better score, so that the first row is the best one.

Cost: at most t steps of at most t boxes, O(m n / 64) each.

Departures: the figure prints equal gains for B to F; the gain of F is 2, since it brings D in.

Reading: insertion ends where any more addition would make the box imprecise.  Here that is where
every addition would; the other reading, where the one that gains most would, hardly differs
(``benchmarks/papers/k_arq``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.publish.ranking.boxes import (
    BoxQuestion,
    content,
    has,
    is_feasible,
    is_precise,
    put,
    tally,
)
from voile.publish.ranking.groups import RankingGroup
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile.publish.ranking.unpacking import outcome_of
from voile_base.compiled import njit
from voile_base.randomness import Key

__all__ = ["begin", "grow", "insertion"]


def insertion(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Grow from the best top row by the greatest gain in top rows minus others."""
    question = remnant.question(terms)
    rows = np.zeros(len(question.field.top), dtype=np.uint64)
    found = _insert(question, rows)
    return outcome_of(remnant, rows if found else None)


@njit(cache=True, nogil=True)
def _insert(question: BoxQuestion, rows: Any) -> bool:
    sides, tops = question.field.order.shape
    barred = np.zeros_like(question.targets)
    edge = np.empty(sides, dtype=np.int64)
    start = 0
    while start < tops and not has(question.targets, start):
        start += 1
    if start == tops:
        return False
    begin(question, start, edge, rows)
    while grow(question, barred, 0.0, np.uint64(0), edge, rows, True):
        pass
    return bool(is_feasible(question, tally(question, rows)))


@njit(cache=True, nogil=True)
def begin(question: BoxQuestion, start: int, edge: Any, rows: Any) -> None:
    """The box around one top row."""
    put(question.field.rank[:, start], edge)
    content(question.field, edge, rows)


@njit(cache=True, nogil=True)
def grow(
    question: BoxQuestion,
    barred: Any,
    slack: float,
    word: np.uint64,
    edge: Any,
    rows: Any,
    precise: bool = False,
) -> bool:
    """Take one more target into the box ``edge`` (s,), ``rows``; False where none is left.

    ``barred`` (top words,) are not taken on purpose; with ``precise`` no box that lacks precision.
    The choice is among the rows that gain at least greatest - ``slack`` (greatest - least), by
    ``word``; the best scored of the best where slack is 0.
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
        if precise and not (
            is_precise(question, there.tops, there.total)
            and is_precise(question, there.fresh_tops, there.members)
        ):
            continue
        gains[row] = 2 * there.tops - there.total
        greatest, least = max(greatest, gains[row]), min(least, gains[row])
    if greatest < least:
        return False
    bar = greatest - np.int64(np.floor(slack * (greatest - least)))
    choices = np.flatnonzero(gains >= bar)
    row = choices[0] if slack == 0.0 else choices[word % np.uint64(len(choices))]
    for side in range(sides):
        edge[side] = min(edge[side], field.rank[side, row])
    content(field, edge, rows)
    return True
