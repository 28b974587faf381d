"""A series of generalizations of a table whose people come and go.

What it promises: whoever has all releases, knows the quasi-identifiers of everybody, and knows when
each person joined and left, finds for each published row at least k persons whose it may be; and
the criteria hold of the rows of these.

The rule.  Rows that stood in the same groups of all releases, and are absent from the same, are a
*class*.  Whatever somebody singles out by intersecting and subtracting groups, over any releases,
is made of whole classes; so a release is made such that every class, those of rows that are gone
included, has at least k rows and satisfies the criteria (``departures``).  Within a class any two
persons may be exchanged: all releases stay as they are.

- A row stays in the group in which it was first published; the group shows what it then showed,
  though who was at its borders may have left.
- New rows make groups among themselves, by Mondrian, of ``group_size`` rows or more where there
  are as many: larger groups last longer.  Fewer than k wait; their number alone decides that.
  Cuts heed quasi-identifiers and sizes, and no criterion.  A group that breaks one is never
  published: waiting until others make up for it, or cutting otherwise, would tell that its rows are
  alike.  Of a column with few values more groups break one; larger ones fewer.
- Where rows leave a group, others go with them, so that enough go at once and enough stay, or the
  whole group goes.  Enough are k, and more than the rows of the l - 1 most frequent values.  A
  column with few values, one of which most rows have, lets groups end with their first leaver.

Why knowing this rule tells nothing more.  The adversary knows all quasi-identifiers, who is there,
and the order of the draws at most.  Take the values of the rows of a class, or of a group that is
never published, in any other order: who is in which group does not depend on them, whether a group
is published depends on how often each value stands in it, and so does how many go with a leaver.
So every release stays as it is, and a person can have each value of the class; of a group that is
never published, whose values nobody sees, also each value that all of them could share.

Sources.  Xiao and Tao, "m-Invariance: towards privacy preserving re-publication of dynamic
datasets" (SIGMOD 2007) keeps of each row its signature, the set of sensitive values of its group,
and publishes counterfeits where leavers unbalance a group.  It was not taken.  It protects one
sensitive column; here kept and sensitive columns are published row by row, so that a row is often
known again by them in the next release, and then the persons in all of its groups must be k, which
groups formed anew are not.  It states rows that do not exist.  And without these, those who are
held back to keep the balance have the signature's more frequent value, which tells it.

Rows that change are published no more: the new row beside the old one, in another group, would be
the same person's, and few are in both.  The same goes for people who left and come back.  A column
must tell rows apart (``record_key``), else neither would be seen.  ``t`` compares groups with all
rows of the table, which are others each month, and is not offered; neither are kinds of diversity
for which no number of rows is enough whichever they are, nor persons with several
rows, whose rows arrive in different months and whose groups whoever knows them intersects.

Cost: one match of n rows with the marks of all that were published, and Mondrian on the new ones.

What the groups of a series show, as texts that the marks of rows keep, and back.

A group shows in every release what it showed in the first: who was at its borders may have left.

Cost: O(p log p) for p groups, by column.

Who goes with those who leave a series: the decision, on sizes of classes and counts of values.

What it does: a class is a set of rows that stood in the same groups of all releases.  When some of
its rows leave the table, comparing releases shows which rows they were.  So others go with them,
that enough rows go at once and enough stay, or none stays; all of them are published no more.
Enough are k, and so many that any of them together have l different values.

Claim: every set of rows that anybody singles out by intersecting and subtracting the groups of any
releases is a union of classes, each of which has at least k rows and l values.  And among the rows
that go at once each is a leaver's with equal chances: how many go depends on how many left and on
the values of the whole class, which its group shows, and which ones on a uniform draw that heeds no
value.  A rule that looked at the values drawn would tell: of {a, a, a, b, c, d} with l = 2, a pair
that breaks l can only be drawn where the leaver has a, so that drawing again, or giving up the
class, would say that he has.

Cost: O(c + p log p) for c classes and p pairs of a class and a value that criteria compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity
from voile.publish.generalization.mondrian import mondrian
from voile.publish.generalization.problem import LastingTerms, Problem, Solution
from voile.publish.generalization.regions import Atoms, ColumnRegions, loss_of_regions, shape_of
from voile.publish.generalization.statement import (
    number_of_rows,
    out_of_reach_together,
    told_of_withheld,
)
from voile.release.history import Blocks
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.table.decisions import RecodedColumn
from voile.table.keeping import KeptRows
from voile.table.matching import FRESH, RETIRED, Members, ShownText
from voile_base.errors import InfeasibleError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key
from voile_base.values import Json

__all__ = [
    "NOTHING",
    "LastingGroups",
    "blocks_of",
    "regions_of",
    "settled",
    "texts_of",
]


NOTHING: ShownText = (None, None, 0.0)
"""Of rows without a group."""


def texts_of(
    column: RecodedColumn, values: DistinctValues, hierarchy: BoundHierarchy | None = None
) -> list[ShownText]:
    """What groups show of a column, and what share of its domain that is.

    ``hierarchy`` knows the shares of the column's own values, where groups show these.
    """
    told = column.values
    each: list[ShownText]
    if told is None or (told.texts is None and told.low is None):
        assert hierarchy is not None
        share = hierarchy.values[0].share[hierarchy.codes[0]]
        each = [(text, None, float(s)) for text, s in zip(values.texts, share, strict=True)]
    elif told.texts is not None:
        each = [(t, None, float(s)) for t, s in zip(told.texts, told.share, strict=True)]
    else:
        assert told.low is not None
        assert told.high is not None
        ends = zip(told.low.texts(), told.high.texts(), strict=True)
        known = [(None, None), *ends] if told.missing else list(ends)
        each = [(*pair, float(s)) for pair, s in zip(known, told.share, strict=True)]
    return [each[code] for code in column.codes.tolist()]


def regions_of(column: str, shown: Sequence[ShownText], *, ends: bool) -> ColumnRegions:
    """What groups show of a column, from texts; ``ends``: these are the ends of ranges."""
    told: list[tuple[str | None, str | None]] = [(low, high) for low, high, _ in shown]
    distinct = sorted(set(told), key=_by_size if ends else _missing_first)
    places = {each: place for place, each in enumerate(distinct)}
    codes = np.array([places[each] for each in told], dtype=np.int32)
    share = np.array([each for _, _, each in shown])
    widest = np.zeros(len(distinct))
    np.maximum.at(widest, codes, share)
    missing = distinct[0][0] is None
    if ends:
        low, high = (
            ExactNumbers.of([str(end[side]) for end in distinct[int(missing) :]]) for side in (0, 1)
        )
        values = GeneralizedValues(widest, low=low, high=high, missing=missing)
    else:
        texts = tuple(text for text, _ in distinct)
        values = GeneralizedValues(widest, texts=texts, missing=missing)
    return ColumnRegions(RecodedColumn(column, values, codes), share)


def blocks_of(classes: NDArray[np.int64], sizes: NDArray[np.int64]) -> Blocks:
    """Classes as a history keeps them: both borders are the number of the class."""
    number = ExactNumbers(classes.astype(np.int64), 0)
    return Blocks(number, number, sizes, sizes, np.zeros(len(sizes), dtype=np.int64))


def _missing_first(ends: tuple[str | None, str | None]) -> tuple[bool, str]:
    return ends[0] is not None, ends[0] or ""


def _by_size(ends: tuple[str | None, str | None]) -> tuple[bool, Decimal, Decimal]:
    low, high = (Decimal(end or 0) for end in ends)
    return ends[0] is not None, low, high


@dataclass(frozen=True, eq=False)
class LastingGroups:
    """What a release of a series shows, and what the series must remember; private."""

    solution: Solution
    blocks: Blocks
    published: KeptRows
    retired: KeptRows
    withheld: int
    """Rows that went with others, now or earlier, that changed, or that came back."""
    waiting: int
    """New rows that are too few."""
    refused: int
    """New rows in groups that break a criterion."""

    @property
    def classes(self) -> Json:
        """What comparing the releases of the series shows: how many classes, and the smallest."""
        return {
            "classes": len(self.blocks),
            "rows_of_smallest_class": int(self.blocks.rows.min()),
        }

    def told(self, k: int) -> Iterator[str]:
        """What a custodian is told of the rows that are not shown; private."""
        yield from told_of_withheld(self.withheld, k)
        if self.waiting:
            yield (
                f"{number_of_rows(self.waiting)} new and too few for a group of {k}; a later "
                "release shows them when more have come"
            )
        if self.refused:
            yield (
                f"{number_of_rows(self.refused)} new and will never be shown: their groups break "
                "what is asked of the sensitive values, and showing them with others would tell "
                "that"
            )

    @staticmethod
    def find(
        members: Members, problem: Problem, number: NDArray[np.int64], terms: LastingTerms
    ) -> LastingGroups:
        """Decide on the groups of the new rows, and on what all groups show.

        ``problem`` has all rows of the table, as ``PrivateTable.count_members`` counts them, with
        the criteria that are promised; ``number`` (g,) the class of each combination.  Raises
        ``InfeasibleError`` where nothing is left to be shown.
        """
        counts = problem.counts
        fresh = number == FRESH
        new = _new_groups(problem, fresh, terms)
        of_class = number.copy()
        if new is not None:
            of_class[fresh] = np.where(new.group >= 0, members.classes + new.group, RETIRED)
        there = of_class >= 0
        classes, place = np.unique(of_class[there], return_inverse=True)
        if not len(classes):
            raise _nothing(_among(problem, fresh), terms.k, earlier=members.classes > 0)
        shown = _shown(members, problem, new, classes)
        regions = [
            regions_of(hierarchy.column, texts, ends=_shows_ends(hierarchy, values, terms))
            for hierarchy, values, texts in zip(
                problem.hierarchies, counts.values, zip(*shown, strict=True), strict=False
            )
        ]
        # Groups are numbered by what they show, so that numbers do not tell who came with whom.
        order = np.lexsort([region.column.codes for region in reversed(regions)])
        group = np.full(len(number), -1, dtype=np.int64)
        group[there] = np.argsort(order)[place]
        sizes = np.bincount(place, counts.rows[there]).astype(np.int64)
        solution = Solution(
            group=group,
            columns=tuple(region.at(order).column for region in regions),
            suppressed=int(counts.rows[~there].sum()),
            loss=loss_of_regions(problem, sizes, tuple(regions)),
            levels=None,
            examined=0 if new is None else new.examined,
        )
        first_shown = np.full(len(number), len(shown))  # what follows the classes says nothing
        first_shown[fresh & there] = place[fresh[there]]
        said = [*shown, [NOTHING] * len(regions)]
        told = {
            region.column.column: [said[i][j] for i in first_shown.tolist()]
            for j, region in enumerate(regions)
        }
        newcomers = int(counts.rows[fresh].sum())
        refused = int(counts.rows[of_class == RETIRED].sum())
        assert counts.of is not None
        published, retired = members.marks(counts.of.counted, of_class, told)
        return LastingGroups(
            solution=solution,
            blocks=blocks_of(classes, sizes),
            published=published,
            retired=retired,
            withheld=int(counts.rows[~there & ~fresh].sum()),
            waiting=newcomers if new is None else 0,
            refused=refused,
        )


def _new_groups(problem: Problem, fresh: NDArray[np.bool_], terms: LastingTerms) -> Solution | None:
    """Groups of the new rows, -1 for those that break a criterion; None where rows are too few."""
    of_fresh = _among(problem, fresh)
    newcomers = int(of_fresh.counts.rows.sum())
    if newcomers < terms.k:
        return None
    size = KAnonymity(min(terms.group_size, newcomers))
    found = mondrian(replace(of_fresh, criteria=(size,)), relaxed=terms.relaxed, sets=terms.sets)
    assert found is not None
    atoms = Atoms(of_fresh)
    label = np.empty(len(atoms), dtype=np.int64)
    label[atoms.of_combination] = found.group
    groups = atoms.groups(label, int(label.max()) + 1)
    valid = np.logical_and.reduce([one.holds(groups) for one in problem.criteria])
    kept = np.append(np.where(valid, np.cumsum(valid) - 1, -1), -1)
    columns = tuple(replace(one, codes=one.codes[valid]) for one in found.columns)
    return replace(found, group=kept[found.group], columns=columns)


def _among(problem: Problem, fresh: NDArray[np.bool_]) -> Problem:
    """The problem of the new rows alone."""
    counts = problem.counts
    among = replace(counts, codes=counts.codes[fresh], rows=counts.rows[fresh], of=None)
    return replace(problem, counts=among)


def _shown(
    members: Members, problem: Problem, new: Solution | None, classes: NDArray[np.int64]
) -> list[Sequence[ShownText]]:
    """What each class shows of each quasi-identifier."""
    names = [hierarchy.column for hierarchy in problem.hierarchies]
    old = members.shown(names)
    made: list[Sequence[ShownText]] = []
    if new:
        pairs = zip(problem.hierarchies, problem.counts.values, new.columns, strict=False)
        each = [texts_of(column, values, hierarchy) for hierarchy, values, column in pairs]
        made = list(zip(*each, strict=True))
    first = members.classes
    return [old[number] if number < first else made[number - first] for number in classes.tolist()]


def _shows_ends(hierarchy: BoundHierarchy, values: DistinctValues, terms: LastingTerms) -> bool:
    return shape_of(hierarchy, values, terms.sets) == "ordered" and values.numbers is not None


def _nothing(new: Problem, k: int, *, earlier: bool) -> InfeasibleError:
    """No group can be shown; ``new`` has the new rows, ``earlier`` whether releases went before."""
    rows = int(new.counts.rows.sum())
    gone = ", and no group of an earlier release is left" if earlier else ""
    if rows < k:
        return InfeasibleError(
            f"no release exists: {rows:,} rows are new, k = {k:,} asks for groups of as many or "
            f"more{gone}"
        )
    if reached := out_of_reach_together(new):
        return InfeasibleError(
            "no release exists: even all new rows together in one group fall short of what k and "
            f"the other criteria ask for{reached}{gone}. Ask for less"
        )
    return InfeasibleError(
        "no release exists: every group of new rows falls short of what k and the other criteria "
        f"ask for{gone}. Choose a larger [method] group_size, or ask for less"
    )


def settled(members: Members, criteria: Sequence[Criterion], k: int, key: Key) -> Members:
    """The members without those who left, and without the rows that go with them.

    ``key`` is of this release alone.
    """
    before = members.before
    enough = np.full(len(before), k)
    for one in criteria:
        if isinstance(one, DistinctDiversity):
            pairs = members.values_before(one.column)
            enough = np.maximum(enough, _enough_rows(*pairs, len(before), one.l))
    stayers = _stayers_to_withhold(before, members.present, enough)
    return members.withheld(stayers, key) if stayers.any() else members


def _enough_rows(
    group: NDArray[np.int64], rows: NDArray[np.int64], classes: int, different: int
) -> NDArray[np.int64]:
    """The least number of rows of each class of which any have so many different values, (c,).

    ``group`` and ``rows`` (p,) are the class and the rows of each pair of class and value that
    there is.  Some classes have fewer rows than that.
    """
    order = np.lexsort((-rows, group))
    group, rows = group[order], rows[order]
    place = np.arange(len(group)) - np.searchsorted(group, group)
    most = place < different - 1
    summed = np.bincount(group[most], rows[most], classes)
    return np.asarray(summed + 1, dtype=np.int64)


def _stayers_to_withhold(
    before: NDArray[np.int64], present: NDArray[np.int64], enough: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """How many of the rows that are still there go with those that are not, shape (c,).

    ``before`` and ``present`` (c,) count the rows of each class in the newest release, and of
    these those that are still there as they were; ``enough`` (c,) must go, and must stay.
    """
    left = before - present
    company = np.where(left > 0, np.maximum(enough - left, 0), 0)
    few = (left > 0) & (present - company < enough)
    return np.asarray(np.where(few, present, company), dtype=np.int64)
