"""Which cells are blanked: the cheapest set of columns for each combination; pure, on counts.

**A blank matches anything.**  A combination u needs a set S of columns to be blanked so that k rows
of the table agree with it in all others.  Rows of the table are compared by what they hold and not
by what is left of them, so that no combination counts on blanks of others, and the choice of one
does not touch that of another: of all sets of columns, in the order of their cost, each combination
takes the first that does.  So the total is the least there is, without any search, and every
published combination is matched by k rows: those that agree still do, whatever was blanked in them.

(If blanks of others counted, one row that is blank altogether would match every other: k - 1 such
rows would do for any table, and hide nobody.)

With limits per column the choices are tied.  All sets that do, and of which no part does, are then
variables of an integer program of least cost (HiGHS), whose bound is told where its nodes are
spent.

**A blank is a value of its own.**  Groups must agree in their blanks, too, which is NP-hard
(Meyerson and Williams, "On the complexity of optimal k-anonymity", PODS 2004).  For sets of columns
in the order of their cost, combinations that fall short and agree outside of a set are blanked
together where they have k rows; what is left joins the published combination that costs least.  The
cost of the first way is a bound: k rows that show the same agree in what they show.

Source: the task is that of Hundepool and others, "Statistical Disclosure Control" (2012), section
3.4.2.2; the algorithm is ours.

Cost for g combinations of m columns: O(g) for each set that is tried, until none falls short, at
most ``_MOST_SETS``; the rest are blanked altogether.  With limits, the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InfeasibleError
from voile_base.ondemand import on_demand

__all__ = ["Blanks", "Cells", "blanked_by_match", "blanked_by_value"]

optimize = on_demand("scipy.optimize")
sparse = on_demand("scipy.sparse")

Mask = NDArray[np.bool_]
Labels = NDArray[np.int64]

_MOST_SETS = 4096
"""Sets of columns that are tried."""
_NODES = 20_000
"""Of the integer program."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The counted combinations of a table, and what blanking costs."""

    codes: NDArray[np.int64]
    """Shape (g, m + s): values of the columns, then of the strata."""
    missing: Mask
    """Shape (g, m): cells that hold no value."""
    rows: Labels
    """Shape (g,)."""
    cost: tuple[float, ...]
    """Of a cell of each of the m columns; above 0."""
    held: Callable[[Labels, int], Labels]
    """How many rows, or persons, each of so many groups has."""

    @property
    def columns(self) -> int:
        """How many may be blanked."""
        return int(self.missing.shape[1])

    def groups(self, hidden: Mask) -> Labels:
        """The combinations that agree outside of some columns, numbered; shape (g,)."""
        compared = np.ones(self.codes.shape[1], dtype=np.bool_)
        compared[: self.columns] = ~hidden
        shown = self.codes[:, compared]
        label = np.zeros(len(self.rows), dtype=np.int64)
        for column in shown.T:
            label = label * (int(column.max(initial=0)) + 1) + column
            label = np.unique(label, return_inverse=True)[1]
        return label

    def enough(self, hidden: Mask, k: int) -> Mask:
        """Which combinations have k rows that agree with them outside of some columns."""
        label = self.groups(hidden)
        return np.asarray((self.held(label, int(label.max(initial=-1)) + 1) >= k)[label])

    def sets(self) -> Iterator[tuple[float, Mask]]:
        """Sets of columns with the cost of a row, the cheapest first."""
        order = sorted(range(self.columns), key=lambda c: (self.cost[c], -self.codes[:, c].max()))
        number = count()
        heap: list[tuple[float, int, int, tuple[int, ...]]] = [(0.0, 0, next(number), ())]
        while heap:
            cost, _, _, some = heappop(heap)
            hidden = np.zeros(self.columns, dtype=np.bool_)
            hidden[[order[place] for place in some]] = True
            yield cost, hidden
            for place in range(some[-1] + 1 if some else 0, self.columns):
                more = cost + self.cost[order[place]]
                heappush(heap, (more, len(some) + 1, next(number), (*some, place)))


@dataclass(frozen=True, eq=False)
class Blanks:
    """The decision."""

    hidden: Mask
    """Shape (g, m): which cells of each combination are blanked."""
    cost: float
    """Of all rows."""
    bound: float
    """No decision of its kind costs less."""

    @classmethod
    def of(cls, cells: Cells, hidden: Mask, bound: float | None = None) -> Blanks:
        """With its cost; without a bound it is the least."""
        hidden = hidden & ~cells.missing
        cost = float(cells.rows @ (hidden @ np.array(cells.cost)))
        return cls(hidden, cost, cost if bound is None else min(bound, cost))

    @property
    def least(self) -> bool:
        """Whether no decision of its kind is cheaper."""
        return self.cost <= self.bound * (1 + 1e-9)


def blanked_by_match(cells: Cells, k: int, limits: Sequence[int | None]) -> Blanks:
    """The least blanks where a blank matches anything; at most so many cells of each column.

    Raises ``InfeasibleError`` where limits leave none.
    """
    hidden = np.zeros((len(cells.rows), cells.columns), dtype=np.bool_)
    for own, some in _by_missing(cells):
        hidden[some] = _cheapest(cells, some, own, k)
    found = Blanks.of(cells, hidden)
    used = found.hidden.T @ cells.rows
    if all(limit is None or cell <= limit for cell, limit in zip(used, limits, strict=True)):
        return found
    return _within_limits(cells, k, limits, found)


def _by_missing(cells: Cells) -> Iterator[tuple[Mask, Labels]]:
    """The combinations that miss the same cells, which match anything and cost nothing."""
    patterns, which = np.unique(cells.missing, axis=0, return_inverse=True)
    for number, own in enumerate(patterns):
        yield own, np.flatnonzero(which.reshape(-1) == number)


def _cheapest(cells: Cells, some: Labels, own: Mask, k: int) -> Mask:
    """For some combinations the cheapest set of columns, shape (some, m)."""
    hidden = np.zeros((len(some), cells.columns), dtype=np.bool_)
    open_ = np.ones(len(some), dtype=np.bool_)
    for tried, (_, set_) in enumerate(cells.sets()):
        if (set_ & own).any():
            continue
        if tried >= _MOST_SETS or not open_.any():
            break
        done = open_ & cells.enough(set_ | own, k)[some]
        hidden[done] = set_
        open_ &= ~done
    hidden[open_] = ~own
    return hidden


def _within_limits(cells: Cells, k: int, limits: Sequence[int | None], free: Blanks) -> Blanks:
    """The least blanks that keep to limits, by an integer program over minimal sets."""
    places, sets = _minimal_sets(cells, k)
    weight = cells.rows[places]
    price = weight * (sets @ np.array(cells.cost))
    each = np.unique(places, return_inverse=True)[1]
    ones = np.ones(len(places))
    one_of = sparse.csr_array((ones, (each, np.arange(len(places)))))
    bounded = [c for c, limit in enumerate(limits) if limit is not None]
    used = sparse.csr_array((sets[:, bounded] * weight[:, np.newaxis]).T.astype(np.float64))
    most = [float(limits[c] or 0) for c in bounded]
    found = optimize.milp(
        price,
        constraints=[
            optimize.LinearConstraint(one_of, 1, 1),
            optimize.LinearConstraint(used, -np.inf, most),
        ],
        integrality=np.ones(len(places)),
        bounds=optimize.Bounds(0, 1),
        options={"node_limit": _NODES},
    )
    if found.x is None:
        msg = (
            "no release exists that keeps to [method] limits: every choice of cells that leaves "
            f"k = {k} rows alike blanks more; raise a limit, ask for a smaller k, or take another "
            "column out of limits"
        )
        raise InfeasibleError(msg)
    hidden = np.zeros_like(free.hidden)
    chosen = found.x > 0.5
    hidden[places[chosen]] = sets[chosen]
    return Blanks.of(cells, hidden, max(free.cost, float(found.mip_dual_bound)))


def _minimal_sets(cells: Cells, k: int) -> tuple[Labels, Mask]:
    """For combinations that fall short, all sets that do and of which no part does."""
    places: list[Labels] = []
    sets: list[Mask] = []
    for own, some in _by_missing(cells):
        done: list[tuple[Mask, Mask]] = []
        for tried, (_, set_) in enumerate(cells.sets()):
            if (set_ & own).any() or tried >= _MOST_SETS:
                continue
            good = cells.enough(set_ | own, k)[some]
            for smaller, those in done:
                if not (smaller & ~set_).any():
                    good &= ~those
            if good.any():
                done.append((set_, good))
                places.append(some[good])
                sets.append(np.tile(set_, (int(good.sum()), 1)))
    return np.concatenate(places), np.concatenate(sets)


def blanked_by_value(cells: Cells, k: int) -> Blanks:
    """Few blanks where a blank is a value of its own: k rows show the same, blanks included."""
    bound = blanked_by_match(cells, k, [None] * cells.columns).cost
    hidden = np.zeros((len(cells.rows), cells.columns), dtype=np.bool_)
    open_ = ~cells.enough(hidden[0], k) if len(hidden) else np.zeros(0, dtype=np.bool_)
    for tried, (_, set_) in enumerate(cells.sets()):
        if tried >= _MOST_SETS or not open_.any():
            break
        label = np.where(open_, cells.groups(set_), -1)
        good = cells.held(label, int(label.max()) + 1) >= k
        done = open_ & good[label]
        hidden[done] = set_
        open_ &= ~done
    for place in np.flatnonzero(open_).tolist():
        _join(cells, hidden, place, k)
    return Blanks.of(cells, hidden, bound)


def _join(cells: Cells, hidden: Mask, place: int, k: int) -> None:
    """Blank a combination together with the published ones that cost least, in place.

    Both show what they have in common; all that show the same then stay together.
    """
    shown = _shown(cells, hidden)
    label = np.unique(shown, axis=0, return_inverse=True)[1].reshape(-1)
    groups = int(label.max()) + 1
    if cells.held(label, groups)[label[place]] >= k:
        return
    first = np.unique(label, return_index=True)[1]
    width = cells.columns
    same_stratum = (cells.codes[first, width:] == cells.codes[place, width:]).all(axis=1)
    differs = shown[first, :width] != shown[place, :width]
    price = np.array(cells.cost)
    rows = np.bincount(label, cells.rows, groups)
    added = (differs & ~hidden[first]) @ price * rows
    added = added + (differs & ~hidden[place]) @ price * rows[label[place]]
    added[~same_stratum | (first == first[label[place]])] = np.inf
    other = int(added.argmin())
    if not np.isfinite(added[other]):
        return
    together = np.isin(label, [other, label[place]])
    hidden[together] |= differs[other]
    if cells.held(np.where(together, 0, -1), 1)[0] < k:
        _join(cells, hidden, place, k)


def _shown(cells: Cells, hidden: Mask) -> NDArray[np.int64]:
    """What combinations show: a blank is a missing value, which has code -1 here."""
    shown = cells.codes.copy()
    shown[:, : cells.columns][hidden | cells.missing] = -1
    return shown
