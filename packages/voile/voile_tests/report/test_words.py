"""Numbers and names in words, and plans as TOML."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.report.html import render_study
from voile.report.words import (
    NEARLY_LOST,
    as_number,
    clipped,
    counted,
    listed,
    number,
    one_in,
    percent,
    printable,
    reidentified,
    remainder,
    risk_told,
    short_number,
    spoken,
    times,
    width_of,
)
from voile.study.record import REHEARSED
from voile_base.values.toml import toml_text
from voile_tests.report.pages import Page
from voile_tests.report.records import attack, audited, judged, record


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.021, "2.1 %"),
        (0.5, "50 %"),
        (0.76071, "76.1 %"),
        (0.00021, "0.021 %"),
        (0.99996, "99.996 %"),
        (1 / 11, "9.09 %"),
        (1 - 1e-12, "more than 99.99 %"),
        (1 - 4e-6, "more than 99.99 %"),
        (2e-9, "2.0e-07 %"),
        (-0.05, "\N{MINUS SIGN}5 %"),
        (3.5, "350 %"),
        (None, "\N{EN DASH}"),
    ],
)
def test_percentages(share, said):
    """Shares have three digits, and small ones keep theirs; nothing but all is 100 %."""
    assert percent(share) == said.replace(" ", "\xa0")


@given(st.floats(0, 1))
def test_only_zero_and_one_are_called_so(share):
    """No share is rounded to impossible or to certain."""
    assert (percent(share) == "0\xa0%") == (share == 0)
    if share < 1 - 1e-13:
        assert percent(share) != "100\xa0%"


@given(st.floats(1e-6, 1))
def test_percentages_are_right(share):
    """What is said lies within a twentieth of the share."""
    told = percent(share).replace("more\xa0than\xa0", "")
    said = float(told.replace("\xa0%", "").replace(",", "")) / 100
    assert said == pytest.approx(share, rel=0.05)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e14, max_value=1e14))
def test_numbers_are_right(value):
    """What is said lies within a thousandth of the number, whatever its size."""
    said = float(number(value).replace(",", "").replace("\N{MINUS SIGN}", "-"))
    assert said == pytest.approx(value, rel=1e-3)


def test_numbers():
    """Commas, four digits, and whole numbers in full."""
    assert number(12345) == "12,345"
    assert number(9768.4) == "9,768"
    assert number(0.314159) == "0.3142"
    assert number(-2.5) == "\N{MINUS SIGN}2.5"
    assert number(float("inf")) == "unbounded"
    assert number(float("nan")) == number(None) == "\N{EN DASH}"
    assert short_number(2.4e9) == "2.4\xa0bn"
    assert short_number(200_000_000) == "200\xa0M"
    assert short_number(250_000) == "250\xa0k"
    assert short_number(99_999) == "99,999"


def test_one_in():
    """Shares up to a half as one of so many; others are not said so."""
    assert one_in(0.02) == "1 in 50"
    assert one_in(1 / 47.6) == "1 in 48"
    assert one_in(0.4) == "1 in 2.5"
    assert one_in(1 / 48_842) == "1 in 48,800"
    assert one_in(0) == one_in(0.6) == one_in(None) == ""


def test_a_risk_and_its_limit_read_alike():
    """Whole persons are told as such, with three digits, so that 1 in 11 does not pass 0.09."""
    assert risk_told(1 / 11) == "1 in 11 (9.09\xa0%)"
    assert risk_told(0.091) == "9.1\xa0%"
    assert risk_told(1) == "100\xa0%"
    assert risk_told(None) == percent(None)


def test_what_is_left_of_a_column():
    """Nothing, almost nothing from one stated share on, or more, of which nothing is said."""
    shares = (1.0, 0.998, NEARLY_LOST, NEARLY_LOST - 1e-6)
    assert [remainder(one) for one in shares] == ["nothing", *2 * ["almost nothing"], ""]


def test_small_words():
    """Plurals, lists, ratios and names."""
    assert counted(1, "attack") == "1\xa0attack"
    assert counted(1200, "person", "people") == "1,200\xa0people"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdef"), 2) == "a, b and 4 more"
    assert listed(["a"]) == "a"
    assert listed([]) == ""
    assert times(105.2) == "105 times"
    assert times(None) == "\N{EN DASH}"
    assert spoken("background-knowledge") == "Background knowledge"
    assert spoken("dp-synthesis") == "DP synthesis"
    assert spoken("ke-anonymity") == "(k,e)-anonymity"


@pytest.mark.parametrize("text", ["0.1", 0.1, Decimal("0.1")])
def test_numbers_may_be_texts(text):
    """A record that went through JSON may hold texts where decimals were."""
    assert as_number(text) == 0.1


@pytest.mark.parametrize("text", ["", "flash", "nan", "inf", None, True, [1], "1e999"])
def test_other_texts_are_no_numbers(text):
    """What is not a finite number is none."""
    assert as_number(text) is None


@given(st.text())
def test_printable_texts_fit_on_a_page(text):
    """What is printed is one line of characters that HTML and XML may hold."""
    line = printable(text)
    line.encode("utf-8")
    assert not set(line) & set("\x00\n\r\t\u202e\u2066")
    assert printable(line) == line


@given(st.text(), st.floats(20, 500))
def test_clipped_texts_are_no_wider(text, width):
    """A text is cut to its room, and only where it does not fit."""
    line = clipped(text, width, 12)
    assert width_of(line, 12) <= width
    assert (line == printable(text)) == (width_of(printable(text), 12) <= width)


TOML = st.recursive(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), TOML, max_size=4))
def test_plans_as_toml(document):
    """Whatever a plan holds, a reader of TOML reads it from the page."""
    assert tomllib.loads(toml_text(document)) == document


@given(st.dictionaries(st.text("ab \"'\\\n.", min_size=1), TOML, max_size=3))
def test_columns_of_plans_as_toml(columns):
    """Each column has a table of its own, whatever its name."""
    assert tomllib.loads(toml_text({"columns": columns})) == {"columns": columns}


def test_a_usual_plan_as_toml():
    """Scalars first, then a table each; what a table holds deeper is on one line."""
    plan = {
        "roles": {"keep": ["a b"], "none": None},
        "nulls": "drop",
        "columns": {"zip code": {"bounds": [0, Decimal("0.50")]}, "x": {"deep": {"y": 1}}},
    }
    assert toml_text(plan) == (
        'nulls = "drop"\n\n[roles]\nkeep = ["a b"]\n\n'
        '[columns."zip code"]\nbounds = [0, 0.50]\n\n[columns.x]\ndeep = {y = 1}\n'
    )


def _risk(columns: str, worst: float, mean: float) -> Any:
    rate = {"value": mean, "low": mean, "high": mean}
    return {**audited().risks[0], "risk": "re-identification", "of": f"the worst pair: {columns}",
            "main": rate, "control": None, "worst": worst, "notes": [REHEARSED]}  # fmt: skip


def test_the_reidentification_risk_is_told_at_worst_and_on_average_for_both_intruders() -> None:
    """Whoever knows quasi-identifiers alone, and whoever knows the worst columns; and on what."""
    worst = {"known": {"age": 40}, "probability": 0.04}
    prosecutor = attack("prosecutor", worst=worst, success=0.02, exact=True)
    risks = (_risk("illness, days", 1.0, 0.057), _risk("illness, days, paid", 1.0, 0.154))
    found = reidentified(replace(record(attacks=(prosecutor,)), risks=risks))
    assert found is not None
    (_, at_worst), (_, on_average) = found.sentences
    assert at_worst.replace("\xa0", " ") == (
        "at most 4 % (one in 25) for an intruder who knows the quasi-identifiers alone; "
        "100 % for one who knows illness and days (the most of all sets of columns that were "
        "looked at, counted on a rehearsal)."
    )
    assert on_average.replace("\xa0", " ") == (
        "2 %, the chance over all persons of choosing theirs among the rows that fit, for the "
        "quasi-identifiers alone; 15.4 % for one who knows illness, days and paid (the most of all "
        "sets of columns that were looked at, counted on a rehearsal)."
    )
    assert "one in 3, one in 5, one in 11 and one in 20. EMA" in found.limits
    counted = [{**one, "notes": []} for one in risks]
    found = reidentified(replace(record(attacks=(prosecutor,)), risks=counted))
    assert found is not None
    told = "(the most of all sets of columns that were looked at, counted on the file)"
    assert told in found.sentences[0][1]


def test_a_row_of_overlapping_groups_is_told_where_its_person_is_found_more_surely() -> None:
    """A person may fit the rows of several groups, and a row fewer persons: limits count both."""
    prosecutor = attack("prosecutor", worst={"known": {"age": 40}, "probability": 0.04})
    for worst, told in ((0.1, True), (0.04, False)):
        journalist = attack("journalist", worst={"known": {"age": 40}, "probability": worst})
        found = reidentified(record(attacks=(prosecutor, journalist)))
        assert found is not None
        assert ("10\xa0% for one who has a list" in found.sentences[0][1]) is told
        assert ("one in 11" in found.limits.partition(" EMA")[0].partition("not of")[2]) is told


def test_a_reidentification_risk_that_others_may_exceed_is_not_told() -> None:
    """Missing cells that may stand for other values leave no bound to tell."""
    worst = {"known": {"age": 40}, "probability": 0.04}
    prosecutor = attack("prosecutor", worst=worst, bounded=False)
    assert reidentified(record(attacks=(prosecutor,))) is None


def test_a_reidentification_risk_that_is_a_bound_says_at_most() -> None:
    """Whoever reads missing cells best for finding a person finds him at most so often."""
    sentences = {}
    for bound in (False, True):
        found = reidentified(record(attacks=(attack("prosecutor", upper_bound=bound),)))
        assert found is not None
        sentences[bound] = found.sentences[1][1]
    assert sentences[True] == f"at most {sentences[False]}"


@pytest.mark.slow
def test_studio_report_and_dossier_say_the_same_of_the_worst_off() -> None:
    """Word for word, figures included."""
    pytest.importorskip("matplotlib", reason="reports are an extra")
    worst = {"known": {"age": 40}, "probability": 0.04}
    found = record(attacks=(attack("prosecutor", worst=worst),))
    found = replace(found, risks=(_risk("illness, days", 1.0, 0.057),))
    risk = reidentified(found)
    assert risk is not None
    pages = (render_study(found), judged(found).render(public=False))
    for text in (text.replace("\xa0", " ") for pair in risk.sentences for text in pair):
        assert all(text in " ".join(Page(page).lines).replace("\xa0", " ") for page in pages)
