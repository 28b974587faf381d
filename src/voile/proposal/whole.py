"""What a whole table might be: who its persons are, which texts are missing values, what is open.

One column tells persons apart: of several that might, the one whose values stand in several rows,
and of those the one with the most values; the others are identifiers.  A repeated id of something
else, such as an order, is no person; whether a person is behind it is a question.

A text that stands for a missing value is declared for the whole plan.  One that is a value of its
own in another column, such as the N of "no", is not proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from voile.proposal.columns import ColumnProposal, propose_column, with_families
from voile.schema.names import Role, stems_of
from voile.table.summaries import ColumnDetails

__all__ = ["Proposal", "propose"]


@dataclass(frozen=True)
class Proposal:
    """What is proposed for a table."""

    columns: tuple[ColumnProposal, ...]
    marks: tuple[str, ...]
    """Texts that seem to stand for missing values."""
    missing: bool
    """Whether a column that would be published misses values."""

    def of_role(self, role: Role) -> tuple[ColumnProposal, ...]:
        """The columns of a role, in the order of the table."""
        return tuple(column for column in self.columns if column.role == role)

    @property
    def person(self) -> ColumnProposal | None:
        """The column that tells persons apart."""
        return next(iter(self.of_role("person")), None)

    @property
    def household(self) -> ColumnProposal | None:
        """The column that tells households apart."""
        return next(iter(self.of_role("household")), None)


def propose(details: Sequence[ColumnDetails]) -> Proposal:
    """A proposal for a table of some columns; a pure function."""
    stems = stems_of([each.profile.name for each in details])
    columns = with_families([propose_column(each, stems[each.profile.name]) for each in details])
    columns = _one_of(_one_of(columns, "person"), "household")
    marks = _marks(details)
    published = [column for column in columns if column.role in {"quasi", "sensitive"}]
    missing = any(column.details.profile.missing for column in published)
    return Proposal(tuple(columns), marks, missing)


def _one_of(columns: list[ColumnProposal], role: Role) -> list[ColumnProposal]:
    """The columns with one of that role, the others of it being identifiers."""
    said = [column for column in columns if column.role == role]
    if len(said) < 2:
        return columns
    best = max(said, key=lambda one: (one.several_rows, one.details.profile.distinct))
    why = f'an id; "{best.name}" tells {role}s apart'
    return [
        replace(one, role="identifier", why=why) if one in said and one is not best else one
        for one in columns
    ]


def _marks(details: Sequence[ColumnDetails]) -> tuple[str, ...]:
    """The texts that stand for missing values, without those that are values elsewhere."""
    marks = {each.mark for each in details if each.mark is not None}
    values = {text for each in details for text in each.few if text != each.mark}
    return tuple(sorted(marks - values))
