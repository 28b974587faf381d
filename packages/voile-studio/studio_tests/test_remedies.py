"""What is not met of a policy says which change would meet it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("fastapi")

from voile.policy.case import Case, open_case
from voile.policy.checking import judge
from voile.policy.ruling import Ruling
from voile.policy.stated import read_policy, template_names
from voile.schema.plan import parse_plan
from voile.study.evidence import EvidenceTerms
from voile.study.single import make_study
from voile_studio.words import remedy_of

PEOPLE = pl.DataFrame(
    {
        "age": [20 + number % 40 for number in range(240)],
        "sex": ["f", "m"] * 120,
        "illness": ["flu", "gout", "none"] * 80,
    }
)


def studied(folder: Path, k: int) -> Case:
    """A study of a generalization with the prosecutor and the others who count groups."""
    plan = parse_plan(
        {
            "roles": {
                "person": "row",
                "quasi_identifiers": ["age", "sex"],
                "sensitive": ["illness"],
            },
            "columns": {"age": {"bounds": [0, 99]}},
            "method": {"name": "generalization", "k": k},
        }
    )
    terms = EvidenceTerms(("prosecutor", "journalist", "marketer"), held_out=0.2)
    make_study(PEOPLE, plan, folder, terms=terms)
    return open_case(folder)


def unmet(case: Case) -> list[Ruling]:
    """What the templates ask and the case lacks."""
    policies = [read_policy(name) for name in template_names()]
    return [one for each in policies for one in judge(case, each).rulings if not one.passed]


def test_following_the_remedies_of_groups_meets_every_template(tmp_path: Path) -> None:
    """The largest k that is named is enough for each criterion of groups in all templates."""
    before = unmet(studied(tmp_path / "one", k=3))
    told = {one.asks: remedy_of(asdict(one)) for one in before}
    assert all(told.values())
    counted = {"group-size", "attack"}
    named = [int(words.split("k = ")[1].split()[0]) for words in told.values() if "k = " in words]
    assert max(named) == 20
    after = unmet(studied(tmp_path / "two", k=max(named)))
    left = [one.asks for one in after if one.kind in counted and "membership" not in one.asks]
    assert left == []


def test_what_is_met_needs_no_remedy() -> None:
    """And what is measured and straddles its limit says so."""
    risk = Ruling("risk", "singling out", passed=True, why="", value=0.0, limit=0.1, side="most")
    assert not remedy_of(asdict(risk))
    near = Ruling(
        "risk",
        "inference",
        passed=False,
        why="",
        value=0.1,
        low=0,
        high=0.3,
        limit=0.2,
        side="most",
    )
    assert "its interval does not" in remedy_of(asdict(near))
    missing = Ruling(
        "risk", "inference", passed=False, why="inference was not counted: run", limit=0.2
    )
    assert "Publish again" in remedy_of(asdict(missing))
