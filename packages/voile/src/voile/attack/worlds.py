"""The tables of which exactly the same groups would have been published.

What it does: people whose quasi-identifiers are all alike are one *kind*, and rows whose sensitive
values are all alike show one *value*.  A table is then how many people of each kind have each
value.  Whoever knows everybody's quasi-identifiers, and sees which values stand in which group,
knows the sums by kind and by group and value.  Of the tables with these sums, those remain for
which the same groups would have been chosen.

- ``enumerated`` lists all of them, group by group, and asks about each.  A table counts as often as
  there are ways to give its values to persons: n! / (x_1! x_2! ...) for a kind of n people of whom
  x_i have value i.
- ``walked`` goes from the true table, which is one of them, from one to the next: two people of a
  group change values, where the same groups would still have been chosen.  Steps are as likely one
  way as the other, so that in the long run every table that it can reach comes up as often as its
  ways.  What it met is possible; what it did not meet may be possible, too.

Cost: a decision for each table, or for each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import factorial, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.table.arrays import Frame
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = ["GroupChoice", "Worlds", "enumerated", "walked"]

Codes = NDArray[np.int64]


class GroupChoice(Protocol):
    """The groups that were chosen for a table, and whether others would have got the same; private.

    A table is a matrix (a, v): how many people of each kind have each value.
    """

    @property
    def kinds(self) -> Frame:
        """The quasi-identifiers of each kind, a rows, as texts."""

    @property
    def group(self) -> Codes:
        """Shape (a,): the group of each kind, from 0; -1 where its rows were left out."""

    @property
    def table(self) -> Codes:
        """Shape (a, v): the true one."""

    @property
    def values(self) -> Mapping[str, Codes]:
        """Shape (v,): what each value is in each sensitive column that criteria read."""

    @property
    def criteria(self) -> Sequence[Criterion]:
        """What is asked of these columns in every group."""

    def same(self, table: Codes) -> bool:
        """Whether exactly the same would be published of a table with the same sums."""


@dataclass(frozen=True, eq=False)
class Worlds:
    """What is possible for people."""

    ways: NDArray[Any]
    """Shape (a, v), whole numbers of any size: in how many ways to have made the release a person
    of each kind has each value, times the people of the kind; of a walk, how often that came up."""
    tables: int
    """That were looked at, or steps."""
    same: int
    """Of these, for how many the same would have been published."""
    complete: bool
    """Whether all were looked at."""


def enumerated(choice: GroupChoice, most: int) -> Worlds | None:
    """All tables; None where there are more than ``most``."""
    blocks, tables = [], 1
    for members in _groups(choice.group):
        there = np.flatnonzero(choice.table[members].any(axis=0))
        part = choice.table[np.ix_(members, there)]
        found = list(islice(_arrangements(part.sum(axis=1).tolist(), part.sum(axis=0).tolist()),
                            most // tables + 1))  # fmt: skip
        tables *= len(found)
        if tables > most:
            return None
        blocks.append((np.ix_(members, there), [np.array(one, dtype=np.int64) for one in found]))
    ways = np.zeros(choice.table.shape, dtype=object)
    people, same = choice.table.sum(axis=1), 0
    for world in product(*(found for _, found in blocks)):
        table = np.zeros_like(choice.table)
        for (place, _), part in zip(blocks, world, strict=True):
            table[place] = part
        if choice.same(table):
            same += 1
            ways += table.astype(object) * _ways(people, table)
    return Worlds(ways, tables, same, complete=True)


def walked(choice: GroupChoice, steps: int, key: Key) -> Worlds:
    """Those that a walk of so many steps comes by."""
    table = choice.table.copy()
    people = np.repeat(np.arange(len(table)), table.sum(axis=1))
    value = np.concatenate([np.repeat(np.arange(table.shape[1]), row) for row in table])
    of_group = [
        np.flatnonzero(np.isin(people, members))
        for members in _groups(choice.group)
        if len(members) > 1
    ]
    draws = key.generator()
    size = np.array([len(one) for one in of_group], dtype=np.float64)
    ways, same = table.copy(), 0
    for _ in range(steps if of_group else 0):
        members = of_group[int(draws.choice(len(of_group), p=size / size.sum()))]
        i, j = draws.choice(members, 2, replace=False).tolist()
        step = table.copy()
        for person, other in ((i, j), (j, i)):
            step[people[person], value[person]] -= 1
            step[people[person], value[other]] += 1
        if (step == table).all() or choice.same(step):
            same += 1
            table = step
            value[[i, j]] = value[[j, i]]
        ways += table
    return Worlds(ways.astype(object), steps, same, complete=False)


def _groups(group: Codes) -> Iterator[Codes]:
    """The kinds of each group; those that were left out are one."""
    for number in np.unique(group).tolist():
        yield np.flatnonzero(group == number)


def _arrangements(
    rows: Sequence[int], columns: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All matrices of whole numbers from 0 that have these sums."""
    if not rows:
        yield ()
        return
    for first in _shares(rows[0], columns):
        left = [of_all - taken for of_all, taken in zip(columns, first, strict=True)]
        for rest in _arrangements(rows[1:], left):
            yield (first, *rest)


def _shares(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to take so many, of each no more than there are."""
    if not most:
        if total == 0:
            yield ()
        return
    room = sum(most[1:])
    for taken in range(max(0, total - room), min(total, most[0]) + 1):
        for rest in _shares(total - taken, most[1:]):
            yield (taken, *rest)


def _ways(people: Codes, table: Codes) -> int:
    """In how many ways the people of each kind can have these values."""
    apart = prod(factorial(number) for number in table[table > 1].tolist())
    return prod(factorial(number) for number in people.tolist()) // apart
