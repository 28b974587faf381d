"""Roles of attributes: what each column of a private table is, and so what may leave.

Only columns with a published role reach a release: quasi-identifiers, sensitive attributes, what
rows are ranked by, and what to ``keep``.  Identifiers never do, nor does any column without a role.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from voile.errors import PlanError, nearest

__all__ = ["Roles"]


@dataclass(frozen=True)
class Roles:
    """Names of columns by role; a column has at most one role.

    Raises ``PlanError`` where a name is not text, or a column stands in two roles.
    """

    identifiers: tuple[str, ...] = ()
    """Never published."""
    quasi_identifiers: tuple[str, ...] = ()
    """What an adversary may know about a person from elsewhere."""
    sensitive: tuple[str, ...] = ()
    """What nobody may learn about a person."""
    ranking: tuple[str, ...] = ()
    """What rows are ranked by; published as ranges."""
    keep: tuple[str, ...] = ()
    """Published as it is; known to be harmless."""

    def __post_init__(self) -> None:
        taken: dict[str, str] = {}
        for field in fields(self):
            names = getattr(self, field.name)
            if isinstance(names, str) or not isinstance(names, Iterable):
                msg = f'[roles] {field.name} must be a list of column names, for example ["age"]'
                raise PlanError(msg)
            for name in names:
                if not isinstance(name, str) or not name:
                    msg = f"[roles] {field.name} must hold names of columns as text"
                    raise PlanError(msg)
                if name in taken:
                    msg = (
                        f"[roles] column {name!r} is named in {taken[name]} and in {field.name}; "
                        "give it one role"
                    )
                    raise PlanError(msg)
                taken[name] = field.name
            object.__setattr__(self, field.name, tuple(names))

    @property
    def published(self) -> tuple[str, ...]:
        """Columns that may appear in a release."""
        return (*self.quasi_identifiers, *self.ranking, *self.sensitive, *self.keep)

    def bind(self, columns: Iterable[str]) -> None:
        """Check the names against a table's columns; raises ``PlanError`` for a missing one."""
        known = list(columns)
        for field in fields(self):
            for name in getattr(self, field.name):
                if name not in known:
                    msg = (
                        f"[roles] {field.name} names the column {name!r}, which the table does "
                        f"not have{nearest(name, known)}"
                    )
                    raise PlanError(msg)
