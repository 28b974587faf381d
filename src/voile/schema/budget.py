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

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, get_args

from voile.errors import PlanError, nearest
from voile.schema.keys import known_keys, number

__all__ = ["BudgetPlan"]

_Neighbours = Literal["add-remove", "replace", "vehicle"]


@dataclass(frozen=True)
class BudgetPlan:
    """The limit of one data set, for all its releases; raises ``PlanError`` for what cannot be."""

    data_set: str
    epsilon: Decimal
    """At least 0; an ``int``, a ``float`` or a decimal text will do."""
    delta: Decimal = Decimal(0)
    """At least 0 and below 1."""
    neighbours: _Neighbours = "add-remove"
    """Whether the limit is about one row or vehicle more or less, or about one row replaced."""

    def __post_init__(self) -> None:
        if not isinstance(self.data_set, str) or not self.data_set:
            msg = 'data_set must be a text, the name of the data, for example "parcels-2026"'
            raise PlanError(msg)
        epsilon, delta = (number(value, texts=True) for value in (self.epsilon, self.delta))
        if epsilon is None or epsilon < 0:
            msg = "epsilon must be a number of at least 0: what all releases together may spend"
            raise PlanError(msg)
        if delta is None or not 0 <= delta < 1:
            msg = "delta must be a number of at least 0 and below 1, for example 1e-5"
            raise PlanError(msg)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        allowed = get_args(_Neighbours)
        if self.neighbours not in allowed:
            hint = nearest(self.neighbours, allowed) if isinstance(self.neighbours, str) else ""
            msg = f"neighbours must be one of {', '.join(map(repr, allowed))}{hint}"
            raise PlanError(msg)

    def __str__(self) -> str:
        return (
            f"epsilon = {self.epsilon:f}, delta = {self.delta.normalize()}, "
            f"neighbours = {self.neighbours!r}"
        )

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> BudgetPlan:
        """The limit that a plan's ``[budget]`` states; raises ``PlanError`` naming the key."""
        known_keys("[budget]", table, [field.name for field in fields(cls)])
        for key in ("data_set", "epsilon"):
            if key not in table:
                msg = f"[budget] needs {key}"
                raise PlanError(msg)
        try:
            return cls(**table)
        except PlanError as error:
            msg = f"[budget] {error}"
            raise PlanError(msg) from None

    def document(self) -> dict[str, str]:
        """The limit as the ledger keeps it beside the name; numbers as decimal texts."""
        return {
            "epsilon": format(self.epsilon, "f"),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
        }
