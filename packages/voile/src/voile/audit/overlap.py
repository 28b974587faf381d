"""Whether people of the original stand in the control, though a column was changed; private.

Rows are compared in all columns, without those that tell rows apart (identifiers, and columns with
another value in nearly every row), and in either with one or two columns left out, as far as the
work allows: ids that were issued anew, or a column that was moved, hide nobody.

The rule: of the values that just two rows of both files have, each lies in one file or has one row
in either.  Where both are drawn from the same people, who is in which is chance, and a pair is
divided with probability 2 n m / ((n + m)(n + m - 1)), whatever the distribution of the rows
(a permutation test).  The same people are on both sides where more pairs are divided, by a binomial
distribution with a false-alarm rate of ``_ALARM`` over the number of comparisons (Bonferroni), and
the pairs beyond that are ``_ALIKE`` of the control's rows that are alone in it, or more.

A file in which repeated rows were left out has no pair in itself, and looks like the same people
where its rows have few different values.

Cost: O(N log N) for N rows and each comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.table.alignment import common_places
from voile.table.arrays import Frame
from voile_base.randomness import Randomness

__all__ = ["shared_people"]

Hashes = NDArray[np.uint64]

_ALARM = 0.001
_ALIKE = 0.05
_DISTINCT = 0.9
"""The share of rows with another value, from which on a column is looked at as an identifier."""
_WORK = 20_000_000
"""Rows that are compared beyond those with one column left out."""


def shared_people(own: Frame, control: Frame, ids: Collection[str]) -> str | None:
    """Why the comparison with a control is void, without a full stop; None where it is not.

    Both have the same columns; ``ids`` are those of them that tell people apart.
    """
    codes = {n: common_places([own.select(n), control.select(n)]) for n in own.columns}
    draws = Randomness.seeded(0).key("rows alike").generator()
    hashes = {}
    for name, sides in codes.items():
        kinds = max(int(side.max(initial=-1)) for side in sides) + 1
        numbers = draws.integers(0, 2**63, kinds).astype(np.uint64)
        hashes[name] = numbers[np.concatenate(sides)]
    plain = [n for n, sides in codes.items() if n not in ids and not _tells_apart(*sides)]
    asked = dict.fromkeys(_left_out(tuple(own.columns), tuple(plain), own.height + control.height))
    worst = max(
        (_divided(_sum(hashes, names), own.height, len(asked)), -len(names)) for names in asked
    )
    if not worst[0]:
        return None
    columns = "all columns" if -worst[1] == own.width else f"{-worst[1]} of {own.width} columns"
    return (
        f"{worst[0]:,} of the {control.height:,} rows of the control are rows of the original in "
        f"{columns}, more than chance explains: where the same people stand on both sides, the "
        "comparison with the control is void; give a control of people who were not in the data"
    )


def _left_out(
    every: tuple[str, ...], plain: tuple[str, ...], rows: int
) -> Iterator[tuple[str, ...]]:
    """The sets of columns in which rows are compared."""
    for names in (every, plain):
        if names:
            yield names
            if len(names) > 2:
                yield from combinations(names, len(names) - 1)
    pairs = len(plain) * (len(plain) - 1) // 2
    if len(plain) > 3 and pairs * rows <= _WORK:
        yield from combinations(plain, len(plain) - 2)


def _sum(hashes: dict[str, Hashes], names: tuple[str, ...]) -> Hashes:
    total = np.zeros_like(hashes[names[0]])
    for name in names:
        total += hashes[name]
    return total


def _tells_apart(*sides: NDArray[np.int64]) -> bool:
    """Whether nearly each row has another value, on both sides."""
    return all(len(np.unique(side)) >= _DISTINCT * max(len(side), 1) for side in sides)


def _divided(rows: Hashes, first: int, questions: int) -> int:
    """How many pairs of rows are divided between the files; 0 where chance explains it."""
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=rows[order[:1]] + np.uint64(1)))
    sizes = np.diff(starts, append=len(rows))
    in_control = np.add.reduceat((order >= first).astype(np.int64), starts)
    pairs = int((sizes == 2).sum())
    divided = int(((sizes == 2) & (in_control == 1)).sum())
    second, total = len(rows) - first, len(rows)
    if not divided or not first or not second:
        return 0
    share = 2 * first * second / (total * (total - 1))
    chance = float(special.bdtrc(divided - 1, pairs, min(share, 1 - 1e-12)))
    alone = int((in_control == 1).sum())
    beyond = divided - share * pairs
    return divided if chance < _ALARM / questions and beyond >= _ALIKE * alone else 0
