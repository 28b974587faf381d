"""What a release says of every column: the one value that all who read it dispatch on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from voile.disclosure.registry import SHOWN
from voile.disclosure.shown import ShownColumn
from voile_base.values.kinds import ByKind
from voile_base.values.value import Exact, Value

__all__ = ["Disclosure", "GroupNumbering", "Shown"]

Shown = Annotated[ShownColumn, ByKind(SHOWN)]
"""How a column is shown: one of the kinds of the registry."""


class GroupNumbering(Value):
    """The groups of rows that a release numbers."""

    column: str
    """The published column with the number of each row's group."""
    made: Literal["alike", "clusters", "blocks"]
    """What makes a group: rows that show the same in the columns ``by``; clusters, each of all rows
    of some combinations of values in them; blocks, each of a range of values, of which several may
    hold rows of one value."""
    by: Annotated[tuple[str, ...], Field(min_length=1)]
    """Columns of the table that decide the group of a row."""


class Disclosure(Value):
    """How each column of a table is shown by a release; all of it is public.

    Raises pydantic's ``ValidationError``, a ``ValueError``, where a published column would show two
    columns of the table, or values are permuted within groups that have no numbers.
    """

    columns: Mapping[str, Shown]
    """By name of the table's column, or of one that a method makes, in published order."""
    groups: GroupNumbering | None = None
    """None: rows have no numbers of groups."""
    sampled: Annotated[Exact, Field(gt=0, lt=1)] | None = None
    """The probability with which each row of the table was drawn to be published; None: 1."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        shown = self.published
        twice = sorted({name for name in shown if shown.count(name) > 1})
        if twice:
            msg = f"the published column {twice[0]!r} is stated to show several columns"
            raise ValueError(msg)
        if self.permuted and self.groups is None:
            msg = "columns are permuted within groups, and no groups are stated"
            raise ValueError(msg)
        return self

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of the release: the numbers of groups, then what shows each column."""
        groups = () if self.groups is None else (self.groups.column,)
        shown = (column for name in self.columns for column in self.columns_of(name))
        return (*groups, *shown)

    def columns_of(self, name: str) -> tuple[str, ...]:
        """The published columns that show a column of the table; none for one that it lacks."""
        shown = self.columns.get(name)
        return () if shown is None else shown.published(name)

    def owner(self, column: str) -> str | None:
        """The column of the table that a published column shows; None for numbers of groups."""
        return self._owners.get(column)

    @property
    def permuted(self) -> frozenset[str]:
        """The columns whose values were permuted within groups."""
        return frozenset(n for n, shown in self.columns.items() if shown.permuted)

    @property
    def made_up(self) -> float:
        """The share of rows that are nobody's, where most of them are; else 0."""
        return max((one.made_up for one in self.columns.values()), default=0.0)

    @property
    def probability(self) -> float:
        """The probability with which a row of the table is among those that were published from."""
        return 1.0 if self.sampled is None else float(self.sampled)

    def with_intervals_as_text(self) -> Self:
        """The same with each interval in one column of texts."""
        columns = {n: shown.with_intervals_as_text() for n, shown in self.columns.items()}
        return self.model_copy(update={"columns": columns})

    def without(self, names: Collection[str]) -> Self:
        """The same without some columns of the table."""
        columns = {name: shown for name, shown in self.columns.items() if name not in names}
        return self.model_copy(update={"columns": columns})

    @cached_property
    def _owners(self) -> dict[str, str]:
        return {column: name for name in self.columns for column in self.columns_of(name)}
