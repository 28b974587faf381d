"""Who a row is: where the rows of a table contradict that each of them is another person.

Promises count rows.  They are about persons where each person is one row, and where no row can be
pointed at from outside.  A plan that says nothing of it is therefore held against two counts, which
every door to a table takes, whatever the method (``voile.table.opening``):

- A column under ``identifiers`` **repeats** where a value of it, other than a missing one, stands
  in more than one row of the input.  k rows that look alike may then be one person's.
  ``person = "row"`` says that each row is another person all the same: people share names.
- A column under ``keep`` **singles out rows** where, of its distinct values, more than half stand
  in one row only.  Who knows the value finds the row, however alike the rest is.
  ``keep_unique = ["it"]`` says that the column may be kept.  Counted are the rows that may be
  published, after the plan's treatment of missing values; that a value is missing counts as one
  value.  A constant singles out nobody; there is no smallest table: of one row, each column does.

More than half of the distinct values, and not of the rows: a few common values beside a long tail
of values that stand once are no less a list of people.

A record key is left out of the first count, because a series requires of every version that it
is unique.  Trips and their reports have columns of their own (``schema.trajectory``), which are
not identifiers and repeat.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from voile.schema.plan import Plan
from voile.schema.roles import EACH_ROW, Roles

__all__ = [
    "Occurrences",
    "columns_to_keep",
    "identifying_columns",
    "refuse_repeating",
    "refuse_singling_out",
]

_TAKEN_FOR = {
    False: (
        "a person may have several rows, and what is promised of rows is then not promised of "
        "persons. Bring the rows of each person together; or, if each row is another person all "
        "the same, as people share a name"
    ),
    True: (
        "a person may have several reports or trips, and what is promised of a report and of a "
        "trip is then not promised of persons. If that is what you mean to promise"
    ),
}
"""What a repeated identifier means, and the ways out: of a table, and of trajectories."""


@dataclass(frozen=True)
class Occurrences:
    """How often the values of a column stand in it."""

    rows: int
    """Rows that were counted."""
    values: int
    """Distinct values in them."""
    once: int
    """Values that stand in one row only."""

    @property
    def repeat(self) -> bool:
        """Whether some value stands in more than one row."""
        return self.values < self.rows

    @property
    def single_out(self) -> bool:
        """Whether more than half of the values stand in one row only."""
        return 2 * self.once > self.values

    def told_of_identifier(self, column: str) -> str:
        """That an identifier repeats, as a clause."""
        return f"column {column!r} repeats ({self.rows:,} rows, {self.values:,} different values)"

    def told_of_kept(self, column: str) -> str:
        """That a column singles out rows, as a clause."""
        return (
            f"column {column!r} singles out rows ({self.once:,} of its {self.values:,} different "
            "values stand in one row only)"
        )


def identifying_columns(roles: Roles, record_key: str | None = None) -> tuple[str, ...]:
    """The columns that must not repeat: none where the plan says that each row is a person."""
    if roles.person == EACH_ROW:
        return ()
    return tuple(name for name in roles.identifiers if name != record_key)


def columns_to_keep(roles: Roles) -> tuple[str, ...]:
    """The columns that must not single out rows."""
    return tuple(name for name in roles.keep if name not in roles.keep_unique)


def refuse_repeating(plan: Plan, column: str, found: Occurrences) -> None:
    """Raise ``PlanError`` where an identifier repeats; missing values were not counted."""
    if not found.repeat:
        return
    msg = (
        f"[roles] identifiers: {found.told_of_identifier(column)}, so "
        f'{_TAKEN_FOR[plan.trajectory is not None]}, say person = "{EACH_ROW}" in [roles]'
    )
    raise plan.error(msg)


def refuse_singling_out(plan: Plan, found: Mapping[str, Occurrences]) -> None:
    """Raise ``PlanError`` where columns that are kept single out rows; names all that do."""
    bad = {name: counts for name, counts in found.items() if counts.single_out}
    if not bad:
        return
    told = "; ".join(counts.told_of_kept(name) for name, counts in bad.items())
    unique = json.dumps([*plan.roles.keep_unique, *bad], ensure_ascii=False)
    msg = (
        f"[roles] keep: {told}. More than half is too many: whoever knows the value finds the "
        f"row. Leave such a column out; or, if that may be, say keep_unique = {unique} in [roles]"
    )
    raise plan.error(msg)
