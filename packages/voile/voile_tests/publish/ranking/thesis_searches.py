"""The searches of the thesis written from its text, slowly: sets of rows, every box counted anew.

Source: "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011), 4.1 to 5.3.  ``draw(n)`` gives a number
below n.  Nothing is shared with the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np


@dataclass
class ThesisTable:
    """Rows (n, m), the first ``tops`` of them the best, in order; what a solution must satisfy."""

    values: np.ndarray
    tops: int
    k: int
    precision: Fraction

    def inside(self, chosen):
        """All rows in the box around a set of top rows."""
        own = self.values[sorted(chosen)]
        low, high = own.min(axis=0), own.max(axis=0)
        held = ((self.values >= low) & (self.values <= high)).all(axis=1)
        return set(np.flatnonzero(held).tolist())

    def share(self, chosen):
        """Precision of the box around a set."""
        rows = self.inside(chosen)
        return Fraction(len(self.best(rows)), len(rows))

    def gain(self, chosen):
        """Top rows less others in the box."""
        rows = self.inside(chosen)
        return 2 * len(self.best(rows)) - len(rows)

    def best(self, rows):
        """The top rows among some."""
        return {row for row in rows if row < self.tops}

    def is_feasible(self, chosen):
        """Whether the box holds k rows, which privacy asks for."""
        return bool(chosen) and len(self.inside(chosen)) >= self.k

    def succeeds(self, chosen):
        """Whether it is precise besides."""
        return self.is_feasible(chosen) and self.share(chosen) >= self.precision


@dataclass
class Reading:
    """What the text leaves open."""

    keeps_small: bool = False
    """Candidates of fewer than k rows stay on the list."""
    fills: bool = False
    """A set takes in all top rows of its box."""
    stops_at_first: bool = False
    """Deletion ends where the deletion that gains most would leave fewer than k rows."""


AS_PRINTED = Reading()


def deletion(table, reading=AS_PRINTED):
    """Algorithm 1: the set at which it ends; of equal gains the worse ranked row is given up."""
    chosen = set(range(table.tops))
    while not table.succeeds(chosen):
        options = []
        for row in chosen:
            rest = chosen - {row}
            if not rest or row in table.inside(rest):
                continue
            if reading.stops_at_first or table.is_feasible(rest):
                kept = table.best(table.inside(rest))
                options.append((table.gain(rest), len(kept), row, kept))
        if not options:
            return chosen
        _, _, _, kept = max(options, key=lambda option: option[:3])
        if not table.is_feasible(kept):
            return chosen
        chosen = kept
    return chosen


def insertion(table):
    """4.2: from nothing, by the greatest gain, the better ranked first, while it stays precise."""
    chosen = set()
    while True:
        options = [
            (table.gain(chosen | {row}), -row)
            for row in range(table.tops)
            if row not in chosen and table.share(chosen | {row}) >= table.precision
        ]
        if not options:
            return chosen
        chosen = table.best(table.inside(chosen | {-max(options)[1]}))


def exchanges(table, chosen, m, n):
    """All m-n exchanges: for each m rows in the set, for each n top rows not in it."""
    outside = set(range(table.tops)) - chosen
    for leaving, entering in product(
        combinations(sorted(chosen), m), combinations(sorted(outside), n)
    ):
        yield (chosen - set(leaving)) | set(entering)


def single_moves(table, chosen):
    """The deletion neighbours, then the insertion neighbours."""
    for row in sorted(chosen):
        yield chosen - {row}
    for row in sorted(set(range(table.tops)) - chosen):
        yield chosen | {row}


def local_search(table, start, moves, draw, theta, iterations, reading):
    """Algorithm 4: draw among the candidates at least as precise as the best less theta."""
    chosen = start
    for _ in range(iterations):
        if table.succeeds(chosen):
            break
        candidates = [
            (table.share(one), one)
            for one in moves(table, chosen)
            if one and (reading.keeps_small or table.is_feasible(one))
        ]
        if not candidates:
            break
        bound = max(share for share, _ in candidates) - theta
        listed = [one for share, one in candidates if share >= bound]
        chosen = listed[draw(len(listed))]
        if reading.fills and not table.succeeds(chosen):
            chosen = table.best(table.inside(chosen))
    return chosen


def theta(table, draw, reading, exchange=(1, 1), iterations=3):
    """5.2, from Deletion's set."""
    moves: Callable = lambda t, chosen: exchanges(t, chosen, *exchange)  # noqa: E731 - one use
    start = deletion(table, reading)
    return local_search(table, start, moves, draw, Fraction(4, 100), iterations, reading)


def theta_rapid(table, draw, reading, iterations=6):
    """5.3, from Deletion's set."""
    start = deletion(table, reading)
    return local_search(table, start, single_moves, draw, Fraction(4, 100), iterations, reading)


def grasp(table, draw, reading, alpha=3, exchange=(1, 1)):
    """Algorithms 2 and 3."""
    chosen = set()
    while not table.is_feasible(chosen):
        options = sorted(
            (-table.gain(chosen | {row}), row) for row in range(table.tops) if row not in chosen
        )
        if not options:
            return chosen
        listed = options[:alpha]
        chosen = chosen | {listed[draw(len(listed))][1]}
        if reading.fills and not table.is_feasible(chosen):
            chosen = table.best(table.inside(chosen))
    while not table.succeeds(chosen):
        if reading.fills:
            chosen = table.best(table.inside(chosen))
        candidates = [
            one
            for one in exchanges(table, chosen, *exchange)
            if reading.keeps_small or table.is_feasible(one)
        ]
        if not candidates:
            break
        best = max(candidates, key=table.share)
        if table.share(best) <= table.share(chosen):
            break
        chosen = best
    return chosen
