"""Criteria by the names that plans give them: ``criteria = [{ name = "l-diversity", ... }]``.

Another package adds a criterion by an entry point of the group ``voile.criteria``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from voile.models.criteria import StatedCriterion
from voile_base.errors import PlanError
from voile_base.registry import Registry

__all__ = ["CRITERIA", "criterion_of"]

CRITERIA: Registry[StatedCriterion] = Registry(
    group="voile.criteria",
    what="a criterion",
    own={
        "l-diversity": "voile.models.l_diversity:LDiversity",
        "t-closeness": "voile.models.t_closeness:TCloseness",
    },
    offers=("name", "of_all_rows", "criterion", "words", "document"),
    error=PlanError,
)


def criterion_of(table: Mapping[str, Any]) -> StatedCriterion:
    """The criterion that a table with its name and its parameters states; raises ``PlanError``."""
    parameters = dict(table)
    name = parameters.pop("name", None)
    if not isinstance(name, str):
        msg = (
            'a criterion needs a name, such as { name = "l-diversity", column = "illness", l = 3 } '
            f"(known: {', '.join(CRITERIA.names)})"
        )
        raise PlanError(msg)
    return CRITERIA.make(name, parameters)
