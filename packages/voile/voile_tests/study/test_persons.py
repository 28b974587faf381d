"""Studies of tables whose persons have several rows: who is counted, held out and looked for."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from voile.report.grid import study_summary
from voile.report.html import render_study
from voile.schema.plan import parse_plan
from voile.study.documents import record_document, record_of_document
from voile.study.rehearsal import hold_rows_out
from voile.study.single import run_study
from voile_base.randomness import Randomness
from voile_tests.attack.small_releases import words

VISITS = pl.DataFrame(
    {
        "who": words("who", 400) % 130,
        "age": (18 + words("age", 400) % 40).astype(int),
        "ill": [f"i{number}" for number in (words("who", 400) % 130 % 5).tolist()],
    }
)
"""Of 130 persons or somewhat fewer, whose illness is the same in all of their rows."""
PLAN = {
    "roles": {"person": "who", "quasi_identifiers": ["age"], "sensitive": ["ill"]},
    "columns": {"age": {"bounds": [18, 57], "intervals": {"origin": 18, "widths": [10, 40]}}},
    "method": {"name": "generalization", "k": 5, "algorithm": "flash"},
}


@pytest.fixture(scope="module")
def study():
    """A study of the visits."""
    attacks = ["prosecutor", "homogeneity", "intersection", "membership"]
    return run_study(VISITS, parse_plan(PLAN), seed=1, attacks=attacks, targets=50)


@pytest.mark.slow
def test_evidence_counts_persons_and_rows(study):
    """The record and the report say how many persons stand in how many rows."""
    persons = VISITS["who"].n_unique()
    said = study.publication
    assert (said["protected"], said["units_in"], said["units_out"]) == ("person", persons, persons)
    assert (
        f"400 of 400 rows, of {persons} of {persons} persons, were published"
        in (study_summary(study)[0])
    )
    html = render_study(study)
    assert "persons of the original" in html
    assert record_of_document(record_document(study)).publication == said


@pytest.mark.slow
def test_the_prosecutor_of_a_report_is_recounted(study):
    """By hand: one over the persons of each group; the mean over rows, and then over persons."""
    (found,) = (one for one in study.attacks if one["attack"] == "prosecutor")
    width = {0: 1, 1: 10, 2: 40, 3: 100}[study.release["method"]["decision"]["levels"]["age"]]
    groups: dict[int, set[int]] = {}
    for who, age, _ in VISITS.iter_rows():
        groups.setdefault((age - 18) // width, set()).add(who)
    risks: dict[int, list[Fraction]] = {}
    for who, age, _ in VISITS.iter_rows():
        risks.setdefault(who, []).append(Fraction(1, len(groups[(age - 18) // width])))
    mean = sum(sum(each) / len(each) for each in risks.values()) / len(risks)
    assert found["success"] == {"value": float(mean), "low": float(mean), "high": float(mean)}
    assert found["worst"]["probability"] == float(max(max(each) for each in risks.values()))
    assert (found["exact"], found["aimed_at"]) == (True, "person")
    assert found["targets"] == found["drawn_from"] == len(risks)
    assert f"all {len(risks)} persons" in render_study(study)


def test_the_adversary_who_knows_all_rows_finds_more(study):
    """The illness stays the same, so that several groups leave less of it than one."""
    found = {one["attack"]: one for one in study.attacks}
    one, every = found["homogeneity"], found["intersection"]
    assert (one["known_rows"], every["known_rows"]) == ("one", "all")
    assert one["aimed_at"] == every["aimed_at"] == "person"
    assert every["targets"] == 50
    rows = VISITS["who"].value_counts()["count"]
    assert every["drawn_from"] == (rows > 1).sum()


def test_whole_persons_are_held_out(study):
    """No person has rows on both sides: who is absent is absent with all rows."""
    rows = hold_rows_out(VISITS, 0.2, Randomness.seeded(1), "who")
    assert not set(rows.kept["who"]) & set(rows.held_out["who"])
    assert rows.held_out["who"].n_unique() == round(0.2 * VISITS["who"].n_unique())
    (membership,) = (one for one in study.attacks if one["attack"] == "membership")
    assert membership["aimed_at"] == "person"


@pytest.mark.slow
def test_figures_in_closed_form_are_of_the_release_itself():
    """Groups that overlap are no reason to look at fewer rows, and the report says at which."""
    rows = [(who, "a") for who in range(6)] + [(6 + who, "c") for who in range(6)]
    rows += [(12, "d"), (13, "e"), (12, "d")]
    plan = parse_plan(
        {
            "roles": {"person": "who", "quasi_identifiers": ["town"]},
            "columns": {"town": {"tree": {"north": ["a", "b"], "south": ["c", "d", "e"]}}},
            "method": {"name": "generalization", "k": 2},
        }
    )
    frame = pl.DataFrame(rows, ["who", "town"], orient="row")
    record = run_study(frame, plan, seed=1, attacks=["prosecutor", "journalist", "marketer"])
    assert record.evidence["rehearsed"] == []
    found = {one["attack"]: one for one in record.attacks}
    # c fits its own group and that of d and e, called south: 8 persons; d and e fit south alone.
    mean = (6 * Fraction(1, 6) + 6 * Fraction(1, 8) + 2 * Fraction(1, 2)) / 14
    assert found["prosecutor"]["success"]["value"] == float(mean)
    assert found["prosecutor"]["worst"]["probability"] == 0.5
    # The row called south may be of 8 persons of the table, of whom 2 stand there.
    mean = (12 * Fraction(1, 6) + 2 * Fraction(1, 8)) / 14
    assert found["journalist"]["success"]["value"] == float(mean)
    assert all(one["exact"] and one["targets"] == 14 for one in record.attacks)
    assert "measured on this release itself, on all of its rows" in render_study(record)
