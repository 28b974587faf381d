"""Roles of attributes: what each column of a private table is, and so what may leave.

Only columns with a published role reach a release: quasi-identifiers, sensitive attributes, what
rows are ranked by, and what to ``keep``.  Identifiers never do, nor does any column without a role.

Beside the roles stands who is protected, and what the custodian vouches for where rows look as if
promises about rows were none about persons; see ``schema.persons``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field

from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass
from voile_base.values.value import Says, Several, checked

__all__ = ["EACH_ROW", "ColumnName", "Protected", "Roles"]

ColumnName = Annotated[str, Field(min_length=1)]
_Columns = Annotated[
    Several[ColumnName], Says('a list of column names as texts, for example ["age"]')
]

EACH_ROW = "row"
"""What ``person`` says where each row is another person; no column of this name can be meant."""

Protected = Literal["row", "person", "household"]
"""Who is protected as one: a row, all rows of a person, or all rows of a household."""

_OF_COLUMNS = ("identifiers", "quasi_identifiers", "sensitive", "ranking", "keep")


@checked(PlanError)
@dataclass(frozen=True)
class Roles:
    """Names of columns by role, of which a column has at most one, and who is protected.

    Raises ``PlanError`` where a column stands in two roles, ``keep_unique`` names a column that is
    not published, or a column that tells persons apart is to be published.
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
    """Those that are published and may single out rows, or name a person or a place."""
    person: Annotated[
        ColumnName | None,
        Says(
            "the name of the column that tells persons apart, or "
            '"row", which says that each row is another person'
        ),
    ] = None
    """Who is protected: the column that tells persons apart, which is never published; "row", each
    row is another person; None: the rows must look like it."""
    household: Annotated[
        ColumnName | None, Says("the name of the column that tells households apart")
    ] = None
    """The column that tells apart those who are protected together; never published."""
    weight: Annotated[ColumnName | None, Says("the name of the column of sampling weights")] = None
    """How many people of the population each row stands for: a column of numbers above 0, by which
    risk in the population is told.  Decisions count persons; measures of survey microdata weigh
    rows where the release shows the column as it is."""

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
        exact = (*self.keep, *self.sensitive, *self.quasi_identifiers)
        for name in self.keep_unique:
            if name not in exact:
                msg = (
                    f"keep_unique names the column {name!r}, which keep does not, nor sensitive"
                    f"{nearest(name, exact)}; it says which of the columns that are published may "
                    "single out rows"
                )
                raise PlanError(msg)
        self._refuse_published_units(taken)

    def _refuse_published_units(self, taken: Mapping[str, str]) -> None:
        """Refuse a column that tells persons apart and has another role than an identifier."""
        for key, name in self.named_units.items():
            if taken.get(name, "identifiers") != "identifiers":
                msg = (
                    f"column {name!r} is named in {taken[name]}, and {key} says that it tells "
                    f"{key}s apart: it is never published; take it out of {taken[name]}"
                )
                raise PlanError(msg)
        if self.household is not None and self.household == self.person:
            msg = (
                f"person and household both name the column {self.person!r}; name the column of "
                "households, or leave household out"
            )
            raise PlanError(msg)

    @property
    def protected(self) -> Protected:
        """Who is protected as one: the household where there is one, else the person."""
        if self.household is not None:
            return "household"
        return "row" if self.person in (None, EACH_ROW) else "person"

    @property
    def unit(self) -> str | None:
        """The column of those who are protected as one; None: each row is another one."""
        if self.household is not None:
            return self.household
        return None if self.person == EACH_ROW else self.person

    @property
    def named_units(self) -> Mapping[str, str]:
        """The columns that tell persons and households apart, by key."""
        person = None if self.person == EACH_ROW else self.person
        named = {"person": person, "household": self.household}
        return {key: name for key, name in named.items() if name is not None}

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
        weight = {} if self.weight is None else {"weight": self.weight}
        for key, name in {**self.named_units, **weight}.items():
            if name not in known:
                msg = (
                    f"[roles] {key} names the column {name!r}, which the table does not have"
                    f"{nearest(name, known)}"
                )
                raise PlanError(msg)
