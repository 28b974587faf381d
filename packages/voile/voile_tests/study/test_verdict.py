"""The verdict on a study: limits, and remedies that keep them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from voile.policy.criteria.measured import AttackRate
from voile.policy.remedies import remedies
from voile.policy.ruling import Ruling
from voile.report.html import render_study
from voile.schema.plan import parse_plan
from voile.study.evidence import EvidenceTerms
from voile.study.record import StudyRecord
from voile.study.single import make_study
from voile.study.verdict import limits_document, limits_of, met_thresholds
from voile_tests.report.records import attack

PEOPLE = pl.DataFrame(
    {
        "age": [20 + number * 7 % 40 for number in range(240)],
        "sex": ["f", "m"] * 120,
        "illness": ["flu", "gout", "none"] * 80,
    }
)


def _record(folder: Path, **method: object) -> StudyRecord:
    plan = parse_plan(
        {
            "roles": {
                "person": "row",
                "quasi_identifiers": ["age", "sex"],
                "sensitive": ["illness"],
            },
            "columns": {"age": {"bounds": [0, 99]}},
            "method": {"name": "generalization", "k": 3, **method},
        }
    )
    terms = EvidenceTerms(("prosecutor", "homogeneity"), held_out=0.2)
    return make_study(PEOPLE, plan, folder, terms=terms, seed=1).record


@pytest.mark.slow
def test_each_remedy_keeps_the_limit_that_was_missed(tmp_path: Path) -> None:
    """The k that is named for a threshold is tried: the threshold is kept then."""
    missed = [one for one in limits_of(_record(tmp_path / "one")) if one.use and not one.met]
    assert missed
    for place, limit in enumerate(missed):
        after = limits_of(_record(tmp_path / str(place), **limit.change))
        assert next(one for one in after if one.asks == limit.asks).met


@pytest.mark.slow
def test_advice_starts_from_the_parameters_that_the_release_has(tmp_path: Path) -> None:
    """A release with t = 0.3 is not told to take t = 0.3, nor to forget its distance."""
    made = _record(tmp_path / "one", t=Decimal("0.3"))
    method = made.release["method"]
    assert method["t"] == 0.3
    ordered = {"value": 0.3, "distance": "ordered"}
    unlisted = {key: value for key, value in method.items() if key != "t"}
    for one, smaller in (
        (method, 0.15),
        (unlisted, 0.15),
        ({**method, "t": ordered}, {**ordered, "value": 0.15}),
    ):
        release = {**made.release, "method": one}
        skewed = attack("skewness", 1.0, 0.01)
        (limit,) = limits_of(replace(made, release=release, attacks=(skewed,)))
        assert limit.change == {"t": smaller}
        assert "t = 0.15 in place of 0.3" in limit.remedy
    assert "k = 3, t = 0.3, algorithm" in render_study(made)


@pytest.mark.slow
def test_what_is_met_has_no_remedy_and_what_is_not_has_one(tmp_path: Path) -> None:
    """In JSON, too, with the parameters of the method where they are those of its promise."""
    for one in limits_document(limits_of(_record(tmp_path / "one", l=2))):
        assert (one["remedy"] is None) == one["met"]
        assert one["met"] or one["method"]
    plain = limits_document(limits_of(_record(tmp_path / "two")))
    (homogeneity,) = (one for one in plain if "homogeneity" in one["asks"])
    assert homogeneity["met"] or "l = 2" in homogeneity["remedy"]


@pytest.mark.slow
def test_the_report_begins_with_the_verdict(tmp_path: Path) -> None:
    """Before anything else that is said: the worst risk, and what would meet a threshold."""
    pytest.importorskip("jinja2")
    page = render_study(_record(tmp_path / "one"))
    assert page.index("Re-identification risk of the person who is worst off") < page.index(
        'id="published"'
    )
    assert "k = 11" in page[: page.index('id="published"')]


@pytest.mark.parametrize(
    ("worst", "kept"), [(1 / 3, (0.33,)), (1 / 11, (0.33, 0.2, 0.09)), (1, ())]
)
def test_thresholds_are_figures_of_two_decimals(worst: float, kept: tuple[float, ...]) -> None:
    """A group of 11 keeps .09, as practice counts it."""
    assert met_thresholds(worst) == kept


@pytest.mark.parametrize(("limit", "persons"), [(0.33, 3), (0.2, 5), (0.09, 11), (0.05, 20)])
def test_a_threshold_is_one_in_its_group_for_policies_verdicts_and_remedies(
    limit: float, persons: int
) -> None:
    """The group that a verdict takes for enough is enough for a policy; one person fewer is not."""
    asked = AttackRate(name="prosecutor", figure="worst", most=Decimal(str(limit)))
    assert limit in met_thresholds(1 / persons)
    assert limit not in met_thresholds(1 / (persons - 1))
    assert 1 / persons <= asked.limit < 1 / (persons - 1)
    asks, subject = "the attack prosecutor finds nobody", "prosecutor"
    unmet = Ruling("attack", asks, False, "", value=1.0, limit=asked.limit, subject=subject)
    assert [one.text for one in remedies(unmet, {"k": 2})] == [f"k = {persons}"]
