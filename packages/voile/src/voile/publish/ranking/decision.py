"""The decision: from counts of the best rows to groups and what they show, once and in a series.

The counted table holds every row in the box around the best rows, so every box between its borders
can be counted on it.

Where persons have several rows, those of one person that agree in the ranking attributes are one
appearance: what is searched, and what precision and recall count, are appearances.  A box holds all
of such rows or none, and they are published together.

Cost: O(r) for r rows in that box, apart from the search.

Texts with a declared order: how ranges of them read.

A range reads ``worst to best``, and one text alone as itself.

Cost: O(q**2) for an order of q texts, once.

The rows of a series of rankings, followed from release to release: summary, before a decision.

Cost: a match of n rows with the marks of earlier releases, and two counts of them.

A series of rankings
--------------------
The table's people come and go, and its best rows change.

What it promises: whoever has all releases, knows this rule and the plan, the quasi-identifiers and
ranking attributes of everybody, and when each person joined and left, finds for each published row
at least k persons whose it may be; and for everybody, shown, waiting or left aside, at least as
many sensitive values as the criteria ask (l).

The rule.  Rows that stood in the same boxes of all releases, and are absent from the same, are a
*class* (``generalization.lasting``), which has at least k rows and satisfies the criteria.

1. A class is the rows of a box when it is first shown.  It keeps that box, though who was at its
   borders may have left, and takes nobody in.
2. Boxes of newcomers are searched among the rows that no release has shown, new ones and others,
   with all rows of the table to measure precision.  Who fits no box with k - 1 others waits.
3. A box whose rows break a criterion is not shown, and its rows are left aside: never searched
   again.  Waiting until others make up for it would tell that they are alike.
4. Where rows leave a class, others go with them, or it goes altogether (``departures``).
5. A class is shown while its box is precise, counted in the table of that day, and so are those of
   its rows that are left; otherwise none of it is.  It is shown again when it is precise again.
6. Of a box a release tells its ends, what scores lie between these, how many rows it shows, and
   the precision that was asked for: not the one it has, nor what share of the best is shown, which
   change by one newcomer.

Why comparing releases tells nothing more.  One newcomer among the best takes another's place, so
that two rankings made afresh differ by two rows, and the newcomer's sensitive value is read off.
Here whom a box takes in, and when (2), and whether a class is shown (5) are functions of
quasi-identifiers and ranking attributes, which the adversary knows, and of who was left aside; no
set of rows that he can single out is less than a class, or a part of it that left or stayed (4).
Proof that everybody keeps l values: take the sensitive values of a class, or of a part of it that
departures made, in any other order.  The criteria are of their multiset, and so is how many go
with a leaver; who goes is drawn independently of values.  So all releases stay as they are, and a
person can have each value of the part, of which there are l.  A box left aside looks the same if
all of its rows had one value, whichever: it is left aside then, too.  And of a row that waits
nothing depends on its value.  No two of these share rows, so worlds combine freely.

What it does not promise.  Whether a box is shown depends on the ranking attributes of everybody: to
somebody who knows those of all others, a box that is shown no more can tell that the one newcomer
whom nobody knows is among the best, and which boxes were found tells where few others are.  Nobody
may know of attempts that ended without a release: these leave nobody aside.

Source: the rule is ours; ``generalization.lasting`` says what was taken from whom.  Not taken:
splitting a class into those still among the best and the others, which shows more of the best and
uses classes up; and admitting newcomers to the table by batches, so that no box depends on one of
them, which makes it a ranking of the table of some other day.

Rows that change, come back, or are of persons with several rows: as in ``generalization.lasting``.

Cost: a count of n rows by class and combination, and the search among those around the best.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.units import GroupedUnits
from voile.publish.generalization.lasting import NOTHING, blocks_of, regions_of, texts_of
from voile.publish.generalization.regions import ColumnRegions, is_ordered
from voile.publish.ranking.groups import Group, RankedBoxes, Remnant, Search, SearchTerms
from voile.publish.ranking.scoring import Scoring
from voile.release.history import Blocks
from voile.schema.hierarchy.generalized import DistinctValues, GeneralizedValues
from voile.schema.hierarchy.ranges import ranks_in_order
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.table.best_rows import ValueScores, in_one_unit
from voile.table.decisions import RecodedColumn
from voile.table.keeping import KeptRows
from voile.table.matching import FRESH, RETIRED, Members, ShownText
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key

__all__ = [
    "CountedTop",
    "LastingBoxes",
    "LastingQuery",
    "Ranked",
    "range_names",
]


def range_names(column: str, order: Sequence[str]) -> Mapping[tuple[int, int], str]:
    """How the range from one place to another reads, both from 1.

    Raises ``PlanError`` where two ranges would read alike.
    """
    names = {
        (low, high): order[low - 1] if low == high else f"{order[low - 1]} to {order[high - 1]}"
        for high in range(1, len(order) + 1)
        for low in range(1, high + 1)
    }
    if len(set(names.values())) < len(names):
        msg = (
            f'[columns.{column}] order: a text reads like a range of others ("X to Y"), so that '
            "nobody could tell them apart; change it"
        )
        raise PlanError(msg)
    return names


@dataclass(frozen=True, eq=False)
class CountedTop:
    """What the engine counted: combinations, whose first m columns are those of the score."""

    counts: CombinationCounts
    added: Sequence[ValueScores]
    """For each of the m columns, what its distinct values add to a score."""
    tops: int
    """How many rows are among the best."""

    @classmethod
    def of(cls, counts: CombinationCounts, tops: int, scoring: Scoring, plan: Plan) -> CountedTop:
        """Score what was counted; raises ``TableError`` where a value cannot be scored."""
        added = [
            scoring.exact(name, _numbers(plan, name, values))
            for name, values in zip(scoring.columns, counts.values, strict=False)
        ]
        return cls(counts, added, tops)

    @cached_property
    def appearances(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Combination of each row; or of each person and place, named by the first, and whose."""
        rows, units = self.counts.rows, self.counts.units
        if units is None:
            return np.repeat(np.arange(len(rows)), rows), None
        combination, unit = units.pairs
        found = np.unique(np.column_stack([self.first[combination], unit]), axis=0)
        return found[:, 0], found[:, 1]

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """Shape (g,): appearances of each combination; all at the first of those in one place."""
        return np.bincount(self.appearances[0], minlength=len(self.counts.rows))

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Shape (g,): the first combination with the same ranking attributes."""
        ranked = self.counts.codes[:, : len(self.added)]
        _, first, place = np.unique(ranked, axis=0, return_index=True, return_inverse=True)
        return np.asarray(first[place.reshape(-1)], dtype=np.int64)

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The different scores, ascending."""
        return self._scored[0]

    @property
    def scores(self) -> NDArray[np.int64]:
        """Shape (g,): the score of each combination, as its index among the levels."""
        return self._scored[1]

    @cached_property
    def is_top(self) -> NDArray[np.bool_]:
        """Shape (g,): whether the rows of a combination are among the best."""
        order = np.argsort(-self.scores, kind="stable")
        last = int(np.searchsorted(np.cumsum(self.counts.rows[order]), self.tops))
        found: NDArray[np.bool_] = self.scores >= self.scores[order[last]]
        return found

    @property
    def positions(self) -> NDArray[np.int64]:
        """Shape (g, m): where boxes are drawn; larger is better, and values that differ do so here.

        What a value adds is its position, unless rounding made two alike or it needs more than 64
        bits; then it is its rank.
        """
        columns = []
        for column, added in enumerate(self.added):
            position = added.units
            if position.dtype == object or len(np.unique(position)) < len(position):
                position = _ranks(position)
            columns.append(position[self.counts.codes[:, column]])
        return np.column_stack(columns)

    @cached_property
    def _scored(self) -> tuple[tuple[Fraction, ...], NDArray[np.int64]]:
        units, common = in_one_unit(self.added)
        total = sum(each[self.counts.codes[:, j]] for j, each in enumerate(units))
        levels, index = np.unique(total, return_inverse=True)
        return tuple(Fraction(int(level), common) for level in levels), index.astype(np.int64)

    def rank(
        self,
        terms: SearchTerms,
        search: Search,
        criteria: Sequence[Criterion],
        key: Key,
        fresh: NDArray[np.bool_] | None = None,
    ) -> Ranked:
        """Search for groups, and leave out those that do not satisfy the criteria.

        ``fresh`` (g,) are the combinations that groups may show; None: all.
        """
        remnant, combination = _remnant(self)
        if fresh is not None:
            remnant = replace(remnant, fresh=fresh[combination])
        found = remnant.publish(terms, search, key)
        group = np.full(len(self.counts.rows), -1, dtype=np.int64)
        for number, one in enumerate(found.groups):
            group[combination[one.members]] = number
        if self.counts.units is not None:
            group = group[self.first]
        valid = _satisfying(self.counts, group, len(found.groups), criteria)
        index = np.append(np.where(valid, np.cumsum(valid) - 1, -1), -1)
        kept = tuple(one for one, is_valid in zip(found.groups, valid, strict=True) if is_valid)
        return Ranked(found, kept, index[group], (group >= 0) & (index[group] < 0))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Groups of the counted combinations; private."""

    found: RankedBoxes
    kept: tuple[Group, ...]
    """The groups that are published: all that satisfy the criteria."""
    group: NDArray[np.int64]
    """Shape (g,): the index in ``kept`` of each combination, -1 where it is not published.

    In a series larger numbers are those of earlier groups that are shown again."""
    refused: NDArray[np.bool_]
    """Shape (g,): combinations in groups that break the criteria."""

    @property
    def recall(self) -> Fraction:
        """Share of the best rows that are published."""
        published = sum(group.published_tops for group in self.kept)
        return Fraction(published, self.found.tops)

    def shown_columns(self, counts: CombinationCounts, plan: Plan) -> tuple[RecodedColumn, ...]:
        """The least that covers the groups in ranking columns and quasi-identifiers."""
        published = np.flatnonzero(self.group >= 0)
        members = published[np.argsort(self.group[published], kind="stable")]
        starts = np.flatnonzero(np.diff(self.group[members], prepend=-1))
        shown = []
        for j, (name, values) in enumerate(zip(counts.columns, counts.values, strict=True)):
            declared = plan.column(name)
            codes = counts.codes[members, j]
            if name in plan.roles.ranking and declared.order is not None:
                shown.append(_ranges(name, declared.order, values, codes, starts))
            elif name in plan.roles.ranking or name in plan.roles.quasi_identifiers:
                hierarchy = declared.bind_hierarchy(name, values)
                shown.append(ColumnRegions.of(hierarchy, values, codes, starts).column)
        return tuple(shown)


def _remnant(top: CountedTop) -> tuple[Remnant, NDArray[np.int64]]:
    """The rows in the box around the best, and the combination of each."""
    places, unit = top.appearances
    positions = top.positions
    best = positions[top.is_top]
    around = ((positions >= best.min(axis=0)) & (positions <= best.max(axis=0))).all(axis=1)
    chosen = around[places]
    places, unit = places[chosen], None if unit is None else unit[chosen]
    tops = top.tops if unit is None else int(top.is_top[places].sum())
    remnant = Remnant.of_rows(positions[places], top.scores[places], tops, unit)
    return remnant, places[remnant.row]


def _ranks(units: NDArray[np.generic]) -> NDArray[np.int64]:
    """The ranks of what the values of a column add, from 0; equal ones follow the values."""
    falls = units[0] > units[-1]
    order = np.argsort(units[::-1] if falls else units, kind="stable")
    ranks = np.empty(len(units), dtype=np.int64)
    ranks[order] = np.arange(len(units))
    return ranks[::-1] if falls else ranks


def _numbers(plan: Plan, column: str, values: DistinctValues) -> ExactNumbers:
    """The numbers that the distinct values of a ranking column stand for."""
    order = plan.column(column).order
    if order is not None:
        return ExactNumbers(ranks_in_order(column, order, values), 0)
    if values.numbers is None or values.missing:
        msg = f"column {column!r} misses some values, and a missing value is neither high nor low"
        raise TableError(msg)
    return values.numbers


def _ranges(
    column: str,
    order: Sequence[str],
    values: DistinctValues,
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
) -> RecodedColumn:
    """The range of each group in a declared order."""
    ranks = ranks_in_order(column, order, values)[codes]
    names = range_names(column, order)
    low, high = np.minimum.reduceat(ranks, starts), np.maximum.reduceat(ranks, starts)
    shown = [names[ends] for ends in zip(low.tolist(), high.tolist(), strict=True)]
    texts = tuple(sorted(set(shown)))
    number = {text: np.int32(code) for code, text in enumerate(texts)}
    generalized = GeneralizedValues(np.ones(len(texts)), texts)
    return RecodedColumn(column, generalized, np.array([number[text] for text in shown]))


def _satisfying(
    counts: CombinationCounts, group: NDArray[np.int64], groups: int, criteria: Sequence[Criterion]
) -> NDArray[np.bool_]:
    """Which groups satisfy all criteria, shape (p,)."""
    valid = np.ones(groups, dtype=np.bool_)
    if not criteria or not groups:
        return valid
    seen = _seen(counts, group, groups, {one.column for one in criteria if one.column})
    for criterion in criteria:
        valid &= criterion.holds(seen)
    return valid


def _seen(
    counts: CombinationCounts, group: NDArray[np.int64], groups: int, names: Collection[str]
) -> Groups:
    """What criteria see of the groups, and of their values in some columns."""
    rows = np.bincount(group[group >= 0], counts.rows[group >= 0], groups).astype(np.int64)
    codes = {name: counts.codes[:, counts.columns.index(name)].astype(np.int64) for name in names}
    weight = counts.rows if counts.units is None else counts.units.weight
    total = {
        name: np.bincount(of, weight, len(counts.values[counts.columns.index(name)])).astype(
            np.int64
        )
        for name, of in codes.items()
    }
    if counts.units is not None:
        return GroupedUnits(counts.units, group, groups, codes).seen(rows, total)
    cells = {name: _cells(counts.rows, codes[name], group, of) for name, of in total.items()}
    return Groups(rows, cells)


def _cells(
    rows: NDArray[np.int64],
    codes: NDArray[np.int64],
    group: NDArray[np.int64],
    total: NDArray[np.int64],
) -> SensitiveCells:
    inside = group >= 0
    pairs, cell = np.unique(group[inside] * len(total) + codes[inside], return_inverse=True)
    summed = np.bincount(cell, rows[inside]).astype(np.int64)
    return SensitiveCells(pairs // len(total), pairs % len(total), summed, total)


@dataclass(frozen=True)
class LastingQuery:
    """What new boxes are asked for, and how they are searched."""

    terms: SearchTerms
    search: Search
    criteria: Sequence[Criterion]
    key: Key


@dataclass(frozen=True, eq=False)
class LastingBoxes:
    """What a release of a series shows, and what the series must remember; private."""

    ranked: Ranked
    """New boxes first, and then those of classes that are shown again."""
    columns: tuple[RecodedColumn, ...]
    blocks: Blocks
    published: KeptRows
    retired: KeptRows
    recall: Fraction
    """Share of the best rows that is in the boxes."""
    waiting: int
    """Best rows that no release has shown."""
    imprecise: int
    """Rows of classes whose boxes are not precise today."""
    withheld: int
    """Rows that went with others, now or earlier, that changed, or that came back; and those left
    aside before."""
    refused: int
    """Rows left aside now."""

    @staticmethod
    def find(
        members: Members,
        top: CountedTop,
        number: NDArray[np.int64],
        asked: LastingQuery,
        plan: Plan,
    ) -> LastingBoxes:
        """Decide on the boxes of new rows, and on which others are shown; see ``_decide``."""
        counts = top.counts
        names = counts.columns[: len(top.added) + len(plan.roles.quasi_identifiers)]
        before = _Classes(members.classes, members.shown(names))
        made = _decide(top, number, before, asked, plan)
        boxes = _Boxes(top, plan)
        texts = [*made.new, *(before.shown[one] for one in made.again)]
        columns = tuple(
            regions_of(name, [each[j] for each in texts], ends=boxes.has_ends(name)).column
            for j, name in enumerate(names)
        )
        rows, group, of_class = counts.rows, made.ranked.group, made.of_class
        told = [*made.new, [NOTHING] * len(names)]
        place = np.where((number == FRESH) & (group >= 0), group, len(made.new)).tolist()
        first_shown = {name: [told[i][j] for i in place] for j, name in enumerate(names)}
        assert counts.of is not None
        published, retired = members.marks(counts.of.counted, of_class, first_shown)
        there = of_class >= 0
        classes, at = np.unique(of_class[there], return_inverse=True)
        return LastingBoxes(
            ranked=made.ranked,
            columns=columns,
            blocks=blocks_of(classes, np.bincount(at, rows[there]).astype(np.int64)),
            published=published,
            retired=retired,
            recall=Fraction(int(rows[top.is_top & (group >= 0)].sum()), top.tops),
            waiting=int(rows[top.is_top & (of_class == FRESH)].sum()),
            imprecise=int(rows[there & (group < 0)].sum()),
            withheld=int(rows[(number < 0) & (number != FRESH)].sum()),
            refused=int(rows[of_class == RETIRED].sum()),
        )


@dataclass(frozen=True)
class _Classes:
    """The classes of earlier releases."""

    numbers: int
    """One more than the largest number that a class has had."""
    shown: Mapping[int, Sequence[ShownText]]
    """What the box of each shows of ranking columns and quasi-identifiers."""


@dataclass(frozen=True, eq=False)
class _LastingDecision:
    """What becomes of the g counted combinations, of which some are of earlier classes."""

    ranked: Ranked
    """New boxes first, and then those of classes that are shown again."""
    of_class: NDArray[np.int64]
    """Shape (g,): the class of each combination, ``FRESH``, ``ABSENT`` or ``RETIRED``."""
    new: Sequence[Sequence[ShownText]]
    """What each new box shows of each column."""
    again: Sequence[int]
    """The classes that are shown again."""


def _decide(
    top: CountedTop,
    number: NDArray[np.int64],
    before: _Classes,
    asked: LastingQuery,
    plan: Plan,
) -> _LastingDecision:
    """Find boxes for new rows, and see which others are precise.

    ``top`` counts all rows of the table, and ``number`` (g,) is the class of each combination.
    Raises ``InfeasibleError`` where no box is left.
    """
    ranked = top.rank(asked.terms, asked.search, asked.criteria, asked.key, number == FRESH)
    of_class = np.where(ranked.group >= 0, before.numbers + ranked.group, number)
    of_class[ranked.refused] = RETIRED
    boxes = _Boxes(top, plan)
    again = [
        one
        for one in np.unique(number[number >= 0]).tolist()
        if boxes.is_precise(before.shown[one], number == one, asked.terms.precision)
    ]
    if not ranked.kept and not again:
        raise _nothing(asked.terms)
    group = ranked.group.copy()
    for place, one in enumerate(again, len(ranked.kept)):
        group[number == one] = place
    new = list(_told(top, ranked, plan)) if ranked.kept else []
    return _LastingDecision(replace(ranked, group=group), of_class, new, again)


def _told(top: CountedTop, ranked: Ranked, plan: Plan) -> Iterator[Sequence[ShownText]]:
    """What each new box shows of each column."""
    found = []
    for column in ranked.shown_columns(top.counts, plan):
        values = top.counts.values[top.counts.columns.index(column.column)]
        declared = plan.column(column.column)
        own = column.values is None or (column.values.texts is None and column.values.low is None)
        hierarchy = declared.bind_hierarchy(column.column, values) if own else None
        found.append(texts_of(column, values, hierarchy))
    yield from zip(*found, strict=True)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes, told by texts, over the counted table."""

    top: CountedTop
    plan: Plan

    def has_ends(self, name: str) -> bool:
        """Whether boxes show two numbers of a column."""
        values, declared = self._values(name), self.plan.column(name)
        if values.numbers is None or (name in self.plan.roles.ranking and declared.order):
            return False
        return is_ordered(declared.bind_hierarchy(name, values), values)

    def is_precise(
        self, shown: Sequence[ShownText], members: NDArray[np.bool_], precision: Fraction
    ) -> bool:
        """Whether enough of the rows in a box are best, and of its members (g,)."""
        inside = np.ones(len(members), dtype=np.bool_)
        for column in range(len(self.top.added)):
            inside &= self._within(column, shown[column])
        return all(self._share(rows) >= precision for rows in (inside, members))

    def _share(self, rows: NDArray[np.bool_]) -> Fraction:
        times = self.top.counts.rows
        return Fraction(int(times[rows & self.top.is_top].sum()), int(times[rows].sum()))

    def _within(self, column: int, shown: ShownText) -> NDArray[np.bool_]:
        """Which combinations have a value between the ends that a box shows, shape (g,)."""
        name, codes = self.top.counts.columns[column], self.top.counts.codes[:, column]
        values, order = self._values(name), self.plan.column(name).order
        first, last, _ = shown
        if order is not None:
            ends = {text: pair for pair, text in range_names(name, order).items()}
            low, high = ends[str(first)]
            rank_of = ranks_in_order(name, order, values)
            return np.asarray(((rank_of >= low) & (rank_of <= high))[codes])
        assert values.numbers is not None
        both = ExactNumbers.of([str(first), str(last)])
        scale = max(both.scale, values.numbers.scale)
        units, (low, high) = values.numbers.rescaled(scale).units, both.rescaled(scale).units
        return np.asarray(((units >= low) & (units <= high))[codes])

    def _values(self, name: str) -> DistinctValues:
        return self.top.counts.values[self.top.counts.columns.index(name)]


def _nothing(terms: SearchTerms) -> InfeasibleError:
    return InfeasibleError(
        "no release exists, or none was found: no box of an earlier release is precise today, and "
        f"no {terms.k:,} rows that none has shown fit a box with a share of "
        f"{float(terms.precision):.6g} of the best and with sensitive values that differ enough. "
        "Publish when others have joined, or begin another series with a lower precision or k, or "
        "a larger top"
    )
