"""Answers about a private table, with guaranteed bounds, from its release alone.

A (k,e)-anonymous release publishes every column but the sensitive one unchanged, and permutes the
sensitive values within groups.  A predicate over the other columns therefore matches as many rows
of each group in the release as in the original: COUNT is exact.  Of the matching rows' sensitive
values we know from which groups they come, and that bounds SUM, AVG, MIN and MAX; see ``bounds``
for the bounds, the estimates, and why no narrower bounds hold.

Guarantee: the true aggregate over the original values of the published rows lies between
``lower`` and ``upper``.  It assumes that the release is what the publisher wrote.  Rows that the
publisher left out (held back, or dropped for missing values) are not counted.

The column ``group`` may stand in a predicate: it is published, and a condition on it selects whole
groups, whose values are known anyway.

Cost: one scan of the release by the engine, then O(d log d) for d (group, value) pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from voile.disclosure.randomized import Randomized
from voile.query import bounds
from voile.query.bounds import MatchedGroups, matched_groups
from voile.query.parsing import AggregateCall, QueriedColumns, parse_aggregate, parse_predicate
from voile.query.randomized import randomized_answer
from voile.query.synthesis import EstimatedAnswer, estimated_answer
from voile.release.release import Release
from voile.schema.numbers import unscaled
from voile_base.errors import QueryError
from voile_base.values.expressions import Expression, both, is_missing, negated

__all__ = ["Answer", "answer"]

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

    def document(self) -> dict[str, Any]:
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
) -> Answer | EstimatedAnswer:
    """Answer an aggregate query from a release.

    Of tables or synthetic rows with noisy measurements: an estimate, and an interval of this
    ``confidence``, or of that of the release (``synthesis``).

    Of a release with redrawn columns: the same, by their matrices (``randomized``).

    Of a (k,e)-anonymous release: guaranteed bounds.  There ``aggregate`` is SUM(column),
    AVG(column), MIN(column) or MAX(column) of the sensitive column, COUNT(*), or COUNT(column) of
    any published column, which counts its values that are not missing.  ``where`` is a predicate
    of SQL over the other published columns.

    Raises ``QueryError`` where the release shows its columns otherwise, or the query cannot be
    read or cannot be answered from the release.
    """
    if any(isinstance(shown, Randomized) for shown in release.disclosure.columns.values()):
        return randomized_answer(release, aggregate, where, confidence)
    if release.measurements is not None:
        return estimated_answer(release, aggregate, where, confidence)
    columns, group = _columns(release)
    assert columns.sensitive is not None
    asked = parse_aggregate(aggregate, columns)
    predicate = parse_predicate(where, columns) if where is not None else None
    values = release.table.group_values(columns.sensitive, group)
    condition = _condition(asked, predicate, columns)
    groups = matched_groups(values, release.table.count_matching(condition, group))
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
        least, greatest = bounds.least_sum(groups), -bounds.least_sum(groups.mirrored)
        divisor = matching if function == "AVG" else 1
        lower, upper = Fraction(least, divisor), Fraction(greatest, divisor)
        expected = min(max(bounds.expected_sum(groups) / divisor, lower), upper)
    unit = 10**_MORE_PLACES
    return (
        unscaled(math.floor(lower * unit), scale + _MORE_PLACES),
        unscaled(math.ceil(upper * unit), scale + _MORE_PLACES),
        unscaled(round(expected * unit), scale + _MORE_PLACES),
    )


def _minimum(groups: MatchedGroups) -> tuple[Fraction, Fraction, Fraction]:
    """Least, greatest and expected minimum, in units."""
    return (
        Fraction(bounds.least_minimum(groups)),
        Fraction(bounds.greatest_minimum(groups)),
        bounds.expected_minimum(groups),
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
