"""Answers from a release: they bound the truth, and what cannot be answered is explained."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.disclosure.interval import Generalized
from voile.query import Answer, answer
from voile.table.opening import published_rows
from voile_base.errors import QueryError
from voile_testing.plugin import examples
from voile_tests.releases import described, promised


def release_of(frame, sensitive="capital-loss", kind="ke-anonymity"):
    """A release whose rows are those of a frame with the column ``group``."""
    others = tuple(name for name in frame.columns if name not in (sensitive, "group"))
    return described(
        table=published_rows(frame),
        method={"name": kind},
        guarantee=promised(kind, {}, "a promise"),
        roles={"quasi_identifiers": others, "sensitive": (sensitive,), "keep": ()},
        release_id="0" * 32,
        publishable=True,
    )


FRAME = pl.DataFrame(
    {
        "group": [1, 1, 1, 2, 2, 2],
        "age": [20, 30, 40, 50, None, 70],
        "sex": ["F", "M", "F", "M", "F", "M"],
        "capital-loss": [10, 20, 60, 100, 100, 400],
    }
)
RELEASE = release_of(FRAME)


@pytest.mark.parametrize(
    ("aggregate", "where", "rows", "lower", "upper", "estimate"),
    [
        ("SUM(capital-loss)", "age > 25", 4, "230", "580", "460"),
        ('sum ( "capital-loss" )', "sex = 'F'", 3, "130", "480", "260"),
        ("AVG(capital-loss)", "sex = 'F'", 3, "43.333333", "160", "86.666667"),
        ("MIN(capital-loss)", "age > 45", 2, "100", "100", "100"),
        ("MIN(capital-loss)", "age < 35", 2, "10", "20", "13.333333"),
        ("Max(CAPITAL-LOSS)", "age < 25", 1, "10", "60", "30"),
        ("MAX(capital-loss)", "sex = 'M'", 3, "100", "400", "300"),
        ("COUNT(*)", "age > 25", 4, "4", "4", "4"),
        ("COUNT(capital-loss)", None, 6, "6", "6", "6"),
        ("COUNT(age)", "sex = 'F' OR age = 50", 3, "3", "3", "3"),
        ("SUM(capital-loss)", None, 6, "690", "690", "690"),
        ("AVG(capital-loss)", None, 6, "115", "115", "115"),
        ("SUM(capital-loss)", '"group" = 1', 3, "90", "90", "90"),
        ("SUM(capital-loss)", "group = 2 AND sex = 'F'", 1, "100", "400", "200"),
        ("SUM(capital-loss)", "age > 1000", 0, "0", "0", "0"),
        ("COUNT(*)", "age = NULL", 0, "0", "0", "0"),
    ],
)
def test_answers_worked_out_by_hand(aggregate, where, rows, lower, upper, estimate):
    """Bounds and estimates of two groups of three, as paper and pencil give them."""
    found = answer(RELEASE, aggregate, where)
    assert (found.matching_rows, found.where) == (rows, where)
    numbers = (found.lower, found.upper, found.estimate)
    assert numbers == (Decimal(lower), Decimal(upper), Decimal(estimate))


@pytest.mark.parametrize("function", ["AVG", "MIN", "MAX"])
def test_no_rows_have_no_average_and_no_extremes(function):
    """Where nothing matches there is no answer, rather than a made-up one."""
    found = answer(RELEASE, f"{function}(capital-loss)", "age > 1000")
    assert found == Answer(function, "capital-loss", "age > 1000", 0, None, None, None)


def test_fractions_and_large_numbers_are_exact():
    """Decimals add up as a reader adds them, and sums pass 64 bits unharmed."""
    cents = release_of(pl.DataFrame({"group": [1] * 3, "pay": [0.1, 0.2, 0.7]}), "pay")
    assert answer(cents, "SUM(pay)").upper == Decimal("1")
    large = release_of(pl.DataFrame({"group": [1] * 3, "pay": [2**62] * 3}), "pay")
    assert answer(large, "SUM(pay)").lower == 3 * 2**62
    tiny = release_of(pl.DataFrame({"group": [1] * 2, "pay": [1e300, 1e-20]}), "pay")
    assert answer(tiny, "SUM(pay)").lower == 10**300 + Fraction(1, 10**20)


def test_bounds_of_averages_are_rounded_outwards():
    """One and two thirds in the last place: the lower bound is below, the upper above."""
    frame = pl.DataFrame({"group": [1] * 4, "q": [1, 1, 1, 0], "pay": [-1, 0, 0, 2]})
    found = answer(release_of(frame, "pay"), "AVG(pay)", "q = 1")
    assert (found.lower, found.upper) == (Decimal("-0.333334"), Decimal("0.666667"))


@st.composite
def publications(draw):
    """An original table, and its rows with the values permuted within random groups."""
    rows = draw(st.integers(1, 12))

    def column(values):
        return draw(st.lists(values, min_size=rows, max_size=rows))

    original = pl.DataFrame(
        {
            "group": column(st.integers(1, 3)),
            "age": column(st.none() | st.integers(0, 9)),
            "sex": column(st.sampled_from(["F", "M"])),
            "pay": column(st.decimals(-50, 50, places=1).map(float)),
        }
    )
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    published = pl.concat(
        part.with_columns(pay=part["pay"].gather(rng.permutation(part.height)))
        for part in original.partition_by("group")
    )
    return original, published.sample(fraction=1, shuffle=True, seed=seed)


PREDICATES = st.builds(
    "{} {} (age {} {} {} sex = '{}')".format,
    st.sampled_from(["age IS NULL OR", "NOT", "sex <> 'M' AND", "TRUE AND"]),
    st.sampled_from(["", "NOT"]),
    st.sampled_from(["<", ">=", "="]),
    st.integers(0, 9),
    st.sampled_from(["AND", "OR"]),
    st.sampled_from("FM"),
)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(publications(), st.sampled_from(["SUM", "AVG", "MIN", "MAX", "COUNT"]), PREDICATES)
def test_the_true_answer_lies_within_the_bounds(publication, function, predicate):
    """Whatever the table, the permutation and the predicate, and so does the estimate."""
    original, published = publication
    found = answer(release_of(published, "pay"), f"{function}(pay)", predicate)
    matching = original.filter(pl.sql_expr(predicate))["pay"].to_list()
    truth = [Fraction(str(value)) for value in matching]
    assert found.matching_rows == len(truth)
    if not truth and function in ("AVG", "MIN", "MAX"):
        assert found.lower is found.upper is found.estimate is None
        return
    expected = {
        "SUM": sum,
        "AVG": lambda numbers: sum(numbers) / len(numbers),
        "MIN": min,
        "MAX": max,
        "COUNT": len,
    }[function](truth)
    assert found.lower <= expected <= found.upper
    assert found.lower <= found.estimate <= found.upper


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ('"capital-loss" > 3', "sensitive column: its values were permuted"),
        ("capital-loss > 3", "sensitive column"),
        ("age > 3 OR NOT (CAPITAL-LOSS IS NULL)", "sensitive column"),
        ("aeg > 3", "did you mean 'age'"),
        ("name = 'Anna'", "were not published"),
        ('"Age" > 3', "did you mean 'age'"),
        ('sex = "F"', "a text is written in single quotes"),
        ("people.age > 3", "name alone"),
        ("age = 'old'", "a text in single quotes"),
        ("age IN (1, '2')", "a text in single quotes"),
        ("sex > 3", "a text with a number together"),
        ("sex BETWEEN 1 AND 2", "together"),
        ("age + sex = 3", "is a text where a number is needed"),
        ("NOT age", "true or false is needed"),
        ("age AND sex = 'F'", "true or false is needed"),
        ("age", "true or false is needed"),
        ("'x'", "true or false is needed"),
        ("age LIKE '1%'", "a text is needed"),
        ("sex LIKE sex", "single quotes"),
        ("sex LIKE 'a!%' ESCAPE '!'", "ESCAPE"),
        ("CASE WHEN age > 1 THEN 1 ELSE 'x' END = 1", "together"),
        ("1 < age < 3", "a truth value with a number together"),
        ("age > (SELECT 3)", "query of its own"),
        ("age IN (SELECT 3)", "query of its own"),
        ("EXISTS (SELECT 3)", "query of its own"),
        ("age > AVG(age)", "one row at a time"),
        ("COUNT(*) > 3", "one row at a time"),
        ("ROW_NUMBER() OVER () = 1", "one row at a time"),
        ("RANDOM() > 0.5", "one evaluation to the next"),
        ("age > NOW()", "one evaluation to the next"),
        ("CURRENT_DATE > '2020-01-01'", "one evaluation to the next"),
        ("ROUND(age) = 3", "is not understood in a predicate"),
        ("age & 1 = 1", "is not understood in a predicate"),
        ("age > :limit", "is not understood in a predicate"),
        ("SUBSTR(sex, -1) = 'F'", "whole numbers from 1"),
        ("CAST(sex AS JSON) = 'F'", "use INTEGER"),
        ("age > 1e999", "too large"),
        ("CAST('soon' AS DATE) = CAST('2020-01-01' AS DATE)", "not a date"),
        ("age > 3; DROP TABLE people", "semicolon (at character 8)"),
        ("age > 3 -- or anything", "comments"),
        ("age > /* 3 */ 4", "comments"),
        ("age > 3 /* open", "not closed"),
        ("sex = 'F", "not closed"),
        ("age > 3) OR (1 = 1", "at character 8, near ')'"),
        ("age > ", "not valid SQL at character 5"),
        ("age 3", "at character 5, near '3'"),
        ("age > 3 ORDER BY age", "near 'ORDER BY'"),
        ("", "empty"),
        (" ", "empty"),
        ("NOT " * 40 + "age > 3", "nested too deeply"),
        ("(" * 3000 + "age > 3" + ")" * 3000, "nested too deeply"),
    ],
)
def test_predicates_that_cannot_be_answered_are_explained(where, said, usual_limits):
    """Each kind of mistake in a predicate has a message that names it."""
    with pytest.raises(QueryError) as caught:
        answer(RELEASE, "COUNT(*)", where)
    assert said in str(caught.value)


def test_names_that_need_double_quotes_are_pointed_out():
    """A message tells how to write a column whose name is no plain word."""
    frame = pl.DataFrame(
        {"group": [1], "native country": ["Peru"], "hours-per-week": [3], "p": [1]}
    )
    release = release_of(frame, "p")
    for where in ("native country = 'Peru'", "hours > 40"):
        with pytest.raises(QueryError, match="in double quotes"):
            answer(release, "COUNT(*)", where)


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        ("SUM", "not one aggregate"),
        ("SELECT SUM(capital-loss) FROM people", "not one aggregate"),
        ("SUM(capital-loss) WHERE age > 3", "not one aggregate"),
        ("SUN(capital-loss)", "did you mean 'SUM'"),
        ("MEDIAN(capital-loss)", "MEDIAN is not known"),
        ("SUM(*)", "not a column"),
        ("COUNT()", "nothing is not a column"),
        ("COUNT(DISTINCT capital-loss)", "neither DISTINCT"),
        ("SUM(capital-loss * 2)", "nor calculations"),
        ("SUM(capital-los)", "did you mean 'capital-loss'"),
        ("SUM(salary)", "the release has no column 'salary'"),
        ("SUM(age)", "published unchanged"),
        ("SUM(capital-loss), SUM(capital-loss)", "nor calculations"),
    ],
)
def test_aggregates_that_cannot_be_answered_are_explained(aggregate, said):
    """Each kind of mistake in an aggregate has a message that names it."""
    with pytest.raises(QueryError) as caught:
        answer(RELEASE, aggregate)
    assert said in str(caught.value)


def test_other_guarantees_and_roles_are_refused():
    """Bounds follow where one sensitive column alone is permuted, and nowhere else."""
    with pytest.raises(QueryError, match="permuted within groups"):
        answer(release_of(FRAME, kind="k-anonymity"), "COUNT(*)")
    several = replace(RELEASE, roles={"sensitive": ("age", "capital-loss")})
    with pytest.raises(QueryError, match="one sensitive column; this release has 2"):
        answer(several, "COUNT(*)")
    columns = {**RELEASE.disclosure.columns, "age": Generalized(level=1)}
    coarse = replace(RELEASE, disclosure=RELEASE.disclosure.model_copy(update={"columns": columns}))
    with pytest.raises(QueryError, match="published as they are"):
        answer(coarse, "COUNT(*)")


def test_documents_are_json_and_their_bounds_hold():
    """Numbers are numbers, whole ones exact, and rounding to doubles goes outwards."""
    digits = Decimal("0.12345678901234567890123")
    found = Answer("SUM", "pay", None, 3, -digits, digits, Decimal(2**80 + 1))
    document = json.loads(json.dumps(found.document()), parse_float=Decimal)
    assert document["lower"] <= found.lower
    assert document["upper"] >= found.upper
    assert abs(document["upper"] - digits) < Decimal("1e-16")
    assert document["estimate"] == 2**80 + 1
    nobody = answer(RELEASE, "MIN(capital-loss)", "age > 1000").document()
    assert nobody == {
        "aggregate": "MIN",
        "column": "capital-loss",
        "where": "age > 1000",
        "matching_rows": 0,
        "lower": None,
        "upper": None,
        "estimate": None,
    }
