"""Answers about a private table, with guaranteed bounds, from its release alone.

A (k,e)-anonymous release publishes every column but the sensitive one unchanged, and permutes the
sensitive values within groups.  A predicate over the other columns therefore matches as many rows
of each group in the release as in the original: COUNT is exact.  Of the matching rows' sensitive
values we know from which groups they come, and that bounds SUM, AVG, MIN and MAX; see
below for the bounds, the estimates, and why no narrower bounds hold.

Guarantee: the true aggregate over the original values of the published rows lies between
``lower`` and ``upper``.  It assumes that the release is what the publisher wrote.  Rows that the
publisher left out (held back, or dropped for missing values) are not counted.

The column ``group`` may stand in a predicate: it is published, and a condition on it selects whole
groups, whose values are known anyway.

Cost: one scan of the release by the engine, then O(d log d) for d (group, value) pairs.

The bounds
----------
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

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.masked import Randomized
from voile.query.parsing import AggregateCall, QueriedColumns, parse_predicate
from voile.query.randomized import randomized_answer
from voile.query.synthesis import EstimatedAnswer
from voile.release.release import Release
from voile.schema.numbers import unscaled
from voile.table.summaries import GroupedValues
from voile_base.errors import QueryError
from voile_base.ondemand import dataclass
from voile_base.values import Json
from voile_base.values.expressions import Expression, both, is_missing, negated

__all__ = [
    "Answer",
    "MatchedGroups",
    "answer",
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

    @staticmethod
    def of(values: GroupedValues, matching: Mapping[int, int]) -> MatchedGroups:
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

    def least_sum(self) -> int:
        """The least possible sum over the matching rows, in units."""
        taken = np.clip(self.matching[self.group] - self.below, 0, self.rows)
        return _dot(self.units, taken)

    def least_minimum(self) -> int:
        """The least possible minimum over the matching rows, in units; some row must match."""
        return int(self.units[self.starts].min())

    def greatest_minimum(self) -> int:
        """The greatest possible minimum over the matching rows, in units; some row must match."""
        # The c-th greatest of n values is the last one with at most n - c values below it.
        candidates = self.below <= (self.sizes - self.matching)[self.group]
        last = self.starts + np.add.reduceat(candidates, self.starts, dtype=np.int64) - 1
        return int(self.units[last].min())

    def expected_sum(self) -> Fraction:
        """The expected sum over the matching rows, in units, to within 1e-12 of a unit."""
        if len(self.starts) == 0:
            return Fraction(0)
        exact = _cannot_overflow(self.units, self.rows)
        units = self.units if exact else self.units.astype(object)
        sums = np.add.reduceat(units * self.rows, self.starts)
        # One denominator for all groups: that of an exact sum would have a digit for every group.
        digits = _GUARD_DIGITS + len(str(len(self.starts)))
        parts = zip(self.matching.tolist(), sums.tolist(), self.sizes.tolist(), strict=True)
        return Fraction(sum(c * s * 10**digits // n for c, s, n in parts), 10**digits)

    def expected_minimum(self) -> Fraction:
        """The expected minimum over the matching rows, in units; there must be such rows.

        Computed in double precision from the least value upwards, then kept within the bounds.
        """
        order = np.argsort(self.units, kind="stable")
        units = self.units[order]
        exceeding = np.exp(np.cumsum(_log_factors(self)[order]))  # P(MIN > unit)
        least, span = int(units[0]), int(units[-1]) - int(units[0])
        # Divided by the span first: units can be integers beyond the range of a double.
        gaps = (np.diff(units) / max(span, 1)).astype(np.float64)
        above = span * Fraction(float(np.dot(gaps, exceeding[:-1])))
        return min(least + above, Fraction(self.greatest_minimum()))


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


_MORE_PLACES = 6  # decimal places of averages and estimates, beyond those of the values
_FLOAT_EXACT = 2**53


@dataclass(frozen=True)
class Answer:
    """Bounds that the true answer obeys, and an estimate between them.

    ``lower`` and ``upper`` are exact for COUNT, SUM, MIN and MAX.  Those of AVG are rounded
    outwards in their last place, so that they hold, and estimates to the nearest: both have six
    decimal places more than the values.  All three are None where there is no answer: AVG, MIN
    and MAX of no rows.  The sum of no rows is 0.
    """

    aggregate: str
    """COUNT, SUM, AVG, MIN or MAX."""
    column: str | None
    """None for COUNT(*)."""
    where: str | None
    """The predicate as it was asked; None for all rows."""
    matching_rows: int
    """Rows for which the predicate holds: exact."""
    lower: Decimal | None
    upper: Decimal | None
    estimate: Decimal | None
    """The expected answer if each group's values were dealt to its rows at random."""

    def document(self) -> Json:
        """The answer as JSON takes it.

        Whole numbers are exact.  Others become the nearest double, and bounds that no double
        equals the next one outwards.
        """
        return {
            "aggregate": self.aggregate,
            "column": self.column,
            "where": self.where,
            "matching_rows": self.matching_rows,
            "lower": _json_number(self.lower, -math.inf),
            "upper": _json_number(self.upper, math.inf),
            "estimate": _json_number(self.estimate, None),
        }


def answer(
    release: Release,
    aggregate: str,
    where: str | None = None,
    *,
    confidence: float | None = None,
    weight: str | None = None,
) -> Answer | EstimatedAnswer:
    """Answer an aggregate query from a release.

    Of tables or synthetic rows with noisy measurements: an estimate, and an interval of this
    ``confidence``, or of that of the release (``synthesis``).

    Of a release with redrawn columns: the same, by their matrices (``randomized``).

    With ``weight``, the published column of sampling weights: the same for the population, of
    columns that are shown as they are or redrawn.

    Of a (k,e)-anonymous release: guaranteed bounds.  There ``aggregate`` is SUM(column),
    AVG(column), MIN(column) or MAX(column) of the sensitive column, COUNT(*), or COUNT(column) of
    any published column, which counts its values that are not missing.  ``where`` is a predicate
    of SQL over the other published columns.

    Raises ``QueryError`` where the release shows its columns otherwise, or the query cannot be
    read or cannot be answered from the release.
    """
    if weight is not None and release.measurements is not None:
        msg = "counts with noise were made of rows and not of weights; ask without --weight"
        raise QueryError(msg)
    redrawn = any(isinstance(shown, Randomized) for shown in release.disclosure.columns.values())
    if redrawn or weight is not None:
        return randomized_answer(release, aggregate, where, confidence, weight)
    if release.measurements is not None:
        return EstimatedAnswer.of(release, aggregate, where, confidence)
    columns, group = _columns(release)
    assert columns.sensitive is not None
    asked = AggregateCall.parse(aggregate, columns)
    predicate = parse_predicate(where, columns) if where is not None else None
    values = release.table.group_values(columns.sensitive, group)
    condition = _condition(asked, predicate, columns)
    groups = MatchedGroups.of(values, release.table.count_matching(condition, group))
    matching = groups.matching_rows
    lower, upper, estimate = _bounds(asked.function, groups, values.values.scale)
    return Answer(asked.function, asked.column, where, matching, lower, upper, estimate)


def _columns(release: Release) -> tuple[QueriedColumns, str]:
    """The columns of a release that queries can be answered from, and that of its groups.

    Raises ``QueryError`` where nothing follows for aggregates.
    """
    sensitive = tuple(release.roles.get("sensitive", ()))
    disclosure = release.disclosure
    shown = [one for name, one in disclosure.columns.items() if name not in sensitive]
    bounded = disclosure.permuted and disclosure.permuted <= set(sensitive)
    if not (bounded and disclosure.groups and all(one.as_it_is for one in shown)):
        msg = (
            "bounds of queries follow where sensitive values alone are permuted within groups and "
            "all other columns are published as they are, and this release is not of that kind; "
            "publish with (k,e)-anonymity to answer queries with guaranteed bounds, or with "
            "dp-synthesis for intervals"
        )
        raise QueryError(msg)
    if len(sensitive) != 1:
        msg = f"queries need one sensitive column; this release has {len(sensitive)}"
        raise QueryError(msg)
    return QueriedColumns(release.table.kinds(), sensitive[0]), disclosure.groups.column


def _condition(
    asked: AggregateCall, predicate: Expression | None, columns: QueriedColumns
) -> Expression | None:
    """What holds of the rows for which the predicate holds and that the aggregate counts."""
    conditions = [predicate] if predicate else []
    if asked.column not in (None, columns.sensitive):  # sensitive values are never missing
        conditions.append(negated(is_missing(asked.column or "")))
    return both(*conditions) if conditions else None


def _bounds(
    function: str, groups: MatchedGroups, scale: int
) -> tuple[Decimal | None, Decimal | None, Decimal | None]:
    """Lower bound, upper bound and estimate of an aggregate."""
    matching = groups.matching_rows
    if function == "COUNT":
        return Decimal(matching), Decimal(matching), Decimal(matching)
    if matching == 0:
        return (Decimal(0),) * 3 if function == "SUM" else (None,) * 3
    if function == "MAX":
        lower, upper, expected = (-number for number in _minimum(groups.mirrored))
        lower, upper = upper, lower
    elif function == "MIN":
        lower, upper, expected = _minimum(groups)
    else:
        least, greatest = groups.least_sum(), -groups.mirrored.least_sum()
        divisor = matching if function == "AVG" else 1
        lower, upper = Fraction(least, divisor), Fraction(greatest, divisor)
        expected = min(max(groups.expected_sum() / divisor, lower), upper)
    unit = 10**_MORE_PLACES
    return (
        unscaled(math.floor(lower * unit), scale + _MORE_PLACES),
        unscaled(math.ceil(upper * unit), scale + _MORE_PLACES),
        unscaled(round(expected * unit), scale + _MORE_PLACES),
    )


def _minimum(groups: MatchedGroups) -> tuple[Fraction, Fraction, Fraction]:
    """Least, greatest and expected minimum, in units."""
    return (
        Fraction(groups.least_minimum()),
        Fraction(groups.greatest_minimum()),
        groups.expected_minimum(),
    )


def _json_number(number: Decimal | None, outwards: float | None) -> int | float | None:
    if number is None:
        return None
    if number == number.to_integral_value():
        return int(number)
    if abs(number) >= _FLOAT_EXACT:
        return math.floor(number) if outwards == -math.inf else math.ceil(number)
    nearest = float(number)
    # A double stands for its shortest decimal, here as in every JSON document.
    written = Decimal(repr(nearest))
    holds = outwards is None or (written <= number if outwards < 0 else written >= number)
    return nearest if holds else math.nextafter(nearest, outwards or 0.0)
