"""The ordered values of a column that single-dimensional cuts divide into intervals.

What it does: puts the values of a column that stand in counted rows in an order, and gives the
share of the domain that any interval of them covers.

An ordered column keeps its own order, a missing value first; an interval that mixes missing and
other values covers everything.  The values of a tree stand so that those below one node are
neighbours; an interval covers what its lowest common ancestor covers.

Claim: a wider interval never covers less, as far as the hierarchy's own shares never fall upwards.

Cost: O(d log d) for d values; the share of an interval O(1), of a tree O(levels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.problem import Problem
from voile.publish.generalization.regions import domain_scale, is_ordered, positions
from voile_base.compiled import njit, register_jitable

__all__ = ["Axis", "Cover", "axis_of", "cover", "covers"]


class Cover(NamedTuple):
    """What intervals of the q values cover; compiled code reads it."""

    ordered: bool
    missing: bool
    """For ordered columns: whether the first value stands for missing ones."""
    own: NDArray[np.float64]
    """Shape (q,): what each value covers alone."""
    node: NDArray[np.int32]
    """Shape (levels, q): of trees, what each value becomes."""
    extent: NDArray[np.float64]
    """Shape (levels, q): of trees, what that covers; else one line with the values' positions."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The q values of one column in their order."""

    values: NDArray[np.int32]
    """Shape (q,): codes of the values that stand in counted rows."""
    rank: NDArray[np.int32]
    """Shape (d,): the index of each code; -1 where it stands in no row."""
    cover: Cover

    def __len__(self) -> int:
        return len(self.values)

    def shares(self, interval: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each interval covers; ``interval`` (q,) ascends from 0 without gaps."""
        starts = np.flatnonzero(np.diff(interval, prepend=-1))
        stops = np.append(starts[1:], len(interval))
        return covers(self.cover, starts, stops)


def axis_of(problem: Problem, column: int) -> Axis:
    """The axis of a quasi-identifier."""
    hierarchy, values = problem.hierarchies[column], problem.counts.values[column]
    present = np.unique(problem.quasi_identifiers[:, column])
    if ordered := is_ordered(hierarchy, values):
        extent = positions(values)[None, :] * domain_scale(hierarchy, values)
        node = np.zeros((1, len(values)), dtype=np.int32)
    else:
        levels = zip(hierarchy.values, hierarchy.codes, strict=True)
        extent = np.array([level.share[codes] for level, codes in levels])
        node = np.array(hierarchy.codes)
        present = present[np.lexsort(node[:, present])]
    rank = np.full(len(values), -1, dtype=np.int32)
    rank[present] = np.arange(len(present))
    cover = Cover(
        ordered=ordered,
        missing=bool(values.missing and len(present) and present[0] == 0),
        own=hierarchy.values[0].share[hierarchy.codes[0][present]],
        node=np.ascontiguousarray(node[:, present]),
        extent=np.ascontiguousarray(extent[:, present]),
    )
    return Axis(present, rank, cover)


@register_jitable
def cover(axis: Cover, start: int, stop: int) -> float:
    """The share of the domain that the values [start, stop) cover."""
    last = stop - 1
    if axis.ordered:
        own = axis.own[start]
        if start == last:
            return float(own)
        if axis.missing and start == 0:
            return 1.0
        return float(min(1.0, own + (1 - own) * (axis.extent[0, last] - axis.extent[0, start])))
    for level in range(len(axis.node)):
        if axis.node[level, start] == axis.node[level, last]:
            return float(axis.extent[level, start])
    return 1.0


@njit(cache=True, nogil=True)
def covers(axis: Cover, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
    """The shares that several intervals cover."""
    shares = np.empty(len(starts))
    for n in range(len(starts)):
        shares[n] = cover(axis, starts[n], stops[n])
    return shares
