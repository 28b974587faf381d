"""Heuristic searches of a ranking: insertion, growing, peeling, the baselines, and auto.

Each looks for a box of attribute values that holds as many top rows as it can, at least k rows, and
is precise: insertion and growing start from one row and take others in, peeling starts from the box
around all top rows and takes rows off, the baselines take what the paper compares with, and auto
asks several before the exact search.

Greedy Insertion (insertion)
----------------------------
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

Growing from many rows (growing, growing-exchange)
--------------------------------------------------
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

Peeling (deletion, peeling-lift, peeling-ratio)
-----------------------------------------------
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

Baselines (perfect-recall, perfect-precision, mondrian)
-------------------------------------------------------
Source: "K-ARQ: k-anonymous ranking queries" (POSTECH, 2011), which compares with them; Mondrian is
LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006), relaxed cuts
not allowed.

- Perfect Recall publishes the box around all top rows searched from, whatever else is in it.  It is
  a group only if that reaches the precision, which it rarely does.
- Perfect Precision publishes the same box with the least score in it as a threshold, so that every
  row of the table in the box and above the threshold is top.  Its weakness: the threshold is the
  exact score of one member, and cuts corners off the box.  With weights known, each attribute x_j
  of a member is at least (threshold - sum of w_i high_i over the others) / w_j, which for a box
  that is wide in other attributes leaves little doubt; and who knows one attribute learns a bound
  on the rest.  The box alone promises k rows anywhere in it, the cut box k rows in a sliver.
- Mondrian cuts the top rows at the median of the widest attribute (by its share of the spread of
  all of them) while both sides keep k.  It does not see the other rows, so its boxes have whatever
  precision they happen to have; the group is the box with most top rows among those that reach it.
  Where k is the number of top rows it cuts nothing and is Perfect Recall.

Claim: a group that Perfect Recall or Mondrian return is feasible; Perfect Recall's holds all rows
searched from.  None says nothing of other boxes.

Cost: O(m n) for a box; Mondrian O(t m log t) more.

Heuristics, then the exact search (auto)
----------------------------------------
What it does: peeling-ratio, peeling-lift and deletion look for a feasible box.  From the best of
theirs the exact search looks for a better one, with a part of the work allowed.  Where they found
none it looks for any with all of the work, or proves that there is none; where it does neither,
growing-exchange is asked.

Source: none; of "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011) only Deletion is among them, for
our own searches succeed at least as often as the thesis's.  Cheapest and most successful first.

Claim: that of the exact search where it ends within ``terms.work`` and ``terms.seconds``; else the
group is feasible, and None means that none was found.  Without ``terms.seconds`` the same key
gives the same answer on every machine.

Cost: that of the exact search, which the first box cuts short; the heuristics take some
microseconds each on the 76 rows of the thesis's setting at k = 20.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.exact import exact_from
from voile.publish.ranking.groups import (
    Bits,
    BoxQuestion,
    BoxTally,
    Edge,
    Field,
    Group,
    RankingGroup,
    Remnant,
    SearchTerms,
    bits_of,
    content,
    count,
    has,
    is_feasible,
    is_precise,
    put,
    require,
    tally,
    tighten,
)
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = [
    "GrowingExchange",
    "PeelingLift",
    "auto",
    "begin",
    "deleted",
    "deletion",
    "grow",
    "growing",
    "insertion",
    "mondrian",
    "peeling_ratio",
    "perfect_precision",
    "perfect_recall",
]


def insertion(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Grow from the best top row by the greatest gain in top rows minus others."""
    question = remnant.question(terms)
    rows = np.zeros(len(question.field.top), dtype=np.uint64)
    found = _insert(question, rows)
    return remnant.outcome(rows if found else None)


@njit(cache=True, nogil=True)
def _insert(question: BoxQuestion, rows: Bits) -> bool:
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
def begin(question: BoxQuestion, start: int, edge: Edge, rows: Bits) -> None:
    """The box around one top row."""
    put(question.field.rank[:, start], edge)
    content(question.field, edge, rows)


@njit(cache=True, nogil=True)
def grow(
    question: BoxQuestion,
    barred: Bits,
    slack: float,
    word: np.uint64,
    edge: Edge,
    rows: Bits,
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


def growing(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Grow from each top row by the greatest gain in top rows minus others."""
    question = remnant.question(terms)
    rows = np.zeros(len(question.field.top), dtype=np.uint64)
    found = _grow_each(question, rows)
    return remnant.outcome(rows if found else None)


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
        return remnant.outcome(rows if found else None)


@njit(cache=True, nogil=True)
def _grow_each(question: BoxQuestion, best: Bits) -> bool:
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
    best: Bits,
) -> bool:
    sides, tops = question.field.order.shape
    rows = np.empty_like(best)
    barred = np.zeros_like(question.targets)
    edge = np.empty(sides, dtype=np.int64)
    starts = np.array([row for row in range(tops) if has(question.targets, row)])
    most = (-1, 0)
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
def _rating(question: BoxQuestion, rows: Bits) -> tuple[int, int]:
    """How good a box is: (1, targets) if feasible; (0, - lack of top rows); (-1, 0) below k."""
    here = tally(question, rows)
    if here.persons < question.k:
        return -1, 0
    if is_feasible(question, here):
        return 1, here.targets
    lack = here.tops * question.denominator - here.total * question.numerator
    own = here.fresh_tops * question.denominator - here.members * question.numerator
    return 0, min(lack, own)


@njit(cache=True, nogil=True)
def _exchange(question: BoxQuestion, exchange: tuple[int, int], edge: Edge, rows: Bits) -> bool:
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
    question: BoxQuestion, most: int, now: tuple[int, int], barred: Bits, edge: Edge, rows: Bits
) -> bool:
    """Take in up to ``most`` rows until the box is better than ``now``."""
    content(question.field, edge, rows)
    for _ in range(most):
        if _rating(question, rows) > now:
            return True
        if not grow(question, barred, 0.0, np.uint64(0), edge, rows):
            return False
    return bool(_rating(question, rows) > now)


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
    found = _peel(question, rule, lift, question.targets.copy(), rows)
    return remnant.outcome(rows if found else None)


def deleted(question: BoxQuestion) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The top rows that Deletion ends with, be their box feasible or not, and room for its rows."""
    chosen = question.targets.copy()
    rows = np.empty(len(question.field.top), dtype=np.uint64)
    _peel(question, _DELETION, 0.0, chosen, rows)
    return chosen, rows


@njit(cache=True, nogil=True)
def _peel(question: BoxQuestion, rule: int, lift: float, chosen: Bits, rows: Bits) -> bool:
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
                first, second, stepping = _peeling_rating(question, rule, lift, here, there)
                if (first, second, worst) > most:
                    most = (first, second, worst)
                    put(trial, best)
        if most == _NONE:
            return False
        put(best, chosen)
    return False


_NONE = (-np.inf, -np.inf, -np.inf)


@njit(cache=True, nogil=True)
def _take_off(field: Field, side: int, chosen: Bits, edge: Edge) -> bool:
    """Take the outermost layer off a side and tighten the others; False where nothing is left."""
    level = field.depth[side, field.order[side, edge[side]]]
    for word in range(len(chosen)):
        chosen[word] &= field.past[side, level, word]
    if count(chosen, chosen) == 0:
        return False
    tighten(field, chosen, edge)
    return True


@njit(cache=True, nogil=True)
def _peeling_rating(
    question: BoxQuestion, rule: int, least: float, here: BoxTally, there: BoxTally
) -> tuple[float, float, bool]:
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


def perfect_recall(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """The box around all top rows searched from, if it is feasible."""
    group = _box_around(remnant, np.flatnonzero(remnant.targets(terms.batch)))
    return _best(terms, [group])


def perfect_precision(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """The same box above its least score; see the module on what that gives away."""
    targets = np.flatnonzero(remnant.targets(terms.batch))
    inside = _inside(remnant, targets)
    inside &= remnant.scores >= remnant.scores[targets].min()
    return _best(terms, [remnant.group(inside, thresholded=True)])


def mondrian(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Of Mondrian's boxes of the top rows the feasible one with most of them."""
    return _best(terms, _mondrian_boxes(remnant, terms))


def _mondrian_boxes(remnant: Remnant, terms: SearchTerms) -> list[Group]:
    """The boxes around Mondrian's groups of the top rows searched from, precise or not."""
    targets = np.flatnonzero(remnant.targets(terms.batch))
    spread = np.ptp(remnant.values[targets], axis=0)
    parts = _cut(remnant, targets, np.maximum(spread, 1), terms.k)
    return [_box_around(remnant, part) for part in parts]


def _box_around(remnant: Remnant, chosen: NDArray[np.int64]) -> Group:
    """The group of all fresh rows in the box around some rows."""
    return remnant.group(_inside(remnant, chosen))


def _inside(remnant: Remnant, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    best = remnant.values[chosen]
    low, high = best.min(axis=0), best.max(axis=0)
    inside: NDArray[np.bool_] = ((remnant.values >= low) & (remnant.values <= high)).all(axis=1)
    return inside


def _cut(
    remnant: Remnant, part: NDArray[np.int64], spread: NDArray[np.int64], k: int
) -> list[NDArray[np.int64]]:
    """The parts of a group of rows, cut while both sides keep k, or as many persons."""
    ranges = np.ptp(remnant.values[part], axis=0) / spread
    for column in np.argsort(-ranges, kind="stable"):
        own = remnant.values[part, column]
        # The median goes to the side that it makes the more even one.
        median = np.sort(own)[len(own) // 2]
        sides = min((own < median, own <= median), key=lambda left: abs(2 * left.sum() - len(own)))
        if min(remnant.persons(part[side]) for side in (sides, ~sides)) >= k:
            cut = (_cut(remnant, part[side], spread, k) for side in (sides, ~sides))
            return [group for side in cut for group in side]
    return [part]


def _best(terms: SearchTerms, groups: list[Group]) -> RankingGroup:
    feasible = [group for group in groups if group.is_feasible(terms)]
    best = max(feasible, key=lambda group: group.published_tops, default=None)
    return RankingGroup(best, proved=False)


_IMPROVING = 64
"""Improving a group that was found may take this part of the work of finding one."""


def auto(remnant: Remnant, terms: SearchTerms, key: Key) -> RankingGroup:
    """The best group that heuristics and exact search find, and whether there is no better."""
    peeled = [
        search(remnant, terms, key).group for search in (peeling_ratio, PeelingLift(), deletion)
    ]
    targets = remnant.targets(terms.batch)

    def published(group: Group) -> int:
        return int(np.count_nonzero(targets[group.members[: group.published_tops]]))

    known = max((group for group in peeled if group), key=published, default=None)
    if known is not None:
        improving = replace(terms, work=max(1, terms.work // _IMPROVING))
        return exact_from(remnant, improving, bits_of(_rows_shown(remnant, known)))
    outcome = exact_from(remnant, terms, None)
    if outcome.group is None and not outcome.proved:
        return replace(GrowingExchange()(remnant, terms, key), examined=outcome.examined)
    return outcome


def _rows_shown(remnant: Remnant, group: Group) -> NDArray[np.bool_]:
    """The rows in the box of a group."""
    values = remnant.values
    inside: NDArray[np.bool_] = np.all((values >= group.low) & (values <= group.high), axis=1)
    return inside
