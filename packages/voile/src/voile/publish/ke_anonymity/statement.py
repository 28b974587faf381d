"""The guarantee of a (k,e)-anonymous release in words, of rows and of persons who have several.

What custodians are told about rows that wait, and what a series refuses because of its rule.

The rule itself is ``models.ke_anonymity``.  It is part of the terms of a series: neither its batch
nor the rule can change, because what earlier looks told was told under theirs.

A block of rows is valid if k different ones of them can be named who have k different values in it,
one each, and two different ones whose values lie e apart.  So the rows of one person never make a
block valid: neither ten values of one, nor a range both ends of which are the same person's.  Where
each person has one row, this is what (k,e) says of rows, and blocks are the same.  Repeating all
rows changes none.

Claim: joining blocks only adds persons to choose from, so a valid block stays valid when it grows,
and ``static``'s argument holds as it stands: where the ranges of two blocks meet, their union is
valid, and its range no larger than the sum of theirs.  So the blocks found are optimal among all
partitions of the rows into valid blocks.

Adversaries: the promise is about somebody who knows one row of a person, and finds the block of it.
Who knows several finds the block of each.  A value that is the same in all rows of a person stands
in one block anyway, as equal values are never divided, so that there is nothing to intersect; of
values that follow from each other otherwise, nothing is promised.  Keeping all rows of a person in
one block would be no way out: blocks are ranges, so every person whose values differ joins all that
lies between.  Of 101,766 stays of 71,518 patients in a table of hospitals, that leaves one block of
the lengths of stay and of the numbers of laboratory tests, and five of the numbers of medications,
whatever k and e.  Here, at k = 5, these are 11 blocks of tests (e = 10) and 12 of medications
(e = 5), as many as where each stay counts as another patient's.

Nor is anything promised against whoever reasons backwards from where the blocks are cut: of rows
that depends on the published values alone (``models.ke_anonymity``), here on whose they are
besides.

Series: rows that come later, of a person published before, would have to be held against all that
is known of the earlier ones.  No rule for that is proved here, so a series in which a person has
several rows is refused.

Algorithm: for each right end, the latest start of a valid block, of which ``searches`` makes the
best cuts.  k persons: a value that some person has who has no other is matched with that person; of
all other values a largest matching is kept while the window moves, one augmenting path a step
(Berge, "Two theorems in graph theory", 1957).  Of each value no more than k persons are looked at
(``models.units``).  e apart: two values are two persons' unless both are the same one's alone.

Cost: O(d) for d distinct values, and an augmenting path for each of those whose persons all have
other values too; at worst a path is as long as the window.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from voile.models.ke_anonymity import GROWTH
from voile.publish.contribution import assumed_of_units, known_rows, stated_unit
from voile.publish.ke_anonymity.decision import AS_PRINTED, Decision, KETerms, decide
from voile.publish.ke_anonymity.searches import best_cuts, blocks_of, largest_feasible
from voile.release.claims import KEAnonymityClaim
from voile.release.history import SeriesTerms
from voile.release.release import Guarantee, LeftOpen
from voile.schema.numbers import ExactNumbers, decimals_of, units_of, unscaled
from voile.schema.roles import Protected
from voile.table.private import PrivateTable
from voile.table.summaries import UnitCounts, ValueCounts
from voile_base.errors import InfeasibleError, PlanError, RefusedError
from voile_base.ondemand import dataclass

__all__ = [
    "BATCH_OF_K",
    "decide_of_persons",
    "guarantee",
    "guarantee_of_persons",
    "held_back",
    "infeasible_first",
    "infeasible_next",
    "infeasible_of_persons",
    "refuse_other_rule",
    "refuse_series_of_persons",
    "units_of_values",
]

_ASSUMPTIONS = (
    "nobody but the custodian knows any of the sensitive values",
    "no other published data is derived from the same values",
)
_BORDERS = "the adversary does not reason backwards from the choice of the groups' borders"
_DAYS = (
    "neither the days on which releases are made nor which rows leave the table depend on the "
    "sensitive values"
)
_BEGINNING = (
    "nobody knows of attempts to begin the series that ended without a release, because the rows "
    "were too few or too much alike"
)
_HELD = {
    "union": "the adversary does not reason from which rows were held back, which tells about "
    "their values: rows wait as long as all that wait have, together, fewer than k values or a "
    "range below e. For example, at k = 2 and e = 1000, Eva (3300) and Fay (3500) are held back "
    "until Gus (9000) comes: subtracting the releases leaves 3300, 3500 and 9000 for the three, "
    "and because Eva and Fay had to wait, they span less than 1000, so that Gus has 9000",
    "pairwise": "the adversary does not reason from when there was no release",
}
_SINGLED_OUT = {
    "union": "every set of rows that can be singled out by intersecting and subtracting groups of "
    "any number of releases",
    "pairwise": "every intersection and difference of one group of an earlier release and one "
    "group of this one",
}
_PRINTED = {
    "lemma-1": LeftOpen(
        "beside other releases of its series nothing is promised, since the rule of Lemma 1 "
        "as the paper prints it lets a group touch an old border: at k = 2 and e = 4, the groups "
        "{1, 7} and {13, 19} after {7, 13} single out 7 and 13"
    ),
    "figure-13": LeftOpen(
        "beside other releases of its series nothing is promised, since the algorithm of "
        "Fig. 13 as the paper prints it looks at the latest release alone: at k = 2 and e = 2, "
        "after {6, 9} and {3, 6, 9, 12} the groups {3, 6, 6, 8} and {9, 12} single out 6 and 9"
    ),
}


def guarantee(column: str, terms: KETerms, series: str | None, earlier: int) -> Guarantee:
    """What a release promises, ``earlier`` releases of its series having gone before."""
    statement = (
        f"({terms.k}, {terms.e:f})-anonymous: within each group, the values of {column!r} number "
        f"at least {terms.k} distinct ones, span at least {terms.e:f}, and are permuted uniformly "
        "at random, so nobody's value can be narrowed down further than to their group"
    )
    assumes: tuple[str, ...] = _ASSUMPTIONS
    if terms.search in AS_PRINTED:
        statement += f"; {_PRINTED[terms.search]}"
        return Guarantee(
            (KEAnonymityClaim(k=terms.k, e=terms.e, adversary=None),), statement, assumes
        )
    if series and earlier:
        releases = "release" if earlier == 1 else f"{earlier} releases"
        statement += (
            f"; compared with the earlier {releases} of series {series!r}, the same holds for "
            f"{_SINGLED_OUT[terms.adversary]}"
        )
    if series:
        assumes += _assumed_of_series(terms, earlier)
    claim = KEAnonymityClaim(k=terms.k, e=terms.e, adversary=terms.adversary if series else None)
    return Guarantee((claim,), statement, assumes)


def _assumed_of_series(terms: KETerms, earlier: int) -> tuple[str, ...]:
    """What the promise of a series takes for granted besides; see ``models.ke_anonymity``."""
    if terms.batch is not None:
        return (_DAYS, _BEGINNING)
    borders = (_BORDERS,) if terms.adversary == "pairwise" else ()
    return (*borders, _HELD[terms.adversary]) if earlier else ()


def infeasible_first(column: str, counts: ValueCounts, terms: KETerms) -> InfeasibleError:
    """No release of this table exists, and none of a series that begins with it."""
    rows = int(counts.count.sum())
    if terms.batch is not None and rows < terms.batch:
        return InfeasibleError(
            f"a series begins with at least batch = {terms.batch:,} rows, which are looked at "
            f"together, and the table has {rows:,}. Publish when more have arrived, or choose a "
            f"smaller batch, of at least k = {terms.k}"
        )
    return _infeasible_single(column, counts.values, terms)


def _infeasible_single(column: str, values: ExactNumbers, terms: KETerms) -> InfeasibleError:
    """No release of this table exists; says what would do."""
    feasible = largest_feasible(values.units)
    if feasible is None:
        return InfeasibleError(
            f"no release exists: all rows hold the same value of {column!r}, and k is at least 2"
        )
    return InfeasibleError(
        f"no ({terms.k}, {terms.e:f})-anonymous release exists: even one group of all rows falls "
        f"short. The largest k that column {column!r} allows is {feasible.k:,}, and the largest e "
        f"is {unscaled(feasible.e, values.scale):f}"
    )


def infeasible_next(terms: KETerms) -> InfeasibleError:
    """No safe next release of a series exists; says what would help."""
    return InfeasibleError(
        "no safe release exists: some group would give away fresh rows when compared with a group "
        f'of an earlier release (adversary = "{terms.adversary}", search = "{terms.search}"). '
        "Publish later, when more rows have arrived; a series begun with adversary = "
        '"union" holds such rows back instead'
    )


BATCH_OF_K = 2
"""The default batch, in k.

Smaller batches are refused more often: of weekly and fortnightly payments of two states (see
``benchmarks.waiting``) none was refused twice, and rows wait hardly longer than in batches of k."""


def held_back(rows: int, aside: int, decision: Decision, terms: KETerms) -> Iterator[str]:
    """Notices about rows that wait, and about rows that are set aside."""
    if rows:
        yield f"{_rows(rows)} held back: {_why(decision, terms)}"
    if aside:
        yield (
            f"{_rows(aside)} set aside and will not be published in this series: a look refused "
            "them, and they are still too much alike with all that came since, or one of them "
            "was withdrawn. Publishing them would tell about those refused"
        )


def _why(decision: Decision, terms: KETerms) -> str:
    alike = (
        f"do not number {terms.k} distinct values with a range of {terms.e:f}, and comparing this "
        "release with earlier ones would single them out. "
    )
    if terms.batch is None:
        return (
            f"alone, the rows not yet published {alike}A later release publishes them when enough "
            "company arrives"
        )
    if decision.fate == "refused":
        return (
            f"the rows not yet published {alike}They are looked at again when they are {GROWTH} "
            "times as many. Until then nothing new is published, whatever arrives"
        )
    return (
        f"rows not yet published are looked at {terms.batch:,} at a time, and once refused, when "
        f"they are {GROWTH} times as many. A later release publishes them when there are that many"
    )


def _rows(rows: int) -> str:
    return "1 row is" if rows == 1 else f"{rows:,} rows are"


def refuse_other_rule(before: SeriesTerms, now: SeriesTerms) -> None:
    """Raise ``RefusedError`` where a series would go on with another rule than it was begun with.

    Other terms that differ are told by ``SeriesTerms.refuse_difference``.
    """
    old, new = before.method.get("batch"), now.method.get("batch")
    follows_rule = before.method.get("adversary") == "union" == now.method.get("adversary")
    others = {"k", "e"} | ({"search"} if old else set())
    if old == new or not follows_rule:
        return
    if any(before.method.get(name) != now.method.get(name) for name in others):
        return
    begun = f"series {before.name!r} was begun with "
    if old is None:
        msg = (
            f'{begun}the rule by which rows wait exactly until they are valid (batch = "until-'
            'valid"), which tells about those who wait. Its releases cannot be brought under '
            'another rule. To go on with it knowingly, write batch = "until-valid" and '
            f'search = "{before.method.get("search")}" in [method]; its releases state what they '
            "assume. Or begin a new series for data about other people"
        )
        raise RefusedError(msg)
    now_says = new or '"until-valid"'
    msg = (
        f"{begun}batch = {old}, and cannot go on with batch = {now_says}: who waited was decided "
        f"by that rule, and another one would tell about them. Write batch = {old} in [method]"
    )
    raise RefusedError(msg)


_PERSON_BORDERS = (
    "the adversary does not reason backwards from the choice of the groups' borders, which depends "
    "on whose values they are"
)


@dataclass(frozen=True, eq=False)
class _Holders:
    """Who has each of d ascending values; private."""

    persons: NDArray[np.int64]
    """Shape (d,): how many have each value, at least 1."""
    own: NDArray[np.bool_]
    """Shape (d,): whether one of them has no other value."""
    value: NDArray[np.int64]
    """Shape (c,): values that persons have who have several, ascending."""
    person: NDArray[np.int64]
    """Shape (c,): some of these persons, by number; as many of a value as matter."""

    @classmethod
    def of(cls, units: UnitCounts, limit: int) -> _Holders:
        """Of the values that were counted, with ``limit`` persons of each who have several."""
        value, person = units.some(np.arange(len(units.within)), limit)
        order = np.argsort(value, kind="stable")
        return cls(units.within, units.alone > 0, value[order], person[order])

    @property
    def sole(self) -> NDArray[np.int64]:
        """Shape (d,): equal numbers where the same person alone has both values.

        Values of several persons, or of one who has no other, have numbers of their own.
        """
        numbers = -1 - np.arange(len(self.persons), dtype=np.int64)
        alone = (self.persons[self.value] == 1) & ~self.own[self.value]
        numbers[self.value[alone]] = self.person[alone]
        return numbers


def units_of_values(table: PrivateTable, counts: ValueCounts) -> UnitCounts | None:
    """Whose the counted values of a single release are; None where each row is another person's.

    So it is in a series, too (``refuse_series_of_persons``).
    """
    return None if counts.of is None else table.units_of(counts.of)


def decide_of_persons(counts: ValueCounts, units: UnitCounts, terms: KETerms) -> Decision | None:
    """The best blocks of a single release, or None where not even all rows make one."""
    # Blocks that are valid are valid at k = 2 of rows; what is decided beside them is the same.
    of_rows = decide(counts, (), replace(terms, k=2, e=Decimal(0)))
    if of_rows is None:
        return None
    scale = max(counts.values.scale, decimals_of(terms.e))
    values = counts.values.rescaled(scale)
    holders = _Holders.of(units, terms.k)
    high = _latest_start(values.units, holders, terms.k, units_of(terms.e, scale))[np.newaxis]
    allowed = np.ones(len(values) + 1, np.bool_)
    ranges = blocks_of(best_cuts(values.units, allowed, np.zeros_like(high), high))
    if ranges is None:
        return None
    batch = np.zeros(len(ranges), dtype=np.int64)
    return replace(of_rows, values=values, ranges=ranges, batch=batch)


def guarantee_of_persons(column: str, terms: KETerms, protected: Protected) -> Guarantee:
    """What a single release promises of persons or households."""
    of_rows = guarantee(column, terms, None, 0)
    (claim,) = of_rows.claims
    assert isinstance(claim, KEAnonymityClaim)
    k, e = terms.k, format(terms.e, "f")
    statement = (
        f"({k}, {e})-anonymous: within each group, at least {k} different values of {column!r} are "
        f"those of as many different {protected}s, one each, values of two different {protected}s "
        f"lie at least {e} apart, and all are permuted uniformly at random, so the value of a row "
        "cannot be narrowed down further than to its group, by nobody who knows one row of a "
        f"{protected}"
    )
    claim = claim.model_copy(update={"unit": stated_unit(protected)})
    whose = (assumed_of_units(protected), known_rows(protected), _PERSON_BORDERS)
    return Guarantee((claim,), statement, (*of_rows.assumes, *whose))


def infeasible_of_persons(
    column: str, values: ExactNumbers, units: UnitCounts, terms: KETerms, protected: Protected
) -> InfeasibleError:
    """Not even all rows make a valid block; says what would."""
    holders = _Holders.of(units, units.units)
    window = _Window(holders)
    for value in range(len(holders.persons)):
        window.add(value)
    if window.size < 2:
        return InfeasibleError(
            f"no release exists: no two {protected}s have different values of {column!r}, and k is "
            "at least 2"
        )
    most = max(_range(values.units, holders), 0)
    return InfeasibleError(
        f"no ({terms.k}, {terms.e:f})-anonymous release exists: even one group of all rows falls "
        f"short. Of column {column!r}, at most {window.size:,} different values are those of as "
        f"many different {protected}s, and values of different ones lie at most "
        f"{unscaled(most, values.scale):f} apart: lower k or e to these"
    )


def refuse_series_of_persons(table: PrivateTable) -> None:
    """Raise ``PlanError`` where a person of a series has several rows."""
    if table.units == table.rows:
        return
    protected = table.plan.roles.protected
    msg = (
        f"[method] series: {table.rows:,} rows are of {table.units:,} {protected}s, and what later "
        f"rows of a {protected} who was published before tell about the earlier ones is bounded by "
        f"no rule of ke-anonymity. Publish one row of each {protected}, such as the sum or the "
        "latest, or single releases without series"
    )
    raise PlanError(msg)


def _range(values: NDArray[np.generic], holders: _Holders) -> int:
    """The most by which values of two different persons differ; -1 where there is one only."""
    first = _latest_apart(values, holders, 0)
    if first[-1] < 0:
        return -1
    low, high = 0, int(values[-1]) - int(values[0])
    while low < high:
        middle = (low + high + 1) // 2
        reached = _latest_apart(values, holders, middle)[-1] >= 0
        low, high = (middle, high) if reached else (low, middle - 1)
    return low


def _latest_start(
    values: NDArray[np.generic], holders: _Holders, k: int, e: int
) -> NDArray[np.int64]:
    """For each right end, the latest start of a valid block, or -1; (d + 1,), nondecreasing."""
    many, wide = _latest_of_many(holders, k), _latest_apart(values, holders, e)
    return np.asarray(np.minimum(many, wide))


def _latest_apart(values: NDArray[np.generic], holders: _Holders, e: int) -> NDArray[np.int64]:
    """For each right end, the latest start at which two persons' values lie ``e`` apart."""
    d = len(values)
    if not d:
        return np.full(1, -1, dtype=np.int64)
    e = min(e, int(values[-1]) - int(values[0]) + 1)
    sole = holders.sole
    changes = np.concatenate(([True], sole[1:] != sole[:-1]))
    run = np.maximum.accumulate(np.where(changes, np.arange(d), 0))
    start = np.searchsorted(values, values - e, side="right") - 1
    same = (start >= 0) & (holders.persons == 1) & (sole[start] == sole)
    start = np.where(same, run[start] - 1, start)
    answer: NDArray[np.int64] = np.concatenate(([-1], np.maximum.accumulate(start)))
    return answer.astype(np.int64)


def _latest_of_many(holders: _Holders, k: int) -> NDArray[np.int64]:
    """For each right end, the latest start at which ``k`` persons have as many values."""
    d = len(holders.persons)
    latest = np.full(d + 1, -1, dtype=np.int64)
    window = _Window(holders)
    for end in range(1, d + 1):
        window.add(end - 1)
        while window.size >= k:
            latest[end] = window.low
            window.drop()
        if latest[end] >= 0:
            window.take_back()
    return latest


class _Window:
    """A largest matching of the values from ``low`` on with different persons."""

    def __init__(self, holders: _Holders) -> None:
        self.low = 0
        self.size = 0
        """Values that are matched."""
        self._high = 0
        self._own = holders.own.tolist()
        self._persons: list[list[int]] = [[] for _ in holders.persons]
        self._values: dict[int, list[int]] = {}
        for value, person in zip(holders.value.tolist(), holders.person.tolist(), strict=True):
            if not self._own[value]:
                self._persons[value].append(person)
                self._values.setdefault(person, []).append(value)
        self._value_of: dict[int, int] = {}
        self._person_of: dict[int, int] = {}

    def add(self, value: int) -> None:
        """Take in the next value."""
        self._high = value + 1
        self.size += self._own[value] or self._matched(value)

    def drop(self) -> None:
        """Leave out the first value."""
        value, self.low = self.low, self.low + 1
        if self._own[value]:
            self.size -= 1
        elif (person := self._person_of.pop(value, None)) is not None:
            del self._value_of[person]
            self.size -= not self._refilled(person)

    def take_back(self) -> None:
        """Take in the value again that was left out last."""
        self.low -= 1
        self.size += self._own[self.low] or self._matched(self.low)

    def _matched(self, value: int) -> bool:
        """Match one more value, if a path to a free person is found; breadth first."""
        reached: dict[int, int] = {}
        waiting = [value]
        for each in waiting:
            for person in self._persons[each]:
                if person in reached:
                    continue
                reached[person] = each
                if person in self._value_of:
                    waiting.append(self._value_of[person])
                    continue
                self._flip(person, reached)
                return True
        return False

    def _flip(self, person: int, reached: dict[int, int]) -> None:
        """Match a free person with the value it was reached from, and so on back."""
        last: int | None = person
        while last is not None:
            value = reached[last]
            before = self._person_of.get(value)
            self._person_of[value], self._value_of[last] = last, value
            last = before

    def _refilled(self, person: int) -> bool:
        """Match a person that became free, if a path to a free value is found; breadth first."""
        reached: dict[int, int] = {}
        waiting = [person]
        for each in waiting:
            values = self._values[each]
            for value in values[bisect_left(values, self.low) : bisect_left(values, self._high)]:
                if value in reached:
                    continue
                reached[value] = each
                if value in self._person_of:
                    waiting.append(self._person_of[value])
                    continue
                last: int | None = value
                while last is not None:
                    owner = reached[last]
                    before = self._value_of.get(owner)
                    self._person_of[last], self._value_of[owner] = owner, last
                    last = before
                return True
        return False
