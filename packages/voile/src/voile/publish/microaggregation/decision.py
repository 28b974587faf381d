"""Groups of like rows: MDAV, V-MDAV, and the optimum of one column; pure, on counted combinations.

A point is a distinct combination of values, and has one row or more; all rows of a point are in one
group, since they show the same.  Distances are squared differences of standardized numbers, or, of
columns of which some are texts, those of Gower: the mean over columns of |a - b| by the range for
numbers, and of 0 or 1 for texts.

Sources: MDAV, Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation" (DMKD 2005), section 3, of whose generic algorithm the groups around the two
extreme records are; V-MDAV, Solanas and Martinez-Balleste, "V-MDAV: a multivariate
microaggregation with variable group size" (COMPSTAT 2006), section 3; the optimum of one column,
Hansen and Mukherjee, "A polynomial algorithm for optimal univariate microaggregation" (IEEE TKDE
2003), by dynamic programming over the distinct values; distances, Gower, "A general coefficient of
similarity and some of its properties" (Biometrics 1971).

Cost for g points of m columns: O(g^2 m / k) within a block of ``_BLOCK`` points.  More points are
halved at the median of the column that is widest, until blocks are small: O(g m log g); groups then
end where blocks do.  V-MDAV: five times as much, and O(g^2 m) a round where points move, which they
do in one block alone.  The optimum of one column: O(g k).

Departures: all rows of a point stay together, so that a group may have more than 2k - 1; V-MDAV is
tried with several gains and beside MDAV, and of one block the points then move to nearer groups, or
change places with others, while that lowers the squares.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.ondemand import dataclass

__all__ = ["Points"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

_WHOLE = 4096
"""Points that are all compared with each other; more are halved first."""
_BLOCK = 1024
"""Of halves of halves: points that are compared with each other."""
_GAMMAS = (0.0, 0.2, 0.5, 1.1)
"""How readily V-MDAV takes further rows into a group; each is tried."""
_ROUNDS = 20
"""Times that rows may move to nearer groups."""
_GAIN = 1e-12
"""Of squares, from which a move is no matter of rounding."""


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct combinations of g values of m columns, and how many rows each has."""

    values: Floats
    """Shape (g, m): standardized numbers, or numbers by their range and codes of texts."""
    nominal: NDArray[np.bool_]
    """Shape (m,): which columns are codes."""
    rows: NDArray[np.int64]
    """Shape (g,): at least 1."""

    @classmethod
    def of(cls, values: Floats, nominal: NDArray[np.bool_], rows: NDArray[np.int64]) -> Points:
        """Points of raw numbers and codes, brought to one scale."""
        scaled = np.array(values, dtype=np.float64)
        for place in np.flatnonzero(~nominal):
            column = scaled[:, place]
            if nominal.any():
                wide = np.ptp(column) if len(column) else 0.0
            else:
                mean = np.average(column, weights=rows)
                wide = np.sqrt(np.average((column - mean) ** 2, weights=rows))
                column -= mean
            column /= wide or 1.0
        return cls(scaled, nominal, rows)

    @property
    def loops(self) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
        """As compiled loops take them."""
        return np.ascontiguousarray(self.values), self.nominal, self.rows

    def only(self, places: NDArray[np.int64]) -> Points:
        """Some of the points."""
        return Points(self.values[places], self.nominal, self.rows[places])

    def grouped(self, k: int, heuristic: Callable[[Points, int], Labels]) -> Labels:
        """The group of each point, shape (g,), from 0, by blocks of points that lie together.

        Each group has at least k rows, where there are as many.
        """
        label = np.empty(len(self.rows), dtype=np.int64)
        first, blocks = 0, _blocks(self, np.arange(len(self.rows)), k)
        if heuristic is Points.v_mdav and len(blocks) > 1:
            heuristic = partial(Points.v_mdav, rounds=0)
        for places in blocks:
            found = heuristic(self.only(places), k)
            label[places] = first + found
            first += int(found.max(initial=-1)) + 1
        return label

    def mdav(self, k: int) -> Labels:
        """Groups of k rows around points that are furthest from the middle and each other."""
        return np.asarray(_extended(self.loops, k, -1.0))

    def v_mdav(self, k: int, rounds: int = _ROUNDS) -> Labels:
        """The best of MDAV and of groups of up to 2k - 1 rows, whose points move where nearer."""
        found = []
        for gamma in (-1.0, *_GAMMAS):
            label = np.asarray(_extended(self.loops, k, gamma))
            if not self.nominal.any():
                _move(self.loops, label, k, rounds)
            found.append(label)
        return min(found, key=self.loss)

    def best_of_column(self, k: int) -> Labels:
        """The groups of one column of numbers with the least squares; points ascend."""
        return _optimal(self.values[:, 0], self.rows, k)

    def merged(self, label: Labels, valid: Callable[[Labels, int], NDArray[np.bool_]]) -> Labels:
        """Groups of which those that are not valid have joined the nearest one, until all are.

        ``valid`` tells which of so many groups are.  All are one group in the end.
        """
        while True:
            groups = int(label.max()) + 1
            good = valid(label, groups)
            if good.all() or groups == 1:
                return label
            centre = _means(self, label, groups)
            bad = int(np.flatnonzero(~good)[0])
            apart = _apart(centre, centre[bad], self.nominal)
            apart[bad] = np.inf
            label = np.where(label == bad, int(apart.argmin()), label)
            label = np.unique(label, return_inverse=True)[1]

    def loss(self, label: Labels) -> float:
        """What is lost within groups as a share of what there is, between 0 and 1.

        Squares of standardized numbers, or Gower's distances to the means and most frequent texts.
        """
        groups = int(label.max(initial=-1)) + 1
        within, whole = (
            float(_apart(self.values, _means(self, of, count)[of], self.nominal) @ self.rows)
            for of, count in ((label, groups), (np.zeros_like(label), 1))
        )
        return within / whole if whole else 0.0


def _blocks(points: Points, places: NDArray[np.int64], k: int) -> list[NDArray[np.int64]]:
    """Halves of halves, at the median of the widest column, of k rows at least."""
    if len(places) <= _WHOLE:
        return [places]
    waiting, found = [places], []
    while waiting:
        some = waiting.pop()
        if len(some) <= _BLOCK:
            found.append(some)
            continue
        values = points.values[some]
        spread = np.where(points.nominal, (values != values[0]).any(axis=0), values.std(axis=0))
        order = some[np.argsort(values[:, int(spread.argmax())], kind="stable")]
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        if min(int(points.rows[half].sum()) for half in halves) < k:
            found.append(some)
        else:
            waiting += halves
    return found


def _apart(values: Floats, centre: Floats, nominal: NDArray[np.bool_]) -> Floats:
    """The distances of points and centres, shape (g,)."""
    if nominal.any():
        each = np.where(nominal, values != centre, np.abs(values - centre))
        return np.asarray(each.sum(axis=1))
    return np.asarray(((values - centre) ** 2).sum(axis=1))


def _means(points: Points, label: Labels, groups: int) -> Floats:
    """Shape (groups, m): the mean of each group; of codes the least of the most frequent."""
    centre = np.zeros((groups, points.values.shape[1]))
    total = np.bincount(label, points.rows, groups)
    for place, codes in enumerate(points.nominal):
        column = points.values[:, place]
        if not codes:
            centre[:, place] = np.bincount(label, column * points.rows, groups) / total
            continue
        width = int(column.max(initial=0)) + 1
        cell = label * width + column.astype(np.int64)
        often = np.bincount(cell, points.rows, groups * width).reshape(groups, width)
        centre[:, place] = often.argmax(axis=1)
    return centre


_Loops = tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]
"""Values, which columns are codes, and rows, as compiled loops take them."""


@njit(cache=True, nogil=True)
def _between(data: _Loops, one: int, other: Floats) -> float:
    """The distance of a point and a place."""
    values, nominal, _ = data
    mixed, total = nominal.any(), 0.0
    for column in range(len(other)):
        gap = values[one, column] - other[column]
        if not mixed:
            total += gap * gap
        elif nominal[column]:
            total += gap != 0
        else:
            total += abs(gap)
    return total


@njit(cache=True, nogil=True)
def _rows_of(data: _Loops, some: Labels) -> int:
    total = 0
    for point in some:
        total += data[2][point]
    return total


@njit(cache=True, nogil=True)
def _centre(data: _Loops, left: Labels) -> Floats:
    """The mean of some points; of codes the most frequent one."""
    values, nominal, rows = data
    centre = np.zeros(values.shape[1])
    weight = _rows_of(data, left)
    for column in range(values.shape[1]):
        if nominal[column]:
            most = 0
            for point in left:
                most = max(most, int(values[point, column]))
            often = np.zeros(most + 1, np.int64)
            for point in left:
                often[int(values[point, column])] += rows[point]
            centre[column] = often.argmax()
        else:
            total = 0.0
            for point in left:
                total += values[point, column] * rows[point]
            centre[column] = total / weight
    return centre


@njit(cache=True, nogil=True)
def _furthest(data: _Loops, left: Labels, centre: Floats) -> int:
    found, most = left[0], -1.0
    for point in left:
        gap = _between(data, point, centre)
        if gap > most:
            found, most = point, gap
    return int(found)


@njit(cache=True, nogil=True)
def _gather(data: _Loops, left: Labels, seed: int, k: int, label: Labels, group: int) -> Labels:
    """Label a point and its nearest ones until they have k rows; returns those that are left."""
    near, gaps, held = np.empty(k, np.int64), np.full(k, np.inf), 0
    for point in left:
        gap = -1.0 if point == seed else _between(data, point, data[0][seed])
        if held == k and gap >= gaps[k - 1]:
            continue
        at = min(held, k - 1)
        while at > 0 and gaps[at - 1] > gap:
            gaps[at], near[at] = gaps[at - 1], near[at - 1]
            at -= 1
        gaps[at], near[at] = gap, point
        held = min(held + 1, k)
    taken = 0
    for at in range(held):
        if taken < k:
            label[near[at]] = group
            taken += data[2][near[at]]
    return left[label[left] < 0]


@njit(cache=True, nogil=True)
def _nearest_other(data: _Loops, left: Labels, point: int) -> float:
    """How near the nearest other point is."""
    least = np.inf
    for other in left:
        if other != point:
            least = min(least, _between(data, other, data[0][point]))
    return least


@njit(cache=True, nogil=True)
def _extend(
    data: _Loops, left: Labels, terms: tuple[int, float], label: Labels, group: int
) -> Labels:
    """Take further points into a group while they are nearer to it than to others that are left."""
    k, gamma = terms
    members = np.flatnonzero(label == group)
    size, waiting = _rows_of(data, members), _rows_of(data, left)
    inside = np.full(len(left), np.inf)
    for place in range(len(left)):
        for member in members:
            gap = _between(data, left[place], data[0][member])
            inside[place] = min(inside[place], gap)
    while len(left):
        best = int(inside.argmin())
        point, more = left[best], data[2][left[best]]
        if size + more > 2 * k - 1 or waiting - more < k:
            break
        if inside[best] >= gamma * _nearest_other(data, left, point):
            break
        label[point] = group
        size, waiting = size + more, waiting - more
        stays = left != point
        left, inside = left[stays], inside[stays]
        for place in range(len(left)):
            gap = _between(data, left[place], data[0][point])
            inside[place] = min(inside[place], gap)
    return left


@njit(cache=True, nogil=True)
def _extended(data: _Loops, k: int, gamma: float) -> Labels:
    """MDAV where gamma is below 0, else V-MDAV."""
    values, _, rows = data
    label = np.full(len(rows), -1, np.int64)
    left = np.arange(len(rows))
    group = 0
    middle = _centre(data, left)
    waiting = _rows_of(data, left)
    while waiting >= 2 * k:
        if gamma < 0:
            middle = _centre(data, left)
        first = _furthest(data, left, middle)
        second = _furthest(data, left, values[first])
        left = _gather(data, left, first, k, label, group)
        if gamma >= 0:
            left = _extend(data, left, (k, gamma), label, group)
        elif waiting >= 3 * k and label[second] < 0:
            group += 1
            left = _gather(data, left, second, k, label, group)
        group += 1
        waiting = _rows_of(data, left)
    _leave(data, left, k, label, group)
    return label


@njit(cache=True, nogil=True)
def _leave(data: _Loops, left: Labels, k: int, label: Labels, group: int) -> None:
    """Points that are left are a group, or, where too few, each joins that of its nearest point."""
    if group == 0 or _rows_of(data, left) >= k:
        label[left] = group
        return
    labelled = np.flatnonzero(label >= 0)
    for point in left:
        least = np.inf
        for other in labelled:
            gap = _between(data, point, data[0][other])
            if gap < least:
                label[point], least = label[other], gap


@njit(cache=True, nogil=True)
def _squares(one: Floats, total: Floats, size: float) -> float:
    """The square of how far a point lies from the mean of a group."""
    gap = 0.0
    for column in range(len(one)):
        gap += (one[column] - total[column] / size) ** 2
    return gap


@njit(cache=True, nogil=True)
def _better_group(one: Floats, weight: int, own: int, sums: tuple[Floats, Floats], k: int) -> int:
    """The group in which a point adds least to the squares; its own where none is better."""
    total, size = sums
    if size[own] - weight < k:
        return own
    freed = _squares(one, total[own], size[own]) * size[own] * weight / (size[own] - weight)
    best, gain = own, _GAIN
    for other in range(len(size)):
        if other != own:
            cost = _squares(one, total[other], size[other])
            cost *= size[other] * weight / (size[other] + weight)
            if freed - cost > gain:
                best, gain = other, freed - cost
    return best


@njit(cache=True, nogil=True)
def _better_partner(data: _Loops, label: Labels, point: int, sums: tuple[Floats, Floats]) -> int:
    """The point with which one changes groups at the most gain; -1 for none."""
    values, _, rows = data
    total, size = sums
    own, partner, gain = label[point], -1, _GAIN
    for other in range(len(rows)):
        their = label[other]
        if their == own or rows[other] != rows[point]:
            continue
        change = 0.0  # squares are sums of squares less |total|^2 / size
        for column in range(values.shape[1]):
            step = rows[point] * (values[other, column] - values[point, column])
            change += step * (2 * total[own, column] + step) / size[own]
            change -= step * (2 * total[their, column] - step) / size[their]
        if change > gain:
            partner, gain = other, change
    return partner


@njit(cache=True, nogil=True)
def _put(data: _Loops, label: Labels, point: int, group: int, sums: tuple[Floats, Floats]) -> None:
    """Move a point to a group, and keep the sums."""
    values, _, rows = data
    total, size = sums
    for column in range(values.shape[1]):
        moved = rows[point] * values[point, column]
        total[label[point], column] -= moved
        total[group, column] += moved
    size[label[point]] -= rows[point]
    size[group] += rows[point]
    label[point] = group


@njit(cache=True, nogil=True)
def _move(data: _Loops, label: Labels, k: int, rounds: int) -> None:
    """Let points move to other groups, or change groups with others, while squares become less."""
    values, _, rows = data
    sums = np.zeros((label.max() + 1, values.shape[1])), np.zeros(label.max() + 1)
    for point in range(len(rows)):
        sums[1][label[point]] += rows[point]
        for column in range(values.shape[1]):
            sums[0][label[point], column] += rows[point] * values[point, column]
    for _ in range(rounds):
        moved = False
        for point in range(len(rows)):
            own = label[point]
            best = _better_group(values[point], rows[point], own, sums, k)
            partner = _better_partner(data, label, point, sums) if best == own else -1
            if partner >= 0:
                best = label[partner]
                _put(data, label, partner, own, sums)
            if best != own:
                _put(data, label, point, best, sums)
                moved = True
        if not moved:
            return


@njit(cache=True, nogil=True)
def _optimal(values: Floats, rows: NDArray[np.int64], k: int) -> Labels:
    """The groups of consecutive points with the least squares, of at least k rows each."""
    count = len(rows)
    size, total, square = np.zeros(count + 1), np.zeros(count + 1), np.zeros(count + 1)
    for point in range(count):
        size[point + 1] = size[point] + rows[point]
        total[point + 1] = total[point] + rows[point] * values[point]
        square[point + 1] = square[point] + rows[point] * values[point] ** 2
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    start = np.zeros(count + 1, np.int64)
    for stop in range(1, count + 1):
        ended = (
            -1
        )  # the latest start of a group of k rows: two such groups are never worse than one
        for first in range(stop - 1, -1, -1):
            held = size[stop] - size[first]
            if held < k:
                continue
            if ended < 0:
                ended = first
            elif size[ended] - size[first] >= k and best[ended] < np.inf:
                break
            squares = square[stop] - square[first] - (total[stop] - total[first]) ** 2 / held
            if best[first] + squares < best[stop]:
                best[stop], start[stop] = best[first] + squares, first
    label = np.zeros(count, np.int64)
    stop, group = count, 0
    while stop > 0 and best[count] < np.inf:
        label[start[stop] : stop] = group
        stop, group = start[stop], group + 1
    return label
