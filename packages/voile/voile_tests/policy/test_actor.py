"""Policies for a recipient, the worst of several sets of what others know, and waivers by name."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from voile.policy.checking import Verdict
from voile.policy.stated import StatedPolicy
from voile_tests.audit.tables import marginals
from voile_tests.policy.cases import ORIGINAL, audited, policy, tick_all, voile

FOR_RECIPIENTS = ["public-release", "registered-researchers", "secure-room"]


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit of columns drawn by themselves."""
    return audited(tmp_path_factory.mktemp("synthetic"), marginals(ORIGINAL, 3))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit of an untouched copy."""
    return audited(tmp_path_factory.mktemp("copied"))


def _rulings(folder: Path, stated: Path | str) -> dict[str, list[dict[str, object]]]:
    found = voile("check", folder, "--policy", stated, "--json")
    document = json.loads(found.stdout)
    kinds = {one["kind"] for one in document["rulings"]}
    return {kind: [one for one in document["rulings"] if one["kind"] == kind] for kind in kinds}


@pytest.mark.parametrize("name", FOR_RECIPIENTS)
def test_templates_for_recipients_limit_the_few_and_say_what_a_lawyer_decides(name: str) -> None:
    """Each has a recipient, sources, and limits on the worst-off, small groups and membership."""
    stated = StatedPolicy.read(name).policy
    assert stated.recipient is not None
    assert stated.legal_questions
    kinds = {each.kind for each in stated.criteria}
    assert {"worst-off", "re-identification", "copies", "group-size", "risk"} <= kinds
    assert "group disclosure" in {getattr(each, "name", "") for each in stated.criteria}


def test_the_stricter_the_setting_the_lower_each_limit() -> None:
    """Public release asks no less than registered researchers do, and these no less than a room."""
    limits = [
        {(one.kind, getattr(one, "name", "")): one.most
         for one in StatedPolicy.read(name).policy.criteria
         if hasattr(one, "most")}
        for name in FOR_RECIPIENTS
    ]  # fmt: skip
    for strict, loose in pairwise(limits):
        assert all(strict[each] <= loose[each] for each in strict)


def test_what_a_policy_says_of_the_recipient_is_asked_of_humans_and_shown(synthetic: Path) -> None:
    """Unticked it fails; the lawyer's questions stand beside the verdict."""
    asked = _rulings(synthetic, "secure-room")["recipient"]
    assert not any(one["passed"] for one in asked)
    tick_all(synthetic)
    assert all(one["passed"] for one in _rulings(synthetic, "secure-room")["recipient"])
    shown = voile("check", synthetic, "--policy", "secure-room").output
    assert "A lawyer must still decide: whether the data" in shown


@pytest.mark.slow
def test_the_worst_of_what_others_know_counts_and_is_named(copied: Path, tmp_path: Path) -> None:
    """An employer who knows hours and schools finds nearly everybody of an untouched copy."""
    stated = policy(tmp_path, 'kind = "re-identification"\nmost = 0.2')
    (ruling,) = _rulings(copied, stated)["re-identification"]
    assert not ruling["passed"]
    assert "knows" in str(ruling["why"]) or "employer" in str(ruling["why"])
    document = json.loads((copied / "audit.json").read_text())
    sets = [one for one in document["risks"] if one["risk"] == "re-identification"]
    plausible = [one for one in sets if not one["of"].startswith("whoever knows the worst")]
    assert ruling["value"] == max(one["main"]["value"] for one in plausible)
    assert len(sets) == len(plausible) + 3


def test_rows_of_nobody_are_judged_by_who_stands_in_them(synthetic: Path, tmp_path: Path) -> None:
    """Re-identification does not apply; at few mistakes nobody is told of columns drawn alone."""
    worst = 'kind = "worst-off"\nfalse_positives = 0.01\nmost = 0.1'
    found = _rulings(synthetic, policy(tmp_path, 'kind = "re-identification"\nmost = 0', worst))
    assert "does not apply" in str(found["re-identification"][0]["why"])
    assert found["worst-off"][0]["passed"]
    other = policy(tmp_path, 'kind = "worst-off"\nfalse_positives = 0.05\nmost = 0.05')
    (ruling,) = _rulings(synthetic, other)["worst-off"]
    assert not ruling["passed"]
    assert "counted at 0.01, 0.001" in str(ruling["why"])


def _waive(folder: Path, criterion: str) -> None:
    path = folder / "assumptions.toml"
    text = path.read_text() if path.is_file() else ""
    path.write_text(
        f'{text}\n[[waiver]]\ncriterion = "{criterion}"\nreason = "the board said so"\nby = "Ana"\n'
    )


@pytest.mark.slow
def test_what_was_not_assessed_passes_by_name_and_reason_alone(tmp_path: Path) -> None:
    """The waiver stands in the verdict and on the public dossier; a figure cannot be waived."""
    folder = audited(tmp_path, marginals(ORIGINAL, 3))
    missed = 'kind = "utility"\nmeasure = "nothing"\nleast = 1'
    stated = policy(tmp_path, missed, 'kind = "group-size"\nleast = 300')
    assert voile("check", folder, "--policy", stated).exit_code == 4
    asks = "the measure nothing is at least 1"
    _waive(folder, asks)
    found = _rulings(folder, stated)
    assert found["utility"][0]["passed"]
    assert found["utility"][0]["waived"] == "waived by Ana: the board said so"
    size = str(found["group-size"][0]["asks"])
    _waive(folder, size)
    assert not _rulings(folder, stated)["group-size"][0]["passed"]
    stated = policy(tmp_path, missed)
    passed = voile("check", folder, "--policy", stated)
    assert passed.exit_code == 0, passed.output
    assert "Not assessed, waived by Ana: the board said so" in passed.output
    assert Verdict.read(folder / "verdict.json").rulings[-1].told == "waived"
    drawn = voile("dossier", folder, "--public", "--out", tmp_path / "public.html")
    assert drawn.exit_code == 0, drawn.output
    assert "waived by Ana: the board said so" in (tmp_path / "public.html").read_text()


@pytest.mark.slow
def test_a_waiver_without_a_reason_is_refused(tmp_path: Path) -> None:
    """It names the file and the key."""
    folder = audited(tmp_path, marginals(ORIGINAL, 3))
    (folder / "assumptions.toml").write_text('[[waiver]]\ncriterion = "x"\nby = "Ana"\n')
    found = voile("check", folder, "--policy", policy(tmp_path, 'kind = "assumptions"'))
    assert found.exit_code == 2
    assert "reason" in str(found.exception)
