"""GRASP, theta and theta-rapid of the thesis: local search over sets of top rows.

What it does: moves from one set of top rows to a neighbouring one until the box around the set is
feasible.  None where that did not happen within the effort allowed.

Source: "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011), 5.1 (Algorithms 2 and 3), 5.2
(Algorithm 4) and 5.3.

Claim: the box is feasible.  None says nothing.  The same key gives the same box on every machine.

Algorithm:

- GRASP builds a set from nothing: each time it draws a row from the ``alpha`` rows whose boxes gain
  most (top rows less others), until the box holds k.  Then it takes the best m-n exchange (m rows
  leave the set, n rows enter it) for as long as the precision rises.
- theta begins at the set at which Deletion gave up.  Of all m-n exchanges it keeps those whose
  precision is at least the best one's less ``theta``, draws one of them, and goes on from there,
  better or worse, until it is feasible.
- theta-rapid does the same over single deletions and single insertions.

The thesis ends theta and theta-rapid by an allowable time, and by iterations in its experiments: 3
for theta, 6 for theta-rapid, since an exchange is a deletion and an insertion.  Here ``iterations``
ends them, or ``work``, the boxes looked at; never a clock.

Cost: an iteration looks at C(s, m) C(t - s, n) boxes, theta-rapid's at t, for s of t top rows in
the set; a box is O(m n / 64) for m attributes and n rows.

Readings, where the thesis leaves one open (success ratios of each: ``benchmarks/papers/k_arq``):

- A set of fewer than k rows: Algorithms 3 and 4 compare the precision of all candidates, while 5.1
  calls only those of k rows feasible.  ``candidates = "feasible"``, the better one, leaves the
  others out; "all" keeps them, and then the smallest boxes, which are precise, crowd the list.
- The size of a set: Algorithm 2 counts its elements, Definition 5 all rows that are published.  The
  rows in the box count, or GRASP ends with sets of k top rows whose boxes are far too wide.
- The set after a move: the rows that were ``"chosen"``, as Algorithms 2 and 3 print it, or all top
  rows ``"in-box"``, as Algorithm 1 has it after each deletion, where theta begins.  ``elements`` is
  the better one for each by default: "chosen" for GRASP, "in-box" for theta and theta-rapid.
- How often GRASP begins anew: once.  Begun three times it is far ahead of theta, which the thesis
  denies; begun once it is level with it.
- The loop of Algorithm 4 tests the set that was drawn, not all candidates: as printed.

Departures: a first set that is feasible is returned, and Algorithm 3 is not asked for a neighbour.
Where rows were published before, or persons have several, a box is as precise as the less precise
of its rows and its members, and has k persons.

The searches by the names that a plan gives them, and the parameters that each takes.

The names of the thesis ("K-ARQ: k-Anonymous Ranking Query", POSTECH 2011) mean its algorithms;
``peeling-lift``, ``peeling-ratio``, ``growing``, ``growing-exchange``, ``exact`` and ``auto`` are
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.exact import exact
from voile.publish.ranking.groups import (
    Bits,
    BoxQuestion,
    BoxTally,
    RankingGroup,
    Remnant,
    Search,
    SearchTerms,
    content,
    count,
    has,
    is_feasible,
    put,
    require,
    tally,
    tighten,
)
from voile.publish.ranking.heuristics import (
    GrowingExchange,
    PeelingLift,
    auto,
    deleted,
    deletion,
    growing,
    insertion,
    mondrian,
    peeling_ratio,
    perfect_precision,
    perfect_recall,
)
from voile_base.compiled import njit
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = [
    "LIMITED",
    "PARAMETERS",
    "SEARCHES",
    "Candidates",
    "Elements",
    "SearchName",
    "search",
    "takes",
]


Candidates = Literal["feasible", "all"]
Elements = Literal["chosen", "in-box"]
_WORK = 1_000_000
_SAME = 1e-12
"""Far below the least difference of two precisions, far above the rounding of one."""


@dataclass(frozen=True)
class _Neighbourhood:
    """How far a local search may go, and over what."""

    candidates: Candidates = "feasible"
    """Whether a candidate must hold k rows."""
    work: int = _WORK
    """Boxes looked at in one attempt; where they do not suffice the attempt fails."""
    elements: Elements = "in-box"
    """Which top rows the set has after a move."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int):
                require(value >= 1, field.name, "at least 1")
        require(self.candidates in get_args(Candidates), "candidates", '"feasible" or "all"')
        require(self.elements in get_args(Elements), "elements", '"chosen" or "in-box"')


@dataclass(frozen=True)
class _Grasp(_Neighbourhood):
    """Construction from the ``alpha`` best rows, then the best exchange while it helps."""

    alpha: int = 3
    """How many rows are on the list of the best."""
    iterations: int = 1
    """Constructions, each with its local search; the first feasible box ends them."""
    exchange: tuple[int, int] = (1, 1)
    """How many rows leave the set and how many enter it."""
    elements: Elements = "chosen"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(min(self.exchange) >= 1, "exchange", "two whole numbers, at least 1")

    def __call__(self, remnant: Remnant, terms: SearchTerms, key: Key) -> RankingGroup:
        """Look for a feasible box."""
        question = remnant.question(terms)
        rows = np.zeros(len(question.field.top), dtype=np.uint64)
        steps = remnant.tops
        words = _words(remnant, key, steps * self.iterations).reshape(self.iterations, steps)
        found = _grasp(question, self.alpha, words, _allowed(self, self.exchange), rows)
        return remnant.outcome(rows if found else None)


@dataclass(frozen=True)
class _Theta(_Neighbourhood):
    """Draws among the exchanges that are nearly as precise as the best one."""

    theta: Fraction = Fraction(4, 100)
    """How far below the best precision a candidate may lie, from 0 to 1."""
    iterations: int = 3
    """Draws."""
    exchange: tuple[int, int] = (1, 1)
    """How many rows leave the set and how many enter it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.theta <= 1, "theta", "from 0 to 1")
        require(min(self.exchange) >= 1, "exchange", "two whole numbers, at least 1")

    def __call__(self, remnant: Remnant, terms: SearchTerms, key: Key) -> RankingGroup:
        """Look for a feasible box."""
        return _drawn(remnant, terms, key, self, self.exchange)


@dataclass(frozen=True)
class _ThetaRapid(_Neighbourhood):
    """Draws among the deletions and insertions that are nearly as precise as the best one."""

    theta: Fraction = Fraction(4, 100)
    """How far below the best precision a candidate may lie, from 0 to 1."""
    iterations: int = 6
    """Draws."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.theta <= 1, "theta", "from 0 to 1")

    def __call__(self, remnant: Remnant, terms: SearchTerms, key: Key) -> RankingGroup:
        """Look for a feasible box."""
        return _drawn(remnant, terms, key, self, None)


def _words(remnant: Remnant, key: Key, number: int) -> NDArray[np.uint64]:
    """Words of a round of a ranking, which is known by how many rows it has left."""
    return key.stream(number, number * int(np.count_nonzero(remnant.fresh)))


def _allowed(search: _Neighbourhood, exchange: tuple[int, int] | None) -> NDArray[np.int64]:
    """What compiled code is told, as five numbers.

    Rows that leave and enter, 0 for single moves; whether all candidates count; the work left;
    whether a set takes in all top rows of its box.
    """
    leave, enter = exchange or (0, 0)
    fills = search.elements == "in-box"
    return np.array([leave, enter, search.candidates == "all", search.work, fills], dtype=np.int64)


def _drawn(
    remnant: Remnant,
    terms: SearchTerms,
    key: Key,
    search: _Theta | _ThetaRapid,
    exchange: tuple[int, int] | None,
) -> RankingGroup:
    question = remnant.question(terms)
    chosen, rows = deleted(question)
    words = _words(remnant, key, search.iterations)
    allowed = _allowed(search, exchange)
    found = _theta(question, float(search.theta), words, allowed, chosen, rows)
    return remnant.outcome(rows if found else None)


@njit(cache=True, nogil=True)
def _theta(
    question: BoxQuestion,
    theta: float,
    words: Bits,
    allowed: NDArray[np.int64],
    chosen: Bits,
    rows: Bits,
) -> bool:
    """Draw neighbour after neighbour; ``chosen`` (top words,) is where Deletion stands."""
    if _is_found(question, chosen, rows):
        return True
    for word in words:
        leaving, entering, number = _moves(question, chosen, allowed)
        if number == 0:
            return False
        precision = _precisions(question, chosen, allowed, leaving, entering, number)
        choices = np.flatnonzero((precision >= precision.max() - theta - _SAME) & (precision > 0))
        if len(choices) == 0:
            return False
        drawn = choices[word % np.uint64(len(choices))]
        _move(chosen, leaving, entering, allowed[0] == 0, drawn, chosen)
        if _is_found(question, chosen, rows):
            return True
        _fill(question, allowed, rows, chosen)
    return False


@njit(cache=True, nogil=True)
def _grasp(
    question: BoxQuestion, alpha: int, words: Bits, allowed: NDArray[np.int64], rows: Bits
) -> bool:
    chosen = np.empty_like(question.targets)
    for iteration in range(len(words)):
        _construct(question, alpha, words[iteration], allowed, chosen, rows)
        while not _is_found(question, chosen, rows):
            _fill(question, allowed, rows, chosen)
            leaving, entering, number = _moves(question, chosen, allowed)
            if number == 0:
                break
            precision = _precisions(question, chosen, allowed, leaving, entering, number)
            best = int(np.argmax(precision))
            if precision[best] <= _precision(question, tally(question, rows)) + _SAME:
                break
            _move(chosen, leaving, entering, False, best, chosen)
        else:
            return True
    return False


@njit(cache=True, nogil=True)
def _construct(
    question: BoxQuestion,
    alpha: int,
    words: Bits,
    allowed: NDArray[np.int64],
    chosen: Bits,
    rows: Bits,
) -> None:
    """Draw rows from the best ``alpha`` until the box holds k, or all are taken."""
    tops = question.field.order.shape[1]
    gains = np.empty(tops, dtype=np.int64)
    trial = np.empty_like(chosen)
    chosen[:] = 0
    for step in range(tops):
        gains[:] = _NEVER
        for row in range(tops):
            if has(question.targets, row) and not has(chosen, row):
                put(chosen, trial)
                trial[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
                _box(question, trial, rows)
                here = tally(question, rows)
                gains[row] = 2 * here.tops - here.total
        left = np.count_nonzero(gains > _NEVER)
        if left == 0:
            return
        # Of equal gains the better scored come first; a sort would be long to compile.
        row = int(np.argmax(gains))
        for _ in range(np.int64(words[step] % np.uint64(min(alpha, int(left))))):
            gains[row] = _NEVER
            row = int(np.argmax(gains))
        chosen[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
        _box(question, chosen, rows)
        if tally(question, rows).persons >= question.k:
            return
        _fill(question, allowed, rows, chosen)


_NEVER = -(1 << 62)


@njit(cache=True, nogil=True)
def _fill(question: BoxQuestion, allowed: NDArray[np.int64], rows: Bits, chosen: Bits) -> None:
    """Take the top rows in the box into the set, where sets are read so."""
    if allowed[4]:
        for word in range(len(chosen)):
            chosen[word] = rows[word] & question.targets[word]


@njit(cache=True, nogil=True)
def _box(question: BoxQuestion, chosen: Bits, rows: Bits) -> None:
    """The rows in the box around a set that is not empty."""
    edge = np.zeros(len(question.field.order), dtype=np.int64)
    tighten(question.field, chosen, edge)
    content(question.field, edge, rows)


@njit(cache=True, nogil=True)
def _is_found(question: BoxQuestion, chosen: Bits, rows: Bits) -> bool:
    """Whether the box around a set is feasible; its rows are left in ``rows``."""
    if count(chosen, chosen) == 0:
        return False
    _box(question, chosen, rows)
    return bool(is_feasible(question, tally(question, rows)))


@njit(cache=True, nogil=True)
def _precision(question: BoxQuestion, here: BoxTally) -> float:
    """The share of top rows among all rows of a box, or among its members if that is less."""
    own = here.fresh_tops / here.members if here.members else 0.0
    return float(min(here.tops / here.total, own))


@njit(cache=True, nogil=True)
def _moves(
    question: BoxQuestion, chosen: Bits, allowed: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """What may leave, shape (a, m), what may enter, shape (b, n), and how many candidates that is.

    None where there are no candidates, or more than the work left; takes their number off it.
    """
    tops = question.field.order.shape[1]
    inside = np.array([row for row in range(tops) if has(chosen, row)])
    outside = np.array(
        [row for row in range(tops) if has(question.targets, row) and not has(chosen, row)]
    )
    leave, enter = max(allowed[0], 1), max(allowed[1], 1)
    ways, entries = _ways(len(inside), leave), _ways(len(outside), enter)
    number = ways + entries if allowed[0] == 0 else ways * entries
    if max(ways, entries, number) > allowed[3]:
        number = 0.0
    if number == 0.0:
        ways = entries = 0.0
    allowed[3] -= int(number)
    leaving = _combinations(inside, leave, int(ways))
    entering = _combinations(outside, enter, int(entries))
    return leaving, entering, int(number)


@njit(cache=True, nogil=True)
def _ways(rows: int, taken: int) -> float:
    """The number of combinations; of more than a quintillion one that is more than that."""
    if taken > rows:
        return 0.0
    ways = 1.0
    for index in range(min(taken, rows - taken)):
        ways = ways * (rows - index) / (index + 1)
        if ways > _MANY:
            break
    return float(np.round(ways))


_MANY = 1e18


@njit(cache=True, nogil=True)
def _combinations(rows: NDArray[np.int64], taken: int, ways: int) -> NDArray[np.int64]:
    """All combinations of ``taken`` rows in lexicographic order, shape (ways, taken)."""
    found = np.empty((ways, taken), dtype=np.int64)
    index = np.arange(taken)
    for way in range(ways):
        for place in range(taken):
            found[way, place] = rows[index[place]]
        place = taken - 1
        while place >= 0 and index[place] == len(rows) - taken + place:
            place -= 1
        if place >= 0:
            index[place] += 1
            for later in range(place + 1, taken):
                index[later] = index[later - 1] + 1
    return found


@njit(cache=True, nogil=True)
def _move(
    chosen: Bits,
    leaving: NDArray[np.int64],
    entering: NDArray[np.int64],
    single: bool,
    candidate: int,
    into: Bits,
) -> None:
    """A candidate by its number: row by row of ``leaving``, within it row by row of ``entering``.

    ``single``: the deletions first, then the insertions.
    """
    put(chosen, into)
    way, entry = candidate, candidate - len(leaving)
    if not single:
        way, entry = candidate // len(entering), candidate % len(entering)
    if way < len(leaving):
        for row in leaving[way]:
            into[row >> 6] &= ~(np.uint64(1) << np.uint64(row & 63))
    if entry >= 0:
        for row in entering[entry]:
            into[row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@njit(cache=True, nogil=True)
def _precisions(
    question: BoxQuestion,
    chosen: Bits,
    allowed: NDArray[np.int64],
    leaving: NDArray[np.int64],
    entering: NDArray[np.int64],
    number: int,
) -> NDArray[np.float64]:
    """The precision of each candidate; -1 where it holds no row, or fewer than it must."""
    precision = np.full(number, -1.0)
    trial = np.empty_like(chosen)
    rows = np.empty_like(question.field.top)
    for candidate in range(number):
        _move(chosen, leaving, entering, allowed[0] == 0, candidate, trial)
        if count(trial, trial) == 0:
            continue
        _box(question, trial, rows)
        here = tally(question, rows)
        if allowed[2] or here.persons >= question.k:
            precision[candidate] = _precision(question, here)
    return precision


SearchName = Literal[
    "auto",
    "exact",
    "peeling-ratio",
    "peeling-lift",
    "growing",
    "growing-exchange",
    "theta",
    "theta-rapid",
    "grasp",
    "insertion",
    "deletion",
    "mondrian",
    "perfect-recall",
    "perfect-precision",
]

_PLAIN: Mapping[str, Search] = {
    "perfect-recall": perfect_recall,
    "perfect-precision": perfect_precision,
    "mondrian": mondrian,
    "deletion": deletion,
    "insertion": insertion,
    "growing": growing,
    "peeling-ratio": peeling_ratio,
    "exact": exact,
    "auto": auto,
}
_WITH_PARAMETERS: Mapping[str, Callable[..., Search]] = {
    "grasp": _Grasp,
    "theta": _Theta,
    "theta-rapid": _ThetaRapid,
    "growing-exchange": GrowingExchange,
    "peeling-lift": PeelingLift,
}
LIMITED = ("exact", "auto")
"""Searches whose ``work`` and ``seconds`` stand in ``SearchTerms``, for each round divides them."""

SEARCHES = (*_PLAIN, *_WITH_PARAMETERS)
PARAMETERS = (
    "theta", "alpha", "iterations", "exchange", "candidates", "elements", "lift", "slack", "work",
    "seconds",
)  # fmt: skip
"""Of all searches."""


def search(name: str, **parameters: object) -> Search:
    """The search of that name.  Raises ``PlanError`` for another name or parameter."""
    if name not in SEARCHES:
        known = ", ".join(SEARCHES)
        msg = f"no such search: {name!r}{nearest(name, SEARCHES)} (known: {known})"
        raise PlanError(msg)
    _refuse_others(name, parameters)
    if name in _PLAIN:
        return _PLAIN[name]
    return _WITH_PARAMETERS[name](**parameters)


def takes(name: str) -> tuple[str, ...]:
    """The parameters of a search."""
    if name in _PLAIN:
        return ("work", "seconds") if name in LIMITED else ()
    made: Any = _WITH_PARAMETERS[name]
    return tuple(field.name for field in fields(made))


def _refuse_others(name: str, given: Iterable[str]) -> None:
    """Raise ``PlanError`` for a parameter that the search does not take."""
    for parameter in given:
        if parameter not in takes(name):
            takers = [f'"{other}"' for other in SEARCHES if parameter in takes(other)]
            listed = f"{', '.join(takers[:-1])} or {takers[-1]}" if takers[1:] else takers[0]
            msg = (
                f'search = "{name}" does not take {parameter}, search = {listed} does: choose '
                f"that, or leave {parameter} out"
            )
            raise PlanError(msg)
