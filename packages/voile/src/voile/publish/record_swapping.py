"""Record swapping: some rows exchange their places, those first who stand out where they are.

Publishes: all rows; in the columns that are carried, such as region and municipality, some show
what others had who agree in the columns to match.  Other columns stay as they are.

Source: Dalenius and Reiss, "Data-swapping" (Journal of Statistical Planning and Inference 6, 1982);
targeted, matched and over geography as in the British census: Shlomo, Tudor and Groom, "Data
swapping for protecting census tables" (Privacy in Statistical Databases, 2010).

Guarantee: who shares the values of ``keys`` with fewer than k in one place is exchanged, if anybody
of another place agrees in ``match``; others are, at random, until a share ``rate`` of all is.
Counts of all that is matched stay in every place, and every combination of carried values stands as
often as before.  How many and which were exchanged is not published.  That is NO anonymity: most
rows are true, and an intruder who supposes so is mostly right.  Persons or households move with all
their rows, which must agree in all columns that the method names.

Algorithm: the engine counts combinations of what is carried, matched and compared; ``exchanges``
chooses whom and pairs them within those who match, by shifting a list that is ordered by place by
half of its length; the engine gives the rows of a combination, in a random order, their new places.

Cost: one count; a sort of those who are exchanged; a sort of the rows by combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.masked import Swapped
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed_of_draws,
    columns_asked,
    named,
    require_treated,
)
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.history import History
from voile.release.microdata_claims import SwappedRecords
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.plan import ColumnPlan
from voile.schema.roles import ColumnName
from voile.table.decisions import ExchangedColumns, Treatment
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["RecordSwapping", "exchanges"]

_NAME = "record-swapping"

Integers = NDArray[np.int64]


@checked(PlanError)
@dataclass(frozen=True)
class RecordSwapping(SingleRelease):
    """Exchange the places of some rows, risky ones first; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_quasi_identifiers=True,
        exact_kept=True,
        no_series="each release exchanges others, and rows that stay in all of them are true",
        card=MethodCard(
            _NAME,
            "Swap places",
            "Who stands out in a place is shown in another; how many are is kept secret.",
            "Who lives where, for those who stand out.",
            "single rows are published to intruders: most of them are true.",
            (
                Parameter(
                    "rate", "rate", ("0.02", "0.05", "0.1"), ("0.05",), "share that is exchanged"
                ),
            ),
        ),
    )

    rate: Annotated[float, Field(gt=0, le=1)]
    """The share of rows, persons or households that are exchanged at least; not published."""
    carried: Several[ColumnName] = ()
    """What is exchanged as a whole, such as region and municipality; none: what the plan says to be
    geography."""
    match: Several[ColumnName] = ()
    """In what partners agree; none: anybody is a partner."""
    keys: Several[ColumnName] = ()
    """By what somebody stands out; none: all quasi-identifiers that are not carried."""
    k: Annotated[int, Field(ge=1)] = 3
    """Who shares ``keys`` and ``match`` with fewer than k in one place is exchanged first."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        roles = table.plan.roles
        geography = [
            name
            for name in roles.quasi_identifiers
            if table.plan.columns.get(name, ColumnPlan()).kind == "geography"
        ]
        carried, match = require_treated(
            table, _NAME, self.carried, self.match, "carried", "match", geography
        )
        keys = columns_asked("keys", self.keys, roles) or roles.quasi_identifiers
        keys = tuple(name for name in keys if name not in (*carried, *match))
        counts = table.count_combinations([*carried, *match, *keys])
        held = _held(table, counts)
        place, matched = (
            np.unique(part, axis=0, return_inverse=True)[1].reshape(-1)
            for part in (
                counts.codes[:, : len(carried)],
                counts.codes[:, len(carried) : len(carried) + len(match)],
            )
        )
        if int(place.max(initial=0)) < 1:
            msg = (
                f"[method] carried: {named(carried)} is the same in all rows, so that nobody has "
                "another place; name other columns"
            )
            raise PlanError(msg)
        giver, first, left = exchanges(
            held, place, matched, held < self.k, self.rate, randomness.within("exchanges")
        )
        if not len(giver):
            msg = (
                f"no release exists: nobody who agrees in {named(match or carried)} has another "
                "place; leave a column out of [method] match"
            )
            raise InfeasibleError(msg)
        treated = ExchangedColumns(carried, (*carried, *match, *keys), giver, first)
        published, whose = table.apply_counted(Treatment((), drawn=(treated,)), randomness)
        stated = Swapped(margin="kept" if whose is None else None)
        who = f"{roles.protected}s"
        beside = f" with others that agree in {named(match)}" if match else ""
        outcome = MicrodataOutcome(
            method={
                "name": _NAME,
                "carried": list(carried),
                **({"match": list(match)} if match else {}),
                "keys": list(keys),
                "k": self.k,
            },
            columns=dict.fromkeys(carried, stated),
            guarantee=Guarantee(
                (SwappedRecords(columns=carried, match=match),),
                f"some {who}, of whom nothing is published, exchanged {named(carried)}{beside}. "
                "This is NOT anonymity: most rows are true",
                assumed_of_draws(roles),
            ),
            objective=f"{len(giver) / held.sum():.12g}",
            summary=f"of whose {who} {len(giver):,} of {held.sum():,} exchanged {named(carried)}"
            f"{beside}; {left:,} stand out and found no partner",
            decision={"exchanged": len(giver), "risky_left": left},
            notices=(
                (
                    f"{left:,} {who} stand out where they are and found no partner in another "
                    "place; match fewer columns",
                )
                if left
                else ()
            ),
        )
        return assembled(table, published, outcome, randomness)


def _held(table: PrivateTable, counts: CombinationCounts) -> Integers:
    """Rows, persons or households of each combination; raises ``PlanError`` where one has two."""
    if counts.units is None:
        return counts.rows
    held = counts.units.within
    if int(held.sum()) > table.units:
        msg = (
            f"[method] rows of one {table.plan.roles.protected} differ in {named(counts.columns)}, "
            "and they are exchanged together; name columns in match and keys that its rows agree "
            "in, such as its size"
        )
        raise PlanError(msg)
    return held


def exchanges(
    held: Integers,
    place: Integers,
    matched: Integers,
    risky: NDArray[np.bool_],
    rate: float,
    randomness: Randomness,
) -> tuple[Integers, Integers, int]:
    """Whose places the members of g combinations get, and how many risky ones keep their own.

    ``held`` (g,) members have a place and agree with others in ``matched``.  Returns the givers of
    all combinations, one combination behind the other, and where those of each begin, (g + 1,).
    """
    member = np.repeat(np.arange(len(held)), held)
    words = randomness.key("chosen").stream(len(member))
    order = np.lexsort((words, ~risky[member], matched[member]))
    member = member[order]
    group = matched[member]
    at, _ = _places_within(group)
    sizes = np.bincount(group)
    standing = np.bincount(group, risky[member]).astype(np.int64)
    # As many again as stand out, so that each may find a partner who does not.
    wanted = np.minimum(np.maximum(2 * standing, np.ceil(rate * sizes)).astype(np.int64), sizes)
    wanted = np.minimum(wanted + wanted % 2, sizes)
    chosen = member[at < wanted[group]]
    one, other = _pairs(chosen, place, matched, randomness.key("pairs").stream(len(chosen)))
    taker, giver = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.argsort(taker, kind="stable")
    first = np.searchsorted(taker[order], np.arange(len(held) + 1))
    left = int(held[risky].sum()) - int(risky[taker].sum())
    return giver[order].astype(np.int64), first.astype(np.int64), left


def _pairs(
    chosen: Integers, place: Integers, matched: Integers, words: NDArray[np.uint64]
) -> tuple[Integers, Integers]:
    """Pairs of those who match and have different places: a list by place, shifted by its half."""
    order = np.lexsort((words, place[chosen], matched[chosen]))
    chosen = chosen[order]
    group = matched[chosen]
    at, size = _places_within(group)
    half = size // 2
    one = np.flatnonzero(at < half)
    other = one + half[one]
    apart = place[chosen[one]] != place[chosen[other]]
    return chosen[one[apart]], chosen[other[apart]]


def _places_within(group: Integers) -> tuple[Integers, Integers]:
    """Of n members, each group together: the place in the own group, and its size."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(first, len(group)))
    return np.arange(len(group)) - np.repeat(first, sizes), np.repeat(sizes, sizes)
