"""The baselines: Perfect Recall, Perfect Precision and Mondrian on the top rows.

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
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.groups import Group, RankingGroup, group_of
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile_base.randomness import Key

__all__ = ["box_around", "mondrian", "mondrian_boxes", "perfect_precision", "perfect_recall"]


def perfect_recall(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """The box around all top rows searched from, if it is feasible."""
    group = box_around(remnant, np.flatnonzero(remnant.targets(terms.batch)))
    return _best(terms, [group])


def perfect_precision(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """The same box above its least score; see the module on what that gives away."""
    targets = np.flatnonzero(remnant.targets(terms.batch))
    inside = _inside(remnant, targets)
    inside &= remnant.scores >= remnant.scores[targets].min()
    return _best(terms, [group_of(remnant, inside, thresholded=True)])


def mondrian(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """Of Mondrian's boxes of the top rows the feasible one with most of them."""
    return _best(terms, mondrian_boxes(remnant, terms))


def mondrian_boxes(remnant: Remnant, terms: SearchTerms) -> list[Group]:
    """The boxes around Mondrian's groups of the top rows searched from, precise or not."""
    targets = np.flatnonzero(remnant.targets(terms.batch))
    spread = np.ptp(remnant.values[targets], axis=0)
    parts = _cut(remnant, targets, np.maximum(spread, 1), terms.k)
    return [box_around(remnant, part) for part in parts]


def box_around(remnant: Remnant, chosen: NDArray[np.int64]) -> Group:
    """The group of all fresh rows in the box around some rows."""
    return group_of(remnant, _inside(remnant, chosen))


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
