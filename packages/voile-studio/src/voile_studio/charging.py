"""What publishing will cost the ledger, told before it is spent."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from voile.ledger import Ledger
from voile.schema.budget import BudgetPlan
from voile.schema.plan import Plan
from voile_studio.project import Project

__all__ = ["charge_told"]


def charge_told(project: Project, plan: Plan) -> str:
    """A sentence without its subject, the ledger; raises ``LedgerError`` for a broken one."""
    assert plan.method is not None, "a plan that can be used has a method"
    parameters = plan.method.parameters
    if plan.budget is not None:
        return _of_budget(project, plan.budget, _number(parameters.get("epsilon")))
    if series := parameters.get("series"):
        return f"takes up this release into the series {series!r}, {_before(project, str(series))}"
    if "epsilon" in parameters or "epsilon_choice" in parameters:
        return (
            "is not charged: the plan has no [budget], so nobody counts what releases of these "
            "people spend together"
        )
    return "is not charged: this method spends no budget, and the plan has no series"


def _of_budget(project: Project, limit: BudgetPlan, price: Decimal | None) -> str:
    state = Ledger(project.ledger).budget(limit.data_set) if project.ledger.is_file() else None
    spent, left = (state.spent, state.left) if state else (Decimal(0), limit.epsilon)
    account = f"so far {spent.normalize():f} of epsilon = {limit.epsilon:f} is spent"
    name = f"the data set {limit.data_set!r}"
    if price is None:
        return f"is charged for {name} by what the method spends; {account}"
    told = f"is charged epsilon = {price:f} for {name}, whatever comes of the draw; {account}"
    if price > left:
        told += f", and {left.normalize():f} is left: publishing will be refused"
    return told


def _before(project: Project, series: str) -> str:
    known = Ledger(project.ledger).series() if project.ledger.is_file() else []
    mine = next((one for one in known if one.terms.name == series), None)
    if mine is None or not mine.versions:
        return "as its first"
    after = f"after {len(mine.versions)}"
    return after if mine.unsettled is None else f"{after}, the newest of which is not settled yet"


def _number(value: object) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None
