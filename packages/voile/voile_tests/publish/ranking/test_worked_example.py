"""The thesis's worked example: ten applicants, the top six in groups of at least three."""

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

import voile
from voile.publish.ranking.groups import Remnant, SearchTerms
from voile.publish.ranking.heuristics import _mondrian_boxes
from voile.publish.ranking.local_search import search
from voile.schema.plan import parse_plan
from voile_base.randomness import Randomness
from voile_tests.publish.ranking.applicants import AGES, APPLICANTS, SCORES, SEXES, ZIP_CODES

KEY = Randomness.seeded(4).key("ranking")
TERMS = SearchTerms(3, Fraction(6, 10), batch=3)


def remnant():
    return Remnant.of_table(APPLICANTS, SCORES, 6)


def shown(group):
    """Box, scores and precision as the thesis prints them."""
    box = [list(pair) for pair in zip(group.low.tolist(), group.high.tolist(), strict=True)]
    return box, [group.score_low, group.score_high], group.precision


def applicants(rows, group):
    return sorted((rows.row[group.members] + 1).tolist())


@pytest.mark.parametrize("name", ["deletion", "theta", "theta-rapid", "grasp", "exact", "auto"])
def test_the_searches_publish_the_groups_of_the_thesis(name):
    """Rows 1, 2, 3 at precision 1; then 4, 6 and the false 7; row 5 is left."""
    rows = remnant()
    found = rows.publish(TERMS, search(name), KEY)
    first, second = found.groups
    assert applicants(rows, first) == [1, 2, 3]
    assert shown(first) == ([[92, 99], [97, 99], [95, 99]], [284, 297], 1)
    assert applicants(rows, second) == [4, 6, 7]
    assert shown(second) == ([[96, 97], [95, 96], [88, 90]], [279, 282], Fraction(2, 3))
    assert found.recall == Fraction(5, 6)
    assert found.stop == ("impossible" if name in {"exact", "auto"} else "not found")


def test_perfect_recall_takes_all_and_half_of_it_is_false():
    """The second group is 4, 5, 6 with 7, 8, 10: precision 1/2, published only if that will do."""
    rows = remnant()
    found = rows.publish(replace(TERMS, precision=Fraction(1, 2)), search("perfect-recall"), KEY)
    second = found.groups[1]
    assert applicants(rows, second) == [4, 5, 6, 7, 8, 10]
    assert shown(second) == ([[96, 98], [89, 96], [88, 94]], [276, 282], Fraction(1, 2))
    assert (found.recall, found.stop) == (1, "used up")
    assert len(rows.publish(TERMS, search("perfect-recall"), KEY).groups) == 1


def test_perfect_precision_shows_the_score_of_its_last_member():
    """Box and threshold hold top rows alone; the threshold is the exact score of row 6."""
    rows = remnant()
    second = rows.publish(TERMS, search("perfect-precision"), KEY).groups[1]
    assert applicants(rows, second) == [4, 5, 6]
    assert second.thresholded
    assert (second.score_low, second.precision) == (SCORES[5], 1)


def test_mondrian_does_not_see_the_false_rows():
    """Cutting the six top rows in two gives precisions 3/5 and 3/4, whatever is asked."""
    boxes = _mondrian_boxes(remnant(), replace(TERMS, batch=None))
    assert sorted(box.precision for box in boxes) == [Fraction(3, 5), Fraction(3, 4)]


def test_mondrian_recodes_as_the_thesis_does_step_by_step():
    """Figure 6: cut at 97 in course 1, then 1, 5, 6 and 2, 3, 4 in the ranges printed there."""
    boxes = _mondrian_boxes(remnant(), replace(TERMS, batch=None))
    assert sorted(shown(box)[0] for box in boxes) == [
        [[92, 96], [96, 98], [90, 99]],
        [[97, 99], [89, 99], [88, 99]],
    ]


def test_the_scores_are_those_of_figure_1():
    """297, 293, 284, then down to 276, with rows 7 and 8 tied."""
    assert SCORES.tolist() == [297, 293, 284, 282, 281, 280, 279, 279, 278, 276]


def test_quasi_identifiers_are_generalized_as_in_figure_3():
    """Ages and zip codes as ranges, sexes as human; the first group shares one zip code."""
    columns = {f"course{j + 1}": APPLICANTS[:, j] for j in range(3)}
    frame = pl.DataFrame({"age": AGES, "sex": SEXES, "zip": ZIP_CODES, **columns})
    roles = {"quasi_identifiers": ["age", "sex", "zip"], "ranking": [*columns]}
    method = {"name": "ranking", "k": 3, "top": 6, "precision": 0.6, "batch": 3}
    tree = {"sex": {"tree": {"human": ["F", "M"]}}}
    plan = parse_plan({"roles": roles, "columns": tree, "method": method})
    rows = voile.make_release(frame, plan).release.to_native()
    ages = rows.select("age.low", "age.high", "sex", "zip.low", "zip.high").rows()
    assert ages == [(23, 39, "human", 53715, 53715)] * 3 + [(37, 74, "human", 53703, 53712)] * 3


def test_from_all_top_rows_one_group_publishes_more():
    """Without batches the optimum is one box of five top rows, with 7 and 9: precision 5/7."""
    rows = remnant()
    outcome = search("exact")(rows, replace(TERMS, batch=None, precision=Fraction(7, 10)), KEY)
    assert outcome.group is not None
    assert outcome.proved
    assert applicants(rows, outcome.group) == [1, 2, 3, 4, 6, 7, 9]
    assert outcome.group.precision == Fraction(5, 7)
