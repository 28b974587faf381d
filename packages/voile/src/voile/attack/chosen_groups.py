"""The adversary who knows how groups were chosen: what that leaves of the values in them.

What it does: from one release of k-anonymous groups that were held to criteria on sensitive values,
finds the tables of which Voile would have published exactly the same (``worlds``), and with them
how probable each value is for each person.  A finer choice that was not made broke a criterion, and
that tells about the values: of two men and five women in one group, where men and women alone would
have been two, either lacks what is asked for.

Source: Wong, Fu, Wang and Pei, "Minimality attack in privacy preserving data publishing" (VLDB
2007): the adversary knows the algorithm and the quasi-identifiers of everybody in the table, and
every way to give the values to persons is as likely as another; a person's value may be no more
probable than the promise has it (their credibility).

Claim: where all tables are looked at, probabilities are exact.  Where there are too many, a walk
comes by some of them: values that it comes by are possible, so that of a criterion that counts
different values the people exposed are at most those reported; of others they are an estimate.
k-anonymity alone is decided by quasi-identifiers, and then every table with the values of the
groups is as likely as before: nothing is learned.

Adversary: the assumptions of the outcome.  Of rows that were left out nothing is published; that
their values are known together makes him stronger than he need be.

Cost: one decision of the algorithm for each table, as ``worlds`` says.

What people can have of whom some are known to have values that are invalid together.

People stand in groups, whose values are known; those refused have, in all groups together, fewer
than k distinct values or a range below e.  ``left_for`` finds exactly the values that somebody can
have in some arrangement of the values of each group that agrees with this.  Values of different
groups differ, as they do where groups are ranges of rows first published together.

Windows: all refused people have values in [low, low + e) for some low, if and only if each group
has as many values there as refused people.  Sets: they have fewer than k values, if and only if the
fewest values that are enough for the refused of each group, its most frequent ones, are fewer than
k together.  Whoever has a given value takes one of its rows away, or adds it to the set.

Cost: O(d (b + k)) for d distinct values in b groups, by group with its windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.table.alignment import Codes
from voile_base.ondemand import dataclass

__all__ = ["RefusedRows", "left_for"]


@dataclass(frozen=True, eq=False)
class RefusedRows:
    """People whom a release shows first, in one group."""

    group: int
    people: Codes
    values: Mapping[int, int]
    """How many of them have each value, by its place among all values."""


def left_for(
    groups: Sequence[RefusedRows], refused: Set[int], values: NDArray[np.generic], k: int, e: int
) -> Iterator[tuple[list[int], Codes]]:
    """People of whom the same is known, and the places of the values that each of them can have.

    ``values`` are the distinct values of all, in units, ascending; ``refused`` are people.
    """
    mine = [[p for p in one.people.tolist() if p in refused] for one in groups]
    if not any(mine):
        for one in groups:
            yield one.people.tolist(), np.array(sorted(one.values), dtype=np.int64)
        return
    held = [len(people) for people in mine]
    near = _windows(groups, held, values, e)
    fewest = [_fewest(list(one.values.values()), n) for one, n in zip(groups, held, strict=True)]
    for at, one in enumerate(groups):
        others = sum(fewest) - fewest[at]
        places = np.array(sorted(one.values), dtype=np.int64)
        rows = np.array([one.values[place] for place in places.tolist()], dtype=np.int64)
        units = values[places]
        waiting, new = _near(units, rows, held[at], near, e)
        for i in range(len(places)):
            rest = np.delete(rows, i).tolist()
            with_it = 1 + _fewest(rest, held[at] - int(rows[i])) if held[at] else k
            without = _fewest([*rest, int(rows[i]) - 1], held[at])
            waiting[i] |= others + with_it < k
            new[i] |= others + without < k
        if mine[at]:
            yield mine[at], places[waiting]
        rest_of = [p for p in one.people.tolist() if p not in refused]
        if rest_of:
            yield rest_of, places[new]


def _windows(
    groups: Sequence[RefusedRows], held: Sequence[int], values: NDArray[np.generic], e: int
) -> NDArray[Any]:
    """The lows of the windows from which the refused of every group can have their values."""
    lows = np.array(sorted({place for one in groups for place in one.values}), dtype=np.int64)
    enough = np.ones(len(lows), dtype=np.bool_)
    for one, needed in zip(groups, held, strict=True):
        places = np.array(sorted(one.values), dtype=np.int64)
        rows = np.array([one.values[place] for place in places.tolist()], dtype=np.int64)
        enough &= _inside(values[places], rows, values[lows], e) >= needed
    return np.asarray(values[lows[enough]])


def _inside(
    units: NDArray[Any], rows: NDArray[np.int64], lows: NDArray[Any], e: int
) -> NDArray[np.int64]:
    """How many rows have a value in [low, low + e), for each low."""
    total = np.concatenate(([0], np.cumsum(rows)))
    start = np.searchsorted(units, lows, side="left")
    stop = np.searchsorted(units, lows + e, side="left")
    size: NDArray[np.int64] = np.maximum(total[stop] - total[start], 0)
    return size


def _near(
    units: NDArray[Any], rows: NDArray[np.int64], held: int, lows: NDArray[Any], e: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which values of a group a refused person, and another one, can have by some window."""
    within = (lows[:, None] <= units) & (units < lows[:, None] + e)
    spare = _inside(units, rows, lows, e)[:, None] - within >= held
    waiting: NDArray[np.bool_] = np.any(within, axis=0) & (held > 0)
    others: NDArray[np.bool_] = np.any(spare, axis=0)
    return waiting, others


def _fewest(rows: Sequence[int], needed: int) -> int:
    """Of how many values the most frequent give as many rows as needed; more than any k if none."""
    if needed <= 0:
        return 0
    total = np.cumsum(sorted(rows, reverse=True))
    enough = int(np.searchsorted(total, needed)) + 1
    return enough if enough <= len(rows) else 1 << 40
