"""Mondrian: every group valid, every region true, no cut left, and the same as by hand."""

import csv
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.disclosure.interval import named_values
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity
from voile.models.t_closeness import EqualCloseness
from voile.publish.generalization.mondrian import mondrian
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.regions import MOST_NAMED, ColumnRegions
from voile.schema.hierarchy.declared import plain
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.table.summaries import CombinationCounts
from voile_tests.publish.generalization.cut_tables import (
    TREE,
    covers,
    distinct,
    groups_of,
    numbers,
    problem_of,
    shown,
    tables,
)

small_k = st.integers(1, 4)


def members(rows):
    """What stands in each group, whatever its number."""
    return sorted(sorted(codes for codes, _ in group) for group in rows.values())


@given(tables, small_k, st.booleans())
def test_groups_have_k_rows_and_show_what_is_true(rows, k, relaxed):
    """All rows are published, k or more together, under regions that cover them."""
    problem = problem_of(rows, [KAnonymity(k)])
    solution = mondrian(problem, relaxed)
    assert (solution is None) == (len(rows) < k)
    if solution is None:
        return
    groups = groups_of(problem, solution)
    assert set(groups) == set(range(len(solution.columns[0].codes)))
    assert solution.suppressed == 0
    for group, combinations in groups.items():
        assert sum(n for _, n in combinations) >= k
        for column in range(3):
            region = shown(problem, solution, group, column)
            texts = problem.counts.values[column].texts
            assert all(covers(region, texts[codes[column]]) for codes, _ in combinations)


@given(tables, small_k, st.booleans())
def test_intervals_are_as_narrow_as_they_may_be(rows, k, relaxed):
    """The ends of an interval are values of its group."""
    problem = problem_of(rows, [KAnonymity(k)])
    solution = mondrian(problem, relaxed)
    if solution is None:
        return
    for group, combinations in groups_of(problem, solution).items():
        texts = problem.counts.values[2].texts
        inside = {int(texts[codes[2]]) for codes, _ in combinations}
        low, high = shown(problem, solution, group, 2)
        assert (int(low), int(high)) == (min(inside), max(inside))


@given(tables, small_k)
def test_strict_regions_are_apart(rows, k):
    """Any two groups are separated in a column: by values, or by nodes below a common ancestor."""
    problem = problem_of(rows, [KAnonymity(k)])
    solution = mondrian(problem)
    if solution is None:
        return
    boxes = []
    for combinations in groups_of(problem, solution).values():
        codes = np.array([codes for codes, _ in combinations])
        boxes.append((codes[:, [0, 2]].min(axis=0), codes[:, [0, 2]].max(axis=0), codes[:, 1]))
    tree = problem.hierarchies[1].codes
    for a, (low_a, high_a, places_a) in enumerate(boxes):
        for low_b, high_b, places_b in boxes[:a]:
            by_value = (high_a < low_b).any() or (high_b < low_a).any()
            by_node = any(
                len(set(level[places_a])) == len(set(level[places_b])) == 1
                and level[places_a[0]] != level[places_b[0]]
                for level in tree
            )
            assert by_value or by_node


def by_hand(combinations, k):
    """Strict Mondrian for columns of whole numbers, one partition at a time."""
    total = sum(n for _, n in combinations)
    columns = range(len(combinations[0][0]))
    widths = [_width(combinations, j) / (_width(by_hand.table, j) or 1) for j in columns]
    for j in sorted(columns, key=lambda j: -widths[j]):
        values = sorted({codes[j] for codes, _ in combinations})
        best = max(
            values[:-1],
            key=lambda cut: min(left := _left(combinations, j, cut), total - left),
            default=None,
        )
        if best is None:
            continue
        left = _left(combinations, j, best)
        if min(left, total - left) >= k:
            sides = [
                [c for c in combinations if (c[0][j] <= best) == side] for side in (True, False)
            ]
            return by_hand(sides[0], k) + by_hand(sides[1], k)
    return [sorted(codes for codes, _ in combinations)]


def _width(combinations, j):
    values = [codes[j] for codes, _ in combinations]
    return max(values) - min(values)


def _left(combinations, j, cut):
    return sum(n for codes, n in combinations if codes[j] <= cut)


@pytest.mark.slow
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=40), small_k)
def test_strict_groups_are_those_of_the_paper(rows, k):
    """Widest column first, cut at the median, both sides of k rows: as written down by hand."""
    # Codes are places among the values; with every value present, they are the values.
    rows = [*rows, *[(v, v, v) for v in range(7)]]
    problem = problem_of(rows, [KAnonymity(k)], columns=("x", "y", "z"), sensitive=0)
    combinations = list(Counter(rows).items())
    by_hand.table = combinations
    assert members(groups_of(problem, mondrian(problem))) == sorted(by_hand(combinations, k))


@given(tables, small_k, st.booleans())
def test_every_criterion_holds_in_every_group(rows, k, relaxed):
    """Cuts that break l-diversity or t-closeness are not made."""
    criteria = [
        KAnonymity(k),
        DistinctDiversity(2, "disease"),
        EntropyDiversity("1.5", "disease"),
        EqualCloseness("0.4", "disease"),
    ]
    problem = problem_of(rows, criteria)
    solution = mondrian(problem, relaxed)
    everybody = Counter(row[3] for row in rows)
    if solution is None:
        shares = [n / len(rows) for n in everybody.values()]
        entropy = -sum(p * np.log(p) for p in shares)
        assert len(rows) < k or len(everybody) < 2 or entropy < np.log(1.5) + 1e-9
        return
    names = problem.counts.values[3].texts
    for combinations in groups_of(problem, solution).values():
        here = Counter()
        for codes, n in combinations:
            here[names[codes[3]]] += n
        size = sum(here.values())
        assert size >= k
        assert len(here) >= 2
        assert -sum(n / size * np.log(n / size) for n in here.values()) >= np.log(1.5) - 1e-9
        far = sum(abs(here[v] / size - everybody[v] / len(rows)) for v in everybody) / 2
        assert far <= 0.4 + 1e-9


@given(tables, small_k, st.booleans())
def test_rows_that_differ_in_sensitive_values_alone_stay_together(rows, k, relaxed):
    """No cut looks at a sensitive value."""
    problem = problem_of(rows, [KAnonymity(k)])
    solution = mondrian(problem, relaxed)
    if solution is None:
        return
    group_of = {}
    for codes, group in zip(problem.counts.codes.tolist(), solution.group.tolist(), strict=True):
        assert group_of.setdefault(tuple(codes[:3]), group) == group


@given(tables, small_k, st.booleans())
def test_twice_the_rows_and_twice_k_make_the_same_groups(rows, k, relaxed):
    """Only shares of the rows matter."""
    once = mondrian(problem_of(rows, [KAnonymity(k)]), relaxed)
    twice = mondrian(problem_of([*rows, *rows], [KAnonymity(2 * k)]), relaxed)
    if once is None:
        assert twice is None
    else:
        assert once.group.tolist() == twice.group.tolist()
        assert once.loss == pytest.approx(twice.loss)


def test_relaxed_cuts_through_equal_values():
    """Atoms of the median value go to both sides; strictly, they stay together."""
    rows = [(1, 0), (1, 5), (2, 0), (2, 9), (3, 5), (3, 9)]
    problem = problem_of(rows, [KAnonymity(3)], columns=("x", "y"), sensitive=0)
    sizes = [
        [sum(n for _, n in group) for _, group in sorted(groups_of(problem, found).items())]
        for found in (mondrian(problem), mondrian(problem, True))
    ]
    assert sizes == [[6], [3, 3]]


def test_relaxed_keeps_small_children_together():
    """A rare leaf joins the smallest other child, and shows their common ancestor."""
    rows = [("a1",)] * 5 + [("a2",)] * 4 + [("a3",)]
    problem = problem_of(rows, [KAnonymity(3)], columns=("place",), sensitive=0)
    assert len(mondrian(problem).columns[0].codes) == 1
    solution = mondrian(problem, True)
    assert sorted(shown(problem, solution, group, 0) for group in (0, 1)) == ["a", "a1"]


def test_strict_cuts_a_node_into_its_children():
    """All children of k rows or more become groups; a leaf that stays alone shows its own name."""
    rows = [("a1",)] * 2 + [("a2",)] * 2 + [("b1",)] * 2 + [("b2",)] + [("c",)] * 2
    problem = problem_of(rows, [KAnonymity(2)], columns=("place",), sensitive=0)
    solution = mondrian(problem)
    regions = [
        shown(problem, solution, group, 0) for group in range(len(solution.columns[0].codes))
    ]
    assert regions == ["a1", "a2", "b", "c"]


def test_values_that_nobody_needs_to_hide_stay_as_they_are():
    """A column whose groups show single values keeps its own values and type."""
    rows = [("a1", 1), ("a1", 2), ("b1", 1), ("b1", 2)]
    problem = problem_of(rows, [KAnonymity(2)], columns=("place", "weight"), sensitive=0)
    solution = mondrian(problem)
    assert solution.columns[0].values is None
    assert [shown(problem, solution, group, 1) for group in (0, 1)] == [(1, 2), (1, 2)]


def test_missing_numbers_are_cut_from_others_or_hide_them():
    """Together they show a missing value; enough of them are a group of their own."""
    few = [(None,), (1,), (2,), (3,)]
    problem = problem_of(few, [KAnonymity(2)], columns=("age",), sensitive=0)
    solution = mondrian(problem)
    assert [shown(problem, solution, group, 0) for group in (0, 1)] == [None, (2, 3)]
    assert solution.loss > 0.4
    many = [(None,), (None,), (1,), (2,)]
    problem = problem_of(many, [KAnonymity(2)], columns=("age",), sensitive=0)
    solution = mondrian(problem)
    assert [shown(problem, solution, group, 0) for group in (0, 1)] == [None, (1, 2)]


def test_dates_show_intervals_as_iso_8601_writes_them():
    """Dates without a hierarchy are ordered."""
    rows = [("2020-01-31",), ("2020-02-01",), ("2020-02-28",), ("2020-02-28",)]
    assert distinct([row[0] for row in rows])[1].kind == "date"
    problem = problem_of(rows, [KAnonymity(2)], columns=("seen",), sensitive=0)
    solution = mondrian(problem)
    assert [shown(problem, solution, group, 0) for group in (0, 1)] == [
        "2020-01-31/2020-02-01",
        "2020-02-28",
    ]


def test_huge_numbers_and_close_ones_are_told_apart():
    """Values beyond 64 bits, one unit apart, are still cut."""
    rows = [(v,) for v in (0, 10**30, 10**30 + 1, 10**30 + 2, 10**30 + 3, 10**30 + 4)]
    problem = problem_of(rows, [KAnonymity(1)], columns=("x",), sensitive=0)
    assert len(mondrian(problem).columns[0].codes) == 6


def test_a_column_of_many_values_needs_no_table_of_them():
    """Few rows among many values are sorted; the groups are as even as the median makes them."""
    rows = [(v * v,) for v in range(1024)]
    problem = problem_of(rows, [KAnonymity(2)], columns=("x",), sensitive=0)
    solution = mondrian(problem)
    assert np.bincount(solution.group).tolist() == [2] * 512


@pytest.mark.parametrize("relaxed", [False, True])
def test_adult_loses_far_less_than_under_full_domain_generalization(shared_data, relaxed):
    """At k = 5, cuts lose below a sixth of the full-domain optimum, 0.573."""
    with (shared_data / "census/adult-arx.csv").open() as file:
        header, *rows = csv.reader(file, delimiter=";")
    columns, hierarchies = [], []
    for j, name in enumerate(header):
        number = int if name == "age" else str
        kept, described = distinct([number(row[j]) for row in rows])
        places = {str(value): place for place, value in enumerate(kept)}
        columns.append((described, [places[row[j]] for row in rows]))
        path = shared_data / f"census/hierarchies/adult-arx/{name}.csv"
        hierarchies.append(Taxonomy.read(path).bind(name, described, None))
    codes, counts = np.unique(
        np.array([code for _, code in columns], dtype=np.int32).T, axis=0, return_counts=True
    )
    described = tuple(values for values, _ in columns)
    problem = Problem(
        CombinationCounts(tuple(header), described, codes, counts.astype(np.int64)),
        tuple(hierarchies),
        (KAnonymity(5),),
        0,
    )
    solution = mondrian(problem, relaxed)
    assert np.bincount(solution.group, counts).min() >= 5
    assert len(solution.columns[0].codes) > 3900
    assert 0.05 < solution.loss < 0.573150966 / 6


def named(region):
    """The values that a shown text stands for, where sets are named."""
    return {region} if region is None else set(named_values(region) or TREE)


@given(tables, small_k)
def test_sets_name_the_values_of_their_group_and_no_others(rows, k):
    """Without a tree: k rows together, and each set is exactly what stands in its group."""
    rows = [(row[1], row[0], row[3]) for row in rows]
    problem = flat(problem_of(rows, [KAnonymity(k)], columns=("place", "age", "disease")))
    solution = mondrian(problem, sets=True)
    assert (solution is None) == (len(rows) < k)
    if solution is None:
        return
    for group, combinations in groups_of(problem, solution).items():
        assert sum(n for _, n in combinations) >= k
        texts = problem.counts.values[0].texts
        inside = {texts[codes[0]] for codes, _ in combinations}
        assert named(shown(problem, solution, group, 0)) == inside


def flat(problem):
    """The same problem, its first column without a tree."""
    first, *others = problem.hierarchies
    values = problem.counts.values[0]
    return replace(problem, hierarchies=(plain(first.column, values), *others))


def test_frequent_values_soon_stand_alone():
    """The value that most rows have is cut from the others, which stay together as one set."""
    rows = [("a1", "flu")] * 6 + [("a2", "flu"), ("b1", "flu"), ("b2", "flu")]
    problem = flat(problem_of(rows, [KAnonymity(3)], columns=("place", "disease")))
    solution = mondrian(problem, sets=True)
    assert {shown(problem, solution, group, 0) for group in range(2)} == {"a1", "a2|b1|b2"}
    assert mondrian(problem).loss == 1  # one group under "*", as trees of two levels allow


def test_small_branches_stay_together_where_sets_are_asked():
    """A tree is cut although one of its branches is too small to stand alone."""
    rows = [("a1", "flu")] * 4 + [("a2", "flu"), ("a3", "flu"), ("b1", "flu"), ("b2", "flu")]
    problem = problem_of(rows, [KAnonymity(2)], columns=("place", "disease"))
    strict, sets = (
        {shown(problem, found, group, 0) for group in set(found.group.tolist())}
        for found in (mondrian(problem), mondrian(problem, sets=True))
    )
    assert strict == {"a", "b"}
    assert sets == {"a1", "a", "b"}


def test_numbers_that_have_a_tree_are_codes():
    """With sets no interval of a code is published; without, as ever, numbers are ordered."""
    codes = {"1": ("1", "home", "*"), "2": ("2", "home", "*"), "7": ("7", "ward", "*")}
    rows = [(1, "flu")] * 2 + [(2, "flu")] * 1 + [(7, "flu")] * 2
    problem = problem_of(rows, [KAnonymity(2)], columns=("place", "disease"))
    tree = Taxonomy(tuple(codes.values())).bind("place", problem.counts.values[0])
    problem = replace(problem, hierarchies=(tree,))
    solution = mondrian(problem, sets=True)
    assert {shown(problem, solution, group, 0) for group in range(2)} == {"home", "7"}
    assert isinstance(shown(problem, mondrian(problem), 0, 0), tuple)


def test_sets_that_help_nobody_are_not_written_out():
    """More than a hundred values of one group read as everything."""
    rows = [(f"c{i:03}", "flu") for i in range(MOST_NAMED + 1)]
    values = distinct([row[0] for row in rows])[1]
    codes = np.arange(len(values), dtype=np.int32)
    hierarchy = plain("place", values)
    for last, text in ((MOST_NAMED, "|".join(values.texts[:MOST_NAMED])), (MOST_NAMED + 1, "*")):
        found = ColumnRegions.of(hierarchy, values, codes[:last], np.array([0]), sets=True)
        assert found.column.values.texts == (text,)
        assert found.share[0] == pytest.approx((last - 1) / (len(values) - 1))
