"""The three risks of a study, counted on a rehearsal beside the rows that it left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import voile
from voile.audit.counting import risks_of_rehearsal
from voile.policy.case import Case
from voile.policy.checking import judge
from voile.policy.stated import StatedPolicy
from voile.study.evidence import EvidenceTerms, Instruments
from voile.study.record import REHEARSED, StudyRecord, rates_of
from voile.study.single import make_study
from voile_tests.audit.tables import people

ORIGINAL = people(900, 1)
PLAN = """
[roles]
person = "row"
quasi_identifiers = ["age", "sex", "town", "education", "hours"]
sensitive = ["income"]
[method]
name = "generalization"
k = 3
"""
POLICY = """
name = "three risks"
[[criteria]]
kind = "risk"
name = "singling out"
most = 0.9
[[criteria]]
kind = "risk"
name = "inference"
most = 0.9
"""


def _study(folder: Path, held_out: float = 0.3) -> StudyRecord:
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    terms = EvidenceTerms((), 200, held_out)
    chosen = Instruments.standard(["prosecutor"])
    instruments = replace(chosen, risks=risks_of_rehearsal, measures=())
    return make_study(
        ORIGINAL, folder / "plan.toml", folder / "study", terms=terms, instruments=instruments
    ).record


@pytest.mark.slow
def test_a_study_gives_a_policy_the_three_risks_beside_the_rows_that_were_held_out(
    tmp_path: Path,
) -> None:
    """Each has a control rate, says that it was rehearsed, and is ruled on by its figure.

    Re-identification needs no control: it is that of the release, as the prosecutor counts it.
    """
    record = _study(tmp_path)
    assert {one["risk"] for one in record.risks} == {
        "singling out", "linkability", "inference", "group disclosure", "re-identification",
    }  # fmt: skip
    beside = [one for one in record.risks if one["risk"] != "re-identification"]
    assert all(one["control"] is not None for one in beside)
    assert all(one["notes"][-1] == REHEARSED for one in beside)
    assert not any(REHEARSED in one["notes"] for one in record.risks if one not in beside)
    by_plan = next(one for one in record.risks if "knows the quasi-identifiers" in one["of"])
    prosecutor = rates_of(record.attacks[0])
    assert prosecutor is not None
    assert by_plan["main"]["value"] == pytest.approx(prosecutor.success)
    assert all("rows" not in one for one in beside), "rows of a rehearsal are none of the table"
    alone = next(one for one in record.risks if one["of"].endswith("worst column: income"))
    shown = ORIGINAL["income"].to_list()
    assert {shown.count(shown[row]) for row in alone["rows"]} == {round(1 / alone["worst"])}
    assert 0 < len(alone["rows"]) <= 10
    assert "three risks" in record.evidence["rehearsed"]
    verdict = judge(Case.open(tmp_path / "study"), StatedPolicy.of_text(POLICY, "policy.toml"))
    assert [one.told for one in verdict.rulings] == ["pass", "pass"]


def test_without_held_out_rows_nobody_is_a_control_and_the_record_says_so(tmp_path: Path) -> None:
    """Then no risk is counted, and a policy finds none."""
    record = _study(tmp_path, held_out=0)
    assert not record.risks
    assert record.risks_skipped[0].reason == "no rows were held out"
    verdict = judge(Case.open(tmp_path / "study"), StatedPolicy.of_text(POLICY, "policy.toml"))
    assert [one.told for one in verdict.rulings] == ["MISSING", "MISSING"]


@pytest.mark.slow
@pytest.mark.parametrize("risks", [True, False])
def test_the_release_under_study_is_the_same_whether_risks_are_counted_or_not(
    tmp_path: Path, *, risks: bool
) -> None:
    """Counting them draws by itself."""
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    instruments = replace(Instruments.standard(()), measures=())
    if risks:
        instruments = replace(instruments, risks=risks_of_rehearsal)
    made = make_study(
        ORIGINAL,
        tmp_path / "plan.toml",
        seed=7,
        terms=EvidenceTerms((), 50),
        instruments=instruments,
    )
    alone = voile.run_study(ORIGINAL, tmp_path / "plan.toml", seed=7, attacks=(), targets=50)
    assert made.record.fingerprint == alone.fingerprint
