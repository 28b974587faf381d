"""Who goes with those who leave a series: the decision, on sizes of classes and counts of values.

What it does: a class is a set of rows that stood in the same groups of all releases.  When some of
its rows leave the table, comparing releases shows which rows they were.  So others go with them,
that enough rows go at once and enough stay, or none stays; all of them are published no more.
Enough are k, and so many that any of them together have l different values.

Claim: every set of rows that anybody singles out by intersecting and subtracting the groups of any
releases is a union of classes, each of which has at least k rows and l values.  And among the rows
that go at once each is a leaver's with equal chances: how many go depends on how many left and on
the values of the whole class, which its group shows, and which ones on a uniform draw that heeds no
value.  A rule that looked at the values drawn would tell: of {a, a, a, b, c, d} with l = 2, a pair
that breaks l can only be drawn where the leaver has a, so that drawing again, or giving up the
class, would say that he has.

Cost: O(c + p log p) for c classes and p pairs of a class and a value that criteria compare.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.models.l_diversity import DistinctDiversity
from voile.table.matching import Members
from voile_base.randomness import Key

__all__ = ["enough_rows", "settled", "stayers_to_withhold"]


def settled(members: Members, criteria: Sequence[Criterion], k: int, key: Key) -> Members:
    """The members without those who left, and without the rows that go with them.

    ``key`` is of this release alone.
    """
    before = members.before
    enough = np.full(len(before), k)
    for one in criteria:
        if isinstance(one, DistinctDiversity):
            pairs = members.values_before(one.column)
            enough = np.maximum(enough, enough_rows(*pairs, len(before), one.l))
    stayers = stayers_to_withhold(before, members.present, enough)
    return members.withheld(stayers, key) if stayers.any() else members


def enough_rows(
    group: NDArray[np.int64], rows: NDArray[np.int64], classes: int, different: int
) -> NDArray[np.int64]:
    """The least number of rows of each class of which any have so many different values, (c,).

    ``group`` and ``rows`` (p,) are the class and the rows of each pair of class and value that
    there is.  Some classes have fewer rows than that.
    """
    order = np.lexsort((-rows, group))
    group, rows = group[order], rows[order]
    place = np.arange(len(group)) - np.searchsorted(group, group)
    most = place < different - 1
    summed = np.bincount(group[most], rows[most], classes)
    return np.asarray(summed + 1, dtype=np.int64)


def stayers_to_withhold(
    before: NDArray[np.int64], present: NDArray[np.int64], enough: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """How many of the rows that are still there go with those that are not, shape (c,).

    ``before`` and ``present`` (c,) count the rows of each class in the newest release, and of
    these those that are still there as they were; ``enough`` (c,) must go, and must stay.
    """
    left = before - present
    company = np.where(left > 0, np.maximum(enough - left, 0), 0)
    few = (left > 0) & (present - company < enough)
    return np.asarray(np.where(few, present, company), dtype=np.int64)
