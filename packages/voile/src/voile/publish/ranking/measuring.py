"""Published boxes, counted again: from what the release shows against the rows of the table.

The search is not asked.  What readers see of a group, two ends a column, is laid over the counted
table, which holds every row of the private table that lies between the extremes of the best rows.

Cost: O(g m) for each group, for g combinations of values and m ranking columns.

What a ranking says of itself: how columns are shown, and its boxes in ``release.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.publish.assembled import Spans, exactly, recoded
from voile.publish.generalization.regions import is_ordered
from voile.publish.ranking.decision import CountedTop, Ranked, range_names
from voile.publish.ranking.groups import Group, SearchTerms
from voile.release.check import GuaranteeBrokenError
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.ranges import ranks_in_order
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.table.best_rows import in_one_unit
from voile.table.decisions import RecodedColumn
from voile.table.published import GROUP, PublishedTable
from voile.table.summaries import CombinationCounts, PublishedUnits
from voile_base.ondemand import dataclass

__all__ = ["MeasuredGroup", "disclosure", "document", "exact_json", "measure", "texts_of"]


_GROUP = "group"


@dataclass(frozen=True)
class MeasuredGroup:
    """What the release shows of one group, and what share of the rows in its box is best."""

    number: int
    """As in the column ``group``."""
    rows: int
    precision: Fraction
    score_low: Fraction
    score_high: Fraction
    """Of what lies in the box, whoever is in it: no score of a person, unless a least score is part
    of what the group is."""


def measure(
    shown: PublishedTable,
    columns: Sequence[RecodedColumn],
    ranked: Ranked,
    top: CountedTop,
    plan: Plan,
    terms: SearchTerms,
    whose: PublishedUnits | None = None,
) -> list[MeasuredGroup]:
    """Each published group, by its number.

    ``columns`` is what the groups of ``ranked`` show; ``whose`` says which persons or households
    the published rows are of, where these have several.  Raises ``GuaranteeBrokenError`` where a
    group has too few rows, its box too few of the best ones, or a member lies outside.
    """
    number = _numbers(columns)
    sizes = shown.group_sizes([_GROUP])
    persons = sizes if whose is None else whose.in_groups([_GROUP])
    box = _Box.of(shown, top, plan, len(sizes))
    found = []
    for index, rows in enumerate(sizes.tolist()):
        kept = np.flatnonzero(number == index)
        members = np.isin(ranked.group, kept)
        scores = top.scores[members]
        inside = box.holds(top, index)
        low, high = box.scores(top, index)
        if any(one.thresholded for one in _of(ranked, kept)):
            inside &= top.scores >= scores.min()
            low = top.levels[scores.min()]
        if int(top.counts.rows[members].sum()) != rows or not inside[members].all():
            msg = f"group {index + 1} of the ranking does not show the rows that were chosen"
            raise GuaranteeBrokenError(msg)
        tops = int(top.times[inside & top.is_top].sum())
        precision = Fraction(tops, int(top.times[inside].sum()))
        if persons[index] < terms.k or precision < terms.precision:
            msg = f"group {index + 1} of the ranking has too few rows, or its box too few best ones"
            raise GuaranteeBrokenError(msg)
        found.append(MeasuredGroup(index + 1, rows, precision, low, high))
    return found


def _of(ranked: Ranked, groups: NDArray[np.int64]) -> list[Group]:
    """Those of some groups that were found now; earlier ones of a series have no threshold."""
    return [ranked.kept[one] for one in groups.tolist() if one < len(ranked.kept)]


def _numbers(columns: Sequence[RecodedColumn]) -> NDArray[np.int64]:
    """The number, from 0, that each group has in the release: they ascend by what they show."""
    shown = np.column_stack([column.codes for column in columns])
    return np.unique(shown, axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class _Box:
    """The boxes of p groups as the release shows them: two ends for each of m columns."""

    rank: Sequence[NDArray[np.int64]]
    """For each column, shape (d,): where its distinct values stand between the ends."""
    low: Sequence[NDArray[np.int64]]
    """For each column, shape (p,)."""
    high: Sequence[NDArray[np.int64]]

    @classmethod
    def of(cls, shown: PublishedTable, top: CountedTop, plan: Plan, groups: int) -> _Box:
        sides = []
        for name, values in zip(
            top.counts.columns, top.counts.values[: len(top.added)], strict=False
        ):
            order = plan.column(name).order
            if order is None:
                sides.append(_numeric_side(shown, name, values))
            else:
                names = range_names(name, order)
                sides.append((ranks_in_order(name, order, values), *_text_side(shown, name, names)))
            if any(len(ends) != groups for ends in sides[-1][1:]):
                msg = f"column {name!r} of the release shows several boxes for one group"
                raise GuaranteeBrokenError(msg)
        return cls(*zip(*sides, strict=True))

    def holds(self, top: CountedTop, group: int) -> NDArray[np.bool_]:
        """Which combinations of the counted table lie in the box of a group, shape (g,)."""
        inside = np.ones(len(top.counts.rows), dtype=np.bool_)
        for column, (rank, low, high) in enumerate(
            zip(self.rank, self.low, self.high, strict=True)
        ):
            within = (rank >= low[group]) & (rank <= high[group])
            inside &= within[top.counts.codes[:, column]]
        return inside

    def scores(self, top: CountedTop, group: int) -> tuple[Fraction, Fraction]:
        """The least and the most that values between the ends of a group's box add up to.

        The ends are values of the table; each column adds more, or less, as its values rise.
        """
        units, common = in_one_unit(top.added)
        least = most = 0
        for added, rank, low, high in zip(units, self.rank, self.low, self.high, strict=True):
            within = added[(rank >= low[group]) & (rank <= high[group])]
            least += int(within.min())
            most += int(within.max())
        return Fraction(least, common), Fraction(most, common)


_Side = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _numeric_side(shown: PublishedTable, column: str, values: DistinctValues) -> _Side:
    """Ranks of numbers, and the first and last of them between the two published ends."""
    assert values.numbers is not None
    low, high = (shown.group_values(f"{column}.{end}", _GROUP).values for end in ("low", "high"))
    numbers = values.numbers
    if shown.kinds()[f"{column}.low"] != "integer":  # the ends were published as doubles
        numbers = ExactNumbers.of(np.array([float(number) for number in numbers.decimals()]))
    scale = max(each.scale for each in (numbers, low, high))
    units = numbers.rescaled(scale).units
    return (
        np.arange(len(units)),
        np.searchsorted(units, low.rescaled(scale).units, side="left"),
        np.searchsorted(units, high.rescaled(scale).units, side="right") - 1,
    )


def _text_side(
    shown: PublishedTable, column: str, names: Mapping[tuple[int, int], str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ranks of both ends of the published ranges."""
    ends = {name: both for both, name in names.items()}
    cells = shown.cells([_GROUP], column)
    found = np.array([ends[str(cells.values.texts[code])] for code in cells.value.tolist()])
    return found[:, 0], found[:, 1]


def disclosure(plan: Plan, counts: CombinationCounts, shown: Sequence[RecodedColumn]) -> Disclosure:
    """What is ranked by and quasi-identifiers as the groups show them, and the rest as it is."""
    spans: dict[str, Spans] = {}
    values = dict(zip(counts.columns, counts.values, strict=True))
    for name in (column.column for column in shown):
        declared = plan.column(name)
        if name in plan.roles.ranking and declared.order is not None:
            spans[name] = "range"
        elif is_ordered(declared.bind_hierarchy(name, values[name]), values[name]):
            spans[name] = "period"
    by = (*plan.roles.quasi_identifiers, *plan.roles.ranking)
    return Disclosure(
        columns=exactly(plan.roles.published) | recoded(shown, None, spans),
        groups=GroupNumbering(column=GROUP, made="alike", by=by),
    )


def document(
    group: MeasuredGroup, shift: Fraction, promised: Decimal | None = None
) -> Mapping[str, object]:
    """What ``release.json`` says of a group.

    In a series that is the precision ``promised``: the one that it has changes with one newcomer.
    """
    precision = float(group.precision if promised is None else promised)
    return {
        "group": group.number,
        "rows": group.rows,
        "precision": round(precision, 6),
        "score": [exact_json(shift + end) for end in (group.score_low, group.score_high)],
    }


def texts_of(method: Mapping[str, object]) -> dict[str, str]:
    """The parameters of a method as a series compares them."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in method.items()
    }


def exact_json(value: Fraction) -> int | float:
    """A number as JSON has it."""
    return int(value) if value.denominator == 1 else float(value)
