"""Bounds and expectations of aggregates over values that were permuted within groups.

A table is divided into groups.  Of group g we know its n_g values, and that c_g of its n_g rows
match a predicate; we do not know which value belongs to which row.  The numbers here range over
all assignments of each group's values to its rows.

Source: bounds on aggregates over permuted groups are the purpose of the (k,e)-anonymous model
(Zhang, Koudas, Srivastava, Yu: Aggregate query answering on anonymized tables, ICDE 2007).

Bounds, and why they are tight:

* SUM: an assignment gives the matching rows of group g some c_g of its values, and any c_g of
  them can be chosen, in every group independently.  The extremes are therefore the sums over the
  groups of the c_g least and of the c_g greatest values.
* MIN, least: the least value of a group with a match can be given to a matching row, and no
  smaller value can be given to any.
* MIN, greatest: the minimum over the matching rows of one group is at most the group's c_g-th
  greatest value, reached by giving them the c_g greatest.  All groups can do so at once, so the
  extreme is the smallest of these values.
* MAX mirrors MIN; AVG is SUM over the number of matching rows, which is known exactly.

Expectations are those under the assignment that draws each group's permutation uniformly, the
distribution that the published permutation has given everything else in the release:

* SUM: the sum over the groups of c_g times the group's mean.
* MIN: with N_g(v) the number of values of group g that are greater than v,

      P(MIN > v) = product over g of C(N_g(v), c_g) / C(n_g, c_g)
      E[MIN] = least + sum over consecutive values v < w of (w - v) P(MIN > v).

  Over ascending values each (group, value) pair changes one factor, so the logarithm is a running
  sum.  One term is log C(N - r, c) - log C(N, c); it is computed from Stirling's series with the
  large parts cancelled on paper, so that its error is about 1e-16 times r and not times log N!.

Cost: O(d) for d (group, value) pairs, O(d log d) for the expectation of MIN and MAX, vectorized.
Sums are exact: int64 where they fit, Python integers otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.table.summaries import GroupedValues

__all__ = [
    "MatchedGroups",
    "expected_minimum",
    "expected_sum",
    "greatest_minimum",
    "least_minimum",
    "least_sum",
    "matched_groups",
]

_INT64_LIMIT = 2**63
_GUARD_DIGITS = 12
_STIRLING_FROM = 16


@dataclass(frozen=True, eq=False)
class MatchedGroups:
    """The values of the groups that hold a matching row; d pairs in p groups.

    Pairs of a group stand together, ascending by value.
    """

    units: NDArray[Any]
    """Shape (d,): values in units, int64 or Python integers."""
    rows: NDArray[np.int64]
    """Shape (d,): how many rows of the group hold the value."""
    starts: NDArray[np.int64]
    """Shape (p,): where each group begins."""
    sizes: NDArray[np.int64]
    """Shape (p,): n_g."""
    matching: NDArray[np.int64]
    """Shape (p,): c_g, from 1 to n_g."""

    @property
    def matching_rows(self) -> int:
        """How many rows match."""
        return int(self.matching.sum())

    @property
    def mirrored(self) -> MatchedGroups:
        """The groups with every value negated: a greatest value is minus a least one of these."""
        ends = np.append(self.starts, len(self.rows))[1:]
        return MatchedGroups(
            units=-self.units[::-1],
            rows=self.rows[::-1],
            starts=(len(self.rows) - ends)[::-1],
            sizes=self.sizes[::-1],
            matching=self.matching[::-1],
        )

    @property
    def group(self) -> NDArray[np.int64]:
        """Shape (d,): the index of each pair's group."""
        pairs = np.diff(np.append(self.starts, len(self.rows)))
        return np.repeat(np.arange(len(self.starts)), pairs)

    @property
    def below(self) -> NDArray[np.int64]:
        """Shape (d,): how many values of the pair's group are less than the pair's."""
        before = np.cumsum(self.rows) - self.rows
        return before - before[self.starts][self.group]


def matched_groups(values: GroupedValues, matching: Mapping[int, int]) -> MatchedGroups:
    """The groups with a matching row; ``matching`` has c_g by number of the group.

    Raises ``ValueError`` where a group has more matching rows than rows.
    """
    numbers, starts = np.unique(values.group, return_index=True)
    sizes = np.add.reduceat(values.rows, starts) if len(starts) else np.empty(0, np.int64)
    counts = np.array([matching.get(int(number), 0) for number in numbers], dtype=np.int64)
    if sum(matching.values()) != counts.sum() or (counts > sizes).any():
        msg = "more rows match than the groups hold"
        raise ValueError(msg)
    pairs = np.diff(np.append(starts, len(values.group)))
    chosen = counts > 0
    kept = np.repeat(chosen, pairs)
    return MatchedGroups(
        units=values.values.units[kept],
        rows=values.rows[kept],
        starts=(np.cumsum(pairs[chosen]) - pairs[chosen]).astype(np.int64),
        sizes=sizes[chosen],
        matching=counts[chosen],
    )


def least_sum(groups: MatchedGroups) -> int:
    """The least possible sum over the matching rows, in units."""
    taken = np.clip(groups.matching[groups.group] - groups.below, 0, groups.rows)
    return _dot(groups.units, taken)


def least_minimum(groups: MatchedGroups) -> int:
    """The least possible minimum over the matching rows, in units; there must be such rows."""
    return int(groups.units[groups.starts].min())


def greatest_minimum(groups: MatchedGroups) -> int:
    """The greatest possible minimum over the matching rows, in units; there must be such rows."""
    # The c-th greatest of n values is the last one with at most n - c values below it.
    candidates = groups.below <= (groups.sizes - groups.matching)[groups.group]
    last = groups.starts + np.add.reduceat(candidates, groups.starts, dtype=np.int64) - 1
    return int(groups.units[last].min())


def expected_sum(groups: MatchedGroups) -> Fraction:
    """The expected sum over the matching rows, in units, to within 1e-12 of a unit."""
    if len(groups.starts) == 0:
        return Fraction(0)
    exact = _cannot_overflow(groups.units, groups.rows)
    units = groups.units if exact else groups.units.astype(object)
    sums = np.add.reduceat(units * groups.rows, groups.starts)
    # One denominator for all groups: that of an exact sum would have a digit for every group.
    digits = _GUARD_DIGITS + len(str(len(groups.starts)))
    parts = zip(groups.matching.tolist(), sums.tolist(), groups.sizes.tolist(), strict=True)
    return Fraction(sum(c * s * 10**digits // n for c, s, n in parts), 10**digits)


def expected_minimum(groups: MatchedGroups) -> Fraction:
    """The expected minimum over the matching rows, in units; there must be such rows.

    Computed in double precision from the least value upwards, then kept within the bounds.
    """
    order = np.argsort(groups.units, kind="stable")
    units = groups.units[order]
    exceeding = np.exp(np.cumsum(_log_factors(groups)[order]))  # P(MIN > unit)
    least, span = int(units[0]), int(units[-1]) - int(units[0])
    # Divided by the span first: units can be integers beyond the range of a double.
    gaps = (np.diff(units) / max(span, 1)).astype(np.float64)
    above = span * Fraction(float(np.dot(gaps, exceeding[:-1])))
    return min(least + above, Fraction(greatest_minimum(groups)))


def _log_factors(groups: MatchedGroups) -> NDArray[np.float64]:
    """Per pair: log C(N - r, c) - log C(N, c), N and N - r values being left from the pair on.

    Minus infinity where fewer than c values remain beyond the pair.
    """
    group = groups.group
    r, c = groups.rows, groups.matching[group]
    left = groups.sizes[group] - groups.below
    possible = left - r >= c
    r, c, left = r[possible], c[possible], left[possible]
    factors = np.full(len(group), -np.inf)
    factors[possible] = (
        r * np.log1p(-c / (left + 1))
        + _falling_remainder(left - c + 1, r)
        - _falling_remainder(left + 1, r)
    )
    return factors


def _falling_remainder(x: NDArray[np.int64], r: NDArray[np.int64]) -> NDArray[np.float64]:
    """What remains of log(Gamma(x) / Gamma(x - r)) without r log x - r, for x - r >= 1."""
    rest = x - r
    return _stirling_series(x) - _stirling_series(rest) - (rest - 0.5) * np.log1p(-r / x)


def _stirling_series(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """s(x) = log Gamma(x) - (x - 1/2) log x + x - log(2 pi)/2 for x >= 1, to about 1e-14."""
    table = np.cumsum(np.log(np.maximum(np.arange(-1, _STIRLING_FROM - 1), 1.0)))
    small = np.minimum(x, _STIRLING_FROM - 1)
    exact = table[small] - (small - 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    inverse = 1.0 / np.maximum(x, _STIRLING_FROM)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return np.where(x < _STIRLING_FROM, exact, series)


def _dot(units: NDArray[np.generic], counts: NDArray[np.int64]) -> int:
    if _cannot_overflow(units, counts):
        return int(np.dot(units, counts))
    return int(np.dot(units.astype(object), counts.astype(object)))


def _cannot_overflow(units: NDArray[np.generic], counts: NDArray[np.int64]) -> bool:
    """Whether every sum of these units, counted so often, fits in 64 bits."""
    if units.dtype == object or len(units) == 0:
        return False
    largest = max(abs(int(units.min())), abs(int(units.max())))
    return largest * int(counts.sum()) < _INT64_LIMIT
