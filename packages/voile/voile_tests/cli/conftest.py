"""People, a plan for them, and how to publish them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from voile_testing.plugin import PLAN, ROWS


@pytest.fixture
def rows() -> tuple[tuple[object, ...], ...]:
    """Ten people, one of whom has the values of ``desk.secrets``."""
    return ROWS


@pytest.fixture
def plan_text() -> str:
    """A plan for the people."""
    return PLAN


@pytest.fixture
def order(desk, plan_text) -> Callable[[str], list[str]]:
    """The arguments that publish the people in a series at a place of this name."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    table, ledger = desk.csv(), desk / "ledger.db"
    return lambda out: [
        *("publish", str(table), "--plan", str(plan)),
        *("--out", str(desk / out), "--ledger", str(ledger)),
    ]
