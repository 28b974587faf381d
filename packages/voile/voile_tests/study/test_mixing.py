"""Evidence about a method that nobody here knows is that about the same method by another name."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import pytest

import voile
from voile.release.recounting import Recount
from voile.schema.plan import Plan, parse_plan
from voile.study.record import StudyRecord
from voile.study.run import make_release
from voile_base.errors import RefusedError
from voile_tests.attack.small_releases import PEOPLE
from voile_tests.installed import others_installed


def plan_of(name: str) -> Plan:
    """A method permutes ages within groups of one disease."""
    document = {
        "roles": {"quasi_identifiers": ["age", "sex"], "sensitive": ["disease"]},
        "method": {"name": name, "columns": ["age"]},
    }
    return parse_plan(document)


def studied(name: str, seed: int) -> StudyRecord:
    """A study of that."""
    people = PEOPLE.drop("id", "salary")
    return voile.run_study(people, plan_of(name), seed=seed, targets=240)


def test_words_that_no_recipient_could_recount_are_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method whose claim does not state its sentences is refused, and nothing is left behind."""
    with others_installed():
        out = tmp_path / "good"
        make_release(PEOPLE.drop("id", "salary"), plan_of("mixing"), out)
        assert Recount.of(out).refusal() is None
        mixed = importlib.import_module("plain_others.method").Mixed
        monkeypatch.setattr(mixed, "wording", {**mixed.wording, "says": ["columns are kept"]})
        with pytest.raises(RefusedError, match="its statement says what does not follow"):
            make_release(PEOPLE.drop("id", "salary"), plan_of("mixing"), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


@pytest.mark.slow
def test_a_method_of_somebody_else_gets_the_evidence_of_what_it_does():
    """Every attack's rate lies within chance of that for M-Shuffle, with draws of its own.

    Five standard errors of a rate of the people there are.
    """
    with others_installed():
        other, own = studied("mixing", seed=2), studied("m-shuffle", seed=1)
    rates = {found["attack"]: found["success"] for found in own.attacks}
    assert "row-tracing" in rates
    assert [found["attack"] for found in other.attacks] == list(rates)
    for found in other.attacks:
        rate = rates[found["attack"]]["value"]
        chance = 5 * math.sqrt(max(rate * (1 - rate), 1 / PEOPLE.height) / PEOPLE.height)
        assert abs(found["success"]["value"] - rate) <= chance, found["attack"]
    assert other.attacks_skipped == own.attacks_skipped
    assert other.utility_skipped == own.utility_skipped


@pytest.mark.slow
def test_the_same_draws_give_the_same_evidence():
    """Nothing in the evidence follows from the name of the method."""
    with others_installed():
        other, own = studied("mixing", seed=1), studied("m-shuffle", seed=1)
    assert other.attacks == own.attacks
    assert [one["value"] for one in other.utility] == pytest.approx(
        [one["value"] for one in own.utility]
    )
