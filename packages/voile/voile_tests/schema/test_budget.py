"""The ``[budget]`` table of a plan, and what it refuses."""

from __future__ import annotations

from decimal import Decimal

import pytest

from voile.schema.budget import BudgetPlan
from voile.schema.plan import read_plan
from voile_base.errors import PlanError

PLAN = '[roles]\n[method]\nname = "dp-generalization"\n[budget]\n'


def _read(tmp_path, budget: str) -> BudgetPlan:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + budget)
    plan = read_plan(path)
    assert plan.budget is not None
    return plan.budget


def test_whole_budget(tmp_path):
    """Numbers are read exactly as they are written."""
    text = 'data_set = "parcels"\nepsilon = 3\ndelta = 1e-5\nneighbours = "replace"'
    read = _read(tmp_path, text)
    assert read == BudgetPlan("parcels", Decimal(3), Decimal("0.00001"), "replace")
    assert str(read) == "epsilon = 3, delta = 0.00001, neighbours = 'replace'"
    assert _read(tmp_path, 'data_set = "p"\nepsilon = 0.1').epsilon == Decimal("0.1")


def test_defaults(tmp_path):
    """Without more, a limit is about rows added or removed, and has no delta."""
    assert _read(tmp_path, 'data_set = "parcels"\nepsilon = 0') == BudgetPlan(
        "parcels", Decimal(0), Decimal(0), "add-remove"
    )


def test_numbers_of_python():
    """A float means the decimal that it is written as."""
    assert BudgetPlan("parcels", 0.1, 1e-5) == BudgetPlan("parcels", "0.1", "0.00001")


@pytest.mark.parametrize(
    "limit",
    [
        BudgetPlan("parcels", "3.50", "1e-5", "replace"),
        BudgetPlan("parcels", "0"),
        BudgetPlan("parcels", "1e20", "1e-300"),
    ],
)
def test_document(limit):
    """What a ledger keeps of a limit makes the same limit."""
    assert BudgetPlan(data_set="parcels", **limit.document()) == limit


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("epsilon = 1", "needs 'data_set'"),
        ('data_set = "p"', "needs 'epsilon'"),
        ('data_set = ""\nepsilon = 1', "data_set must be a text"),
        ("data_set = 1\nepsilon = 1", "data_set must be a text"),
        ('data_set = "p"\nepsilon = -1', "epsilon must be a number of at least 0"),
        ('data_set = "p"\nepsilon = nan', "epsilon must be a number"),
        ('data_set = "p"\nepsilon = inf', "epsilon must be a number"),
        ('data_set = "p"\nepsilon = true', "epsilon must be a number"),
        ('data_set = "p"\nepsilon = 1e999', "epsilon must be a number"),
        ('data_set = "p"\nepsilon = [1]', "epsilon must be a number"),
        ('data_set = "p"\nepsilon = 1\ndelta = 1', "at least 0 and below 1"),
        ('data_set = "p"\nepsilon = 1\ndelta = -1e-9', "at least 0 and below 1"),
        ('data_set = "p"\nepsilon = 1\nneighbours = "replaced"', "did you mean 'replace'"),
        ('data_set = "p"\nepsilon = 1\nneighbors = "replace"', "did you mean 'neighbours'"),
    ],
)
def test_mistakes(tmp_path, budget, message):
    """Every mistake names the file, the table and the key."""
    with pytest.raises(PlanError) as caught:
        _read(tmp_path, budget)
    assert message in str(caught.value)
    assert "plan.toml: [budget]" in str(caught.value)


def test_no_table(tmp_path):
    """A budget that is no table is refused."""
    path = tmp_path / "plan.toml"
    path.write_text("budget = 3\n[roles]\n")
    with pytest.raises(PlanError, match=r"\[budget\] must be a table"):
        read_plan(path)
