"""auto: the heuristics first, then the exact search from the best of their boxes.

What it does: peeling-ratio, peeling-lift and deletion look for a feasible box.  From the best of
theirs the exact search looks for a better one, with a part of the work allowed.  Where they found
none it looks for any with all of the work, or proves that there is none; where it does neither,
growing-exchange is asked.

Source: none; of "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011) only Deletion is among them, for
our own searches succeed at least as often as the thesis's.  Cheapest and most successful first.

Claim: that of the exact search where it ends within ``terms.work`` and ``terms.seconds``; else the
group is feasible, and None means that none was found.  Without ``terms.seconds`` the same key
gives the same answer on every machine.

Cost: that of the exact search, which the first box cuts short; the heuristics take some
microseconds each on the 76 rows of the thesis's setting at k = 20.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.boxes import bits_of
from voile.publish.ranking.exact import exact_from
from voile.publish.ranking.groups import Group, RankingGroup
from voile.publish.ranking.growing import GrowingExchange
from voile.publish.ranking.peeling import PeelingLift, deletion, peeling_ratio
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile_base.randomness import Key

__all__ = ["auto"]

_IMPROVING = 64
"""Improving a group that was found may take this part of the work of finding one."""


def auto(remnant: Remnant, terms: SearchTerms, key: Key) -> RankingGroup:
    """The best group that heuristics and exact search find, and whether there is no better."""
    peeled = [
        search(remnant, terms, key).group for search in (peeling_ratio, PeelingLift(), deletion)
    ]
    targets = remnant.targets(terms.batch)

    def published(group: Group) -> int:
        return int(np.count_nonzero(targets[group.members[: group.published_tops]]))

    known = max((group for group in peeled if group), key=published, default=None)
    if known is not None:
        improving = replace(terms, work=max(1, terms.work // _IMPROVING))
        return exact_from(remnant, improving, bits_of(_rows_shown(remnant, known)))
    outcome = exact_from(remnant, terms, None)
    if outcome.group is None and not outcome.proved:
        return replace(GrowingExchange()(remnant, terms, key), examined=outcome.examined)
    return outcome


def _rows_shown(remnant: Remnant, group: Group) -> NDArray[np.bool_]:
    """The rows in the box of a group."""
    values = remnant.values
    inside: NDArray[np.bool_] = np.all((values >= group.low) & (values <= group.high), axis=1)
    return inside
