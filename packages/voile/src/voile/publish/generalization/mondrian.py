"""Mondrian: groups cut out of the space of quasi-identifiers, each as small as it may be.

What it does: divides the rows by cuts perpendicular to one quasi-identifier at a time, each group
apart from all others, until no cut leaves valid groups; each group shows the smallest region
that covers its rows.

Source: LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006),
section 4: the greedy algorithm (figure 7), widest normalized range first, median cut; strict
(Definition 5) and relaxed (Definition 6) partitioning.  Trees as in their "Workload-aware
anonymization techniques for large-scale datasets" (TODS 2008), section 3: a node is cut into its
children.

Claim: every group satisfies all criteria.  No rows are suppressed: if all rows together are
valid there is a solution, and it publishes them all; if they are not, the answer is None, unless
persons who have several rows make the difference (where criteria are monotone, no division
publishes every row): then there is one if the first cut of some column leaves valid parts.  The
groups depend on the counted rows alone, not on their order.

Strict: the regions of two groups never overlap, where missing counts as below all other values, and
equal values of a column are never cut.
Relaxed: regions may overlap.  Atoms (combinations of quasi-identifiers) that share the median
value go to either side, those that come first in ascending order to the left, so that sides
are as even as possible; and children of a node that have fewer than k rows stay together, with the
smallest other child if they need it.  One atom is never divided.

With ``sets``: nominal columns without a tree show sets of values, the more frequent of which are
cut from the others (within the partition, as evenly as may be; equally frequent ones by code), so
that a value that most rows have soon stands alone; and small children of a node stay together,
strict or not, under the node's own name.

Algorithm: all partitions of a round are cut at once.  Each tries its columns by falling width: for
ordered columns the range of positions, for trees the share of the lowest common ancestor, for sets
the share of the values, and 1 where missing and other values mix in an order.  Cuts whose parts
have fewer than k rows are skipped in compiled code; the other criteria look at all cuts of a round
together.  A rejected partition tries its next column in the next round.

Where persons have several rows, "rows" in what cuts go by is the number of persons of each atom, so
that the median is one of persons and a cut that leaves too few is skipped; since a person may stand
on one side in several atoms, persons are counted among the other criteria.

Cost: O(u m) a round for u atoms; about log2(p) rounds for k-anonymity alone, up to m times as many
where other criteria reject.

Departures: the median cut is the most even one, so that a column is cut whenever k allows any cut
of it; missing values are cut from all others first; without ``sets`` a text column that has no
declared hierarchy is a tree of two levels, because groups of several texts show only ``*``.

Compiled cuts of Mondrian: which column of a partition to cut, and where.

What it does: for each of q partitions of atoms, orders the columns by how much of their domain the
partition covers, and proposes the first cut whose parts all have k rows; then reorders atoms
so that each part is a range of its own.

A proposal only labels atoms; nothing moves before it is accepted, so that a rejected one leaves no
trace and a partition's atoms always ascend.

Cost: O(n m) for a partition of n atoms, plus O(n log n) where a column has far more values than
the partition has atoms.

Loops stand here in place of NumPy's functions on arrays: compiling those, and the texts of their
errors, takes longer than all that is ours, and whoever publishes first on a machine waits for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.regions import (
    Atoms,
    ColumnRegions,
    least_rows,
    loss_of_regions,
    positions,
    shape_of,
)
from voile_base.compiled import njit, pays_by_now, register_jitable, uncompiled

__all__ = ["mondrian"]


class _CutTable(NamedTuple):
    """u atoms of m columns, and the shape of each column.

    Column j has one entry for each of its ``size[j]`` values in each of its layers, from
    ``start[j]`` on.  An ordered column has one layer, the ``extent`` of which is the value's
    position between 0 and 1.  A tree has a layer for each level, with the ``node`` that the
    value becomes and, as ``extent``, the share of the domain that this node covers.  A column of
    sets has one layer and needs neither.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    """For ordered columns: whether code 0 stands for missing values."""
    sets: NDArray[np.bool_]
    """Columns whose values have neither an order nor a tree."""
    size: NDArray[np.int64]
    layers: NDArray[np.int64]
    start: NDArray[np.int64]
    node: NDArray[np.int32]
    extent: NDArray[np.float64]
    unbalanced: bool
    """Whether children of a node that have fewer than k rows stay together."""


@njit(cache=True, nogil=True)
def _propose_cuts(
    table: _CutTable,
    members: NDArray[np.int64],
    ranges: NDArray[np.int64],
    skip: NDArray[np.int64],
    k: int,
    relaxed: bool,
    part: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Propose one cut for each partition; labels go to ``part``.

    ``ranges`` (q, 2): where in ``members`` each partition stands; ``skip`` (q,): how many columns
    of it were tried before.  Returns (q, 3): the index of the cut column among those tried, the
    number of parts (0: no cut is left), and the number of cuts looked at.
    """
    found = np.zeros((len(ranges), 3), np.int64)
    for q in range(len(ranges)):
        start, stop = ranges[q]
        _propose(table, members[start:stop], skip[q], k, relaxed, part[start:stop], found[q])
    return found


@njit(cache=True, nogil=True)
def _split_partitions(
    members: NDArray[np.int64],
    ranges: NDArray[np.int64],
    parts: NDArray[np.int64],
    part: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Reorder the atoms of each partition by part, in place; returns the ranges of all parts."""
    new = np.empty((_sum(parts), 2), np.int64)
    filled = 0
    for q in range(len(ranges)):
        start, stop = ranges[q]
        ends = np.zeros(parts[q] + 1, np.int64)
        for i in range(start, stop):
            ends[part[i] + 1] += 1
        ends[0] = start
        for s in range(parts[q]):
            ends[s + 1] += ends[s]
            new[filled, 0], new[filled, 1] = ends[s], ends[s + 1]
            filled += 1
        old = np.empty(stop - start, np.int64)
        for i in range(len(old)):
            old[i] = members[start + i]
        for i in range(len(old)):
            members[ends[part[start + i]]] = old[i]
            ends[part[start + i]] += 1
    return new


@register_jitable
def _propose(
    table: _CutTable,
    members: NDArray[np.int64],
    skip: int,
    k: int,
    relaxed: bool,
    part: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    m = table.codes.shape[1]
    rows = np.empty(len(members), np.int64)
    for i in range(len(members)):
        rows[i] = table.rows[members[i]]
    if _sum(rows) < 2 * k:
        return
    codes = np.empty(len(members), np.int32)
    narrow = np.zeros(m)
    layer = np.zeros(m, np.int64)
    for j in range(m):
        width, layer[j] = _width(table, members, rows, codes, j)
        narrow[j] = -width
    order = _ascending(narrow)
    for tried in range(skip, m):
        j = order[tried]
        if narrow[j] >= 0:
            return
        found[0] = tried
        found[2] += 1
        _look_up(table, members, j, layer[j], codes)
        if table.ordered[j]:
            found[1] = _cut_ordered(codes, rows, k, table.missing[j], relaxed, part)
        elif table.sets[j]:
            found[1] = _cut_set(codes, rows, k, part)
        else:
            found[1] = _cut_tree(codes, rows, k, relaxed or table.unbalanced, part)
        if found[1]:
            return


@register_jitable
def _look_up(
    table: _CutTable, members: NDArray[np.int64], j: int, layer: int, codes: NDArray[np.int32]
) -> None:
    """The codes of members in column j; of a tree, the nodes right below a layer."""
    tree = not (table.ordered[j] or table.sets[j])
    below = table.start[j] + (layer - 1) * table.size[j]
    for i in range(len(members)):
        code = table.codes[members[i], j]
        codes[i] = table.node[below + code] if tree else code


@register_jitable
def _width(
    table: _CutTable,
    members: NDArray[np.int64],
    rows: NDArray[np.int64],
    codes: NDArray[np.int32],
    j: int,
) -> tuple[float, int]:
    """How much of the domain of column j its values cover, and a tree's layer that covers them."""
    start, size = table.start[j], table.size[j]
    first = table.codes[members[0], j]
    if table.ordered[j]:
        low, high = first, first
        for i in members:
            low, high = min(low, table.codes[i, j]), max(high, table.codes[i, j])
        if low == high:
            return 0.0, 0
        if low == 0 and table.missing[j]:
            return 1.0, 0
        # Values that lie too close for a float to tell are still different.
        return max(table.extent[start + high] - table.extent[start + low], 1e-300), 0
    if table.sets[j]:
        _look_up(table, members, j, 0, codes)
        values, _ = _counted(codes, rows)
        return (len(values) - 1) / max(size - 1, 1), 0
    for layer in range(table.layers[j]):
        here = start + layer * size
        node = table.node[here + first]
        agree = True
        for i in members:
            if table.node[here + table.codes[i, j]] != node:
                agree = False
                break
        if agree:
            return (table.extent[here + first] if layer else 0.0), layer
    return 1.0, table.layers[j]


@register_jitable
def _sum(counts: NDArray[np.int64]) -> int:
    total = 0
    for count in counts:
        total += count
    return total


@register_jitable
def _ascending(keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """The order in which numbers ascend, equal ones as they stand: runs are merged in pairs."""
    n = len(keys)
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    run = 1
    while run < n:
        for start in range(0, n, 2 * run):
            middle, stop = min(start + run, n), min(start + 2 * run, n)
            left, right = start, middle
            for index in range(start, stop):
                if right == stop or (left < middle and keys[order[left]] <= keys[order[right]]):
                    merged[index] = order[left]
                    left += 1
                else:
                    merged[index] = order[right]
                    right += 1
        order, merged = merged, order
        run *= 2
    return order


@register_jitable
def _counted(
    codes: NDArray[np.int32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct codes, ascending, and the rows of each."""
    low, high = np.int64(codes[0]), np.int64(codes[0])
    for code in codes:
        low, high = min(low, np.int64(code)), max(high, np.int64(code))
    n = len(codes)
    values, counts = np.empty(n, np.int64), np.zeros(n, np.int64)
    filled = 0
    if high - low < 4 * n + 64:
        by_code = np.zeros(high - low + 1, np.int64)
        for i in range(n):
            by_code[codes[i] - low] += rows[i]
        for above in range(len(by_code)):
            if by_code[above]:
                values[filled], counts[filled] = low + above, by_code[above]
                filled += 1
        return values[:filled], counts[:filled]
    keys = np.empty(n)
    for i in range(n):
        keys[i] = codes[i]
    for i in _ascending(keys):
        if not filled or values[filled - 1] != codes[i]:
            values[filled] = codes[i]
            filled += 1
        counts[filled - 1] += rows[i]
    return values[:filled], counts[:filled]


@register_jitable
def _cut_ordered(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    k: int,
    missing: bool,
    relaxed: bool,
    part: NDArray[np.int64],
) -> int:
    """Cut at the median, or missing values from all others where they mix; the number of parts."""
    values, counts = _counted(codes, rows)
    total = _sum(counts)
    if missing and values[0] == 0 and min(counts[0], total - counts[0]) >= k:
        _divide(codes, 0, part)
        return 2
    # The most even cut: if it leaves a side with fewer than k rows, so does every other.
    cut, best, left = values[0], np.int64(0), np.int64(0)
    for n in range(len(values) - 1):
        left += counts[n]
        if min(left, total - left) > best:
            cut, best = values[n], min(left, total - left)
    if not relaxed:
        _divide(codes, cut, part)
        return 2 if best >= k else 0
    return 2 if _cut_ties(codes, rows, values, counts, part) >= k else 0


@register_jitable
def _divide(codes: NDArray[np.int32], cut: int, part: NDArray[np.int64]) -> None:
    """What is above the cut is the second part."""
    for i in range(len(codes)):
        part[i] = codes[i] > cut


@register_jitable
def _cut_ties(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    part: NDArray[np.int64],
) -> int:
    """Cut as evenly as atoms allow, those of the median value in their order; the smaller side."""
    total = _sum(counts)
    middle, left = 0, np.int64(0)
    while 2 * (left + counts[middle]) < total:
        left += counts[middle]
        middle += 1
    _divide(codes, values[middle] - 1, part)
    best = min(left, total - left)
    taken = 0
    for i in range(len(codes)):
        if codes[i] == values[middle]:
            left += rows[i]
            if min(left, total - left) > best:
                best, taken = min(left, total - left), i + 1
    for i in range(taken):
        if codes[i] == values[middle]:
            part[i] = 0
    return int(best)


@register_jitable
def _cut_set(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    k: int,
    part: NDArray[np.int64],
) -> int:
    """Cut the more frequent values from the others, as evenly as may be; the number of parts.

    Of equally frequent values the one of the lower code comes first.
    """
    values, counts = _counted(codes, rows)
    total = _sum(counts)
    rare = np.empty(len(values))
    for n in range(len(values)):
        rare[n] = -counts[n]
    order = _ascending(rare)
    rank = np.empty(len(values), np.int64)
    cut, best, left = 0, np.int64(0), np.int64(0)
    for n in range(len(values)):
        rank[order[n]] = n
        left += counts[order[n]]
        if min(left, total - left) > best:
            cut, best = n, min(left, total - left)
    for i in range(len(codes)):
        part[i] = rank[_index_of(codes[i], values)] > cut
    return 2 if best >= k else 0


@register_jitable
def _index_of(value: int, values: NDArray[np.int64]) -> int:
    """Where a value stands among distinct ones that ascend."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@register_jitable
def _cut_tree(
    nodes: NDArray[np.int32],
    rows: NDArray[np.int64],
    k: int,
    unbalanced: bool,
    part: NDArray[np.int64],
) -> int:
    """Cut into the children of a node, small ones together if they may; the number of parts."""
    values, counts = _counted(nodes, rows)
    together, smallest = 0, -1
    for n in range(len(values)):
        if counts[n] < k:
            together += counts[n]
        elif smallest < 0 or counts[n] < counts[smallest]:
            smallest = n
    if together and not unbalanced:
        return 0
    # Children that are too small together take the smallest of the others with them.
    with_them = smallest if 0 < together < k else -1
    label = np.empty(len(values), np.int64)
    parts = 0
    for n in range(len(values)):
        if counts[n] >= k and n != with_them:
            label[n] = parts
            parts += 1
        else:
            label[n] = -1
    for i in range(len(nodes)):
        found = label[_index_of(nodes[i], values)]
        part[i] = parts if found < 0 else found
    if together:
        parts += 1
    return parts if parts > 1 else 0


_LEAST, _STEPS = 100_000, 4
"""So many steps take Python as long as loading Numba, and how many a row takes in a round."""


def mondrian(problem: Problem, relaxed: bool = False, sets: bool = False) -> Solution | None:
    """Groups that no further cut leaves valid; None where not even all rows together are valid.

    ``relaxed`` and ``sets``: see the module.  ``Solution.loss`` is the product of losses,
    ``examined`` the number of cuts looked at.
    """
    atoms = Atoms(problem)
    if not len(atoms):
        return None
    whole = atoms.groups(np.zeros(len(atoms), dtype=np.int64), 1)
    valid, _ = problem.valid(whole, np.array([problem.rows]))
    if problem.monotone and not valid.all():
        return None
    partition = _Partition(problem, atoms, relaxed, sets)
    partition.cut()
    if len(partition.groups()) == 1 and not valid.all():
        return None
    return _solution(problem, atoms, partition, sets)


class _Partition:
    """A division of the atoms into ranges of ``members``."""

    def __init__(self, problem: Problem, atoms: Atoms, relaxed: bool, sets: bool) -> None:
        self.members = np.arange(len(atoms))
        self.examined = 0
        self.done: list[NDArray[np.int64]] = []
        """Ranges (q, 2) of groups that are not cut any more."""
        self._atoms = atoms
        self._relaxed = relaxed
        self._table = _cut_table(problem, atoms, sets)
        self._k = least_rows(problem)
        self._others: list[Criterion] = [
            c
            for c in problem.criteria
            if not isinstance(c, KAnonymity) or problem.counts.units is not None
        ]

    def cut(self) -> None:
        """Cut until nothing can be cut."""
        ranges = np.array([[0, len(self.members)]])
        skip = np.zeros(1, dtype=np.int64)
        part = np.zeros(len(self.members), dtype=np.int64)
        while len(ranges):
            fast = pays_by_now(_STEPS * len(self.members), _LEAST)
            found = (_propose_cuts if fast else uncompiled(_propose_cuts))(
                self._table, self.members, ranges, skip, self._k, self._relaxed, part
            )
            tried, parts, looked = found.T
            self.examined += int(looked.sum())
            self.done.append(ranges[parts == 0])
            ranges, tried, parts = ranges[parts > 0], tried[parts > 0], parts[parts > 0]
            accepted = self._accepted(ranges, parts, part)
            new = (_split_partitions if fast else uncompiled(_split_partitions))(
                self.members, ranges[accepted], parts[accepted], part
            )
            skip = np.concatenate([np.zeros(len(new), np.int64), tried[~accepted] + 1])
            ranges = np.concatenate([new, ranges[~accepted]])

    def groups(self) -> NDArray[np.int64]:
        """Where the groups begin in ``members``, ascending, shape (p,)."""
        return np.sort(np.concatenate(self.done)[:, 0])

    def _accepted(
        self, ranges: NDArray[np.int64], parts: NDArray[np.int64], part: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Which proposed cuts have parts that all satisfy the criteria beyond k."""
        if not (self._others and len(ranges)):
            return np.ones(len(ranges), dtype=np.bool_)
        first = np.cumsum(parts) - parts
        length = ranges[:, 1] - ranges[:, 0]
        index = np.repeat(ranges[:, 0] - np.cumsum(length) + length, length)
        index += np.arange(len(index))
        label = np.full(len(self.members), -1, dtype=np.int64)
        label[self.members[index]] = np.repeat(first, length) + part[index]
        groups = self._atoms.groups(label, int(parts.sum()))
        valid = np.logical_and.reduce([c.holds(groups) for c in self._others])
        accepted: NDArray[np.bool_] = np.logical_and.reduceat(valid, first)
        return accepted


def _cut_table(problem: Problem, atoms: Atoms, sets: bool) -> _CutTable:
    """The columns as compiled cuts read them."""
    shapes, missing, size, layers = [], [], [], []
    nodes: list[NDArray[np.int32]] = []
    extents: list[NDArray[np.float64]] = []
    for hierarchy, values in zip(problem.hierarchies, problem.counts.values, strict=False):
        shapes.append(shape_of(hierarchy, values, sets))
        missing.append(values.missing)
        size.append(len(values))
        if shapes[-1] != "tree":
            layers.append(1)
            nodes.append(np.arange(len(values), dtype=np.int32))
            extents.append(positions(values))
        else:
            layers.append(hierarchy.height + 1)
            nodes.extend(hierarchy.codes)
            pairs = zip(hierarchy.values, hierarchy.codes, strict=True)
            extents.extend(level.share[codes] for level, codes in pairs)
    entries = np.array(size) * np.array(layers)
    return _CutTable(
        codes=atoms.codes,
        rows=atoms.persons,
        ordered=np.array([shape == "ordered" for shape in shapes]),
        missing=np.array(missing),
        sets=np.array([shape == "set" for shape in shapes]),
        size=np.array(size),
        layers=np.array(layers),
        start=np.cumsum(entries) - entries,
        node=np.concatenate(nodes).astype(np.int32),
        extent=np.concatenate(extents).astype(np.float64),
        unbalanced=sets,
    )


def _solution(problem: Problem, atoms: Atoms, partition: _Partition, sets: bool) -> Solution:
    members, starts = partition.members, partition.groups()
    p = len(starts)
    shown = tuple(
        ColumnRegions.of(hierarchy, values, atoms.codes[members, j], starts, sets)
        for j, (hierarchy, values) in enumerate(
            zip(problem.hierarchies, problem.counts.values, strict=False)
        )
    )
    # Groups are numbered by what they show, so that their numbers do not tell how they were cut.
    order = np.lexsort([region.column.codes for region in reversed(shown)])
    number = np.empty(p, dtype=np.int64)
    number[order] = np.arange(p)
    group = np.empty(len(members), dtype=np.int64)
    group[members] = np.repeat(number, np.diff(np.append(starts, len(members))))
    return Solution(
        group=group[atoms.of_combination],
        columns=tuple(region.at(order).column for region in shown),
        suppressed=0,
        loss=loss_of_regions(problem, np.add.reduceat(atoms.rows[members], starts), shown),
        levels=None,
        examined=partition.examined,
    )
