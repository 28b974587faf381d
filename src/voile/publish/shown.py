"""What a release shows of the columns that a plan publishes: the roles of its own columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from voile.schema.roles import Roles

__all__ = ["shown_roles"]

_PRIVATE = ("identifiers",)


def shown_roles(roles: Roles, columns: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Columns of a release by role: ``NAME``, or its interval, or both."""
    return {
        role: tuple(
            shown
            for name in names
            for shown in (name, f"{name}.low", f"{name}.high")
            if shown in columns
        )
        for role, names in roles.by_role.items()
        if role not in _PRIVATE
    }
