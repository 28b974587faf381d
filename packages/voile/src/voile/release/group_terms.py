"""What can be promised of groups of rows: k, l, t and further criteria, as releases state it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from voile_base.values.value import Exact, Value

__all__ = ["Chance", "GroupTerms", "Least", "StatedCloseness", "StatedDiversity"]

Least = Annotated[int, Field(ge=1)]
Chance = Annotated[Exact, Field(ge=0, le=1)]


class StatedDiversity(Value):
    """How diverse sensitive columns are within a group; see ``models.l_diversity``."""

    value: Exact
    kind: Literal["distinct", "entropy", "recursive"]
    c: Exact | None = None
    """Of the recursive kind."""
    columns: tuple[str, ...]


class StatedCloseness(Value):
    """How close sensitive columns within a group are to all rows; see ``models.t_closeness``."""

    value: Chance
    kind: Literal["equal", "ordered", "hierarchical"]
    columns: tuple[str, ...]


class GroupTerms(Value):
    """What is promised of every group."""

    shared: ClassVar[tuple[str, ...]] = ("quasi_identifiers",)
    """Roles of the columns in which the rows of a group agree."""
    k: Least
    unit: Literal["person", "household"] | None = None
    """Who is counted, where they may have several rows; None: each row is another person."""
    l: StatedDiversity | None = None  # noqa: E741 - the name that all know
    t: StatedCloseness | None = None
    criteria: tuple[Mapping[str, Any], ...] | None = None
    """Further criteria, each with its ``name``, its ``column`` and its parameters."""
    suppression_limit: Chance | None = None
    """Largest share of the rows that may have been left out; None: none was."""
