"""Groups of a ranking: what a search returns, and how groups repeat until the top is used up.

What a group shows is the smallest box around its members, and their range of scores.  Its members
are the rows in the box that no earlier group has published, so nobody is published twice.  Boxes
may overlap.  A group is *feasible* if

- it has at least k members, or members of k persons: it stays k-anonymous for somebody who takes
  the other groups away;
- all top rows in the box, published before or not, are at least ``precision`` of all rows of the
  table in the box;
- its own top rows are at least ``precision`` of its members: else a box over rows that were
  published before could pass off a group of mostly other rows as precise.

Termination: each group publishes a top row at least.  A round starts from the best ``batch`` top
rows that are left; where it finds nothing the batch is doubled, up to all that are left.  Only
the last attempt, from all of them, may take all of the work that the terms allow, and it says
whether nothing more was possible or nothing was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile_base.randomness import Key

__all__ = ["Group", "RankedBoxes", "RankingGroup", "Search", "group_of", "publish_groups"]


@dataclass(frozen=True, eq=False)
class Group:
    """One box and who is in it.  ``members`` is private: numbers of rows."""

    low: NDArray[np.int64]
    """(m,): least value of each attribute."""
    high: NDArray[np.int64]
    """(m,): greatest value."""
    members: NDArray[np.int64]
    """Rows of the remnant that this group publishes, ascending: top rows first, by score."""
    published_tops: int
    """Top rows among the members."""
    true_count: int
    """Top rows in the box, members of earlier groups too."""
    total_count: int
    """Rows of the table in the box."""
    score_low: int
    score_high: int
    """Range of the scores of the members."""
    persons: int
    """Whose the members are."""
    thresholded: bool = False
    """Only rows of at least ``score_low`` belong to the group (Perfect Precision)."""

    @property
    def precision(self) -> Fraction:
        """Share of top rows among the rows of the table in the box."""
        return Fraction(self.true_count, self.total_count)

    @property
    def own_precision(self) -> Fraction:
        """Share of top rows among the members."""
        return Fraction(self.published_tops, len(self.members))

    def is_feasible(self, terms: SearchTerms) -> bool:
        """Whether the group satisfies the terms; see the module."""
        least = min(self.precision, self.own_precision)
        return self.persons >= terms.k and least >= terms.precision


@dataclass(frozen=True, eq=False)
class RankingGroup:
    """A group, or none; and whether the search knows that there is no better answer."""

    group: Group | None
    proved: bool
    """With a group: none publishes more of the rows searched from.  Without: none is feasible."""
    examined: int = 0
    """Boxes looked at."""


_PART_OF_WORK = 64
"""An attempt from a part of the top rows that are left may take this part of the work."""

Search = Callable[[Remnant, SearchTerms, Key], RankingGroup]
"""Looks for one group."""


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """All groups of a ranking, in the order in which they were found."""

    groups: tuple[Group, ...]
    tops: int
    """Top rows there were."""
    published: int
    """Top rows in the groups."""
    stop: str
    """"used up", "impossible" (proved) or "not found"."""
    remnant: Remnant
    """What was left; private."""

    @property
    def recall(self) -> Fraction:
        """Share of the top that was published."""
        return Fraction(self.published, self.tops)


def publish_groups(remnant: Remnant, terms: SearchTerms, search: Search, key: Key) -> RankedBoxes:
    """Search for groups until no top row is left or no group is found."""
    groups: list[Group] = []
    while (left := int(remnant.fresh[: remnant.tops].sum())) > 0:
        persons = remnant.persons(np.flatnonzero(remnant.fresh[: remnant.tops]))
        outcome = _round(remnant, terms, search, key, persons)
        if outcome.group is None:
            stop = "impossible" if outcome.proved else "not found"
            break
        groups.append(outcome.group)
        remnant = remnant.published(outcome.group.members)
    else:
        stop = "used up"
    return RankedBoxes(tuple(groups), remnant.tops, remnant.tops - left, stop, remnant)


def _round(
    remnant: Remnant, terms: SearchTerms, search: Search, key: Key, left: int
) -> RankingGroup:
    batch = left if terms.batch is None else min(terms.batch, left)
    while batch < left:
        part = replace(terms, batch=batch, work=max(1, terms.work // _PART_OF_WORK))
        outcome = search(remnant, part, key)
        if outcome.group is not None:
            return outcome
        batch = min(2 * batch, left)
    return search(remnant, replace(terms, batch=None), key)


def group_of(remnant: Remnant, inside: NDArray[np.bool_], *, thresholded: bool = False) -> Group:
    """The group of the fresh rows among ``inside`` (n,), shown by the smallest box around them.

    The counts are taken anew from that box.
    """
    members = np.flatnonzero(inside & remnant.fresh)
    values, scores = remnant.values[members], remnant.scores[members]
    low, high = values.min(axis=0), values.max(axis=0)
    shown = ((remnant.values >= low) & (remnant.values <= high)).all(axis=1)
    if thresholded:
        shown &= remnant.scores >= scores.min()
    return Group(
        low,
        high,
        members,
        int(np.searchsorted(members, remnant.tops)),
        int(shown[: remnant.tops].sum()),
        int(shown.sum()),
        int(scores.min()),
        int(scores.max()),
        remnant.persons(members),
        thresholded,
    )
