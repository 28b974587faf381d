"""A series of rankings of a table whose people come and go, and whose best rows change.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.publish.generalization.lasting import NOTHING, blocks_of, regions_of, texts_of
from voile.publish.generalization.regions import is_ordered
from voile.publish.ranking.decision import CountedTop, Ranked, range_names, rank, shown_columns
from voile.publish.ranking.groups import Search, SearchTerms
from voile.release.history import Blocks
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.ranges import ranks_in_order
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Plan
from voile.table.decisions import RecodedColumn
from voile.table.keeping import KeptRows
from voile.table.matching import FRESH, RETIRED, Members, ShownText
from voile_base.errors import InfeasibleError
from voile_base.randomness import Key

__all__ = ["LastingBoxes", "LastingQuery", "lasting_boxes"]


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
    ranked = rank(top, asked.terms, asked.search, asked.criteria, asked.key, number == FRESH)
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


def lasting_boxes(
    members: Members, top: CountedTop, number: NDArray[np.int64], asked: LastingQuery, plan: Plan
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


def _told(top: CountedTop, ranked: Ranked, plan: Plan) -> Iterator[Sequence[ShownText]]:
    """What each new box shows of each column."""
    found = []
    for column in shown_columns(ranked, top.counts, plan):
        values = top.counts.values[top.counts.columns.index(column.column)]
        declared = plan.columns.get(column.column, ColumnPlan())
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
        values, declared = self._values(name), self.plan.columns.get(name, ColumnPlan())
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
        values, order = self._values(name), self.plan.columns.get(name, ColumnPlan()).order
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
