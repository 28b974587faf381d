"""What a generalization is asked to satisfy: the parameters k, l and t, and their criteria.

``l`` is a whole number (distinct), or a table ``{ value, kind, c }``; ``t`` a number (equal), or a
table ``{ value, distance }``.  They hold for every sensitive column by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from voile.errors import PlanError
from voile.models.criteria import Criterion
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from voile.release import claims
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import exact_decimal
from voile.schema.plan import ColumnPlan, Plan
from voile.values.value import KeptAs, checked

__all__ = ["AskedCloseness", "AskedDiversity", "Closeness", "Diversity", "Kind"]

Kind = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]

_ORDERED = ("number", "date", "datetime", "time", "duration", "boolean")
"""Kinds of values whose order means something."""


@checked(PlanError)
@dataclass(frozen=True)
class Diversity:
    """How diverse each sensitive column is within a group; see ``models.l_diversity``."""

    value: int | Decimal | float | str
    kind: Kind = "distinct"
    c: int | Decimal | float | str | None = None
    """Of the recursive kind alone."""

    def __post_init__(self) -> None:
        if (self.c is None) == (self.kind == "recursive"):
            msg = (
                'l needs c where kind = "recursive", for example '
                '{ value = 3, kind = "recursive", c = 2 }, and nowhere else'
            )
            raise PlanError(msg)
        self.criterion("any")

    def criterion(self, column: str) -> Criterion:
        """The criterion for one sensitive column."""
        match self.kind:
            case "distinct":
                return DistinctDiversity(self.value, column)  # type: ignore[arg-type]
            case "entropy":
                return EntropyDiversity(self.value, column)
            case "recursive":
                assert self.c is not None
                return RecursiveDiversity(self.value, self.c, column)  # type: ignore[arg-type]

    def claim(self, columns: Sequence[str]) -> claims.Diversity:
        """The same as a release claims it of these columns."""
        return claims.Diversity(
            value=exact_decimal(self.value),
            kind=self.kind,
            c=None if self.c is None else exact_decimal(self.c),
            columns=tuple(columns),
        )

    @property
    def words(self) -> str:
        """What holds of the values of a column in a group."""
        match self.kind:
            case "distinct":
                return f"number at least {self.value} different ones"
            case "entropy":
                return f"are as uncertain as {self.value} equally frequent ones (by entropy)"
            case "recursive":
                return (
                    f"are recursively ({self.c}, {self.value})-diverse: the most frequent one has "
                    f"fewer than {self.c} times the rows of all but the {_first(self.value)} most "
                    "frequent ones"
                )


@checked(PlanError)
@dataclass(frozen=True)
class Closeness:
    """How close each sensitive column within a group is to all rows; see ``models.t_closeness``."""

    value: int | Decimal | float | str
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        EqualCloseness(self.value, "any")

    def criterion(self, column: str, values: DistinctValues, plan: Plan) -> Criterion:
        """The criterion for one sensitive column; raises ``PlanError`` where it has no distance."""
        match self.distance:
            case "equal":
                return EqualCloseness(self.value, column)
            case "ordered":
                if values.kind not in _ORDERED and len(values) > values.missing:
                    msg = (
                        f'[method] t: distance = "ordered" is one of numbers, dates and times, and '
                        f"column {column!r} holds values of kind {values.kind!r}; choose "
                        '"hierarchical" or "equal"'
                    )
                    raise PlanError(msg)
                return OrderedCloseness(self.value, column)
            case "hierarchical":
                declared = plan.columns.get(column, ColumnPlan())
                if declared.hierarchy is None:
                    msg = (
                        f'[method] t: distance = "hierarchical" needs a hierarchy of column '
                        f"{column!r}; declare one in [columns.{column}], or choose another distance"
                    )
                    raise PlanError(msg)
                hierarchy = declared.bind_hierarchy(column, values)
                return HierarchicalCloseness(self.value, column, hierarchy)

    def claim(self, columns: Sequence[str]) -> claims.Closeness:
        """The same as a release claims it of these columns."""
        return claims.Closeness(
            value=exact_decimal(self.value), kind=self.distance, columns=tuple(columns)
        )

    @property
    def words(self) -> str:
        """What holds of the values of a column in a group."""
        return (
            f"are distributed within {self.distance} distance {self.value} of those of all rows "
            "of the private table, left out ones included"
        )


def _as_table(parameter: object) -> object:
    """A value by itself is a table with a value."""
    whole = isinstance(parameter, Mapping | Diversity | Closeness)
    return parameter if whole else {"value": parameter}


AskedDiversity = Annotated[
    Diversity | Mapping[str, Any] | int,
    KeptAs(
        Annotated[Diversity, BeforeValidator(_as_table, json_schema_input_type=Diversity | int)]
    ),
]
"""The parameter ``l``: a whole number, or a table."""
AskedCloseness = Annotated[
    Closeness | Mapping[str, Any] | Decimal | float,
    KeptAs(
        Annotated[Closeness, BeforeValidator(_as_table, json_schema_input_type=Closeness | float)]
    ),
]
"""The parameter ``t``: a number, or a table."""


def _first(l_value: object) -> str:
    assert isinstance(l_value, int)
    return str(l_value - 1)
