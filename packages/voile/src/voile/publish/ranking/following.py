"""The rows of a series of rankings, followed from release to release: summary, before a decision.

Cost: a match of n rows with the marks of earlier releases, and two counts of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.publish.generalization.departures import settled
from voile.publish.generalization.terms import Demands
from voile.publish.ranking.decision import CountedTop
from voile.publish.ranking.scoring import Scoring
from voile.release.history import History
from voile.table.matching import Members
from voile.table.private import PrivateTable
from voile_base.randomness import Key

__all__ = ["Followed", "follow"]


@dataclass(frozen=True, eq=False)
class Followed:
    """All rows of a table, and what earlier releases made of them; private."""

    members: Members
    top: CountedTop
    number: NDArray[np.int64]
    """Shape (g,): the class of each counted combination; see ``table.membership``."""
    criteria: Sequence[Criterion]


def follow(
    table: PrivateTable, tops: int, history: History, scoring: Scoring, demands: Demands, draw: Key
) -> Followed:
    """Match and count the rows, without those who left and those that go with them.

    ``tops`` rows are among the best; ``draw`` is of this release alone.  Raises ``TableError``.
    """
    plan, record_key = table.plan, history.terms.record_key
    assert record_key is not None
    members = table.match_members(history.known, history.key, record_key, demands.columns)
    columns = [*scoring.columns, *plan.roles.quasi_identifiers, *demands.columns]
    values = table.count_combinations(columns)
    criteria = demands.criteria(dict(zip(values.columns, values.values, strict=True)), plan)
    members = settled(members, criteria, int(history.terms.method["k"]), draw)
    counts, number = table.count_members(members, columns)
    return Followed(members, CountedTop.of(counts, tops, scoring, plan), number, criteria)
