"""Roles of attributes: what each column of a private table is, and so what may leave.

Only columns with a published role reach a release: quasi-identifiers, sensitive attributes, what
rows are ranked by, and what to ``keep``.  Identifiers never do, nor does any column without a role.

Beside the roles stands what the custodian vouches for where rows look as if promises about rows
were none about persons; see ``schema.persons``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from voile.errors import PlanError, nearest
from voile.values.value import Says, Several, checked

__all__ = ["EACH_ROW", "ColumnName", "Roles"]

ColumnName = Annotated[str, Field(min_length=1)]
_Columns = Annotated[
    Several[ColumnName], Says('a list of column names as texts, for example ["age"]')
]

EACH_ROW = "row"
"""What ``person`` says where each row is another person."""

_OF_COLUMNS = ("identifiers", "quasi_identifiers", "sensitive", "ranking", "keep")


@checked(PlanError)
@dataclass(frozen=True)
class Roles:
    """Names of columns by role, of which a column has at most one, and who a row is.

    Raises ``PlanError`` where a column stands in two roles, or ``keep_unique`` names a column that
    is not kept.
    """

    identifiers: _Columns = ()
    """Never published."""
    quasi_identifiers: _Columns = ()
    """What an adversary may know about a person from elsewhere."""
    sensitive: _Columns = ()
    """What nobody may learn about a person."""
    ranking: _Columns = ()
    """What rows are ranked by; published as ranges."""
    keep: _Columns = ()
    """Published as it is; known to be harmless."""
    keep_unique: _Columns = ()
    """Those of ``keep`` that may single out rows."""
    person: Annotated[
        Literal["row"] | None,
        Says(
            '"row", which says that each row is another person; a column that tells persons apart '
            "cannot be named yet: bring the rows of each person together first"
        ),
    ] = None
    """Who is protected: "row", each row is another person; None: the rows must look like it."""

    def __post_init__(self) -> None:
        taken: dict[str, str] = {}
        for role, names in self.by_role.items():
            for name in names:
                if name in taken:
                    msg = (
                        f"column {name!r} is named in {taken[name]} and in {role}; give it one role"
                    )
                    raise PlanError(msg)
                taken[name] = role
        for name in self.keep_unique:
            if name not in self.keep:
                msg = (
                    f"keep_unique names the column {name!r}, which keep does not"
                    f"{nearest(name, self.keep)}; it says which of the columns under keep may "
                    "single out rows"
                )
                raise PlanError(msg)

    @property
    def by_role(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each role."""
        return {role: getattr(self, role) for role in _OF_COLUMNS}

    @property
    def published(self) -> tuple[str, ...]:
        """Columns that may appear in a release."""
        return (*self.quasi_identifiers, *self.ranking, *self.sensitive, *self.keep)

    def bind(self, columns: Iterable[str]) -> None:
        """Check the names against a table's columns; raises ``PlanError`` for a missing one."""
        known = list(columns)
        for role, names in self.by_role.items():
            for name in names:
                if name not in known:
                    msg = (
                        f"[roles] {role} names the column {name!r}, which the table does "
                        f"not have{nearest(name, known)}"
                    )
                    raise PlanError(msg)
