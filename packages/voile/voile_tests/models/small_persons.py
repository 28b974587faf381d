"""All small tables of persons with several rows, and what the definitions say of their groups."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np

PERSONS, QUASI_IDENTIFIERS, SENSITIVE = "abc", "pq", "xyz"
Row = tuple[str, str, str]
"""A person, the value that others may know, and the one that nobody may."""
KINDS: tuple[Row, ...] = tuple(product(PERSONS, QUASI_IDENTIFIERS, SENSITIVE))


@cache
def all_tables(most: int = 7) -> tuple[tuple[Row, ...], ...]:
    """Every table of 1 to ``most`` rows, one of those that differ by names and order alone."""
    found = [table for rows in range(1, most + 1) for table in _tables(rows)]
    return tuple(found)


def many_tables(step: int) -> tuple[tuple[Row, ...], ...]:
    """All tables of up to four rows, and one in ``step`` of those of five to seven.

    ``make decisions`` has all of them.
    """
    few = all_tables(4)
    return all_tables(7) if os.environ.get("EVERY_WAY") else few + all_tables(7)[len(few) :: step]


def _tables(rows: int) -> Iterator[tuple[Row, ...]]:
    counts = _multisets(len(KINDS), rows)
    base = np.int64(rows + 1) ** np.arange(len(KINDS), dtype=np.int64)
    own = counts @ base
    least = own.copy()
    for renamed in renamings():
        np.minimum(least, counts @ base[np.argsort(renamed)], out=least)
    for table in counts[own == least]:
        yield tuple(kind for kind, n in zip(KINDS, table.tolist(), strict=True) for _ in range(n))


def _multisets(kinds: int, rows: int) -> np.ndarray:
    """How often each of some kinds stands in every multiset of so many rows, shape (m, kinds)."""
    bars = np.array(list(combinations(range(rows + kinds - 1), kinds - 1)), dtype=np.int64)
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), rows + kinds - 1)])
    return np.diff(edges, axis=1) - 1


def renamings() -> Iterator[list[int]]:
    place = {kind: n for n, kind in enumerate(KINDS)}
    for p, q, s in product(
        permutations(PERSONS), permutations(QUASI_IDENTIFIERS), permutations(SENSITIVE)
    ):
        names = [dict(zip(a, b, strict=True)) for a, b in ((PERSONS, p), ("pq", q), ("xyz", s))]
        yield [
            place[tuple(n[value] for n, value in zip(names, kind, strict=True))]  # type: ignore[index]
            for kind in KINDS
        ]


def persons(rows: Sequence[Row]) -> int:
    """How many persons have a row."""
    return len({row[0] for row in rows})


def different(rows: Sequence[Row]) -> int:
    """The most values that can be shown by as many different persons, one each, by trying all."""
    held = {row[2]: {other[0] for other in rows if other[2] == row[2]} for row in rows}
    for size in range(len(held), 0, -1):
        for values in combinations(held, size):
            for people in permutations({row[0] for row in rows}, size):
                if all(p in held[v] for v, p in zip(values, people, strict=True)):
                    return size
    return 0


ONE = math.lcm(*range(1, 8))
"""In how many parts the weight of a person is divided, who has 7 rows at most."""


def parts(rows: Sequence[Row]) -> dict[str, int]:
    """What each sensitive value weighs among the rows of a group, where each person weighs one."""
    of_person = Counter(row[0] for row in rows)
    weighed: dict[str, int] = {}
    for person, _, value in rows:
        weighed[value] = weighed.get(value, 0) + ONE // of_person[person]
    return weighed


def weights(rows: Sequence[Row]) -> dict[str, Fraction]:
    """The same in persons."""
    return {value: Fraction(part, ONE) for value, part in parts(rows).items()}


def entropy_reaches(rows: Sequence[Row], least: int) -> bool:
    """Whether shares are as uncertain as so many equal ones, and that many persons differ."""
    weighed = parts(rows).values()
    size = sum(weighed)
    entropy = -sum(w / size * math.log(w / size) for w in weighed)
    return entropy >= math.log(least) - 1e-12 and different(rows) >= least


def recursive(rows: Sequence[Row], c: Fraction, least: int) -> bool:
    """r_1 < c (r_l + ...) of weights, and l values of different persons."""
    weighed = sorted(parts(rows).values(), reverse=True)
    return weighed[0] < c * sum(weighed[least - 1 :]) and different(rows) >= least


def distance(rows: Sequence[Row], table: Sequence[Row]) -> Fraction:
    """Total variation between the weighed values of a group and those of the table as one group."""
    here, all_ = parts(rows), parts(table)
    size, whole = sum(here.values()), sum(all_.values())
    moved = sum(abs(here.get(value, 0) * whole - part * size) for value, part in all_.items())
    return Fraction(moved, 2 * size * whole)
