"""Rank swapping: each value is exchanged for one whose rank is near.

Publishes: in some columns of numbers, dates or ordered texts values of other rows, at most a stated
share of all ranks away; other columns as they are, all rows, in an order that tells nothing.

Source: Moore, "Controlled data-swapping techniques for masking public use microdata sets" (US
Bureau of the Census, 1996).  There one row after another is exchanged with a random one ahead; here
ranks are cut into windows of random sizes, between half of the distance and the whole of it, and
rows of a window are paired at random, all pairings being equally likely.

Guarantee: where each row is another person, every value stands as often as before, in each stratum;
no value moves farther than the distance, p times the rows of its stratum, and at least a rank; each
row has a partner, and three have each other's where a window is odd.  Equal values are ranked at
random.  Of persons with several rows each value counts once in a stratum, and rows that agree show
the same.  That is NO anonymity: a value stays near its own, the least and the largest above all.

Algorithm: the engine counts the values of each column; ``swapped_places`` pairs ranks, whose number
is all it knows; the engine ranks the rows and deals the values out.

Cost: for n rows a sort and a look-up a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.masked import RankSwapped
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed_of_draws,
    named,
    places_in_order,
    ranked_columns,
    require_strata_of,
    require_treated,
    require_values,
)
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.history import History
from voile.release.microdata_claims import SwappedRanks
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.roles import ColumnName
from voile.table.decisions import RankedColumns, Treatment
from voile.table.private import PrivateTable
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["RankSwapping", "swapped_places"]

_NAME = "rank-swapping"

Places = NDArray[np.int64]


@checked(PlanError)
@dataclass(frozen=True)
class RankSwapping(SingleRelease):
    """Exchange values for such of near ranks; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release exchanges anew, and the average of several tells the values",
        card=MethodCard(
            _NAME,
            "Swap near values",
            "Each value is that of another row of near rank; all values stay. It is no anonymity.",
            "What columns have to do with each other, more with a larger distance.",
            "a value far from all others tells whose a row is.",
            (
                Parameter(
                    "distance",
                    "distance",
                    ("0.02", "0.05", "0.1", "0.2"),
                    ("0.05", "0.1"),
                    "share of the ranks that a value moves at most",
                ),
            ),
        ),
    )

    distance: Annotated[float, Field(gt=0, le=1)]
    """p: how far a value moves at most, as a share of the rows of its stratum."""
    columns: Several[ColumnName] = ()
    """Of numbers, dates or texts with an order; none: all such quasi-identifiers."""
    strata: Several[ColumnName] = ()
    """Published columns within whose values ranks are exchanged."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        usual = () if self.columns else ranked_columns(table, numbers=False)
        usual = tuple(name for name in usual if name not in self.strata)
        columns, strata = require_treated(table, _NAME, self.columns, self.strata, default=usual)
        treated = tuple(self._ranked(table, name, strata) for name in columns)
        published, whose = table.apply_counted(Treatment((), drawn=treated), randomness)
        stated = RankSwapped(
            distance=self.distance, within=strata, margin="kept" if whose is None else None
        )
        within = f", within {named(strata)}" if strata else ""
        outcome = MicrodataOutcome(
            method={
                "name": _NAME,
                "columns": list(columns),
                "distance": self.distance,
                **({"strata": list(strata)} if strata else {}),
            },
            columns=dict.fromkeys(columns, stated),
            guarantee=Guarantee(
                (SwappedRanks(columns=columns, distance=self.distance, within=strata),),
                f"each value of {named(columns)} was exchanged for one that is at most "
                f"{self.distance:.3g} of all ranks away{within}. This is NOT anonymity: a value "
                "stays near its own",
                assumed_of_draws(table.plan.roles),
            ),
            objective=f"{self.distance:.12g}",
            summary=f"with values of {named(columns)} exchanged, each at most "
            f"{self.distance:.3g} of all ranks away{within}",
        )
        return assembled(table, published, outcome, randomness)

    def _ranked(self, table: PrivateTable, name: str, strata: tuple[str, ...]) -> RankedColumns:
        """How a column is exchanged."""
        counts = table.count_combinations([name, *strata])
        require_values(counts, name)
        place = places_in_order(table, counts, 0)[counts.codes[:, 0]]
        stratum = require_strata_of(table, counts, strata)
        there = place >= 0
        held = np.bincount(stratum[there], counts.rows[there], int(stratum.max()) + 1)
        if few := int(((held > 0) & (held * self.distance < 1)).sum()):
            where = f"{few:,} strata of {named(strata)}" if strata else "the table"
            least = 1 / float(held[held > 0].min())
            msg = (
                f"no release exists: distance = {self.distance:.3g} is less than a rank in "
                f"{where}; take a distance of {least:.3g} or more, or leave a column out of strata"
            )
            raise InfeasibleError(msg)
        partners = partial(swapped_places, self.distance)
        return RankedColumns(
            (name,), (name, *strata), place[:, np.newaxis], stratum, None, partners
        )


def swapped_places(distance: float, sizes: Places, randomness: Randomness) -> Places:
    """The partner of each place of strata of these sizes, one behind the other; shape (n,)."""
    found = [
        first + _paired(int(size), max(1, int(distance * size)), randomness.within(f"{number}"))
        for number, (first, size) in enumerate(
            zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True)
        )
    ]
    return np.concatenate([*found, np.empty(0, dtype=np.int64)]).astype(np.int64)


def _paired(size: int, farthest: int, randomness: Randomness) -> Places:
    """Partners of so many places, none farther than ``farthest``; shape (n,)."""
    window = np.repeat(*_windows(size, farthest, randomness))
    words = randomness.key("pairs").stream(size)
    order = np.lexsort((words, window))
    sizes = np.bincount(window) if size else np.empty(0, dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    at = np.arange(size) - first[window]  # ``order`` keeps windows where they are
    held = sizes[window]
    other = np.where(at % 2 == 0, 1, -1)
    odd = held % 2 == 1
    # The last three of an odd window have each other's; a single place keeps its own.
    other = np.where(odd & (at >= held - 3), np.where(at == held - 1, -2, 1), other)
    other = np.where(held == 1, 0, other)
    partner = np.empty(size, dtype=np.int64)
    partner[order] = order[np.arange(size) + other]
    return partner


def _windows(size: int, farthest: int, randomness: Randomness) -> tuple[Places, Places]:
    """Numbers and sizes of windows of at most ``farthest`` + 1 places, none of 1 if possible."""
    most = farthest + 1
    least = max(2, -(-most // 2))
    many = size // least + 1
    drawn = randomness.key("windows").stream(many) % np.uint64(most - least + 1)
    ends = np.minimum(np.cumsum(least + drawn.astype(np.int64)), size)
    sizes = np.diff(ends, prepend=0)
    sizes = sizes[sizes > 0]
    if len(sizes) > 1 and sizes[-1] < least:
        both = int(sizes[-2] + sizes[-1])
        sizes = np.append(sizes[:-2], [both] if both <= most else [both - both // 2, both // 2])
    return np.arange(len(sizes)), sizes
