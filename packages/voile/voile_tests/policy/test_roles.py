"""What outsiders know is a quasi-identifier, or a person says by name and reason why not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from voile.policy.case import Case
from voile.policy.criteria.identifiers import DeclaredRoles
from voile.policy.ruling import Ruling, Waiver
from voile.policy.stated import StatedPolicy
from voile.schema.plan import parse_plan
from voile.study.single import make_study
from voile_tests.policy.cases import voile
from voile_tests.release.makes import make, people


def _published(folder: Path, roles: str, method: str) -> Path:
    people(1).write_parquet(folder / "people.parquet")
    plan = f"[roles]\n{roles}\n[columns.age]\nbounds = [0, 99]\n[method]\n{method}\n"
    (folder / "plan.toml").write_text(plan)
    out = folder / "release"
    found = voile(
        "publish", folder / "people.parquet", "--plan", folder / "plan.toml", "--out", out
    )
    assert found.exit_code == 0, found.output
    return out


def _rulings(folder: Path) -> list[Ruling]:
    return list(DeclaredRoles().rulings(Case.open(folder), ()))


GROUPED = 'name = "generalization"\nalgorithm = "mondrian"\nk = 3'


def test_an_age_and_dates_that_are_called_sensitive_are_not_assessed(tmp_path: Path) -> None:
    """A plan that calls what others know sensitive meets no policy that asks for roles."""
    roles = 'quasi_identifiers = ["income"]\nsensitive = ["age", "illness"]'
    roles += '\nkeep = ["since"]\nkeep_unique = ["since"]'
    found = _rulings(_published(tmp_path, roles, GROUPED))
    assert [(one.columns, one.told) for one in found] == [
        (("age",), "MISSING"),
        (("since",), "MISSING"),
    ]
    assert found[0].asks == "column 'age', which holds an age or a birth, is a quasi-identifier"
    assert "calls it sensitive" in found[0].why
    assert "calls it kept as it is" in found[1].why
    waiver = Waiver(criterion=found[0].asks, reason="ages are those of trees", by="officer")
    assert waiver.of(found[0]).told == "waived"
    assert not waiver.of(found[1]).passed


def test_quasi_identifiers_and_what_nobody_knows_are_met(tmp_path: Path) -> None:
    """Ages, occupations and dates in their role are what the attacks assume."""
    (one,) = _rulings(make("generalization", tmp_path)[0])
    assert (one.told, one.columns) == ("pass", ())


def test_rows_of_noisy_counts_do_not_ask_for_roles(tmp_path: Path) -> None:
    """What is differentially private as a whole is as safe whatever a column is called."""
    (one,) = _rulings(make("dp-generalization", tmp_path)[0])
    assert one.passed


@pytest.mark.parametrize("template", ["ema", "hipaa-expert", "hipaa-safe-harbor"])
def test_shipped_policies_ask_for_roles(template: str) -> None:
    """The worst risk of a person follows the roles of the plan, so that these are a criterion."""
    kinds = [one.kind for one in StatedPolicy.read(template).policy.criteria]
    assert "roles" in kinds


@pytest.mark.slow
def test_quasi_identifiers_that_look_sensitive_are_confirmed_where_none_is_sensitive(
    tmp_path: Path,
) -> None:
    """Calling a diagnosis known leaves nothing to count: somebody says so by the column's name."""
    table = pl.DataFrame({"age": [30, 40] * 20, "diagnosis": ["flu", "gout"] * 20})
    roles = {"person": "row", "quasi_identifiers": ["age", "diagnosis"]}
    method = {"name": "generalization", "k": 5}
    make_study(table, parse_plan({"roles": roles, "method": method}), tmp_path / "all")
    assert [*Case.open(tmp_path / "all").unexamined.values()] == [("diagnosis",)]
    one = {**roles, "quasi_identifiers": ["age"], "sensitive": ["diagnosis"]}
    make_study(table, parse_plan({"roles": one, "method": method}), tmp_path / "one")
    assert not Case.open(tmp_path / "one").unexamined
