"""The report of one study: all numbers and names of its record, and whole where it lacks some."""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from voile.report.html import render_study
from voile.report.pages import _facts_of
from voile.report.words import SETS
from voile.study.documents import record_document, record_of_document
from voile.study.record import PRIVATE, Distribution
from voile_base.errors import InputError
from voile_tests.report.pages import Page, drawings, numbers
from voile_tests.report.records import (
    COLUMNS,
    attack,
    distributions,
    measurement,
    measures,
    record,
    slim,
)

pytest.importorskip("matplotlib", reason="reports are an extra")
pytest.importorskip("jinja2", reason="reports are an extra")


@cache
def page() -> Page:
    return Page(render_study(record()))


@pytest.mark.slow
def test_numbers_of_a_study_stand_in_its_page():
    """Every rate, value, part and share of the record is in the page, exactly."""
    made = record()
    shown = numbers(page())
    for found in made.attacks:
        assert {found["baseline"], *found["success"].values()} <= shown
    for found in made.utility:
        assert {found["value"], *found["parts"].values()} <= shown
    for held in made.distributions:
        assert {*held.before, *held.after} <= shown
    assert {*made.seconds.values(), 47_901.0, 48_842.0, 941.0} <= shown


def test_everything_found_is_named():
    """Each attack and measure appears, with its goal or meaning, and each that was skipped."""
    said = " ".join(page().lines)
    for name in ("Prosecutor", "Background knowledge", "Row tracing", "Differencing"):
        assert name in said
    for found in measures():
        assert found["title"] in said
        assert found["meaning"] in said
    for text in (
        "no column was shuffled",
        "the release is no ranking",
        "5-anonymous: every published row agrees with at least 4 others",
        "nobody is in the table twice",
        "knows all quasi-identifiers of the target exactly",
        "measured on a release made like this one of fewer rows",
        "9a7019f12a1bc2d6dc052243fae08d2c",
        "voile study INPUT --plan plan.toml --out DIR --targets 1000 --seed 7",
        *COLUMNS,
    ):
        assert text in said


def test_the_plan_can_be_read_again():
    """The plan in the page is TOML that says what the record says."""
    plan = next(one for one in page().all("pre") if "[method]" in one.text)
    assert tomllib.loads(plan.all("code")[0].texts[0]) == record().plan


def test_summary_of_a_study():
    """The sentences at the top are made of the record's numbers."""
    made = slim(attacks=(attack("prosecutor", 0.021, 0.0002),))
    sections = Page(render_study(made)).all("section")
    summary = next(one for one in sections if one.attributes.get("class") == "summary")
    assert (
        "The attack that finds most, prosecutor, succeeds for 2.1 % of 1,000 targets (1 in 48); "
        "guessing does for 0.02 %, so it is 105 times as good." in summary.text
    )
    assert "47,901 of 48,842 rows were published by generalization (k = 5" in summary.text


@pytest.mark.slow
def test_attacks_that_do_not_beat_guessing_are_not_called_best():
    """Where guessing lies within every interval, the summary says that nothing was found."""
    weak = (attack("skewness", 0.5001, 0.5), attack("membership", 0.499, 0.5))
    said = " ".join(Page(render_study(slim(attacks=weak))).lines)
    assert "None of 2 attacks does better than guessing" in said
    assert "The attack that finds most" not in said


EMPTY: dict[str, dict[str, Any]] = {
    "no attacks": {"attacks": (), "attacks_skipped": ()},
    "no measures": {"utility": (), "utility_skipped": ()},
    "no columns": {
        "distributions": (),
        "release": {**record().release, "columns": {}, "rows": 0},
    },
    "no notices or versions": {
        "publication": {**record().publication, "notices": [], "summary": "", "objective": None},
        "versions": {},
        "seconds": {},
        "plan": {},
        "seed": None,
    },
    "no rows": {
        "distributions": (
            Distribution("age", "keep", "number", ("0 to 1",), (0.0, 1.0), (0.0,), (0.0,)),
            Distribution("sex", "keep", "text", (), None, (), ()),
        ),
    },
    "nothing finite": {
        "utility": (measurement(value=None), measurement("other", untouched=1.0, useless=1.0)),
        "attacks": (
            attack(
                success=0.0,
                baseline=0.0,
                worst=None,
                typical=None,
                probability={"value": None, "low": None, "high": None},
            ),
        ),
    },
    "beyond both ends": {
        "utility": (measurement("worse", 1.4), measurement("better", -0.2), measurement("at", 1.0)),
        "attacks": (attack(success=1.0, baseline=1.0), attack("b", 1e-9, 1e-12)),
    },
    "one part": {"utility": (measurement(parts={"age": 0.0}), measurement("b", parts={"x": -1.0}))},
    "dates": {
        "distributions": (
            Distribution(
                "when", "keep", "date", ("1990", "1991", "1992"), (0.0, 365.0, 730.0, 1095.0),
                (0.2, 0.3, 0.5), (0.5, 0.3, 0.2),
            ),
            Distribution(
                "uneven", "keep", "number", ("a", "b"), (0.0, 1.0, 1e9), (0.5, 0.5), (0.4, 0.6)
            ),
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize("case", EMPTY)
def test_records_that_lack_something(case):
    """Whatever a study did not find, its page is whole."""
    html = render_study(slim(**EMPTY[case]))
    assert Page(html).lines[0] == PRIVATE
    drawings(html)


LACKING: dict[str, dict[str, Any]] = {
    "no value": {"success": {"value": None, "low": 0.0, "high": 1.0}},
    "no lower end": {"success": {"value": 0.9, "low": None, "high": 1.0}},
    "no upper end": {"success": {"value": 0.9, "low": 0.8, "high": None}},
    "no baseline": {"baseline": None},
    "nobody": {"targets": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LACKING)
def test_a_figure_that_is_missing_is_not_zero(case):
    """An attack with a figure that is null is shown as not measured, never as one that fails."""
    whole = attack("skewness", 0.5001, 0.5)
    made = slim(attacks=({**attack("prosecutor", 0.9), **LACKING[case]}, whole))
    page = Page(render_study(made))
    said = " ".join(" ".join(page.lines).replace("\xa0", " ").split())
    assert "How often prosecutor succeeds was not measured: the record lacks figures." in said
    assert "The attack does no better than guessing, as far as 1,000 targets" in said
    assert "because the record lacks figures, and not in a chart: Prosecutor." in said
    rows = {row.all("th")[0].text: row.text for row in page.all("tr") if row.all("th")}
    assert rows["Prosecutor"].endswith("not measured: the record lacks figures")
    alone = " ".join(Page(render_study(slim(attacks=made.attacks[:1]))).lines)
    assert "better than guessing" not in alone
    assert "was not measured" in alone


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no success": ({"attacks": [{"attack": "prosecutor"}]}, r"attacks\[1\]: needs 'goal'"),
    "no upper end": (
        {"attacks": [attack(success=0.9) | {"success": {"value": 0.9, "low": 0.8}}]},
        r"attacks\[1\].success: needs 'high'",
    ),
    "a text": (
        {"attacks": [attack() | {"baseline": "much"}]},
        r"attacks\[1\].baseline must be a number from 0 to 1",
    ),
    "not said whether counted": ({"attacks": [attack(checked=None)]}, "checked must be true or f"),
    "above 1": ({"attacks": [attack(baseline=1.5)]}, "baseline must be a number from 0 to 1"),
    "no direction": (
        {"utility": [measurement("prec", 0.5, better=None)]},
        r"utility\[1\].better must be one of 'lower', 'higher'",
    ),
    "no counts": ({"publication": {"rows_in": 9}}, "publication: needs 'rows_out'"),
    "not said whether publishable": (
        {"release": {k: v for k, v in record().release.items() if k != "publishable"}},
        "release: needs 'publishable'",
    ),
    "no assumptions": (
        {"release": {**record().release, "guarantee": {"kind": "k", "statement": "s"}}},
        "release.guarantee: needs 'assumes'",
    ),
    "a key of somebody else": ({"evidence": {**record().evidence, "x": 1}}, "unknown key 'x'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_lacks_something_is_no_record(case):
    """Nothing that is missing becomes a number, a default or a page: the place is named."""
    changed, said = BROKEN[case]
    with pytest.raises(InputError, match=said):
        slim(**changed)
    with pytest.raises(InputError, match=said):
        record_of_document({**json.loads(json.dumps(record_document(slim()))), **changed})


@pytest.mark.slow
def test_a_record_that_went_through_json():
    """Lists for tuples, texts for decimals: the page is the same but for the written plan."""
    made = slim(parameters={"method.beta": "0.7"})
    document = json.loads(json.dumps(record_document(made)))
    document["publication"]["objective"] = str(document["publication"]["objective"])
    read = record_of_document(document)
    assert read == made
    assert render_study(read) == render_study(made)


def test_distributions_show_what_moved():
    """The share of rows that would have to change stands beside each column."""
    made = slim(distributions=distributions()[:1])
    held = made.distributions[0]
    moved = sum(abs(a - b) for a, b in zip(held.before, held.after, strict=True)) / 2
    said = " ".join(Page(render_study(made)).lines)
    assert f"{100 * moved:.1f}\xa0% moved".replace("\xa0", " ") in said.replace("\xa0", " ")


def test_measures_without_a_scale_are_named():
    """Where useless is no worse than untouched, a value has no rank between them."""
    useless = {"better": "higher", "untouched": -0.001, "useless": 0.0}
    made = slim(utility=(measurement("a"), measurement("b", -0.02, **useless)))
    said = " ".join(Page(render_study(made)).lines)
    assert "and not in the chart: B ." in said
    assert "better than untouched" not in said


def test_documents_of_any_shape_are_facts():
    """What a method decided is listed whole: values, tables, and tables deep within."""
    documents = {
        "blocks": 17,
        "permuted": ["age", "race"],
        "levels": {"age": 2, "sex": 0},
        "columns": {"age": {"step": Decimal("0.5"), "clusters": [{"low": 1, "at": {"x": 2}}]}},
        "groups": [{"rows": 3} for _ in range(100)],
    }
    found = {fact.name: fact for fact in _facts_of(documents)}
    assert found["blocks"].value == 17
    assert found["permuted"].value == "age, race"
    assert found["levels"].rows == (("age", 2), ("sex", 0))
    assert found["columns: age: step"].value == 0.5
    assert found["columns: age: clusters"].columns == ("low", "at: x")
    assert found["columns: age: clusters"].rows == ((1, 2),)
    assert (len(found["groups"].rows), found["groups"].left) == (60, 40)


@pytest.mark.slow
def test_the_worst_target_is_of_the_probability_and_stands_beside_its_mean() -> None:
    """A success of all targets beside a worst of 9 % is no contradiction: they are two figures."""
    found = attack(
        "skewness", 1.0, 0.01,
        probability={"value": 0.031, "low": 0.0, "high": 0.1},
        worst={"known": {"age": 40}, "probability": 0.0909},
    )  # fmt: skip
    page = Page(render_study(record(attacks=(found,))))
    cells = [one.text.replace("\xa0", " ") for one in page.all("td")]
    assert any("mean 3.1 %" in one and "worst 9.09 %" in one for one in cells)
    heads = [one.text for one in page.all("th")]
    assert "Probability given to the truth" in heads
    assert "Worst target" not in heads


@pytest.mark.slow
def test_sets_are_explained_where_a_column_shows_them() -> None:
    """That nothing beside a | means a missing value; elsewhere nothing is said of it."""
    found = record()
    shown = {**found.release, "columns": {"age": {"kind": "set"}}}
    assert SETS in " ".join(Page(render_study(record(release=shown))).lines)
    assert SETS not in " ".join(Page(render_study(found)).lines)
