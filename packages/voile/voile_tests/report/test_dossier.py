"""The dossier tells those who decide what they must know, and nobody anything of a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from voile.policy.ruling import Ruling, Tick
from voile.report.html import Dossier
from voile.study.record import PRIVATE
from voile_base.errors import InputError
from voile_tests.report.pages import Page, drawings
from voile_tests.report.records import attack, audited, judged, record

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
    for says in ("nobody is in the table twice", "nobody else may see it"):
        assert any(says in one and "not ticked" in one for one in items)


def test_the_verdict_is_told_with_figures_and_intervals() -> None:
    """Passed or not, and each ruling."""
    said = _said(judged().render(public=False))
    assert "Not passed" in said
    assert "2 of 4 criteria are not met" in said
    assert "0.0194 (0.0137 to 0.0271)" in said
    assert "STRADDLES" in said
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


def test_risks_without_a_control_are_said_to_be() -> None:
    """And a study that counted none is told how to come by them; one that did, whose they are."""
    risks: list[Any] = [{**one, "control": None} for one in audited().risks]
    said = _said(judged(audited(risks=risks)).render(public=False))
    assert "No control was given" in said
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
    assert {"pass", "STRADDLES", "FAIL"} <= set(rulings)


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
        Ruling("unexamined", says, passed=by, why="so", of_original=False)
        for says, by in zip(asked, (True, False), strict=True)
    ]
    ticks = (Tick(says=asked[0], ticked=True, by="board"),)
    verdict = replace(found.verdict, rulings=(*rulings, *found.verdict.rulings))
    html = replace(found, verdict=verdict, ticks=ticks).render(public=False)
    told = [one.text for one in Page(html).all("dd")]
    assert any(
        "as intervals; whose labels nobody explains; ticked by the board: gives nobody away" in one
        for one in told
    )
    assert any("is shown; which is new; not ticked" in one for one in told)


def test_the_ruling_of_a_missing_figure_is_told() -> None:
    """It has no number."""
    found = judged()
    one = Ruling("attack", "a", passed=False, why="not measured", limit=1.0, side="most")
    html = replace(found, verdict=replace(found.verdict, rulings=(one,))).render(public=False)
    assert "MISSING" in _said(html)
