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
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.atoms import Atoms, least_rows, loss_of_regions
from voile.publish.generalization.cutting import CutTable, propose_cuts, split_partitions
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.regions import positions, regions, shape_of
from voile_base.compiled import pays_by_now, uncompiled

__all__ = ["mondrian"]

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
            found = (propose_cuts if fast else uncompiled(propose_cuts))(
                self._table, self.members, ranges, skip, self._k, self._relaxed, part
            )
            tried, parts, looked = found.T
            self.examined += int(looked.sum())
            self.done.append(ranges[parts == 0])
            ranges, tried, parts = ranges[parts > 0], tried[parts > 0], parts[parts > 0]
            accepted = self._accepted(ranges, parts, part)
            new = (split_partitions if fast else uncompiled(split_partitions))(
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


def _cut_table(problem: Problem, atoms: Atoms, sets: bool) -> CutTable:
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
    return CutTable(
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
        regions(hierarchy, values, atoms.codes[members, j], starts, sets)
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
