"""People of whom a control tells nothing: it has others of their kind far less often; private.

Where a control is a year older, values come and go: surveys code the highest ages by their mean,
which is another number each year.  A file that shows the new number fits dozens of people, and
nobody of the control, though nobody was copied; one that shows the old number voids the comparison.
So people with a value of one column that one side has more often than the other, by more than
``_TIMES`` and by more than chance, are left out on both sides, and the reader is told how many.
Which these are is decided by the original and the control alone; the file has no part in it.

A value's share is held against a binomial distribution in which one side has it ``_TIMES`` times as
often, at a level of ``_UNLIKE`` over the number of values in which as few people as it has could
tell the sides apart (Tarone, "A modified Bonferroni method for discrete data", Biometrics 1990).

Whether no column and no two tell the sides apart is asked of all people (``are_alike``).

Cost: a sort of the values of each column; a count of each pair of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.audit.beside import JointCodes, JointColumn
from voile.audit.risk import CONTROL, ORIGINAL
from voile_base.ondemand import dataclass

__all__ = ["Drift", "are_alike"]

_TIMES = 1.5
"""How many times as often one side may have a value."""
_UNLIKE = 0.05
"""How improbable it must be that any value is found to be more frequent by chance."""
_MOST = 0.1
"""The share of people who may be left out."""
_KINDS = 8
"""As which columns are compared: parts of numbers, and the most frequent texts."""
_EXPECTED = 20
"""People of both sides from which on a kind is compared by itself."""

_Mask = NDArray[np.bool_]
_Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Drift:
    """Who has a value that is far more frequent on one side."""

    rows: tuple[_Mask, _Mask]
    """For the original and the control, shape (p,): rows of such people."""
    columns: tuple[str, ...]
    """The columns of these values."""
    people: tuple[int, int]
    """How many people of each side that are."""

    @classmethod
    def of(cls, beside: JointCodes) -> Drift:
        """All columns, each by itself."""
        sides = (ORIGINAL, CONTROL)
        units = [beside.units[side] for side in sides]
        sizes = [beside.people(side) for side in sides]
        left_out = [np.zeros(size, dtype=bool) for size in sizes]
        columns = []
        for column in beside.columns:
            more = _more_frequent(_persons_with(column, units), sizes)
            if more.any():
                columns.append(column.name)
            for side in sides:
                left_out[side][units[side][more[column.value[side]]]] = True
        return cls(
            (left_out[ORIGINAL][units[ORIGINAL]], left_out[CONTROL][units[CONTROL]]),
            tuple(columns),
            (int(left_out[ORIGINAL].sum()), int(left_out[CONTROL].sum())),
        )

    def refusal(self, sizes: tuple[int, int]) -> str | None:
        """Why the control is one of other people; None where it will do."""
        if all(few <= _MOST * size for few, size in zip(self.people, sizes, strict=True)):
            return None
        return (
            f"{self.people[ORIGINAL]:,} of {sizes[ORIGINAL]:,} people of the original and "
            f"{self.people[CONTROL]:,} of {sizes[CONTROL]:,} of the control {self._why}; take a "
            "control of the same kind of people, or files without these columns"
        )

    @property
    def note(self) -> str | None:
        """What is left out, for the reader; None where nobody is."""
        if not any(self.people):
            return None
        return (
            f"{self.people[ORIGINAL]:,} people of the original and {self.people[CONTROL]:,} of the "
            f"control are left out, of whom nothing can be told: they {self._why}"
        )

    @property
    def _why(self) -> str:
        named = ", ".join(map(repr, self.columns))
        return f"have a value that the other side has far less often ({named})"


def _persons_with(column: JointColumn, units: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """How many people of each side have each value, shape (2, v)."""
    found = []
    for value, unit in zip(column.value, units, strict=False):
        once = np.unique(unit * column.values + value) % column.values
        found.append(np.bincount(once, minlength=column.values))
    return np.stack(found)


def _more_frequent(counts: NDArray[np.int64], sizes: Sequence[int]) -> _Mask:
    """Which values one side has more often, shape (v,)."""
    both = counts.sum(axis=0)
    more = np.zeros(both.shape, dtype=bool)
    shares = [_TIMES * sizes[at] / (_TIMES * sizes[at] + sizes[1 - at]) for at in (0, 1)]
    # The least probability that so many people could have, on the side that reaches a lower one.
    least = np.minimum(*(share ** both.astype(np.float64) for share in shares))
    tried = _tried(least)
    for share, own in zip(shares, counts, strict=True):
        chance = np.where(own > 0, special.bdtrc(own - 1.0, both, share), 1.0)
        more |= chance * 2 * tried < _UNLIKE
    return more


def _tried(least: NDArray[np.float64]) -> int:
    """The least number m of values such that at most m could be told at ``_UNLIKE`` / 2m."""
    lowest = np.sort(least)
    numbers = np.arange(1, len(lowest) + 2)
    could = np.searchsorted(lowest, _UNLIKE / 2 / numbers, side="right")
    return int(numbers[np.argmax(could <= numbers)])


def are_alike(beside: JointCodes) -> bool:
    """Whether no column and no two columns tell people of the original from those of the control.

    Numbers of persons are compared as coarse as ``_KINDS`` parts, by the distribution of chi-square
    at a level of ``_UNLIKE`` over the number of comparisons. Several rows of a person are alike
    and make it less likely.
    """
    coarse = [_coarsely(column) for column in beside.columns]
    pairs = [
        [one * _KINDS + two for one, two in zip(first, second, strict=True)]
        for first, second in combinations(coarse, 2)
    ]
    compared = [*coarse, *pairs]
    return all(_same_law(*sides) * len(compared) >= _UNLIKE for sides in compared)


def _coarsely(column: JointColumn) -> list[_Indices]:
    """The values of both sides as less than ``_KINDS`` kinds; rare ones are together."""
    both = np.concatenate(column.value[: CONTROL + 1])
    if column.numbers is not None:
        edges = np.unique(np.nanquantile(column.numbers[0][both], np.linspace(0, 1, _KINDS)[1:-1]))
        code = np.searchsorted(edges, np.nan_to_num(column.numbers[0], nan=-inf))
    else:
        order = np.argsort(-np.bincount(both, minlength=column.values), kind="stable")
        code = np.empty(column.values, dtype=np.int64)
        code[order] = np.minimum(np.arange(column.values), _KINDS - 1)
    return [code[value] for value in column.value[: CONTROL + 1]]


def _same_law(own: _Indices, other: _Indices) -> float:
    """The probability of chi-square that two sides differ as much by chance."""
    kinds = int(max(own.max(initial=0), other.max(initial=0))) + 1
    counts = np.stack([np.bincount(side, minlength=kinds) for side in (own, other)])
    often = counts.sum(axis=0) >= _EXPECTED
    counts = np.column_stack((counts[:, often], counts[:, ~often].sum(axis=1)))
    counts = counts[:, counts.sum(axis=0) > 0].astype(np.float64)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
    apart = float(((counts - expected) ** 2 / np.maximum(expected, 1e-9)).sum())
    return float(special.chdtrc(max(counts.shape[1] - 1, 1), apart))
