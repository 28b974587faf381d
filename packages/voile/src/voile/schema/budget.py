"""The ``[budget]`` table of a plan: what all releases of one data set together may spend.

    [budget]
    data_set   = "parcels-2026"     # the name under which the ledger adds up
    epsilon    = 3
    delta      = 1e-5
    neighbours = "add-remove"       # or "replace"; of persons "person", "replace-person", ...

A limit is a custodian's decision about people, not about one release: the ledger keeps it from
its first use, and refuses a plan that would change it.  ``epsilon = 0`` is a data set for methods
that spend nothing; its name is then only that of the pool in which rows wait for company.

A limit about persons holds for a person with all its rows, however many these are and however many
of them take part in each release (``rows_per_person``): what a release spends is said for a person,
so releases of different ``rows_per_person`` add up as they are.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, get_args

from pydantic import Field

from voile.schema.roles import Protected
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values.value import ExactOrText, Says, checked

__all__ = ["BudgetPlan", "Change", "Neighbours", "neighbours_of", "terms_of"]

Neighbours = Literal[
    "add-remove",
    "replace",
    "vehicle",
    "person",
    "household",
    "replace-person",
    "replace-household",
]
"""Which data sets are neighbours: one row more or less, or one row replaced by another; one
vehicle, person or household more or less, with all its trips or rows; or all rows of one person or
household replaced by as many others."""

Change = Literal["add-remove", "replace"]
"""How neighbours differ: somebody is there or not, or is there with other values."""


def neighbours_of(change: Change, protected: Protected) -> Neighbours:
    """The relation in which one row, person or household comes and goes, or is replaced."""
    if protected == "row":
        return change
    if protected == "person":
        return "person" if change == "add-remove" else "replace-person"
    return "household" if change == "add-remove" else "replace-household"


def terms_of(neighbours: Neighbours) -> tuple[str, Change]:
    """Who comes and goes or is replaced, such as "row" or "vehicle", and which of both it is."""
    if neighbours in get_args(Change):
        return "row", "add-remove" if neighbours == "add-remove" else "replace"
    changed, _, of = neighbours.rpartition("-")
    return of, "replace" if changed else "add-remove"


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
    neighbours: Neighbours = "add-remove"
    """Whether the limit is about one row, vehicle, person or household more or less, or about one
    row, or all rows of one person or household, replaced by others."""

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
