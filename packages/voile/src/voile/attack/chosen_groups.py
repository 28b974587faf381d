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
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import AttackOutcome, Estimate, Target
from voile.attack.worlds import GroupChoice, Worlds, enumerated, walked
from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.l_diversity import DistinctDiversity
from voile.release.release import Release
from voile.table.alignment import Codes
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["RefusedRows", "left_for", "outcome_of_groups"]


_MOST_PEOPLE = 1_000
"""Beyond, no walk that anybody waits for comes by enough."""
_EFFORT = 1_000_000
"""People times steps of a walk."""
_EXACT = 1 << 40
"""Numbers of ways up to this are compared as they are, and larger ones in proportion."""


def outcome_of_groups(
    release: Release, choice: GroupChoice, tables: int, randomness: Randomness
) -> AttackOutcome:
    """What follows for everybody in a release; ``tables`` are looked at, at most.

    Raises ``InputError`` where the choice is that of another release, or of too many people.
    """
    _refuse_other(release, choice)
    people = choice.table.sum(axis=1)
    worlds = enumerated(choice, tables)
    if worlds is None:
        if (total := int(people.sum())) > _MOST_PEOPLE:
            msg = (
                f"the groups of {total:,} people are chosen anew for every table in question, and "
                f"more than {_MOST_PEOPLE:,} are too many; attack a release of fewer rows"
            )
            raise InputError(msg)
        steps = max(1, min(tables, _EFFORT // total))
        worlds = walked(choice, steps, randomness.key("worlds"))
    exposed = ~_satisfied(choice, worlds.ways)
    share = _shares(worlds.ways)
    own = np.where(choice.table > 0, share, 0.0)
    published = choice.group >= 0
    targets = int(people[published].sum())
    found = int(people[published & exposed].sum())
    given = float((choice.table * share)[published].sum())
    return AttackOutcome(
        attack="minimality",
        goal=_goal(choice.criteria),
        targets=targets,
        checked=False,
        success=_estimate(found, targets, worlds),
        probability=_estimate(given, targets, worlds),
        baseline=0.0,
        worst=_worst(choice, own, published),
        typical=None,
        assumptions=(
            "the adversary knows Voile and the plan, the quasi-identifiers of everybody in the "
            "table, and in which group they stand",
            "every way to give the values of a group to its people is as likely as another before",
            *_of_left_out(people, published),
        ),
        notes=tuple(_notes(choice, worlds, found, share)),
        drawn_from=targets,
        exact=worlds.complete,
    )


def _estimate(total: float, targets: int, worlds: Worlds) -> Estimate:
    if worlds.complete and targets:
        return Estimate.exactly(total / targets)
    return Estimate.of_total(total, targets)


def _refuse_other(release: Release, choice: GroupChoice) -> None:
    """Raise ``InputError`` unless the groups have the values that the release shows in groups."""
    groups, columns = release.disclosure.groups, list(choice.values)
    lacks = groups is None or any(name not in release.table.columns for name in columns)
    if not lacks:
        assert groups is not None
        counted = release.table.count([groups.column, *columns])
        mine = _profile(choice.group[choice.group >= 0], choice.table[choice.group >= 0])
        number = counted.codes[:, 0].astype(np.int64)
        _, value = np.unique(counted.codes[:, 1:], axis=0, return_inverse=True)
        table = np.zeros((len(number), int(value.max(initial=-1)) + 1), dtype=np.int64)
        table[np.arange(len(number)), value.reshape(-1)] = counted.rows
        lacks = mine != _profile(number, table)
    if lacks:
        msg = (
            "the plan makes other groups of the original than the release shows; give the plan and "
            "the table of which it was made"
        )
        raise InputError(msg)


def _profile(group: NDArray[np.int64], table: NDArray[np.int64]) -> list[list[int]]:
    """How often values stand in each group, whatever the groups and values are called."""
    numbers = np.unique(group).tolist()
    rows = (table[group == number].sum(axis=0) for number in numbers)
    return sorted(sorted(each[each > 0].tolist()) for each in rows)


def _satisfied(choice: GroupChoice, ways: NDArray[np.generic]) -> NDArray[np.bool_]:
    """For which kinds what is possible, as likely as it is, satisfies all criteria, shape (a,)."""
    weights = np.stack([_in_proportion(row) for row in ways])
    truth = choice.table.sum(axis=0)
    sensitive = {name: _cells(weights, codes, truth) for name, codes in choice.values.items()}
    groups = Groups(weights.sum(axis=1), sensitive)
    held = [criterion.holds(groups) for criterion in choice.criteria]
    return np.asarray(np.logical_and.reduce(held), dtype=np.bool_)


def _cells(
    weights: NDArray[np.int64], codes: NDArray[np.int64], truth: NDArray[np.int64]
) -> SensitiveCells:
    """How often each kind has each value of one column, and how often all rows have it."""
    of_column = weights @ (codes[:, np.newaxis] == np.arange(int(codes.max()) + 1)).astype(np.int64)
    kind, value = np.nonzero(of_column)
    total = np.bincount(codes, truth).astype(np.int64)
    return SensitiveCells(kind, value, of_column[kind, value], total)


def _in_proportion(ways: NDArray[np.generic]) -> NDArray[np.int64]:
    """Numbers of ways, divided by what they have in common; what is possible stays above 0."""
    numbers = [int(number) for number in ways]
    common = gcd(*numbers)
    numbers = [number // common for number in numbers]
    largest = max(numbers)
    if largest > _EXACT:
        numbers = [-(-number * _EXACT // largest) for number in numbers]
    return np.array(numbers, dtype=np.int64)


def _shares(ways: NDArray[np.generic]) -> NDArray[np.float64]:
    """How probable each value is for a person of each kind, shape (a, v)."""
    return np.array([[int(one) / int(sum(row)) for one in row] for row in ways], dtype=np.float64)


def _worst(
    choice: GroupChoice, own: NDArray[np.float64], published: NDArray[np.bool_]
) -> Target | None:
    """The person to whose own value the largest probability is given."""
    if not published.any():
        return None
    best = np.where(published, own.max(axis=1), -1.0)
    kind = int(np.argmax(best))
    return Target(choice.kinds.row(kind, named=True), float(best[kind]))


def _goal(criteria: Sequence[Criterion]) -> str:
    match criteria:
        case [DistinctDiversity(l=least, column=column)]:
            return f"fewer than {least:,} values of {column!r} are possible for a person"
    columns = " and ".join(dict.fromkeys(repr(one.column) for one in criteria))
    return (
        f"the values of {columns} that are possible for a person, as likely as they are, fall "
        "short of what groups promise"
    )


def _of_left_out(people: NDArray[np.int64], published: NDArray[np.bool_]) -> Iterator[str]:
    if left_out := int(people[~published].sum()):
        yield (
            f"he knows which values the {left_out:,} rows that were left out have together, and "
            "nobody is aimed at whose row was"
        )


def _notes(
    choice: GroupChoice, worlds: Worlds, found: int, share: NDArray[np.float64]
) -> Iterator[str]:
    people = choice.table.sum(axis=1)
    published = choice.group >= 0
    if worlds.complete:
        yield (
            f"of {worlds.tables:,} tables with these groups and values, Voile would have published "
            f"exactly this release of {worlds.same:,}; all were looked at"
        )
    else:
        known = ("at most" if all(isinstance(c, DistinctDiversity) for c in choice.criteria)
                 else "by estimate")  # fmt: skip
        yield (
            f"there are too many tables to look at all of them: a walk of {worlds.tables:,} steps "
            f"came by some, and {known} {found:,} people are exposed. More tables (--tables) find "
            "more that is possible"
        )
        yield (
            "the walk begins with the true table, so that the probabilities of own values are too "
            "high where it is short"
        )
        return
    certain = int(people[published & (share.max(axis=1) == 1)].sum())
    knowing = _mean(choice.table, share, published)
    alone = _mean(choice.table, _shares(_by_group(choice)), published)
    yield (
        f"one value is left for {certain:,} people; the mean probability given to the own value "
        f"is {knowing:.1%}, and {alone:.1%} for those who do not know how groups were chosen"
    )


def _by_group(choice: GroupChoice) -> NDArray[Any]:
    """How often each value stands in the group of each kind."""
    rows = [choice.table[choice.group == number].sum(axis=0) for number in choice.group.tolist()]
    return np.stack(rows)


def _mean(
    table: NDArray[np.int64], share: NDArray[np.float64], published: NDArray[np.bool_]
) -> float:
    total = table[published].sum()
    return float((table * share)[published].sum() / total) if total else 0.0


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
