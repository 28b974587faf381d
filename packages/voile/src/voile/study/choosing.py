"""How a plan's method chooses groups, for an adversary who knows it (``attack.minimality``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from voile.attack.worlds import GroupChoice
from voile.publish.registry import publisher_for
from voile.schema.plan import Plan
from voile.table.engines import AUTO
from voile.table.opening import open_frame
from voile.table.protocol import Engine

__all__ = ["chooser"]


def chooser(plan: Plan, engine: Engine | str = AUTO) -> Callable[[Any], GroupChoice] | None:
    """What gives the groups that a plan's method chooses for a data frame; None where none does.

    That raises ``VoileError`` as publishing does.  Raises ``PlanError`` for a wrong method.
    """
    if plan.method is None:
        return None
    choose = getattr(publisher_for(plan), "chosen_groups", None)
    if choose is None:
        return None

    def chosen(original: Any) -> GroupChoice:
        found: GroupChoice = choose(open_frame(original, plan, engine=engine))
        return found

    return chosen
