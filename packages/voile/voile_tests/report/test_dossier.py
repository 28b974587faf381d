"""The dossier tells those who decide what they must know, and nobody anything of a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from voile.policy.criteria.measured import asked
from voile.policy.ruling import KNOWING, Ruling, Tick
from voile.report.html import Dossier, render_study
from voile.study.record import LOSS, PRIVATE
from voile_base.errors import InputError
from voile_tests.report.pages import Page, drawings
from voile_tests.report.records import attack, audited, judged, measurement, record

pytest.importorskip("matplotlib", reason="reports are an extra")
pytest.importorskip("jinja2", reason="reports are an extra")


def _said(html: str) -> str:
    return " ".join(Page(html).lines)


def _passed(found: Dossier) -> Dossier:
    rulings = tuple(replace(one, passed=True) for one in found.verdict.rulings)
    return replace(found, verdict=replace(found.verdict, rulings=rulings))


def test_each_assumption_is_shown_and_who_has_ticked_it() -> None:
    """Those of the promise and those of the policy; what nobody ticked is said to be open."""
    html = judged().render(public=False)
    items = {one.text for one in Page(html).all("li")}
    assert any("the recipient has signed" in one and "ticked by the board" in one for one in items)
    said = _said(html)
    assert "the recipient has signed" in said.partition("Neither confirmed nor accepted")[0]
    assert (
        "nobody is in the table twice"
        not in said.partition("Neither confirmed")[0].partition("What rests on people alone")[2]
    )
    for says in ("nobody is in the table twice", "nobody else may see it"):
        assert any(says in one and "not ticked" in one for one in items)


KNOWN = "Studio has tried 5 plans on these rows"
LIMIT = "somebody who knows several rows of a person can intersect their groups"


def test_what_is_ticked_against_what_is_known_is_accepted_and_not_confirmed() -> None:
    """It stands apart with what was known, as do limits; the counts agree with the headings."""
    found = judged()
    assert found.document is not None
    stated = {"assumes": ["k was chosen blindly", LIMIT], "leaves_open": [LIMIT]}
    document = {**found.document, "guarantee": {**found.document["guarantee"], **stated}}
    ticks = (
        Tick(says="k was chosen blindly", ticked=True, by=f"board{KNOWING}{KNOWN}"),
        Tick(says=LIMIT, ticked=True, by="board"),
        Tick(says="the recipient has signed", ticked=True, by="board"),
    )
    rulings = tuple(asked("assumptions", one.says, ticks, [LIMIT]) for one in ticks)
    assert [one.told for one in rulings] == ["accepted", "accepted", "pass"]
    verdict = replace(found.verdict, rulings=rulings)
    whole = replace(found, document=document, verdict=verdict, ticks=ticks)
    said = _said(whole.render(public=False))
    assert "1 confirmed and 2 accepted by a person alone, not measured" in said
    _, _, accepted = said.partition("Accepted although known otherwise")
    assert accepted.lstrip().startswith("✓ k was chosen blindly accepted by the board, who knew")
    assert f"who knew that {KNOWN} Accepted: what the promise does not cover" in accepted
    _, _, confirmed = said.partition("Confirmed by a person")
    assert "blindly" not in confirmed.partition("Accepted although")[0]


def test_a_verdict_of_before_is_the_same_verdict_though_it_tells_nothing_of_acceptance() -> None:
    """What is signed is not judged anew: its dossier can still be drawn."""
    (one,) = (asked("assumptions", LIMIT, (Tick(says=LIMIT, ticked=True, by="b"),), [LIMIT]),)
    assert one.accepted
    assert one == replace(one, accepted="")


def test_what_does_not_apply_is_no_pass() -> None:
    """It is told as not applicable, and has no figure."""
    found = judged()
    one = Ruling("copies", "nobody is copied", passed=True, why="does not apply: all are groups",
                 value=0.0, low=0.0, high=0.0, limit=0.0, side="most")  # fmt: skip
    verdict = replace(found.verdict, rulings=(one,))
    said = _said(replace(found, verdict=verdict).render(public=False))
    assert "not applicable nobody is copied none does not apply" in said
    assert "0 of 0 criteria that apply are met. 1 does not apply." in said


@pytest.mark.slow
def test_the_history_says_that_nothing_was_charged_where_nothing_was() -> None:
    """A release of no series and no data set stands in no ledger; another names what to open."""
    found = replace(judged(), history=None)
    assert found.document is not None
    assert "Nothing was charged" in _said(found.render(public=False))
    document = {**found.document, "series": {"name": "wages"}}
    said = _said(replace(found, document=document).render(public=False))
    assert "No ledger was named: other releases of the same series are not listed" in said


def test_columns_that_are_left_out_are_named_to_those_who_decide() -> None:
    """As far as the plan names them; the public part says nothing of them."""
    found = record()
    roles = {**found.plan.get("roles", {}), "person": "patient_no"}
    plan = {**found.plan, "roles": roles, "columns": {"born": {"kind": "date"}}}
    dossier = judged(replace(found, plan=plan))
    said = _said(dossier.render(public=False))
    assert "patient_no" in said.partition("left out")[2].partition("The promise")[0]
    assert "born and all columns that the plan does not name" in said
    assert "patient_no" not in _passed(dossier).render(public=True)


def test_all_columns_that_the_table_has_and_the_release_lacks_are_named() -> None:
    """Also those that no line of the plan names, where the record has the columns of the table."""
    found = record()
    columns = [*found.release["columns"], "name", "remark"]
    publication = {**found.publication, "columns_in": columns}
    said = _said(judged(replace(found, publication=publication)).render(public=False))
    assert "left out name , remark information loss" in said
    assert "all columns that the plan does not name" not in said


@pytest.mark.slow
def test_the_dossier_supposes_no_recipient_and_calls_nothing_fit() -> None:
    """The audience is the policy's; that no seed was said is no word about risk; loss is told."""
    found = judged()
    said = _said(found.render(public=False))
    assert f"recipient that the policy supposes {found.policy.audience}" in said or (
        "recipient that the policy supposes not stated" in said
    )
    assert "to whom" not in said
    assert "fit for publication: yes" not in said
    assert "made without a seed" in said
    assert "information loss not measured" in said
    lost = replace(found.record, utility=(measurement(LOSS, 0.4123),))
    told = _said(replace(found, record=lost).render(public=False)).replace("\xa0", " ")
    assert "information loss 41.2 %" in told
    assert "41.2 %" in " ".join(Page(render_study(lost)).lines).replace("\xa0", " ")


def test_the_verdict_is_told_with_figures_and_intervals() -> None:
    """Passed or not, and each ruling."""
    said = _said(judged().render(public=False))
    assert "Not passed" in said
    assert "2 of 4 criteria that apply are met: 1 measured, 1 confirmed by a person alone" in said
    assert "1 not met, 1 not confirmed" in said
    assert "0.0194 (0.0137 to 0.0271)" in said
    assert "not met: its interval straddles the limit" in said
    assert "no legal advice" in said
    assert "The policy asks for the signature of: officer" in said


def test_the_three_risks_are_gauges_with_control_and_guess() -> None:
    """One line each, in a chart that speaks."""
    html = judged(audited()).render(public=False)
    (chart, *_) = drawings(html)
    text = "".join(chart.itertext()).replace("\xa0", " ")
    assert "Singling out: several columns: 70 % (95 % interval 67 % to 73 %)" in text
    assert "control 10 %, guess 5 %; found" in text
    assert "control 39 %, guess 5 %; not found" in text


@pytest.mark.slow
def test_risks_without_a_control_are_said_to_be() -> None:
    """And a study that counted none is told how to come by them; one that did, whose they are."""
    risks: list[Any] = [{**one, "control": None} for one in audited().risks]
    said = _said(judged(audited(risks=risks)).render(public=False))
    assert "No control was given" in said
    (first, second) = audited().risks
    some = _said(judged(audited(risks=[{**first, "control": None}, second])).render(public=False))
    assert "No control was given" not in some
    assert "counts as a risk: Singling out. Other" in some
    without = _said(judged().render(public=False))
    assert "run voile study with --risks" in without
    assert "rehearsal" not in without
    counted = replace(judged(), record=replace(judged().record, risks=audited().risks))
    assert "They were counted on a rehearsal" in _said(counted.render(public=False))


def test_the_worst_off_person_is_told_without_a_value() -> None:
    """By whom, how likely, knowing which columns: no value of anybody stands in the page."""
    worst = {"known": {"age": 40_404, "sex": "a secret", "s3cret": 1}, "probability": 0.25}
    found = record(attacks=(attack("prosecutor", worst=worst),))
    html = judged(found).render(public=False)
    said = _said(html)
    assert "is found by prosecutor with a probability of 25 %, or 1 in 4" in said
    assert "knowing 'age' and 'sex'" in said
    for value in ("40404", "40,404", "a secret", "s3cret"):
        assert value not in html


def test_the_public_part_holds_nothing_that_was_computed_with_the_original() -> None:
    """No figure, no attack, no chart, no history; and how it was said to be private is gone."""
    found = judged()
    html = _passed(found).render(public=True)
    said = _said(html)
    assert PRIVATE not in html
    assert not drawings(html)
    for private in ("0.0194", "0.0137", "of 1,000 targets", "48,842", "941", "epsilon 1"):
        assert private not in said
    assert "within the limit" in said
    assert "at least 5 share" in said
    for gone in ("three risks", "worst-off", "History"):
        assert gone not in said
    html = _passed(judged(audited())).render(public=True)
    assert "shuffled" not in _said(html)


def test_the_public_part_is_drawn_of_a_passed_verdict_only() -> None:
    """Else it would tell which figures are beyond their limits."""
    with pytest.raises(InputError, match="says that all criteria are met"):
        judged().render(public=True)


def test_it_is_laid_out_for_a4_and_tells_passed_from_failed_without_colour() -> None:
    """On paper, too."""
    html = judged().render(public=False)
    assert "@page { size: A4; }" in html
    rulings = [one.text for one in Page(html).all("th") if "scope" in one.attributes]
    straddling = "not met: its interval straddles the limit"
    assert {"met", "confirmed", straddling, "not confirmed"} <= set(rulings)
    assert not {"pass", "FAIL"} & set(rulings)


def test_a_file_of_another_make_promises_nothing() -> None:
    """And says so."""
    said = _said(judged(audited()).render(public=False))
    assert "Nothing is promised." in said
    assert "shuffled among rows" in said


def test_each_column_says_what_was_ticked_of_it() -> None:
    """Also one that the original lacks, and one that nobody has ticked."""
    asked = [
        f"Column {name!r}, {why}, gives nobody away"
        for name, why in (("age", "whose labels nobody explains"), ("note", "which is new"))
    ]
    found = judged(audited(unused=["note"]))
    rulings = [
        Ruling("unexamined", says, passed=by, why="so", of_original=False, columns=(name,))
        for says, by, name in zip(asked, (True, False), ("age", "note"), strict=True)
    ]
    ticks = (Tick(says=asked[0], ticked=True, by="board"),)
    verdict = replace(found.verdict, rulings=(*rulings, *found.verdict.rulings))
    html = replace(found, verdict=verdict, ticks=ticks).render(public=False)
    told = [one.text for one in Page(html).all("dd")]
    assert any(f"as intervals; {asked[0]}; ticked by the board" in one for one in told)
    assert any(f"is shown; {asked[1]}; not ticked" in one for one in told)


def test_the_ruling_of_a_missing_figure_is_told() -> None:
    """It has no number."""
    found = judged()
    one = Ruling("attack", "a", passed=False, why="not measured", limit=1.0, side="most")
    html = replace(found, verdict=replace(found.verdict, rulings=(one,))).render(public=False)
    assert "not met: there is no figure" in _said(html)


@pytest.mark.slow
def test_each_column_says_what_is_left_of_it_and_which_value_most_rows_show() -> None:
    """A column whose cells all stand for all values is lost; the public part tells no loss."""
    columns = {name: {"kind": "generalized"} for name in ("born", "zip")}
    found = record(
        utility=(measurement("non-uniform-entropy", 0.7, parts={"born": 1.0, "zip": 0.4}),)
    )
    found = replace(found, release={**found.release, "columns": columns})
    dossier = replace(judged(found), shown={"zip": "one value, 79***, in 94 % of rows"})
    said = _said(dossier.render(public=False))
    assert "born as groups of values; nothing of it is left" in said
    most = "zip as groups of values; one value, 79***, in 94 % of rows"
    assert f"{most}; 40 % of its information is lost" in said
    public = _said(_passed(dossier).render(public=True))
    assert most in public
    assert "information is lost" not in public
    assert "nothing of it is left" not in public
    report = _said(render_study(found))
    assert "born as groups of values; nothing of it is left" in report
    assert "Information loss is 70 % (non-uniform entropy)." in report
