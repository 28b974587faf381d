"""Scores are exact sums, ties are ties, and expressions are read or refused with a reason."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import log, log10, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voile.publish.ranking.decision import CountedTop
from voile.publish.ranking.scoring import DECIMALS, Scoring, _GrowingFunction, parse
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.errors import PlanError, TableError


def table_of(columns: dict[str, list[Any]], declared: dict[str, Any] | None = None, **plan: Any):
    """A table that is ranked by all of its columns."""
    document = {"roles": {"ranking": list(columns)}, "columns": declared or {}, **plan}
    return open_frame(pl.DataFrame(columns), parse_plan(document))


def weighted(table, weights=None):
    """The score of each distinct value, by column."""
    exact = weights and {name: Decimal(weight) for name, weight in weights.items()}
    return values_of(table, Scoring.of_weights(exact, table.plan))


def expressed(table, text):
    """The score of each distinct value, by column."""
    return values_of(table, Scoring.of_expression(parse(text), table.plan))


def values_of(table, scoring):
    """What each distinct value adds, ascending by value, by column."""
    scoring.require_kinds(table)
    counts = table.count_combinations(scoring.columns)
    scores = CountedTop.of(counts, 1, scoring, table.plan).added
    return {
        name: [Fraction(int(units), score.denominator) for units in score.units]
        for name, score in zip(scoring.columns, scores, strict=True)
    }


def test_weights_are_exact():
    """0.1 of 3 and 0.3 of 1 tie: decimals are not rounded to binary fractions."""
    found = weighted(table_of({"a": [3.0, 0.0], "b": [0.0, 1.0]}), {"a": "0.1", "b": "0.3"})
    assert found == {"a": [0, Fraction(3, 10)], "b": [0, Fraction(3, 10)]}


def test_values_are_exact():
    """0.1 + 0.2 and 0.3 + 0 tie, though their sums differ in binary floating point."""
    table = table_of({"a": [0.1, 0.3], "b": [0.2, 0.0]})
    found = weighted(table)
    assert found["a"][0] + found["b"][1] == found["a"][1] + found["b"][0] == Fraction(3, 10)


def test_all_columns_count_alike_without_weights():
    """No weights: the plain sum."""
    assert weighted(table_of({"a": [1, 2], "b": [5, 7]})) == {"a": [1, 2], "b": [5, 7]}


def test_lower_may_be_better():
    """The values count negatively, so that the least is the best."""
    table = table_of({"a": [1, 4], "seconds": [5, 7]}, {"seconds": {"better": "lower"}})
    assert weighted(table, {"a": "1", "seconds": "0.5"}) == {
        "a": [1, 4],
        "seconds": [Fraction(-5, 2), Fraction(-7, 2)],
    }


def test_texts_count_by_their_declared_place():
    """From 1 for the lowest, whatever their alphabetical order."""
    declared = {"grade": {"order": ["poor", "fair", "good", "excellent"]}}
    table = table_of({"grade": ["good", "poor", "excellent"]}, declared)
    assert weighted(table, {"grade": "2"}) == {"grade": [8, 6, 2]}  # excellent, good, poor


@pytest.mark.parametrize(
    ("values", "order", "expected"),
    [([True, False], ["false", "true"], [1, 2]), ([3, 1, 2], ["3", "2", "1"], [3, 2, 1])],
)
def test_other_kinds_may_be_given_an_order(values, order, expected):
    """Truth values and numbers are named as they read in a file."""
    assert weighted(table_of({"a": values}, {"a": {"order": order}})) == {"a": expected}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["x", "y"], r"'a' holds values of kind text.*order = \[\"worst\""),
        ([True, False], r"'a' holds values of kind boolean.*order = \[\"worst\""),
        ([1.0, float("inf")], "'a': row 2 is NaN or infinite"),
        ([1.0, float("nan")], "'a': row 2 is NaN or infinite"),
        ([date(2020, 1, 1)], "kind date, which no weight can multiply"),
    ],
)
def test_a_column_without_an_order_is_refused(values, message):
    """The message names the column and what would order it, and no value."""
    with pytest.raises(TableError, match=message):
        weighted(table_of({"a": values}))


def test_a_value_outside_the_order_is_refused():
    """The message counts such values and does not tell them."""
    table = table_of({"a": ["low", "secret", "high"]}, {"a": {"order": ["low", "high"]}})
    with pytest.raises(TableError, match="1 of the 3 different values") as refusal:
        weighted(table)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "declared", "message"),
    [
        (["low", None], {"order": ["low", "high"]}, 'a missing value has no rank.*nulls = "drop"'),
        ([1, None], {}, "'a' misses some values, and a missing value is neither high nor low"),
    ],
)
def test_a_missing_value_is_no_score(values, declared, message):
    """A missing value can be a category elsewhere, but it is neither high nor low."""
    with pytest.raises(TableError, match=message):
        weighted(table_of({"a": values}, {"a": declared}, nulls="category"))


def test_rows_with_a_missing_value_may_be_dropped():
    """Then the others are ranked."""
    assert weighted(table_of({"a": [1, None, 4]}, nulls="drop")) == {"a": [1, 4]}


def test_scores_may_need_more_than_64_bits():
    """Averages with 17 digits, large weights and high powers are exact all the same."""
    table = table_of({"a": [10**15, 1], "b": [1e-15, 0.3333333333333333]})
    found = weighted(table, {"a": "123456789", "b": "0.1"})
    assert found["a"] == [123456789, 123456789 * 10**15]
    assert found["b"] == [Fraction(1, 10**16), Fraction(3333333333333333, 10**17)]
    assert expressed(table_of({"a": [12345.678]}), "a ** 9") == {"a": [Fraction("12345.678") ** 9]}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"math": "1"}, "no weight to the ranking column 'time'"),
        ({"math": "1", "time": "1", "mat": "1"}, "'mat' is no ranking column.*did you mean 'math'"),
    ],
)
def test_weights_and_columns_go_together(weights, message):
    """A weight for an unknown column, or none for a known one, is a mistake."""
    with pytest.raises(PlanError, match=message):
        weighted(table_of({"math": [1, 2], "time": [1, 2]}), weights)


def test_there_must_be_something_to_rank_by():
    """A plan without ranking columns is refused."""
    plan = parse_plan({"roles": {"keep": ["a"]}})
    with pytest.raises(PlanError, match="ranking names no column"):
        Scoring.of_weights(None, plan)


EXPRESSIONS = ("a", "-0.3 * a", "a ** 3 - -a / 7", "sqrt(a)", "-100 * ln(a)", "a + log10(a)")


@given(
    st.lists(st.decimals("1e-9", "1e9", places=12), min_size=1, max_size=9),
    st.sampled_from(EXPRESSIONS),
    st.sampled_from([0.0, 2.0**-53, 2.0**-24, 1e-3]),
    st.integers(-4, 4),
)
def test_near_scores_lie_as_near_as_is_said(numbers, text, relative, step):
    """A double within a share of its number adds what the number does, within the bound."""
    scoring = Scoring.of_expression(parse(text), parse_plan({"roles": {"ranking": ["a"]}}))
    doubles = np.array([float(n * (1 + Decimal(relative) * step / 4)) for n in numbers])
    near = scoring.near("a", doubles)
    score = scoring.exact("a", ExactNumbers.of(numbers))
    told = relative * (1 + 1e-6) + 2.0**-52
    error = scoring.error("a", float(doubles.min()), float(doubles.max()), told)
    for own, units in zip(near.tolist(), score.units.tolist(), strict=True):
        assert abs(Fraction(own) - Fraction(units, score.denominator)) <= Fraction(error)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_bound_on_near_scores_is_not_idle(text):
    """It is at most a hundred times the error of a value that is off by the most it may be."""
    scoring = Scoring.of_expression(parse(text), parse_plan({"roles": {"ranking": ["a"]}}))
    number, relative = 1234.5, 1e-6
    off = number * (1 + relative)
    exact = float(scoring.exact("a", ExactNumbers.of([Decimal(number)])).units[0])
    exact /= scoring.exact("a", ExactNumbers.of([Decimal(number)])).denominator
    error = abs(float(scoring.near("a", np.array([off]))[0]) - exact)
    assert error <= scoring.error("a", number, off, relative) <= 100 * error


@pytest.mark.parametrize(
    ("text", "value"), [("sqrt(a)", -1.0), ("ln(a)", 0.0), ("a ** 2", -1.0), ("a ** 9", 1e300)]
)
def test_near_scores_that_cannot_be_are_not_finite(text, value):
    """An engine then asks for exact ones, which are refused or exact; no warning is given."""
    scoring = Scoring.of_expression(parse(text), parse_plan({"roles": {"ranking": ["a"]}}))
    assert not np.isfinite(scoring.near("a", np.array([value]))).any()
    assert not np.isfinite(scoring.error("a", value, value, 1e-16))


def test_an_expression_is_read():
    """Weights, divisions, parentheses, quoted names, and a number that shifts all scores."""
    found = parse('2*math + (`reading score` - "time, s" / 4) * 0.5 - -1e1')
    assert found.weights == {
        _GrowingFunction("math"): 2,
        _GrowingFunction("reading score"): Fraction(1, 2),
        _GrowingFunction("time, s"): Fraction(-1, 8),
    }
    assert found.shift == 10


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("a", {_GrowingFunction("a"): 1}),
        ("-a", {_GrowingFunction("a"): -1}),
        ("a + a*2", {_GrowingFunction("a"): 3}),
        ("a / 3", {_GrowingFunction("a"): Fraction(1, 3)}),
        ("-a ** 2", {_GrowingFunction("a", power=2): -1}),
        ("a^3 + a", {_GrowingFunction("a", power=3): 1, _GrowingFunction("a"): 1}),
        (
            "sqrt(a) * 2 + ln((b))",
            {_GrowingFunction("a", "sqrt"): 2, _GrowingFunction("b", "ln"): 1},
        ),
        ("ln + log10(ln)", {_GrowingFunction("ln"): 1, _GrowingFunction("ln", "log10"): 1}),
        ("0.1*größe", {_GrowingFunction("größe"): Fraction(1, 10)}),
        ("`class` + `2x` + `a*b`", {_GrowingFunction(name): 1 for name in ("class", "2x", "a*b")}),
        ("((((a))))", {_GrowingFunction("a"): 1}),
        (".5 * a", {_GrowingFunction("a"): Fraction(1, 2)}),
    ],
)
def test_what_an_expression_may_hold(text, weights):
    """Each form that the page names."""
    assert parse(text).weights == weights


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'the end' stands where"),
        ("3 + 4", "it names no column"),
        ("math * reading", "multiplied or divided by each other"),
        ("1 / math", "multiplied or divided by each other"),
        ("math / 0", "divides by 0"),
        ("math / (2 - 2)", "divides by 0"),
        ("math ** 0.5", "a power is that of one column, from 1 to 9"),
        ("math ** -1", "a power is that of one column"),
        ("(math + 1) ** 2", "a power is that of one column"),
        ("2 ** 3 * math", "a power is that of one column"),
        ("sqrt(math + reading)", "sqrt is that of one column"),
        ("sqrt(2 * math)", "sqrt is that of one column"),
        ("log(math)", "no function 'log'; did you mean"),
        ("max(math, reading)", "neither a number nor a name"),
        ("__import__('os')", "neither a number nor a name"),
        ("__import__(os)", "no function '__import__'"),
        ("math.real", "neither a number nor a name"),
        ("2x", "neither a number nor a name"),
        ("math reading", "'reading' is out of place"),
        ("(math", "a parenthesis is not closed"),
        ("math)", "'\\)' is out of place"),
        ("math +", "'the end' stands where"),
        ("`math", "neither a number nor a name"),
        ("math > 3", "neither a number nor a name"),
        ("(" * 60 + "math" + ")" * 60, "nested too deeply"),
    ],
)
def test_what_an_expression_may_not_hold(text, reason):
    """The message says what is wrong, and names what is allowed."""
    with pytest.raises(PlanError, match=reason) as refusal:
        parse(text)
    assert "Allowed: a score adds up numbers times columns" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("math - math + reading", "`math` has no weight, or cancels out"),
        ("0 * math + reading", "`math` has no weight, or cancels out"),
        ("math - sqrt(math)", "'math' both raises and lowers the score"),
        ("math +" * 3000 + "math", "has 18,004 characters, and may have 10,000"),
    ],
)
def test_expressions_that_say_nothing_of_a_column_are_refused(text, reason):
    """No weight, or two that contradict each other; and no text without end."""
    with pytest.raises(PlanError, match=reason):
        parse(text)


@given(st.text('ab1.+-*/^() `"sqrt,ln\n_0e', max_size=30))
def test_any_text_is_read_or_refused(text):
    """No text breaks the reader, and what it reads names a column with a weight."""
    try:
        found = parse(text)
    except PlanError:
        return
    assert found.weights
    assert all(found.weights.values())


LINEAR = st.recursive(
    st.sampled_from(["a", "b", "0.5", "3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["2", "0.25"]), inner).map(lambda t: f"{t[0]} * {t[1]}"),
        inner.map(lambda text: f"-({text}) / 4"),
    ),
    max_leaves=8,
)


@given(LINEAR, st.integers(-9, 9), st.integers(-9, 9))
def test_a_linear_expression_means_what_it_means_in_arithmetic(text, a, b):
    """Weights times values and the shift give what Python computes from the same text."""
    try:
        found = parse(text)
    except PlanError:
        assume(False)
    values = {"a": a, "b": b}
    total = sum(w * values[m.column] for m, w in found.weights.items()) + found.shift
    assert float(total) == pytest.approx(eval(text, {}, values), abs=1e-9)


def test_an_expression_scores_like_weights():
    """Signs say what is better; a declared order works as it does with weights."""
    declared = {"grade": {"order": ["B", "A"]}, "time": {"better": "lower"}}
    table = table_of({"grade": ["A", "B"], "time": [10, 30]}, declared)
    assert expressed(table, "3 * grade - time / 10") == {"grade": [6, 3], "time": [-1, -3]}


def test_an_expression_that_contradicts_the_plan_is_refused():
    """Lower is better in the plan, and the expression adds the column."""
    table = table_of({"time": [10, 30]}, {"time": {"better": "lower"}})
    with pytest.raises(PlanError, match=r"adds `time` to the score.*lower is better; subtract it"):
        expressed(table, "time")


def test_an_expression_names_all_ranking_columns_and_no_other():
    """As weights do."""
    table = table_of({"math": [1, 2], "time": [1, 2]})
    with pytest.raises(PlanError, match="no weight to the ranking column 'time'"):
        expressed(table, "math")
    with pytest.raises(PlanError, match=r"'tine' is no ranking column.*did you mean 'time'"):
        expressed(table, "math + tine")


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("sqrt(a)", sqrt),
        ("ln(a)", log),
        ("log10(a)", log10),
        ("a ** 3", lambda a: a**3),
        ("a + 2 * sqrt(a)", lambda a: a + 2 * sqrt(a)),
    ],
)
def test_functions_are_those_of_mathematics(text, function):
    """Rounded to nine decimals, of small and of large values."""
    values = [0.001, 0.5, 1.0, 2.0, 144.0, 12345.678]
    found = expressed(table_of({"a": values}), text)["a"]
    assert [float(value) for value in found] == pytest.approx(
        [function(value) for value in values], abs=2 * 10**-DECIMALS, rel=1e-15
    )


def test_powers_are_exact():
    """1.1 ** 2 is 1.21, and ties with 1.21 itself."""
    assert expressed(table_of({"a": [1.1, 3.0]}), "a ** 2") == {"a": [Fraction(121, 100), 9]}


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("sqrt(a)", [4, -1, -2], r"sqrt\(`a`\) is for values at least 0, and 2 different values"),
        ("ln(a)", [4, 0], r"ln\(`a`\) is for values above 0, and 1 different values"),
        ("a ** 2", [-3, 3], r"`a` \*\* 2 is for values at least 0, and 1 different values"),
    ],
)
def test_functions_are_refused_where_they_do_not_grow(text, values, message):
    """A root of a negative value, or a power that falls and rises again."""
    with pytest.raises(TableError, match=message):
        expressed(table_of({"a": values}), text)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=20, unique=True))
def test_functions_grow(values):
    """Rounded or not, a larger value never scores less."""
    table = table_of({"a": values})
    for text in ("sqrt(a)", "ln(a)", "log10(a)", "a ** 2"):
        found = expressed(table, text)["a"]
        assert all(np.diff([float(value) for value in found]) >= 0)
