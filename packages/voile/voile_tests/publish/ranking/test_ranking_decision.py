"""The decision of a ranking on counted rows, and the count of what was published, lies included."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.l_diversity import DistinctDiversity
from voile.publish.ranking.decision import CountedTop
from voile.publish.ranking.groups import RankingGroup, SearchTerms
from voile.publish.ranking.local_search import search
from voile.publish.ranking.measuring import measure
from voile.publish.ranking.scoring import Scoring, parse
from voile.release.check import GuaranteeBrokenError
from voile.schema.plan import parse_plan
from voile.table.decisions import Grouping, Treatment
from voile.table.opening import open_frame, published_rows
from voile.table.published import PublishedTable
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_tests.publish.ranking.applicants import APPLICANTS

KEY = Randomness.seeded(4).key("ranking")
TERMS = SearchTerms(3, Fraction(6, 10), batch=3)
SUBJECTS = ("algebra", "biology", "chemistry")
APPLICANTS_PLAN = parse_plan(
    {
        "roles": {
            "ranking": list(SUBJECTS),
            "quasi_identifiers": ["town"],
            "sensitive": ["school"],
        },
        "columns": {"town": {"tree": {"France": ["Lyon", "Nice"], "Norway": ["Oslo"]}}},
    }
)


def counted(frame: pl.DataFrame, tops: int, by: str | None = None, plan: Any = None) -> CountedTop:
    """All rows of a table as if they lay in the box of the best ones."""
    plan = plan or parse_plan({"roles": {"ranking": frame.columns}})
    table = open_frame(frame, plan)
    if by is None:
        scoring = Scoring.of_weights(None, plan)
    else:
        scoring = Scoring.of_expression(parse(by), plan)
    others = (*plan.roles.quasi_identifiers, *plan.roles.sensitive)
    counts = table.count_combinations([*scoring.columns, *others])
    return CountedTop.of(counts, tops, scoring, plan)


def applicants() -> pl.DataFrame:
    """The ten applicants of the thesis, with towns and schools."""
    towns = ["Lyon", "Nice", "Lyon", "Oslo", "Oslo", "Nice", "Lyon", "Oslo", "Oslo", "Oslo"]
    return pl.DataFrame(APPLICANTS, schema=SUBJECTS).with_columns(
        town=pl.Series(towns), school=pl.Series(list("aaabcabcab"))
    )


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=15)


@given(ROWS, st.integers(1, 15), st.sampled_from(["a + b", "a - 3 * b", "sqrt(a) + b / 7"]))
def test_scores_and_best_rows_of_combinations(rows, tops, by):
    """Levels are the different scores; all rows of as many as there are best at the border are."""
    top = counted(pl.DataFrame(rows, schema=["a", "b"], orient="row"), min(tops, len(rows)), by)
    a, b = ([int(str(text)) for text in values.texts] for values in top.counts.values)
    scores = {
        "a + b": lambda a, b: a + b,
        "a - 3 * b": lambda a, b: a - 3 * b,
        "sqrt(a) + b / 7": lambda a, b: a**0.5 + b / 7,
    }[by]
    expected = np.array([scores(a[i], b[j]) for i, j in top.counts.codes.tolist()])
    assert list(top.levels) == sorted(set(top.levels))
    found = np.array([float(top.levels[place]) for place in top.scores])
    assert found == pytest.approx(expected, abs=1e-8)
    descending = np.sort(np.repeat(found, top.counts.rows))[::-1]
    assert top.is_top.tolist() == (found >= descending[top.tops - 1]).tolist()


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.sampled_from(["a", "-2 * a", "1e30 * a", "a / 3"]),
)
def test_positions_follow_what_values_are_worth(values, by):
    """In the order of the scores, and apart where values differ, however large they are."""
    top = counted(pl.DataFrame({"a": values}), 1, by)
    assert np.array_equal(np.argsort(top.positions[:, 0]), np.argsort(top.scores))
    assert len(set(top.positions[:, 0].tolist())) == len(top.counts.values[0])


@pytest.mark.parametrize(("by", "ascending"), [("ln(a)", True), ("-ln(a)", False)])
def test_positions_tell_values_apart_whose_scores_are_rounded(by, ascending):
    """Logarithms of most neighbours above 10**10 are equal at nine decimals."""
    values = list(range(10**10, 10**10 + 40))
    top = counted(pl.DataFrame({"a": values}), 1, by)
    assert 1 < len(top.levels) < 9
    positions = top.positions[:, 0].tolist()
    assert positions == sorted(positions, reverse=not ascending)
    assert len(set(positions)) == 40


def test_a_missing_value_has_no_score():
    """Engines refuse it before; here it would shift all values by one."""
    plan = parse_plan({"roles": {"ranking": ["a"]}, "nulls": "category"})
    with pytest.raises(TableError, match="'a' misses some values"):
        counted(pl.DataFrame({"a": [1, None, 2]}), 1, plan=plan)


def test_equal_rows_are_counted_once_and_published_together():
    """Three equal rows are one combination; a group of two equal ones and another has three."""
    frame = pl.DataFrame({"a": [9, 9, 8, 1, 1, 1]})
    top = counted(frame, 3)
    assert top.counts.rows.tolist() == [3, 1, 2]
    ranked = top.rank(SearchTerms(3, Fraction(1)), search("exact"), (), KEY)
    assert ranked.group.tolist() == [-1, 0, 0]
    assert [len(group.members) for group in ranked.kept] == [3]
    assert ranked.recall == 1


def decided(criteria=(), terms=TERMS, name="exact"):
    """The decision on the applicants, and what it shows."""
    plan = APPLICANTS_PLAN
    top = counted(applicants(), 6, plan=plan)
    ranked = top.rank(terms, search(name), criteria, KEY)
    return top, ranked, ranked.shown_columns(top.counts, plan)


def test_groups_show_the_least_that_covers_them():
    """Boxes of scores, and the lowest common ancestor of the towns."""
    _, _, columns = decided()
    algebra, *_, town = columns
    assert [column.column for column in columns] == [*SUBJECTS, "town"]
    ends = [
        (int(algebra.values.low.decimals()[code]), int(algebra.values.high.decimals()[code]))
        for code in algebra.codes.tolist()
    ]
    assert ends == [(92, 99), (96, 97)]
    assert [town.values.texts[code] for code in town.codes.tolist()] == ["France", "*"]


def test_groups_that_are_not_diverse_are_left_out():
    """1, 2, 3 are of one school: the other group moves up, and recall counts it alone."""
    _, ranked, columns = decided([DistinctDiversity(2, "school")])
    assert len(ranked.found.groups) == 2
    assert [len(group.members) for group in ranked.kept] == [3]
    assert set(ranked.group.tolist()) == {-1, 0}
    assert all(len(column.codes) == 1 for column in columns)
    assert ranked.recall == Fraction(2, 6)
    _, ranked, _ = decided([DistinctDiversity(4, "school")])
    assert ranked.kept == ()


def recoded(table, counts, ranked, columns) -> PublishedTable:
    """The release of a decision."""
    groups = Grouping.of_counts(counts, ranked.group)
    return table.apply(Treatment(columns, groups), Randomness.seeded(0))


def published(top, ranked, columns) -> pl.DataFrame:
    """The rows that the engine makes of a decision."""
    table = open_frame(applicants(), APPLICANTS_PLAN)
    counts = table.count_combinations(top.counts.columns)
    assert counts.codes.tolist() == top.counts.codes.tolist()
    return recoded(table, counts, ranked, columns).to_native()


def measured(frame: pl.DataFrame, top, ranked, columns, terms=TERMS):
    """What is counted of published rows."""
    return measure(published_rows(frame), columns, ranked, top, APPLICANTS_PLAN, terms)


def test_what_is_published_is_counted_by_its_numbers():
    """Rows and precision of each group, as the thesis has them; scores that follow from its box."""
    top, ranked, columns = decided()
    first, second = measured(published(top, ranked, columns), top, ranked, columns)
    assert (first.number, first.rows, first.precision) == (1, 3, 1)
    assert (first.score_low, first.score_high) == (284, 297)
    assert (second.number, second.rows, second.precision) == (2, 3, Fraction(2, 3))
    assert (second.score_low, second.score_high) == (279, 283)


LIES = {
    "a row was lost": lambda frame: frame[1:],
    "a row is shown twice": lambda frame: pl.concat([frame, frame[:1]]).sort("group"),
    "a box is too narrow": lambda frame: frame.with_columns(pl.col("algebra.low") + 1),
    "a box is too low": lambda frame: frame.with_columns(pl.col("biology.high") - 1),
    "a box is so wide that it holds others": lambda frame: frame.with_columns(
        pl.col("algebra.low") - 9, pl.col("biology.low") - 9, pl.col("chemistry.low") - 9
    ),
    "a group shows two boxes": lambda frame: frame.with_columns(
        pl.col("algebra.high") + pl.int_range(pl.len()) % 2
    ),
    "groups changed places": lambda frame: frame.with_columns(group=3 - pl.col("group")),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_release_that_lies_is_found_out(lie):
    """Rows or boxes that differ from what was decided are a fault, and nothing is published."""
    top, ranked, columns = decided()
    frame = LIES[lie](published(top, ranked, columns))
    with pytest.raises(GuaranteeBrokenError):
        measured(frame, top, ranked, columns)


@pytest.mark.parametrize(
    "terms", [replace(TERMS, k=4), replace(TERMS, precision=Fraction(67, 100))]
)
def test_a_search_that_lies_is_found_out(terms):
    """Groups that were found for less than was promised do not go out."""
    top, ranked, columns = decided()
    with pytest.raises(GuaranteeBrokenError, match="too few rows, or its box too few best ones"):
        measured(published(top, ranked, columns), top, ranked, columns, terms)


def test_a_threshold_counts_for_groups_that_have_one():
    """4, 5, 6 above 279 are all best; their box alone holds 7, 8 and 10 as well."""
    top, ranked, columns = decided(
        terms=replace(TERMS, precision=Fraction(1)), name="perfect-precision"
    )
    frame = published(top, ranked, columns)
    found = measured(frame, top, ranked, columns)
    assert [group.precision for group in found] == [1, 1]
    kept = tuple(replace(group, thresholded=False) for group in ranked.kept)
    bare = replace(ranked, kept=kept)
    with pytest.raises(GuaranteeBrokenError):
        measured(frame, top, bare, columns, replace(TERMS, precision=Fraction(1)))
    assert measured(frame, top, bare, columns, replace(TERMS, precision=Fraction(1, 2)))


def test_groups_that_show_the_same_are_one():
    """Two groups of one box, told apart by a threshold alone, are counted as what readers see."""
    frame = pl.DataFrame({"a": [1, 3, 1, 3], "b": [9, 9, 1, 1]})
    plan = parse_plan({"roles": {"ranking": ["a"], "keep": ["b"]}})
    table = open_frame(frame, plan)
    counts = table.count_combinations(["a", "b"])
    top = CountedTop.of(counts, 4, Scoring.of_weights(None, plan), plan)

    def halves(remnant, terms, key):
        left = np.flatnonzero(remnant.fresh)
        chosen = np.zeros(len(remnant), dtype=bool)
        low, high = (left[remnant.values[left, 0] == value] for value in (1, 3))
        chosen[[low[0], high[0]]] = True
        return RankingGroup(remnant.group(chosen, thresholded=True), proved=False)

    terms = SearchTerms(2, Fraction(1))
    ranked = top.rank(terms, halves, (), KEY)
    assert len(ranked.kept) == 2
    columns = ranked.shown_columns(counts, plan)
    shown = recoded(table, counts, ranked, columns)
    (one,) = measure(shown, columns, ranked, top, plan, terms)
    assert (one.number, one.rows, one.precision) == (1, 4, 1)
    assert (one.score_low, one.score_high) == (1, 3)


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32, pl.Decimal(12, 3), pl.Int8])
def test_boxes_of_any_kind_of_number_are_read_back(dtype):
    """Ends of boxes are published as numbers of one kind, and lie where they lay."""
    values = [0.1, 0.3, 0.7, 2.5, 0.2, 1.1] if dtype != pl.Int8 else [1, 3, 7, 25, 2, 11]
    frame = pl.DataFrame({"a": pl.Series([Decimal(str(v)) for v in values]).cast(dtype)})
    plan = parse_plan({"roles": {"ranking": ["a"]}})
    table = open_frame(frame, plan)
    counts = table.count_combinations(["a"])
    top = CountedTop.of(counts, 3, Scoring.of_weights(None, plan), plan)
    terms = SearchTerms(3, Fraction(1))
    ranked = top.rank(terms, search("exact"), (), KEY)
    columns = ranked.shown_columns(counts, plan)
    shown = recoded(table, counts, ranked, columns)
    (one,) = measure(shown, columns, ranked, top, plan, terms)
    assert (one.rows, one.precision) == (3, 1)
    assert float(one.score_low) == (7 if dtype == pl.Int8 else 0.7)
