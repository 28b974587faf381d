"""The ``[budget]`` table of a plan: what all releases of one data set together may spend.

    [budget]
    data_set   = "parcels-2026"     # the name under which the ledger adds up
    epsilon    = 3
    delta      = 1e-5
    neighbours = "add-remove"       # or "replace", or for flows "vehicle"

A limit is a custodian's decision about people, not about one release: the ledger keeps it from
its first use, and refuses a plan that would change it.  ``epsilon = 0`` is a data set for methods
that spend nothing; its name is then only that of the pool in which rows wait for company.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from voile.errors import PlanError
from voile.values.value import ExactOrText, Says, checked

__all__ = ["BudgetPlan"]


@checked(PlanError)
@dataclass(frozen=True)
class BudgetPlan:
    """The limit of one data set, for all its releases; raises ``PlanError`` for what cannot be."""

    data_set: Annotated[
        str,
        Field(min_length=1),
        Says('a text, the name of the data, for example "parcels-2026"'),
    ]
    epsilon: Annotated[
        ExactOrText,
        Field(ge=0),
        Says("a number of at least 0: what all releases together may spend"),
    ]
    delta: Annotated[
        ExactOrText,
        Field(ge=0, lt=1),
        Says("a number of at least 0 and below 1, for example 1e-5"),
    ] = Decimal(0)
    neighbours: Literal["add-remove", "replace", "vehicle"] = "add-remove"
    """Whether the limit is about one row or vehicle more or less, or about one row replaced."""

    def __str__(self) -> str:
        return (
            f"epsilon = {self.epsilon:f}, delta = {self.delta.normalize()}, "
            f"neighbours = {self.neighbours!r}"
        )

    def document(self) -> dict[str, str]:
        """The limit as the ledger keeps it beside the name; numbers as decimal texts."""
        return {
            "epsilon": format(self.epsilon, "f"),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
        }
