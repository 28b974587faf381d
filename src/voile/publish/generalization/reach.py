"""What could be asked of groups that fall short: how far each criterion gets, column by column.

What it does: for each criterion that some groups break by itself, finds the hardest parameter of
its kind for which the rows of the groups that break it are few enough to be left out.

Claim: exact for k and for l of the distinct and recursive kinds; l of the entropy kind is a
multiple of 0.01 and t one of 0.0001, each the best of its multiples.  It is said of each criterion
by itself: what several ask together may still be out of reach.

Algorithm: bisection; all criteria here are the harder to satisfy the larger k or l, or the smaller
t.

Cost: some ten looks at the groups for each criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness

__all__ = ["out_of_reach"]

_CENT, _FINE = Decimal("0.01"), Decimal("0.0001")


def out_of_reach(
    criteria: Sequence[Criterion], groups: Groups, rows: NDArray[np.int64], suppressible: int
) -> Iterator[str]:
    """A clause for each criterion that cannot be had, with the best that can; empty for none.

    ``rows`` (p,) are those of the groups, of which so many may be left out.
    """

    def does(criterion: Criterion) -> bool:
        broken = int(rows[~criterion.holds(groups)].sum())
        return broken <= suppressible and broken < int(rows.sum())

    for criterion in criteria:
        if not does(criterion):
            yield _told(criterion, does)


def _told(criterion: Criterion, does: Callable[[Criterion], bool]) -> str:
    match criterion:
        case KAnonymity(k=k):
            return _clause(f"k = {k:,}", _largest(criterion, "k", 2, k, does), "k")
        case DistinctDiversity(l=most, column=column) | RecursiveDiversity(l=most, column=column):
            found = _largest(criterion, "l", 2, most, does)
            return f"column {column!r}: {_clause(f'l = {most}', found, 'l')}"
        case EntropyDiversity(l=most, column=column):
            found = _largest(criterion, "l", 101, int(Decimal(most) / _CENT) + 1, does, _CENT)
            return f"column {column!r}: {_clause(f'l = {most}', found, 'l')}"
        case EqualCloseness() | OrderedCloseness() | HierarchicalCloseness():
            least = -int(Decimal(criterion.t) / _FINE)
            found = _largest(criterion, "t", -(10**4), least, does, -_FINE)
            told = _clause(f"t = {criterion.t}", found, "t")
            return f"column {criterion.column!r}: {told}"
        case _:
            return f"column {criterion.column!r}: {dict(criterion.document())} cannot be reached"


def _clause(asked: str, found: Decimal | None, name: str) -> str:
    best = f"the best is {name} = {found:,f}" if found is not None else "nor can any less"
    return f"{asked} cannot be reached, {best}"


def _largest(
    criterion: Any,
    name: str,
    low: int,
    high: int,
    does: Callable[[Criterion], bool],
    unit: Decimal | None = None,
) -> Decimal | None:
    """The largest multiple of a unit in [low, high) that can be had; None where there is none."""

    def having(number: int) -> bool:
        value = number if unit is None else number * unit
        return does(replace(criterion, **{name: value}))

    if low >= high or not having(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if having(middle) else (low, middle)
    return Decimal(low) if unit is None else (low * unit).normalize()
